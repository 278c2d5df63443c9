//! Histories on the wire.

use ai_provider::{
    AssistantMessage, AssistantPart, CustomPart, Delivery, ErrorClass, FileData, FilePart, Message,
    ProviderMetadata, ProviderOptions, ReasoningPart, Request, TextPart, ToolCall, ToolContent,
    ToolDefinition, ToolOutput, ToolResult, UserMessage, UserPart,
};
use ai_testkit::{MemoryReply, fold};
use serde_json::{Value, json};

use crate::support::*;

const FLASH: &str = "gemini-2.5-flash";
const THIRD: &str = "gemini-3-pro-preview";

fn assistant(parts: impl IntoIterator<Item = AssistantPart>) -> Message {
    Message::Assistant(AssistantMessage { parts: parts.into_iter().collect(), ..AssistantMessage::default() })
}

fn said(text: &str) -> AssistantPart {
    AssistantPart::Text(TextPart::new(text))
}

fn called(id: &str, name: &str, input: &str) -> AssistantPart {
    AssistantPart::ToolCall(ToolCall::new(id, name, input))
}

fn result(id: &str, text: &str) -> ToolResult {
    ToolResult::new(id, "f", ToolOutput::Text(text.into()))
}

fn contents(model: &str, history: impl IntoIterator<Item = Message>) -> Value {
    body(model, &Request::new(history))["contents"].clone()
}

fn healed(model: &str, history: impl IntoIterator<Item = Message>) -> (Value, Vec<String>) {
    let (body, warnings) = warned(model, &Request::new(history));
    (body["contents"].clone(), warnings)
}

fn user(text: &str) -> Value {
    json!({"role": "user", "parts": [{"text": text}]})
}

fn wire_result(name: &str, content: Value) -> Value {
    json!({"functionResponse": {"name": name, "response": {"name": name, "content": content}}})
}

/// [GG-100]
#[test]
fn instructions_stand_in_their_own_field() {
    let request = Request::new([
        Message::system("One."),
        Message::system(" "),
        Message::system("Two."),
        Message::user("Hi"),
    ]);
    let sent = body(FLASH, &request);
    assert_eq!(sent["systemInstruction"], json!({"parts": [{"text": "One."}, {"text": "Two."}]}));
    assert_eq!(sent["contents"], json!([user("Hi")]));

    let sent = body("gemma-3-27b-it", &request);
    assert!(sent.get("systemInstruction").is_none());
    assert_eq!(
        sent["contents"],
        json!([{"role": "user", "parts": [{"text": "One."}, {"text": "Two."}, {"text": "Hi"}]}])
    );
    let model_first = Request::new([Message::system("One."), Message::assistant("Hello")]);
    assert_eq!(body("gemma-3-27b-it", &model_first)["contents"][0], user("One."));

    let (late, warnings) = healed(
        FLASH,
        [Message::user("Hi"), Message::system("Be brief."), Message::system(""), Message::user("Go")],
    );
    assert_eq!((late, warnings.len()), (json!([user("Hi"), user("Be brief."), user("Go")]), 1));
}

