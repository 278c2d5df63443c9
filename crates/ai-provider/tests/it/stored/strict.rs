use ai_provider::*;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn refused<T: DeserializeOwned + std::fmt::Debug>(value: Value) -> String {
    serde_json::from_value::<T>(value).unwrap_err().to_string()
}

/// [PV-9]
#[test]
fn what_is_absent_is_not_written() {
    let written = |value: &StreamPart| serde_json::to_value(value).unwrap();
    assert_eq!(
        written(&StreamPart::ToolCall(Box::new(ToolCall::new("c", "t", "{}")))),
        json!({ "type": "tool-call", "toolCallId": "c", "toolName": "t", "input": "{}" })
    );
    assert_eq!(
        written(&StreamPart::ToolResult(Box::new(ToolResult::new("c", "t", ToolOutput::Json(Value::Null))))),
        json!({
            "type": "tool-result", "toolCallId": "c", "toolName": "t",
            "output": { "type": "json", "value": null },
        })
    );
    assert_eq!(
        written(&StreamPart::text_delta("0", "")),
        json!({ "type": "text-delta", "id": "0", "delta": "" })
    );
    assert_eq!(
        written(&StreamPart::ResponseMetadata(Box::default())),
        json!({ "type": "response-metadata" })
    );
    assert_eq!(
        written(&StreamPart::File(Box::new(FilePart::new("image", FileData::Url { url: "u".into() })))),
        json!({ "type": "file", "mediaType": "image", "data": { "type": "url", "url": "u" } })
    );
    let finish = Finish { reason: UnifiedFinish::Stop.into(), usage: Usage::default(), metadata: None };
    assert_eq!(
        written(&StreamPart::Finish(Box::new(finish))),
        json!({
            "type": "finish", "finishReason": { "unified": "stop" }, "usage": { "input": {}, "output": {} },
        })
    );
    assert_eq!(serde_json::to_value(Settings::default()).unwrap(), json!({}));
    assert_eq!(serde_json::to_value(Message::system("s")).unwrap(), json!({ "role": "system", "text": "s" }));
}

/// [PV-9]
#[test]
fn what_is_absent_reads_as_its_default() {
    assert_eq!(serde_json::from_value::<Usage>(json!({})).unwrap(), Usage::default());
    assert_eq!(serde_json::from_value::<Settings>(json!({})).unwrap(), Settings::default());
    assert_eq!(serde_json::from_value::<Capabilities>(json!({})).unwrap(), Capabilities::default());
    let media: MediaSupport = serde_json::from_value(json!({ "pdf": true })).unwrap();
    assert!(media.pdf && !media.image);
    let call: ToolCall =
        serde_json::from_value(json!({ "toolCallId": "c", "toolName": "t", "input": "{}" })).unwrap();
    assert_eq!(call, ToolCall::new("c", "t", "{}"));
    let usage: Usage = serde_json::from_value(json!({ "raw": null, "input": { "total": null } })).unwrap();
    assert_eq!(usage, Usage::default());
}

/// [PV-11]
#[test]
fn a_number_json_cannot_say_is_stored_as_absent() {
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut settings = Settings::default();
        (settings.temperature, settings.top_k) = (Some(number), Some(5));
        let text = serde_json::to_string(&settings).unwrap();
        let again: Settings = serde_json::from_str(&text).unwrap();
        assert_eq!((again.temperature, again.top_k), (None, Some(5)), "{text}");
    }
}

/// [PV-10]
#[test]
fn an_unknown_count_is_absent_and_zero_is_zero() {
    let mut usage = Usage::default();
    usage.input.cache_read = Some(0);
    usage.output.total = Some(0);
    let stored = serde_json::to_value(&usage).unwrap();
    assert_eq!(stored, json!({ "input": { "cacheRead": 0 }, "output": { "total": 0 } }));
    let again: Usage = serde_json::from_value(stored).unwrap();
    assert_eq!((again.input.cache_read, again.input.total), (Some(0), None));
    assert_eq!((again.output.total, again.output.reasoning), (Some(0), None));
    for bad in [json!(-1), json!(1.5), json!("1"), json!(18_446_744_073_709_551_616_u128 as f64)] {
        refused::<Usage>(json!({ "input": { "total": bad } }));
    }
}

/// [PV-12]
#[test]
fn bytes_are_stored_as_base64_and_nothing_else_passes_for_them() {
    let data = FileData::bytes((0..=255).collect::<Vec<u8>>());
    let stored = serde_json::to_value(&data).unwrap();
    let text = stored["data"].as_str().unwrap();
    assert!(text.starts_with("AAECAwQF") && text.ends_with("/P3+/w=="), "{text}");
    assert_eq!(data.to_base64().as_deref(), Some(text));
    assert_eq!(serde_json::from_value::<FileData>(stored).unwrap(), data);
    for bad in ["*", "AA", "AA=", "AAE-_w==", "AA==AA==", " AA==", "AB=="] {
        refused::<FileData>(json!({ "type": "bytes", "data": bad }));
    }
    refused::<FileData>(json!({ "type": "bytes", "data": [0, 1] }));
    refused::<FileData>(json!({ "type": "bytes" }));
}

/// [PV-13]
#[test]
fn unknown_names_and_missing_fields_are_errors_that_name_them() {
    assert!(refused::<Message>(json!({ "role": "oracle", "parts": [] })).contains("oracle"));
    assert!(refused::<Message>(json!({ "parts": [] })).contains("role"));
    assert!(refused::<Message>(json!({ "role": "user" })).contains("parts"));
    assert!(refused::<StreamPart>(json!({ "type": "text_start", "id": "0" })).contains("text_start"));
    assert!(refused::<StreamPart>(json!({ "type": "text-delta", "id": "0" })).contains("delta"));
    assert!(refused::<StreamPart>(json!({ "id": "0" })).contains("type"));
    assert!(refused::<UserPart>(json!({ "type": "tool-call", "toolCallId": "c" })).contains("tool-call"));
    assert!(refused::<ErrorClass>(json!("RateLimit")).contains("RateLimit"));
    assert!(
        refused::<ToolCall>(json!({ "toolCallId": "c", "toolName": "t", "input": {} })).contains("string")
    );
    assert!(refused::<FinishReason>(json!({ "raw": "stop" })).contains("unified"));
    assert!(refused::<ToolOutput>(json!({ "type": "text", "value": 1 })).contains("string"));
}
