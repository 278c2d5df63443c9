//! What is known of models beyond what holds for all of their server.

use std::borrow::Cow;

use ai_provider::{Capabilities, StructuredOutput};

use super::Word;

/// Models by the beginning of their id, and what is known of them. The longest beginning counts.
pub type KnownModels = Cow<'static, [(Word, ModelFacts)]>;

/// What is known of a model; what is absent is as its dialect says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelFacts {
    /// Tokens of prompt and answer together.
    pub context_window: Option<u64>,
    /// The most tokens one answer can have.
    pub max_output_tokens: Option<u64>,
    /// Whether it reasons before it answers.
    pub reasoning: Option<bool>,
    /// Whether it calls tools.
    pub tools: Option<bool>,
    /// Whether it makes several calls in one step.
    pub parallel_tool_calls: Option<bool>,
    /// How its answer can be bound to a schema.
    pub structured_output: Option<StructuredOutput>,
    /// Whether it takes images.
    pub image: Option<bool>,
    /// Whether it takes sound.
    pub audio: Option<bool>,
    /// Whether it takes moving pictures.
    pub video: Option<bool>,
    /// Whether it takes PDF documents.
    pub pdf: Option<bool>,
}

impl ModelFacts {
    /// A model with this window and this longest answer, in tokens.
    pub const fn of(context_window: u64, max_output_tokens: u64) -> Self {
        Self { max_output_tokens: Some(max_output_tokens), ..Self::window(context_window) }
    }

    /// A model with this window, in tokens.
    pub const fn window(context_window: u64) -> Self {
        Self {
            context_window: Some(context_window),
            max_output_tokens: None,
            reasoning: None,
            tools: None,
            parallel_tool_calls: None,
            structured_output: None,
            image: None,
            audio: None,
            video: None,
            pdf: None,
        }
    }

    /// It reasons.
    #[must_use]
    pub const fn reasons(self) -> Self {
        Self { reasoning: Some(true), ..self }
    }

    /// It takes images, or not.
    #[must_use]
    pub const fn sees(self, image: bool) -> Self {
        Self { image: Some(image), ..self }
    }

    /// It takes sound, or not.
    #[must_use]
    pub const fn hears(self, audio: bool) -> Self {
        Self { audio: Some(audio), ..self }
    }

    /// It takes text alone.
    #[must_use]
    pub const fn text_alone(self) -> Self {
        Self { image: Some(false), audio: Some(false), video: Some(false), pdf: Some(false), ..self }
    }

    /// Its answer can be bound to a schema this far.
    #[must_use]
    pub const fn bound(self, structured_output: StructuredOutput) -> Self {
        Self { structured_output: Some(structured_output), ..self }
    }

    pub(super) fn apply(self, to: &mut Capabilities) {
        let Self { context_window, max_output_tokens, reasoning, tools, .. } = self;
        let Self { parallel_tool_calls, structured_output, image, audio, video, pdf, .. } = self;
        to.context_window = context_window.or(to.context_window);
        to.max_output_tokens = max_output_tokens.or(to.max_output_tokens);
        to.structured_output = structured_output.unwrap_or(to.structured_output);
        for (known, field) in [
            (reasoning, &mut to.reasoning),
            (tools, &mut to.tools),
            (parallel_tool_calls, &mut to.parallel_tool_calls),
            (image, &mut to.input.image),
            (audio, &mut to.input.audio),
            (video, &mut to.input.video),
            (pdf, &mut to.input.pdf),
        ] {
            *field = known.unwrap_or(*field);
        }
    }
}

/// The facts of the longest beginning of this id.
pub(super) fn find(models: &[(Word, ModelFacts)], id: &str) -> Option<ModelFacts> {
    let known = models.iter().filter(|(prefix, _)| id.starts_with(&**prefix));
    known.max_by_key(|(prefix, _)| prefix.len()).map(|(_, facts)| *facts)
}

macro_rules! known {
    ($($prefix:literal => $facts:expr),* $(,)?) => {
        Cow::Borrowed(const { &[$((Cow::Borrowed($prefix), $facts)),*] })
    };
}

const fn of(window: u64, output: u64) -> ModelFacts {
    ModelFacts::of(window, output)
}

