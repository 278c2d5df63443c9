use std::fmt;
use std::sync::Arc;

use ai_provider::{ErrorRecord, ToolOutput, ToolResult};
use uuid::Uuid;

use super::level::UiProtocol;
use crate::said::said;

/// The text that stands for an error: the details of a server are not for browsers.
pub(crate) const MASKED: &str = "Something went wrong.";

type Text<T> = Arc<dyn Fn(&T) -> String + Send + Sync>;

/// What a run shows, and how.
#[derive(Clone, Default)]
pub(crate) struct UiSettings {
    pub(crate) protocol: UiProtocol,
    pub(crate) message_id: Option<String>,
    /// The name of the run in the audit.
    pub(crate) run_name: Option<String>,
    pub(crate) ids: Option<Arc<dyn Fn() -> String + Send + Sync>>,
    pub(crate) provider_metadata: bool,
    pub(crate) error_text: Option<Text<ErrorRecord>>,
    pub(crate) tool_error_text: Option<Text<ToolResult>>,
}

impl UiSettings {
    /// An id for something that has none.
    pub(crate) fn new_id(&self) -> String {
        let given = self.ids.as_ref().and_then(|new_id| said("ids", || new_id()));
        given.unwrap_or_else(|| Uuid::new_v4().to_string())
    }

    pub(crate) fn error_text(&self, error: &ErrorRecord) -> String {
        let mapped = self.error_text.as_ref().and_then(|text| said("error text", || text(error)));
        mapped.unwrap_or_else(|| MASKED.to_owned())
    }

    /// What a provider says of its own tools it says to be read; what a tool of this side says may hold
    /// anything.
    pub(crate) fn tool_error_text(&self, result: &ToolResult) -> String {
        match &self.tool_error_text {
            Some(text) => said("tool error text", || text(result)).unwrap_or_else(|| MASKED.to_owned()),
            None if result.provider_executed => plain(&result.output),
            None => MASKED.to_owned(),
        }
    }
}

impl fmt::Debug for UiSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UiSettings")
            .field("protocol", &self.protocol)
            .field("message_id", &self.message_id)
            .field("provider_metadata", &self.provider_metadata)
            .field("masks_errors", &self.error_text.is_none())
            .field("masks_tool_errors", &self.tool_error_text.is_none())
            .finish()
    }
}

/// The error of a tool as it is.
pub(crate) fn plain(output: &ToolOutput) -> String {
    match output {
        ToolOutput::ErrorText(text) | ToolOutput::Text(text) => text.clone(),
        ToolOutput::ErrorJson(value) | ToolOutput::Json(value) => value.to_string(),
        _ => MASKED.to_owned(),
    }
}
