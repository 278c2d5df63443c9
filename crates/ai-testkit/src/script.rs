use std::collections::VecDeque;
use std::time::Duration;

use ai_provider::{CancellationToken, Finish, Id, ModelError, StreamPart, ToolCall, UnifiedFinish, Usage};

/// One answer of a [`ScriptedModel`](crate::ScriptedModel): a list of steps, played in order.
///
/// The answer begins with a `StreamStart` without being told, unless the first part of the script is one. It
/// ends with [`finish`](Self::finish) or [`error`](Self::error); a script without either ends without a
/// finish, which no well-behaved model does.
///
/// Blocks get ids of their own: `text-1`, `reasoning-2`, counted over the script.
///
/// ```
/// use ai_provider::UnifiedFinish;
/// use ai_testkit::Script;
/// let script = Script::new()
///     .reasoning("The user wants the weather.")
///     .tool_call("call_1", "weather", r#"{"city":"Oslo"}"#)
///     .usage(120, 18)
///     .finish(UnifiedFinish::ToolCalls);
/// # drop(script);
/// ```
#[derive(Clone, Debug)]
pub struct Script {
    steps: Vec<Step>,
    usage: Usage,
    blocks: usize,
    start: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Part(StreamPart),
    Error(ModelError),
    Delay(Duration),
    WaitFor(CancellationToken),
    Hang,
    End,
}

/// Characters of tool input in one delta: short, so that nearly every call has several.
const INPUT_DELTA: usize = 8;

impl Script {
    /// An empty answer.
    pub fn new() -> Self {
        Self { steps: Vec::new(), usage: Usage::default(), blocks: 0, start: true }
    }

    /// A text and a finish.
    pub fn text_reply(text: &str) -> Self {
        Self::new().text(text).finish(UnifiedFinish::Stop)
    }

    /// A tool call and a finish.
    pub fn tool_reply(id: impl Into<Id>, name: &str, input: &str) -> Self {
        Self::new().tool_call(id, name, input).finish(UnifiedFinish::ToolCalls)
    }

    /// A block of text: its start, a delta per word, its end.
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        let id = self.block("text");
        self.push(StreamPart::text_start(id.clone()));
        for word in text.split_inclusive(char::is_whitespace) {
            self.push(StreamPart::text_delta(id.clone(), word));
        }
        self.part(StreamPart::text_end(id))
    }

    /// A block of reasoning: its start, a delta per word, its end.
    #[must_use]
    pub fn reasoning(mut self, text: &str) -> Self {
        let id = self.block("reasoning");
        self.push(StreamPart::reasoning_start(id.clone()));
        for word in text.split_inclusive(char::is_whitespace) {
            self.push(StreamPart::reasoning_delta(id.clone(), word));
        }
        self.part(StreamPart::reasoning_end(id))
    }

    /// A tool call: its input in short deltas, then the call. The input is JSON text; what is no JSON is sent
    /// as it is, as a confused model would.
    #[must_use]
    pub fn tool_call(mut self, id: impl Into<Id>, name: &str, input: &str) -> Self {
        let id = id.into();
        self.push(StreamPart::ToolInputStart {
            id: id.clone(),
            tool_name: name.to_owned(),
            provider_executed: false,
            dynamic: false,
            title: None,
        });
        let mut characters = input.chars().peekable();
        while characters.peek().is_some() {
            let delta = characters.by_ref().take(INPUT_DELTA).collect();
            self.push(StreamPart::ToolInputDelta { id: id.clone(), delta });
        }
        self.push(StreamPart::ToolInputEnd { id: id.clone() });
        self.part(StreamPart::ToolCall(Box::new(ToolCall::new(id, name, input))))
    }

    /// Any part, also one that breaks the order rules.
    #[must_use]
    pub fn part(mut self, part: StreamPart) -> Self {
        self.push(part);
        self
    }

    /// Any parts, also ones that break the order rules.
    #[must_use]
    pub fn parts(mut self, parts: impl IntoIterator<Item = StreamPart>) -> Self {
        self.steps.extend(parts.into_iter().map(Step::Part));
        self
    }

    /// The tokens that [`finish`](Self::finish) will report: all of the input and all of the output. Unknown
    /// if never set.
    #[must_use]
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        self.usage.input.total = Some(input);
        self.usage.output.total = Some(output);
        self
    }

    /// The end of a whole answer. Steps after it are still played: a delay there is a connection that is slow
    /// to close.
    #[must_use]
    pub fn finish(self, reason: UnifiedFinish) -> Self {
        let usage = self.usage.clone();
        self.part(StreamPart::Finish(Box::new(Finish { reason: reason.into(), usage, metadata: None })))
    }

    /// The end of a failed answer. Steps after it are not played.
    #[must_use]
    pub fn error(self, error: ModelError) -> Self {
        self.step(Step::Error(error))
    }

    /// Waits this long, on tokio's clock. Cancelling the call ends the wait.
    #[must_use]
    pub fn delay(self, time: Duration) -> Self {
        self.step(Step::Delay(time))
    }

    /// Waits until the test opens the gate by cancelling this token (which is not the token of the call):
    /// holds the model in the middle of an answer without a timer. Cancelling the call ends the wait.
    #[must_use]
    pub fn wait_for(self, gate: CancellationToken) -> Self {
        self.step(Step::WaitFor(gate))
    }

    /// Goes on for ever without a part. Cancelling the call ends it.
    #[must_use]
    pub fn hang(self) -> Self {
        self.step(Step::Hang)
    }

    /// The stream ends here, without a finish if there was none. Steps after it are not played.
    #[must_use]
    pub fn end(self) -> Self {
        self.step(Step::End)
    }

    /// Leaves out the `StreamStart`, as a model does whose request could not even be written.
    #[must_use]
    pub fn without_start(mut self) -> Self {
        self.start = false;
        self
    }

    pub(crate) fn into_steps(self) -> VecDeque<Step> {
        let first = self.steps.iter().find_map(|step| match step {
            Step::Part(part) => Some(part),
            _ => None,
        });
        let told = matches!(first, Some(StreamPart::StreamStart { .. }));
        let start = StreamPart::StreamStart { warnings: Vec::new() };
        let start = (self.start && !told).then_some(Step::Part(start));
        start.into_iter().chain(self.steps).collect()
    }

    fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    fn push(&mut self, part: StreamPart) {
        self.steps.push(Step::Part(part));
    }

    fn block(&mut self, kind: &str) -> Id {
        self.blocks += 1;
        format!("{kind}-{}", self.blocks).into()
    }
}

impl Default for Script {
    fn default() -> Self {
        Self::new()
    }
}
