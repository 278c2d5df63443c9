use ai_provider::{AttemptEnd, AttemptEvent, TargetId};
use serde_json::{Value, json};

use crate::ui::{DataChunk, UiChunk, UiSettings};

/// What a client is told of an attempt: which model, and how it went. Labels of keys, endpoints and the words
/// of the server stay here.
pub(crate) fn attempt_chunk(attempt: AttemptEvent, settings: &UiSettings) -> UiChunk {
    let data = match attempt {
        AttemptEvent::Started { attempt, target, .. } => {
            with_target(target, json!({ "type": "started", "attempt": attempt }))
        }
        AttemptEvent::Retrying(notice) => {
            let delay = u64::try_from(notice.delay.as_millis()).unwrap_or(u64::MAX);
            let data = json!({
                "type": "retrying",
                "attempt": notice.attempt,
                "delayMs": delay,
                "class": notice.cause.class,
                "errorText": settings.error_text(&notice.cause),
            });
            with_target(notice.target, data)
        }
        AttemptEvent::Settled { attempts, target, end } => {
            let end = match end {
                AttemptEnd::Answered => "answered",
                AttemptEnd::Cancelled => "cancelled",
                _ => "failed",
            };
            with_target(target, json!({ "type": "settled", "attempts": attempts, "end": end }))
        }
        _ => json!({ "type": "other" }),
    };
    UiChunk::Data(DataChunk { name: "attempt".to_owned(), id: None, data, transient: Some(true) })
}

fn with_target(target: TargetId, mut data: Value) -> Value {
    if let Some(data) = data.as_object_mut() {
        data.insert("provider".to_owned(), target.provider.into());
        data.insert("model".to_owned(), target.model.into());
    }
    data
}

#[cfg(test)]
mod tests;
