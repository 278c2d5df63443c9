use std::sync::Arc;

use ai_core::output::{ObjectErrorKind, ObjectEvent, generate_object};
use ai_core::run::Outcome;
use ai_core::{Approvals, Decision, LoopEvent, RunOptions, ToolEvent, ToolLoop, ToolSet};
use ai_provider::{CancellationToken, ErrorClass, Message, ModelError, StructuredOutput, UnifiedFinish};
use ai_testkit::{Script, ScriptedModel};
use futures_util::StreamExt;

use super::{Dish, GOOD, able, go, native, shared, soup};
use crate::support::{Settled, echo};

/// [AC-269]
#[tokio::test]
async fn a_cut_answer_is_not_asked_for_again() {
    let cut = Script::new().text(r#"{"name":"So"#).usage(10, 5).finish(UnifiedFinish::Length);
    let half = Script::new().parts([
        ai_provider::StreamPart::ToolInputStart {
            id: "c".into(),
            tool_name: "answer".to_owned(),
            provider_executed: false,
            dynamic: false,
            title: None,
        },
        ai_provider::StreamPart::ToolInputDelta { id: "c".into(), delta: r#"{"name":"So"#.to_owned() },
    ]);
    let half = half.usage(10, 5).finish(UnifiedFinish::Length);
    for model in [
        native(ScriptedModel::new().reply(cut)),
        able(ScriptedModel::new().reply(half), StructuredOutput::None, true),
    ] {
        let error = generate_object::<Dish>(shared(&model), go()).await.unwrap_err();
        assert_eq!((error.kind(), error.text()), (ObjectErrorKind::Truncated, Some(r#"{"name":"So"#)));
        assert_eq!(error.finish().unwrap().unified, UnifiedFinish::Length);
        assert_eq!((error.usage().total(), model.requests().len()), (Some(15), 1));
    }
}

/// [AC-270]
#[tokio::test]
async fn other_ends_say_how_the_run_ended() {
    let failed = Script::new().text("{").error(ModelError::new(ErrorClass::Overloaded, "busy"));
    let model = native(ScriptedModel::new().reply(failed));
    let error = generate_object::<Dish>(shared(&model), go()).await.unwrap_err();
    assert_eq!(error.kind(), ObjectErrorKind::Ended);
    assert_eq!(error.model_error().unwrap().class(), ErrorClass::Overloaded);
    assert!(matches!(error.outcome(), Outcome::Failed { .. }));
    assert!(std::error::Error::source(&error).is_some() && error.to_string().contains("busy"), "{error}");

    let refused = Script::new().text("I").finish(UnifiedFinish::ContentFilter);
    let model = native(ScriptedModel::new().reply(refused));
    let error = generate_object::<Dish>(shared(&model), go()).await.unwrap_err();
    assert!(matches!(error.outcome(), Outcome::Refused { .. }));
    assert_eq!((error.kind(), error.text()), (ObjectErrorKind::Ended, Some("I")));

    let model = native(ScriptedModel::new().repeat(Script::tool_reply("c", "echo", r#"{"text":"x"}"#)));
    let agent =
        ToolLoop::new(shared(&model)).with_tools(ToolSet::new().with(echo()).unwrap()).with_step_cap(3);
    let error = generate_object::<Dish>(agent, go()).await.unwrap_err();
    assert_eq!((error.outcome(), model.requests().len()), (&Outcome::StepCap { cap: 3 }, 3));
}

/// [AC-274]
#[tokio::test]
async fn a_cancel_ends_it_and_a_drop_drops_the_model() {
    let model = native(ScriptedModel::new().repeat(Script::new().text("{").hang()));
    let cancel = CancellationToken::new();
    let settled = Arc::new(Settled::default());
    let options = RunOptions::default().with_cancel(cancel.clone()).with_control(settled.clone());
    let asked = generate_object::<Dish>(shared(&model), [Message::user("go")]).with_options(options);
    let (result, ()) = tokio::join!(asked.into_future(), async { cancel.cancel() });
    assert!(matches!(result.unwrap_err().outcome(), Outcome::Cancelled { .. }));
    assert_eq!(*settled.1.lock().unwrap(), ["cancelled"]);

    let asked = generate_object::<Dish>(shared(&model), go()).into_future();
    let before = model.dropped();
    assert!(tokio::time::timeout(std::time::Duration::from_millis(1), asked).await.is_err());
    assert_eq!(model.dropped(), before + 1);
}

/// [AC-275]
#[tokio::test]
async fn calls_that_wait_are_decided_in_the_stream_and_end_what_is_awaited() {
    let tools = || ToolSet::new().with(echo().with_approval()).unwrap();
    let model = || {
        let call = Script::tool_reply("c1", "echo", r#"{"text":"x"}"#);
        native(ScriptedModel::new().reply(call).reply(Script::text_reply(GOOD)))
    };
    let agent = || ToolLoop::new(shared(&model())).with_tools(tools()).with_approvals(Approvals::InPlace);
    let error = generate_object::<Dish>(agent(), go()).await.unwrap_err();
    assert!(matches!(error.outcome(), Outcome::AwaitingApproval { .. }));

    let mut stream = generate_object::<Dish>(agent(), go()).stream();
    assert!(stream.handle().is_none());
    let mut object = None;
    while let Some(event) = stream.next().await {
        match event.unwrap() {
            ObjectEvent::Run(event) => {
                if let LoopEvent::Tool(ToolEvent::ApprovalRequested(pending)) = *event {
                    stream.handle().unwrap().decide(&pending.call.id, Decision::approve()).unwrap();
                }
            }
            ObjectEvent::Done(done) => object = Some(done.value),
            _ => {}
        }
    }
    assert_eq!(object, Some(soup()));
}
