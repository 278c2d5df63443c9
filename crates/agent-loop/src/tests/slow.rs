//! A reader that is slower than the model.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ai_core::ToolLoop;
use ai_provider::{
    CallContext, Capabilities, LanguageModel, Message, ModelStream, Request, StreamPart, TargetId,
    UnifiedFinish,
};
use ai_testkit::{Script, ScriptedModel};
use futures_util::StreamExt;
use tokio::time::{Instant, sleep};

use super::support::{ask, tools};
use crate::{Agent, AgentEvent, Timeouts, TranscriptView, UiChunk, UiReducer};

/// Counts what is taken from a model.
struct Counted(ScriptedModel, Arc<AtomicUsize>);

impl LanguageModel for Counted {
    fn target(&self) -> &TargetId {
        self.0.target()
    }

    fn capabilities(&self) -> &Capabilities {
        self.0.capabilities()
    }

    fn stream(&self, request: Request, ctx: CallContext) -> ModelStream {
        let taken = Arc::clone(&self.1);
        Box::pin(self.0.stream(request, ctx).inspect(move |_| {
            taken.fetch_add(1, Ordering::Relaxed);
        }))
    }
}

/// [AL-267]
#[tokio::test(start_paused = true)]
async fn a_slow_reader_gets_everything_and_nothing_piles_up() {
    const DELTAS: usize = 500;
    let mut script = Script::new().part(StreamPart::text_start("t"));
    for number in 0..DELTAS {
        let delta = StreamPart::text_delta("t", format!("word-{number} "));
        script = script.part(delta).delay(Duration::from_millis(2));
    }
    let script = script.part(StreamPart::text_end("t")).tool_call("a", "clock", "{}").usage(1, 1);
    let model = ScriptedModel::new()
        .reply(script.finish(UnifiedFinish::ToolCalls))
        .reply(Script::new().text("Done.").usage(1, 1).finish(UnifiedFinish::Stop));
    let taken = Arc::new(AtomicUsize::new(0));
    let counted = Counted(model, Arc::clone(&taken));
    // The reader's own time is no silence of the model's.
    let limits = Timeouts::new().with_between_outputs(Duration::from_millis(50));
    let agent = Agent::new(ToolLoop::new(Arc::new(counted)).with_tools(tools())).with_timeouts(limits);

    let start = Instant::now();
    let mut run = ask(&agent);
    let (mut view, mut reducer) = (TranscriptView::new([Message::user("Go.")]), UiReducer::new("m"));
    let (mut read, mut ahead, mut kinds) = (0, 0, Vec::new());
    while let Some(event) = run.next().await {
        view.push(&event);
        if let AgentEvent::Chunk(chunk) = event {
            read += usize::from(matches!(chunk, UiChunk::TextDelta { .. }));
            if read > 0 && read < DELTAS {
                // The start of the stream and of the block, and the deltas that were read.
                ahead = ahead.max(taken.load(Ordering::Relaxed) - 2 - read);
            }
            kinds.push(chunk.kind());
            reducer.push(chunk).unwrap();
            sleep(Duration::from_millis(100)).await;
        }
    }
    assert_eq!(read, DELTAS + 1);
    assert_eq!(ahead, 0, "what nobody has asked for stays where it is");
    assert!(start.elapsed() >= Duration::from_millis(100) * 500);
    for kind in ["tool-input-available", "tool-output-available", "finish"] {
        assert_eq!(kinds.iter().filter(|told| **told == kind).count(), 1, "{kind}");
    }
    let said: String = (0..DELTAS).map(|number| format!("word-{number} ")).collect();
    let Message::Assistant(answer) = &*run.new_messages()[0] else { panic!() };
    assert_eq!(answer.text(), said);
    let transcript = view.transcript();
    assert_eq!(
        (transcript.messages.len(), transcript.is_incomplete(), transcript.missing.len()),
        (4, false, 0)
    );
    let shown = serde_json::to_value(reducer.message()).unwrap();
    assert_eq!(shown["parts"][1]["text"], said);
}
