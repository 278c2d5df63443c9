use ai_http::{Notes, merge_field};
use ai_provider::{FunctionTool, JsonObject, ModelError, ProviderTool, ToolChoice, ToolDefinition};
use serde_json::{Value, json};

use super::{Scope, invalid, schema, unsupported};

/// Tools that run at Google, by the names they have after `google.` and on the wire.
const SERVER_TOOLS: &[(&str, &str)] = &[
    ("google_search", "googleSearch"),
    ("google_search_retrieval", "googleSearchRetrieval"),
    ("enterprise_web_search", "enterpriseWebSearch"),
    ("url_context", "urlContext"),
    ("code_execution", "codeExecution"),
    ("google_maps", "googleMaps"),
    ("file_search", "fileSearch"),
    ("computer_use", "computerUse"),
];

/// The tools on the wire, and what is said about their use.
#[derive(Debug, Default)]
pub(super) struct Tools {
    pub(super) wire: Vec<Value>,
    pub(super) config: JsonObject,
}

/// A choice that cannot be sent as it is meant is an error: a model that answers in text where a call was
/// demanded would look like a model that disobeys.
pub(super) fn tools(scope: Scope<'_>, notes: &mut Notes) -> Result<Tools, ModelError> {
    let request = scope.request;
    let mut tools = Tools::default();
    let (mut declarations, mut at_server, mut strict) = (Vec::new(), Vec::new(), false);
    if !scope.capabilities.tools && !request.tools.is_empty() {
        notes.unsupported("tools", format!("{} takes no tools", scope.info.target));
    }
    for tool in request.tools.iter().filter(|_| scope.capabilities.tools) {
        match tool {
            ToolDefinition::Function(tool) => {
                strict |= tool.strict == Some(true);
                declarations.push(declaration(scope, tool, notes)?);
            }
            ToolDefinition::Provider(tool) => match server_tool(scope, tool) {
                Some(wire) => at_server.push(wire),
                None => notes.unsupported("tools", format!("this API has no tool like `{}`", tool.id)),
            },
            other => notes.unsupported("tools", format!("this API has no tool like `{}`", other.name())),
        }
    }
    let functions = !declarations.is_empty();
    if request.tool_choice == ToolChoice::None {
        // The API forbids functions alone.
        at_server.clear();
    }
    if functions && !at_server.is_empty() {
        if scope.model.third {
            tools.config.insert("includeServerSideToolInvocations".into(), true.into());
        } else {
            let model = &scope.info.target.model;
            notes.unsupported(
                "tools",
                format!("{model} takes no tools of Google's beside functions: they were left out"),
            );
            at_server.clear();
        }
    }
    if let Some(calling) = calling(scope, functions, strict)? {
        tools.config.insert("functionCallingConfig".into(), calling);
    }
    if functions {
        tools.wire.push(json!({ "functionDeclarations": declarations }));
    }
    tools.wire.extend(at_server);
    Ok(tools)
}

fn calling(scope: Scope<'_>, functions: bool, strict: bool) -> Result<Option<Value>, ModelError> {
    let request = scope.request;
    Ok(match &request.tool_choice {
        ToolChoice::Auto => strict.then(|| json!({ "mode": "VALIDATED" })),
        ToolChoice::None => functions.then(|| json!({ "mode": "NONE" })),
        ToolChoice::Required if functions => Some(json!({ "mode": "ANY" })),
        ToolChoice::Required => {
            return Err(unsupported("a tool call is required, but no function can be offered to this model"));
        }
        ToolChoice::Tool { name } => {
            let known = request.tools.iter().find(|tool| tool.name() == name);
            match known {
                Some(ToolDefinition::Function(_)) if functions => {}
                _ => return Err(unsupported(format!("tool `{name}` cannot be demanded of this model"))),
            }
            Some(json!({ "mode": "ANY", "allowedFunctionNames": [name] }))
        }
        other => return Err(unsupported(format!("this API cannot say the tool choice {other:?}"))),
    })
}

fn server_tool(scope: Scope<'_>, tool: &ProviderTool) -> Option<Value> {
    let (provider, name) = tool.id.split_once('.')?;
    let ours = provider == "google" || provider == scope.info.target.provider;
    let (_, field) = SERVER_TOOLS.iter().find(|(known, _)| ours && *known == name)?;
    Some(json!({ *field: tool.args }))
}

fn declaration(scope: Scope<'_>, tool: &FunctionTool, notes: &mut Notes) -> Result<Value, ModelError> {
    if !tool.input_examples.is_empty() {
        notes.unsupported("inputExamples", "this API takes no examples of a tool's input");
    }
    let parameters = schema::of_input(&tool.input_schema)
        .map_err(|problem| invalid(format!("the input of tool `{}`: {problem}", tool.name)))?;
    let mut wire = JsonObject::new();
    wire.insert("name".into(), tool.name.as_str().into());
    wire.insert("description".into(), tool.description.as_deref().unwrap_or_default().into());
    if let Some(parameters) = parameters {
        wire.insert("parameters".into(), parameters);
    }
    for (key, value) in &scope.options(&tool.options) {
        merge_field(&mut wire, key, value);
    }
    Ok(Value::Object(wire))
}
