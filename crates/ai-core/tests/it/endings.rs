use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ai_core::run::{BudgetKind, Outcome, ToolStatus};
use ai_core::{Effect, LoopControl, LoopEvent, RunEnd, RunOptions, ToolError, ToolSet, tool_fn};
use ai_provider::{CancellationToken, ErrorClass, Message, ModelError};
use ai_testkit::{Script, ScriptedModel};
use async_trait::async_trait;
use futures_util::{FutureExt, StreamExt};

use crate::support::{Settled, Text, calls, check_history, echo, loop_of, run};

fn hanging_tool() -> ai_core::FnTool<Text> {
    tool_fn("hang", "", |_: Text, _| std::future::pending::<Result<String, ToolError>>())
}

fn two_steps() -> ScriptedModel {
    ScriptedModel::new()
        .reply(
            Script::new()
                .reasoning("let me see")
                .text("I call.")
                .tool_call("a", "echo", r#"{"text":"x"}"#)
                .tool_call("b", "echo", r#"{"text":"y"}"#)
                .usage(1, 2)
                .finish(ai_provider::UnifiedFinish::ToolCalls),
        )
        .reply(Script::text_reply("all done now"))
}

/// [AC-35] [AC-37]
#[tokio::test]
async fn a_cancel_before_any_poll_ends_the_run_cleanly_once() {
    let mut cancelled = 0;
    for at in 0.. {
        let (model, settled, cancel) = (two_steps(), Arc::new(Settled::default()), CancellationToken::new());
        let agent = loop_of(&model, ToolSet::new().with(echo()).unwrap());
        let options = RunOptions::default().with_cancel(cancel.clone()).with_control(settled.clone());
        let (_handle, mut stream) = agent.start([Message::user("go")], options);
        let mut ends = Vec::new();
        let mut polls = 0;
        loop {
            if polls == at {
                cancel.cancel();
            }
            polls += 1;
            match stream.next().await {
                Some(LoopEvent::End(end)) => ends.push(end),
                Some(_) => assert!(ends.is_empty(), "something follows the end"),
                None => break,
            }
        }
        drop(stream);
        assert_eq!(ends.len(), 1);
        assert_eq!(settled.0.load(Ordering::SeqCst), 1);
        assert_eq!(settled.1.lock().unwrap()[0], ends[0].outcome.as_str());
        let history: Vec<_> =
            [Arc::new(Message::user("go"))].into_iter().chain(ends[0].new_messages.iter().cloned()).collect();
        check_history(&history).unwrap();
        match &ends[0].outcome {
            Outcome::Cancelled { .. } => cancelled += 1,
            // Cancelled only after the end was handed out.
            Outcome::Finished => {
                assert!(at + 1 >= polls, "a cancel before poll {at} of {polls} was ignored");
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(cancelled > 20, "{cancelled}");
}

/// [AC-36]
#[tokio::test]
async fn a_run_dropped_at_any_point_is_settled_once() {
    let mut dropped = 0;
    for at in 0.. {
        let (model, settled) = (two_steps(), Arc::new(Settled::default()));
        let agent = loop_of(&model, ToolSet::new().with(echo()).unwrap());
        let options = RunOptions::default().with_control(settled.clone());
        let (_handle, mut stream) = agent.start([Message::user("go")], options);
        let mut over = false;
        for _ in 0..at {
            over |= stream.next().await.is_none();
        }
        assert!(settled.0.load(Ordering::SeqCst) <= usize::from(over), "settled before the end was taken");
        drop(stream);
        assert_eq!(settled.0.load(Ordering::SeqCst), 1, "dropped after {at} items");
        if over {
            break;
        }
        dropped += 1;
    }
    assert!(dropped > 20, "{dropped}");
}

/// [AC-36]
#[tokio::test]
async fn dropping_a_run_drops_the_model_call_and_the_tools() {
    struct Canary(Arc<std::sync::atomic::AtomicUsize>);
    impl Drop for Canary {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let model = ScriptedModel::new().reply(Script::new().text("a").hang());
    let (_handle, mut stream) =
        loop_of(&model, ToolSet::new()).start([Message::user("go")], RunOptions::default());
    while !matches!(stream.next().await, Some(LoopEvent::Part(ai_provider::StreamPart::TextEnd { .. }))) {}
    drop(stream);
    assert_eq!(model.dropped(), 1);

    let gone = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = Arc::clone(&gone);
    let tool = tool_fn("hang", "", move |_: Text, _| {
        let canary = Canary(Arc::clone(&counted));
        async move {
            let _canary = canary;
            std::future::pending::<Result<String, ToolError>>().await
        }
    });
    let model = ScriptedModel::new().reply(calls(&[("a", "hang", r#"{"text":""}"#)]));
    let agent = loop_of(&model, ToolSet::new().with(tool).unwrap());
    let settled = Arc::new(Settled::default());
    let options = RunOptions::default().with_control(settled.clone());
    let (_handle, mut stream) = agent.start([Message::user("go")], options);
    while let Some(Some(_)) = stream.next().now_or_never() {}
    assert_eq!(gone.load(Ordering::SeqCst), 0);
    drop(stream);
    assert_eq!(gone.load(Ordering::SeqCst), 1);
    assert_eq!(*settled.1.lock().unwrap(), ["cancelled"]);
}

/// [AC-25] [AC-34]
#[tokio::test(start_paused = true)]
async fn a_cancel_during_tools_keeps_what_is_done_and_says_what_is_unknown() {
    let model = ScriptedModel::new()
        .reply(calls(&[
            ("a", "echo", r#"{"text":"real"}"#),
            ("b", "hang", r#"{"text":""}"#),
            ("c", "reads", r#"{"text":""}"#),
        ]))
        .reply(Script::text_reply("fine"));
    let reads = tool_fn("reads", "", |_: Text, _| std::future::pending::<Result<String, ToolError>>())
        .with_effect(Effect::ReadOnly);
    let tools = ToolSet::new().with(echo()).unwrap().with(hanging_tool()).unwrap().with(reads).unwrap();
    let agent = loop_of(&model, tools);
    let cancel = CancellationToken::new();
    let trigger = cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        trigger.cancel();
    });
    let started = tokio::time::Instant::now();
    let (_, end) = run(&agent, RunOptions::default().with_cancel(cancel)).await;
    assert_eq!(started.elapsed(), Duration::from_secs(1));
    assert_eq!(end.outcome, Outcome::Cancelled { partial: None });
    let tools = &end.steps[0].tools;
    assert_eq!(tools[0].status, ToolStatus::Ok);
    assert!(matches!(tools[1].status, ToolStatus::DeliveryUnknown(_)));
    assert_eq!(tools[2].status, ToolStatus::Cancelled);

    let mut history = vec![Arc::new(Message::user("go"))];
    history.extend(end.new_messages.iter().cloned());
    history.push(Arc::new(Message::user("go on")));
    let (_handle, stream) = agent.start_shared(history, RunOptions::default());
    stream.collect::<Vec<_>>().await;
    check_history(&model.requests()[1].messages).unwrap();
}

/// [AC-19]
#[tokio::test]
async fn a_model_that_only_calls_is_stopped_at_the_cap() {
    let model = ScriptedModel::new().repeat(calls(&[("a", "echo", r#"{"text":"again"}"#)]));
    let agent = loop_of(&model, ToolSet::new().with(echo()).unwrap()).with_step_cap(3);
    let (_, end) = run(&agent, RunOptions::default()).await;
    assert_eq!(end.outcome, Outcome::StepCap { cap: 3 });
    assert_eq!(model.requests().len(), 3);
    assert_eq!((end.usage.input.total, end.usage.output.total), (Some(30), Some(15)));
    assert!(matches!(&**end.new_messages.last().unwrap(), Message::Tool(_)));
}

/// [AC-41]
#[tokio::test(start_paused = true)]
async fn the_deadline_ends_a_run_wherever_it_is() {
    let model = ScriptedModel::new().reply(Script::new().text("slow").hang());
    let started = tokio::time::Instant::now();
    let options = RunOptions::default().with_timeout(Duration::from_secs(7));
    let (_, end) = run(&loop_of(&model, ToolSet::new()), options).await;
    assert_eq!(end.outcome, Outcome::Budget { kind: BudgetKind::Time });
    assert_eq!(started.elapsed(), Duration::from_secs(7));

    let model = ScriptedModel::new().reply(calls(&[("a", "hang", r#"{"text":""}"#)]));
    let options = RunOptions::default().with_timeout(Duration::from_secs(7));
    let agent = loop_of(&model, ToolSet::new().with(hanging_tool()).unwrap());
    let (_, end) = run(&agent, options).await;
    assert_eq!(end.outcome, Outcome::Budget { kind: BudgetKind::Time });
    assert!(matches!(end.steps[0].tools[0].status, ToolStatus::DeliveryUnknown(_)));
}

/// [AC-30]
#[tokio::test]
async fn an_error_keeps_its_sources_and_what_the_model_had_said() {
    let error = ModelError::new(ErrorClass::Server, "boom").with_source(std::io::Error::other("deep"));
    let model = ScriptedModel::new().reply(Script::new().text("par").error(error));
    let (_, end) = run(&loop_of(&model, ToolSet::new()), RunOptions::default()).await;
    let Outcome::Failed { error, partial } = &end.outcome else { panic!("{:?}", end.outcome) };
    assert_eq!(error.class, ErrorClass::Server);
    assert_eq!(partial.as_ref().unwrap().text(), "par");
    let error = end.error.unwrap();
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "deep");
    assert!(end.new_messages.is_empty());

    let model = ScriptedModel::new().reply(Script::new().text("cut").end());
    let (_, end) = run(&loop_of(&model, ToolSet::new()), RunOptions::default()).await;
    let Outcome::Failed { error, partial } = &end.outcome else { panic!("{:?}", end.outcome) };
    assert_eq!(error.class, ErrorClass::Incomplete);
    assert_eq!(partial.as_ref().unwrap().text(), "cut");
}

/// [AC-30]
#[tokio::test]
async fn a_stream_that_breaks_the_order_rules_fails_the_run() {
    let model = ScriptedModel::new()
        .reply(Script::new().text("a").part(ai_provider::StreamPart::text_delta("nobody", "x")));
    let (_, end) = run(&loop_of(&model, ToolSet::new()), RunOptions::default()).await;
    let Outcome::Failed { error, .. } = &end.outcome else { panic!("{:?}", end.outcome) };
    assert_eq!(error.class, ErrorClass::Protocol);
}

/// [AC-37]
#[tokio::test]
async fn the_finish_is_claimed_when_it_is_asked_for() {
    struct CancelsAtTheEnd(CancellationToken);
    #[async_trait]
    impl LoopControl for CancelsAtTheEnd {
        async fn on_end(&self, _: &RunEnd) {
            self.0.cancel();
        }
    }
    let cancel = CancellationToken::new();
    let model = ScriptedModel::new().reply(Script::text_reply("hi"));
    let options = RunOptions::default()
        .with_cancel(cancel.clone())
        .with_control(Arc::new(CancelsAtTheEnd(cancel.clone())));
    let (_, end) = run(&loop_of(&model, ToolSet::new()), options).await;
    assert!(cancel.is_cancelled());
    assert_eq!(end.outcome, Outcome::Finished);
}

/// [AC-31]
#[tokio::test]
async fn nothing_happens_until_the_stream_is_polled() {
    let model = ScriptedModel::new().reply(Script::text_reply("hi"));
    let (_handle, mut stream) =
        loop_of(&model, ToolSet::new()).start([Message::user("go")], RunOptions::default());
    tokio::task::yield_now().await;
    assert!(model.requests().is_empty());
    let mut cx = Context::from_waker(Waker::noop());
    assert!(matches!(stream.poll_next_unpin(&mut cx), Poll::Ready(Some(LoopEvent::StepStart(_)))));
    assert!(model.requests().is_empty(), "the call waits until the consumer asks for it");
}
