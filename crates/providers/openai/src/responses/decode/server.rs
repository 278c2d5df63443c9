//! Items that are neither text, reasoning nor a call of a function: what they are called, what went into them,
//! and what came of them.

use ai_provider::{ErrorClass, FileData, FilePart, JsonObject, ModelError, ToolContent, ToolOutput};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::calls::arguments;

/// What an item of a type that is not handled by itself is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A call the server runs; it is shown when it begins.
    Server,
    /// A call the server runs on another server; it is shown when it is done.
    Mcp,
    /// A call this side runs, although the tool is the server's.
    Client,
    /// What came of a call the server ran, as an item of its own.
    Output,
    /// Whether a call may run.
    Approval,
    /// Nothing anyone has to know.
    Silent,
    /// Something to be kept and sent back.
    Opaque,
}

pub(super) fn role(kind: &str, item: &JsonObject) -> Role {
    match kind {
        "web_search_call"
        | "file_search_call"
        | "image_generation_call"
        | "x_search_call"
        | "code_execution_call"
        | "view_image_call"
        | "view_x_video_call" => Role::Server,
        "mcp_call" => Role::Mcp,
        "tool_search_call" if text(item, "execution") == Some("server") => Role::Server,
        "shell_call" if runs_at_server(item) => Role::Server,
        "computer_call" | "shell_call" | "local_shell_call" | "apply_patch_call" | "tool_search_call" => {
            Role::Client
        }
        "tool_search_output" | "shell_call_output" => Role::Output,
        "mcp_approval_request" => Role::Approval,
        "mcp_list_tools" => Role::Silent,
        _ => Role::Opaque,
    }
}

/// A shell runs at the server where the item names a container.
fn runs_at_server(item: &JsonObject) -> bool {
    let environment = item.get("environment").and_then(|environment| environment.get("type")?.as_str());
    environment.is_some_and(|kind| kind != "local")
}

/// Whether a call of this type waits for its result, as the API sees it.
pub(super) fn is_waited_for(kind: &str) -> bool {
    kind == "computer_call"
}

/// The tool that an item of this type is a call of.
pub(super) fn tool(kind: &str) -> &str {
    match kind {
        "computer_call" => "computer_use",
        "tool_search_output" => "tool_search",
        "shell_call_output" => "shell",
        _ => kind.strip_suffix("_call").unwrap_or(kind),
    }
}

/// The input of a call, of what its item says.
pub(super) fn input(kind: &str, item: &JsonObject) -> String {
    if let Some(arguments) = arguments(item, "arguments").filter(|_| kind != "tool_search_call") {
        return arguments;
    }
    let field = |name: &str| item.get(name).cloned().unwrap_or_default();
    let input = match kind {
        "computer_call" if item.contains_key("actions") => {
            json!({ "actions": field("actions"), "pendingSafetyChecks": field("pending_safety_checks") })
        }
        "computer_call" => {
            json!({ "action": field("action"), "pendingSafetyChecks": field("pending_safety_checks") })
        }
        "shell_call" | "local_shell_call" => json!({ "action": action(item.get("action")) }),
        "apply_patch_call" => json!({ "callId": field("call_id"), "operation": field("operation") }),
        "tool_search_call" => json!({ "arguments": field("arguments"), "call_id": field("call_id") }),
        _ => return "{}".to_owned(),
    };
    input.to_string()
}

/// What a shell shall do: what is not said is left out, and names are written as in the other inputs.
fn action(action: Option<&Value>) -> JsonObject {
    let fields = action.and_then(Value::as_object).into_iter().flatten();
    let said = fields.filter(|(_, value)| !value.is_null());
    said.map(|(name, value)| (camel_case(name), value.clone())).collect()
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut name, word| {
        let mut rest = word.chars();
        name.extend(rest.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(rest.as_str());
        name
    })
}

