//! An agent wants to do something that needs a person's consent. The run ends to wait, is written to a file, and the
//! program stops. Later another process reads the file, hands in the decision, and the run goes on where it stood.
//!
//! `cargo run -p example-agent-approval`; no key is needed, the model is scripted.

use std::error::Error;
use std::sync::Arc;

use ai_core::run::{Outcome, RunSnapshot, ToolStatus};
use ai_core::{
    Approvals, DecideError, Decision, Effect, LoopEvent, LoopStream, RunEnd, RunOptions, ToolError,
    ToolEvent, ToolLoop, ToolSet, tool_fn,
};
use ai_provider::{Message, UnifiedFinish};
use ai_testkit::{Script, ScriptedModel};
use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Path {
    /// Where the file is.
    path: String,
}

/// The agent, as each process builds it. Closures are never stored: a stored run is resumed by an agent like it.
fn agent(model: ScriptedModel) -> Result<ToolLoop, ai_core::Error> {
    let read = tool_fn("read", "Reads a file.", |file: Path, _| async move {
        Ok::<_, ToolError>(format!("{} holds 3 lines.", file.path))
    })
    .with_effect(Effect::ReadOnly);
    let delete = tool_fn("delete", "Deletes a file.", |file: Path, _| async move {
        Ok::<_, ToolError>(format!("{} is gone.", file.path))
    })
    .with_approval();
    Ok(ToolLoop::new(Arc::new(model)).with_tools(ToolSet::new().with(read)?.with(delete)?))
}

/// The model asks for three things at once: one that needs no consent, and two that do.
fn asks() -> Script {
    Script::new()
        .text("I look at a.txt and clean up.")
        .tool_call("1", "read", r#"{"path":"a.txt"}"#)
        .tool_call("2", "delete", r#"{"path":"b.txt"}"#)
        .tool_call("3", "delete", r#"{"path":"c.txt"}"#)
        .finish(UnifiedFinish::ToolCalls)
}

async fn follow(mut events: LoopStream) -> Option<RunEnd> {
    while let Some(event) = events.next().await {
        match event {
            LoopEvent::Tool(ToolEvent::Started(call)) => println!("  runs: {} {}", call.name, call.input),
            LoopEvent::Tool(ToolEvent::ApprovalRequested(pending)) => {
                println!("  asks: {} {}", pending.call.name, pending.call.input);
            }
            LoopEvent::End(end) => return Some(*end),
            _ => {}
        }
    }
    None
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("first process");
    let model = ScriptedModel::new().reply(asks());
    let (_handle, events) = agent(model)?.start([Message::user("Clean up.")], RunOptions::default());
    let end = follow(events).await.ok_or("the run has an end")?;
    let Outcome::AwaitingApproval { calls } = &end.outcome else { return Err("it waits".into()) };
    assert_eq!(calls.len(), 2);
    // Server data: it is stored where clients cannot change it.
    let file = std::env::temp_dir().join(format!("example-agent-approval-{}.json", std::process::id()));
    std::fs::write(&file, serde_json::to_vec(&end.snapshot)?)?;

    println!("second process");
    let stored = RunSnapshot::from_json(&std::fs::read(&file)?)?;
    std::fs::remove_file(&file)?;
    let model = ScriptedModel::new().reply(Script::text_reply("b.txt is deleted, c.txt is kept."));
    let (handle, events) = agent(model.clone())?.resume(stored.into_run(), RunOptions::default());
    handle.decide(&"2".into(), Decision::approve())?;
    handle.decide(&"3".into(), Decision::deny("It is still in use."))?;
    // The same again is fine, another decision is not.
    handle.decide(&"2".into(), Decision::approve())?;
    assert_eq!(handle.decide(&"2".into(), Decision::deny("Wait!")), Err(DecideError::AlreadyDecided));
    let end = follow(events).await.ok_or("the run has an end")?;
    assert_eq!(end.outcome, Outcome::Finished);
    let statuses: Vec<_> =
        end.steps.iter().flat_map(|step| &step.tools).map(|tool| tool.status.clone()).collect();
    assert_eq!(statuses, [ToolStatus::Ok, ToolStatus::Ok, ToolStatus::Denied]);
    // What was run in the first process is not run again, and one request has all results in order.
    assert_eq!(model.requests().len(), 1);

    println!("one process, deciding while the run waits");
    let model = ScriptedModel::new().reply(asks()).reply(Script::text_reply("Done."));
    let agent = agent(model)?.with_approvals(Approvals::InPlace);
    let (handle, mut events) = agent.start([Message::user("Clean up.")], RunOptions::default());
    let mut outcome = None;
    while let Some(event) = events.next().await {
        match event {
            LoopEvent::Tool(ToolEvent::ApprovalRequested(pending)) => {
                handle.decide(&pending.call.id, Decision::approve())?;
            }
            LoopEvent::End(end) => outcome = Some(end.outcome),
            _ => {}
        }
    }
    assert_eq!(outcome, Some(Outcome::Finished));
    println!("approved, stored, resumed and finished");
    Ok(())
}
