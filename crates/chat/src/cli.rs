//! The command line.

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::PathBuf;

use ai::openai::Dialect;
use clap::builder::PossibleValuesParser;
use clap::{ArgAction, Args, Parser, Subcommand};

use crate::setup::Flags;

const EXAMPLES: &str = "\
Examples:
  chat ask \"what is 17*23, and what time is it?\"
      Works at once: without a model, a built-in demo answers, which is no language model.
  chat ask --model openai:gpt-4.1-mini \"Why is the sky blue?\"
      Needs OPENAI_API_KEY. With that set, --model may be left out.
  chat ask --model local:qwen --base-url http://localhost:8080/v1 \"Hello\"
      Any server that speaks OpenAI's Chat Completions.
  chat ask --model openai:gpt-4.1 --fallback mistral:mistral-large-latest \"Hello\"
      Asks another model if the first one fails, and says so.
  git diff | chat ask - --system \"Write a commit message for this diff.\"
  chat talk --root .
      A conversation in which the model may read the files of this folder.

Models are named PROVIDER:MODEL. Providers known by name: openai (Responses), openai-chat (Chat Completions),
anthropic, google, azure, xai, deepseek, groq, mistral, openrouter, alibaba, moonshot, perplexity, ollama, lmstudio,
vllm, llama.cpp; others by --base-url or in the configuration file (chat config example).";

/// Ask any language model from the terminal.
#[derive(Debug, Parser)]
#[command(name = "chat", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) options: Options,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Ask one question; the answer is shown as it comes.
    #[command(after_help = "\
Examples:
  chat ask \"what is 17*23?\"
  chat ask --json \"list the files\" --root .
  chat ask - < question.txt
  chat ask --store \"My name is Ada.\"
  chat ask --continue last \"What is my name?\"

The answer goes to standard output; reasoning, tools and usage go to standard error. Exit codes: 0 answered, 1 \
failed, 2 the command makes no sense, 130 interrupted.")]
    Ask(Ask),
    /// Have a conversation; Ctrl-C stops an answer, Ctrl-D leaves.
    #[command(after_help = "\
In the conversation:
  /help    shows this
  /clear   begins a new conversation
  /exit    leaves, as Ctrl-D does

A line that begins with // is a question that begins with /. If standard input is no terminal, each line of it is \
a question.

Examples:
  chat talk --store
  chat talk --continue last")]
    Talk(Talk),
    /// List the conversations that are kept, the latest written first
    #[command(after_help = "\
Each line: id, when it was last written, messages, and how it begins, with tabs between. chat ask --continue ID and \
chat talk --continue ID go on with one.")]
    Chats,
    /// Serve a page to chat with, and the interface that useChat speaks
    #[command(after_help = "\
Examples:
  chat serve
      A page at http://127.0.0.1:8420/ for this machine; conversations are kept in ~/.local/share/chat/chat.db.
  chat serve --model openai:gpt-4.1-mini --listen 127.0.0.1:3000
  chat serve --memory
      Conversations end with the program.

Who listens where others can reach it needs a token: serve.token in the configuration file. Ctrl-C lets running answers \
end; twice, it ends at once.")]
    Serve(Serve),
    /// MCP servers of the configuration file
    #[command(subcommand)]
    Mcp(Mcp),
    /// List the models a provider offers
    #[command(after_help = "\
Examples:
  chat models --provider anthropic
  chat models --provider local --json
  chat models --model groq:any

Each line begins with what --model takes. Without --provider the provider is that of the model which would be asked.")]
    Models(Models),
    /// Check the configuration file, or show an example of one
    #[command(subcommand)]
    Config(ConfigCommand),
}

/// `chat serve`.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The address to listen on; port 0 takes any that is free [default: 127.0.0.1:8420]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Keep conversations in memory only
    #[arg(long)]
    pub(crate) memory: bool,
}

