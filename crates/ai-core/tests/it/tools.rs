use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ai_core::run::{Outcome, ToolStatus};
use ai_core::{
    Effect, LoopEvent, RunOptions, Tool, ToolContext, ToolError, ToolEvent, ToolSet, ToolStream, ToolYield,
    tool_fn, tool_fn_blocking,
};
use ai_provider::{FunctionTool, StreamPart, ToolOutput};
use ai_testkit::{Script, ScriptedModel};
use futures_util::stream;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{Text, calls, check_history, echo, finished, loop_of, results, run};

#[derive(Deserialize, JsonSchema)]
struct Wait {
    ms: u64,
}

fn wait() -> ai_core::FnTool<Wait> {
    tool_fn("wait", "Waits.", |args: Wait, _| async move {
        tokio::time::sleep(Duration::from_millis(args.ms)).await;
        Ok::<_, ToolError>(args.ms)
    })
    .with_effect(Effect::ReadOnly)
}

fn answered(script: Script) -> ScriptedModel {
    ScriptedModel::new().reply(script).reply(Script::text_reply("done"))
}

/// [AC-12] [AC-32]
#[tokio::test(start_paused = true)]
async fn tools_run_side_by_side_and_results_keep_the_order_of_the_calls() {
    let model = answered(calls(&[
        ("a", "wait", r#"{"ms":200}"#),
        ("b", "wait", r#"{"ms":0}"#),
        ("c", "wait", r#"{"ms":100}"#),
    ]));
    let started = tokio::time::Instant::now();
    let agent = loop_of(&model, ToolSet::new().with(wait()).unwrap());
    let (events, end) = run(&agent, RunOptions::default()).await;
    assert_eq!(started.elapsed(), Duration::from_millis(200));
    assert_eq!(finished(&events), ["b", "c", "a"]);
    assert_eq!(results(&end).iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(end.outcome, Outcome::Finished);
    check_history(&model.requests()[1].messages).unwrap();

    let model = answered(calls(&[
        ("a", "wait", r#"{"ms":200}"#),
        ("b", "wait", r#"{"ms":200}"#),
        ("c", "wait", r#"{"ms":200}"#),
    ]));
    let started = tokio::time::Instant::now();
    let agent = loop_of(&model, ToolSet::new().with(wait()).unwrap()).with_tool_concurrency(2);
    run(&agent, RunOptions::default()).await;
    assert_eq!(started.elapsed(), Duration::from_millis(400));
}

/// [AC-33]
#[tokio::test]
async fn a_tool_that_panics_or_fails_leaves_the_others_alone() {
    let bad = tool_fn("bad", "", |args: Text, _| async move {
        match args.text.as_str() {
            "panic" => panic!("out of cheese"),
            _ => Err::<String, _>(ToolError::new("no such file")),
        }
    });
    let model = answered(calls(&[
        ("1", "bad", r#"{"text":"panic"}"#),
        ("2", "bad", r#"{"text":"fail"}"#),
        ("3", "echo", r#"{"text":"ok"}"#),
    ]));
    let agent = loop_of(&model, ToolSet::new().with(bad).unwrap().with(echo()).unwrap());
    let (_, end) = run(&agent, RunOptions::default()).await;
    assert_eq!(end.outcome, Outcome::Finished);
    let tools = &end.steps[0].tools;
    assert_eq!(
        tools.iter().map(|t| &t.status).collect::<Vec<_>>(),
        [&ToolStatus::Panicked, &ToolStatus::Failed, &ToolStatus::Ok]
    );
    let said = results(&end);
    assert!(said[0].1.contains("out of cheese"), "{said:?}");
    assert!(said[1].1.contains("no such file"), "{said:?}");
    assert_eq!(said[2].1, r#"{"type":"text","value":"ok"}"#);
}

/// [AC-33]
#[tokio::test]
async fn a_tool_that_panics_before_it_returns_a_stream_is_caught_as_well() {
    struct Eager;
    impl Tool for Eager {
        fn definition(&self) -> FunctionTool {
            FunctionTool::new("eager", "", json!({"type": "object"}))
        }
        fn execute(&self, _: Value, _: ToolContext) -> ToolStream {
            panic!("at once")
        }
    }
    let model = answered(calls(&[("1", "eager", "{}")]));
    let (_, end) = run(&loop_of(&model, ToolSet::new().with(Eager).unwrap()), RunOptions::default()).await;
    assert_eq!(end.steps[0].tools[0].status, ToolStatus::Panicked);
}

/// [AC-34]
#[tokio::test(start_paused = true)]
async fn what_a_late_tool_did_is_unknown_only_if_it_could_do_harm() {
    let late = |name: &str, effect| {
        tool_fn(name, "", |_: Text, ctx: ToolContext| async move {
            ctx.note_effect("reserved seat 4");
            std::future::pending::<Result<String, ToolError>>().await
        })
        .with_effect(effect)
        .with_timeout(Duration::from_secs(5))
    };
    let tools = ToolSet::new()
        .with(late("reads", Effect::ReadOnly))
        .unwrap()
        .with(late("writes", Effect::SideEffect))
        .unwrap();
    let model = answered(calls(&[("r", "reads", r#"{"text":""}"#), ("w", "writes", r#"{"text":""}"#)]));
    let (_, end) = run(&loop_of(&model, tools), RunOptions::default()).await;
    let tools = &end.steps[0].tools;
    assert_eq!(tools[0].status, ToolStatus::TimedOut);
    assert_eq!(tools[0].duration, Duration::from_secs(5));
    let ToolStatus::DeliveryUnknown(unknown) = &tools[1].status else { panic!("{:?}", tools[1].status) };
    assert_eq!((unknown.tool.as_str(), unknown.call_id.as_str()), ("writes", "w"));
    assert_eq!(unknown.known_effects, ["reserved seat 4"]);
    assert_eq!(unknown.request_id, model.contexts()[0].request_id);
    assert!(results(&end)[1].1.contains("unknown"));
}

/// [AC-34] [AC-55]
#[tokio::test]
async fn a_tool_that_always_has_something_keeps_its_limit_and_starves_nobody() {
    struct Spins;
    impl Tool for Spins {
        fn definition(&self) -> FunctionTool {
            FunctionTool::new("spin", "", json!({"type": "object"}))
        }
        fn effect(&self) -> Effect {
            Effect::ReadOnly
        }
        fn timeout(&self) -> Option<Duration> {
            Some(Duration::from_millis(50))
        }
        fn execute(&self, _: Value, _: ToolContext) -> ToolStream {
            Box::pin(stream::repeat_with(|| ToolYield::Preliminary(ToolOutput::Text("still".to_owned()))))
        }
    }
    let model = answered(calls(&[("1", "spin", "{}"), ("2", "echo", r#"{"text":"x"}"#)]));
    let tools = ToolSet::new().with(Spins).unwrap().with(echo()).unwrap();
    let (events, end) = run(&loop_of(&model, tools), RunOptions::default()).await;
    assert_eq!(end.steps[0].tools[0].status, ToolStatus::TimedOut);
    assert_eq!(finished(&events), ["2", "1"]);
    let before: Vec<_> = events
        .iter()
        .take_while(|event| {
            !matches!(event, LoopEvent::Tool(ToolEvent::Finished(done)) if done.result.tool_call_id == "2")
        })
        .filter(|event| matches!(event, LoopEvent::Tool(ToolEvent::Preliminary(_))))
        .collect();
    assert!(before.len() < 10, "the other waited for {} results", before.len());
}

/// [AC-47] [AC-14]
#[tokio::test]
async fn a_typed_tool_never_sees_wrong_input_and_the_model_reads_where_it_went_wrong() {
    #[derive(Deserialize, JsonSchema)]
    struct Trip {
        legs: Vec<Leg>,
    }
    #[derive(Deserialize, JsonSchema)]
    struct Leg {
        nights: u32,
    }
    let ran = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&ran);
    let tool = tool_fn("book", "", move |trip: Trip, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move { Ok::<_, ToolError>(trip.legs.iter().map(|leg| leg.nights).sum::<u32>()) }
    });
    let model = answered(calls(&[
        ("1", "book", r#"{"legs":[{"nights":1},{"nights":"two"}]}"#),
        ("2", "book", "{}"),
        ("3", "book", r#"{"legs":[{"nights":2}]}"#),
    ]));
    let (_, end) = run(&loop_of(&model, ToolSet::new().with(tool).unwrap()), RunOptions::default()).await;
    let said = results(&end);
    assert!(said[0].1.contains("legs[1].nights"), "{said:?}");
    assert!(said[1].1.contains("legs"), "{said:?}");
    assert_eq!(said[2].1, r#"{"type":"json","value":2}"#);
    assert_eq!(end.steps[0].tools[0].status, ToolStatus::InvalidInput);
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

/// [AC-42]
#[tokio::test]
async fn a_result_past_its_limit_becomes_an_error() {
    let model =
        answered(calls(&[("1", "echo", r#"{"text":"12345"}"#), ("2", "echo", r#"{"text":"123456"}"#)]));
    let agent = loop_of(&model, ToolSet::new().with(echo()).unwrap()).with_tool_output_limit(5);
    let (_, end) = run(&agent, RunOptions::default()).await;
    assert_eq!(end.steps[0].tools[0].status, ToolStatus::Ok);
    assert_eq!(end.steps[0].tools[1].status, ToolStatus::TooLarge { limit: 5 });
    assert!(results(&end)[1].1.contains("more than 5 bytes"));
}

/// [AC-52]
#[tokio::test]
async fn a_result_too_deep_to_be_stored_becomes_an_error() {
    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let deep = tool_fn("deep", "", move |args: Wait, _| async move {
        Ok::<_, ToolError>(nested(args.ms.try_into().unwrap()))
    });
    let model = answered(calls(&[
        ("1", "deep", r#"{"ms":100}"#),
        ("2", "deep", r#"{"ms":101}"#),
        ("3", "deep", r#"{"ms":127}"#),
    ]));
    let (_, end) = run(&loop_of(&model, ToolSet::new().with(deep).unwrap()), RunOptions::default()).await;
    assert_eq!(
        end.steps[0].tools.iter().map(|t| &t.status).collect::<Vec<_>>(),
        [&ToolStatus::Ok, &ToolStatus::Failed, &ToolStatus::Failed]
    );
    let stored = serde_json::to_string(&end.snapshot).unwrap();
    assert_eq!(serde_json::from_str::<ai_core::run::RunSnapshot>(&stored).unwrap(), end.snapshot);
}

/// [AC-43]
#[tokio::test]
async fn only_a_trusted_tool_can_end_the_run() {
    let terminal = || {
        tool_fn("stop", "", |_: Text, ctx: ToolContext| async move {
            assert!(ctx.for_inner().terminal_permit().is_none());
            match ctx.terminal_permit() {
                Some(permit) => Err::<Value, ToolError>(permit.fail("Closed.").with_key("closed").into()),
                None => Ok(json!({"terminal": true, "message": "Closed.", "toolCallId": "1"})),
            }
        })
    };
    let script = || calls(&[("1", "stop", r#"{"text":""}"#), ("2", "echo", r#"{"text":"x"}"#)]);
    let tools = ToolSet::new().trusted(terminal()).unwrap().with(echo()).unwrap();
    let (_, end) = run(&loop_of(&answered(script()), tools), RunOptions::default()).await;
    let Outcome::ToolTerminal(record) = &end.outcome else { panic!("{:?}", end.outcome) };
    assert_eq!((record.message.as_str(), record.key.as_deref()), ("Closed.", Some("closed")));
    assert_eq!(end.steps[0].tools[1].status, ToolStatus::Ok, "siblings finish first");

    let tools = ToolSet::new().with(terminal()).unwrap().with(echo()).unwrap();
    let (_, end) = run(&loop_of(&answered(script()), tools), RunOptions::default()).await;
    assert_eq!(end.outcome, Outcome::Finished);
}

/// [AC-44]
#[tokio::test]
async fn preliminary_results_are_shown_and_not_sent() {
    struct Counts;
    impl Tool for Counts {
        fn definition(&self) -> FunctionTool {
            FunctionTool::new("count", "", json!({"type": "object"}))
        }
        fn execute(&self, _: Value, _: ToolContext) -> ToolStream {
            let text = |text: &str| ToolOutput::Text(text.to_owned());
            Box::pin(stream::iter([
                ToolYield::Preliminary(text("1")),
                ToolYield::Preliminary(text("2")),
                ToolYield::Final(Ok(text("3"))),
                ToolYield::Preliminary(text("late")),
            ]))
        }
    }
    let model = answered(calls(&[("1", "count", "{}")]));
    let (events, end) =
        run(&loop_of(&model, ToolSet::new().with(Counts).unwrap()), RunOptions::default()).await;
    let shown: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            LoopEvent::Tool(ToolEvent::Preliminary(result)) => Some(result.output.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(shown, [ToolOutput::Text("1".to_owned()), ToolOutput::Text("2".to_owned())]);
    assert_eq!(results(&end), [("1".to_owned(), r#"{"type":"text","value":"3"}"#.to_owned())]);
}

/// [AC-44]
#[tokio::test]
async fn a_tool_that_ends_without_a_result_is_an_error() {
    struct Mute;
    impl Tool for Mute {
        fn definition(&self) -> FunctionTool {
            FunctionTool::new("mute", "", json!({"type": "object"}))
        }
        fn execute(&self, _: Value, _: ToolContext) -> ToolStream {
            Box::pin(stream::empty())
        }
    }
    let model = answered(calls(&[("1", "mute", "{}")]));
    let (_, end) = run(&loop_of(&model, ToolSet::new().with(Mute).unwrap()), RunOptions::default()).await;
    assert_eq!(end.steps[0].tools[0].status, ToolStatus::Failed);
    assert!(results(&end)[0].1.contains("without a result"));
}

/// [AC-48]
#[tokio::test]
async fn a_blocking_tool_runs_beside_the_run_and_its_panic_is_caught() {
    let tool = tool_fn_blocking("block", "", |args: Text, _| match args.text.as_str() {
        "panic" => panic!("in the pool"),
        text => Ok::<_, ToolError>(text.to_uppercase()),
    });
    let model = answered(calls(&[("1", "block", r#"{"text":"panic"}"#), ("2", "block", r#"{"text":"ok"}"#)]));
    let (_, end) = run(&loop_of(&model, ToolSet::new().with(tool).unwrap()), RunOptions::default()).await;
    assert_eq!(end.steps[0].tools[0].status, ToolStatus::Panicked);
    assert_eq!(results(&end)[1].1, r#"{"type":"text","value":"OK"}"#);
}

/// [AC-49]
#[tokio::test]
async fn the_model_sees_names_descriptions_and_schemas_in_order() {
    let model = ScriptedModel::new().reply(Script::text_reply("x"));
    let tools = ToolSet::new().with(wait()).unwrap().with(echo()).unwrap();
    run(&loop_of(&model, tools), RunOptions::default()).await;
    let request = &model.requests()[0];
    assert_eq!(request.tools.iter().map(|tool| tool.name()).collect::<Vec<_>>(), ["wait", "echo"]);
    let ai_provider::ToolDefinition::Function(tool) = &request.tools[1] else { panic!("not a function") };
    assert_eq!(tool.description.as_deref(), Some("Repeats."));
    assert_eq!(tool.input_schema["properties"]["text"]["type"], "string");
    assert_eq!(tool.input_schema["required"], json!(["text"]));
}

/// [AC-32]
#[tokio::test(start_paused = true)]
async fn a_thousand_calls_in_one_step_are_all_answered() {
    let ids: Vec<_> = (0..1000).map(|at| format!("c{at}")).collect();
    let script: Vec<_> = ids.iter().map(|id| (id.as_str(), "wait", r#"{"ms":1}"#)).collect();
    let model = answered(calls(&script));
    let (events, end) =
        run(&loop_of(&model, ToolSet::new().with(wait()).unwrap()), RunOptions::default()).await;
    assert_eq!(end.outcome, Outcome::Finished);
    assert_eq!(finished(&events).len(), 1000);
    assert_eq!(results(&end).iter().map(|(id, _)| id.clone()).collect::<Vec<_>>(), ids);
    assert!(events.iter().any(|event| matches!(event, LoopEvent::Part(StreamPart::Finish(_)))));
}
