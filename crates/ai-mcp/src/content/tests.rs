#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use proptest::prelude::*;
use serde_json::json;

use super::*;

const ROOM: usize = 1_000;

fn of(result: Value) -> Outcome {
    outcome(serde_json::from_value(result).unwrap(), ROOM)
}

fn texts(outcome: Outcome) -> Vec<String> {
    let text = |item: &ToolContent| match item {
        ToolContent::Text(part) => part.text.clone(),
        ToolContent::File(file) => {
            let size = match &file.data {
                FileData::Bytes { data } => data.len(),
                other => panic!("{other:?}"),
            };
            format!("{} {size} {}", file.media_type, file.filename.as_deref().unwrap_or("-"))
        }
        other => panic!("{other:?}"),
    };
    match outcome.unwrap() {
        ToolOutput::Text(text) => vec![text],
        ToolOutput::Content(items) => items.iter().map(text).collect(),
        other => panic!("{other:?}"),
    }
}

/// [MC-20]
#[test]
fn text_comes_as_text() {
    assert_eq!(of(json!({"content": [{"type": "text", "text": "Hi"}]})), Ok(ToolOutput::Text("Hi".into())));
    let two = json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]});
    assert_eq!(texts(of(two)), ["a", "b"]);
    assert_eq!(of(json!({"content": []})), Ok(ToolOutput::Text(String::new())));
}

/// [MC-21]
#[test]
fn images_sounds_and_pdfs_come_as_files() {
    let content = json!([
        {"type": "image", "data": "aGk=", "mimeType": "image/PNG"},
        {"type": "audio", "data": "aGk", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "file:///a/b.pdf", "mimeType": "application/pdf", "blob": "aGkh"}},
        {"type": "image", "data": "n o", "mimeType": "image/png"},
    ]);
    let told = "[image/png: cannot be decoded, it is not base64]";
    assert_eq!(
        texts(of(json!({"content": content}))),
        ["image/png 2 -", "audio/wav 2 -", "application/pdf 3 b.pdf", told]
    );
}

/// [MC-22]
#[test]
fn a_structured_result_comes_once() {
    let value = json!({"temperature": 33, "sky": "clear"});
    let again = json!({"type": "text", "text": "{\n \"sky\": \"clear\", \"temperature\": 33}"});
    let out = of(json!({"content": [again], "structuredContent": value}));
    assert_eq!(out, Ok(ToolOutput::Json(value.clone())));
    assert_eq!(of(json!({"content": [], "structuredContent": value})), Ok(ToolOutput::Json(value.clone())));
    // What says more stands beside it.
    let other = of(json!({"content": [{"type": "text", "text": "Hot."}, again], "structuredContent": value}));
    assert_eq!(texts(other), ["Hot.".to_owned(), value.to_string()]);
    let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
    assert_eq!(
        texts(of(json!({"content": [image], "structuredContent": value}))),
        ["image/png 2 -".to_owned(), value.to_string()]
    );
}

/// [MC-23]
#[test]
fn resources_come_as_text_where_they_are_text_and_are_told_of_otherwise() {
    let content = json!([
        {"type": "resource", "resource": {"uri": "demo://1", "mimeType": "text/plain", "text": "words"}},
        {"type": "resource", "resource": {"uri": "demo://2", "blob": "d29yZHM="}},
        {"type": "resource", "resource": {"uri": "demo://3.gz", "mimeType": "application/gzip", "blob": "H4sI/w=="}},
        {"type": "resource_link", "uri": "demo://4", "name": "four", "mimeType": "text/csv", "size": 9, "description": "A\nlist"},
        {"type": "resource_link", "uri": "demo://5", "name": ""},
    ]);
    assert_eq!(
        texts(of(json!({"content": content}))),
        [
            "[resource demo://1]\nwords",
            "[resource demo://2]\nwords",
            "[resource demo://3.gz (application/gzip): 4 bytes that are no text, not shown]",
            "[link to resource demo://4 (text/csv, 9 bytes): four: A list]",
            "[link to resource demo://5]",
        ]
    );
}

