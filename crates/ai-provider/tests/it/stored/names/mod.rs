//! The names in stored JSON. They are a promise: a history that was stored once must load for ever.

mod content;
mod records;

use serde::Serialize;
use serde_json::{Value, json};

use ai_provider::*;

fn is(value: &impl Serialize, expected: Value) {
    assert_eq!(serde_json::to_value(value).unwrap(), expected);
}

fn attached() -> Option<Box<ProviderMetadata>> {
    let origin = Origin {
        target: TargetId::new("google", "gemini", "https://g.example"),
        account: Some("team".into()),
    };
    let values = ProviderOptions::default().with("google", "thoughtSignature", json!("c2ln"));
    Some(Box::new(ProviderMetadata::minted(origin, values)))
}

fn attached_json() -> Value {
    json!({
        "origin": {
            "provider": "google", "model": "gemini", "endpoint": "https://g.example", "account": "team",
        },
        "values": { "google": { "thoughtSignature": "c2ln" } },
    })
}

fn options() -> ProviderOptions {
    ProviderOptions::default().with("anthropic", "cacheControl", json!({ "type": "ephemeral" }))
}

fn options_json() -> Value {
    json!({ "anthropic": { "cacheControl": { "type": "ephemeral" } } })
}

fn file() -> FilePart {
    FilePart {
        filename: Some("a.png".into()),
        options: options(),
        metadata: attached(),
        ..FilePart::new("image/png", FileData::bytes(vec![0xfb, 0xff, 0xfe, 0x00]))
    }
}

fn file_json(kind: &str) -> Value {
    json!({
        "type": kind,
        "mediaType": "image/png",
        "data": { "type": "bytes", "data": "+//+AA==" },
        "filename": "a.png",
        "providerOptions": options_json(),
        "providerMetadata": attached_json(),
    })
}

fn custom() -> CustomPart {
    CustomPart { kind: "google.thing".into(), options: options(), metadata: attached() }
}

fn custom_json() -> Value {
    json!({
        "type": "custom", "kind": "google.thing", "providerOptions": options_json(), "providerMetadata": attached_json(),
    })
}
