//! Files of users and of tools.

use ai_provider::{
    ErrorClass, FileData, FilePart, Message, ProviderOptions, Request, TextPart, ToolContent, ToolOutput,
    ToolResult, UserMessage, UserPart,
};
use serde_json::{Value, json};

use crate::support::history::{assistant, call, healed, messages, result, text, tool_result, turn};
use crate::support::{MODEL, betas, body, encoded, warned};

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

/// [AN-119]
#[tokio::test]
async fn what_the_server_does_not_fetch_is_wanted_at_hand() {
    use ai_http::{CallInfo, Codec, Endpoint, IdSeed};
    let codec = ai_anthropic::MessagesCodec::new(Endpoint::base("http://h/v1").unwrap());
    let target = ai_provider::TargetId::new("anthropic", MODEL, "http://h/v1");
    let ids = IdSeed::new(&"r".into());
    let info = CallInfo { target: &target, account: None, delivery: Default::default(), ids };
    for (media_type, data, wanted) in [
        ("text/csv; charset=utf-8", url("https://a/b.csv"), true),
        ("image/png", url("https://a/b.png"), false),
        ("image", url("https://a/b"), false),
        ("Application/PDF", url("https://a/b.pdf"), false),
        ("image/png", url("data:image/png;base64,iVBORw=="), true),
        ("application/pdf", url("DATA:application/pdf;base64,JVBERg=="), true),
        ("application/zip", url("https://a/b.zip"), false),
        ("text/plain", FileData::Text { text: "hi".into() }, false),
    ] {
        assert_eq!(codec.must_download(&FilePart::new(media_type, data), &info), wanted, "{media_type}");
    }
    let transport = ai_testkit::MemoryTransport::new().reply(ai_testkit::MemoryReply::ok("{}"));
    let model = crate::support::model(MODEL, transport.clone());
    let image = file("image/png", url("data:image/png;base64,iVBORw=="));
    let _ = ai_testkit::collect(model.stream(Request::new([image]), Default::default())).await;
    let sent: Value = serde_json::from_slice(&transport.calls()[0].body).unwrap();
    assert_eq!(sent["messages"][0]["content"][0]["source"]["data"], "iVBORw==");
}
