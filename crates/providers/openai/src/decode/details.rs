use ai_provider::{ErrorClass, JsonObject, ModelError};
use serde_json::Value;
use serde_json::value::RawValue;

/// Bytes of reasoning in its maker's own form: it says twice what the reasoning says, and holds its seals.
const MAX_BYTES: usize = 64 << 20;

/// Reasoning in its maker's own form (`reasoning_details`), piece by piece: it must go back as it came.
#[derive(Debug, Default)]
pub(super) struct Details {
    /// A list of JSON without its brackets.
    list: String,
}

impl Details {
    pub(super) fn add(&mut self, details: &RawValue) -> Result<(), ModelError> {
        let list = details.get().trim().strip_prefix('[').and_then(|list| list.strip_suffix(']'));
        let Some(list) = list.map(str::trim).filter(|list| !list.is_empty()) else { return Ok(()) };
        if self.list.len().saturating_add(list.len()) > MAX_BYTES {
            let message = format!("the details of the reasoning have more than {MAX_BYTES} bytes");
            return Err(ModelError::new(ErrorClass::TooLarge, message));
        }
        if !self.list.is_empty() {
            self.list.push(',');
        }
        self.list.push_str(list);
        Ok(())
    }

    /// What came since the last time, the pieces of each entry put together.
    pub(super) fn take(&mut self) -> Option<Value> {
        let list = std::mem::take(&mut self.list);
        if list.is_empty() {
            return None;
        }
        let pieces: Vec<JsonObject> = serde_json::from_str(&format!("[{list}]")).ok()?;
        let mut entries: Vec<JsonObject> = Vec::new();
        for piece in pieces {
            match entries.last_mut().filter(|last| continues(last, &piece)) {
                Some(last) => join(last, piece),
                None => entries.push(piece),
            }
        }
        Some(entries.into_iter().map(Value::Object).collect())
    }
}

/// Texts come in pieces; what is sealed comes whole.
fn continues(entry: &JsonObject, piece: &JsonObject) -> bool {
    let same = |key: &str| entry.get(key) == piece.get(key);
    let in_pieces =
        ["text", "summary"].iter().any(|key| piece.contains_key(*key)) || piece.contains_key("signature");
    in_pieces && same("type") && same("index") && (same("id") || entry.get("id").is_none_or(Value::is_null))
}

fn join(entry: &mut JsonObject, piece: JsonObject) {
    for (key, value) in piece {
        match (entry.get_mut(&key), value) {
            (Some(Value::String(text)), Value::String(more))
                if ["text", "summary"].contains(&key.as_str()) =>
            {
                text.push_str(&more);
            }
            (Some(_), Value::Null) => {}
            (_, value) => drop(entry.insert(key, value)),
        }
    }
}
