//! What a history becomes.

use std::sync::Arc;

use ai_provider::{
    AssistantMessage, AssistantPart, CallContext, CustomPart, ErrorClass, FileData, FilePart, LanguageModel,
    Message, ProviderOptions, ReasoningPart, Request, SystemMessage, TextPart, ToolCall, ToolContent,
    ToolDefinition, ToolOutput, ToolResult, UserMessage, UserPart,
};
use ai_testkit::{MemoryReply, MemoryTransport, fold};
use serde_json::{Value, json};

use crate::support::{
    MODEL, betas, block, body, delta, encoded, end, model, start, stop, text_block, tool_block, warned,
};

const OLD: &str = "claude-sonnet-4-5";
const NEWEST: &str = "claude-opus-4-8";

fn assistant(parts: impl IntoIterator<Item = AssistantPart>) -> Message {
    Message::Assistant(AssistantMessage { parts: parts.into_iter().collect(), ..AssistantMessage::default() })
}

fn said(text: &str) -> AssistantPart {
    AssistantPart::Text(TextPart::new(text))
}

fn call(id: &str, name: &str, input: &str) -> AssistantPart {
    AssistantPart::ToolCall(ToolCall::new(id, name, input))
}

fn result(id: &str, text: &str) -> ToolResult {
    ToolResult::new(id, "f", ToolOutput::Text(text.into()))
}

fn messages(history: impl IntoIterator<Item = Message>) -> Value {
    body(MODEL, &Request::new(history))["messages"].clone()
}

/// The messages, and what was warned of.
fn healed(history: impl IntoIterator<Item = Message>) -> (Value, Vec<String>) {
    let (body, warnings) = warned(MODEL, &Request::new(history));
    (body["messages"].clone(), warnings)
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn tool_use(id: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": "f", "input": input})
}

fn tool_result(id: &str, content: impl Into<Value>) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": content.into()})
}

fn turn(role: &str, content: impl IntoIterator<Item = Value>) -> Value {
    json!({"role": role, "content": content.into_iter().collect::<Vec<_>>()})
}

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

const PNG: &[u8] = b"\x89PNG";

/// [AN-108]
#[test]
fn files_of_results_go_in_their_native_form_or_are_named() {
    let history = || {
        let items = vec![
            ToolContent::Text(TextPart::new("shot")),
            ToolContent::File(FilePart::new("image/png", FileData::bytes(PNG))),
            ToolContent::File(FilePart::new("application/pdf", FileData::bytes(&b"%PDF"[..]))),
            ToolContent::File(FilePart::new("audio/wav", FileData::bytes(&b"RIFF"[..]))),
        ];
        [
            Message::user("Hi"),
            assistant([call("x", "f", "{}"), call("y", "f", "{}")]),
            Message::tool([ToolResult::new("x", "f", ToolOutput::Content(items)), result("y", "2")]),
        ]
    };
    let (sent, warnings) = healed(history());
    let content = &sent[2]["content"][0]["content"];
    assert_eq!(content[0], text("shot"));
    assert_eq!(
        content[1]["source"],
        json!({"type": "base64", "media_type": "image/png", "data": "iVBORw=="})
    );
    assert_eq!(
        (&content[2]["type"], &content[2]["source"]["media_type"]),
        (&json!("document"), &json!("application/pdf"))
    );
    assert!(content[3]["text"].as_str().unwrap().contains("audio/wav"), "{content}");
    assert_eq!((warnings.len(), &sent[2]["content"][1]), (1, &tool_result("y", "2")));
    // A model that takes no PDF.
    let (body, warnings) = warned("claude-3-haiku-20240307", &Request::new(history()));
    let content = &body["messages"][2]["content"][0]["content"];
    assert_eq!(
        (&content[1]["type"], &content[2]["type"], warnings.len()),
        (&json!("image"), &json!("text"), 2)
    );
}

fn file(media_type: &str, data: FileData) -> Message {
    let mut file = FilePart::new(media_type, data);
    file.filename = Some("name".into());
    let parts = vec![UserPart::File(file)];
    Message::User(UserMessage { parts, ..UserMessage::default() })
}

fn url(url: &str) -> FileData {
    FileData::Url { url: url.into() }
}

