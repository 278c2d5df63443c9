use ai_http::Notes;
use ai_http::schema::{SchemaRules, adapt};
use ai_provider::{Delivery, FunctionTool, JsonObject, ModelError, ProviderTool, ToolChoice, ToolDefinition};
use serde_json::{Value, json};

use super::format::{self, Format};
use super::{Scope, invalid, unsupported};
use crate::json_tool;
use crate::server_tools::ServerTool;

/// The tool choice on the wire.
#[derive(Debug, Default)]
pub(super) struct Choice {
    pub(super) wire: Option<Value>,
    /// A call is demanded.
    pub(super) forces: bool,
}

/// A choice that cannot be sent as it is meant is an error: a model that answers in text where a call was demanded
/// would look like a model that disobeys.
pub(super) fn choice(
    scope: Scope<'_>,
    format: &Format,
    one_at_a_time: Option<bool>,
    notes: &mut Notes,
) -> Result<Choice, ModelError> {
    let request = scope.request;
    let offered = request.tools.iter().any(is_sent);
    if let Some(tool) = &format.tool {
        if request.tools.iter().any(|known| known.name() == tool.name) {
            return Err(unsupported(format!(
                "the name `{}` is taken: the answer's format needs it",
                tool.name
            )));
        }
        // Other tools stay possible before the answer.
        let wire = match offered && request.tool_choice != ToolChoice::None {
            true => json!({ "type": "any", "disable_parallel_tool_use": true }),
            false => json!({ "type": "tool", "name": json_tool::NAME, "disable_parallel_tool_use": true }),
        };
        return Ok(Choice { wire: Some(wire), forces: true });
    }
    if !offered && one_at_a_time.is_some() {
        notes.unsupported("disable_parallel_tool_use", "there are no tools");
    }
    let mut wire = match &request.tool_choice {
        ToolChoice::Auto if one_at_a_time.is_some() && offered => json!({ "type": "auto" }),
        ToolChoice::Auto => return Ok(Choice::default()),
        // The tools stay: the prompt begins with them.
        ToolChoice::None if offered => {
            return Ok(Choice { wire: Some(json!({ "type": "none" })), forces: false });
        }
        // Without tools there is nothing to forbid.
        ToolChoice::None => return Ok(Choice::default()),
        ToolChoice::Required if offered => json!({ "type": "any" }),
        ToolChoice::Required => {
            return Err(unsupported("a tool call is required, but no tool can be offered to this model"));
        }
        ToolChoice::Tool { name } => {
            let known = request.tools.iter().find(|tool| tool.name() == name);
            if !known.is_some_and(is_sent) {
                return Err(unsupported(format!("tool `{name}` cannot be offered to this model")));
            }
            json!({ "type": "tool", "name": scope.names.wire(name) })
        }
        other => return Err(unsupported(format!("this API cannot say the tool choice {other:?}"))),
    };
    if let (Some(one_at_a_time), Value::Object(fields)) = (one_at_a_time, &mut wire) {
        fields.insert("disable_parallel_tool_use".into(), one_at_a_time.into());
    }
    Ok(Choice { wire: Some(wire), forces: request.tool_choice != ToolChoice::Auto })
}

pub(super) fn definitions(
    scope: Scope<'_>,
    answer: Option<FunctionTool>,
    notes: &mut Notes,
) -> Result<Vec<JsonObject>, ModelError> {
    let request = scope.request;
    let mut tools = Vec::with_capacity(request.tools.len() + 1);
    for tool in request.tools.iter() {
        match tool {
            ToolDefinition::Function(tool) => tools.push(function(scope, tool, notes)?),
            ToolDefinition::Provider(tool) if of_this_api(&tool.id).is_some() => {
                tools.push(provider(scope, tool, notes));
            }
            other => notes.unsupported("tools", format!("this API has no tool like `{}`", other.name())),
        }
    }
    if let Some(answer) = answer {
        tools.push(function(scope, &answer, notes)?);
    }
    Ok(tools)
}

fn is_sent(tool: &ToolDefinition) -> bool {
    match tool {
        ToolDefinition::Function(_) => true,
        ToolDefinition::Provider(tool) => of_this_api(&tool.id).is_some(),
        _ => false,
    }
}

