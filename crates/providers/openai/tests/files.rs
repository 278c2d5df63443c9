//! Files of users and tools.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod support;

use ai_provider::{
    ErrorClass, FileData, FilePart, Message, ProviderOptions, Request, TextPart, ToolContent, ToolOutput,
    ToolResult, UserMessage, UserPart,
};
use serde_json::json;
use support::history::{assistant, call, healed, messages, result, wire_result};
use support::{body, dialect, encoded};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// [OA-88]
#[test]
fn images_of_tools_follow_all_their_text_in_one_user_message() {
    let image = || ToolContent::File(FilePart::new("image/png", FileData::bytes(PNG)));
    let both = ToolOutput::Content(vec![ToolContent::Text(TextPart::new("look")), image()]);
    let only = ToolOutput::Content(vec![image()]);
    let history = || {
        [
            Message::user("Hi"),
            assistant([call("a", "f", "{}"), call("b", "f", "{}"), call("c", "f", "{}")]),
            Message::tool([
                ToolResult::new("a", "f", both.clone()),
                result("b", "2"),
                ToolResult::new("c", "f", only.clone()),
            ]),
        ]
    };
    let wire = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}});
    assert_eq!(
        messages("openai", history()).as_array().unwrap()[2..],
        [
            wire_result("a", "look"),
            wire_result("b", "2"),
            wire_result("c", "(the files follow in the next message)"),
            json!({"role": "user", "content": [
                {"type": "text", "text": "From tool call a:"}, wire,
                {"type": "text", "text": "From tool call c:"}, wire,
            ]}),
        ]
    );
    let (sent, warnings) = healed("deepseek", history());
    assert_eq!(sent.as_array().unwrap().len(), 5);
    assert!(sent[2]["content"].as_str().unwrap().starts_with("look\n(a file of type image/png was left out"));
    assert!(sent[4]["content"].as_str().unwrap().starts_with("(a file of type image/png was left out"));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
}

fn with_file(file: FilePart) -> Request {
    let parts = vec![UserPart::Text(TextPart::new("see")), UserPart::File(file)];
    Request::new([Message::User(UserMessage { parts, ..UserMessage::default() })])
}

/// [OA-89]
#[test]
fn each_file_goes_in_the_form_the_api_has_for_it() {
    let bytes = |media_type: &str, data: &'static [u8]| FilePart::new(media_type, FileData::bytes(data));
    let url = |media_type: &str| FilePart::new(media_type, FileData::Url { url: "https://x/f".into() });
    let mut detailed = url("image");
    detailed.options = ProviderOptions::default().with("openai", "detail", json!("low"));
    let mut named = FilePart::new("text/plain", FileData::Text { text: "hello".into() });
    named.filename = Some("a.txt".into());
    let ids = [("openai".to_owned(), "file-1".to_owned())].into();
    let cases = [
        (
            "openai",
            bytes("image/png", PNG),
            json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}),
        ),
        (
            "openai",
            bytes("image", PNG),
            json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}),
        ),
        (
            "openai",
            detailed,
            json!({"type": "image_url", "image_url": {"url": "https://x/f", "detail": "low"}}),
        ),
        (
            "openai",
            bytes("audio/mpeg", b"a"),
            json!({"type": "input_audio", "input_audio": {"data": "YQ==", "format": "mp3"}}),
        ),
        (
            "openai",
            bytes("application/pdf", b"a"),
            json!({"type": "file", "file": {"filename": "document.pdf", "file_data": "data:application/pdf;base64,YQ=="}}),
        ),
        (
            "openai",
            FilePart::new("application/pdf", FileData::Reference { ids }),
            json!({"type": "file", "file": {"file_id": "file-1"}}),
        ),
        ("openai", bytes("text/plain", b"hello"), json!({"type": "text", "text": "hello"})),
        ("deepseek", named, json!({"type": "text", "text": "a.txt:\nhello"})),
        ("generic", url("video/mp4"), json!({"type": "video_url", "video_url": {"url": "https://x/f"}})),
    ];
    for (name, file, wire) in cases {
        let sent = body(name, &with_file(file));
        assert_eq!(sent["messages"][0]["content"], json!([{"type": "text", "text": "see"}, wire]), "{name}");
    }
}

/// [OA-90]
#[test]
fn a_file_the_api_has_no_form_for_is_an_error() {
    let url = |media_type: &str| FilePart::new(media_type, FileData::Url { url: "https://x/f".into() });
    let foreign = FileData::Reference { ids: [("anthropic".to_owned(), "1".to_owned())].into() };
    for (name, file, class) in [
        ("deepseek", url("image/png"), ErrorClass::Unsupported),
        ("openai", url("video/mp4"), ErrorClass::Unsupported),
        ("openai", url("application/pdf"), ErrorClass::Unsupported),
        ("openai", url("application/zip"), ErrorClass::Unsupported),
        ("openai", url("audio/wav"), ErrorClass::Unsupported),
        ("openai", url("text/plain"), ErrorClass::Unsupported),
        ("openai", FilePart::new("audio/ogg", FileData::bytes(PNG)), ErrorClass::Unsupported),
        ("openai", FilePart::new("application/pdf", foreign.clone()), ErrorClass::Unsupported),
        ("openai", FilePart::new("image/png", foreign), ErrorClass::Unsupported),
        ("openai", FilePart::new("image/*", FileData::bytes(&b"?"[..])), ErrorClass::InvalidRequest),
        ("openai", FilePart::new("text/plain", FileData::bytes(&b"\xff"[..])), ErrorClass::InvalidRequest),
    ] {
        let error = encoded(&dialect(name), "m", &with_file(file.clone())).unwrap_err();
        assert_eq!(error.class(), class, "{name} {file:?}");
    }
}
