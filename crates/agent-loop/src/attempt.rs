use ai_provider::{AttemptEnd, AttemptEvent, AttemptKind};
use serde_json::{Value, json};

use crate::ui::{DataChunk, UiChunk, UiSettings};

/// What a client is told of an attempt: which model, and how it went. Labels of keys, endpoints and the words
/// of the server stay here.
pub(crate) fn attempt_chunk(event: AttemptEvent, settings: &UiSettings) -> UiChunk {
    let mut data = match event.kind {
        AttemptKind::Started => json!({ "type": "started" }),
        AttemptKind::Failed { error, safe, .. } => json!({
            "type": "failed",
            "class": error.class,
            "safe": safe,
            "errorText": settings.error_text(&error),
        }),
        AttemptKind::Rotated { .. } => json!({ "type": "rotated" }),
        AttemptKind::FellBack { from } => {
            json!({ "type": "fell-back", "from": { "provider": from.provider, "model": from.model } })
        }
        AttemptKind::Skipped { .. } => json!({ "type": "skipped" }),
        AttemptKind::Waiting { delay, .. } => {
            let delay = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
            json!({ "type": "waiting", "delayMs": delay })
        }
        AttemptKind::Settled { end } => {
            let end = match end {
                AttemptEnd::Answered { .. } => "answered",
                AttemptEnd::Cancelled => "cancelled",
                _ => "failed",
            };
            json!({ "type": "settled", "end": end })
        }
        _ => json!({ "type": "other" }),
    };
    if let Value::Object(data) = &mut data {
        data.insert("attempt".to_owned(), event.attempt.into());
        data.insert("provider".to_owned(), event.target.provider.into());
        data.insert("model".to_owned(), event.target.model.into());
    }
    UiChunk::Data(DataChunk { name: "attempt".to_owned(), id: None, data, transient: Some(true) })
}

#[cfg(test)]
mod tests;
