//! What stays the same from step to step, and what every history becomes.

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

use crate::support::{block, delta, encoded, end, model, start, stop, text_block, tool_block};

/// What stands before the history, and the history without its last bracket.
fn split(body: &str) -> (&str, &str) {
    let at = body.find(r#""messages":["#).unwrap();
    let (head, history) = body.split_at(at);
    (head, history.strip_suffix("]}").unwrap())
}

/// [AN-89]
#[tokio::test]
async fn a_step_begins_with_the_bytes_of_the_step_before() {
    for id in ["claude-sonnet-4-5", "claude-opus-4-8", "claude-3-haiku-20240307", "kimi-k2"] {
        let first = [
            start(),
            block(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
            delta(0, r#"{"type":"thinking_delta","thinking":"Let me \"see\"."}"#),
            delta(0, r#"{"type":"signature_delta","signature":"SIG"}"#),
            stop(0),
            text_block(1, "Looking it up. "),
            tool_block(2, "toolu_1", "f", &[r#"{ "city" : "#, r#""Zürich" }"#]),
            tool_block(3, "toolu_2", "g", &[]),
            end("tool_use"),
        ];
        let second = [start(), text_block(0, "It rains."), end("end_turn")].concat();
        let transport =
            MemoryTransport::new().reply(MemoryReply::sse(first.concat())).repeat(MemoryReply::sse(second));
        let model = model(id, transport.clone());
        let tool = |name: &str| {
            let schema = json!({"type": "object", "properties": {"z": {}, "a": {}}});
            ToolDefinition::Function(FunctionTool::new(name, "d", schema))
        };
        let mut request = Request::new([Message::system("Be brief."), Message::user("Weather?")])
            .with_tools([tool("f"), tool("g")])
            .with_extra("zeta", json!(1));
        request.settings.max_output_tokens = Some(100);
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
            assert_eq!(head, next_head, "{id}");
            assert!(next_history.starts_with(&format!("{history},")), "{id}:\n{history}\n{next_history}");
        }
        assert!(bodies[1].contains(r#""input":{ "city" : "Zürich" }"#), "{}", bodies[1]);
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
    prop_oneof![Just(String::new()), "call_[0-3]", "[a-z.]{1,3}"]
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
    let provided = |id: String| {
        let mut call = ToolCall::new(id, "web_search", "{}");
        call.provider_executed = true;
        AssistantPart::ToolCall(call)
    };
    let part = prop_oneof![
        4 => text().prop_map(|text| AssistantPart::Text(TextPart::new(text))),
        2 => text().prop_map(|text| AssistantPart::Reasoning(ReasoningPart::new(text))),
        6 => (id(), "[a-z. ]{0,3}", prop_oneof![Just("{}".to_owned()), text()])
            .prop_map(|(id, name, input)| AssistantPart::ToolCall(ToolCall::new(id, name, input))),
        1 => id().prop_map(provided),
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

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

fn check(messages: &[Value]) {
    assert_eq!(messages[0]["role"], "user");
    let mut ids = HashSet::new();
    let mut asked: Vec<String> = Vec::new();
    let mut before = "";
    for message in messages {
        let role = message["role"].as_str().unwrap();
        assert_ne!(role, before, "{message}");
        assert!(role != "system" || before == "user", "{message}");
        before = role;
        let content = message["content"].as_array().unwrap();
        assert!(!content.is_empty(), "{message}");
        let mut answered = Vec::new();
        let mut calls = Vec::new();
        for (at, block) in content.iter().enumerate() {
            match block["type"].as_str().unwrap() {
                "text" => assert!(!block["text"].as_str().unwrap().trim().is_empty(), "{message}"),
                "tool_use" => {
                    let id = block["id"].as_str().unwrap();
                    assert!(is_word(id) && ids.insert(id.to_owned()), "{id} of {message}");
                    assert!(
                        is_word(block["name"].as_str().unwrap()) && block["input"].is_object(),
                        "{block}"
                    );
                    calls.push(id.to_owned());
                }
                "tool_result" => {
                    assert_eq!(answered.len(), at, "a result behind something else: {message}");
                    answered.push(block["tool_use_id"].as_str().unwrap().to_owned());
                    let content = &block["content"];
                    assert!(content.is_array() || !content.as_str().unwrap().trim().is_empty(), "{block}");
                }
                other => panic!("{other} of {message}"),
            }
        }
        assert_eq!(answered, asked, "{message}");
        asked = calls;
    }
    assert!(asked.is_empty());
}

/// [AN-90]
#[test]
fn whatever_happened_to_a_history_it_is_sent_valid() {
    let (broken, called) = (Cell::new(0), Cell::new(0));
    let cases = prop::collection::vec(turn(), 1..8);
    let config = Config { cases: 512, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&cases, |turns| {
            for begin in [vec![Message::system("s"), Message::user("Hi")], vec![]] {
                let request = Request::new(begin.into_iter().chain(turns.iter().map(message)));
                for id in ["claude-sonnet-4-5", "claude-opus-4-8"] {
                    let Ok((call, warnings)) = encoded(id, &request) else { continue };
                    broken.set(broken.get() + u32::from(!warnings.is_empty()));
                    let body: Value = serde_json::from_slice(&call.body).unwrap();
                    called.set(called.get() + u32::from(body.to_string().contains("tool_result")));
                    check(body["messages"].as_array().unwrap());
                }
            }
            Ok(())
        })
        .unwrap();
    let counts = [broken.get(), called.get()];
    assert!(broken.get() > 800 && called.get() > 400, "{counts:?} of 2048 had to be mended, hold calls");
}

/// [AN-89]
#[test]
fn a_longer_history_begins_with_the_bytes_of_a_shorter_one() {
    let with_calls = Cell::new(0);
    let cases = (prop::collection::vec(turn(), 1..6), prop::collection::vec(turn(), 1..4));
    TestRunner::new(Config { failure_persistence: None, ..Config::default() })
        .run(&cases, |(begin, more)| {
            // A step ends where every call is answered and a user has spoken, and the next begins with the model.
            let hi = || Turn::User("Hi".into());
            let said = Turn::Assistant(vec![AssistantPart::Text(TextPart::new("said"))]);
            let begin = [vec![hi()], answered(&begin), vec![hi()]].concat();
            let all = [begin.clone(), vec![said], answered(&more), vec![hi()]].concat();
            for id in ["claude-sonnet-4-5", "claude-opus-4-8"] {
                let bytes = |turns: &[Turn]| {
                    let (call, _) = encoded(id, &Request::new(turns.iter().map(message))).unwrap();
                    String::from_utf8(call.body.to_vec()).unwrap()
                };
                let (short, long) = (bytes(&begin), bytes(&all));
                with_calls.set(with_calls.get() + u32::from(short.contains("tool_use")));
                let ((head, history), (next_head, next_history)) = (split(&short), split(&long));
                prop_assert_eq!(head, next_head);
                prop_assert!(
                    next_history.starts_with(&format!("{history},")),
                    "{}\n{}",
                    history,
                    next_history
                );
            }
            Ok(())
        })
        .unwrap();
    assert!(with_calls.get() > 100, "{with_calls:?} of 512 hold calls");
}

/// The turns with a result for each call right behind it, and no others.
fn answered(turns: &[Turn]) -> Vec<Turn> {
    let mut out = Vec::new();
    for turn in turns.iter().filter(|turn| !matches!(turn, Turn::Tool(_))) {
        out.push(turn.clone());
        let Turn::Assistant(parts) = turn else { continue };
        let calls = parts.iter().filter_map(|part| match part {
            AssistantPart::ToolCall(call) if !call.provider_executed => {
                Some(ToolResult::new(call.id.clone(), "f", ToolOutput::Text("1".into())))
            }
            _ => None,
        });
        out.push(Turn::Tool(calls.collect()));
    }
    out
}