fn uploaded(id: &str) -> FileData {
    FileData::Reference { ids: [("anthropic".to_owned(), id.to_owned())].into() }
}

/// [AN-109]
#[test]
fn files_of_a_user_go_as_the_api_has_them() {
    let base64 =
        |media_type: &str, data: &str| json!({"type": "base64", "media_type": media_type, "data": data});
    let at = |url: &str| json!({"type": "url", "url": url});
    let kept = json!({"type": "file", "file_id": "file_1"});
    let plain = json!({"type": "text", "media_type": "text/plain", "data": "hi"});
    let image = |source: Value| json!({"type": "image", "source": source});
    let document = |source: Value| json!({"type": "document", "source": source, "title": "name"});
    for (message, sent) in [
        (file("image/png", FileData::bytes(PNG)), image(base64("image/png", "iVBORw=="))),
        (file("image", FileData::bytes(PNG)), image(base64("image/png", "iVBORw=="))),
        (file("image/*", FileData::bytes(PNG)), image(base64("image/png", "iVBORw=="))),
        (file("image/jpg", FileData::bytes(PNG)), image(base64("image/jpeg", "iVBORw=="))),
        (file("image/webp", url("https://a/b")), image(at("https://a/b"))),
        (file("image/png", uploaded("file_1")), image(kept.clone())),
        (
            file("application/pdf", FileData::bytes(&b"%PDF"[..])),
            document(base64("application/pdf", "JVBERg==")),
        ),
        (file("application/pdf", url("https://a/b")), document(at("https://a/b"))),
        (file("application/pdf", uploaded("file_1")), document(kept.clone())),
        (file("text/csv; charset=utf-8", FileData::bytes(&b"hi"[..])), document(plain.clone())),
        (file("application/json", FileData::Text { text: "hi".into() }), document(plain)),
        (file("text/plain", uploaded("file_1")), document(kept)),
        (
            file("application/zip", uploaded("file_1")),
            json!({"type": "container_upload", "file_id": "file_1"}),
        ),
    ] {
        let request = Request::new([message]);
        assert_eq!(body(MODEL, &request)["messages"][0]["content"], json!([sent]));
        let wanted = if sent.to_string().contains("file_1") { 1 } else { 0 };
        assert_eq!(betas(MODEL, &request).len(), wanted);
    }
}

/// [AN-110]
#[test]
fn a_file_without_a_form_is_an_error() {
    use ErrorClass::{InvalidRequest, Unsupported};
    let elsewhere = FileData::Reference { ids: [("openai".to_owned(), "x".to_owned())].into() };
    for (id, message, class) in [
        (MODEL, file("audio/wav", FileData::bytes(&b"RIFF"[..])), Unsupported),
        (MODEL, file("application/zip", FileData::bytes(&b"PK"[..])), Unsupported),
        (MODEL, file("image/tiff", FileData::bytes(&b"II*"[..])), Unsupported),
        (MODEL, file("text/plain", url("https://a/b")), Unsupported),
        (MODEL, file("image/png", elsewhere), Unsupported),
        ("claude-3-haiku-20240307", file("application/pdf", url("https://a")), Unsupported),
        (MODEL, file("text/plain", FileData::bytes(&b"\xff"[..])), InvalidRequest),
        (MODEL, file("text/plain", FileData::bytes(&b" "[..])), InvalidRequest),
        (MODEL, file("image/png", FileData::bytes(&b""[..])), InvalidRequest),
        (MODEL, file("image/png", url("data:image/png;base64,AA==")), InvalidRequest),
    ] {
        let error = encoded(id, &Request::new([message.clone()])).unwrap_err();
        assert_eq!(error.class(), class, "{message:?}");
    }
}

