//! A writer has a researcher as a tool. What the researcher says is shown while it works, what it took is counted in the
//! writer's run, and it ends with that run.
//!
//! `cargo run -p example-agent-as-tool`; no key is needed, the models are scripted.

use std::error::Error;
use std::sync::Arc;

use ai_core::run::Outcome;
use ai_core::{Effect, LoopEvent, RunOptions, ToolEvent, ToolLoop, ToolSet, agent_tool};
use ai_provider::{Message, StreamPart, ToolOutput, UnifiedFinish};
use ai_testkit::{Script, ScriptedModel};
use futures_util::StreamExt;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let cheap = ScriptedModel::new().reply(
        Script::new()
            .text("The Rhine is 1,233 km long, of which 883 km are navigable.")
            .usage(900, 40)
            .finish(UnifiedFinish::Stop),
    );
    let researcher = ToolLoop::new(Arc::new(cheap.clone()))
        .with_name("researcher")
        .with_instructions("Find facts, briefly.");

    let good = ScriptedModel::new()
        .reply(
            Script::new()
                .tool_call("1", "research", r#"{"prompt":"How long is the Rhine?"}"#)
                .usage(100, 10)
                .finish(UnifiedFinish::ToolCalls),
        )
        .reply(Script::new().text("A river of 1,233 km.").usage(200, 20).finish(UnifiedFinish::Stop));
    let research = agent_tool("research", "Finds out what is known about something.", researcher)
        .with_effect(Effect::ReadOnly);
    let writer = ToolLoop::new(Arc::new(good)).with_name("writer").with_tools(ToolSet::new().with(research)?);

    let (_handle, mut events) = writer.start([Message::user("Describe the Rhine.")], RunOptions::default());
    let (mut shown, mut text, mut end) = (0, String::new(), None);
    while let Some(event) = events.next().await {
        match event {
            LoopEvent::Tool(ToolEvent::Preliminary(result)) => {
                shown += 1;
                if let ToolOutput::Text(so_far) = &result.output {
                    println!("researcher, so far: {so_far}");
                }
            }
            LoopEvent::Tool(ToolEvent::Finished(record)) => {
                println!("researcher took {:?} tokens", record.usage.and_then(|usage| usage.total()));
            }
            LoopEvent::Part(StreamPart::TextDelta { delta, .. }) => text.push_str(&delta),
            LoopEvent::End(ended) => end = Some(ended),
            _ => {}
        }
    }
    let end = end.ok_or("a run has an end")?;
    println!("writer: {text}");
    println!("together: {:?} tokens", end.usage.total());

    assert_eq!(end.outcome, Outcome::Finished);
    assert_eq!(text, "A river of 1,233 km.");
    assert!(shown > 1, "its text comes bit by bit");
    // 110 and 220 of the writer, 940 of the researcher.
    assert_eq!(end.usage.total(), Some(1_270));
    // The researcher sees its instructions and its task, and nothing of the writer's history.
    assert_eq!(cheap.requests().first().map(|request| request.messages.len()), Some(2));
    Ok(())
}
