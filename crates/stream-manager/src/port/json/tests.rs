use serde_json::{Value, json};

use super::*;

fn nested(levels: usize) -> Value {
    (0..levels).fold(
        json!("[{\"\\"),
        |inner, level| if level % 2 == 0 { json!([inner]) } else { json!({"{[": inner}) },
    )
}

/// [SM-101]
#[test]
fn json_is_kept_as_deep_as_the_limit_and_refused_beyond() {
    for levels in [0, 1, 126, 127, 128, 129, 200, MAX_DEPTH] {
        let value = nested(levels);
        let text = encode(&value).unwrap();
        assert_eq!(depth(&text), levels);
        assert_eq!(decode::<Value>(&text).unwrap(), value);
        assert_eq!(decode::<Value>(&format!("{text}]")).unwrap_err().kind(), StoreErrorKind::Corrupt);
    }
    assert_eq!(encode(&nested(MAX_DEPTH + 1)).unwrap_err().kind(), StoreErrorKind::Conflict);
    let text = nested(MAX_DEPTH + 1).to_string();
    assert_eq!(decode::<Value>(&text).unwrap_err().kind(), StoreErrorKind::Corrupt);
    let hostile = "[".repeat(1 << 20);
    assert_eq!(decode::<Value>(&hostile).unwrap_err().kind(), StoreErrorKind::Corrupt);
}
