use std::borrow::Cow;

use ai_http::CallIds;
use ai_provider::{Capabilities, ReasoningEffort, StructuredOutput, UnifiedFinish};

use super::facts;
use super::{Dialect, EffortForm, KeyForm, ModelRules, NamedTool, SchemaForm, SystemRole, Word};

type Row = (&'static str, fn() -> Dialect);

pub(super) const ROWS: &[Row] = &[
    ("openai", openai),
    ("generic", || generic("generic".into(), "".into())),
    ("xai", xai),
    ("deepseek", deepseek),
    ("groq", groq),
    ("mistral", mistral),
    ("alibaba", alibaba),
    ("moonshot", moonshot),
    ("perplexity", perplexity),
    ("azure", azure),
    ("azure-deployments", azure_deployments),
    ("openrouter", openrouter),
    ("llama.cpp", llama_cpp),
    ("ollama", ollama),
    ("vllm", vllm),
    ("lmstudio", lmstudio),
];

macro_rules! words {
    ($($word:literal),*) => { Cow::Borrowed(const { &[$(Cow::Borrowed($word)),*] }) };
}

type Efforts = &'static [(ReasoningEffort, Word)];

macro_rules! efforts {
    ($($level:ident: $word:literal),*) => {
        const { &[$((ReasoningEffort::$level, Cow::Borrowed($word))),*] }
    };
}

/// Each level by its own name.
const ALL_LEVELS: Efforts =
    efforts![None: "none", Minimal: "minimal", Low: "low", Medium: "medium", High: "high", XHigh: "xhigh"];

pub(super) fn generic(name: Word, base_url: Word) -> Dialect {
    let mut capabilities = Capabilities::default();
    capabilities.structured_output = StructuredOutput::JsonObject;
    // What a server takes is not known, so it is asked, not second-guessed.
    capabilities.input.image = true;
    capabilities.input.audio = true;
    capabilities.input.video = true;
    capabilities.input.pdf = true;
    Dialect {
        name,
        base_url,
        path_prefix: "".into(),
        query: Cow::Borrowed(&[]),
        key: KeyForm::Bearer,
        capabilities,
        known_models: Cow::Borrowed(&[]),
        max_tokens: "max_tokens".into(),
        seed: Some("seed".into()),
        top_k: false,
        stop: true,
        presence_penalty: true,
        frequency_penalty: true,
        stream_options: true,
        models: ModelRules::default(),
        system: SystemRole::ByModel,
        effort: EffortForm::Word,
        effort_words: Cow::Borrowed(ALL_LEVELS),
        schema: SchemaForm::Full { strict: true },
        json_object: true,
        json_in_words: false,
        image_urls: true,
        required: Some("required".into()),
        named_tool: NamedTool::ByName,
        server_tools: Cow::Borrowed(&[]),
        tool_message_name: false,
        call_ids: CallIds::Any,
        mark_prefill: false,
        alternating: false,
        replay_reasoning: false,
        reasoning_field: "reasoning_content".into(),
        reasoning_details: false,
        reasoning_tag: None,
        repeats_reasoning: false,
        echoes_prefill: false,
        embedding_batch: None,
        embedding_base64: false,
        reasoning_beside_completion: false,
        finish_words: Cow::Borrowed(&[]),
    }
}

/// A row that starts from the generic one, with text and images only.
fn row(name: &'static str, base_url: &'static str, structured_output: StructuredOutput) -> Dialect {
    let mut dialect = generic(name.into(), base_url.into());
    dialect.capabilities.structured_output = structured_output;
    dialect.capabilities.input.audio = false;
    dialect.capabilities.input.video = false;
    dialect.capabilities.input.pdf = false;
    dialect
}

fn openai() -> Dialect {
    let mut dialect = row("openai", "https://api.openai.com/v1", StructuredOutput::JsonSchema);
    dialect.capabilities.input.audio = true;
    dialect.capabilities.input.pdf = true;
    dialect.call_ids = CallIds::UpTo(40);
    dialect.models = ModelRules {
        reasoning: words!["o1", "o3", "o4", "gpt-5", "codex-mini"],
        plain: words!["gpt-3", "gpt-4", "chatgpt-", "gpt-5-chat"],
        samples_without_reasoning: words!["gpt-5."],
        no_temperature: words!["gpt-4o-search-preview", "gpt-4o-mini-search-preview"],
        ..ModelRules::default()
    };
    dialect.known_models = facts::OPENAI;
    dialect.embedding_batch = Some(2_048);
    dialect.embedding_base64 = true;
    dialect
}

/// Azure as it is now: the model in the body, under `https://NAME.openai.azure.com/openai/v1`.
fn azure() -> Dialect {
    Dialect { name: "azure".into(), base_url: "".into(), key: KeyForm::Header("api-key".into()), ..openai() }
}

/// Azure as it was: a deployment in the path, under `https://NAME.openai.azure.com/openai`.
fn azure_deployments() -> Dialect {
    Dialect {
        name: "azure-deployments".into(),
        path_prefix: "deployments/{model}/".into(),
        query: Cow::Borrowed(&[(Cow::Borrowed("api-version"), Cow::Borrowed("2024-10-21"))]),
        ..azure()
    }
}

fn xai() -> Dialect {
    let mut dialect = row("xai", "https://api.x.ai/v1", StructuredOutput::JsonSchema);
    dialect.max_tokens = "max_completion_tokens".into();
    dialect.stop = false;
    dialect.presence_penalty = false;
    dialect.frequency_penalty = false;
    dialect.models.effort = words!["grok-3-mini"];
    dialect.known_models = facts::XAI;
    dialect.repeats_reasoning = true;
    dialect.echoes_prefill = true;
    dialect.effort_words =
        Cow::Borrowed(efforts![Minimal: "low", Low: "low", Medium: "low", High: "high", XHigh: "high"]);
    dialect.reasoning_beside_completion = true;
    dialect
}

fn deepseek() -> Dialect {
    let mut dialect = row("deepseek", "https://api.deepseek.com", StructuredOutput::JsonObject);
    dialect.capabilities.input.image = false;
    dialect.seed = None;
    dialect.effort = EffortForm::Thinking;
    dialect.effort_words = Cow::Borrowed(
        efforts![None: "none", Minimal: "low", Low: "low", Medium: "medium", High: "high", XHigh: "max"],
    );
    dialect.models.always_reasoning = words!["deepseek-v4"];
    dialect.replay_reasoning = true;
    dialect.finish_words =
        Cow::Borrowed(&[(Cow::Borrowed("insufficient_system_resource"), UnifiedFinish::Error)]);
    dialect.known_models = facts::DEEPSEEK;
    dialect
}

fn groq() -> Dialect {
    let mut dialect = row("groq", "https://api.groq.com/openai/v1", StructuredOutput::JsonSchema);
    dialect.stream_options = false;
    dialect.effort_words = Cow::Borrowed(
        efforts![None: "none", Minimal: "low", Low: "low", Medium: "medium", High: "high", XHigh: "high"],
    );
    dialect.server_tools = words!["browser_search"];
    dialect.replay_reasoning = true;
    dialect.reasoning_field = "reasoning".into();
    dialect.known_models = facts::GROQ;
    dialect
}

fn mistral() -> Dialect {
    let mut dialect = row("mistral", "https://api.mistral.ai/v1", StructuredOutput::JsonSchema);
    dialect.seed = Some("random_seed".into());
    dialect.stream_options = false;
    dialect.models.effort = words!["mistral-small"];
    dialect.effort_words = Cow::Borrowed(
        efforts![None: "none", Minimal: "high", Low: "high", Medium: "high", High: "high", XHigh: "high"],
    );
    dialect.schema = SchemaForm::Full { strict: false };
    dialect.json_in_words = true;
    dialect.required = Some("any".into());
    dialect.named_tool = NamedTool::Alone;
    dialect.tool_message_name = true;
    dialect.call_ids = CallIds::Alphanumeric(9);
    dialect.mark_prefill = true;
    dialect.finish_words = Cow::Borrowed(&[(Cow::Borrowed("model_length"), UnifiedFinish::Length)]);
    dialect.known_models = facts::MISTRAL;
    dialect
}

fn alibaba() -> Dialect {
    let mut dialect = row(
        "alibaba",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        StructuredOutput::JsonSchema,
    );
    dialect.capabilities.input.video = true;
    dialect.top_k = true;
    dialect.frequency_penalty = false;
    // The budget's upper end is that of the smallest Qwen 3 models.
    dialect.effort = EffortForm::Budget { base: 16_384, floor: 1_024, maximum: 38_912 };
    dialect.known_models = facts::ALIBABA;
    dialect.embedding_batch = Some(10);
    dialect
}

fn moonshot() -> Dialect {
    let mut dialect = row("moonshot", "https://api.moonshot.ai/v1", StructuredOutput::JsonObject);
    dialect.seed = None;
    dialect.effort = EffortForm::Thinking;
    dialect.effort_words = Cow::Borrowed(
        efforts![None: "none", Minimal: "low", Low: "low", Medium: "high", High: "high", XHigh: "max"],
    );
    dialect.image_urls = false;
    dialect.replay_reasoning = true;
    dialect.known_models = facts::MOONSHOT;
    dialect
}

fn perplexity() -> Dialect {
    let mut dialect = row("perplexity", "https://api.perplexity.ai", StructuredOutput::JsonSchema);
    dialect.capabilities.tools = false;
    dialect.capabilities.parallel_tool_calls = false;
    dialect.seed = None;
    dialect.stop = false;
    dialect.stream_options = false;
    dialect.effort = EffortForm::Absent;
    dialect.schema = SchemaForm::Bare;
    dialect.json_object = false;
    dialect.reasoning_tag = Some("think".into());
    dialect.alternating = true;
    dialect.known_models = facts::PERPLEXITY;
    dialect
}

fn llama_cpp() -> Dialect {
    let mut dialect = row("llama.cpp", "http://127.0.0.1:8080/v1", StructuredOutput::JsonSchema);
    dialect.capabilities.input.audio = true;
    dialect.top_k = true;
    dialect.effort = EffortForm::Template;
    dialect.named_tool = NamedTool::Alone;
    dialect.replay_reasoning = true;
    dialect
}

fn openrouter() -> Dialect {
    let mut dialect = row("openrouter", "https://openrouter.ai/api/v1", StructuredOutput::JsonSchema);
    dialect.capabilities.input.audio = true;
    dialect.capabilities.input.pdf = true;
    dialect.top_k = true;
    dialect.effort = EffortForm::Object;
    dialect.reasoning_details = true;
    dialect.replay_reasoning = true;
    dialect.reasoning_field = "reasoning".into();
    dialect
}

fn ollama() -> Dialect {
    let mut dialect = row("ollama", "http://127.0.0.1:11434/v1", StructuredOutput::JsonSchema);
    dialect.effort_words = Cow::Borrowed(
        efforts![None: "none", Minimal: "low", Low: "low", Medium: "medium", High: "high", XHigh: "high"],
    );
    dialect.image_urls = false;
    // It passes the tool choice over in silence.
    dialect.required = None;
    dialect.named_tool = NamedTool::Absent;
    dialect.replay_reasoning = true;
    dialect.reasoning_field = "reasoning".into();
    dialect
}

fn vllm() -> Dialect {
    let mut dialect = row("vllm", "http://127.0.0.1:8000/v1", StructuredOutput::JsonSchema);
    dialect.capabilities.input.audio = true;
    dialect.capabilities.input.video = true;
    dialect.top_k = true;
    dialect.replay_reasoning = true;
    dialect.reasoning_field = "reasoning".into();
    dialect
}

fn lmstudio() -> Dialect {
    let mut dialect = row("lmstudio", "http://127.0.0.1:1234/v1", StructuredOutput::JsonSchema);
    dialect.top_k = true;
    dialect.json_object = false;
    dialect.image_urls = false;
    dialect.named_tool = NamedTool::Alone;
    dialect
}
