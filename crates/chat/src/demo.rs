//! A small model inside the program, so that it works before any real model is set up.
//!
//! It knows rules, no answers: it looks for arithmetic, places, file names in the question, really calls the
//! tools for them, and puts their results into sentences. For anything else it says that it is a demo.

mod find;
mod plan;
#[cfg(test)]
mod tests;
mod turn;

use std::sync::Arc;
use std::time::Duration;

use ai_provider::{
    AssistantPart, CallContext, Capabilities, Delivery, ErrorClass, Finish, InputTokens, LanguageModel,
    Message, ModelError, ModelInfo, ModelKind, ModelStream, OutputTokens, Provider, Request, ResponseFormat,
    ResponseMetadata, Settings, StreamPart, TargetId, ToolCall, ToolChoice, ToolPart, UnifiedFinish, Usage,
    UserPart, Warning,
};
use async_trait::async_trait;
use futures_util::{Stream, StreamExt, stream};
use tokio::time::{Instant, sleep, sleep_until};

use self::plan::{Next, Plan, plan};
use self::turn::{Turn, said};

/// The pause before each word: about the speed of a fast model.
const PAUSE: Duration = Duration::from_millis(12);

/// The id of the one model there is.
pub(crate) const MODEL: &str = "rules";

/// Provider of the demo.
#[derive(Debug)]
pub(crate) struct Demo;

#[async_trait]
impl Provider for Demo {
    fn name(&self) -> &str {
        "demo"
    }

    fn language_model(&self, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        match id {
            MODEL => Ok(Arc::new(DemoModel::new())),
            _ => Err(ModelError::new(
                ErrorClass::InvalidRequest,
                format!("the demo has one model, `demo:{MODEL}`"),
            )),
        }
    }

    async fn list_models(&self) -> Result<Vec<ModelInfo>, ModelError> {
        let kind = Some(ModelKind::Language);
        let capabilities = Some(DemoModel::new().capabilities);
        Ok(vec![ModelInfo { id: MODEL.to_owned(), display_name: None, kind, capabilities }])
    }
}

/// The demo as a language model.
#[derive(Debug)]
struct DemoModel {
    target: TargetId,
    capabilities: Capabilities,
}

impl DemoModel {
    fn new() -> Self {
        let mut capabilities = Capabilities::default();
        capabilities.reasoning = true;
        Self { target: TargetId::new("demo", MODEL, "embedded"), capabilities }
    }
}

