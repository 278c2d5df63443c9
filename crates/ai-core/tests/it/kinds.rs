//! Where a tool runs: here, at the caller's, at the provider.

use std::sync::{Arc, Mutex};

use ai_core::run::{Input, Outcome, Run, RunSnapshot, ToolStatus};
use ai_core::{
    LoopControl, LoopEvent, RunEnd, RunOptions, StepOverrides, StepView, ToolError, ToolSet, client_tool,
    tool_json,
};
use ai_provider::{
    AssistantPart, Message, ProviderTool, StreamPart, ToolCall, ToolDefinition, ToolOutput, ToolResult,
    UnifiedFinish,
};
use ai_testkit::{Script, ScriptedModel};
use async_trait::async_trait;
use futures_util::StreamExt;
use serde_json::json;

use crate::support::{calls, check_history, echo, loop_of, results, run};

fn provider(name: &str) -> ProviderTool {
    ProviderTool { id: format!("some.{name}"), name: name.to_owned(), args: Default::default() }
}

fn at_provider(id: &str, name: &str) -> StreamPart {
    let mut call = ToolCall::new(id, name, "{}");
    call.provider_executed = true;
    StreamPart::ToolCall(Box::new(call))
}

fn from_provider(id: &str, name: &str) -> StreamPart {
    let mut result = ToolResult::new(id, name, ToolOutput::Text("found".to_owned()));
    result.provider_executed = true;
    StreamPart::ToolResult(Box::new(result))
}

async fn end_of(stream: ai_core::LoopStream) -> RunEnd {
    match stream.collect::<Vec<_>>().await.pop() {
        Some(LoopEvent::End(end)) => *end,
        other => panic!("the last event is {other:?}"),
    }
}