pub(super) const OPENAI: KnownModels = known![
    "gpt-3.5-turbo" => of(16_385, 4_096).text_alone().bound(StructuredOutput::JsonObject),
    "gpt-4" => of(8_192, 8_192).text_alone().bound(StructuredOutput::JsonObject),
    "gpt-4-turbo" => of(128_000, 4_096).text_alone().sees(true).bound(StructuredOutput::JsonObject),
    "gpt-4o" => of(128_000, 16_384).hears(false),
    "gpt-4o-audio" => of(128_000, 16_384).text_alone().hears(true),
    "gpt-4o-mini-audio" => of(128_000, 16_384).text_alone().hears(true),
    "gpt-audio" => of(128_000, 16_384).text_alone().hears(true),
    "chatgpt-4o" => of(128_000, 16_384).hears(false),
    "gpt-4.1" => of(1_047_576, 32_768).hears(false),
    "gpt-5" => of(400_000, 128_000).hears(false),
    "gpt-5-chat" => of(128_000, 16_384).hears(false),
    "o1" => of(200_000, 100_000).hears(false),
    "o1-mini" => of(128_000, 65_536).text_alone(),
    "o3" => of(200_000, 100_000).hears(false),
    "o3-mini" => of(200_000, 100_000).text_alone(),
    "o4-mini" => of(200_000, 100_000).hears(false),
    "codex-mini" => of(200_000, 100_000).hears(false),
];

pub(super) const XAI: KnownModels = known![
    "grok-3" => ModelFacts::window(131_072).sees(false),
    "grok-3-mini" => ModelFacts::window(131_072).sees(false).reasons(),
    "grok-4" => ModelFacts::window(256_000).reasons(),
    "grok-4-fast-reasoning" => ModelFacts::window(2_000_000).reasons(),
    "grok-4-fast-non-reasoning" => ModelFacts::window(2_000_000),
    "grok-code-fast" => ModelFacts::window(256_000).sees(false).reasons(),
];

pub(super) const DEEPSEEK: KnownModels = known![
    "deepseek-chat" => of(131_072, 8_192),
    "deepseek-reasoner" => of(131_072, 65_536).reasons(),
];

pub(super) const GROQ: KnownModels = known![
    "openai/gpt-oss" => of(131_072, 65_536).sees(false).reasons(),
    "qwen/qwen3" => of(131_072, 40_960).sees(false).reasons(),
    "llama-3.3-70b" => of(131_072, 32_768).sees(false).bound(StructuredOutput::JsonObject),
    "llama-3.1-8b" => of(131_072, 131_072).sees(false).bound(StructuredOutput::JsonObject),
    "meta-llama/llama-4" => of(131_072, 8_192),
    "moonshotai/kimi-k2" => of(262_144, 16_384).sees(false),
];

pub(super) const MISTRAL: KnownModels = known![
    "codestral" => ModelFacts::window(256_000).sees(false),
    "magistral" => ModelFacts::window(128_000).reasons(),
    "ministral" => ModelFacts::window(128_000),
    "mistral-large" => ModelFacts::window(128_000),
    "mistral-medium" => ModelFacts::window(128_000),
    "mistral-small" => ModelFacts::window(128_000),
    "pixtral" => ModelFacts::window(128_000),
];

pub(super) const MOONSHOT: KnownModels = known![
    "kimi-k2" => ModelFacts::window(262_144).sees(false),
    "kimi-k2-thinking" => ModelFacts::window(262_144).sees(false).reasons(),
    "moonshot-v1-8k" => ModelFacts::window(8_192).sees(false),
    "moonshot-v1-32k" => ModelFacts::window(32_768).sees(false),
    "moonshot-v1-128k" => ModelFacts::window(131_072).sees(false),
];

pub(super) const ALIBABA: KnownModels = known![
    "qwen-max" => of(32_768, 8_192).text_alone(),
    "qwen3-max" => of(262_144, 65_536).text_alone(),
    "qwen-plus" => of(1_000_000, 32_768).text_alone(),
    "qwen-flash" => of(1_000_000, 32_768).text_alone(),
    "qwq" => of(131_072, 8_192).text_alone().reasons(),
];

pub(super) const PERPLEXITY: KnownModels = known![
    "sonar" => ModelFacts::window(128_000),
    "sonar-pro" => of(200_000, 8_000),
    "sonar-reasoning" => ModelFacts::window(128_000).reasons(),
    "sonar-deep-research" => ModelFacts::window(128_000).reasons(),
];