/// [MC-24]
#[test]
fn a_failure_is_told_in_the_servers_words() {
    let words = of(json!({"isError": true, "content": [{"type": "text", "text": "No such city."}]}));
    assert_eq!(words, Err("No such city.".to_owned()));
    let silent = of(json!({"isError": true, "content": []}));
    assert_eq!(silent, Err("the tool failed and does not say why".to_owned()));
    let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
    let structured = of(json!({"isError": true, "content": [image], "structuredContent": {"code": 4}}));
    assert_eq!(structured, Err("[image/png]\n{\"code\":4}".to_owned()));
}

/// [MC-25]
#[test]
fn what_is_too_much_is_cut_and_that_is_told() {
    let long =
        json!({"content": [{"type": "text", "text": "ä".repeat(600)}, {"type": "text", "text": "gone"}]});
    let told = "[cut off: the text is longer than 1000 bytes; ask for less]";
    assert_eq!(texts(of(long)), ["ä".repeat(500), told.to_owned()]);
    let many = json!({"content": vec![json!({"type": "text", "text": "x"}); 300]});
    let shown = texts(of(many));
    assert_eq!((shown.len(), shown.last().unwrap().as_str()), (257, "[44 further items are left out]"));
    let ToolOutput::Text(text) =
        of(json!({"content": [], "structuredContent": {"a": "x".repeat(2_000)}})).unwrap()
    else {
        panic!("not text")
    };
    assert!(text.starts_with("{\"a\":\"xxx") && text.ends_with("is longer than 1000 bytes; ask for less]"));
}

/// [MC-26]
#[test]
fn items_of_a_kind_that_is_not_known_come_as_json() {
    let result = json!({"content": [{"type": "text", "text": "a"}, {"type": "hologram", "size": 3}], "isError": false});
    assert_eq!(texts(lenient(&result, ROOM).unwrap()), ["a", r#"{"size":3,"type":"hologram"}"#]);
    assert_eq!(lenient(&json!({"content": "text"}), ROOM), None);
    assert_eq!(lenient(&json!({"weather": "fine"}), ROOM), None);
    let failed = json!({"content": [{"type": "hologram"}], "isError": true});
    assert_eq!(lenient(&failed, ROOM), Some(Err(r#"{"type":"hologram"}"#.to_owned())));
}

fn block() -> impl Strategy<Value = Value> {
    let media = ("(image|audio|text|application)/[a-z]{0,4}", "[a-zA-Z0-9+/=]{0,40}");
    prop_oneof![
        any::<String>().prop_map(|text| json!({"type": "text", "text": text})),
        media.prop_map(|(kind, data)| json!({"type": "image", "data": data, "mimeType": kind})),
        (any::<String>(), media).prop_map(|(uri, (kind, data))| {
            json!({"type": "resource", "resource": {"uri": uri, "mimeType": kind, "blob": data}})
        }),
        any::<String>().prop_map(|name| json!({"type": "resource_link", "uri": name, "name": name})),
        any::<String>().prop_map(|kind| json!({"type": kind})),
    ]
}

proptest! {
    /// [MC-25]
    #[test]
    fn whatever_comes_is_bounded(blocks in prop::collection::vec(block(), 0..40), room in 0usize..200) {
        let out = lenient(&json!({"content": blocks}), room).unwrap().unwrap();
        let text: usize = match &out {
            ToolOutput::Text(text) => text.len(),
            ToolOutput::Content(items) => items.iter().map(|item| match item {
                ToolContent::Text(part) => part.text.len(),
                _ => 0,
            }).sum(),
            other => panic!("{other:?}"),
        };
        prop_assert!(text <= room + 100, "{} bytes where {} fit", text, room);
    }
}
