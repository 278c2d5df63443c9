use std::borrow::Cow;

use ai_http::Notes;
use ai_provider::{FunctionTool, ModelError, ToolChoice, ToolDefinition};
use serde_json::{Value, json};

use super::wire::{Function, Tool};
use super::{Scope, invalid, unsupported};
use crate::dialect::NamedTool;
use crate::strict::strict;

/// The tool choice on the wire, and the only tool that is offered for it.
#[derive(Debug)]
pub(super) struct Choice<'a> {
    pub(super) wire: Option<Value>,
    only: Option<&'a str>,
}

/// A choice that cannot be sent as it is meant is an error: a model that answers in text where a call was
/// demanded would look like a model that disobeys.
pub(super) fn choice(scope: Scope<'_>) -> Result<Choice<'_>, ModelError> {
    let (dialect, request) = (scope.dialect, scope.request);
    let offered = scope.capabilities.tools && request.tools.iter().any(|tool| is_sent(scope, tool));
    let mut choice = Choice { wire: None, only: None };
    match &request.tool_choice {
        ToolChoice::Auto => {}
        ToolChoice::None if offered => choice.wire = Some("none".into()),
        // Without tools there is nothing to forbid.
        ToolChoice::None => {}
        ToolChoice::Required if offered => choice.wire = Some(required(scope)?),
        ToolChoice::Required => {
            return Err(unsupported("a tool call is required, but no tool can be offered to this model"));
        }
        ToolChoice::Tool { name } => {
            let known = request.tools.iter().find(|tool| tool.name() == name);
            match known {
                Some(tool @ ToolDefinition::Function(_)) if offered && is_sent(scope, tool) => {}
                _ => return Err(unsupported(format!("tool `{name}` cannot be offered to this model"))),
            }
            match dialect.named_tool {
                NamedTool::ByName => {
                    choice.wire = Some(json!({ "type": "function", "function": { "name": name } }));
                }
                NamedTool::Alone => {
                    choice.wire = Some(required(scope)?);
                    choice.only = Some(name);
                }
                NamedTool::Absent => {
                    return Err(unsupported(format!("this API cannot be held to call `{name}`")));
                }
            }
        }
        other => return Err(unsupported(format!("this API cannot say the tool choice {other:?}"))),
    }
    Ok(choice)
}

fn required(scope: Scope<'_>) -> Result<Value, ModelError> {
    let word = scope.dialect.required.as_deref();
    word.map(Value::from).ok_or_else(|| unsupported("this API cannot be held to call a tool"))
}

pub(super) fn definitions<'a>(
    scope: Scope<'a>,
    choice: &Choice<'_>,
    notes: &mut Notes,
) -> Result<Vec<Tool<'a>>, ModelError> {
    let request = scope.request;
    if !scope.capabilities.tools {
        if !request.tools.is_empty() {
            notes.unsupported("tools", format!("{} has no tools", scope.info.target));
        }
        return Ok(Vec::new());
    }
    let mut tools = Vec::with_capacity(request.tools.len());
    for tool in request.tools.iter() {
        if choice.only.is_some_and(|only| only != tool.name()) {
            continue;
        }
        match tool {
            ToolDefinition::Function(tool) => tools.push(function(scope, tool, notes)?),
            ToolDefinition::Provider(tool) if server_tool(scope, &tool.id).is_some() => {
                tools.push(Tool::Server {
                    r#type: server_tool(scope, &tool.id).unwrap_or_default(),
                    args: &tool.args,
                });
            }
            other => notes.unsupported("tools", format!("this API has no tool like `{}`", other.name())),
        }
    }
    Ok(tools)
}

fn is_sent(scope: Scope<'_>, tool: &ToolDefinition) -> bool {
    match tool {
        ToolDefinition::Function(_) => true,
        ToolDefinition::Provider(tool) => server_tool(scope, &tool.id).is_some(),
        _ => false,
    }
}

/// The name of a tool that runs at this server.
fn server_tool<'a>(scope: Scope<'_>, id: &'a str) -> Option<&'a str> {
    let (provider, name) = id.split_once('.')?;
    let ours = provider == scope.dialect.name || provider == scope.info.target.provider;
    (ours && scope.dialect.server_tools.iter().any(|known| known == name)).then_some(name)
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
        function: Function {
            name: &tool.name,
            description: tool.description.as_deref(),
            parameters,
            strict: tool.strict,
        },
        extra: scope.extra(&tool.options, &["type", "function"]),
    })
}
