//! What a history becomes.

use ai_provider::{
    AssistantPart, CustomPart, ErrorClass, FileData, FilePart, Message, ProviderOptions, Request, TextPart,
    ToolCall, ToolContent, ToolDefinition, ToolOutput, ToolResult,
};
use serde_json::json;

use crate::support::history::{
    assistant, call, healed, messages, result, said, text, tool_result, tool_use, turn,
};
use crate::support::{MODEL, betas, body, encoded, warned};

const OLD: &str = "claude-sonnet-4-5";
const NEWEST: &str = "claude-opus-4-8";

/// [AN-100]
#[test]
fn instructions_stand_first_or_where_they_came_up() {
    let history = || {
        [
            Message::system("One."),
            Message::system(" "),
            Message::system("Two."),
            Message::user("Hi"),
            Message::system("Three."),
            Message::assistant("Ho"),
            Message::system("Four."),
            Message::user("And?"),
        ]
    };
    let request = Request::new(history());
    for id in [OLD, NEWEST] {
        let (body, _) = warned(id, &request);
        assert_eq!(body["system"], json!([text("One."), text("Two.")]));
    }
    let (newest, warnings) = warned(NEWEST, &request);
    let four = text("<system>\nFour.\n</system>");
    assert_eq!(
        newest["messages"],
        json!([
            turn("user", [text("Hi")]),
            turn("system", [text("Three.")]),
            turn("assistant", [text("Ho")]),
            turn("user", [four.clone(), text("And?")]),
        ])
    );
    assert_eq!(
        (betas(NEWEST, &request), warnings.len()),
        (vec!["mid-conversation-system-2026-04-07".into()], 1)
    );
    let (old, warnings) = warned(OLD, &request);
    assert_eq!(
        old["messages"],
        json!([
            turn("user", [text("Hi"), text("<system>\nThree.\n</system>")]),
            turn("assistant", [text("Ho")]),
            turn("user", [four, text("And?")]),
        ])
    );
    assert_eq!((betas(OLD, &request).len(), warnings.len()), (0, 1));
}

/// [AN-101]
#[test]
fn turns_of_one_role_are_one_and_results_stand_before_all_else_in_the_order_of_the_calls() {
    let sent = messages([
        Message::user("Hi"),
        Message::user("there"),
        assistant([said("a")]),
        assistant([said("b"), call("x", "f", "{}"), call("y", "f", "{}"), call("z", "f", "{}")]),
        Message::tool([result("z", "3"), result("x", "1")]),
        Message::tool([result("y", "2")]),
        Message::user("go on"),
    ]);
    assert_eq!(
        sent,
        json!([
            turn("user", [text("Hi"), text("there")]),
            turn(
                "assistant",
                [
                    text("a"),
                    text("b"),
                    tool_use("x", json!({})),
                    tool_use("y", json!({})),
                    tool_use("z", json!({}))
                ]
            ),
            turn(
                "user",
                [tool_result("x", "1"), tool_result("y", "2"), tool_result("z", "3"), text("go on")]
            ),
        ])
    );
}