/// [GG-101]
#[test]
fn turns_are_legal_whatever_is_left_of_them() {
    let sent = contents(
        FLASH,
        [
            Message::user("Hi"),
            assistant([said("a"), said(" "), said("")]),
            assistant([said("")]),
            assistant([said("b"), called("c1", "f", "{}")]),
            Message::tool([result("c1", "1")]),
            Message::user("  "),
            Message::user("more"),
        ],
    );
    let model = json!({"role": "model", "parts": [{"text": "a"}, {"text": "b"}, {"functionCall": {"id": "c1", "name": "f", "args": {}}}]});
    let answer = json!({"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "f", "response": {"name": "f", "content": "1"}}}]});
    assert_eq!(sent, json!([user("Hi"), model, answer, user("more")]));

    let (sent, warnings) = healed(FLASH, [Message::assistant("Hello"), Message::user("Hi")]);
    assert_eq!(
        (sent[0]["role"].as_str(), sent[1]["role"].as_str(), warnings.len()),
        (Some("user"), Some("model"), 1)
    );
    for empty in [vec![], vec![Message::system("s")], vec![Message::user(" ")], vec![assistant([])]] {
        let error = encoded(FLASH, &Request::new(empty)).unwrap_err();
        assert_eq!(error.class(), ErrorClass::InvalidRequest);
    }
}

/// [GG-102]
#[test]
fn every_call_has_its_result_right_behind_it() {
    let (sent, warnings) = healed(
        FLASH,
        [
            Message::user("Hi"),
            assistant([called("a", "f", "{}"), called("b", "g", "{}"), called("c", "f", "{}")]),
            Message::tool([result("c", "3"), result("a", "1"), result("lost", "x")]),
            Message::user("go on"),
        ],
    );
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    let answers = sent[2]["parts"].as_array().unwrap();
    let of = |nth: usize| &answers[nth]["functionResponse"];
    assert_eq!((&of(0)["id"], &of(0)["response"]["content"]), (&json!("a"), &json!("1")));
    assert_eq!((&of(2)["id"], &of(2)["response"]["content"]), (&json!("c"), &json!("3")));
    assert_eq!((&of(1)["name"], &of(1)["response"]["isError"]), (&json!("g"), &json!(true)));
    assert!(of(1)["response"]["content"].as_str().unwrap().contains("interrupted"));
    assert_eq!((answers.len(), &sent[3]), (3, &user("go on")));
}

/// [GG-103]
#[test]
fn ids_of_the_server_go_back_and_ours_do_not() {
    let (sent, warnings) = healed(
        FLASH,
        [
            Message::user("Hi"),
            assistant([called("given", "w", "{}"), called("gemini_00_0", "w", "{}"), called("", "w", "{}")]),
            Message::tool([result("given", "1"), result("gemini_00_0", "2"), result("", "3")]),
            assistant([called("given", "w", "{}")]),
            Message::tool([result("given", "4")]),
        ],
    );
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let ids = |content: &Value, kind: &str| -> Vec<Option<String>> {
        let parts = content["parts"].as_array().unwrap().iter();
        parts.map(|part| part[kind].get("id").map(|id| id.as_str().unwrap().to_owned())).collect()
    };
    assert_eq!(ids(&sent[1], "functionCall"), [Some("given".into()), None, None]);
    assert_eq!(ids(&sent[2], "functionResponse"), ids(&sent[1], "functionCall"));
    let again = ids(&sent[3], "functionCall");
    assert!(again[0].is_some() && again[0] != Some("given".into()));
    assert_eq!(ids(&sent[4], "functionResponse"), again);
    let content =
        |nth: usize, part: usize| sent[nth]["parts"][part]["functionResponse"]["response"]["content"].clone();
    assert_eq!([content(2, 0), content(2, 1), content(2, 2), content(4, 0)], ["1", "2", "3", "4"]);
}

/// What the model answers, as a message.
async fn answered(frames: &str) -> AssistantMessage {
    let transport = ai_testkit::MemoryTransport::new().reply(MemoryReply::sse(frames.to_owned()));
    let request = Request::new([Message::user("Hi")]);
    let (answer, error) =
        fold(model(THIRD, transport).stream(request, ai_provider::CallContext::new())).await;
    assert!(error.is_none(), "{error:?}");
    answer.message
}

/// The parts an answer becomes when it goes back, with the warnings.
fn sent_back(model: &str, message: AssistantMessage) -> (Value, Vec<String>) {
    let results: Vec<_> = message
        .tool_calls()
        .filter(|call| !call.provider_executed)
        .map(|call| result(&call.id, "1"))
        .collect();
    let (sent, warnings) =
        healed(model, [Message::user("Hi"), Message::Assistant(message), Message::tool(results)]);
    (sent[1]["parts"].clone(), warnings)
}

/// [GG-104]
#[tokio::test]
async fn signatures_go_back_where_they_came() {
    let frames = gm(
        r#"[{"text":"t","thought":true,"thoughtSignature":"S0"},{"text":"a"},{"text":"","thoughtSignature":"S1"}]"#,
    ) + &gm(r#"[{"functionCall":{"name":"f","args":{ "x" :1}},"thoughtSignature":"S"}]"#)
        + &gm(r#"[{"functionCall":{"name":"g","args":{}}}]"#)
        + &end(r#"[{"text":"","thoughtSignature":"S2"}]"#, "STOP");
    let message = answered(&frames).await;
    let (parts, warnings) = sent_back(THIRD, message.clone());
    assert_eq!(warnings, [""; 0]);
    assert_eq!(
        parts,
        json!([
            {"text": "t", "thought": true, "thoughtSignature": "S0"},
            {"text": "a", "thoughtSignature": "S1"},
            {"functionCall": {"name": "f", "args": {"x": 1}}, "thoughtSignature": "S"},
            {"functionCall": {"name": "g", "args": {}}},
            {"text": "", "thoughtSignature": "S2"},
        ])
    );
    // Another model gets neither thoughts nor signatures, and the history stays as it is.
    let (parts, warnings) = sent_back(FLASH, message.clone());
    assert_eq!(
        parts,
        json!([{"text": "a"}, {"functionCall": {"name": "f", "args": {"x": 1}}}, {"functionCall": {"name": "g", "args": {}}}])
    );
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert_eq!(sent_back(THIRD, message.clone()).0[2]["thoughtSignature"], "S");
    // So does the same model with another account.
    let stored = serde_json::to_string(&message).unwrap().replace(r#""account":"one""#, r#""account":"two""#);
    let (parts, _) = sent_back(THIRD, serde_json::from_str(&stored).unwrap());
    assert_eq!(parts[1]["thoughtSignature"], "skip_thought_signature_validator");
}

/// [GG-104]
#[test]
fn the_first_call_of_a_turn_needs_a_signature_on_the_third_generation() {
    let history = || {
        [
            Message::user("Hi"),
            assistant([said("a"), called("c1", "f", "{}"), called("c2", "f", "{}")]),
            Message::tool([result("c1", "1"), result("c2", "2")]),
        ]
    };
    let (sent, warnings) = healed(THIRD, history());
    let signatures: Vec<_> = sent[1]["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part.get("thoughtSignature").is_some())
        .collect();
    assert_eq!(signatures, [false, true, false]);
    assert!(warnings.len() == 1 && warnings[0].contains("signature"), "{warnings:?}");
    let (sent, warnings) = healed(FLASH, history());
    assert!(!sent.to_string().contains("thoughtSignature") && warnings.is_empty());
}

/// [GG-105]
#[tokio::test]
async fn thoughts_go_back_to_their_model_alone() {
    let message = answered(&(gm(r#"[{"text":"hm","thought":true},{"text":"a"}]"#) + &stop())).await;
    let (parts, warnings) = sent_back(THIRD, message.clone());
    assert_eq!((parts, warnings), (json!([{"text": "hm", "thought": true}, {"text": "a"}]), vec![]));
    let (parts, warnings) = sent_back(FLASH, message);
    assert_eq!((parts, warnings.len()), (json!([{"text": "a"}]), 1));
    let unknown = ReasoningPart::new("whose?");
    let message = AssistantMessage {
        parts: vec![AssistantPart::Reasoning(unknown), said("a")],
        ..AssistantMessage::default()
    };
    let (parts, warnings) = sent_back(THIRD, message);
    assert_eq!((parts, warnings.len()), (json!([{"text": "a"}]), 1));
}

fn with_output(model: &str, output: ToolOutput) -> (Value, Vec<String>) {
    let answer = Message::tool([ToolResult::new("c", "f", output)]);
    let (sent, warnings) = healed(model, [Message::user("Hi"), assistant([called("c", "f", "{}")]), answer]);
    let mut parts = sent[2]["parts"].clone();
    if let Some(response) = parts[0]["functionResponse"].as_object_mut() {
        response.remove("id");
    }
    (parts, warnings.into_iter().filter(|warning| !warning.contains("without a signature")).collect())
}

/// [GG-106]
#[test]
fn a_result_of_any_form_is_said() {
    let failed = |content: Value| json!([{"functionResponse": {"name": "f", "response": {"name": "f", "content": content, "isError": true}}}]);
    let good = |content: Value| json!([wire_result("f", content)]);
    let text = |text: &str| ToolContent::Text(TextPart::new(text));
    for (output, expected) in [
        (ToolOutput::Text("a".into()), good(json!("a"))),
        (ToolOutput::Text("".into()), good(json!("(no output)"))),
        (ToolOutput::Text(" \n".into()), good(json!("(no output)"))),
        (ToolOutput::Json(json!({"a": [1]})), good(json!({"a": [1]}))),
        (ToolOutput::Json(Value::Null), good(Value::Null)),
        (ToolOutput::Json(json!("")), good(json!("(no output)"))),
        (ToolOutput::ErrorText("no".into()), failed(json!("no"))),
        (ToolOutput::ErrorJson(json!({"e": 1})), failed(json!({"e": 1}))),
        (ToolOutput::ExecutionDenied { reason: Some("not now".into()) }, failed(json!("not now"))),
        (ToolOutput::ExecutionDenied { reason: None }, failed(json!("The user did not allow this call."))),
        (ToolOutput::Content(vec![text("a"), text(""), text("b")]), good(json!("a\nb"))),
        (ToolOutput::Content(vec![]), good(json!("(no output)"))),
    ] {
        assert_eq!(with_output(FLASH, output.clone()), (expected, vec![]), "{output:?}");
    }
}

/// [GG-107]
#[test]
fn files_of_results_go_where_the_model_takes_them() {
    let png = || ToolContent::File(FilePart::new("image/png", FileData::bytes(&b"\x89PNG"[..])));
    let wav = || ToolContent::File(FilePart::new("audio/wav", FileData::bytes(&b"RIFF"[..])));
    let text = || ToolContent::Text(TextPart::new("see"));
    let image = json!({"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}});
    let (parts, warnings) = with_output(THIRD, ToolOutput::Content(vec![text(), png()]));
    let mut expected = wire_result("f", json!("see"));
    expected["functionResponse"]["parts"] = json!([image]);
    assert_eq!((parts, warnings), (json!([expected]), vec![]));

    let (parts, warnings) = with_output(FLASH, ToolOutput::Content(vec![png()]));
    let beside = json!([wire_result("f", json!("(the files are beside this result)")), {"text": "From the call of f:"}, image]);
    assert_eq!((parts, warnings), (beside, vec![]));

    let (parts, _) = with_output(THIRD, ToolOutput::Content(vec![wav()]));
    assert_eq!(parts[2]["inlineData"]["mimeType"], "audio/wav");
    let (parts, warnings) = with_output("gemma-3-27b-it", ToolOutput::Content(vec![wav()]));
    let told = parts[0]["functionResponse"]["response"]["content"].as_str().unwrap();
    assert!(told.contains("audio/wav") && warnings.len() == 1, "{told} {warnings:?}");

    // Two results: both before the files of the first.
    let results = [
        ToolResult::new("a", "f", ToolOutput::Content(vec![png()])),
        ToolResult::new("b", "f", ToolOutput::Text("2".into())),
    ];
    let calls = assistant([called("a", "f", "{}"), called("b", "f", "{}")]);
    let sent = contents(FLASH, [Message::user("Hi"), calls, Message::tool(results)]);
    let kinds: Vec<_> = sent[2]["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part.as_object().unwrap().keys().next().unwrap().clone())
        .collect();
    assert_eq!(kinds, ["functionResponse", "functionResponse", "text", "inlineData"]);
}

/// [GG-108]
#[test]
fn inputs_and_names_are_of_a_form_the_api_takes() {
    for (input, args) in [
        (r#"{ "city" : "Zürich" }"#, json!({"city": "Zürich"})),
        ("", json!({})),
        ("[1]", json!({})),
        ("{\"a\":", json!({})),
        ("null", json!({})),
        ("5", json!({})),
    ] {
        let sent = contents(
            FLASH,
            [Message::user("Hi"), assistant([called("c", "f", input)]), Message::tool([result("c", "1")])],
        );
        assert_eq!(sent[1]["parts"][0]["functionCall"]["args"], args, "{input}");
    }
    let odd = [
        Message::user("Hi"),
        assistant([called("c", "no such tool!", "{}")]),
        Message::tool([result("c", "1")]),
    ];
    let (sent, warnings) = healed(FLASH, odd.clone());
    assert_eq!(sent[1]["parts"][0]["functionCall"]["name"], "no_such_tool_");
    assert_eq!(sent[2]["parts"][0]["functionResponse"]["name"], "no_such_tool_");
    assert_eq!(warnings.len(), 1);
    let tool = ai_provider::FunctionTool::new("no such tool!", "d", json!({"type": "object"}));
    let (body, warnings) = warned(FLASH, &Request::new(odd).with_tools([ToolDefinition::Function(tool)]));
    assert_eq!(
        (body["contents"][1]["parts"][0]["functionCall"]["name"].as_str(), warnings.len()),
        (Some("no such tool!"), 0)
    );
}

/// [GG-109]
#[tokio::test]
async fn what_ran_at_the_server_and_what_is_not_known_go_back_as_they_came() {
    let parts = json!([
        {"executableCode": {"language": "PYTHON", "code": "print(1)"}, "thoughtSignature": "S"},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}},
        {"executableCode": {"id": "e1", "language": "PYTHON", "code": "x"}},
        {"codeExecutionResult": {"id": "e1", "outcome": "OUTCOME_FAILED", "output": "no"}},
        {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["q"]}, "id": "t1"}, "thoughtSignature": "T"},
        {"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "response": {"hits": 1}, "id": "t1"}},
        {"hologram": {"x": 1}, "thoughtSignature": "U"},
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}, "thoughtSignature": "V"},
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}, "thought": true},
        {"text": "done"},
    ]);
    let message = answered(&(gm(&parts.to_string()) + &stop())).await;
    let (sent, warnings) = sent_back(THIRD, message.clone());
    assert_eq!((sent, warnings), (parts, vec![]));

    let (sent, warnings) = sent_back("gemini-3-flash-preview", message.clone());
    assert!(!sent.to_string().contains("thoughtSignature") && !sent.to_string().contains("hologram"));
    assert_eq!(sent.as_array().unwrap().len(), 8, "{warnings:?}");

    // From another provider, it is left out.
    let stored = serde_json::to_string(&message).unwrap().replace(ENDPOINT, "https://other.example");
    let (sent, warnings) = sent_back(THIRD, serde_json::from_str(&stored).unwrap());
    assert_eq!(
        sent,
        json!([{"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}, {"text": "done"}])
    );
    assert!(warnings.iter().any(|warning| warning.contains("another provider ran")), "{warnings:?}");
}

/// [GG-113]
#[test]
fn parts_of_others_are_left_out_with_a_warning() {
    let custom =
        CustomPart { kind: "openai.item".into(), options: ProviderOptions::default(), metadata: None };
    let mut ran = ToolCall::new("s", "web_search", "{}");
    ran.provider_executed = true;
    let mut ran_result = ToolResult::new("s", "web_search", ToolOutput::Json(json!({})));
    ran_result.provider_executed = true;
    let parts = [
        AssistantPart::Custom(custom),
        AssistantPart::ToolCall(ran),
        AssistantPart::ToolResult(ran_result),
        AssistantPart::ReasoningFile(FilePart::new("image/png", FileData::bytes(&b"x"[..]))),
        AssistantPart::File(FilePart::new(
            "image/png",
            FileData::Url { url: "https://x.example/a.png".into() },
        )),
        AssistantPart::File(FilePart::new("image/png", FileData::bytes(&b"\x89PNG"[..]))),
        said("a"),
    ];
    let (sent, warnings) = healed(FLASH, [Message::user("Hi"), assistant(parts)]);
    assert_eq!(
        sent[1]["parts"],
        json!([{"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}, {"text": "a"}])
    );
    assert_eq!(warnings.len(), 4, "{warnings:?}");
}

/// [GG-104]
#[test]
fn metadata_without_a_maker_is_anyones() {
    let values = ProviderOptions::default().with("google", "thoughtSignature", json!("S"));
    let mut call = ToolCall::new("c", "f", "{}");
    call.metadata = Some(Box::new(ProviderMetadata { origin: None, values }));
    let sent = contents(
        THIRD,
        [Message::user("Hi"), assistant([AssistantPart::ToolCall(call)]), Message::tool([result("c", "1")])],
    );
    assert_eq!(sent[1]["parts"][0]["thoughtSignature"], "S");
    let mut call = ToolCall::new("c", "f", "{}");
    call.metadata = minted(THIRD, "thoughtSignature", json!("S"));
    let sent = contents(
        THIRD,
        [Message::user("Hi"), assistant([AssistantPart::ToolCall(call)]), Message::tool([result("c", "1")])],
    );
    assert_eq!(sent[1]["parts"][0]["thoughtSignature"], "S");
}

/// [GG-89]
#[test]
fn options_of_a_part_stand_in_the_part() {
    let options = ProviderOptions::default().with("google", "videoMetadata", json!({"fps": 1})).with(
        "google",
        "text",
        json!("no"),
    );
    let part = TextPart { options, ..TextPart::new("a") };
    let message = Message::User(UserMessage { parts: vec![UserPart::Text(part)], ..UserMessage::default() });
    assert_eq!(contents(FLASH, [message])[0]["parts"], json!([{"text": "a", "videoMetadata": {"fps": 1}}]));
    assert_eq!(Request::default().delivery, Delivery::Stream);
}
