use std::collections::BTreeSet;

use serde_json::json;

use super::super::samples::{chunks, text};
use super::*;

/// Every chunk, as the latest level has it.
const GOLDEN: &str = include_str!("../../../tests/golden/level-latest.jsonl");

/// [AL-1] [AL-2]
#[test]
fn every_type_has_its_golden_form() {
    let mut kinds = BTreeSet::new();
    let (chunks, lines) = (chunks(), GOLDEN.lines().collect::<Vec<_>>());
    for (chunk, line) in chunks.iter().zip(&lines) {
        assert_eq!(serde_json::to_string(chunk).unwrap(), *line);
        assert_eq!(serde_json::from_str::<UiChunk>(line).unwrap(), *chunk);
        let value: Value = serde_json::from_str(line).unwrap();
        let kind = value["type"].as_str().unwrap();
        assert!(kind == chunk.kind() || kind == "data-weather" && chunk.kind() == "data-", "{kind}");
        kinds.insert(chunk.kind());
    }
    assert_eq!((chunks.len(), kinds.len()), (lines.len(), 30));
}

/// [AL-3]
#[test]
fn reading_is_tolerant_of_fields_alone() {
    let read = |json: &str| serde_json::from_str::<UiChunk>(json);
    let refused = |json: &str| read(json).unwrap_err().to_string();
    assert_eq!(read(r#"{"new":[1],"type":"start-step","x":{}}"#).unwrap(), UiChunk::StartStep);
    let delta = read(r#"{"type":"text-delta","delta":"x","citations":[],"id":"1"}"#).unwrap();
    assert_eq!(delta.kind(), "text-delta");
    // JSON of another language leaves out what it does not know.
    let available = read(r#"{"type":"tool-input-available","toolCallId":"c","toolName":"t"}"#).unwrap();
    assert!(matches!(available, UiChunk::ToolInputAvailable { input: Value::Null, .. }));

    assert!(refused(r#"{"type":"steering","id":"1"}"#).contains("unknown variant `steering`"));
    assert!(refused(r#"{"id":"1"}"#).contains("missing field `type`"));
    assert!(refused(r#"{"type":"text-delta","id":"1"}"#).contains("missing field `delta`"));
    assert!(refused(r#"{"type":"text-delta","id":"1","delta":5}"#).contains("expected a string"));
    assert!(refused(r#"{"type":"finish","finishReason":"tired"}"#).contains("unknown variant `tired`"));
    assert!(
        refused(r#"{"type":"steering-message","id":"1","parts":[{"type":"audio"}]}"#).contains("`audio`")
    );
    assert!(refused(r#"{"type":"data"}"#).contains("unknown variant `data`"));
    assert!(refused(r#"{"type":7}"#).contains("invalid type"));
    assert!(refused(r#""start-step""#).contains("invalid type"));
}

/// [AL-4]
#[test]
fn data_of_any_name() {
    for name in ["weather", "", "data-data", "über uns", "\"quoted\""] {
        let chunk = UiChunk::Data(DataChunk {
            name: name.to_owned(),
            id: text("1"),
            data: json!({"type": "inner", "id": 2}),
            transient: Some(true),
        });
        let json = serde_json::to_value(&chunk).unwrap();
        assert_eq!(json["type"], format!("data-{name}"));
        assert_eq!(serde_json::from_value::<UiChunk>(json).unwrap(), chunk);
    }
    let wrong = serde_json::from_str::<UiChunk>(r#"{"type":"data-x","transient":"yes"}"#).unwrap_err();
    assert!(wrong.to_string().contains("expected a boolean"), "{wrong}");
}
