//! How the calls of a step run beside one another, and what they may give.

use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ai_core::run::{Outcome, RunSnapshot, ToolStatus};
use ai_core::{
    Concurrency, Effect, LoopEvent, RunOptions, Tool, ToolContext, ToolError, ToolEvent, ToolSet, ToolStream,
    ToolYield, tool_fn, tool_fn_blocking, tool_json,
};
use ai_provider::{CustomPart, FileData, FilePart, FunctionTool, ToolContent, ToolOutput};
use ai_testkit::{Script, ScriptedModel};
use futures_util::stream;
use serde_json::{Value, json};

use crate::support::{Text, calls, check_history, loop_of, results, run};

type Log = Arc<Mutex<Vec<String>>>;

/// A tool that takes as many milliseconds as its input says, and notes when it starts and ends.
fn timed(name: &str, concurrency: Concurrency, log: &Log) -> ai_core::FnTool<Value> {
    let (log, name) = (Arc::clone(log), name.to_owned());
    tool_json(name.clone(), "", json!({"type": "object"}), move |input, ctx: ToolContext| {
        let (log, id) = (Arc::clone(&log), ctx.call_id.to_string());
        async move {
            log.lock().unwrap().push(format!("+{id}"));
            tokio::time::sleep(Duration::from_millis(input["ms"].as_u64().unwrap())).await;
            log.lock().unwrap().push(format!("-{id}"));
            Ok::<_, ToolError>(id)
        }
    })
    .with_concurrency(concurrency)
}

