use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Once};
use std::time::Duration;

use ai_core::run::{ApprovalVerdict, Outcome};
use ai_core::{Effect, Tool, ToolContext, ToolError, ToolLoop, ToolSet, ToolStream, ToolYield, tool_fn};
use ai_provider::{
    CancellationToken, FunctionTool, LanguageModel, Message, TextPart, ToolContent, ToolOutput,
};
use ai_testkit::ScriptedModel;
use async_trait::async_trait;
use futures_util::{Stream, StreamExt, stream};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::protocol::check;
use crate::{Agent, AgentEvent, AgentStream, UiChunk};

/// What a failing tool says: never to be seen by a client unless asked for.
pub(crate) const SECRET: &str = "no route to db-7.internal";

#[derive(Deserialize, JsonSchema)]
pub(crate) struct NoArgs {}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Echo {
    text: String,
}

/// Leaves out the report of panics that tools are here for: thousands of them, with backtraces, take minutes.
fn expect_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if info.payload_as_str() != Some(SECRET) {
                report(info);
            }
        }));
    });
}

/// Tools of every temper.
pub(crate) fn tools() -> ToolSet {
    expect_panics();
    ToolSet::new()
        .with(tool_fn("echo", "Says it again.", |args: Echo, _| async { Ok(args.text) }))
        .and_then(|set| {
            set.with(tool_fn("clock", "Tells the time.", |_: NoArgs, _| async { Ok(json!({"hour": 12})) }))
        })
        .and_then(|set| {
            set.with(tool_fn("fails", "Fails.", |_: NoArgs, _| async {
                Err::<(), _>(ToolError::new(SECRET))
            }))
        })
        .and_then(|set| set.with(tool_fn("panics", "Panics.", panics)))
        .and_then(|set| set.with(tool_fn("slow", "Takes a second.", slow).with_effect(Effect::ReadOnly)))
        .and_then(|set| set.with(tool_fn("hangs", "Never ends.", hangs)))
        .and_then(|set| {
            set.with(tool_fn("asks", "Asks first.", |_: NoArgs, _| async { Ok("done") }).with_approval())
        })
        .and_then(|set| set.with(Special::Progress))
        .and_then(|set| set.with(Special::Client))
        .and_then(|set| set.with(Special::Denied))
        .and_then(|set| {
            set.trusted(tool_fn("stops", "Ends the run.", |_: NoArgs, ctx: ToolContext| async move {
                let permit = ctx.terminal_permit().ok_or_else(|| ToolError::new("no permit"))?;
                Err::<(), _>(permit.fail("Your account is closed.").into())
            }))
        })
        .unwrap()
}

async fn panics(_: NoArgs, _: ToolContext) -> Result<Value, ToolError> {
    panic!("{SECRET}")
}

async fn slow(_: NoArgs, _: ToolContext) -> Result<&'static str, ToolError> {
    tokio::time::sleep(Duration::from_secs(1)).await;
    Ok("at last")
}

async fn hangs(_: NoArgs, _: ToolContext) -> Result<(), ToolError> {
    std::future::pending().await
}

/// Tools that no function makes.
enum Special {
    Progress,
    Client,
    Denied,
}

#[async_trait]
impl Tool for Special {
    fn definition(&self) -> FunctionTool {
        let name = match self {
            Self::Progress => "progress",
            Self::Client => "client",
            Self::Denied => "denied",
        };
        FunctionTool::new(name, "Special.", json!({"type": "object"}))
    }

    fn is_executable(&self) -> bool {
        !matches!(self, Self::Client)
    }

    fn needs_approval(&self) -> bool {
        matches!(self, Self::Denied)
    }

    async fn approve(&self, _: &Value, _: &ToolContext) -> ApprovalVerdict {
        ApprovalVerdict::Denied { reason: Some(SECRET.to_owned()) }
    }