/// What a model says to one reply after another, with results for its calls, and the bodies it was sent.
async fn conversation(ids: &[&str], replies: &[String]) -> (Vec<Value>, Vec<Arc<Message>>) {
    let mut request = Request::new([Message::user("Hi")]);
    let mut bodies = Vec::new();
    for (at, id) in ids.iter().enumerate() {
        let transport = MemoryTransport::new().reply(MemoryReply::sse(replies[at].clone()));
        let model = model(id, transport.clone());
        let (answer, error) = fold(model.stream(request.clone(), CallContext::new())).await;
        assert!(error.is_none(), "{error:?}");
        bodies.push(serde_json::from_slice(&transport.calls()[0].body).unwrap());
        let calls: Vec<_> = answer.message.tool_calls().filter(|call| !call.provider_executed).collect();
        let results: Vec<_> = calls.iter().map(|call| result(&call.id, "1")).collect();
        // Stored and loaded again.
        let stored = serde_json::to_string(&Message::Assistant(answer.message.clone())).unwrap();
        request.messages.push(Arc::new(serde_json::from_str(&stored).unwrap()));
        match results.is_empty() {
            false => request.messages.push(Arc::new(Message::tool(results))),
            true => request.messages.push(Arc::new(Message::user("And?"))),
        }
    }
    (bodies, request.messages)
}

