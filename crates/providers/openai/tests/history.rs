//! How a history is written: in any state it may be in, valid for the server.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod support;

use ai_provider::{
    AssistantPart, CustomPart, ErrorClass, FileData, FilePart, Message, Origin, ProviderMetadata,
    ProviderOptions, ReasoningPart, Request, TargetId, TextPart, ToolCall, ToolContent, ToolMessage,
    ToolOutput, ToolPart, ToolResult, UserMessage, UserPart,
};
use serde_json::{Value, json};
use support::history::{assistant, call, healed, messages, result, said, wire_call, wire_result};
use support::{ENDPOINT, dialect, encoded};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// [OA-80]
#[test]
fn a_conversation_is_written_message_by_message() {
    let history = [
        Message::system("Be brief."),
        Message::user("Hi"),
        assistant([said("Let me "), call("a", "f", r#"{ "x" : 1 }"#), said("see."), call("b", "g", "{}")]),
        Message::tool([result("a", "1"), result("b", "2")]),
        Message::assistant("Done."),
        Message::user("Thanks"),
    ];
    assert_eq!(
        messages("openai", history),
        json!([
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Let me see.",
                "tool_calls": [wire_call("a", "f", r#"{ "x" : 1 }"#), wire_call("b", "g", "{}")]},
            wire_result("a", "1"),
            wire_result("b", "2"),
            {"role": "assistant", "content": "Done."},
            {"role": "user", "content": "Thanks"},
        ])
    );
}

/// [OA-81]
#[test]
fn an_input_goes_back_byte_for_byte_if_it_is_an_object() {
    for (input, sent) in [
        (r#"{"b":1, "a":  "é\u00e9" }"#, r#"{"b":1, "a":  "é\u00e9" }"#),
        ("", "{}"),
        ("null", "{}"),
        ("5", "{}"),
        (r#""x""#, "{}"),
        ("[1]", "{}"),
        (r#"{"x":"#, "{}"),
        (r#"{"x":1}}"#, "{}"),
    ] {
        let history =
            [Message::user("Hi"), assistant([call("a", "f", input)]), Message::tool([result("a", "1")])];
        assert_eq!(messages("openai", history)[1]["tool_calls"][0], wire_call("a", "f", sent), "{input}");
    }
}

/// [OA-82]
#[test]
fn empty_and_blank_text_is_never_sent() {
    let history = [
        Message::system(" "),
        Message::user("Hi"),
        Message::assistant(""),
        Message::assistant(" \n"),
        Message::user(" "),
        assistant([said(""), call("a", "f", "{}"), call("b", "f", "{}")]),
        Message::tool([result("a", ""), result("b", " \n")]),
        Message::user("Go on"),
    ];
    assert_eq!(
        messages("openai", history),
        json!([
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": null, "tool_calls": [wire_call("a", "f", "{}"), wire_call("b", "f", "{}")]},
            wire_result("a", "(no output)"),
            wire_result("b", "(no output)"),
            {"role": "user", "content": "Go on"},
        ])
    );
    let nothing = Request::new([Message::user(" "), Message::assistant("")]);
    assert_eq!(encoded(&dialect("openai"), "m", &nothing).unwrap_err().class(), ErrorClass::InvalidRequest);
}

/// [OA-83]
#[test]
fn a_call_without_a_result_gets_an_error_right_behind_it() {
    let history = [
        Message::user("Hi"),
        assistant([call("a", "f", "{}"), call("b", "g", "{}")]),
        Message::tool([result("a", "1")]),
        Message::user("Go on"),
        assistant([call("c", "f", "{}")]),
    ];
    let (sent, warnings) = healed("openai", history);
    let no_result = "Error: the call was interrupted and has no result.";
    assert_eq!(sent[2], wire_result("a", "1"));
    assert_eq!(sent[3], wire_result("b", no_result));
    assert_eq!(sent[4]["role"], "user");
    assert_eq!(sent[6], wire_result("c", no_result));
    assert_eq!(warnings, ["messages was adapted: 2 tool calls had no result: an error was filled in"]);
}

/// [OA-84]
#[test]
fn results_without_a_call_are_left_out_and_late_ones_moved_up() {
    let history = [
        Message::user("Hi"),
        Message::tool([result("x", "orphan")]),
        assistant([call("a", "f", "{}"), call("b", "f", "{}")]),
        Message::user("Wait"),
        Message::tool([result("b", "2"), result("a", "1"), result("a", "again")]),
    ];
    let (sent, warnings) = healed("openai", history);
    assert_eq!(sent[2], wire_result("a", "1"));
    assert_eq!(sent[3], wire_result("b", "2"));
    assert_eq!(sent[4], json!({"role": "user", "content": "Wait"}));
    assert_eq!(sent.as_array().unwrap().len(), 5);
    assert_eq!(warnings, ["messages was adapted: 2 tool results had no call: they were left out"]);
}

/// [OA-85]
#[test]
fn ids_are_unique_on_the_wire_and_of_the_servers_form() {
    let turn = |text: &str| {
        [
            assistant([call("call_0", "w", "{}"), call("", "w", "{}")]),
            Message::tool([result("call_0", text), result("", text)]),
        ]
    };
    let history = || [Message::user("Hi")].into_iter().chain(turn("one")).chain(turn("two"));
    for name in ["openai", "generic", "mistral"] {
        let (sent, warnings) = healed(name, history());
        let mut ids = Vec::new();
        for (at, text) in [(1, "one"), (4, "two")] {
            for nth in 0..2 {
                let id = &sent[at]["tool_calls"][nth]["id"];
                let result = &sent[at + 1 + nth];
                assert_eq!((&result["tool_call_id"], &result["content"]), (id, &json!(text)), "{name}");
                ids.push(id.as_str().unwrap().to_owned());
            }
        }
        let unique: std::collections::HashSet<_> = ids.iter().collect();
        assert_eq!(unique.len(), 4, "{name}: {ids:?}");
        let kept = name != "mistral";
        assert_eq!(ids[0] == "call_0", kept, "{name}");
        let nine = |id: &String| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        assert_eq!(ids.iter().all(nine), !kept, "{name}: {ids:?}");
        assert_eq!(warnings.len(), 1, "{warnings:?}");
    }
    let twins = [
        Message::user("Hi"),
        assistant([call("x", "f", "{}"), call("x", "g", "{}")]),
        Message::tool([result("x", "first"), result("x", "second")]),
    ];
    let (sent, _) = healed("openai", twins);
    assert_eq!((&sent[2]["content"], &sent[3]["content"]), (&json!("first"), &json!("second")));
    assert_eq!(sent[3]["tool_call_id"], sent[1]["tool_calls"][1]["id"]);

    let long = "x".repeat(41);
    let history =
        [Message::user("Hi"), assistant([call(&long, "f", "{}")]), Message::tool([result(&long, "1")])];
    let (sent, _) = healed("openai", history);
    let id = sent[1]["tool_calls"][0]["id"].as_str().unwrap();
    assert!(id.len() <= 40 && sent[2]["tool_call_id"] == id, "{id}");

    // The form is that of the server to the letter, and what fits it is left alone.
    let longest = "x".repeat(40);
    for (name, id, kept) in [
        ("openai", &*longest, true),
        ("mistral", "abcABC019", true),
        ("mistral", "abc_BC019", false),
        ("generic", "", false),
    ] {
        let history =
            [Message::user("Hi"), assistant([call(id, "f", "{}")]), Message::tool([result(id, "1")])];
        let (sent, _) = healed(name, history);
        let wire = sent[1]["tool_calls"][0]["id"].as_str().unwrap();
        assert_eq!((wire == id, sent[2]["tool_call_id"] == wire), (kept, true), "{name} {id}");
    }
}

/// [OA-86]
#[test]
fn a_tools_name_the_api_refuses_is_replaced() {
    for (name, sent) in
        [("", "unknown"), ("functions.read file", "functions_read_file"), ("é", "_"), ("ok-1_A", "ok-1_A")]
    {
        let history =
            [Message::user("Hi"), assistant([call("a", name, "{}")]), Message::tool([result("a", "1")])];
        assert_eq!(healed("openai", history).0[1]["tool_calls"][0]["function"]["name"], sent, "{name}");
    }
    let long = "n".repeat(100);
    let history =
        [Message::user("Hi"), assistant([call("a", &long, "{}")]), Message::tool([result("a", "1")])];
    let (sent, _) = healed("mistral", history);
    assert_eq!(sent[1]["tool_calls"][0]["function"]["name"].as_str().unwrap().len(), 64);
    assert_eq!(sent[2]["name"].as_str().unwrap().len(), 64);
}

/// [OA-87]
#[test]
fn each_kind_of_output_is_text() {
    let outputs = [
        (ToolOutput::Text("t".into()), "t"),
        (ToolOutput::Json(json!({"a": [1]})), r#"{"a":[1]}"#),
        (ToolOutput::Json(Value::Null), "null"),
        (ToolOutput::ErrorText("boom".into()), "boom"),
        (ToolOutput::ErrorJson(json!({"code": 1})), r#"{"code":1}"#),
        (ToolOutput::ExecutionDenied { reason: Some("not now".into()) }, "not now"),
        (ToolOutput::ExecutionDenied { reason: None }, "The user did not allow this call."),
        (
            ToolOutput::Content(vec![
                ToolContent::Text(TextPart::new("a")),
                ToolContent::Text(TextPart::new(" ")),
                ToolContent::File(FilePart::new("text/plain", FileData::Text { text: "b".into() })),
            ]),
            "a\nb",
        ),
    ];
    for (output, text) in outputs {
        let history = [
            Message::user("Hi"),
            assistant([call("a", "f", "{}")]),
            Message::tool([ToolResult::new("a", "f", output)]),
        ];
        assert_eq!(messages("openai", history)[2], wire_result("a", text));
    }
}

fn origin(provider: &str, endpoint: &str) -> Origin {
    Origin { target: TargetId::new(provider, "m", endpoint), account: None }
}

fn thought(text: &str, provider: &str, endpoint: &str, field: &str) -> AssistantPart {
    let values = ProviderOptions::default().with(provider, "reasoningField", json!(field));
    AssistantPart::Reasoning(ReasoningPart {
        metadata: Some(Box::new(ProviderMetadata::minted(origin(provider, endpoint), values))),
        ..ReasoningPart::new(text)
    })
}

/// [OA-91]
#[test]
fn reasoning_goes_back_only_where_the_dialect_says_so() {
    let history = |name: &str, field: &str| {
        [
            Message::user("Hi"),
            assistant([
                thought("h", name, ENDPOINT, field),
                thought("m", name, ENDPOINT, field),
                call("abcdefghi", "f", "{}"),
            ]),
            Message::tool([result("abcdefghi", "1")]),
            assistant([thought("only", name, ENDPOINT, field)]),
        ]
    };
    for (name, field, sent) in [
        ("deepseek", "reasoning_content", Some("reasoning_content")),
        ("deepseek", "reasoning", Some("reasoning")),
        ("deepseek", "role", Some("reasoning_content")),
        ("groq", "reasoning", Some("reasoning")),
        ("groq", "content", Some("reasoning")),
        ("moonshot", "reasoning_content", Some("reasoning_content")),
        ("openai", "reasoning_content", None),
        ("generic", "reasoning", None),
        ("mistral", "content", None),
    ] {
        let mut expected =
            json!({"role": "assistant", "content": null, "tool_calls": [wire_call("abcdefghi", "f", "{}")]});
        if let Some(sent) = sent {
            expected[sent] = json!("hm");
        }
        let written = messages(
            name,
            history(name, field).map(|message| {
                serde_json::from_str::<Message>(&serde_json::to_string(&message).unwrap()).unwrap()
            }),
        );
        assert_eq!(written[1], expected, "{name} {field}");
        assert_eq!(written.as_array().unwrap().len(), 3, "reasoning alone is no message");
    }
}

/// [OA-92]
#[test]
fn reasoning_of_another_server_is_left_out() {
    for part in [
        thought("hm", "anthropic", "https://elsewhere", "reasoning_content"),
        AssistantPart::Reasoning(ReasoningPart::new("hm")),
    ] {
        for name in ["deepseek", "openai"] {
            let (sent, warnings) = healed(
                name,
                [Message::user("Hi"), assistant([part.clone(), said("Hello")]), Message::user("Go")],
            );
            assert_eq!(sent[1], json!({"role": "assistant", "content": "Hello"}));
            assert_eq!(warnings.len(), 1, "{warnings:?}");
        }
    }
}

/// [OA-93]
#[tokio::test]
async fn a_signature_of_a_call_goes_back_to_its_maker_alone() {
    let signed = r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"S"}}}"#;
    let bytes = [support::tc(signed), support::fin(r#""tool_calls""#), support::DONE.into()].concat();
    let (parts, _) = ai_testkit::fold(futures_util::stream::iter(
        support::stream("generic", bytes).await.0.into_iter().map(Ok),
    ))
    .await;
    let Some(AssistantPart::ToolCall(made)) = parts.message.parts.first() else { panic!("{parts:?}") };
    let key_account = Some("key".into());
    assert_eq!(made.metadata.as_ref().unwrap().origin.as_ref().unwrap().account, key_account);

    let mut ours = made.clone();
    ours.metadata.as_mut().unwrap().origin = Some(origin("generic", ENDPOINT));
    for (call, sent, warned) in [(ours, Some("S"), 0), (made.clone(), None, 1)] {
        let history = [
            Message::user("Hi"),
            assistant([AssistantPart::ToolCall(call)]),
            Message::tool([result("a", "1")]),
        ];
        let (messages, warnings) = healed("generic", history);
        let signature = messages[1]["tool_calls"][0].pointer("/extra_content/google/thought_signature");
        assert_eq!(signature.and_then(Value::as_str), sent);
        assert_eq!(warnings.len(), warned, "{warnings:?}");
    }
}

/// [OA-94]
#[test]
fn what_only_another_provider_understands_is_left_out_with_a_warning() {
    let mut elsewhere = ToolCall::new("s", "web_search", "{}");
    elsewhere.provider_executed = true;
    let custom = CustomPart { kind: "x.y".into(), options: ProviderOptions::default(), metadata: None };
    let history = [
        Message::user("Hi"),
        assistant([
            AssistantPart::ToolCall(elsewhere),
            AssistantPart::Custom(custom),
            AssistantPart::File(FilePart::new("image/png", FileData::bytes(PNG))),
            said("Hello"),
        ]),
        Message::user("Go"),
    ];
    let (sent, warnings) = healed("openai", history);
    assert_eq!(sent[1], json!({"role": "assistant", "content": "Hello"}));
    assert_eq!(warnings.len(), 3, "{warnings:?}");
}

/// [OA-95]
#[test]
fn some_servers_want_a_name_a_mark_or_one_message_per_turn() {
    let history = || {
        [
            Message::user("Hi"),
            assistant([call("abcdefghi", "f", "{}")]),
            Message::tool([result("abcdefghi", "1")]),
        ]
    };
    assert_eq!(messages("mistral", history())[2]["name"], "f");
    assert_eq!(messages("openai", history())[2].get("name"), None);

    let prefill = || [Message::user("Hi"), Message::assistant("Hello, ")];
    assert_eq!(
        messages("mistral", prefill())[1],
        json!({"role": "assistant", "content": "Hello, ", "prefix": true})
    );
    assert_eq!(messages("openai", prefill())[1].get("prefix"), None);

    let twice = || [Message::user("a"), Message::assistant(""), Message::user("b")];
    let joined =
        json!([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]);
    assert_eq!(messages("perplexity", twice()), joined);
    assert_eq!(messages("openai", twice()).as_array().unwrap().len(), 2);
}

/// [OA-96]
#[test]
fn options_of_a_message_or_part_go_into_it() {
    let mark = ProviderOptions::default()
        .with("alibaba", "cache_control", json!({"type": "ephemeral"}))
        .with("alibaba", "role", json!("hacker"))
        .with("other", "x", json!(1));
    let part = TextPart { options: mark.clone(), ..TextPart::new("Hi") };
    let user = UserMessage { parts: vec![UserPart::Text(part)], options: mark.clone() };
    let tool = ToolMessage {
        parts: vec![ToolPart::ToolResult(ToolResult { options: mark.clone(), ..result("a", "1") })],
        ..ToolMessage::default()
    };
    let history = [Message::User(user), assistant([call("a", "f", "{}")]), Message::Tool(tool)];
    let cached = json!({"type": "ephemeral"});
    let (sent, warnings) = healed("alibaba", history);
    let unused = |role: &str| format!("the option `role` of a message ({role}) is not used");
    assert_eq!(warnings, [unused("user"), unused("tool")]);
    assert_eq!(
        sent[0],
        json!({"role": "user", "cache_control": cached,
            "content": [{"type": "text", "text": "Hi", "cache_control": cached, "role": "hacker"}]})
    );
    assert_eq!(sent[2]["cache_control"], cached);
    assert_eq!(sent[2]["role"], "tool");
}
