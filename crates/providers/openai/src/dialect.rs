use std::borrow::Cow;

use ai_http::{CallIds, Endpoint, path_segment};
use ai_provider::{Capabilities, ModelError, ReasoningEffort, UnifiedFinish};

mod facts;
mod table;

pub use facts::{KnownModels, ModelFacts};

/// Text that is mostly a literal of the table, and may be read from a file.
pub type Word = Cow<'static, str>;

/// How one server speaks Chat Completions: data alone, so that a server of your own is a value, not a type.
///
/// Start from [`generic`](Self::generic) or from a [row of the table](Self::by_name) and change what differs.
///
/// ```
/// use ai_openai::Dialect;
/// let mut mine = Dialect::generic("my-server", "http://localhost:8000/v1");
/// mine.top_k = true;
/// mine.stop = false;
/// assert_eq!(Dialect::by_name("mistral").map(|dialect| dialect.seed.is_some()), Some(true));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Dialect {
    /// The name; a namespace of provider options too.
    pub name: Word,
    /// Where the server is reached if the caller does not say; empty if there is no usual place.
    pub base_url: Word,
    /// What stands between the base URL and the path of a call; `{model}` stands for the model.
    pub path_prefix: Word,
    /// Query parameters of each call. Those of the base URL win.
    pub query: Cow<'static, [(Word, Word)]>,
    /// How a key is shown.
    pub key: KeyForm,
    /// What its models can do, as far as that is true of all of them.
    pub capabilities: Capabilities,
    /// What is known of some of them beyond that.
    pub known_models: KnownModels,

    /// The field of the answer's token limit: `max_tokens` or `max_completion_tokens`.
    pub max_tokens: Word,
    /// The field of the sampling seed; absent where there is none.
    pub seed: Option<Word>,
    /// Whether `top_k` is taken.
    pub top_k: bool,
    /// Whether `stop` is taken.
    pub stop: bool,
    /// Whether `presence_penalty` is taken.
    pub presence_penalty: bool,
    /// Whether `frequency_penalty` is taken.
    pub frequency_penalty: bool,
    /// Whether usage in a stream must be asked for by `stream_options`. Some servers refuse the field.
    pub stream_options: bool,
    /// Rules that hold for some of its models.
    pub models: ModelRules,
    /// The role of instructions.
    pub system: SystemRole,

    /// How the reasoning effort is said.
    pub effort: EffortForm,
    /// The server's word for each level. A level that is missing is not sent, with a warning.
    pub effort_words: Cow<'static, [(ReasoningEffort, Word)]>,

    /// The form of a JSON schema, where
    /// [`structured_output`](ai_provider::Capabilities::structured_output) says that there is one.
    pub schema: SchemaForm,
    /// Whether JSON without a schema can be asked for (`json_object`).
    pub json_object: bool,
    /// Whether JSON without a schema must also be asked for in words.
    pub json_in_words: bool,
    /// Whether the server gets images at their URL.
    pub image_urls: bool,

    /// The word of the tool choice for "at least one"; absent where there is none.
    pub required: Option<Word>,
    /// How one tool is forced.
    pub named_tool: NamedTool,
    /// Tools that run at the server, by the part of their id behind the dot.
    pub server_tools: Cow<'static, [Word]>,
    /// Whether a tool message repeats the name of the tool.
    pub tool_message_name: bool,
    /// Which ids of tool calls are accepted in a history.
    pub call_ids: CallIds,
    /// Whether an assistant message at the end must be marked as the beginning of the answer (`prefix`).
    pub mark_prefill: bool,
    /// Whether two user messages in a row are refused: they are joined.
    pub alternating: bool,

    /// Whether reasoning goes back to the server with the history.
    pub replay_reasoning: bool,
    /// The field for reasoning in a history, where it is not known which one the server used.
    pub reasoning_field: Word,
    /// Whether reasoning comes in its maker's own form too (`reasoning_details`), which goes back in place of the
    /// text to the model that made it.
    pub reasoning_details: bool,
    /// The tag around reasoning within the text, where the server leaves it there: `think` for `<think>…</think>`.
    pub reasoning_tag: Option<Word>,
    /// Whether a piece of reasoning may come twice in a row.
    pub repeats_reasoning: bool,
    /// Whether the answer may begin with the assistant's text the request ends with.
    pub echoes_prefill: bool,
    /// The most texts one call for embeddings takes; any number if absent.
    pub embedding_batch: Option<usize>,
    /// Whether embeddings are asked for as base64, a quarter of the bytes; else as numbers.
    pub embedding_base64: bool,
    /// Whether `completion_tokens` leaves reasoning out.
    pub reasoning_beside_completion: bool,
    /// Further finish reasons, beside those of OpenAI.
    pub finish_words: Cow<'static, [(Word, UnifiedFinish)]>,
}

/// Rules that hold for models by the beginning of their id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelRules {
    /// Models that reason: they take `max_completion_tokens` and the role `developer`, and refuse sampling
    /// settings.
    pub reasoning: Cow<'static, [Word]>,
    /// Models that do not reason, even if they are listed above: the effort is not sent.
    pub plain: Cow<'static, [Word]>,
    /// Of those that reason: models that take `temperature` and `top_p` if the effort is `none`.
    pub samples_without_reasoning: Cow<'static, [Word]>,
    /// Models that refuse `temperature`.
    pub no_temperature: Cow<'static, [Word]>,
    /// The only models that take an effort; if empty, all do but the plain ones.
    pub effort: Cow<'static, [Word]>,
    /// Models that refuse an assistant message without a field for reasoning: where there was none, it is empty.
    pub always_reasoning: Cow<'static, [Word]>,
}