    fn execute(&self, _: Value, _: ToolContext) -> ToolStream {
        let half = ToolYield::Preliminary(ToolOutput::Text("half".to_owned()));
        let whole = ToolOutput::Content(vec![ToolContent::Text(TextPart::new("whole"))]);
        Box::pin(stream::iter([half, ToolYield::Final(Ok(whole))]))
    }
}

pub(crate) fn tool_loop(model: &ScriptedModel) -> ToolLoop {
    let model: Arc<dyn LanguageModel> = Arc::new(model.clone());
    ToolLoop::new(model).with_tools(tools())
}

pub(crate) fn agent(model: &ScriptedModel) -> Agent {
    Agent::new(tool_loop(model)).with_message_id("m1")
}

pub(crate) fn ask(agent: &Agent) -> AgentStream {
    agent.stream([Message::user("Go.")], CancellationToken::new())
}

/// A run that is over, and complete by the protocol.
pub(crate) struct Ran {
    pub(crate) chunks: Vec<UiChunk>,
    pub(crate) steps: usize,
    pub(crate) outcome: Outcome,
    pub(crate) stream: AgentStream,
}

impl Ran {
    /// Compares the chunks with lines of `type` and, if there are any, the other fields as JSON.
    pub(crate) fn expect(&self, lines: &[&str]) {
        let got: Vec<_> = self.chunks.iter().map(|chunk| serde_json::to_value(chunk).unwrap()).collect();
        let wanted: Vec<_> = lines.iter().map(|line| read(line)).collect();
        for (at, (got, wanted)) in got.iter().zip(&wanted).enumerate() {
            assert_eq!(got, wanted, "chunk {at}");
        }
        assert_eq!(got.len(), wanted.len(), "{got:#?}");
    }

    /// The chunks of these types, as JSON.
    pub(crate) fn only(&self, kinds: &[&str]) -> Vec<Value> {
        let all = self.chunks.iter().map(|chunk| serde_json::to_value(chunk).unwrap());
        all.filter(|chunk| kinds.iter().any(|kind| chunk["type"] == *kind)).collect()
    }

    pub(crate) fn last(&self) -> &UiChunk {
        self.chunks.last().unwrap()
    }

    pub(crate) fn json(&self) -> String {
        serde_json::to_string(&self.chunks).unwrap()
    }
}

/// A chunk from its type and its other fields as JSON.
pub(crate) fn read(line: &str) -> Value {
    let (kind, fields) = line.split_once(' ').unwrap_or((line, "{}"));
    let mut chunk: Value = serde_json::from_str(fields).unwrap();
    chunk["type"] = kind.into();
    chunk
}

/// Polls a run to its end and checks what holds for every run.
pub(crate) async fn run(stream: AgentStream) -> Ran {
    run_with(stream, |_| {}).await
}

/// The same, with something done before each poll, which are counted from 0.
pub(crate) async fn run_with(mut stream: AgentStream, mut before: impl FnMut(usize)) -> Ran {
    let (mut chunks, mut steps, mut outcome, mut polls) = (Vec::new(), 0, None, 0);
    loop {
        let next = poll_fn(|cx| {
            before(polls);
            polls += 1;
            Pin::new(&mut stream).poll_next(cx)
        });
        match next.await {
            Some(_) if outcome.is_some() => panic!("something follows the end"),
            Some(AgentEvent::Chunk(chunk)) => chunks.push(chunk),
            Some(AgentEvent::Step(record, snapshot)) => {
                steps += 1;
                assert_eq!(usize::try_from(record.step).unwrap(), steps);
                assert_eq!(snapshot.run().steps().len(), steps);
                assert_eq!(chunks.last(), Some(&UiChunk::FinishStep), "a step comes after its last chunk");
            }
            Some(AgentEvent::Attempt(_)) => {}
            Some(AgentEvent::End(end)) => outcome = Some(end),
            None => break,
        }
    }
    assert!(stream.next().await.is_none(), "the stream goes on after its end");
    if let Err(problem) = check(&chunks) {
        panic!("{problem}\n{chunks:#?}");
    }
    Ran { chunks, steps, outcome: outcome.expect("an outcome"), stream }
}
