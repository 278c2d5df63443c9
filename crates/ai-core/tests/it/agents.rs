//! An agent as a tool of another.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ai_core::run::{BudgetKind, Outcome, ToolStatus};
use ai_core::{
    Effect, LoopEvent, RunEnd, RunOptions, ToolError, ToolEvent, ToolLoop, ToolSet, agent_tool, client_tool,
    tool_fn,
};
use ai_provider::{CancellationToken, ErrorClass, Message, ModelError, ToolOutput, UnifiedFinish};
use ai_testkit::{Script, ScriptedModel};
use futures_util::StreamExt;
use serde_json::json;

use crate::support::{Text, calls, check_history, echo, loop_of, results, run};

fn outer(inner: ToolLoop) -> (ToolLoop, ScriptedModel) {
    let model = ScriptedModel::new()
        .reply(calls(&[("1", "ask", r#"{"prompt":"Find out."}"#)]))
        .reply(Script::text_reply("done"));
    let tool = agent_tool("ask", "Asks another agent.", inner).with_effect(Effect::ReadOnly);
    (loop_of(&model, ToolSet::new().with(tool).unwrap()), model)
}

fn preliminary(events: &[LoopEvent]) -> Vec<String> {
    let shown = events.iter().filter_map(|event| match event {
        LoopEvent::Tool(ToolEvent::Preliminary(result)) => Some(&result.output),
        _ => None,
    });
    shown
        .map(|output| match output {
            ToolOutput::Text(text) => text.clone(),
            other => panic!("{other:?}"),
        })
        .collect()
}

/// [AC-340] [AC-341]
#[tokio::test]
async fn its_text_is_shown_as_it_comes_and_the_last_is_the_result() {
    let inner_model = ScriptedModel::new()
        .reply(
            Script::new()
                .text("I look.")
                .tool_call("i", "echo", r#"{"text":"x"}"#)
                .usage(100, 7)
                .finish(UnifiedFinish::ToolCalls),
        )
        .reply(Script::new().text("It is so.").usage(200, 8).finish(UnifiedFinish::Stop));
    let inner = loop_of(&inner_model, ToolSet::new().with(echo()).unwrap());
    let (agent, model) = outer(inner);
    let (events, end) = run(&agent, RunOptions::default()).await;
    assert_eq!(end.outcome, Outcome::Finished);
    assert_eq!(results(&end), [("1".to_owned(), r#"{"type":"text","value":"It is so."}"#.to_owned())]);
    let shown = preliminary(&events);
    assert_eq!(shown, ["I ", "I look.", "It ", "It is ", "It is so."]);
    // What the inner run took is counted: 10 + 300 read, 5 + 15 written.
    assert_eq!((end.usage.input.total, end.usage.output.total), (Some(310), Some(20)));
    let usage = end.steps[0].tools[0].usage.as_deref().unwrap();
    assert_eq!((usage.input.total, usage.output.total), (Some(300), Some(15)));
    // The inner run sees its prompt alone, in a scope of its own.
    assert_eq!(*inner_model.requests()[0].messages[0], Message::user("Find out."));
    assert_eq!(inner_model.requests()[0].messages.len(), 1);
    let (inner, outer) = (&inner_model.contexts()[0].scope, &model.contexts()[0].scope);
    let key = ai_provider::ScopeKey::new();
    outer.get_or_insert(&key, || 1u32);
    assert_eq!(*inner.get_or_insert(&key, || 2u32), 2);
    check_history(&model.requests()[1].messages).unwrap();
}

/// [AC-340]
#[tokio::test]
async fn all_preliminary_results_together_are_linear_in_the_text() {
    let text = "word ".repeat(4_000);
    let inner = loop_of(&ScriptedModel::new().reply(Script::text_reply(&text)), ToolSet::new());
    let (events, _) = run(&outer(inner).0, RunOptions::default()).await;
    let shown = preliminary(&events);
    let total: usize = shown.iter().map(String::len).sum();
    assert_eq!(shown.last(), Some(&text));
    assert!(shown.len() > 20, "{} results", shown.len());
    assert!(total < 12 * text.len(), "{total} bytes for {}", text.len());
}

/// [AC-341]
#[tokio::test]
async fn what_a_failed_agent_took_is_counted_too() {
    let inner_model = ScriptedModel::new()
        .reply(Script::tool_reply("i", "echo", r#"{"text":"x"}"#).end())
        .reply(Script::new().usage(50, 1).finish(UnifiedFinish::Stop));
    let inner = loop_of(&inner_model, ToolSet::new().with(echo()).unwrap());
    let (_, end) = run(&outer(inner).0, RunOptions::default()).await;
    assert_eq!(end.steps[0].tools[0].status, ToolStatus::Failed);
    assert!(results(&end)[0].1.contains("empty answer"), "{:?}", results(&end));
    assert_eq!(end.usage.input.total, Some(60));
}

/// [AC-342]
#[tokio::test]
async fn an_agent_that_comes_to_no_end_is_a_failed_tool() {
    let asking =
        tool_fn("asks", "", |args: Text, _| async move { Ok::<_, ToolError>(args.text) }).with_approval();
    let here = client_tool("here", "", json!({"type": "object"}));
    let tools = ToolSet::new().with(echo()).unwrap().with(asking).unwrap().with(here).unwrap();
    let call = |tool| {
        Script::new().text("Well.").tool_call("i", tool, r#"{"text":"x"}"#).finish(UnifiedFinish::ToolCalls)
    };
    for (script, said) in [
        (call("asks"), &["consent", "Well."][..]),
        (call("here"), &["cannot run here"]),
        (call("echo"), &["limit of 1 steps", "Well."]),
        (Script::new().text("Half").finish(UnifiedFinish::Length), &["length limit", "Half"]),
        (Script::new().finish(UnifiedFinish::ContentFilter), &["withheld"]),
        (Script::new().text("par").error(ModelError::new(ErrorClass::Server, "boom")), &["boom", "par"]),
    ] {
        let inner = loop_of(&ScriptedModel::new().reply(script), tools.clone()).with_step_cap(1);
        let (_, end) = run(&outer(inner).0, RunOptions::default()).await;
        let output = &results(&end)[0].1;
        assert!(said.iter().all(|part| output.contains(part)), "{output}");
        assert_eq!(end.steps[0].tools[0].status, ToolStatus::Failed);
        assert_eq!(end.outcome, Outcome::Finished, "the outer run goes on");
    }
}

async fn end_of(stream: ai_core::LoopStream) -> RunEnd {
    match stream.collect::<Vec<_>>().await.pop() {
        Some(LoopEvent::End(end)) => *end,
        other => panic!("the last event is {other:?}"),
    }
}

/// [AC-343]
#[tokio::test(start_paused = true)]
async fn it_ends_with_the_run_that_called_it() {
    let hanging = || ScriptedModel::new().reply(Script::new().text("so").hang());
    // By its deadline, which the inner run knows.
    let inner_model = hanging();
    let (agent, _) = outer(loop_of(&inner_model, ToolSet::new()));
    let options = RunOptions::default().with_timeout(Duration::from_secs(5));
    let deadline = options.deadline;
    let end = end_of(agent.start([Message::user("go")], options).1).await;
    assert_eq!(end.outcome, Outcome::Budget { kind: BudgetKind::Time });
    assert_eq!(inner_model.contexts()[0].deadline, deadline);
    assert_eq!(inner_model.dropped(), 1);

    // By its cancel.
    let inner_model = hanging();
    let (agent, _) = outer(loop_of(&inner_model, ToolSet::new()));
    let cancel = CancellationToken::new();
    let (_handle, mut events) =
        agent.start([Message::user("go")], RunOptions::default().with_cancel(cancel.clone()));
    let seen = Mutex::new(Vec::new());
    while let Some(event) = events.next().await {
        if let LoopEvent::Tool(ToolEvent::Preliminary(_)) = &event {
            cancel.cancel();
        }
        seen.lock().unwrap().push(event);
    }
    let seen = seen.into_inner().unwrap();
    let Some(LoopEvent::End(end)) = seen.last() else { panic!("no end") };
    assert!(matches!(end.outcome, Outcome::Cancelled { .. }));
    assert_eq!(end.steps[0].tools[0].status, ToolStatus::Cancelled);

    // By its drop, and by a limit of its own.
    let inner_model = hanging();
    let (agent, _) = outer(loop_of(&inner_model, ToolSet::new()));
    let (_handle, mut events) = agent.start([Message::user("go")], RunOptions::default());
    while let Some(event) = events.next().await {
        if matches!(event, LoopEvent::Tool(ToolEvent::Preliminary(_))) {
            break;
        }
    }
    drop(events);
    assert_eq!(inner_model.dropped(), 1);

    let model = ScriptedModel::new()
        .reply(calls(&[("1", "ask", r#"{"prompt":"Find out."}"#)]))
        .reply(Script::text_reply("done"));
    let tool =
        agent_tool("ask", "", loop_of(&hanging(), ToolSet::new())).with_timeout(Duration::from_secs(1));
    let agent = ToolLoop::new(Arc::new(model)).with_tools(ToolSet::new().with(tool).unwrap());
    let end = end_of(agent.start([Message::user("go")], RunOptions::default()).1).await;
    assert!(matches!(end.steps[0].tools[0].status, ToolStatus::DeliveryUnknown(_)));
    assert_eq!(end.outcome, Outcome::Finished);
}
