//! The bytes of a conversation stay where they are from step to step, and the history is valid at each.

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

use crate::support::{encoded, end, gm, minted, model, warned};

/// What stands before the history, and the history without its last bracket.
fn split(body: &str) -> (&str, &str) {
    let at = body.find(r#""contents":["#).unwrap();
    let (head, history) = body.split_at(at);
    (head, history.strip_suffix("]}").unwrap())
}

/// [GG-111]
#[tokio::test]
async fn a_step_begins_with_the_bytes_of_the_step_before() {
    for name in ["gemini-3-pro-preview", "gemini-2.5-flash", "gemma-3-27b-it"] {
        let first = [
            gm(r#"[{"text":"Let me \"see\".","thought":true},{"text":"Looking it up."}]"#),
            gm(r#"[{"functionCall":{"name":"f","args":{ "city" : "Zürich" }},"thoughtSignature":"S"}]"#),
            end(r#"[{"functionCall":{"name":"g"}}]"#, "STOP"),
        ];
        let second = end(r#"[{"text":"It rains."}]"#, "STOP");
        let transport = MemoryTransport::new()
            .reply(MemoryReply::sse(first.concat()))
            .reply(MemoryReply::sse(second.clone()))
            .reply(MemoryReply::sse(second));
        let model = model(name, transport.clone());
        let tool = |name: &str| {
            let schema =
                json!({"type": "object", "properties": {"z": {"type": "string"}, "a": {"type": "string"}}});
            ToolDefinition::Function(FunctionTool::new(name, "d", schema))
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
        assert!(
            bodies[1].contains(r#""args":{ "city" : "Zürich" }},"thoughtSignature":"S""#),
            "{}",
            bodies[1]
        );
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
    prop_oneof![Just(String::new()), "call_[0-3]", "gemini_[0-3]", "[a-z]{45}"]
}

fn part() -> impl Strategy<Value = AssistantPart> {
    let signature = || prop_oneof![Just("gemini-3-pro-preview"), Just("other")];
    let call = (
        id(),
        "[a-z! ]{0,4}",
        prop_oneof![Just("{}"), Just(""), Just("[1]"), Just("{\"a\":1}")],
        prop::option::of(signature()),
    );
    prop_oneof![
        3 => (text(), prop::option::of(signature())).prop_map(|(text, signed)| {
            let metadata = signed.and_then(|by| minted(by, "thoughtSignature", json!("S")));
            AssistantPart::Text(TextPart { metadata, ..TextPart::new(text) })
        }),
        1 => (text(), signature()).prop_map(|(text, by)| {
            AssistantPart::Reasoning(ReasoningPart { metadata: minted(by, "thought", json!(true)), ..ReasoningPart::new(text) })
        }),
        3 => call.prop_map(|(id, name, input, signed)| {
            let mut call = ToolCall::new(id, name, input);
            call.metadata = signed.and_then(|by| minted(by, "thoughtSignature", json!("S")));
            AssistantPart::ToolCall(call)
        }),
    ]
}

fn output() -> impl Strategy<Value = ToolOutput> {
    let png = || FilePart::new("image/png", FileData::bytes(&b"\x89PNG"[..]));
    prop_oneof![
        text().prop_map(ToolOutput::Text),
        Just(ToolOutput::Json(json!({"a": 1}))),
        Just(ToolOutput::ErrorText("no".into())),
        Just(ToolOutput::ExecutionDenied { reason: None }),
        Just(ToolOutput::Content(vec![ToolContent::File(png())])),
    ]
}

fn turn() -> impl Strategy<Value = Turn> {
    let result = (id(), output()).prop_map(|(id, output)| ToolResult::new(id, "f", output));
    prop_oneof![
        1 => text().prop_map(Turn::System),
        3 => text().prop_map(Turn::User),
        4 => prop::collection::vec(part(), 0..4).prop_map(Turn::Assistant),
        2 => prop::collection::vec(result, 0..3).prop_map(Turn::Tool),
    ]
}

fn message(turn: &Turn) -> Message {
    match turn {
        Turn::System(text) => Message::system(text),
        Turn::User(text) => Message::user(text),
        Turn::Assistant(parts) => {
            Message::Assistant(AssistantMessage { parts: parts.clone(), ..AssistantMessage::default() })
        }
        Turn::Tool(results) => Message::tool(results.clone()),
    }
}

/// What the API demands of a history.
fn check(contents: &[Value], third: bool) {
    assert_eq!(contents[0]["role"], "user");
    let mut ids = HashSet::new();
    for (at, content) in contents.iter().enumerate() {
        let parts = content["parts"].as_array().unwrap();
        assert!(!parts.is_empty());
        let model = content["role"] == "model";
        assert!(!(model && at > 0 && contents[at - 1]["role"] == "model"), "two turns of the model");
        for part in parts {
            if let Some(text) = part.get("text") {
                let signed = part.get("thoughtSignature").is_some();
                assert!(signed || !text.as_str().unwrap().trim().is_empty(), "{part}");
            }
        }
        let calls: Vec<_> = parts.iter().filter_map(|part| Some((part.get("functionCall")?, part))).collect();
        assert!(calls.is_empty() || model);
        if let Some((_, first)) = calls.first() {
            assert!(!third || first.get("thoughtSignature").is_some(), "{first}");
        }
        let answers: Vec<_> = match contents.get(at + 1) {
            Some(next) if !calls.is_empty() => next["parts"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(|part| part.get("functionResponse"))
                .collect(),
            _ => Vec::new(),
        };
        assert_eq!(answers.len(), calls.len());
        for ((call, _), answer) in calls.iter().zip(&answers) {
            assert!(call["args"].is_object());
            assert_eq!((&call["name"], call.get("id")), (&answer["name"], answer.get("id")));
            if let Some(id) = call.get("id") {
                assert!(ids.insert(id.as_str().unwrap().to_owned()), "{id} comes twice");
            }
            assert_ne!(answer["response"]["content"].as_str().map(str::trim), Some(""));
        }
    }
}

/// [GG-101] [GG-102] [GG-103]
#[test]
fn whatever_a_history_holds_it_goes_out_valid() {
    let mended = Cell::new(0);
    let cases = prop::collection::vec(turn(), 1..8);
    let config = Config { cases: 512, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&cases, |turns| {
            let begin = [Message::system("s"), Message::user("Hi")];
            let request = Request::new(begin.into_iter().chain(turns.iter().map(message)));
            for (model, third) in
                [("gemini-3-pro-preview", true), ("gemini-2.5-flash", false), ("gemma-3-4b-it", false)]
            {
                let (body, warnings) = warned(model, &request);
                mended.set(mended.get() + u32::from(!warnings.is_empty()));
                check(body["contents"].as_array().unwrap(), third);
            }
            Ok(())
        })
        .unwrap();
    assert!(mended.get() > 700, "{mended:?} of 1536 had to be mended");
}

/// [GG-111]
#[test]
fn a_longer_history_begins_with_the_bytes_of_a_shorter_one() {
    let with_calls = Cell::new(0);
    let cases = (prop::collection::vec(turn(), 1..6), prop::collection::vec(turn(), 1..4));
    TestRunner::new(Config { failure_persistence: None, ..Config::default() })
        .run(&cases, |(begin, more)| {
            // A step ends where every call is answered: results never come later than that.
            let begin = [vec![Turn::User("Hi".into())], answered(&begin)].concat();
            let all = [begin.clone(), vec![Turn::User("next".into())], answered(&more)].concat();
            for model in ["gemini-3-pro-preview", "gemma-3-4b-it"] {
                let bytes =
                    |turns: &[Turn]| encoded(model, &Request::new(turns.iter().map(message))).unwrap().0;
                let (short, long) = (bytes(&begin), bytes(&all));
                with_calls.set(with_calls.get() + u32::from(short.contains("functionCall")));
                let ((head, history), (next_head, next_history)) = (split(&short), split(&long));
                prop_assert_eq!(head, next_head);
                prop_assert!(next_history.starts_with(history), "{}\n{}", history, next_history);
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
            AssistantPart::ToolCall(call) => {
                Some(ToolResult::new(call.id.clone(), "f", ToolOutput::Text("1".into())))
            }
            _ => None,
        });
        out.push(Turn::Tool(calls.collect()));
    }
    out
}
