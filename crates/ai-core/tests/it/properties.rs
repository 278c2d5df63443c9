use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ai_core::run::{Outcome, RunSnapshot};
use ai_core::{Effect, LoopEvent, RunOptions, ToolError, ToolLoop, ToolSet, tool_fn};
use ai_provider::{ErrorClass, Message, ModelError, UnifiedFinish};
use ai_testkit::{Script, ScriptedModel};
use futures_util::StreamExt;
use proptest::prelude::*;

use crate::support::{Settled, Text, check_history};

/// What a model does in one answer.
#[derive(Clone, Debug)]
enum Said {
    Text,
    Calls(Vec<(&'static str, &'static str)>),
    Cut(Vec<(&'static str, &'static str)>),
    Nothing,
    Fails,
    Ends,
}

fn one_call() -> impl Strategy<Value = (&'static str, &'static str)> {
    let tool = prop::sample::select(vec!["ok", "fails", "panics", "slow", "unknown"]);
    let input = prop::sample::select(vec![r#"{"text":"x"}"#, "{}", "null", "{\"te"]);
    (tool, input)
}

fn said() -> impl Strategy<Value = Said> {
    prop_oneof![
        2 => Just(Said::Text),
        8 => prop::collection::vec(one_call(), 1..5).prop_map(Said::Calls),
        1 => prop::collection::vec(one_call(), 0..3).prop_map(Said::Cut),
        1 => Just(Said::Nothing),
        1 => Just(Said::Fails),
        1 => Just(Said::Ends),
    ]
}

fn script(said: &Said, step: usize) -> Script {
    let with = |calls: &[(&str, &str)], unified| {
        let script =
            calls.iter().enumerate().fold(Script::new().text("so"), |script, (at, (tool, input))| {
                script.tool_call(format!("s{step}c{at}"), tool, input)
            });
        script.finish(unified)
    };
    match said {
        Said::Text => Script::text_reply("the end"),
        Said::Calls(calls) => with(calls, UnifiedFinish::ToolCalls),
        Said::Cut(calls) => with(calls, UnifiedFinish::Length),
        Said::Nothing => Script::new().finish(UnifiedFinish::Stop),
        Said::Fails => Script::new().text("par").error(ModelError::new(ErrorClass::Server, "boom")),
        Said::Ends => Script::new().text("par").end(),
    }
}

fn agent(script_of: &[Said]) -> (ToolLoop, ScriptedModel) {
    let model = script_of
        .iter()
        .enumerate()
        .fold(ScriptedModel::new(), |model, (at, said)| model.reply(script(said, at)));
    let ok = tool_fn("ok", "", |args: Text, _| async move { Ok::<_, ToolError>(args.text) });
    let fails = tool_fn("fails", "", |_: Text, _| async move { Err::<String, _>(ToolError::new("no")) });
    let panics = tool_fn("panics", "", |args: Text, _| async move {
        match args.text.as_str() {
            "" => Ok::<_, ToolError>(args.text),
            _ => panic!("boom"),
        }
    });
    let slow = tool_fn("slow", "", |args: Text, _| async move {
        tokio::time::sleep(Duration::from_secs(60)).await;
        Ok::<_, ToolError>(args.text)
    })
    .with_effect(Effect::Idempotent)
    .with_timeout(Duration::from_secs(1));
    let tools =
        [ok, fails, panics, slow].into_iter().fold(ToolSet::new(), |set, tool| set.with(tool).unwrap());
    (ToolLoop::new(Arc::new(model.clone())).with_tools(tools), model)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

fn add(count: &Cell<usize>, more: usize) {
    count.set(count.get() + more);
}

fn quiet() {
    std::panic::set_hook(Box::new(|_| {}));
}

/// [AC-51] [AC-26]
#[test]
fn any_script_gives_a_valid_history_one_end_and_the_same_when_stored_and_resumed() {
    quiet();
    let (cases, with_results, resumed) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(192));
    runner
        .run(&prop::collection::vec(said(), 1..6), |script_of| {
            add(&cases, 1);
            let runtime = runtime();
            let settled = Arc::new(Settled::default());
            let (agent, model) = agent(&script_of);
            let (events, end) = runtime.block_on(async {
                let options = RunOptions::default().with_control(settled.clone());
                let (_handle, stream) = agent.start([Message::user("go")], options);
                let mut events: Vec<_> = stream.collect().await;
                let Some(LoopEvent::End(end)) = events.pop() else { panic!("no end") };
                (events, end)
            });
            prop_assert!(!events.iter().any(|event| matches!(event, LoopEvent::End(_))));
            prop_assert_eq!(settled.0.load(Ordering::SeqCst), 1);
            for request in model.requests() {
                check_history(&request.messages).map_err(TestCaseError::fail)?;
            }
            let history: Vec<_> =
                [Arc::new(Message::user("go"))].into_iter().chain(end.new_messages.iter().cloned()).collect();
            check_history(&history).map_err(TestCaseError::fail)?;
            let called: usize = end.steps.iter().map(|step| step.message.tool_calls().count()).sum();
            let answered: usize = end.steps.iter().map(|step| step.tools.len()).sum();
            prop_assert_eq!(called, answered, "a result is lost");
            add(&with_results, usize::from(answered > 0));

            // The run stored after each of its steps and resumed by another loop ends the same.
            for event in &events {
                let LoopEvent::StepEnd(record, snapshot) = event else { continue };
                add(&resumed, 1);
                let stored = serde_json::to_vec(snapshot).unwrap();
                let stored = serde_json::from_slice::<RunSnapshot>(&stored).unwrap();
                prop_assert_eq!(&stored, snapshot);
                let rest: Vec<_> = script_of.iter().skip(record.step as usize).cloned().collect();
                let (again, _) = self::agent_from(&rest, record.step as usize);
                let outcome = runtime.block_on(async {
                    let (_handle, stream) = again.resume(stored.into_run(), RunOptions::default());
                    stream.collect::<Vec<_>>().await.pop()
                });
                let Some(LoopEvent::End(second)) = outcome else { panic!("no end") };
                prop_assert_eq!(strip(&second.outcome), strip(&end.outcome));
                prop_assert_eq!(&second.new_messages, &end.new_messages);
            }
            Ok(())
        })
        .unwrap();
    let (cases, with_results, resumed) = (cases.get(), with_results.get(), resumed.get());
    assert!(with_results * 2 > cases, "only {with_results} of {cases} runs called a tool");
    assert!(resumed * 2 > cases, "only {resumed} resumptions in {cases} runs");
}

fn agent_from(script_of: &[Said], first: usize) -> (ToolLoop, ScriptedModel) {
    let (agent, _) = agent(&[]);
    let model = script_of
        .iter()
        .enumerate()
        .fold(ScriptedModel::new(), |model, (at, said)| model.reply(script(said, first + at)));
    (ToolLoop::new(Arc::new(model.clone())).with_tools(agent.tools().clone()), model)
}

/// The call beyond the end of a script fails with its number in the text, which differs after resuming.
fn strip(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Failed { error, partial } => format!("failed {} {partial:?}", error.class),
        other => format!("{other:?}"),
    }
}
