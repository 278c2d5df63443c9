//! What is known of Google's models, by the beginning of their ids.

use ai_provider::{Capabilities, MediaSupport, StructuredOutput};

/// How a model is told how much to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thinking {
    /// It is not.
    No,
    /// By a number of tokens, up to `most`. Those that always think take no less than `least`; 0 turns others off.
    Budget { least: u64, most: u64 },
    /// By a word, of which the least one differs. It cannot be turned off.
    Level { least: &'static str },
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model {
    /// What the id begins with.
    prefix: &'static str,
    pub(crate) thinking: Thinking,
    /// Has a place for system instructions, tools and schemas.
    pub(crate) instructed: bool,
    /// Takes function tools beside tools of the server or a bound answer, wants the signatures of its calls back,
    /// and files within results: Gemini 3 and later.
    pub(crate) third: bool,
    /// Image, audio, video, PDF.
    input: [bool; 4],
    window: Option<u64>,
    output: Option<u64>,
}

/// Gemini 2.5 Flash, from which the others differ; and what a model is that is not in the table.
const FLASH: Model = Model {
    prefix: "",
    thinking: Thinking::Budget { least: 0, most: 24_576 },
    instructed: true,
    third: false,
    input: [true; 4],
    window: Some(1_048_576),
    output: Some(65_536),
};

const THIRD: Model = Model { thinking: Thinking::Level { least: "minimal" }, third: true, ..FLASH };

const WITHOUT_TOOLS: Model = Model { thinking: Thinking::No, instructed: false, ..FLASH };

/// Longer beginnings come first.
const MODELS: &[Model] = &[
    Model {
        prefix: "gemini-3-pro-image",
        thinking: Thinking::No,
        instructed: false,
        third: true,
        input: [true, false, false, false],
        window: Some(65_536),
        output: Some(32_768),
    },
    Model {
        prefix: "gemini-3.1-flash-image",
        input: [true, false, false, true],
        window: Some(131_072),
        output: Some(32_768),
        third: true,
        ..WITHOUT_TOOLS
    },
    Model { prefix: "gemini-3-pro", thinking: Thinking::Level { least: "low" }, ..THIRD },
    Model { prefix: "gemini-3.1-pro", thinking: Thinking::Level { least: "low" }, ..THIRD },
    Model {
        prefix: "gemini-2.5-pro-preview-tts",
        window: Some(8_192),
        output: Some(16_384),
        ..WITHOUT_TOOLS
    },
    Model { prefix: "gemini-pro-latest", thinking: Thinking::Level { least: "low" }, ..THIRD },
    Model { prefix: "gemini-flash-latest", ..THIRD },
    Model { prefix: "gemini-2.5-pro", thinking: Thinking::Budget { least: 128, most: 32_768 }, ..FLASH },
    Model { prefix: "gemini-2.5-flash-image", window: Some(65_536), output: Some(32_768), ..WITHOUT_TOOLS },
    Model {
        prefix: "gemini-2.5-flash-preview-tts",
        window: Some(8_192),
        output: Some(16_384),
        ..WITHOUT_TOOLS
    },
    Model { prefix: "gemini-2.5", ..FLASH },
    Model { prefix: "gemini-2.0", thinking: Thinking::No, output: Some(8_192), ..FLASH },
    Model { prefix: "gemini-1.5", thinking: Thinking::No, output: Some(8_192), ..FLASH },
    Model {
        prefix: "gemma-3n",
        input: [true, true, false, false],
        window: Some(32_768),
        output: Some(8_192),
        ..WITHOUT_TOOLS
    },
    Model {
        prefix: "gemma",
        input: [true, false, false, false],
        window: Some(131_072),
        output: Some(8_192),
        ..WITHOUT_TOOLS
    },
];

impl Model {
    /// What is known of the model of this id. Of a later generation than the table knows, what holds for the
    /// latest it knows.
    pub(crate) fn of(id: &str) -> &'static Self {
        let name = id.rsplit('/').next().unwrap_or(id);
        let unknown = || if generation(name).is_some_and(|number| number >= 3) { &THIRD } else { &FLASH };
        MODELS.iter().find(|model| name.starts_with(model.prefix)).unwrap_or_else(unknown)
    }

    pub(crate) fn capabilities(&self) -> Capabilities {
        let mut known = Capabilities::default();
        known.tools = self.instructed;
        known.parallel_tool_calls = self.instructed;
        known.structured_output =
            if self.instructed { StructuredOutput::JsonSchema } else { StructuredOutput::None };
        known.reasoning = self.thinking != Thinking::No;
        known.input = media(self.input);
        known.tool_result =
            media([self.third && self.instructed, false, false, self.third && self.instructed]);
        known.context_window = self.window;
        known.max_output_tokens = self.output;
        known
    }
}

/// The number behind `gemini-`.
fn generation(name: &str) -> Option<u32> {
    let rest = name.strip_prefix("gemini-")?;
    rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

fn media([image, audio, video, pdf]: [bool; 4]) -> MediaSupport {
    let mut media = MediaSupport::default();
    media.image = image;
    media.audio = audio;
    media.video = video;
    media.pdf = pdf;
    media
}
