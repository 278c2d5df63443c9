use std::borrow::Cow;

use ai_provider::{Capabilities, ReasoningEffort, StructuredOutput};

use crate::dialect::{Dialect, KnownModels, ModelRules, Word, capabilities_of};

/// How one server speaks the Responses API: data alone, as [`Dialect`] is for Chat Completions.
///
/// Start from [`generic`](Self::generic) or from a [row of the table](Self::by_name) and change what differs.
///
/// ```
/// use ai_openai::ResponsesDialect;
/// let mut mine = ResponsesDialect::generic("my-server", "http://localhost:8000/v1");
/// mine.instructions = false;
/// assert!(ResponsesDialect::by_name("azure").is_some_and(|dialect| dialect.stores));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ResponsesDialect {
    /// The name; a namespace of provider options too.
    pub name: Word,
    /// Where the server is reached if the caller does not say; empty if there is no usual place.
    pub base_url: Word,
    /// What its models can do, as far as that is true of all of them.
    pub capabilities: Capabilities,
    /// Rules that hold for some of its models.
    pub models: ModelRules,
    /// What is known of single models.
    pub known_models: KnownModels,
    /// The path of the API behind the base URL.
    pub path: Word,

    /// Whether the leading system messages go out as `instructions`, joined.
    pub instructions: bool,
    /// Whether a reasoning model gets system messages under the role `developer`.
    pub developer: bool,
    /// Whether the server keeps the items of its answers unless told not to, and takes references to them.
    pub stores: bool,
    /// Whether the server fetches images and documents at URLs itself.
    pub fetches: bool,
    /// Whether `presence_penalty` and `frequency_penalty` are taken.
    pub penalties: bool,
    /// The server's word for each level of reasoning. A level that is missing is not sent, with a warning.
    pub effort_words: Cow<'static, [(ReasoningEffort, Word)]>,
    /// What is asked for as `reasoning.summary` beside an effort.
    pub summary: Option<Word>,
    /// Further output that may be asked for by `include`.
    pub include: Cow<'static, [Word]>,
    /// Whether a function's output may be a list of texts, images and files; else it is text alone, and files
    /// follow in a user message.
    pub result_parts: bool,

    /// Tools the server knows by their own type: by the part of their id behind the dot.
    pub server_tools: Cow<'static, [Word]>,
    /// Other namespaces whose tool ids mean the same here.
    pub tool_namespaces: Cow<'static, [Word]>,
    /// The tool that an item of the answer is a call of, where the item has another name: item type or item name,
    /// and the tool.
    pub tool_names: Cow<'static, [(Word, Word)]>,
    /// Whether calls of custom tools are made and run by the server itself.
    pub custom_calls_at_server: bool,
    /// Whether the status of the response is its finish reason.
    pub raw_status: bool,
}

type Row = (&'static str, fn() -> ResponsesDialect);

const ROWS: &[Row] = &[
    ("openai", openai),
    ("azure", azure),
    ("xai", xai),
    ("lmstudio", lmstudio),
    ("openrouter", || open("openrouter".into(), "https://openrouter.ai/api/v1".into())),
    ("groq", || open("groq".into(), "https://api.groq.com/openai/v1".into())),
    ("ollama", || open("ollama".into(), "http://127.0.0.1:11434/v1".into())),
    ("vllm", || open("vllm".into(), "http://127.0.0.1:8000/v1".into())),
    ("llama.cpp", || open("llama.cpp".into(), "http://127.0.0.1:8080/v1".into())),
    ("generic", || open("generic".into(), "".into())),
];

macro_rules! words {
    ($($word:literal),* $(,)?) => { Cow::Borrowed(const { &[$(Cow::Borrowed($word)),*] }) };
}

macro_rules! pairs {
    ($($from:literal: $to:literal),* $(,)?) => {
        Cow::Borrowed(const { &[$((Cow::Borrowed($from), Cow::Borrowed($to))),*] })
    };
}

macro_rules! efforts {
    ($($level:ident: $word:literal),*) => {
        Cow::Borrowed(const { &[$((ReasoningEffort::$level, Cow::Borrowed($word))),*] })
    };
}

impl ResponsesDialect {
    /// A server nothing special is known about: the open variant of the API, which keeps nothing.
    pub fn generic(name: impl Into<Word>, base_url: impl Into<Word>) -> Self {
        open(name.into(), base_url.into())
    }

    /// The row of the table with this name; see [`names`](Self::names).
    pub fn by_name(name: &str) -> Option<Self> {
        ROWS.iter().find(|(known, _)| *known == name).map(|(_, row)| row())
    }

    /// The names of the table.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ROWS.iter().map(|(name, _)| *name)
    }

    /// How a server speaks Responses that speaks Chat Completions like this: the row of its name, or the open
    /// variant.
    pub fn of(chat: &Dialect) -> Self {
        let mut dialect = match &*chat.name {
            // The API is not reached by deployments.
            "azure-deployments" => Self { path: "v1/responses".into(), ..azure() },
            name => Self::by_name(name).unwrap_or_else(|| Self::generic(chat.name.clone(), "")),
        };
        dialect.name.clone_from(&chat.name);
        dialect.base_url.clone_from(&chat.base_url);
        dialect
    }

    /// What a model can do: what holds for all, and what is known of this one. The API takes neither sound nor
    /// moving pictures.
    pub fn capabilities_of(&self, model: &str) -> Capabilities {
        let mut capabilities = capabilities_of(&self.capabilities, &self.models, &self.known_models, model);
        for media in [&mut capabilities.input, &mut capabilities.tool_result] {
            media.audio = false;
            media.video = false;
        }
        capabilities
    }

    /// Whether a tool of this namespace may run here.
    pub(crate) fn knows_namespace(&self, namespace: &str) -> bool {
        namespace == self.name || self.tool_namespaces.iter().any(|known| known == namespace)
    }

    /// The tool behind an item of this type or name.
    pub(crate) fn tool_of<'a>(&'a self, item: &'a str) -> &'a str {
        self.tool_names.iter().find(|(known, _)| known == item).map_or(item, |(_, tool)| tool)
    }
}