/// What came of a call the server ran: an image, or all that the item says beyond its labels and its input.
///
/// # Errors
/// `Protocol` if an image is none.
pub(super) fn output(kind: &str, item: &JsonObject) -> Result<ToolOutput, ModelError> {
    if kind == "image_generation_call"
        && let Some(image) = text(item, "result")
    {
        return picture(image, text(item, "output_format"));
    }
    let said = |name: &str| {
        !matches!(
            name,
            "type"
                | "id"
                | "call_id"
                | "status"
                | "arguments"
                | "name"
                | "code"
                | "container_id"
                | "approval_request_id"
                | "environment"
                | "execution"
                | "created_by"
        )
    };
    let mut result: JsonObject = item
        .iter()
        .filter(|(name, _)| said(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let failed = item.get("error").is_some_and(|error| !error.is_null())
        || matches!(text(item, "status"), Some("failed"));
    if !failed {
        result.remove("error");
        return Ok(ToolOutput::Json(result.into()));
    }
    result.insert("status".into(), "failed".into());
    Ok(ToolOutput::ErrorJson(result.into()))
}

/// An image as the output of the tool that makes them.
pub(super) fn picture(base64: &str, format: Option<&str>) -> Result<ToolOutput, ModelError> {
    let bytes = STANDARD.decode(base64.trim()).map_err(|error| {
        ModelError::new(ErrorClass::Protocol, format!("an image is no base64 text: {error}"))
    })?;
    let media_type = match (ai_http::sniff_image(&bytes), format) {
        (Some(media_type), _) => media_type.to_owned(),
        (None, Some(format)) => format!("image/{format}"),
        (None, None) => "image/png".to_owned(),
    };
    Ok(ToolOutput::Content(vec![ToolContent::File(FilePart::new(media_type, FileData::bytes(bytes)))]))
}

/// The item as it goes back: an image stands in the result already.
pub(super) fn kept(kind: &str, item: &JsonObject) -> Value {
    let mut kept = item.clone();
    if kind == "image_generation_call" {
        kept.remove("result");
    }
    kept.into()
}

/// A text that is not blank.
pub(super) fn text<'a>(item: &'a JsonObject, name: &str) -> Option<&'a str> {
    item.get(name)?.as_str().filter(|text| !text.trim().is_empty())
}

/// What stands around the text that streams into the input of a call; nothing before it where none streams.
pub(super) fn around(kind: &str, item: &JsonObject) -> (Option<String>, &'static str) {
    let value = |value: Option<&Value>| value.cloned().unwrap_or_default();
    if kind == "code_interpreter_call" {
        let container = value(item.get("container_id"));
        return (Some(format!(r#"{{"containerId":{container},"code":""#)), "\"}");
    }
    let operation = item.get("operation");
    let field = |name: &str| value(operation.and_then(|operation| operation.get(name)));
    let (call_id, kind, path) = (value(item.get("call_id")), field("type"), field("path"));
    match kind.as_str() {
        Some("create_file" | "update_file") => {
            let before =
                format!(r#"{{"callId":{call_id},"operation":{{"type":{kind},"path":{path},"diff":""#);
            (Some(before), "\"}}")
        }
        _ => (None, ""),
    }
}

/// The input of a call whose text streams, of its item that is done; nothing if the item does not say the text.
pub(super) fn whole(kind: &str, item: &JsonObject) -> Option<String> {
    let text = match kind {
        "code_interpreter_call" => item.get("code")?,
        _ => match item.get("operation")?.get("diff") {
            Some(diff) => diff,
            None => return Some(input(kind, item)),
        },
    };
    let text = text.as_str()?;
    let (before, after) = around(kind, item);
    let text = Value::from(text).to_string();
    let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'))?;
    before.map(|before| format!("{before}{inside}{after}")).or_else(|| Some(input(kind, item)))
}

/// Whether what came of the call is an item of its own.
pub(super) fn has_output_item(kind: &str) -> bool {
    matches!(kind, "shell_call" | "tool_search_call")
}
