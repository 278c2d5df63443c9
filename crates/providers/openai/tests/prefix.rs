//! The bytes of a conversation stay where they are from step to step, and the history is valid at each.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "tests fail by panicking"
)]

mod support;

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;

use ai_provider::{
    AssistantMessage, AssistantPart, CallContext, FileData, FilePart, FunctionTool, Message, ReasoningPart,
    Request, TextPart, ToolCall, ToolContent, ToolDefinition, ToolOutput, ToolResult,
};
use ai_testkit::{MemoryReply, MemoryTransport, fold};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use support::{DONE, ch, dialect, encoded, fin, model, tc};

/// What stands before the history, and the history without its last bracket.
fn split(body: &str) -> (&str, &str) {
    let at = body.find(r#""messages":["#).unwrap();
    let (head, history) = body.split_at(at);
    (head, history.strip_suffix("]}").unwrap())
}

/// [OA-73]
#[tokio::test]
async fn a_step_begins_with_the_bytes_of_the_step_before() {
    for name in ["openai", "deepseek", "groq", "generic", "moonshot"] {
        let first = [
            ch(r#"{"reasoning_content":"Let me \"see\"."}"#),
            ch(r#"{"content":"Looking it up."}"#),
            tc(
                r#"{"index":0,"id":"call_1","function":{"name":"f","arguments":"{ \"city\" : \"Zürich\" }"}}"#,
            ),
            tc(r#"{"index":1,"function":{"name":"g","arguments":""}}"#),
            fin(r#""tool_calls""#),
            DONE.into(),
        ];
        let second = [ch(r#"{"content":"It rains."}"#), fin(r#""stop""#), DONE.into()];
        let third = second.concat();
        let transport = MemoryTransport::new()
            .reply(MemoryReply::sse(first.concat()))
            .reply(MemoryReply::sse(second.concat()))
            .reply(MemoryReply::sse(third));
        let model = model(dialect(name), transport.clone());
        let tool = |name: &str| {
            ToolDefinition::Function(FunctionTool::new(
                name,
                "d",
                json!({"type": "object", "properties": {"z": {}, "a": {}}}),
            ))
        };
        let mut request = Request::new([Message::system("Be brief."), Message::user("Weather?")])
            .with_tools([tool("f"), tool("g")])
            .with_extra("zeta", json!(1));
        request.settings.temperature = Some(0.1);
        for next in ["And tomorrow?", "Thanks", ""] {
            let (answer, error) = fold(model.stream(request.clone(), CallContext::new())).await;
            assert!(error.is_none(), "{error:?}");
            let results: Vec<_> = answer
                .message
                .tool_calls()
                .map(|call| ToolResult::new(call.id.clone(), &*call.name, ToolOutput::Json(json!({"t": 1}))))
                .collect();
            request.messages.push(Arc::new(Message::Assistant(answer.message)));
            match results.is_empty() {
                false => request.messages.push(Arc::new(Message::tool(results))),
                true => request.messages.push(Arc::new(Message::user(next))),
            }
        }
        let calls = transport.calls();
        let bodies: Vec<_> = calls.iter().map(|call| std::str::from_utf8(&call.body).unwrap()).collect();
        assert_eq!(bodies.len(), 3);
        for pair in bodies.windows(2) {
            let ((head, history), (next_head, next_history)) = (split(pair[0]), split(pair[1]));
            assert_eq!(head, next_head, "{name}");
            assert!(next_history.starts_with(&format!("{history},")), "{name}:\n{history}\n{next_history}");
        }
        let sent: Value = serde_json::from_str(bodies[1]).unwrap();
        let arguments = &sent["messages"][2]["tool_calls"][0]["function"]["arguments"];
        assert_eq!(arguments, r#"{ "city" : "Zürich" }"#);
        let echoed = sent["messages"][2].get("reasoning_content").is_some();
        assert_eq!(echoed, dialect(name).replay_reasoning, "{name}");
    }
}

#[derive(Clone, Debug)]
enum Turn {
    System(String),
    User(String),
    Assistant(Vec<AssistantPart>),
    Tool(Vec<ToolResult>),
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just(" ".into()), "[a-z \"\\\\é]{1,6}"]
}

fn id() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "call_[0-3]", "[a-z]{45}"]
}

fn output() -> impl Strategy<Value = ToolOutput> {
    prop_oneof![
        text().prop_map(ToolOutput::Text),
        text().prop_map(|text| ToolOutput::Json(json!({ "t": text }))),
        Just(ToolOutput::Content(vec![ToolContent::File(FilePart::new(
            "image/png",
            FileData::bytes(&b"\x89PNG"[..])
        ))])),
    ]
}

fn turn() -> impl Strategy<Value = Turn> {
    let part = prop_oneof![
        text().prop_map(|text| AssistantPart::Text(TextPart::new(text))),
        text().prop_map(|text| AssistantPart::Reasoning(ReasoningPart::new(text))),
        (id(), "[a-z. ]{0,3}", prop_oneof![Just("{}".to_owned()), text()])
            .prop_map(|(id, name, input)| AssistantPart::ToolCall(ToolCall::new(id, name, input))),
    ];
    let result = (id(), output()).prop_map(|(id, output)| ToolResult::new(id, "f", output));
    prop_oneof![
        1 => text().prop_map(Turn::System),
        2 => text().prop_map(Turn::User),
        4 => prop::collection::vec(part, 0..4).prop_map(Turn::Assistant),
        3 => prop::collection::vec(result, 0..4).prop_map(Turn::Tool),
    ]
}

fn message(turn: &Turn) -> Message {
    match turn.clone() {
        Turn::System(text) => Message::system(text),
        Turn::User(text) => Message::user(text),
        Turn::Assistant(parts) => {
            Message::Assistant(AssistantMessage { parts, ..AssistantMessage::default() })
        }
        Turn::Tool(results) => Message::tool(results),
    }
}

/// Each call is answered right behind its message, in order; ids are unique; no text is blank.
fn check(messages: &[Value]) {
    let mut ids = HashSet::new();
    let mut at = 0;
    while let Some(message) = messages.get(at) {
        at += 1;
        match &message["content"] {
            Value::String(text) => assert!(!text.trim().is_empty(), "{message}"),
            Value::Array(parts) => assert!(!parts.is_empty(), "{message}"),
            other => assert!(other.is_null() && message["tool_calls"].is_array(), "{message}"),
        }
        assert_ne!(message["role"], "tool", "a result that no call asks for: {message}");
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let id = call["id"].as_str().unwrap();
            assert!(!id.is_empty() && ids.insert(id.to_owned()), "{id} of {message}");
            let arguments: Value =
                serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
            assert!(arguments.is_object(), "{call}");
            let name = call["function"]["name"].as_str().unwrap();
            assert!(!name.is_empty() && !name.contains(['.', ' ']), "{call}");
            let answer = &messages[at];
            assert_eq!((&answer["role"], &answer["tool_call_id"]), (&json!("tool"), &call["id"]));
            at += 1;
        }
    }
}

/// [OA-74]
#[test]
fn whatever_happened_to_a_history_it_is_sent_valid() {
    let dialects = ["openai", "generic", "deepseek", "mistral", "perplexity"].map(dialect);
    let broken = Cell::new(0);
    let cases = prop::collection::vec(turn(), 1..8);
    let config = Config { cases: 512, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&cases, |turns| {
            let begin = [Message::system("s"), Message::user("Hi")];
            let request = Request::new(begin.into_iter().chain(turns.iter().map(message)));
            for dialect in &dialects {
                let (body, warnings) = encoded(dialect, "m", &request).unwrap();
                broken.set(broken.get() + u32::from(!warnings.is_empty()));
                let body: Value = serde_json::from_str(&body).unwrap();
                check(body["messages"].as_array().unwrap());
            }
            Ok(())
        })
        .unwrap();
    assert!(broken.get() > 1_000, "{broken:?} of 2560 had to be mended");
}

/// [OA-73]
#[test]
fn a_longer_history_begins_with_the_bytes_of_a_shorter_one() {
    let openai = dialect("openai");
    let with_calls = Cell::new(0);
    let cases = (prop::collection::vec(turn(), 1..6), prop::collection::vec(turn(), 1..4));
    TestRunner::new(Config { failure_persistence: None, ..Config::default() })
        .run(&cases, |(begin, more)| {
            // A step ends where every call is answered: results never come later than that.
            let begin = [vec![Turn::User("Hi".into())], answered(&begin)].concat();
            let all = [begin.clone(), vec![Turn::User("next".into())], answered(&more)].concat();
            let bytes =
                |turns: &[Turn]| encoded(&openai, "m", &Request::new(turns.iter().map(message))).unwrap().0;
            let (short, long) = (bytes(&begin), bytes(&all));
            with_calls.set(with_calls.get() + u32::from(short.contains("tool_calls")));
            let ((head, history), (next_head, next_history)) = (split(&short), split(&long));
            prop_assert_eq!(head, next_head);
            prop_assert!(next_history.starts_with(history), "{}\n{}", history, next_history);
            Ok(())
        })
        .unwrap();
    assert!(with_calls.get() > 50, "{with_calls:?} of 256 hold calls");
}

/// The turns with a result for each call right behind it, and no others.
fn answered(turns: &[Turn]) -> Vec<Turn> {
    let mut out = Vec::new();
    for turn in turns.iter().filter(|turn| !matches!(turn, Turn::Tool(_))) {
        out.push(turn.clone());
        let Turn::Assistant(parts) = turn else { continue };
        let calls = parts.iter().filter_map(|part| match part {
            AssistantPart::ToolCall(call) => {
                Some(ToolResult::new(call.id.clone(), "f", ToolOutput::Text("1".into())))
            }
            _ => None,
        });
        out.push(Turn::Tool(calls.collect()));
    }
    out
}