/// What the table of Chat Completions knows of the models of a server.
fn known_to(name: &str) -> KnownModels {
    Dialect::by_name(name).map(|dialect| dialect.known_models).unwrap_or_default()
}

fn open(name: Word, base_url: Word) -> ResponsesDialect {
    let mut capabilities = Capabilities::default();
    capabilities.structured_output = StructuredOutput::JsonSchema;
    // What a server takes is not known, so it is asked, not second-guessed.
    capabilities.input.image = true;
    capabilities.input.pdf = true;
    capabilities.tool_result = capabilities.input;
    ResponsesDialect {
        name,
        base_url,
        capabilities,
        models: ModelRules::default(),
        known_models: Cow::Borrowed(&[]),
        path: "responses".into(),
        instructions: true,
        developer: false,
        stores: false,
        fetches: true,
        penalties: true,
        effort_words: efforts![
            None: "none", Minimal: "minimal", Low: "low", Medium: "medium", High: "high", XHigh: "xhigh"
        ],
        summary: None,
        include: words![],
        result_parts: false,
        server_tools: words!["mcp"],
        tool_namespaces: words!["openai"],
        tool_names: pairs![],
        custom_calls_at_server: false,
        raw_status: false,
    }
}

fn lmstudio() -> ResponsesDialect {
    let mut dialect = open("lmstudio".into(), "http://127.0.0.1:1234/v1".into());
    dialect.fetches = false;
    dialect
}

fn openai() -> ResponsesDialect {
    let mut dialect = open("openai".into(), "https://api.openai.com/v1".into());
    dialect.models = ModelRules {
        reasoning: words!["o1", "o3", "o4", "gpt-5", "codex-mini", "computer-use"],
        plain: words!["gpt-3", "gpt-4", "chatgpt-", "gpt-5-chat"],
        samples_without_reasoning: words!["gpt-5."],
        ..ModelRules::default()
    };
    dialect.known_models = known_to("openai");
    dialect.instructions = false;
    dialect.developer = true;
    dialect.stores = true;
    dialect.penalties = false;
    dialect.summary = Some("detailed".into());
    dialect.include = words![
        "reasoning.encrypted_content",
        "web_search_call.action.sources",
        "code_interpreter_call.outputs",
        "message.output_text.logprobs",
    ];
    dialect.result_parts = true;
    dialect.server_tools = words![
        "web_search",
        "web_search_preview",
        "file_search",
        "code_interpreter",
        "image_generation",
        "computer",
        "computer_use_preview",
        "mcp",
        "custom",
        "tool_search",
        "local_shell",
        "shell",
        "apply_patch",
    ];
    dialect.tool_namespaces = words![];
    dialect
}

fn azure() -> ResponsesDialect {
    let mut dialect = openai();
    dialect.name = "azure".into();
    dialect.base_url = "".into();
    dialect.tool_namespaces = words!["openai"];
    dialect
}

fn xai() -> ResponsesDialect {
    let mut dialect = open("xai".into(), "https://api.x.ai/v1".into());
    dialect.known_models = known_to("xai");
    dialect.models.effort = words!["grok-3-mini", "grok-4.20", "grok-4-20"];
    dialect.models.reasoning = words!["grok-3-mini", "grok-4", "grok-code"];
    dialect.models.plain =
        words!["grok-4-fast-non-reasoning", "grok-4-1-fast-non-reasoning", "grok-4.1-fast-non-reasoning"];
    dialect.instructions = false;
    dialect.stores = true;
    dialect.penalties = false;
    dialect.effort_words =
        efforts![Minimal: "low", Low: "low", Medium: "medium", High: "high", XHigh: "high"];
    dialect.include = words!["reasoning.encrypted_content"];
    dialect.server_tools =
        words!["web_search", "x_search", "code_interpreter", "code_execution", "file_search", "mcp"];
    dialect.tool_namespaces = words![];
    dialect.tool_names = pairs![
        "code_interpreter_call": "code_execution",
        "code_execution_call": "code_execution",
        "view_image_call": "view_image",
        "view_x_video_call": "view_x_video",
        "x_search_call": "x_search",
        "web_search_with_snippets": "web_search",
        "browse_page": "web_search",
        "x_user_search": "x_search",
        "x_keyword_search": "x_search",
        "x_semantic_search": "x_search",
        "x_thread_fetch": "x_search",
    ];
    dialect.custom_calls_at_server = true;
    dialect.raw_status = true;
    dialect
}
