use ai_provider::{FileData, FilePart, Id, ProviderMetadata, Source, ToolContent, ToolOutput, ToolResult};
use serde_json::{Value, json};

use super::chunk::UiChunk;
use super::level::{DENIED, UiProtocol};
use super::settings::UiSettings;

impl UiSettings {
    /// Provider metadata holds signatures and encrypted reasoning: it goes out only on request.
    pub(super) fn metadata(
        &self,
        metadata: Option<Box<ProviderMetadata>>,
    ) -> Option<Box<ai_provider::ProviderOptions>> {
        if !self.provider_metadata {
            return None;
        }
        let values = metadata?.values;
        (!values.is_empty()).then(|| Box::new(values))
    }

    pub(super) fn source(&self, source: Source) -> Option<UiChunk> {
        match source {
            Source::Url { id, url, title, metadata } => Some(UiChunk::SourceUrl {
                source_id: id,
                url,
                title,
                provider_metadata: self.metadata(metadata),
            }),
            Source::Document { id, media_type, title, filename, metadata } => Some(UiChunk::SourceDocument {
                source_id: id,
                media_type,
                title,
                filename,
                provider_metadata: self.metadata(metadata),
            }),
            _ => None,
        }
    }

    /// What came of a call.
    pub(super) fn output(&self, result: ToolResult) -> UiChunk {
        let error = match &result.output {
            ToolOutput::ExecutionDenied { .. } => Some(DENIED.to_owned()),
            output => output.is_error().then(|| self.tool_error_text(&result)),
        };
        let ToolResult { tool_call_id, output, preliminary, provider_executed, dynamic, metadata, .. } =
            result;
        let (provider_executed, dynamic) = (flag(provider_executed), flag(dynamic));
        let provider_metadata = self.metadata(metadata);
        match (output, error) {
            (ToolOutput::ExecutionDenied { .. }, _) if self.protocol >= UiProtocol::V6 => {
                UiChunk::ToolOutputDenied { tool_call_id }
            }
            (_, Some(error_text)) => UiChunk::ToolOutputError {
                tool_call_id,
                error_text,
                provider_executed,
                dynamic,
                tool_metadata: None,
                provider_metadata,
            },
            (output, None) => UiChunk::ToolOutputAvailable {
                tool_call_id,
                output: shown(output),
                preliminary: flag(preliminary),
                provider_executed,
                dynamic,
                tool_metadata: None,
                provider_metadata,
            },
        }
    }

    /// An error of a call of which nothing more will come.
    pub(super) fn cut_off(tool_call_id: Id, provider_executed: bool, dynamic: bool) -> UiChunk {
        UiChunk::ToolOutputError {
            tool_call_id,
            error_text: CUT_OFF.to_owned(),
            provider_executed: flag(provider_executed),
            dynamic: flag(dynamic),
            tool_metadata: None,
            provider_metadata: None,
        }
    }
}

/// Said of a call whose answer was cut.
pub(crate) const CUT_OFF: &str = "The call was cut off.";

/// Absent means no.
pub(super) fn flag(value: bool) -> Option<bool> {
    value.then_some(true)
}

/// An output as JSON: text as a string, JSON as it is, content as a list like the parts of a UI message.
pub(super) fn shown(output: ToolOutput) -> Value {
    match output {
        ToolOutput::Text(text) => Value::String(text),
        ToolOutput::Json(value) => value,
        ToolOutput::Content(items) => items.into_iter().map(item).collect(),
        _ => Value::Null,
    }
}

fn item(item: ToolContent) -> Value {
    match item {
        ToolContent::Text(part) => json!({ "type": "text", "text": part.text }),
        ToolContent::File(file) => {
            let url = url(&file);
            let named = [
                ("type", Some("file".to_owned())),
                ("mediaType", Some(file.media_type)),
                ("url", url),
                ("filename", file.filename),
            ];
            named.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
        }
        ToolContent::Custom(part) => json!({ "type": "custom", "kind": part.kind }),
        _ => Value::Null,
    }
}

/// Where a client finds a file: its URL, or its content as a data URL. A file that lies at the provider has
/// none.
pub(super) fn url(file: &FilePart) -> Option<String> {
    if let FileData::Url { url } = &file.data {
        return Some(url.clone());
    }
    let content = file.data.to_base64()?;
    // The type is the provider's word: a comma or a space in it would end the head of the URL.
    let plain = |c: char| c.is_ascii_alphanumeric() || "/!#$&^_.+-;=".contains(c);
    let media_type = match file.media_type.as_str() {
        known if !known.is_empty() && known.chars().all(plain) => known,
        _ => "application/octet-stream",
    };
    Some(format!("data:{media_type};base64,{content}"))
}
