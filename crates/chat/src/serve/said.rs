//! What a client says in the body of `POST /api/chat`. Only new things are read: what a user says, results of the client's
//! tools, answers to questions. The rest is the server's to know.

use agent_loop::{UiMessage, UiPart, UiRole, to_model_messages};
use ai_provider::{Message, ToolOutput, UserMessage};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use stream_manager::port::WhenLive;

use super::error::ApiError;

/// The most models that answer side by side.
const MODELS: usize = 8;

/// The body, as the AI SDK's default transport sends it. Fields that are not known are passed over.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Body {
    pub(super) id: Option<Value>,
    #[serde(default)]
    trigger: Option<String>,
    #[serde(default)]
    messages: Vec<Value>,
    #[serde(default)]
    message: Option<Value>,
    #[serde(default)]
    message_id: Option<String>,
    #[serde(default)]
    models: Option<Vec<String>>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    when_live: Option<String>,
}

/// What a body asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Said {
    /// The user speaks.
    Message { id: String, message: UserMessage, models: Vec<String>, when_live: WhenLive },
    /// An answer is to be given anew: this one, or the last.
    Regenerate { message: Option<String>, models: Vec<String> },
    /// Calls have answers.
    Answers { message: String, answers: Vec<Answer> },
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) call: String,
    pub(super) what: Answered,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answered {
    Result(ToolOutput),
    Decided { approved: bool, reason: Option<String> },
}

impl Body {
    /// What it asks for. `text_limit`: the most bytes of text in a message.
    pub(super) fn said(self, text_limit: usize) -> Result<Said, ApiError> {
        let models = match (self.models, self.model) {
            (Some(models), _) => models,
            (None, model) => model.into_iter().collect(),
        };
        if models.len() > MODELS {
            return Err(ApiError::field("models", "at most 8 models answer side by side"));
        }
        match self.trigger.as_deref() {
            None | Some("submit-message") => {}
            Some("regenerate-message") => return Ok(Said::Regenerate { message: self.message_id, models }),
            Some(_) => {
                return Err(ApiError::field("trigger", "is neither submit-message nor regenerate-message"));
            }
        }
        let when_live = match self.when_live.as_deref() {
            None | Some("follow-up") => WhenLive::FollowUp,
            Some("reject") => WhenLive::Reject,
            Some("interrupt") => WhenLive::Interrupt,
            Some("steer") => WhenLive::Steer,
            Some(_) => {
                return Err(ApiError::field("whenLive", "is none of follow-up, reject, interrupt, steer"));
            }
        };
        let last = self.message.or_else(|| self.messages.into_iter().next_back());
        let last = last.ok_or_else(|| ApiError::field("messages", "there is none"))?;
        match last.get("role").and_then(Value::as_str) {
            Some("user") => {
                let (id, message) = user_message(&last, text_limit)?;
                Ok(Said::Message { id, message, models, when_live })
            }
            Some("assistant") => {
                let message = id_of(&last)?;
                Ok(Said::Answers { message, answers: answers(&last) })
            }
            _ => Err(ApiError::field("messages", "the last one is neither the user's nor the assistant's")),
        }
    }
}

fn id_of(message: &Value) -> Result<String, ApiError> {
    let id = message.get("id").and_then(Value::as_str).filter(|id| !id.is_empty() && id.len() <= 256);
    id.map(str::to_owned).ok_or_else(|| ApiError::field("message.id", "must be 1 to 256 bytes of text"))
}

/// A message of the user: its texts and files.
pub(super) fn user_message(message: &Value, text_limit: usize) -> Result<(String, UserMessage), ApiError> {
    let id = id_of(message)?;
    let parts = message.get("parts").and_then(Value::as_array);
    let parts = parts.ok_or_else(|| ApiError::field("message.parts", "must be a list"))?;
    let mut read = UiMessage::new(id.clone(), UiRole::User);
    let mut text_bytes = 0;
    for part in parts {
        if !matches!(part.get("type").and_then(Value::as_str), Some("text" | "file")) {
            continue;
        }
        let part = UiPart::deserialize(part)
            .map_err(|error| ApiError::field("message.parts", &error.to_string()))?;
        if let UiPart::Text { text, .. } = &part {
            text_bytes += text.len();
        }
        if let UiPart::File { url, .. } = &part
            && !url.starts_with("data:")
        {
            return Err(ApiError::field("message.parts", "a file must be a data: URL"));
        }
        read.parts.push(part);
    }
    if text_bytes > text_limit {
        let status = axum::http::StatusCode::PAYLOAD_TOO_LARGE;
        return Err(ApiError::new(status, "too_large", "The text of the message is too long."));
    }
    let messages =
        to_model_messages(&[read]).map_err(|error| ApiError::field("message.parts", &error.to_string()))?;
    match messages.into_iter().next() {
        Some(Message::User(message)) => Ok((id, message)),
        _ => Err(ApiError::bad("empty_message", "The message is empty.")),
    }
}

/// What a message of the assistant says of calls.
fn answers(message: &Value) -> Vec<Answer> {
    let parts = message.get("parts").and_then(Value::as_array);
    parts.into_iter().flatten().filter_map(answer).collect()
}

fn answer(part: &Value) -> Option<Answer> {
    let kind = part.get("type").and_then(Value::as_str)?;
    if !kind.starts_with("tool-") && kind != "dynamic-tool" {
        return None;
    }
    let call = part.get("toolCallId").and_then(Value::as_str)?.to_owned();
    let what = match part.get("state").and_then(Value::as_str)? {
        "output-available" => match part.get("output").cloned().unwrap_or_default() {
            Value::String(text) => Answered::Result(ToolOutput::Text(text)),
            output => Answered::Result(ToolOutput::Json(output)),
        },
        "output-error" => {
            let text = part.get("errorText").and_then(Value::as_str).unwrap_or("the tool failed");
            Answered::Result(ToolOutput::ErrorText(text.to_owned()))
        }
        "approval-responded" => {
            let approval = part.get("approval")?;
            let reason = approval.get("reason").and_then(Value::as_str).map(str::to_owned);
            Answered::Decided { approved: approval.get("approved").and_then(Value::as_bool)?, reason }
        }
        _ => return None,
    };
    Some(Answer { call, what })
}
