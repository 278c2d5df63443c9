use std::borrow::Cow;

use ai_http::Notes;
use ai_provider::{FunctionTool, ModelError, ProviderTool, ToolChoice, ToolDefinition};
use serde_json::{Value, json};

use super::wire::Tool;
use super::{Scope, invalid, unsupported};
use crate::strict::strict;

/// The tool choice on the wire. One that cannot be sent as it is meant is an error: a model that answers in text
/// where a call was demanded would look like a model that disobeys.
pub(super) fn choice(scope: Scope<'_>) -> Result<Option<Value>, ModelError> {
    let request = scope.request;
    let offered = scope.capabilities.tools && request.tools.iter().any(|tool| is_sent(scope, tool));
    let choice = match &request.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::None if offered => Some("none".into()),
        // Without tools there is nothing to forbid.
        ToolChoice::None => None,
        ToolChoice::Required if offered => Some("required".into()),
        ToolChoice::Required => {
            return Err(unsupported("a tool call is required, but no tool can be offered to this model"));
        }
        ToolChoice::Tool { name } => {
            let tool =
                request.tools.iter().find(|tool| tool.name() == name).filter(|tool| is_sent(scope, tool));
            match tool.filter(|_| offered) {
                Some(tool) => Some(named(scope, tool)),
                None => return Err(unsupported(format!("tool `{name}` cannot be offered to this model"))),
            }
        }
        other => return Err(unsupported(format!("this API cannot say the tool choice {other:?}"))),
    };
    Ok(choice)
}

fn named(scope: Scope<'_>, tool: &ToolDefinition) -> Value {
    match tool {
        ToolDefinition::Provider(tool) => match server_tool(scope, tool) {
            Some("custom") => json!({ "type": "custom", "name": tool.name }),
            Some("mcp") => json!({ "type": "mcp", "server_label": tool.args.get("server_label") }),
            name => json!({ "type": name }),
        },
        tool => json!({ "type": "function", "name": tool.name() }),
    }
}

pub(super) fn definitions<'a>(scope: Scope<'a>, notes: &mut Notes) -> Result<Vec<Tool<'a>>, ModelError> {
    let request = scope.request;
    if !scope.capabilities.tools {
        if !request.tools.is_empty() {
            notes.unsupported("tools", "this server has no tools");
        }
        return Ok(Vec::new());
    }
    let mut tools = Vec::with_capacity(request.tools.len());
    for tool in request.tools.iter() {
        match tool {
            ToolDefinition::Function(tool) => tools.push(function(scope, tool, notes)?),
            ToolDefinition::Provider(tool) => match server_tool(scope, tool) {
                Some(name) => tools.push(Tool::Server { r#type: name, args: args(name, tool) }),
                None => notes.unsupported("tools", format!("this server has no tool like `{}`", tool.name)),
            },
            other => notes.unsupported("tools", format!("this API has no tool like `{}`", other.name())),
        }
    }
    Ok(tools)
}

fn is_sent(scope: Scope<'_>, tool: &ToolDefinition) -> bool {
    match tool {
        ToolDefinition::Function(_) => true,
        ToolDefinition::Provider(tool) => server_tool(scope, tool).is_some(),
        _ => false,
    }
}

/// The type of a tool that this server knows.
pub(super) fn server_tool<'a>(scope: Scope<'_>, tool: &'a ProviderTool) -> Option<&'a str> {
    let (namespace, name) = tool.id.split_once('.')?;
    let ours = namespace == scope.info.target.provider || scope.dialect.knows_namespace(namespace);
    (ours && scope.dialect.server_tools.iter().any(|known| known == name)).then_some(name)
}

/// The settings of a tool of the server, with what it needs.
fn args<'a>(name: &str, tool: &'a ProviderTool) -> Cow<'a, ai_provider::JsonObject> {
    match name {
        "custom" => {
            let mut args = tool.args.clone();
            args.insert("name".into(), tool.name.as_str().into());
            Cow::Owned(args)
        }
        "code_interpreter" if !tool.args.contains_key("container") => {
            let mut args = tool.args.clone();
            args.insert("container".into(), json!({ "type": "auto" }));
            Cow::Owned(args)
        }
        _ => Cow::Borrowed(&tool.args),
    }
}

fn function<'a>(scope: Scope<'a>, tool: &'a FunctionTool, notes: &mut Notes) -> Result<Tool<'a>, ModelError> {
    if !tool.input_schema.is_object() {
        return Err(invalid(format!("the input schema of tool `{}` is no JSON object", tool.name)));
    }
    if !tool.input_examples.is_empty() {
        notes.unsupported("inputExamples", "this API takes no examples of a tool's input");
    }
    let parameters = match tool.strict {
        Some(true) => Cow::Owned(strict(&tool.input_schema).map_err(|problem| {
            unsupported(format!("tool `{}` cannot be sent with `strict`: {problem}", tool.name))
        })?),
        _ => Cow::Borrowed(&tool.input_schema),
    };
    Ok(Tool::Function {
        r#type: "function",
        name: &tool.name,
        description: tool.description.as_deref(),
        parameters,
        strict: tool.strict,
        extra: scope.extra(&tool.options, &["type", "name", "description", "parameters", "strict"], notes),
    })
}