/// `chat mcp`.
#[derive(Debug, Subcommand)]
pub(crate) enum Mcp {
    /// Start the servers and show how they stand, with their tools
    #[command(after_help = "\
Servers stand in the configuration file:
  [mcp.files]
  command = \"npx\"
  args = [\"-y\", \"@modelcontextprotocol/server-filesystem\", \"/home/me/notes\"]
  [mcp.search]
  url = \"https://mcp.example.com/mcp\"
  headers = { Authorization = \"Bearer ${SEARCH_TOKEN}\" }

Exit codes: 0 all are ready, 1 one is not, 2 the configuration makes no sense.")]
    List,
}

/// `chat models`.
#[derive(Debug, Args)]
pub(crate) struct Models {
    /// The provider: one of the configuration file, or one that is known by name
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Print a JSON array, with all that the provider says of each model
    #[arg(long)]
    pub(crate) json: bool,
}

/// `chat config`.
#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Say all that is wrong with the configuration file, by line
    #[command(after_help = "\
No request is made, and no program is run that would print a key. Exit codes: 0 nothing is wrong, 1 something is, 2 \
there is no file, or it cannot be read.")]
    Check,
    /// Print a file with every field there is, switched off, to begin with
    #[command(after_help = "\
Example:
  chat config example > ~/.config/chat/config.toml")]
    Example,
}

/// `chat ask`.
#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// The question; `-` reads it from standard input
    #[arg(required = true, value_name = "QUESTION")]
    pub(crate) question: Vec<String>,
    /// Print the chunks of the AI SDK's UI message stream, one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) keep: Keep,
}

/// `chat talk`.
#[derive(Debug, Args)]
pub(crate) struct Talk {
    #[command(flatten)]
    pub(crate) keep: Keep,
}

/// Whether a conversation is kept.
#[derive(Debug, Args)]
pub(crate) struct Keep {
    /// Keep the conversation in the store of the configuration; its id is shown at the end
    #[arg(long)]
    store: bool,
    /// Go on with a conversation that is kept; `last` is the one that was written last
    #[arg(long = "continue", value_name = "ID")]
    pub(crate) id: Option<String>,
}

impl Keep {
    /// Whether it is.
    pub(crate) fn is_wanted(&self) -> bool {
        self.store || self.id.is_some()
    }
}

/// What all commands take.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The model: PROVIDER:MODEL, or a name from the configuration file
    #[arg(long, short, global = true, value_name = "PROVIDER:MODEL", help_heading = "Model")]
    model: Option<String>,
    /// Where the provider is, for example http://localhost:8080/v1
    #[arg(long, global = true, value_name = "URL", help_heading = "Model")]
    base_url: Option<String>,
    /// The environment variable that holds the API key (never the key itself); give it again for further keys, which
    /// are used when one is refused, used up or limited
    #[arg(long, global = true, value_name = "NAME", help_heading = "Model")]
    api_key_env: Vec<String>,
    /// A model to ask when the first one fails: PROVIDER:MODEL, or a name from the configuration file; give it again
    /// for further ones
    #[arg(long, global = true, value_name = "PROVIDER:MODEL", help_heading = "Model")]
    fallback: Vec<String>,
    /// How often a failed call of the model is tried again [default: 2]
    #[arg(long, global = true, value_name = "N", help_heading = "Model",
          value_parser = clap::value_parser!(u32).range(0..=100))]
    retries: Option<u32>,
    /// How the server speaks
    #[arg(long, global = true, value_name = "NAME", help_heading = "Model",
          value_parser = PossibleValuesParser::new(Dialect::names()))]
    dialect: Option<String>,
    /// Instructions for the model
    #[arg(long, short, global = true, value_name = "TEXT", help_heading = "Answer")]
    system: Option<String>,
    /// The most steps of one answer: a step is a call of the model, with the tools it calls [default: 20]
    #[arg(long, global = true, value_name = "N", help_heading = "Answer",
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    max_steps: Option<u32>,
    /// A folder the model may list and read; without it there are no file tools
    #[arg(long, global = true, value_name = "FOLDER", help_heading = "Answer")]
    root: Option<PathBuf>,
    /// Run tools that have effects without asking
    #[arg(long, global = true, help_heading = "Answer")]
    pub(crate) yes: bool,
    /// The configuration file [default: ~/.config/chat/config.toml, if it exists]
    #[arg(long, global = true, value_name = "FILE.toml")]
    pub(crate) config: Option<PathBuf>,
    /// Log to standard error what happens; twice for more
    #[arg(long, short, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

impl Options {
    /// What of it is about the setup.
    pub(crate) fn flags(&self) -> Flags {
        Flags {
            model: self.model.clone(),
            base_url: self.base_url.clone(),
            dialect: self.dialect.clone(),
            api_key_env: self.api_key_env.clone(),
            fallbacks: self.fallback.clone(),
            retries: self.retries,
            system: self.system.clone(),
            max_steps: self.max_steps,
            root: self.root.clone(),
        }
    }
}