async fn played(
    tools: &[(&str, Concurrency)],
    script: &[(&str, &str, u64)],
    limit: usize,
) -> (Vec<String>, u128) {
    let log = Log::default();
    let set =
        tools.iter().fold(ToolSet::new(), |set, (name, how)| set.with(timed(name, *how, &log)).unwrap());
    let inputs: Vec<_> = script.iter().map(|(_, _, ms)| format!(r#"{{"ms":{ms}}}"#)).collect();
    let made: Vec<_> =
        script.iter().zip(&inputs).map(|((id, tool, _), input)| (*id, *tool, input.as_str())).collect();
    let model = ScriptedModel::new().reply(calls(&made)).reply(Script::text_reply("done"));
    let started = tokio::time::Instant::now();
    let (_, end) = run(&loop_of(&model, set).with_tool_concurrency(limit), RunOptions::default()).await;
    let took = started.elapsed().as_millis();
    assert_eq!(end.outcome, Outcome::Finished);
    check_history(&model.requests()[1].messages).unwrap();
    let log = log.lock().unwrap().clone();
    (log, took)
}

/// [AC-311]
#[tokio::test(start_paused = true)]
async fn a_tool_with_a_limit_holds_its_own_calls_alone_back() {
    let script = [("a", "w", 30), ("b", "w", 10), ("c", "r", 5), ("d", "w", 10), ("e", "r", 5)];
    let (log, took) = played(&[("w", Concurrency::Limit(1)), ("r", Concurrency::Any)], &script, 32).await;
    assert_eq!(log, ["+a", "+c", "+e", "-c", "-e", "-a", "+b", "-b", "+d", "-d"]);
    assert_eq!(took, 50);
    let (log, took) = played(&[("w", Concurrency::Limit(2)), ("r", Concurrency::Any)], &script, 32).await;
    assert_eq!(log, ["+a", "+b", "+c", "+e", "-c", "-e", "-b", "+d", "-d", "-a"]);
    assert_eq!(took, 30);
    // No limit at all is meant as at least one.
    let (_, took) = played(&[("w", Concurrency::Limit(0)), ("r", Concurrency::Limit(0))], &script, 32).await;
    assert_eq!(took, 50);
}

/// [AC-311]
#[tokio::test(start_paused = true)]
async fn a_call_that_runs_alone_waits_for_all_before_it_and_holds_all_behind_it() {
    let script = [("a", "r", 10), ("b", "w", 10), ("c", "w", 10), ("d", "r", 10), ("e", "r", 10)];
    let (log, took) = played(&[("w", Concurrency::Alone), ("r", Concurrency::Any)], &script, 32).await;
    assert_eq!(log, ["+a", "-a", "+b", "-b", "+c", "-c", "+d", "+e", "-d", "-e"]);
    assert_eq!(took, 40);
    let mixed = [("a", "l", 10), ("b", "l", 10), ("c", "w", 10), ("d", "l", 10)];
    let (log, _) = played(&[("w", Concurrency::Alone), ("l", Concurrency::Limit(1))], &mixed, 32).await;
    assert_eq!(log, ["+a", "-a", "+b", "-b", "+c", "-c", "+d", "-d"]);
}

/// [AC-311]
#[tokio::test(start_paused = true)]
async fn with_one_at_a_time_calls_run_in_their_order() {
    let script = [("a", "r", 3), ("b", "r", 1), ("c", "l", 2), ("d", "l", 1)];
    let (log, took) = played(&[("r", Concurrency::Any), ("l", Concurrency::Limit(1))], &script, 1).await;
    assert_eq!(log, ["+a", "-a", "+b", "-b", "+c", "-c", "+d", "-d"]);
    assert_eq!(took, 7);
}

/// [AC-312]
#[tokio::test(start_paused = true)]
async fn a_step_with_a_thousand_calls_looks_at_each_a_few_times() {
    for (limit, tool_limit) in [(2_000, 2_000), (32, 2_000), (2_000, 3)] {
        let polls = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&polls);
        let tool = tool_json("t", "", json!({"type": "object"}), move |_, _| {
            let count = Arc::clone(&count);
            async move {
                let sleep = tokio::time::sleep(Duration::from_millis(1));
                let mut sleep = std::pin::pin!(sleep);
                poll_fn(|cx| {
                    count.fetch_add(1, Ordering::SeqCst);
                    sleep.as_mut().poll(cx)
                })
                .await;
                Ok::<_, ToolError>("x")
            }
        })
        .with_concurrency(Concurrency::Limit(tool_limit));
        let ids: Vec<_> = (0..1_000).map(|at| format!("c{at}")).collect();
        let script: Vec<_> = ids.iter().map(|id| (id.as_str(), "t", "{}")).collect();
        let model = ScriptedModel::new().reply(calls(&script)).reply(Script::text_reply("done"));
        let agent = loop_of(&model, ToolSet::new().with(tool).unwrap()).with_tool_concurrency(limit);
        let (_, end) = run(&agent, RunOptions::default()).await;
        assert_eq!(results(&end).iter().map(|(id, _)| id.clone()).collect::<Vec<_>>(), ids);
        let polls = polls.load(Ordering::SeqCst);
        // Two would do; tokio makes a task that never yields look again.
        assert!(polls <= 20_000, "{polls} looks at 1,000 tools with limits {limit}, {tool_limit}");
    }
}

/// What the tool `huge` gives.
enum Huge {
    Output(ToolOutput),
    Preliminary(ToolOutput),
    Error(String),
}

struct Giving(Mutex<Vec<Huge>>);

impl Tool for Giving {
    fn definition(&self) -> FunctionTool {
        FunctionTool::new("huge", "", json!({"type": "object"}))
    }
    fn concurrency(&self) -> Concurrency {
        Concurrency::Limit(1)
    }
    fn execute(&self, _: Value, ctx: ToolContext) -> ToolStream {
        let yields = match self.0.lock().unwrap().remove(0) {
            Huge::Output(output) => vec![ToolYield::Final(Ok(output))],
            Huge::Preliminary(output) => vec![
                ToolYield::Preliminary(output),
                ToolYield::Preliminary(ToolOutput::Text("small".to_owned())),
                ToolYield::Final(Ok(ToolOutput::Text("end".to_owned()))),
            ],
            Huge::Error(text) => {
                for _ in 0..2_000 {
                    ctx.note_effect("an effect");
                }
                vec![ToolYield::Final(Err(ToolError::new(text)))]
            }
        };
        Box::pin(stream::iter(yields))
    }
}

/// [AC-313]
#[tokio::test]
async fn fifty_mebibytes_in_any_form_become_a_short_error() {
    let big = || "x".repeat(50 << 20);
    let gives = vec![
        Huge::Output(ToolOutput::Text(big())),
        Huge::Output(ToolOutput::Json(json!({"a": [big()]}))),
        Huge::Output(ToolOutput::ErrorText(big())),
        Huge::Output(ToolOutput::Content(vec![ToolContent::File(FilePart::new(
            "image/png",
            FileData::bytes(vec![0u8; 50 << 20]),
        ))])),
        Huge::Output(ToolOutput::Content(vec![ToolContent::File(FilePart::new(
            "image/png",
            FileData::Url { url: format!("data:{}", big()) },
        ))])),
        Huge::Output(ToolOutput::Content(vec![ToolContent::Custom(CustomPart {
            kind: big(),
            options: Default::default(),
            metadata: None,
        })])),
        Huge::Preliminary(ToolOutput::Text(big())),
        Huge::Error(big()),
    ];
    let ids: Vec<_> = (0..gives.len()).map(|at| format!("c{at}")).collect();
    let script: Vec<_> = ids.iter().map(|id| (id.as_str(), "huge", "{}")).collect();
    let model = ScriptedModel::new().reply(calls(&script)).reply(Script::text_reply("done"));
    let tools = ToolSet::new().with(Giving(Mutex::new(gives))).unwrap();
    let (events, end) = run(&loop_of(&model, tools), RunOptions::default()).await;
    assert_eq!(end.outcome, Outcome::Finished);
    let too_large = ToolStatus::TooLarge { limit: 16 << 20 };
    let statuses: Vec<_> = end.steps[0].tools.iter().map(|tool| tool.status.clone()).collect();
    assert!(statuses[..6].iter().all(|status| *status == too_large), "{statuses:?}");
    assert_eq!(statuses[6..], [ToolStatus::Ok, ToolStatus::Failed]);
    let said = results(&end);
    assert!(said[0].1.contains("more than 16777216 bytes"));
    let shown: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            LoopEvent::Tool(ToolEvent::Preliminary(result)) => Some(&result.output),
            _ => None,
        })
        .collect();
    assert_eq!(shown, [&ToolOutput::Text("small".to_owned())]);
    let stored = serde_json::to_string(&end.snapshot).unwrap();
    assert!(stored.len() < 100_000, "{} bytes", stored.len());
    assert_eq!(serde_json::from_str::<RunSnapshot>(&stored).unwrap(), end.snapshot);
}

