use std::fmt;

use serde_json::{Value, json};

use super::chunk::UiChunk;
use super::data::DataChunk;
use super::read_error::UiReadError;
use super::word::UiFinishReason;

/// A level of the UI message stream: which chunks and fields a client knows.
///
/// A client refuses the whole stream at the first type it does not know, so a stream is written at the level of
/// the oldest client that reads it.
///
/// | chunk | 5 | 6 | 7 | latest |
/// |---|---|---|---|---|
/// | `tool-approval-request`, `tool-output-denied` | replaced | yes | yes | yes |
/// | `custom`, `reasoning-file`, `reset-step` | left out | left out | yes | yes |
/// | `tool-approval-response` | replaced | left out | yes | yes |
/// | `steering-message` | replaced | replaced | replaced | yes |
/// | all others | yes | yes | yes | yes |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum UiProtocol {
    /// The npm package `ai` 5.
    V5,
    /// The npm package `ai` 6.
    V6,
    /// The npm package `ai` 7.0.77.
    #[default]
    V7,
    /// The npm package `ai` 7.0.173: the newest this crate knows.
    Latest,
}

impl UiProtocol {
    /// All levels, oldest first.
    pub const ALL: [Self; 4] = [Self::V5, Self::V6, Self::V7, Self::Latest];

