//! The bytes of a conversation stay where they are from step to step, and the history is valid at each.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;

use ai_provider::{
    AssistantMessage, AssistantPart, CallContext, FileData, FilePart, FunctionTool, JsonObject, Message,
    Origin, ProviderMetadata, ProviderOptions, ReasoningPart, Request, TargetId, TextPart, ToolCall,
    ToolContent, ToolDefinition, ToolOutput, ToolResult,
};
use ai_testkit::{MemoryReply, MemoryTransport, fold};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::support::{
    ENDPOINT, account, called, completed, created, done, encoded, events, kept, message, model,
};

/// What stands before the history, and the history without its last bracket.
fn split(body: &str) -> (&str, &str) {
    let at = body.find(r#""input":["#).unwrap();
    let (head, history) = body.split_at(at);
    (head, history.strip_suffix("]}").unwrap())
}

/// [OA-250]
#[tokio::test]
async fn a_step_begins_with_the_bytes_of_the_step_before() {
    for (name, created) in
        [("openai", created()), ("openai", kept()), ("xai", kept()), ("lmstudio", created())]
    {
        let thought = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "E", "summary": []});
        let mut first = vec![created.clone(), done(0, thought), done(1, message("msg_1", "Looking it up."))];
        first.extend(called(2, "fc_1", "call_1", "f", &[r#"{ "city" : "Zürich" }"#]));
        first.extend(called(3, "fc_2", "", "g", &[""]));
        first.push(completed());
        let last = |id: &str| events(&[created.clone(), done(0, message(id, "It rains.")), completed()]);
        let transport = MemoryTransport::new()
            .reply(MemoryReply::sse(events(&first)))
            .reply(MemoryReply::sse(last("msg_2")))
            .reply(MemoryReply::sse(last("msg_3")));
        let model = model(name, transport.clone());
        let tool = |name: &str| {
            let schema = json!({"type": "object", "properties": {"z": {}, "a": {}}});
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
        let referred = bodies[1].contains("item_reference");
        assert_eq!(referred, created.pointer("/response/store").is_some() && name != "lmstudio", "{name}");
        assert!(referred || bodies[1].contains(r#"{ \"city\" : \"Zürich\" }"#), "{}", bodies[1]);
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
    prop_oneof![Just(String::new()), "call_[0-3]", "[a-z]{70}"]
}

fn output() -> impl Strategy<Value = ToolOutput> {
    let image = FilePart::new("image/png", FileData::bytes(&b"\x89PNG"[..]));
    prop_oneof![
        text().prop_map(ToolOutput::Text),
        text().prop_map(|text| ToolOutput::Json(json!({ "t": text }))),
        Just(ToolOutput::Content(vec![ToolContent::File(image)])),
    ]
}

/// What a part may have of this API: nothing, something foreign, or something of its own.
fn metadata(kind: &'static str) -> impl Strategy<Value = Option<Box<ProviderMetadata>>> {
    let often = || prop::bool::weighted(0.8);
    let values = (prop::option::weighted(0.9, 1..4_u8), often(), any::<bool>(), often());
    values.prop_map(move |(id, stored, encrypted, ours)| {
        let id = id?;
        let mut values = JsonObject::new();
        values.insert("itemId".into(), format!("item_{id}").into());
        if stored {
            values.insert("stored".into(), true.into());
        }
        if encrypted {
            values.insert("encryptedContent".into(), "E".into());
        }
        if kind == "shell" {
            values.insert(
                "item".into(),
                json!({"type": "shell_call", "id": "i", "call_id": "call_0", "action": {}}),
            );
        }
        let model = if ours { "m" } else { "other" };
        let target = TargetId::new("openai", model, ENDPOINT);
        let all = values
            .into_iter()
            .fold(ProviderOptions::default(), |all, (name, value)| all.with("openai", name, value));
        Some(Box::new(ProviderMetadata::minted(Origin { target, account: Some(account()) }, all)))
    })
}

fn turn() -> impl Strategy<Value = Turn> {
    let call = |kind: &'static str| {
        (id(), "[a-z. ]{0,3}", prop_oneof![Just("{}".to_owned()), text()], metadata(kind)).prop_map(
            |(id, name, input, metadata)| {
                let mut call = ToolCall::new(id, name, input);
                call.metadata = metadata;
                AssistantPart::ToolCall(call)
            },
        )
    };
    let part = prop_oneof![
        (text(), metadata("text"))
            .prop_map(|(text, metadata)| AssistantPart::Text(TextPart { metadata, ..TextPart::new(text) })),
        (text(), metadata("reasoning")).prop_map(|(text, metadata)| {
            AssistantPart::Reasoning(ReasoningPart { metadata, ..ReasoningPart::new(text) })
        }),
        call("call"),
        call("shell"),
    ];
    let result = (id(), output()).prop_map(|(id, output)| ToolResult::new(id, "f", output));
    prop_oneof![
        1 => text().prop_map(Turn::System),
        2 => text().prop_map(Turn::User),
        4 => prop::collection::vec(part, 0..5).prop_map(Turn::Assistant),
        3 => prop::collection::vec(result, 0..4).prop_map(Turn::Tool),
    ]
}

fn turned(turn: &Turn) -> Message {
    match turn.clone() {
        Turn::System(text) => Message::system(text),
        Turn::User(text) => Message::user(text),
        Turn::Assistant(parts) => {
            Message::Assistant(AssistantMessage { parts, ..AssistantMessage::default() })
        }
        Turn::Tool(results) => Message::tool(results),
    }
}

/// The items are valid, whether the server keeps some or not.
fn check(items: &[Value], stores: bool) {
    let mut ids = HashSet::new();
    let mut waiting = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let kind = item["type"].as_str().unwrap_or("message");
        let follows = items.get(at + 1).map(|next| next["type"].as_str().unwrap_or("message"));
        match kind {
            "message" => {
                let blank = |text: &Value| text.as_str().is_some_and(|text| text.trim().is_empty());
                match &item["content"] {
                    Value::Array(parts) => {
                        assert!(
                            !parts.is_empty() && !parts.iter().any(|part| blank(&part["text"])),
                            "{item}"
                        );
                    }
                    text => assert!(!blank(text), "{item}"),
                }
            }
            "reasoning" => {
                assert!(item["summary"].is_array() && item["encrypted_content"].is_string(), "{item}");
                let follows = follows.unwrap();
                assert!(!follows.ends_with("_output"), "{item} before {follows}");
                assert_ne!(items[at + 1]["role"], "user");
            }
            "item_reference" => assert!(stores, "{item}"),
            "function_call" | "shell_call" => {
                let id = item["call_id"].as_str().unwrap();
                assert!(!id.is_empty() && id.len() <= 64 && ids.insert(id.to_owned()), "{id} of {item}");
                waiting.push((id.to_owned(), format!("{kind}_output")));
                if kind == "function_call" {
                    let arguments: Value = serde_json::from_str(item["arguments"].as_str().unwrap()).unwrap();
                    let name = item["name"].as_str().unwrap();
                    assert!(
                        arguments.is_object() && !name.is_empty() && !name.contains(['.', ' ']),
                        "{item}"
                    );
                }
            }
            "function_call_output" | "shell_call_output" => {
                let id = item["call_id"].as_str().unwrap();
                assert_ne!(item["output"], "");
                // A call that is referred to is not in sight.
                if let Some(nth) = waiting.iter().position(|(known, _)| known == id) {
                    assert_eq!(nth, 0, "out of order: {item} of {waiting:?}");
                    let (_, expected) = waiting.remove(0);
                    assert_eq!(kind, expected);
                } else {
                    assert!(stores, "{item} without a call");
                }
            }
            other => panic!("an item of type {other}"),
        }
    }
    assert_eq!(waiting, [], "calls without an output");
}

/// [OA-251]
#[test]
fn whatever_happened_to_a_history_it_is_sent_valid() {
    let (broken, referred, reasoned) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let cases = prop::collection::vec(turn(), 1..8);
    let config = Config { cases: 512, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&cases, |turns| {
            for stores in [true, false] {
                let begin = [Message::system("s"), Message::user("Hi")];
                let mut request = Request::new(begin.into_iter().chain(turns.iter().map(turned)));
                request.options = request.options.with("openai", "store", json!(stores));
                let (body, warnings) = encoded("openai", "m", &request).unwrap();
                broken.set(broken.get() + u32::from(!warnings.is_empty()));
                referred.set(referred.get() + u32::from(body.contains("item_reference")));
                reasoned.set(reasoned.get() + u32::from(body.contains("encrypted_content")));
                let body: Value = serde_json::from_str(&body).unwrap();
                check(body["input"].as_array().unwrap(), stores);
            }
            Ok(())
        })
        .unwrap();
    let counts = [broken.get(), referred.get(), reasoned.get()];
    assert!(broken.get() > 300 && referred.get() > 60 && reasoned.get() > 25, "{counts:?} of 1024");
}

/// [OA-250]
#[test]
fn a_longer_history_begins_with_the_bytes_of_a_shorter_one() {
    let (with_calls, with_references) = (Cell::new(0), Cell::new(0));
    let cases = (prop::collection::vec(turn(), 1..6), prop::collection::vec(turn(), 1..4));
    TestRunner::new(Config { failure_persistence: None, ..Config::default() })
        .run(&cases, |(begin, more)| {
            // A step ends where every call is answered: results never come later than that.
            let begin = [vec![Turn::User("Hi".into())], answered(&begin)].concat();
            let all = [begin.clone(), vec![Turn::User("next".into())], answered(&more)].concat();
            let bytes =
                |turns: &[Turn]| encoded("openai", "m", &Request::new(turns.iter().map(turned))).unwrap().0;
            let (short, long) = (bytes(&begin), bytes(&all));
            with_calls.set(with_calls.get() + u32::from(short.contains("function_call")));
            with_references.set(with_references.get() + u32::from(short.contains("item_reference")));
            let ((head, history), (next_head, next_history)) = (split(&short), split(&long));
            prop_assert_eq!(head, next_head);
            prop_assert!(next_history.starts_with(history), "{}\n{}", history, next_history);
            Ok(())
        })
        .unwrap();
    let counts = [with_calls.get(), with_references.get()];
    assert!(with_calls.get() > 50 && with_references.get() > 15, "{counts:?} of 256");
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
