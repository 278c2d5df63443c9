use serde::{Deserialize, Serialize};

/// What a model at its endpoint can do. Unknown models get their dialect's default; callers may override.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Capabilities {
    /// Calls function tools.
    pub tools: bool,
    /// Several tool calls in one step.
    pub parallel_tool_calls: bool,
    /// How an answer can be bound to a schema.
    pub structured_output: StructuredOutput,
    /// Reasons before it answers.
    pub reasoning: bool,
    /// Media a user message may carry.
    pub input: MediaSupport,
    /// Media a tool result may carry.
    pub tool_result: MediaSupport,
    /// Reports usage in streams.
    pub usage_in_stream: bool,
    /// Tokens of prompt and answer together; absent if unknown.
    pub context_window: Option<u64>,
    /// The most tokens one answer can have; absent if unknown.
    pub max_output_tokens: Option<u64>,
}

impl Default for Capabilities {
    /// A text model with tools: what nearly every chat model is.
    fn default() -> Self {
        Self {
            tools: true,
            parallel_tool_calls: true,
            structured_output: StructuredOutput::None,
            reasoning: false,
            input: MediaSupport::default(),
            tool_result: MediaSupport::default(),
            usage_in_stream: true,
            context_window: None,
            max_output_tokens: None,
        }
    }
}

/// How far a model can be held to a response format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StructuredOutput {
    /// Only by asking in words.
    #[default]
    None,
    /// Some JSON object, of any shape.
    JsonObject,
    /// JSON of a given schema.
    JsonSchema,
}

/// Media kinds accepted in one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct MediaSupport {
    /// Images.
    pub image: bool,
    /// Sound.
    pub audio: bool,
    /// Moving pictures.
    pub video: bool,
    /// PDF documents.
    pub pdf: bool,
}

impl MediaSupport {
    /// Whether a file of this media type (`image/png`, or just `image`) is accepted. Text always is. Case and
    /// parameters (`; charset=…`) do not matter.
    ///
    /// ```
    /// let mut support = ai_provider::MediaSupport::default();
    /// support.image = true;
    /// assert!(support.accepts("image/png") && support.accepts("text/csv; charset=utf-8"));
    /// assert!(!support.accepts("application/pdf"));
    /// ```
    pub fn accepts(&self, media_type: &str) -> bool {
        let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match essence.split('/').next().unwrap_or_default() {
            "text" => true,
            "image" => self.image,
            "audio" => self.audio,
            "video" => self.video,
            "application" => self.pdf && essence == "application/pdf",
            _ => false,
        }
    }
}