/// [AN-102]
#[test]
fn the_input_of_a_call_goes_back_byte_for_byte_if_it_is_an_object() {
    for (input, sent) in [
        (r#"{ "z" : 1.50, "a":"\u00e9" }"#, r#"{ "z" : 1.50, "a":"\u00e9" }"#),
        ("", "{}"),
        ("[1]", "{}"),
        ("{\"cut\":", "{}"),
        ("5", "{}"),
    ] {
        let call = call("x", "f", input);
        let request =
            Request::new([Message::user("Hi"), assistant([call]), Message::tool([result("x", "1")])]);
        let bytes = encoded(MODEL, &request).unwrap().0.body;
        let wanted = format!("\"input\":{sent}}}");
        assert!(std::str::from_utf8(&bytes).unwrap().contains(&wanted), "{input}");
    }
}

/// [AN-103]
#[test]
fn blank_text_is_never_sent() {
    let (sent, warnings) = healed([
        Message::user("Hi"),
        assistant([said("")]),
        Message::user(" \n"),
        assistant([said(" ")]),
        assistant([said(""), call("x", "f", "{}")]),
        Message::tool([result("x", " ")]),
        Message::user("go on"),
    ]);
    assert_eq!(
        sent,
        json!([
            turn("user", [text("Hi")]),
            turn("assistant", [tool_use("x", json!({}))]),
            turn("user", [tool_result("x", "(no output)"), text("go on")]),
        ])
    );
    assert_eq!(warnings.len(), 0);
    for history in [vec![Message::user(" ")], vec![], vec![Message::system("s")]] {
        assert_eq!(encoded(MODEL, &Request::new(history)).unwrap_err().class(), ErrorClass::InvalidRequest);
    }
}

/// [AN-104]
#[test]
fn every_call_is_answered_and_no_result_stands_alone() {
    let (sent, warnings) = healed([
        Message::user("Hi"),
        assistant([call("a", "f", "{}"), call("b", "f", "{}")]),
        Message::tool([result("a", "1"), result("nobody", "?")]),
        Message::user("go on"),
        assistant([said("ok")]),
        Message::tool([result("a", "again")]),
    ]);
    let filled = &sent[2]["content"][1];
    assert_eq!((&filled["tool_use_id"], &filled["is_error"]), (&json!("b"), &json!(true)));
    assert_eq!(sent[2]["content"][0], tool_result("a", "1"));
    assert_eq!(sent[2]["content"][2], text("go on"));
    assert_eq!(sent.as_array().unwrap().len(), 4);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    let (late, _) = healed([
        Message::user("Hi"),
        assistant([call("a", "f", "{}")]),
        Message::user("wait"),
        Message::tool([result("a", "1")]),
    ]);
    assert_eq!(late[2]["content"], json!([tool_result("a", "1"), text("wait")]));
}

/// [AN-105]
#[test]
fn ids_the_api_refuses_are_replaced_in_call_and_result_alike() {
    let (sent, warnings) = healed([
        Message::user("Hi"),
        assistant([call("", "f", "{}"), call("call.1|x", "f", "{}"), call("ok_-1", "f", "{}")]),
        Message::tool([result("", "1"), result("call.1|x", "2"), result("ok_-1", "3")]),
        assistant([call("ok_-1", "f", "{}")]),
        Message::tool([result("ok_-1", "4")]),
    ]);
    let ids = |message: usize, field: &str| -> Vec<String> {
        let blocks = sent[message]["content"].as_array().unwrap();
        blocks.iter().map(|block| block[field].as_str().unwrap().to_owned()).collect()
    };
    let calls = [ids(1, "id"), ids(3, "id")].concat();
    assert_eq!(calls, [ids(2, "tool_use_id"), ids(4, "tool_use_id")].concat());
    let word =
        |id: &String| !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
    assert!(calls.iter().all(word), "{calls:?}");
    let unique: std::collections::HashSet<_> = calls.iter().collect();
    assert_eq!((unique.len(), calls[2].as_str(), warnings.len()), (4, "ok_-1", 1));
}

/// [AN-106]
#[test]
fn a_name_the_api_refuses_is_replaced_and_a_tool_of_the_provider_has_its_own() {
    let made_up = assistant([call("x", "no such.tool!", "{}")]);
    let (sent, warnings) = healed([Message::user("Hi"), made_up, Message::tool([result("x", "1")])]);
    assert_eq!((&sent[1]["content"][0]["name"], warnings.len()), (&json!("no_such_tool_"), 1));
    let shell = ToolDefinition::Provider(ai_provider::ProviderTool {
        id: "anthropic.bash_20250124".into(),
        name: "shell".into(),
        args: Default::default(),
    });
    let history =
        [Message::user("Hi"), assistant([call("x", "shell", "{}")]), Message::tool([result("x", "1")])];
    let sent = body(MODEL, &Request::new(history).with_tools([shell]));
    assert_eq!(sent["messages"][1]["content"][0]["name"], "bash");
}

/// [AN-107]
#[test]
fn results_of_every_kind_go_back() {
    let custom = ToolContent::Custom(CustomPart {
        kind: "anthropic.tool_reference".into(),
        options: ProviderOptions::default().with("anthropic", "tool_name", json!("g")),
        metadata: None,
    });
    let foreign = ToolContent::Custom(CustomPart {
        kind: "openai.x".into(),
        options: Default::default(),
        metadata: None,
    });
    let denied = |reason: Option<&str>| ToolOutput::ExecutionDenied { reason: reason.map(str::to_owned) };
    for (output, content, error, warnings) in [
        (ToolOutput::Text("t".into()), json!("t"), false, 0),
        (ToolOutput::Json(json!({"a": 1})), json!("{\"a\":1}"), false, 0),
        (ToolOutput::ErrorText("e".into()), json!("e"), true, 0),
        (ToolOutput::ErrorJson(json!([1])), json!("[1]"), true, 0),
        (denied(Some("no")), json!("no"), true, 0),
        (denied(None), json!("The user did not allow this call."), true, 0),
        (ToolOutput::Content(vec![]), json!("(no output)"), false, 0),
        (
            ToolOutput::Content(vec![
                ToolContent::Text(TextPart::new("a")),
                ToolContent::Text(TextPart::new(" ")),
                ToolContent::File(FilePart::new("text/plain", FileData::Text { text: "b".into() })),
                custom,
            ]),
            json!([text("a"), text("b"), {"type": "tool_reference", "tool_name": "g"}]),
            false,
            0,
        ),
        (ToolOutput::Content(vec![foreign]), json!("(no output)"), false, 1),
    ] {
        let (sent, warned) = healed([
            Message::user("Hi"),
            assistant([call("x", "f", "{}")]),
            Message::tool([ToolResult::new("x", "f", output)]),
        ]);
        let block = &sent[2]["content"][0];
        assert_eq!((&block["content"], block.get("is_error").is_some()), (&content, error));
        assert_eq!(warned.len(), warnings, "{content}");
    }
}

/// [AN-116]
#[test]
fn what_another_provider_made_is_left_out_with_a_warning() {
    let mut foreign = ToolCall::new("s", "web_search", "{}");
    foreign.provider_executed = true;
    let mut found = result("s", "1");
    found.provider_executed = true;
    let custom = CustomPart { kind: "openai.x".into(), options: Default::default(), metadata: None };
    let (sent, warnings) = healed([
        Message::user("Hi"),
        assistant([
            AssistantPart::ToolCall(foreign),
            AssistantPart::ToolResult(found),
            AssistantPart::Custom(custom),
            AssistantPart::File(FilePart::new("image/png", FileData::bytes(&b"\x89PNG"[..]))),
            said("a"),
        ]),
    ]);
    assert_eq!(sent[1], turn("assistant", [text("a")]));
    assert_eq!(warnings.len(), 4, "{warnings:?}");
}

/// [AN-117]
#[test]
fn a_user_begins_and_the_answer_goes_on_without_white_space() {
    let (sent, warnings) =
        healed([assistant([said("Earlier. ")]), Message::user("Hi"), assistant([said("So \n")])]);
    assert_eq!(sent[0]["role"], "user");
    assert_eq!(sent[1], turn("assistant", [text("Earlier. ")]));
    assert_eq!(sent[3], turn("assistant", [text("So")]));
    assert_eq!(warnings.len(), 1);
}