/// [AC-305]
#[tokio::test]
async fn calls_handed_over_come_back_and_the_run_goes_on() {
    let model = ScriptedModel::new()
        .reply(calls(&[
            ("a", "where", "{}"),
            ("b", "echo", r#"{"text":"x"}"#),
            ("c", "where", "{}"),
            ("d", "where", r#"{"unit":5}"#),
        ]))
        .reply(Script::text_reply("done"));
    let schema = json!({"type": "object", "properties": {"unit": {"type": "string"}}});
    let tools = ToolSet::new().with(client_tool("where", "Where the user is.", schema)).unwrap();
    let agent = loop_of(&model, tools.with(echo()).unwrap());
    let (_, end) = run(&agent, RunOptions::default()).await;
    let Outcome::HandedOver { calls } = &end.outcome else { panic!("{:?}", end.outcome) };
    assert_eq!(calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["a", "c"]);

    let stored = serde_json::to_string(&end.snapshot).unwrap();
    let mut stored = serde_json::from_str::<RunSnapshot>(&stored).unwrap().into_run();
    let result = |id: &str| ToolResult::new(id, "where", ToolOutput::Text(format!("at {id}")));
    for (wrong, why) in [
        (vec![result("a")], "`c` has no result"),
        (vec![result("a"), result("c"), result("a")], "answered twice"),
        (vec![result("a"), result("b")], "`b` was not handed over"),
    ] {
        let before = stored.clone();
        let refused = stored.feed(Input::Returned(wrong)).unwrap_err();
        assert!(refused.to_string().contains(why), "{refused}");
        assert_eq!(stored, before);
    }
    stored.feed(Input::Returned(vec![result("c"), result("a")])).unwrap();
    check_history(stored.messages()).unwrap();
    let end = end_of(agent.resume(stored, RunOptions::default()).1).await;
    assert_eq!(end.outcome, Outcome::Finished);
    let said = results(&end);
    assert_eq!(said.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["a", "b", "c", "d"]);
    assert!(said[2].1.contains("at c"));
    assert_eq!(end.steps[0].tools[3].status, ToolStatus::InvalidInput);
    // What the steps took is counted once.
    assert_eq!(end.usage.input.total, Some(10));
    check_history(&model.requests()[1].messages).unwrap();
}

/// [AC-306]
#[tokio::test]
async fn what_the_provider_runs_is_shown_in_its_place_and_not_run_here() {
    let model = ScriptedModel::new().reply(
        Script::new()
            .parts([at_provider("s", "search"), from_provider("s", "search")])
            .text("It is so.")
            .finish(UnifiedFinish::Stop),
    );
    let tools = ToolSet::new().with(echo()).unwrap().with_provider(provider("search")).unwrap();
    assert!(tools.clone().with_provider(provider("echo")).is_err(), "names are unique over all kinds");
    let (_, end) = run(&loop_of(&model, tools), RunOptions::default()).await;
    assert_eq!((end.outcome, end.steps.len()), (Outcome::Finished, 1));
    assert!(end.steps[0].tools.is_empty());
    let shown = &model.requests()[0].tools;
    assert_eq!(shown.iter().map(ToolDefinition::name).collect::<Vec<_>>(), ["echo", "search"]);
    assert!(matches!(&shown[1], ToolDefinition::Provider(tool) if tool.id == "some.search"));
}

/// [AC-306]
#[tokio::test]
async fn a_run_waits_for_the_results_a_provider_defers() {
    let model = || {
        ScriptedModel::new()
            .reply(Script::new().part(at_provider("s", "search")).text("Wait.").finish(UnifiedFinish::Stop))
            .reply(Script::new().text("Still.").finish(UnifiedFinish::Stop))
            .reply(Script::new().part(from_provider("s", "search")).text("So.").finish(UnifiedFinish::Stop))
    };
    let (first, second) = (model(), model());
    let deferred = ToolSet::new().with_deferred_provider(provider("search")).unwrap();
    let (events, end) = run(&loop_of(&first, deferred.clone()), RunOptions::default()).await;
    assert_eq!((end.outcome, end.steps.len()), (Outcome::Finished, 3));
    assert!(matches!(end.steps[2].message.parts[0], AssistantPart::ToolResult(_)));
    // The run remembers what it waits for when it is stored.
    let stored = events.iter().find_map(|event| match event {
        LoopEvent::StepEnd(record, snapshot) if record.step == 1 => {
            Some(serde_json::to_string(snapshot).unwrap())
        }
        _ => None,
    });
    let stored: Run = serde_json::from_str(&stored.unwrap()).unwrap();
    let rest = ScriptedModel::new()
        .reply(Script::new().text("Still.").finish(UnifiedFinish::Stop))
        .reply(Script::new().part(from_provider("s", "search")).text("So.").finish(UnifiedFinish::Stop));
    let end = end_of(loop_of(&rest, deferred).resume(stored, RunOptions::default()).1).await;
    assert_eq!(end.steps.len(), 3);

    let plain = ToolSet::new().with_provider(provider("search")).unwrap();
    let (_, end) = run(&loop_of(&second, plain), RunOptions::default()).await;
    assert_eq!(end.steps.len(), 1, "only a tool that says so defers its results");
}

/// [AC-307]
#[tokio::test]
async fn a_tool_the_provider_defines_can_run_here() {
    let model = ScriptedModel::new()
        .reply(calls(&[("a", "shell", r#"{"command":"ls"}"#), ("b", "computer", "{}")]))
        .reply(Script::text_reply("done"));
    let shell =
        tool_json("own", "", json!({"type": "object", "required": ["command"]}), |input, _| async move {
            Ok::<_, ToolError>(input["command"].clone())
        });
    let tools = ToolSet::new()
        .with_provider_defined(provider("shell"), shell)
        .unwrap()
        .with_provider(provider("computer"))
        .unwrap();
    let (_, end) = run(&loop_of(&model, tools), RunOptions::default()).await;
    // A call the provider leaves to this side, where nothing runs it, is the caller's.
    assert!(matches!(&end.outcome, Outcome::HandedOver { calls } if calls[0].id == "b"));
    assert_eq!(results(&end), [("a".to_owned(), r#"{"type":"text","value":"ls"}"#.to_owned())]);
    assert!(
        matches!(&model.requests()[0].tools[0], ToolDefinition::Provider(tool) if tool.id == "some.shell")
    );
}

/// [AC-308]
#[tokio::test]
async fn calls_of_tools_known_only_at_run_time_are_marked() {
    let model = ScriptedModel::new()
        .reply(calls(&[("a", "late", "{}"), ("b", "echo", r#"{"text":"x"}"#)]))
        .reply(Script::text_reply("done"));
    let late =
        tool_json("late", "", json!({"type": "object"}), |_, _| async { Ok::<_, ToolError>(json!({})) });
    let tools = ToolSet::new().with(late).unwrap().with(echo()).unwrap();
    let (events, end) = run(&loop_of(&model, tools), RunOptions::default()).await;
    let mut marked = Vec::new();
    for event in &events {
        match event {
            LoopEvent::Part(StreamPart::ToolCall(call)) => marked.push(call.dynamic),
            LoopEvent::Part(StreamPart::ToolInputStart { dynamic, .. }) => marked.push(*dynamic),
            _ => {}
        }
    }
    assert_eq!(marked, [true, true, false, false]);
    assert_eq!(end.steps[0].message.tool_calls().map(|call| call.dynamic).collect::<Vec<_>>(), [true, false]);
    assert_eq!(end.steps[0].tools.iter().map(|tool| tool.result.dynamic).collect::<Vec<_>>(), [true, false]);
}

/// What each step shall have.
struct Steps(Mutex<Vec<StepOverrides>>);

#[async_trait]
impl LoopControl for Steps {
    async fn prepare_step(&self, _: &StepView<'_>) -> StepOverrides {
        let mut steps = self.0.lock().unwrap();
        if steps.is_empty() { StepOverrides::default() } else { steps.remove(0) }
    }
}

fn overrides(change: impl FnOnce(&mut StepOverrides)) -> StepOverrides {
    let mut overrides = StepOverrides::default();
    change(&mut overrides);
    overrides
}

fn named(name: &str) -> ai_core::FnTool<serde_json::Value> {
    let said = name.to_owned();
    tool_json(name, "", json!({"type": "object"}), move |_, _| {
        let said = said.clone();
        async move { Ok::<_, ToolError>(said) }
    })
}

/// [AC-309]
#[tokio::test]
async fn a_step_can_only_narrow_what_its_run_may_use() {
    let every = || calls(&[("1", "a", "{}"), ("2", "b", "{}"), ("3", "c", "{}")]);
    let model = ScriptedModel::new().reply(every()).reply(every()).reply(Script::text_reply("done"));
    let tools = ["a", "b", "c"].into_iter().fold(ToolSet::new(), |set, name| set.with(named(name)).unwrap());
    let steps = Steps(Mutex::new(vec![overrides(|step| {
        step.active_tools = Some(vec!["c".to_owned(), "b".to_owned(), "z".to_owned()])
    })]));
    let options = RunOptions::default().with_active_tools(["a", "b"]).with_control(Arc::new(steps));
    let (_, end) = run(&loop_of(&model, tools), options).await;
    let shown: Vec<Vec<_>> = model
        .requests()
        .iter()
        .map(|request| request.tools.iter().map(|tool| tool.name().to_owned()).collect())
        .collect();
    assert_eq!(shown, [vec!["b"], vec!["a", "b"], vec!["a", "b"]]);
    let ran: Vec<Vec<_>> = end
        .steps
        .iter()
        .map(|step| step.tools.iter().map(|tool| tool.status == ToolStatus::Ok).collect())
        .collect();
    assert_eq!(ran[..2], [vec![false, true, false], vec![true, true, false]]);
}

/// [AC-310]
#[tokio::test]
async fn a_step_can_have_tools_of_its_own() {
    let model = ScriptedModel::new()
        .reply(calls(&[("1", "a", "{}"), ("2", "b", "{}")]))
        .reply(calls(&[("3", "a", "{}"), ("4", "b", "{}")]))
        .reply(Script::text_reply("done"));
    let other = ToolSet::new().with(named("b")).unwrap();
    let steps = Steps(Mutex::new(vec![overrides(|step| step.tools = Some(other))]));
    let agent = loop_of(&model, ToolSet::new().with(named("a")).unwrap());
    let (_, end) = run(&agent, RunOptions::default().with_control(Arc::new(steps))).await;
    let ran: Vec<_> =
        end.steps.iter().flat_map(|step| &step.tools).map(|tool| tool.status == ToolStatus::Ok).collect();
    assert_eq!(ran, [false, true, true, false]);
    assert_eq!(model.requests()[0].tools[0].name(), "b");
    assert_eq!(model.requests()[1].tools[0].name(), "a");
}

/// [AC-327]
#[tokio::test]
async fn a_history_with_gaps_is_closed_before_a_model_sees_it() {
    let asks = |ids: &[&str]| {
        let mut message = ai_provider::AssistantMessage::default();
        message.parts.extend(ids.iter().map(|id| AssistantPart::ToolCall(ToolCall::new(*id, "f", "{}"))));
        Message::Assistant(message)
    };
    let result = |id: &str| ToolResult::new(id, "f", ToolOutput::Text(format!("of {id}")));
    let history = vec![
        Message::user("one"),
        asks(&["a", "b"]),
        Message::tool([result("a")]),
        Message::user("two"),
        asks(&["c"]),
        Message::user("three"),
        asks(&["d", "e"]),
        Message::tool([result("e"), result("nobody")]),
        Message::tool([result("d")]),
        asks(&["g"]),
        Message::tool([result("g")]),
        Message::tool([result("stray")]),
        Message::user("go on"),
    ];
    let shared: Vec<_> = history.into_iter().map(Arc::new).collect();
    let model = ScriptedModel::new().reply(Script::text_reply("done"));
    let agent = loop_of(&model, ToolSet::new());
    let end = end_of(agent.start_shared(shared.clone(), RunOptions::default()).1).await;
    assert_eq!(end.outcome, Outcome::Finished);
    let sent = &model.requests()[0].messages;
    check_history(sent).unwrap();
    let text = serde_json::to_string(sent).unwrap();
    for id in ["a", "d", "e", "g"] {
        assert_eq!(text.matches(&format!("of {id}")).count(), 1, "{id}");
    }
    assert_eq!(text.matches("Not run to its end").count(), 2);
    assert!(!text.contains("stray") && !text.contains("nobody"));
    // What was in order is the caller's own message, not a copy.
    assert!(Arc::ptr_eq(&shared[0], &sent[0]) && Arc::ptr_eq(&shared[9], sent.iter().rev().nth(2).unwrap()));
    assert_eq!(end.new_messages.len(), 1);
}