    /// The name: `5`, `6`, `7` or `latest`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V5 => "5",
            Self::V6 => "6",
            Self::V7 => "7",
            Self::Latest => "latest",
        }
    }

    /// Whether clients take back what a step has shown. Where they do not, a step that has shown something cannot
    /// be tried again without showing it twice.
    pub fn can_reset(self) -> bool {
        self >= since(&UiChunk::ResetStep)
    }

    /// Whether clients of this level know the chunk, apart from fields, which they pass over.
    pub fn knows(self, chunk: &UiChunk) -> bool {
        self >= since(chunk)
    }

    /// The chunk as clients of this level know it. Where the level has no such chunk, what stands for it, or
    /// nothing:
    ///
    /// - a denial is a `tool-output-error`;
    /// - an approval is a `data-approval` with `{approvalId, toolCallId}`, its answer a `data-approval-response`
    ///   with `{approvalId, approved, reason}` (level 5 alone: level 6 sees the answer by what the tool gives);
    /// - a message of the user is a transient `data-steer` with `{id, parts}`;
    /// - the finish reason `interrupted` is `other`.
    ///
    /// Fields the level lacks are left out.
    pub fn adapt(self, chunk: UiChunk) -> Option<UiChunk> {
        if self == Self::Latest {
            return Some(chunk);
        }
        let mut chunk = if self.knows(&chunk) { chunk } else { self.replaced(chunk)? };
        self.strip(&mut chunk);
        Some(chunk)
    }

    /// Reads a chunk as a client of this level does.
    ///
    /// # Errors
    /// If it is no JSON, no chunk, or one that this level does not have.
    ///
    /// ```
    /// use agent_loop::{UiChunk, UiProtocol};
    /// assert_eq!(UiProtocol::V7.decode(r#"{"type":"reset-step"}"#)?, UiChunk::ResetStep);
    /// assert!(UiProtocol::V6.decode(r#"{"type":"reset-step"}"#).is_err());
    /// # Ok::<(), agent_loop::UiReadError>(())
    /// ```
    pub fn decode(self, json: &str) -> Result<UiChunk, UiReadError> {
        let value: Value = serde_json::from_str(json)
            .map_err(|error| UiReadError::NotJson { problem: error.to_string() })?;
        let mut chunk: UiChunk = serde_json::from_value(value)
            .map_err(|error| UiReadError::NotAChunk { problem: error.to_string() })?;
        if !self.knows(&chunk) {
            return Err(UiReadError::NotAtLevel { protocol: self, chunk: Box::new(chunk) });
        }
        self.strip(&mut chunk);
        Ok(chunk)
    }

    fn replaced(self, chunk: UiChunk) -> Option<UiChunk> {
        match chunk {
            UiChunk::ToolOutputDenied { tool_call_id } => Some(UiChunk::ToolOutputError {
                tool_call_id,
                error_text: DENIED.to_owned(),
                provider_executed: None,
                dynamic: None,
                tool_metadata: None,
                provider_metadata: None,
            }),
            UiChunk::ToolApprovalRequest { approval_id, tool_call_id, .. } => {
                let told = json!({ "approvalId": approval_id, "toolCallId": tool_call_id });
                Some(data("approval", Some(approval_id.to_string()), told, None))
            }
            UiChunk::ToolApprovalResponse { approval_id, approved, reason, .. } if self < Self::V6 => {
                let mut told = json!({ "approvalId": approval_id, "approved": approved });
                if let (Some(reason), Value::Object(told)) = (reason, &mut told) {
                    told.insert("reason".to_owned(), reason.into());
                }
                Some(data("approval-response", Some(approval_id.to_string()), told, None))
            }
            UiChunk::SteeringMessage { id, parts } => {
                Some(data("steer", None, json!({ "id": id, "parts": parts }), Some(true)))
            }
            UiChunk::Finish { message_metadata, .. } => {
                Some(UiChunk::Finish { finish_reason: Some(UiFinishReason::Other), message_metadata })
            }
            _ => None,
        }
    }

    fn strip(self, chunk: &mut UiChunk) {
        let (before_6, before_7, before_latest) = (self < Self::V6, self < Self::V7, self < Self::Latest);
        match chunk {
            UiChunk::TextEnd { citations, .. } => drop_if(before_latest, citations),
            UiChunk::Abort { reason } => drop_if(before_6, reason),
            UiChunk::ToolInputStart { input_encoding, title, tool_metadata, provider_metadata, .. } => {
                drop_if(before_latest, input_encoding);
                drop_if(before_6, title);
                drop_if(before_6, tool_metadata);
                drop_if(before_6, provider_metadata);
            }
            UiChunk::ToolInputAvailable { title, tool_metadata, .. }
            | UiChunk::ToolInputError { title, tool_metadata, .. } => {
                drop_if(before_6, title);
                drop_if(before_6, tool_metadata);
            }
            UiChunk::ToolOutputAvailable { tool_metadata, provider_metadata, .. }
            | UiChunk::ToolOutputError { tool_metadata, provider_metadata, .. } => {
                drop_if(before_6, tool_metadata);
                drop_if(before_6, provider_metadata);
            }
            UiChunk::ToolApprovalRequest {
                approval_descriptor,
                input_schema_input,
                reason,
                is_automatic,
                ..
            } => {
                drop_if(before_latest, approval_descriptor);
                drop_if(before_latest, input_schema_input);
                drop_if(before_latest, reason);
                drop_if(before_7, is_automatic);
            }
            _ => {}
        }
    }
}

impl fmt::Display for UiProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Said of a denied call where the level has no word for it.
pub(super) const DENIED: &str = "The call was denied.";

/// The first level that knows a chunk.
fn since(chunk: &UiChunk) -> UiProtocol {
    match chunk {
        UiChunk::SteeringMessage { .. }
        | UiChunk::Finish { finish_reason: Some(UiFinishReason::Interrupted), .. } => UiProtocol::Latest,
        UiChunk::Custom { .. }
        | UiChunk::ReasoningFile { .. }
        | UiChunk::ResetStep
        | UiChunk::ToolApprovalResponse { .. } => UiProtocol::V7,
        UiChunk::ToolApprovalRequest { .. } | UiChunk::ToolOutputDenied { .. } => UiProtocol::V6,
        _ => UiProtocol::V5,
    }
}

fn data(name: &str, id: Option<String>, data: Value, transient: Option<bool>) -> UiChunk {
    UiChunk::Data(DataChunk { name: name.to_owned(), id, data, transient })
}

fn drop_if<T>(condition: bool, field: &mut Option<T>) {
    if condition {
        *field = None;
    }
}

#[cfg(test)]
mod tests;