/// [AC-316]
#[tokio::test(start_paused = true)]
async fn the_effects_a_tool_reports_are_bounded() {
    let tool = tool_fn("noisy", "", |_: Text, ctx: ToolContext| async move {
        for _ in 0..2_000 {
            ctx.note_effect("é".repeat(5_000));
        }
        std::future::pending::<Result<String, ToolError>>().await
    })
    .with_timeout(Duration::from_secs(1));
    let model =
        ScriptedModel::new().reply(calls(&[("1", "noisy", r#"{"text":""}"#)])).reply(Script::text_reply("x"));
    let (_, end) = run(&loop_of(&model, ToolSet::new().with(tool).unwrap()), RunOptions::default()).await;
    let ToolStatus::DeliveryUnknown(unknown) = &end.steps[0].tools[0].status else { panic!("no") };
    assert_eq!(unknown.known_effects.len(), 1_000);
    assert!(unknown.known_effects.iter().all(|effect| effect.chars().count() == 1_001));
}

/// [AC-314]
#[tokio::test]
async fn a_blocking_tool_that_hangs_is_left_behind() {
    let (release, held) = std::sync::mpsc::channel::<()>();
    let held = Mutex::new(held);
    let tool = tool_fn_blocking("block", "", move |_: Text, ctx: ToolContext| {
        ctx.note_effect("began");
        let _ = held.lock().unwrap().recv();
        Ok::<_, ToolError>("too late")
    })
    .with_timeout(Duration::from_millis(50));
    let quick = tool_fn("quick", "", |args: Text, _| async move { Ok::<_, ToolError>(args.text) })
        .with_effect(Effect::ReadOnly);
    let model = ScriptedModel::new()
        .reply(calls(&[("1", "block", r#"{"text":""}"#), ("2", "quick", r#"{"text":"q"}"#)]))
        .reply(Script::text_reply("done"));
    let tools = ToolSet::new().with(tool).unwrap().with(quick).unwrap();
    let (_, end) = run(&loop_of(&model, tools), RunOptions::default()).await;
    assert_eq!(end.outcome, Outcome::Finished);
    let ToolStatus::DeliveryUnknown(unknown) = &end.steps[0].tools[0].status else {
        panic!("{:?}", end.steps[0].tools[0].status)
    };
    assert_eq!(unknown.known_effects, ["began"]);
    assert_eq!(end.steps[0].tools[1].status, ToolStatus::Ok);
    // The pool of the runtime waits for its thread.
    drop(release);
}

/// [AC-333]
#[tokio::test(start_paused = true)]
async fn the_next_request_is_the_same_whatever_the_order_of_the_results() {
    let sent = async |fast: &str| {
        let log = Log::default();
        let (a, b) = if fast == "a" { (1, 200) } else { (200, 1) };
        let asks = timed("asks", Concurrency::Any, &log).with_approval();
        let tools = ToolSet::new().with(timed("t", Concurrency::Any, &log)).unwrap().with(asks).unwrap();
        let model = ScriptedModel::new()
            .reply(calls(&[
                ("a", "t", &format!(r#"{{"ms":{a}}}"#)),
                ("b", "t", &format!(r#"{{"ms":{b}}}"#)),
                ("c", "asks", "{}"),
            ]))
            .reply(Script::text_reply("done"));
        let (_, end) = run(&loop_of(&model, tools), RunOptions::default()).await;
        assert_eq!(log.lock().unwrap()[2], format!("-{fast}"));
        let mut stored = end.snapshot.into_run();
        let no = ai_core::run::Input::Answer {
            call_id: "c".into(),
            approved: false,
            reason: Some("policy".to_owned()),
        };
        stored.feed(no).unwrap();
        let (_handle, events) = loop_of(&model, ToolSet::new()).resume(stored, RunOptions::default());
        let _: Vec<_> = futures_util::StreamExt::collect(events).await;
        let ai_provider::Message::Tool(message) = &*model.requests()[1].messages[2] else {
            panic!("no results")
        };
        serde_json::to_string(message).unwrap()
    };
    let (first, second) = (sent("a").await, sent("b").await);
    assert_eq!(first, second);
    let at = |id: &str| first.find(&format!(r#""toolCallId":"{id}""#)).unwrap();
    assert!(at("a") < at("b") && at("b") < at("c"));
}
