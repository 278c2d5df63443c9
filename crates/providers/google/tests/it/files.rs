//! Files of users.

use ai_google::GenerateContentCodec;
use ai_http::{CallInfo, Codec, Endpoint, IdSeed};
use ai_provider::{
    Delivery, ErrorClass, FileData, FilePart, Message, ProviderOptions, Request, RequestId, TargetId,
    UserMessage, UserPart,
};
use serde_json::{Value, json};

use crate::support::{ENDPOINT, body, encoded};

fn request(file: FilePart) -> Request {
    Request::new([Message::User(UserMessage { parts: vec![UserPart::File(file)], ..UserMessage::default() })])
}

fn part(model: &str, file: FilePart) -> Value {
    body(model, &request(file))["contents"][0]["parts"][0].clone()
}

const FLASH: &str = "gemini-2.5-flash";

/// [GG-110]
#[test]
fn files_at_hand_go_within_the_request() {
    let png = || FileData::bytes(&b"\x89PNG"[..]);
    let inline = |mime: &str, data: &str| json!({"inlineData": {"mimeType": mime, "data": data}});
    for (media_type, data, expected) in [
        ("image/png", png(), inline("image/png", "iVBORw==")),
        ("image/*", png(), inline("image/png", "iVBORw==")),
        ("image", png(), inline("image/png", "iVBORw==")),
        ("audio/wav", FileData::bytes(&b"RIFF"[..]), inline("audio/wav", "UklGRg==")),
        ("video/mp4", FileData::bytes(&b"mp4"[..]), inline("video/mp4", "bXA0")),
        ("application/pdf", FileData::bytes(&b"%PDF"[..]), inline("application/pdf", "JVBERg==")),
        ("text/csv", FileData::Text { text: "a,b".into() }, inline("text/csv", "YSxi")),
        ("text", FileData::Text { text: "a".into() }, inline("text/plain", "YQ==")),
    ] {
        assert_eq!(part(FLASH, FilePart::new(media_type, data)), expected, "{media_type}");
    }
    let mut file = FilePart::new("video/mp4", FileData::bytes(&b"mp4"[..]));
    file.options = ProviderOptions::default().with("google", "videoMetadata", json!({"fps": 2}));
    assert_eq!(part(FLASH, file)["videoMetadata"], json!({"fps": 2}));
}

/// [GG-110]
#[test]
fn a_file_the_model_or_the_api_cannot_take_is_an_error() {
    let bytes = || FileData::bytes(&b"x"[..]);
    for (model, media_type, data, class) in [
        ("gemma-3-27b-it", "audio/wav", bytes(), ErrorClass::Unsupported),
        (FLASH, "application/zip", bytes(), ErrorClass::Unsupported),
        (FLASH, "image", bytes(), ErrorClass::InvalidRequest),
        (FLASH, "audio/*", bytes(), ErrorClass::InvalidRequest),
        (
            FLASH,
            "image/png",
            FileData::Url { url: "https://x.example/a.png".into() },
            ErrorClass::Unsupported,
        ),
        (
            FLASH,
            "image/png",
            FileData::Reference { ids: [("openai".to_owned(), "f".to_owned())].into() },
            ErrorClass::Unsupported,
        ),
    ] {
        let error = encoded(model, &request(FilePart::new(media_type, data))).unwrap_err();
        assert_eq!(error.class(), class, "{model} {media_type}: {error}");
    }
}

/// [GG-128]
#[test]
fn files_at_urls_go_by_url_where_google_gets_them() {
    let codec = GenerateContentCodec::new(Endpoint::base(ENDPOINT).unwrap());
    let target = TargetId::new("google", FLASH, ENDPOINT);
    let ids = IdSeed::new(&RequestId::from("r"));
    let info = CallInfo { target: &target, account: None, delivery: Delivery::Stream, ids };
    for (url, fetched) in [
        ("https://generativelanguage.googleapis.com/v1beta/files/abc", true),
        ("gs://bucket/a.mp4", true),
        ("https://www.youtube.com/watch?v=1", true),
        ("https://youtu.be/1", true),
        ("HTTPS://YouTu.be/1", true),
        (&format!("{ENDPOINT}/files/abc"), true),
        ("https://x.example/a.mp4", false),
        ("https://generativelanguage.googleapis.com.evil.example/files/abc", false),
        ("http://youtu.be.evil.example/", false),
    ] {
        let file = FilePart::new("video/mp4", FileData::Url { url: url.to_owned() });
        assert_eq!(codec.must_download(&file, &info), !fetched, "{url}");
        if fetched {
            assert_eq!(part(FLASH, file), json!({"fileData": {"mimeType": "video/mp4", "fileUri": url}}));
        }
    }
    let here = FilePart::new("video/mp4", FileData::bytes(&b"x"[..]));
    assert!(!codec.must_download(&here, &info));
    let uploaded = |id: &str| {
        FilePart::new("image", FileData::Reference { ids: [("google".to_owned(), id.to_owned())].into() })
    };
    let uri = format!("{ENDPOINT}/files/abc");
    assert_eq!(part(FLASH, uploaded("files/abc")), json!({"fileData": {"fileUri": uri}}));
    assert_eq!(part(FLASH, uploaded("gs://b/x")), json!({"fileData": {"fileUri": "gs://b/x"}}));
}