fn thoughtful() -> String {
    [
        start(),
        block(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
        delta(0, r#"{"type":"thinking_delta","thinking":" t\u00e9"}"#),
        delta(0, r#"{"type":"signature_delta","signature":"SIG+/=="}"#),
        stop(0),
        block(1, r#"{"type":"redacted_thinking","data":"R=="}"#),
        stop(1),
        tool_block(2, "toolu_1", "f", &[r#"{ "x": 1 }"#]),
        end("tool_use"),
    ]
    .concat()
}

/// [AN-111]
#[tokio::test]
async fn thinking_goes_back_as_it_came_and_where_it_stood() {
    let answer = [start(), text_block(0, "ok"), end("end_turn")].concat();
    let (bodies, _) = conversation(&[MODEL, MODEL], &[thoughtful(), answer]).await;
    let sent = &bodies[1]["messages"][1]["content"];
    assert_eq!(
        *sent,
        json!([
            {"type": "thinking", "thinking": " té", "signature": "SIG+/=="},
            {"type": "redacted_thinking", "data": "R=="},
            tool_use("toolu_1", json!({"x": 1})),
        ])
    );
    assert_eq!(bodies[1]["messages"][2]["content"], json!([tool_result("toolu_1", "1")]));
}

/// [AN-112]
#[tokio::test]
async fn thinking_of_another_model_is_left_out_and_stays_in_the_history() {
    let answer = || [start(), text_block(0, "ok"), end("end_turn")].concat();
    let other = "claude-opus-4-6";
    let (bodies, history) = conversation(&[MODEL, other, MODEL], &[thoughtful(), answer(), answer()]).await;
    let kinds = |body: &Value| -> Vec<String> {
        let blocks = body["messages"][1]["content"].as_array().unwrap();
        blocks.iter().map(|block| block["type"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds(&bodies[1]), ["tool_use"]);
    assert!(!bodies[1].to_string().contains("té"));
    assert_eq!(kinds(&bodies[2]), ["thinking", "redacted_thinking", "tool_use"]);
    let Message::Assistant(first) = &*history[1] else { panic!() };
    let thought = first.parts.iter().filter(|part| matches!(part, AssistantPart::Reasoning(_)));
    assert_eq!(thought.count(), 2);
    // Nobody knows who made it, or nobody signed it.
    for reasoning in [AssistantPart::Reasoning(ReasoningPart::new("secret")), {
        let values = ProviderOptions::default().with("anthropic", "signature", json!("S"));
        let metadata = ai_provider::ProviderMetadata { origin: None, values };
        let metadata = Some(Box::new(metadata));
        AssistantPart::Reasoning(ReasoningPart { metadata, ..ReasoningPart::new("secret") })
    }] {
        let (sent, warnings) = healed([Message::user("Hi"), assistant([reasoning, said("a")])]);
        assert!(!sent.to_string().contains("secret") && warnings.len() == 1, "{warnings:?}");
    }
}

/// [AN-113]
#[tokio::test]
async fn thinking_never_ends_a_message() {
    let thought =
        |index| [block(index, r#"{"type":"thinking","thinking":"t","signature":"S"}"#), stop(index)].concat();
    let alone = [start(), thought(0), end("max_tokens")].concat();
    let behind = [start(), text_block(0, "a"), thought(1), end("max_tokens")].concat();
    let answer = [start(), text_block(0, "ok"), end("end_turn")].concat();
    let (bodies, _) = conversation(&[MODEL, MODEL], &[alone, answer.clone()]).await;
    assert_eq!(bodies[1]["messages"], json!([turn("user", [text("Hi"), text("And?")])]));
    let (bodies, _) = conversation(&[MODEL, MODEL], &[behind, answer]).await;
    assert_eq!(bodies[1]["messages"][1], turn("assistant", [text("a")]));
}

fn searched() -> [Value; 5] {
    [
        json!({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}}),
        json!({"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result", "url": "https://a", "encrypted_content": "E"}]}),
        json!({"type": "server_tool_use", "id": "s2", "name": "bash_code_execution", "input": {"command": "ls"}}),
        json!({"type": "bash_code_execution_tool_result", "tool_use_id": "s2", "content": {"type": "bash_code_execution_tool_result_error", "error_code": "unavailable"}}),
        json!({"type": "mcp_tool_use", "id": "s3", "name": "echo", "server_name": "srv", "input": {}}),
    ]
}

/// [AN-114]
#[tokio::test]
async fn calls_that_ran_at_the_provider_go_back_to_it_as_they_were() {
    let failed =
        json!({"type": "mcp_tool_result", "tool_use_id": "s3", "content": [text("no")], "is_error": true});
    let blocks = [searched().to_vec(), vec![failed.clone()]].concat();
    let answer = || [start(), text_block(0, "ok"), end("end_turn")].concat();
    let reply = |blocks: &[Value], reason: &str| {
        let content: String = (0..)
            .zip(blocks)
            .map(|(at, content)| [block(at, &content.to_string()), stop(at)].concat())
            .collect();
        [start(), content, end(reason)].concat()
    };
    let (bodies, _) =
        conversation(&[MODEL, MODEL, "claude-opus-4-6"], &[reply(&blocks, "end_turn"), answer(), answer()])
            .await;
    assert_eq!(bodies[1]["messages"][1], turn("assistant", blocks.clone()));
    // Another model gets none of it.
    assert_eq!(bodies[2]["messages"].as_array().unwrap().len(), 3);
    assert!(!bodies[2].to_string().contains("s1"));

    // A call without a result goes back only where the turn was paused in it.
    let transport = MemoryTransport::new().reply(MemoryReply::sse(reply(&searched(), "pause_turn")));
    let target = model(MODEL, transport);
    let request = Request::new([Message::user("Hi")]);
    let (paused, _) = fold(target.stream(request, CallContext::new())).await;
    let paused = Message::Assistant(paused.message);
    let (sent, warnings) = healed([Message::user("Hi"), paused.clone()]);
    assert_eq!((&sent[1]["content"][4], warnings.len()), (&searched()[4], 0));
    let (sent, warnings) = healed([Message::user("Hi"), paused, Message::user("never mind")]);
    assert_eq!((sent[1]["content"].as_array().unwrap().len(), warnings.len()), (4, 1));
}

/// [AN-115]
#[tokio::test]
async fn blocks_without_a_neutral_form_go_back_as_they_came() {
    let seam = json!({"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}});
    let odd = json!({"type": "hologram", "data": "D"});
    let compacted = json!({"type": "compaction", "content": "So far.", "encrypted_content": "E"});
    let blocks = [
        compacted.clone(),
        json!({"type": "thinking", "thinking": "t", "signature": "S"}),
        text("I "),
        seam.clone(),
        odd.clone(),
        text("can."),
    ];
    let content: String = (0..)
        .zip(&blocks)
        .map(|(at, content)| [block(at, &content.to_string()), stop(at)].concat())
        .collect();
    let replies = [
        [start(), content, end("end_turn")].concat(),
        [start(), text_block(0, "ok"), end("end_turn")].concat(),
        [start(), text_block(0, "ok"), end("end_turn")].concat(),
    ];
    let (bodies, history) = conversation(&[MODEL, MODEL, "claude-opus-4-6"], &replies).await;
    assert_eq!(bodies[1]["messages"][1], turn("assistant", [compacted, text("I "), seam, odd, text("can.")]));
    assert_eq!(bodies[2]["messages"][1], turn("assistant", [text("So far."), text("I "), text("can.")]));
    let request = Request::from_shared(history);
    assert_eq!(betas(MODEL, &request), ["compact-2026-01-12", "server-side-fallback-2026-06-01"]);
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
            AssistantPart::File(FilePart::new("image/png", FileData::bytes(PNG))),
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

fn marked(name: &str) -> ProviderOptions {
    ProviderOptions::default().with("anthropic", name, json!({"type": "ephemeral"}))
}

/// [AN-87]
#[test]
fn cache_markers_stand_where_they_were_put_and_four_at_most() {
    let mut tool = ai_provider::FunctionTool::new("f", "d", json!({"type": "object"}));
    tool.options = marked("cache_control");
    let mut answer = result("x", "1");
    answer.options = marked("cacheControl");
    let user = |options: ProviderOptions, part: ProviderOptions| {
        let parts =
            ["a", "b"].map(|text| UserPart::Text(TextPart { options: part.clone(), ..TextPart::new(text) }));
        Message::User(UserMessage { parts: parts.into(), options })
    };
    let history = [
        Message::System(SystemMessage { text: "s".into(), options: marked("cache_control") }),
        user(marked("cache_control"), ProviderOptions::default()),
        assistant([call("x", "f", "{}")]),
        Message::tool([answer]),
    ];
    let ephemeral = json!({"type": "ephemeral"});
    let sent = body(MODEL, &Request::new(history.clone()).with_tools([ToolDefinition::Function(tool)]));
    assert_eq!(sent["tools"][0]["cache_control"], ephemeral);
    assert_eq!(sent["system"][0]["cache_control"], ephemeral);
    let user_blocks = &sent["messages"][0]["content"];
    assert_eq!((user_blocks[0].get("cache_control"), &user_blocks[1]["cache_control"]), (None, &ephemeral));
    assert_eq!(sent["messages"][2]["content"][0]["cache_control"], ephemeral);
    assert_eq!(sent.to_string().matches("cache_control").count(), 4);

    let many = [Message::user("Hi"), user(ProviderOptions::default(), marked("cache_control"))];
    let many: Vec<_> = many.into_iter().cycle().take(8).collect();
    let (sent, warnings) = healed(many.clone());
    assert_eq!((sent.to_string().matches("cache_control").count(), warnings.len()), (4, 1), "{warnings:?}");
    // One for the whole request counts too.
    let mut request = Request::new(many);
    request.options = marked("cache_control");
    assert_eq!(warned(MODEL, &request).0.to_string().matches("cache_control").count(), 4);

    let thought = ReasoningPart { options: marked("cache_control"), ..ReasoningPart::new("t") };
    let (_, warnings) =
        healed([Message::user("Hi"), assistant([AssistantPart::Reasoning(thought), said("a")])]);
    assert!(warnings.iter().any(|warning| warning.contains("thinking cannot be cached")), "{warnings:?}");
}

/// [AN-118]
#[test]
fn options_of_parts_go_into_their_blocks_and_never_over_what_stands_there() {
    let options = ProviderOptions::default()
        .with("anthropic", "citations", json!({"enabled": true}))
        .with("anthropic", "title", json!("mine"))
        .with("anthropic", "type", json!("evil"))
        .with("anthropic", "source", json!("evil"));
    let mut pdf = FilePart::new("application/pdf", FileData::bytes(&b"%PDF"[..]));
    pdf.options = options;
    let unnamed = pdf.clone();
    pdf.filename = Some("name".into());
    let of = |file: FilePart| {
        let parts = vec![UserPart::File(file)];
        messages([Message::User(UserMessage { parts, ..UserMessage::default() })])[0]["content"][0].clone()
    };
    let sent = of(pdf);
    assert_eq!((&sent["type"], &sent["title"]), (&json!("document"), &json!("name")));
    assert_eq!((&sent["citations"], sent["source"].is_object()), (&json!({"enabled": true}), true));
    assert_eq!(of(unnamed)["title"], "mine");
    let options = ProviderOptions::default().with("anthropic", "name", json!("x"));
    let parts = vec![UserPart::Text(TextPart::new("Hi"))];
    let (sent, warnings) = healed([Message::User(UserMessage { parts, options })]);
    assert_eq!((sent, warnings.len()), (json!([turn("user", [text("Hi")])]), 1));
}
