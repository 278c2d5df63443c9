//! Which calls are run at all: checks of their input, and repair.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ai_core::run::{Outcome, ToolStatus};
use ai_core::{InputSchema, InvalidCall, RunOptions, ToolEvent, ToolSet, tool_json};
use ai_core::{LoopEvent, ToolError};
use ai_provider::{CancellationToken, Message, ToolCall};
use ai_testkit::{Script, ScriptedModel};
use futures_util::StreamExt;
use serde_json::{Value, json};

use crate::support::{calls, check_history, echo, loop_of, results, run};

fn person() -> Value {
    json!({
        "type": "object",
        "required": ["name", "tags"],
        "properties": {
            "name": {"type": "string"},
            "age": {"type": ["integer", "null"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "home": {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}},
            "any": {},
            "odd": {"type": "no-type"},
        },
    })
}

/// [AC-301]
#[test]
fn types_and_required_fields_are_checked_at_any_depth() {
    let schema = InputSchema::new(person());
    for good in [
        json!({"name": "a", "tags": []}),
        json!({"name": "a", "tags": ["x"], "age": null, "home": {"city": "c", "more": 1}, "any": [1]}),
        json!({"name": "a", "tags": [], "age": 3.0}),
        json!({"name": "a", "tags": [], "age": 18446744073709551615u64, "unknown": {}}),
    ] {
        assert_eq!(schema.check(&good), Ok(()), "{good}");
    }
    for (bad, named) in [
        (json!({"tags": []}), &["`name`"][..]),
        (json!({}), &["`name`", "`tags`"]),
        (json!({"name": null, "tags": []}), &["name", "string"]),
        (json!({"name": "a", "tags": ["x", 5]}), &["tags", "1", "string"]),
        (json!({"name": "a", "tags": {}}), &["tags", "array"]),
        (json!({"name": "a", "tags": [], "age": 1.5}), &["age", "integer"]),
        (json!({"name": "a", "tags": [], "home": {}}), &["home", "city"]),
        (json!([]), &["object"]),
    ] {
        let problem = schema.check(&bad).unwrap_err();
        assert!(named.iter().all(|part| problem.contains(part.trim_matches('`'))), "{bad}: {problem}");
    }
    let many = json!({"name": "a", "tags": (0..1_000).collect::<Vec<_>>()});
    assert_eq!(schema.check(&many).unwrap_err().matches("; ").count(), 4, "five mistakes are enough");
    assert!(
        InputSchema::new(json!({"properties": {"odd": {"type": "no-type"}}}))
            .check(&json!({"odd": 1}))
            .is_ok()
    );
}

/// [AC-301]
#[test]
fn a_hostile_schema_or_input_costs_no_stack() {
    let deep = |levels: usize| {
        (0..levels).fold(json!({"type": "string"}), |inner, _| json!({"properties": {"a": inner}}))
    };
    let value = |levels: usize| (0..levels).fold(json!(5), |inner, _| json!({"a": inner}));
    assert!(InputSchema::new(deep(10)).check(&value(10)).is_err());
    let beyond = InputSchema::new(deep(100)).check(&value(100));
    // Without the feature nothing is refused beyond 32 levels.
    assert_eq!(beyond.is_err(), cfg!(feature = "schema-validation"));
}

/// [AC-302]
#[cfg(feature = "schema-validation")]
#[test]
fn with_the_feature_all_of_json_schema_holds() {
    let schema = InputSchema::new(json!({
        "type": "object",
        "properties": {"kind": {"enum": ["a", "b"]}, "count": {"type": "integer", "minimum": 1}},
        "additionalProperties": false,
    }));
    assert_eq!(schema.check(&json!({"kind": "a", "count": 1})), Ok(()));
    for (bad, place) in
        [(json!({"kind": "c"}), "`kind`"), (json!({"count": 0}), "`count`"), (json!({"more": 1}), "more")]
    {
        let problem = schema.check(&bad).unwrap_err();
        assert!(problem.contains(place), "{problem}");
    }
    // What cannot be compiled, or lies elsewhere, is checked as without the feature.
    for broken in
        [json!({"type": "object", "required": 5}), json!({"$ref": "https://example.com/schema.json"})]
    {
        assert_eq!(InputSchema::new(broken).check(&json!({"x": 1})), Ok(()));
    }
}

/// [AC-300]
#[tokio::test]
async fn what_a_tool_does_not_take_is_known_before_anything_runs() {
    let ran = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ran);
    let tool = tool_json("person", "", person(), move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
        async { Ok::<_, ToolError>("ok") }
    });
    let model = ScriptedModel::new()
        .reply(calls(&[
            ("1", "person", r#"{"name":"a"}"#),
            ("2", "person", r#"{"name":"a","tags":["x"]}"#),
            ("3", "echo", r#"{"text":5}"#),
        ]))
        .reply(Script::text_reply("done"));
    let tools = ToolSet::new().with(tool).unwrap().with(echo()).unwrap();
    let (events, end) = run(&loop_of(&model, tools), RunOptions::default()).await;
    let said = results(&end);
    let statuses: Vec<_> = end.steps[0].tools.iter().map(|tool| tool.status.clone()).collect();
    assert_eq!(statuses, [ToolStatus::InvalidInput, ToolStatus::Ok, ToolStatus::InvalidInput]);
    assert!(said[0].1.contains("tags"), "{said:?}");
    assert!(said[2].1.contains("`text`"), "{said:?}");
    assert_eq!(ran.load(Ordering::SeqCst), 1);
    let started: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            LoopEvent::Tool(ToolEvent::Started(call)) => Some(call.id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(started, ["2"]);
    check_history(&model.requests()[1].messages).unwrap();
}

fn broken() -> ScriptedModel {
    ScriptedModel::new()
        .reply(calls(&[
            ("1", "ECHO", r#"{"text":"a"}"#),
            ("2", "echo", r#"{"txt":"b"}"#),
            ("3", "echo", r#"{"text":"c"}"#),
            ("4", "echo", "{\"te"),
        ]))
        .reply(Script::text_reply("done"))
}

/// [AC-303]
#[tokio::test]
async fn a_repaired_call_runs_in_the_place_of_the_one_the_model_wrote() {
    let model = broken();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let agent = loop_of(&model, ToolSet::new().with(echo()).unwrap()).with_repair_tool_call(
        move |invalid: InvalidCall| {
            let mut call = invalid.call.clone();
            call.id = "other".into();
            call.name = call.name.to_lowercase();
            call.input = match call.id.as_str() {
                _ if call.input.contains("txt") => call.input.replace("txt", "text"),
                _ if call.input == "{\"te" => r#"{"text":"d"}"#.to_owned(),
                _ => call.input,
            };
            log.lock().unwrap().push(invalid);
            async { Some(call) }
        },
    );
    let (_, end) = run(&agent, RunOptions::default()).await;
    assert_eq!(end.outcome, Outcome::Finished);
    let said: Vec<_> = results(&end).into_iter().map(|(id, output)| format!("{id} {output}")).collect();
    let expected = ["1", "2", "3", "4"].into_iter().zip(["a", "b", "c", "d"]);
    assert_eq!(
        said,
        expected.map(|(id, text)| format!(r#"{id} {{"type":"text","value":"{text}"}}"#)).collect::<Vec<_>>()
    );
    let Message::Assistant(message) = &*end.new_messages[0] else { panic!("no answer") };
    let written: Vec<_> = message
        .tool_calls()
        .map(|call| (call.id.as_str(), call.name.as_str(), call.input.as_str()))
        .collect();
    assert_eq!(written[0], ("1", "echo", r#"{"text":"a"}"#));
    assert_eq!(written[3], ("4", "echo", r#"{"text":"d"}"#));
    assert_eq!(end.steps[0].message, *message);
    check_history(&model.requests()[1].messages).unwrap();

    let seen = seen.lock().unwrap();
    assert_eq!(seen.iter().map(|invalid| invalid.call.id.as_str()).collect::<Vec<_>>(), ["1", "2", "4"]);
    assert!(seen[0].tool.is_none() && seen[0].problem.contains("no tool `ECHO`"));
    assert!(seen[1].tool.is_some() && seen[1].problem.contains("text"), "{}", seen[1].problem);
    assert!(seen.iter().all(|invalid| invalid.active_tools == ["echo"] && invalid.messages.len() == 1));
}

/// [AC-304]
#[tokio::test]
async fn a_repair_that_helps_nobody_leaves_the_error() {
    let model = broken();
    let agent = loop_of(&model, ToolSet::new().with(echo()).unwrap()).with_repair_tool_call(
        |invalid: InvalidCall| {
            let id = invalid.call.id.to_string();
            assert_ne!(id, "1", "a panic before there is a future");
            async move {
                match id.as_str() {
                    "2" => Some(ToolCall::new("2", "echo", r#"{"text":7}"#)),
                    _ => None,
                }
            }
        },
    );
    let (_, end) = run(&agent, RunOptions::default()).await;
    assert_eq!(end.outcome, Outcome::Finished);
    let statuses: Vec<_> = end.steps[0].tools.iter().map(|tool| tool.status.clone()).collect();
    let invalid = ToolStatus::InvalidInput;
    assert_eq!(statuses, [ToolStatus::Unknown, invalid.clone(), ToolStatus::Ok, invalid]);
    let Message::Assistant(message) = &*end.new_messages[0] else { panic!("no answer") };
    assert_eq!(message.tool_calls().next().unwrap().name, "ECHO");
    check_history(&model.requests()[1].messages).unwrap();
}

/// [AC-304]
#[tokio::test]
async fn a_repair_that_hangs_does_not_hold_a_cancel() {
    let model = broken();
    let cancel = CancellationToken::new();
    let agent = loop_of(&model, ToolSet::new().with(echo()).unwrap()).with_repair_tool_call({
        let cancel = cancel.clone();
        move |_| {
            cancel.cancel();
            std::future::pending()
        }
    });
    let (_handle, stream) =
        agent.start([Message::user("go")], RunOptions::default().with_cancel(cancel.clone()));
    let events: Vec<_> = stream.collect().await;
    let Some(LoopEvent::End(end)) = events.last() else { panic!("no end") };
    assert!(matches!(end.outcome, Outcome::Cancelled { .. }));
    assert_eq!(end.steps[0].tools.len(), 4);
}

/// [AC-315]
#[tokio::test]
async fn what_a_model_made_up_is_not_repeated_at_length() {
    let name = "x".repeat(1 << 20);
    let tools = (0..80).fold(ToolSet::new(), |set, at| {
        set.with(tool_json(format!("t{at}"), "", json!({"type": "object"}), |_, _| async {
            Ok::<_, ToolError>("")
        }))
        .unwrap()
    });
    let long = format!(r#"{{"text":{}}}"#, "[".repeat(50) + &"]".repeat(50));
    let model = ScriptedModel::new()
        .reply(calls(&[("1", &name, "{}"), ("2", "echo", &long), ("3", "echo", &format!("\"{name}\""))]))
        .reply(Script::text_reply("done"));
    let (_, end) = run(&loop_of(&model, tools.with(echo()).unwrap()), RunOptions::default()).await;
    let said = results(&end);
    assert!(said[0].1.contains("t49 and 31 more"), "{}", &said[0].1[..200]);
    assert!(
        said.iter().all(|(_, text)| text.len() < 2_000),
        "{:?}",
        said.iter().map(|s| s.1.len()).collect::<Vec<_>>()
    );
}
