//! One reply instead of a stream.

use std::error::Error;

use ai_core::run::Outcome;
use ai_provider::{CancellationToken, Delivery, ErrorClass, Message, ModelError, UnifiedFinish};
use ai_testkit::{Script, ScriptedModel};
use futures_util::{FutureExt, stream};

use super::support::{agent, tool_loop};
use crate::reply::fold;
use crate::{Agent, AgentError, AgentReply};

async fn generate(model: &ScriptedModel) -> Result<AgentReply, AgentError> {
    agent(model).generate([Message::user("Go.")], CancellationToken::new()).await
}

/// [AL-33]
#[tokio::test]
async fn a_reply() {
    let calls = Script::new().text("Let me see.").tool_call("a", "clock", "{}").usage(10, 3);
    let model = ScriptedModel::new()
        .reply(calls.finish(UnifiedFinish::ToolCalls))
        .reply(Script::new().text("It is ").text("noon.").usage(20, 4).finish(UnifiedFinish::Stop));
    let reply = generate(&model).await.unwrap();
    assert_eq!(reply.text, "It is noon.");
    assert_eq!(reply.finish.unwrap().unified, UnifiedFinish::Stop);
    assert_eq!((reply.usage.input.total, reply.usage.output.total), (Some(30), Some(7)));
    assert_eq!((reply.outcome, reply.steps.len(), reply.new_messages.len()), (Outcome::Finished, 2, 3));
    assert!(model.requests().iter().all(|request| request.delivery == Delivery::Whole));
}

/// [AL-35]
#[tokio::test]
async fn ends_that_are_no_errors() {
    let end = |script| async move { generate(&ScriptedModel::new().reply(script)).await.unwrap() };
    let cut = end(Script::new().text("Half").finish(UnifiedFinish::Length)).await;
    assert_eq!((cut.outcome.as_str(), cut.text.as_str()), ("truncated", "Half"));
    let waits =
        end(Script::new().text("May I?").tool_call("a", "asks", "{}").finish(UnifiedFinish::ToolCalls)).await;
    assert_eq!((waits.outcome.as_str(), waits.text.as_str()), ("awaiting-approval", "May I?"));
    let handed = end(Script::tool_reply("a", "client", "{}")).await;
    assert_eq!((handed.outcome.as_str(), handed.new_messages.len()), ("handed-over", 1));
    let refused = end(Script::new().text("No.").finish(UnifiedFinish::ContentFilter)).await;
    assert_eq!(refused.outcome.as_str(), "refused");
}

/// [AL-34]
#[tokio::test]
async fn a_model_that_fails() {
    let broken = ModelError::new(ErrorClass::Overloaded, "busy").with_status(529);
    let model = ScriptedModel::new()
        .reply(
            Script::new()
                .text("Let me see.")
                .tool_call("a", "clock", "{}")
                .usage(10, 3)
                .finish(UnifiedFinish::ToolCalls),
        )
        .reply(Script::new().text("It is").error(broken));
    let error = generate(&model).await.unwrap_err();
    assert_eq!(error.outcome().as_str(), "failed");
    assert_eq!(error.partial().text, "It is");
    assert_eq!(error.partial().usage.total(), Some(13));
    assert_eq!((error.partial().steps.len(), error.partial().new_messages.len()), (1, 2));
    assert_eq!(error.to_string(), "overloaded (HTTP 529): busy");
    let source = error.source().unwrap().downcast_ref::<ModelError>().unwrap();
    assert_eq!(source.status(), Some(529));
    assert!(!error.is_cancelled());
    let shown = r#"AgentError { outcome: "failed", error: overloaded (HTTP 529): busy, .. }"#;
    assert_eq!(format!("{error:?}"), shown);
}

/// [AL-34]
#[tokio::test]
async fn runs_that_are_no_reply() {
    let fails = |script| async move { generate(&ScriptedModel::new().repeat(script)).await.unwrap_err() };
    let empty = fails(Script::new().reasoning("Hm.").finish(UnifiedFinish::Stop)).await;
    assert_eq!(empty.model_error().unwrap().class(), ErrorClass::Empty);
    let terminal = fails(Script::tool_reply("a", "stops", "{}")).await;
    assert_eq!(terminal.to_string(), "Your account is closed.");
    assert!(terminal.source().is_none());

    let model = ScriptedModel::new()
        .repeat(Script::new().text("On.").tool_call("a", "clock", "{}").finish(UnifiedFinish::ToolCalls));
    let agent = Agent::new(tool_loop(&model).with_step_cap(2));
    let cap = agent.generate([Message::user("Go.")], CancellationToken::new()).await.unwrap_err();
    assert_eq!((cap.outcome(), cap.partial().text.as_str()), (&Outcome::StepCap { cap: 2 }, "On."));
    assert_eq!(cap.partial().new_messages.len(), 4);
}

/// [AL-34]
#[tokio::test]
async fn a_reply_that_is_cancelled() {
    let model = ScriptedModel::new().reply(Script::new().text("Half").hang());
    let (agent, cancel) = (agent(&model), CancellationToken::new());
    let reply = agent.generate([Message::user("Go.")], cancel.clone());
    let cancels = async {
        while model.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (reply, ()) = futures_util::future::join(reply, cancels).await;
    let error = reply.unwrap_err();
    assert!(error.is_cancelled() && error.source().is_none());
    assert_eq!(
        (error.partial().text.as_str(), error.to_string().as_str()),
        ("Half", "the run was cancelled")
    );

    let before = CancellationToken::new();
    before.cancel();
    let error = agent.generate([Message::user("Go.")], before).await.unwrap_err();
    assert!(error.is_cancelled());
    assert_eq!(model.requests().len(), 1);
}

/// [AL-34]
#[test]
fn a_run_without_an_end_is_an_error() {
    let error = fold(stream::empty()).now_or_never().unwrap().unwrap_err();
    assert_eq!(error.model_error().unwrap().class(), ErrorClass::Protocol);
    assert_eq!(error.outcome().as_str(), "failed");
}
