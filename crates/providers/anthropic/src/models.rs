//! What is known of models, by the beginning of their id.

use ai_provider::{Capabilities, MediaSupport, StructuredOutput};

/// How a model is told to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thinking {
    /// Not at all.
    Never,
    /// By a budget of tokens.
    Budget,
    /// As much as it sees fit; it can be told not to.
    Adaptive,
    /// As much as it sees fit, and always.
    Always,
}

/// What is known of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Model {
    /// The most tokens one answer can have.
    pub(crate) max_output: u64,
    /// Tokens of prompt and answer together; unknown where zero.
    context: u64,
    pub(crate) thinking: Thinking,
    /// The API's words for the effort; none where it takes none.
    pub(crate) efforts: &'static [&'static str],
    /// What has to be asked for with an effort, if it is not generally available.
    pub(crate) effort_beta: Option<&'static str>,
    /// Whether temperature, top-p and top-k are taken.
    pub(crate) samples: bool,
    /// Whether an answer can be bound to a schema by a setting.
    pub(crate) json_schema: bool,
    /// Whether instructions may stand among the messages.
    pub(crate) late_system: bool,
    image: bool,
    pdf: bool,
    pub(crate) known: Known,
}

/// How sure the figures are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// In the table.
    Yes,
    /// A Claude that is not.
    Newer,
    /// A model of another maker.
    Foreign,
}

const NONE: &[&str] = &[];
const TO_HIGH: &[&str] = &["low", "medium", "high"];
const TO_MAX: &[&str] = &["low", "medium", "high", "max"];
const ALL: &[&str] = &["low", "medium", "high", "xhigh", "max"];

const NEWEST: Model = Model {
    max_output: 128_000,
    context: 1_000_000,
    thinking: Thinking::Adaptive,
    efforts: ALL,
    effort_beta: None,
    samples: false,
    json_schema: true,
    late_system: true,
    image: true,
    pdf: true,
    known: Known::Yes,
};
const ALWAYS: Model = Model { thinking: Thinking::Always, ..NEWEST };
const OPUS_4_7: Model = Model { late_system: false, ..NEWEST };
const OPUS_4_6: Model = Model { efforts: TO_MAX, samples: true, ..OPUS_4_7 };
const BY_BUDGET: Model =
    Model { max_output: 64_000, context: 200_000, thinking: Thinking::Budget, efforts: NONE, ..OPUS_4_6 };
const OPUS_4_5: Model = Model { efforts: TO_HIGH, effort_beta: Some("effort-2025-11-24"), ..BY_BUDGET };
const OPUS_4_1: Model = Model { max_output: 32_000, ..BY_BUDGET };
const SONNET_4: Model = Model { json_schema: false, ..BY_BUDGET };
const OPUS_4: Model = Model { json_schema: false, ..OPUS_4_1 };
const CLAUDE_3_5: Model = Model { max_output: 8_192, thinking: Thinking::Never, ..SONNET_4 };
const CLAUDE_3: Model = Model { max_output: 4_096, pdf: false, ..CLAUDE_3_5 };
const NEWER: Model = Model { context: 0, known: Known::Newer, ..NEWEST };
const FOREIGN: Model = Model {
    max_output: 4_096,
    context: 0,
    thinking: Thinking::Budget,
    pdf: true,
    known: Known::Foreign,
    ..SONNET_4
};

/// The first beginning that fits counts, so what is more exact stands first.
const TABLE: &[(&str, Model)] = &[
    ("claude-fable-5", ALWAYS),
    ("claude-mythos", ALWAYS),
    ("claude-opus-5-5", ALWAYS),
    ("claude-opus-5", NEWEST),
    ("claude-sonnet-5", NEWEST),
    ("claude-haiku-5", NEWEST),
    ("claude-opus-4-8", NEWEST),
    ("claude-opus-4-7", OPUS_4_7),
    ("claude-opus-4-6", OPUS_4_6),
    ("claude-sonnet-4-6", OPUS_4_6),
    ("claude-opus-4-5", OPUS_4_5),
    ("claude-sonnet-4-5", BY_BUDGET),
    ("claude-haiku-4-5", BY_BUDGET),
    ("claude-opus-4-1", OPUS_4_1),
    ("claude-opus-4", OPUS_4),
    ("claude-sonnet-4", SONNET_4),
    ("claude-3-7", SONNET_4),
    ("claude-3-5", CLAUDE_3_5),
    ("claude-3", CLAUDE_3),
];

impl Model {
    /// What is known of the model of this id, also in the forms other sellers give the ids:
    /// `anthropic/claude-opus-4.5`, `eu.anthropic.claude-sonnet-4-5-v1:0`.
    pub(crate) fn of(id: &str) -> &'static Self {
        let id = id.to_ascii_lowercase().replace('.', "-");
        let Some(at) = id.find("claude") else { return &FOREIGN };
        let id = id.get(at..).unwrap_or_default();
        TABLE.iter().find(|(start, _)| id.starts_with(start)).map_or(&NEWER, |(_, model)| model)
    }

    pub(crate) fn capabilities(&self) -> Capabilities {
        let mut media = MediaSupport::default();
        media.image = self.image;
        media.pdf = self.pdf;
        let mut capabilities = Capabilities::default();
        // Where there is no setting for it, a forced tool does the same.
        capabilities.structured_output = StructuredOutput::JsonSchema;
        capabilities.reasoning = self.thinking != Thinking::Never;
        capabilities.input = media;
        capabilities.tool_result = media;
        capabilities.context_window = (self.context > 0).then_some(self.context);
        capabilities.max_output_tokens = (self.known == Known::Yes).then_some(self.max_output);
        capabilities
    }
}
