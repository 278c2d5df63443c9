//! How long things may take.

use std::sync::Arc;
use std::time::Duration;

use ai_core::run::{BudgetKind, Outcome};
use ai_core::{Tool, ToolContext, ToolLoop, ToolSet, ToolStream, ToolYield};
use ai_provider::{ErrorClass, FunctionTool, StreamPart, ToolOutput, UnifiedFinish};
use ai_testkit::{Script, ScriptedModel};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::support::{Ran, agent, ask, run, tool_loop};
use crate::{Agent, AgentEvent, Timeouts, UiChunk};

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

async fn timed(script: Script, timeouts: Timeouts) -> (Ran, u64) {
    let model = ScriptedModel::new().repeat(script);
    let started = Instant::now();
    let ran = run(ask(&agent(&model).with_timeouts(timeouts))).await;
    (ran, started.elapsed().as_secs())
}

fn timed_out(ran: &Ran, why: &str) {
    let failure = ran.stream.failure().unwrap();
    assert_eq!((failure.class, failure.message.as_str()), (Some(ErrorClass::Timeout), why));
    assert!(matches!(ran.last(), UiChunk::Error { .. }));
}

/// [AL-123]
#[tokio::test(start_paused = true)]
async fn a_run_ends_cleanly_when_its_time_is_up() {
    let (ran, took) = timed(Script::new().text("Half").hang(), Timeouts::new().with_total(seconds(5))).await;
    assert_eq!((ran.outcome.clone(), took), (Outcome::Budget { kind: BudgetKind::Time }, 5));
    assert!(matches!(ran.last(), UiChunk::Finish { .. }));
}

/// [AL-123]
#[tokio::test(start_paused = true)]
async fn nothing_is_limited_unless_asked() {
    let slow = Script::new().delay(seconds(10_000)).text("At").delay(seconds(10_000)).text(" last.");
    let (ran, took) = timed(slow.finish(UnifiedFinish::Stop), Timeouts::new()).await;
    assert_eq!((ran.outcome.clone(), took), (Outcome::Finished, 20_000));
}

/// [AL-124]
#[tokio::test(start_paused = true)]
async fn the_first_output_has_its_time() {
    let first = Timeouts::new().with_first_output(seconds(3));
    let start = StreamPart::TextStart { id: "t".into(), metadata: None };
    let (ran, took) = timed(Script::new().part(start).hang(), first).await;
    timed_out(&ran, "the model gave no output within 3s");
    assert_eq!(took, 3, "the start of a block is no output");
    let slow = Script::new().delay(seconds(2)).text("Well.").delay(seconds(100)).text(" Yes.");
    let (ran, _) = timed(slow.finish(UnifiedFinish::Stop), first).await;
    assert_eq!(ran.outcome, Outcome::Finished, "what comes later is not its concern");
}

/// [AL-125]
#[tokio::test(start_paused = true)]
async fn each_further_output_has_its_time() {
    let between = Timeouts::new().with_between_outputs(seconds(3));
    let slow = Script::new().delay(seconds(100)).text("It").delay(seconds(2)).text(" is").delay(seconds(2));
    let (ran, took) = timed(slow.text(" noon").hang(), between).await;
    timed_out(&ran, "the model gave no further output within 3s");
    assert_eq!(took, 107);
}

/// [AL-125]
#[tokio::test(start_paused = true)]
async fn the_time_of_the_consumer_is_not_the_models() {
    let script = Script::new().text("a").text("b").delay(seconds(2)).text("c").finish(UnifiedFinish::Stop);
    let model = ScriptedModel::new().repeat(script);
    let limits = Timeouts::new().with_between_outputs(seconds(3)).with_first_output(seconds(3));
    let mut running = ask(&agent(&model).with_timeouts(limits));
    let mut end = None;
    while let Some(event) = running.next().await {
        sleep(seconds(60)).await;
        if let AgentEvent::End(outcome) = event {
            end = Some(outcome);
        }
    }
    assert_eq!(end, Some(Outcome::Finished));
}

/// [AL-126]
#[tokio::test(start_paused = true)]
async fn a_step_has_its_time_with_its_tools() {
    let step = Timeouts::new().with_step(seconds(4));
    let dripping = (0..100).fold(Script::new(), |script, _| script.delay(seconds(1)).text("."));
    let (ran, took) = timed(dripping, step).await;
    timed_out(&ran, "the step took longer than 4s");
    assert_eq!(took, 4);

    let call = Script::new().delay(seconds(3)).tool_call("a", "hangs", "{}").tool_call("b", "slow", "{}");
    let model = ScriptedModel::new()
        .reply(call.finish(UnifiedFinish::ToolCalls))
        .repeat(Script::new().delay(seconds(3)).text("Well.").finish(UnifiedFinish::Stop));
    let started = Instant::now();
    let limit = Timeouts::new().with_step(Duration::from_millis(4500));
    let ran = run(ask(&Agent::new(tool_loop(&model)).with_timeouts(limit))).await;
    assert_eq!(ran.outcome, Outcome::Finished);
    let tools = &ran.stream.run_end().unwrap().steps[0].tools;
    let statuses: Vec<_> = tools.iter().map(|tool| tool.status.as_str()).collect();
    assert_eq!(statuses, ["delivery-unknown", "ok"]);
    assert_eq!(tools[0].duration, Duration::from_millis(1500), "what the answer left");
    assert_eq!(started.elapsed(), Duration::from_millis(7500), "the next step has its own");
}

/// [AL-274]
#[tokio::test(start_paused = true)]
async fn a_model_that_always_has_something_is_late_all_the_same() {
    let words = (0..1000).fold(Script::new(), |script, _| script.text("."));
    let model = ScriptedModel::new().repeat(words.finish(UnifiedFinish::Stop));
    let mut running = ask(&agent(&model).with_timeouts(Timeouts::new().with_step(seconds(30))));
    let mut shown = 0;
    while running.next().await.is_some() {
        shown += 1;
        sleep(seconds(1)).await;
    }
    assert_eq!(running.failure().unwrap().message, "the step took longer than 30s");
    assert!(shown < 40, "{shown}");
}

/// [AL-274]
#[tokio::test(start_paused = true)]
async fn a_tool_that_always_has_something_is_late_all_the_same() {
    struct Talks;
    impl Tool for Talks {
        fn definition(&self) -> FunctionTool {
            FunctionTool::new("talks", "Never ends.", json!({"type": "object"}))
        }

        fn execute(&self, _: Value, _: ToolContext) -> ToolStream {
            Box::pin(stream::repeat_with(|| ToolYield::Preliminary(ToolOutput::Text("…".to_owned()))))
        }
    }
    let model = ScriptedModel::new()
        .reply(Script::tool_reply("a", "talks", "{}"))
        .repeat(Script::text_reply("Well."));
    let (model, tools) = (Arc::new(model), ToolSet::new().with(Talks).unwrap());
    let agent = Agent::new(ToolLoop::new(model).with_tools(tools))
        .with_timeouts(Timeouts::new().with_step(seconds(30)));
    let mut running = ask(&agent);
    let mut shown = 0;
    while running.next().await.is_some() {
        shown += 1;
        assert!(shown < 100, "it has no end");
        sleep(seconds(1)).await;
    }
    let end = running.run_end().unwrap();
    assert_eq!(
        (&end.outcome, end.steps[0].tools[0].status.as_str()),
        (&Outcome::Finished, "delivery-unknown")
    );
}