/// The role of instructions (messages of the system).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SystemRole {
    /// `developer` for models that reason, else `system`.
    ByModel,
    /// `system`.
    System,
    /// `developer`.
    Developer,
    /// `user`, for models that know no other.
    User,
    /// None: instructions are left out, with a warning.
    Absent,
}

/// How a key is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyForm {
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// Alone, in this header.
    Header(Word),
}

/// How the reasoning effort is said.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EffortForm {
    /// Not at all.
    Absent,
    /// `reasoning_effort: WORD`.
    Word,
    /// `thinking: {type}`, and `reasoning_effort: WORD` unless it is off.
    Thinking,
    /// `enable_thinking`, and `thinking_budget` in tokens unless it is off: a share of the answer's limit, or
    /// of `base` if the caller set none.
    Budget {
        /// The limit the share is taken of where the caller sets none.
        base: u64,
        /// The least a budget is.
        floor: u64,
        /// The most a budget is.
        maximum: u64,
    },
    /// `chat_template_kwargs: {enable_thinking, reasoning_effort}`.
    Template,
    /// `reasoning: {effort: WORD}`.
    Object,
}

/// The form of a JSON schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaForm {
    /// With a name, a description, and this default of `strict`.
    Full {
        /// Whether the model is held to the letter of the schema.
        strict: bool,
    },
    /// The schema alone.
    Bare,
}

/// How one tool is forced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NamedTool {
    /// By its name.
    ByName,
    /// By offering no other and asking for at least one call.
    Alone,
    /// Not at all.
    Absent,
}

impl Dialect {
    /// A server nothing special is known about: all that Chat Completions has, but no JSON schemas and no
    /// reasoning in the history.
    pub fn generic(name: impl Into<Word>, base_url: impl Into<Word>) -> Self {
        with_tool_results(table::generic(name.into(), base_url.into()))
    }

    /// The row of the table with this name; see [`names`](Self::names).
    pub fn by_name(name: &str) -> Option<Self> {
        table::ROWS.iter().find(|(known, _)| *known == name).map(|(_, row)| with_tool_results(row()))
    }

    /// The names of the table.
    pub fn names() -> impl Iterator<Item = &'static str> {
        table::ROWS.iter().map(|(name, _)| *name)
    }

    /// What is known of a model: what its server says of all, and what is known of its kind.
    ///
    /// ```
    /// let openai = ai_openai::Dialect::by_name("openai").unwrap();
    /// assert_eq!(openai.capabilities_of("gpt-4.1-mini").context_window, Some(1_047_576));
    /// assert_eq!(openai.capabilities_of("mine"), openai.capabilities);
    /// ```
    pub fn capabilities_of(&self, model: &str) -> Capabilities {
        capabilities_of(&self.capabilities, &self.models, &self.known_models, model)
    }

    /// Where a call for this model goes.
    pub(crate) fn url(&self, endpoint: &Endpoint, path: &str, model: &str) -> Result<String, ModelError> {
        let path = match self.path_prefix.contains("{model}") {
            true => format!("{}{path}", self.path_prefix.replace("{model}", &path_segment(model)?)),
            false => format!("{}{path}", self.path_prefix),
        };
        let query: Vec<_> = self.query.iter().map(|(name, value)| (&**name, &**value)).collect();
        Ok(endpoint.url(&path, &query))
    }

    pub(crate) fn finish(&self, raw: &str) -> UnifiedFinish {
        match raw {
            "stop" => UnifiedFinish::Stop,
            "length" => UnifiedFinish::Length,
            "content_filter" => UnifiedFinish::ContentFilter,
            "tool_calls" | "function_call" => UnifiedFinish::ToolCalls,
            "error" => UnifiedFinish::Error,
            _ => {
                let known = self.finish_words.iter().find(|(word, _)| word == raw);
                known.map_or(UnifiedFinish::Other, |(_, unified)| *unified)
            }
        }
    }
}

/// What a model can do: what holds for all models of a server, and what is known of this one.
pub(crate) fn capabilities_of(
    all: &Capabilities,
    rules: &ModelRules,
    known: &[(Word, ModelFacts)],
    model: &str,
) -> Capabilities {
    let mut capabilities = all.clone();
    capabilities.reasoning |= rules.is_reasoning(model);
    if let Some(facts) = facts::find(known, base_of(model)) {
        facts.apply(&mut capabilities);
        capabilities.tool_result = capabilities.input;
    }
    capabilities
}

impl ModelRules {
    pub(crate) fn is_plain(&self, model: &str) -> bool {
        matches(&self.plain, model)
    }

    pub(crate) fn is_reasoning(&self, model: &str) -> bool {
        !self.is_plain(model) && matches(&self.reasoning, model)
    }

    pub(crate) fn samples_without_reasoning(&self, model: &str) -> bool {
        matches(&self.samples_without_reasoning, model)
    }

    pub(crate) fn refuses_temperature(&self, model: &str) -> bool {
        matches(&self.no_temperature, model)
    }

    pub(crate) fn always_has_reasoning(&self, model: &str) -> bool {
        matches(&self.always_reasoning, model)
    }

    pub(crate) fn takes_effort(&self, model: &str) -> bool {
        !self.is_plain(model) && (self.effort.is_empty() || matches(&self.effort, model))
    }
}

/// What a user message carries, a tool result does too: its files go out in a user message behind it.
fn with_tool_results(mut dialect: Dialect) -> Dialect {
    dialect.capabilities.tool_result = dialect.capabilities.input;
    dialect
}

/// Fine-tuned models (`ft:BASE:…`) follow the rules of their base.
fn base_of(model: &str) -> &str {
    model.strip_prefix("ft:").unwrap_or(model)
}

fn matches(prefixes: &[Word], model: &str) -> bool {
    let model = base_of(model);
    prefixes.iter().any(|prefix| model.starts_with(&**prefix))
}
