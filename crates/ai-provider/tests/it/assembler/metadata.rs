use ai_provider::*;
use serde_json::{Value, json};

use super::whole;

fn attached(origin: Option<&str>, key: &str, value: Value) -> Option<Box<ProviderMetadata>> {
    let origin = origin.map(|model| Origin {
        target: TargetId::new("anthropic", model, "https://a.example"),
        account: None,
    });
    let values = ProviderOptions::default().with("anthropic", key, value);
    Some(Box::new(ProviderMetadata { origin, values }))
}

fn reasoning(metadata: [Option<Box<ProviderMetadata>>; 4]) -> ProviderMetadata {
    let [start, first, second, end] = metadata;
    let id = || Id::from("0");
    let assembled = whole(&[
        StreamPart::ReasoningStart { id: id(), metadata: start },
        StreamPart::ReasoningDelta { id: id(), delta: "Hm".into(), metadata: first },
        StreamPart::ReasoningDelta { id: id(), delta: String::new(), metadata: second },
        StreamPart::ReasoningEnd { id: id(), metadata: end },
    ]);
    let [AssistantPart::Reasoning(part)] = assembled.message.parts.as_slice() else {
        panic!("{assembled:?}")
    };
    assert_eq!(part.text, "Hm");
    *part.metadata.clone().unwrap()
}

fn text(metadata: [Option<Box<ProviderMetadata>>; 3]) -> ProviderMetadata {
    let [start, delta, end] = metadata;
    let id = || Id::from("0");
    let assembled = whole(&[
        StreamPart::TextStart { id: id(), metadata: start },
        StreamPart::TextDelta { id: id(), delta: "Hi".into(), metadata: delta },
        StreamPart::TextEnd { id: id(), metadata: end },
    ]);
    let [AssistantPart::Text(part)] = assembled.message.parts.as_slice() else { panic!("{assembled:?}") };
    *part.metadata.clone().unwrap()
}

/// [PV-34]
#[test]
fn a_signature_is_kept_wherever_in_its_block_it_comes() {
    let signature = || attached(Some("m"), "signature", json!("c2ln"));
    for at in 0..4 {
        let mut metadata = [const { None }; 4];
        metadata[at] = signature();
        assert_eq!(Some(Box::new(reasoning(metadata))), signature(), "at {at}");
    }
    for at in 0..3 {
        let mut metadata = [const { None }; 3];
        metadata[at] = signature();
        assert_eq!(Some(Box::new(text(metadata))), signature(), "at {at}");
    }
}

/// [PV-34]
#[test]
fn later_metadata_is_merged_over_earlier() {
    let merged = reasoning([
        attached(Some("first"), "itemId", json!("rs_1")),
        attached(None, "summary", json!({ "a": 1, "list": [1, 2] })),
        attached(None, "summary", json!({ "b": 2, "list": [3] })),
        attached(Some("second"), "itemId", json!("rs_2")),
    ]);
    let values = merged.get("anthropic").unwrap();
    assert_eq!(values.get("itemId"), Some(&json!("rs_2")));
    assert_eq!(values.get("summary"), Some(&json!({ "a": 1, "b": 2, "list": [3] })));
    assert_eq!(merged.origin.unwrap().target.model, "second");

    let merged = text([attached(Some("first"), "a", json!(1)), attached(None, "b", json!(2)), None]);
    assert_eq!(merged.origin.unwrap().target.model, "first", "who minted it is not forgotten");
}
