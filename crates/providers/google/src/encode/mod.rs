//! A request as the body of a call.

use ai_http::{CallInfo, Notes, merge_field, options_of};
use ai_provider::{
    Capabilities, ErrorClass, JsonObject, ModelError, ProviderMetadata, ProviderOptions, Request, Warning,
};
use serde_json::Value;

use crate::models::Model;
use wire::{Body, Contents};

mod format;
mod head;
mod history;
mod media;
mod options;
mod results;
mod schema;
mod tools;
mod wire;

pub(crate) use media::is_fetched;

/// What the parts of the encoder look at.
#[derive(Clone, Copy)]
struct Scope<'a> {
    request: &'a Request,
    info: &'a CallInfo<'a>,
    model: &'static Model,
    capabilities: &'a Capabilities,
}

impl<'a> Scope<'a> {
    /// The caller's options for this API, and for the provider by the name it has here, which win.
    fn options(&self, options: &ProviderOptions) -> JsonObject {
        if options.is_empty() {
            return JsonObject::new();
        }
        options_of(options, &["google", &self.info.target.provider])
    }

    /// A value of metadata, whoever minted it.
    fn value<'m>(&self, metadata: Option<&'m ProviderMetadata>, name: &str) -> Option<&'m Value> {
        metadata?.get(&self.info.target.provider).or_else(|| metadata?.get("google"))?.get(name)
    }
}

/// The body of the call, and what could not be said in it. `defaults` go over the settings and under what the
/// request says by options and extra body.
pub(crate) fn body<'a>(
    request: &'a Request,
    info: &'a CallInfo<'a>,
    capabilities: &'a Capabilities,
    defaults: &JsonObject,
) -> Result<(Body<'a>, Vec<Warning>), ModelError> {
    let scope = Scope { request, info, model: Model::of(&info.target.model), capabilities };
    let mut notes = Notes::default();
    let mut options = scope.options(&request.options);
    let schemas = options.remove("structuredOutputs") != Some(Value::Bool(false));
    let mut over = defaults.clone();
    overlay(&mut over, &options::placed(options));
    overlay(&mut over, &request.extra_body);

    let mut tools = tools::tools(scope, &mut notes)?;
    let format = format::response_format(scope, !tools.wire.is_empty(), schemas, &mut notes)?;
    let generation = head::generation(scope, format.config, &over, &mut notes)?;
    let system = history::system(scope, format.instruction);
    let mut head = JsonObject::new();
    for (key, value) in [("generationConfig", generation), ("toolConfig", tools.config)] {
        if !value.is_empty() {
            head.insert(key.into(), Value::Object(value));
        }
    }
    if let Some(instruction) = system.field {
        head.insert("systemInstruction".into(), instruction);
    }
    let settings = head.clone();
    overlay(&mut head, &over);
    for (field, set) in &settings {
        if !head.get(field).is_some_and(|sent| holds(sent, set)) {
            notes.add(overridden(&format!("`{field}` of the request is")));
        }
    }
    if options::candidates(&head) > 1 {
        notes.unsupported("candidateCount", "only the first answer is read");
    }
    if let Some(mut given) = head.remove("tools") {
        if !tools.wire.is_empty() {
            notes.add(overridden("the tools of the request are"));
        }
        tools.wire = given.as_array_mut().map(std::mem::take).unwrap_or_else(|| vec![given]);
    }
    let contents = match head.remove("contents") {
        Some(given) => {
            notes.add(overridden("the messages of the request are"));
            Contents::Given(given)
        }
        None => Contents::Ours(history::contents(scope, system.in_turn, &mut notes)?),
    };
    Ok((Body { head, tools: tools.wire, contents }, notes.into_warnings()))
}

fn overlay(head: &mut JsonObject, fields: &JsonObject) {
    for (key, value) in fields {
        merge_field(head, key, value);
    }
}

/// Whether all that was set is still there.
fn holds(sent: &Value, set: &Value) -> bool {
    match (sent, set) {
        (Value::Object(sent), Value::Object(set)) => {
            set.iter().all(|(key, set)| sent.get(key).is_some_and(|sent| holds(sent, set)))
        }
        (sent, set) => sent == set,
    }
}

fn overridden(what: &str) -> Warning {
    Warning::other(format!("{what} overridden by options or extra body"))
}

fn invalid(message: impl Into<String>) -> ModelError {
    ModelError::new(ErrorClass::InvalidRequest, message)
}

fn unsupported(message: impl Into<String>) -> ModelError {
    ModelError::new(ErrorClass::Unsupported, message)
}