impl LanguageModel for DemoModel {
    fn target(&self) -> &TargetId {
        &self.target
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn stream(&self, request: Request, ctx: CallContext) -> ModelStream {
        let pause = match request.delivery {
            Delivery::Stream => PAUSE,
            Delivery::Whole => Duration::ZERO,
        };
        // Nothing is worked out before the first poll.
        let parts = async move { paced(answer(&request, ctx.request_id.as_str()), pause, ctx) };
        Box::pin(stream::once(parts).flatten())
    }
}

/// The parts one by one, with a pause before each word.
fn paced(
    parts: Vec<StreamPart>,
    pause: Duration,
    ctx: CallContext,
) -> impl Stream<Item = Result<StreamPart, ModelError>> {
    // `None` once the stream has failed: nothing follows an error.
    stream::unfold(Some((parts.into_iter(), ctx)), move |state| async move {
        let (mut parts, ctx) = state?;
        let part = parts.next()?;
        let wait = if spoken(&part) { pause } else { Duration::ZERO };
        match paused(wait, &ctx).await {
            Ok(()) => Some((Ok(part), Some((parts, ctx)))),
            Err(error) => Some((Err(error), None)),
        }
    })
}

fn spoken(part: &StreamPart) -> bool {
    matches!(part, StreamPart::TextDelta { .. } | StreamPart::ReasoningDelta { .. })
}

/// Waits, unless the call is cancelled or its time is up.
async fn paused(wait: Duration, ctx: &CallContext) -> Result<(), ModelError> {
    let deadline = async {
        match ctx.deadline {
            Some(deadline) => sleep_until(Instant::from_std(deadline)).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = ctx.cancel.cancelled() => Err(ModelError::cancelled()),
        () = deadline => Err(ModelError::new(ErrorClass::Timeout, "the time of the run is up")),
        () = async { if !wait.is_zero() { sleep(wait).await } } => Ok(()),
    }
}

/// The whole answer to a request, as the parts of its stream.
fn answer(request: &Request, seed: &str) -> Vec<StreamPart> {
    let tools: Vec<&str> = match request.tool_choice {
        ToolChoice::None => Vec::new(),
        _ => request.tools.iter().map(ai_provider::ToolDefinition::name).collect(),
    };
    let turn = Turn::read(&request.messages);
    let Plan { reasoning, next } = plan(&turn.question, &tools, &turn.outcomes);
    let model = Some(MODEL.to_owned());
    let mut parts = vec![
        StreamPart::StreamStart { warnings: warnings(request) },
        StreamPart::ResponseMetadata(Box::new(ResponseMetadata {
            asked_model: model.clone(),
            model,
            ..Default::default()
        })),
        StreamPart::reasoning_start("reasoning"),
    ];
    parts.extend(pieces(&reasoning).map(|piece| StreamPart::reasoning_delta("reasoning", piece)));
    parts.push(StreamPart::reasoning_end("reasoning"));
    let (said, finish) = match next {
        Next::Answer(text) => {
            parts.push(StreamPart::text_start("answer"));
            parts.extend(pieces(&text).map(|piece| StreamPart::text_delta("answer", piece)));
            parts.push(StreamPart::text_end("answer"));
            (words(&text), UnifiedFinish::Stop)
        }
        Next::Call(calls) => {
            let mut said = 0;
            for (number, (name, input)) in calls.into_iter().enumerate() {
                let call = ToolCall::new(format!("demo-{seed}-{number}"), name, input.to_string());
                said += words(&call.input);
                parts.extend(call_parts(call));
            }
            (said, UnifiedFinish::ToolCalls)
        }
    };
    let usage = usage(prompt(&request.messages), said, words(&reasoning));
    parts.push(StreamPart::Finish(Box::new(Finish { reason: finish.into(), usage, metadata: None })));
    parts
}

fn call_parts(call: ToolCall) -> Vec<StreamPart> {
    let (id, tool_name) = (call.id.clone(), call.name.clone());
    let start = StreamPart::ToolInputStart {
        id: id.clone(),
        tool_name,
        provider_executed: false,
        dynamic: false,
        title: None,
    };
    let deltas = pieces(&call.input)
        .map(|piece| StreamPart::ToolInputDelta { id: id.clone(), delta: piece.to_owned() });
    let mut parts = vec![start];
    parts.extend(deltas);
    parts.extend([StreamPart::ToolInputEnd { id: id.clone() }, StreamPart::ToolCall(Box::new(call))]);
    parts
}

/// A warning for everything the rules cannot honour.
fn warnings(request: &Request) -> Vec<Warning> {
    let unset = Settings::default();
    let ours = &request.settings;
    let features = [
        ("max_output_tokens", ours.max_output_tokens != unset.max_output_tokens),
        ("temperature", ours.temperature != unset.temperature),
        ("top_p", ours.top_p != unset.top_p),
        ("top_k", ours.top_k != unset.top_k),
        ("presence_penalty", ours.presence_penalty != unset.presence_penalty),
        ("frequency_penalty", ours.frequency_penalty != unset.frequency_penalty),
        ("stop_sequences", ours.stop_sequences != unset.stop_sequences),
        ("seed", ours.seed != unset.seed),
        ("reasoning", ours.reasoning != unset.reasoning),
        ("tool_choice", matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Tool { .. })),
        ("response_format", request.response_format != ResponseFormat::Text),
        ("system", request.messages.iter().any(|message| matches!(**message, Message::System(_)))),
    ];
    let asked = features.into_iter().filter(|(_, asked)| *asked);
    asked.map(|(feature, _)| Warning::unsupported(feature, "the demo follows its rules alone")).collect()
}

/// Words with the blanks behind them.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(char::is_whitespace)
}

/// The demo's measure of text: a word counts as one token.
fn words(text: &str) -> u64 {
    u64::try_from(text.split_whitespace().count()).unwrap_or(u64::MAX)
}

fn prompt(messages: &[Arc<Message>]) -> u64 {
    let words = messages.iter().map(|message| match &**message {
        Message::System(system) => words(&system.text),
        Message::User(user) => user.parts.iter().map(user_words).sum(),
        Message::Assistant(assistant) => assistant.parts.iter().map(assistant_words).sum(),
        Message::Tool(tool) => tool.parts.iter().map(tool_words).sum(),
        _ => 0,
    });
    words.sum()
}

fn user_words(part: &UserPart) -> u64 {
    match part {
        UserPart::Text(part) => words(&part.text),
        _ => 0,
    }
}

fn assistant_words(part: &AssistantPart) -> u64 {
    match part {
        AssistantPart::Text(part) => words(&part.text),
        AssistantPart::Reasoning(part) => words(&part.text),
        AssistantPart::ToolCall(call) => words(&call.input),
        _ => 0,
    }
}

fn tool_words(part: &ToolPart) -> u64 {
    match part {
        ToolPart::ToolResult(result) => {
            said(&result.output).map_or_else(|text| words(&text), |text| words(&text))
        }
        _ => 0,
    }
}

fn usage(input: u64, text: u64, reasoning: u64) -> Usage {
    let output = OutputTokens { total: Some(text + reasoning), text: Some(text), reasoning: Some(reasoning) };
    let input = InputTokens { total: Some(input), no_cache: Some(input), ..InputTokens::default() };
    Usage { input, output, raw: None }
}