fn of_this_api(id: &str) -> Option<&str> {
    id.strip_prefix(super::NAMESPACE)?.strip_prefix('.').filter(|kind| !kind.is_empty())
}

fn function(scope: Scope<'_>, tool: &FunctionTool, notes: &mut Notes) -> Result<JsonObject, ModelError> {
    let mut wire = JsonObject::new();
    wire.insert("name".into(), tool.name.as_str().into());
    if let Some(description) = tool.description.as_deref().filter(|text| !text.trim().is_empty()) {
        wire.insert("description".into(), description.into());
    }
    let (schema, strict) = input_schema(scope, tool, notes)?;
    wire.insert("input_schema".into(), schema);
    if strict {
        wire.insert("strict".into(), true.into());
    }
    if !tool.input_examples.is_empty() {
        wire.insert("input_examples".into(), tool.input_examples.clone().into());
        scope.beta("advanced-tool-use-2025-11-20");
    }
    // Else the server holds an input back until it is whole.
    if scope.info.delivery == Delivery::Stream && scope.is_claude() {
        wire.insert("eager_input_streaming".into(), true.into());
    }
    let mut options = scope.options(&tool.options);
    let marker = scope.cache_control(&mut options, notes);
    options.remove("name");
    options.remove("input_schema");
    wire.extend(options);
    wire.extend(marker.map(|marker| ("cache_control".to_owned(), marker)));
    Ok(wire)
}

/// The schema, and whether the model is held to it.
fn input_schema(
    scope: Scope<'_>,
    tool: &FunctionTool,
    notes: &mut Notes,
) -> Result<(Value, bool), ModelError> {
    let refused =
        |why: &dyn std::fmt::Display| unsupported(format!("the input of tool `{}`: {why}", tool.name));
    let Value::Object(schema) = &tool.input_schema else {
        return Err(invalid(format!("the input schema of tool `{}` is no JSON object", tool.name)));
    };
    match tool.strict {
        Some(true) if scope.model.json_schema => {
            let schema = format::strict(&tool.input_schema).map_err(|problem| refused(&problem))?;
            return Ok((schema, true));
        }
        Some(true) => notes.unsupported("strict", "this model cannot be held to the schema of a tool"),
        _ => {}
    }
    // The root must say that it is an object, and nothing else.
    if schema.get("type").is_some_and(|kind| kind == "object") && !is_union(schema) {
        return Ok((tool.input_schema.clone(), false));
    }
    if !schema.contains_key("type") && !schema.contains_key("$ref") && !is_union(schema) {
        let mut schema = schema.clone();
        schema.insert("type".into(), "object".into());
        return Ok((Value::Object(schema), false));
    }
    let rules = SchemaRules { object_root: true, all_of: false, ..SchemaRules::PLAIN };
    let schema = adapt(&tool.input_schema, &rules).map_err(|problem| refused(&problem))?;
    Ok((schema, false))
}

fn is_union(schema: &JsonObject) -> bool {
    ["anyOf", "oneOf", "allOf"].iter().any(|keyword| schema.contains_key(*keyword))
}

fn provider(scope: Scope<'_>, tool: &ProviderTool, notes: &mut Notes) -> JsonObject {
    let known = ServerTool::by_id(&tool.id);
    let kind = known.map(ServerTool::kind).or(of_this_api(&tool.id)).unwrap_or_default();
    let mut args = tool.args.clone();
    let marker = scope.cache_control(&mut args, notes);
    let mut wire = JsonObject::new();
    wire.insert("type".into(), kind.into());
    match known {
        Some(known) => {
            known.beta.iter().for_each(|beta| scope.beta(beta));
            wire.extend(known.name.map(|name| ("name".to_owned(), name.into())));
        }
        None => {
            notes.compatibility("tools", format!("`{}` is not known here: it is sent as it is", tool.id));
            wire.insert("name".into(), tool.name.as_str().into());
        }
    }
    for (name, value) in args {
        if !matches!(name.as_str(), "type" | "name") {
            wire.insert(name, value);
        }
    }
    wire.extend(marker.map(|marker| ("cache_control".to_owned(), marker)));
    wire
}
