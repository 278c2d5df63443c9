//! A request as the body of a call.

use ai_http::{CallInfo, Notes, merge_field, options_of};
use ai_provider::{
    Capabilities, ErrorClass, JsonObject, ModelError, ProviderMetadata, ProviderOptions, Request, Warning,
};
use serde_json::{Value, json};

use crate::models::Model;
use wire::{Body, Contents};

mod format;
mod head;
mod history;
mod media;
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

/// The body of the call, and what could not be said in it.
pub(crate) fn body<'a>(
    request: &'a Request,
    info: &'a CallInfo<'a>,
    capabilities: &'a Capabilities,
) -> Result<(Body<'a>, Vec<Warning>), ModelError> {
    let scope = Scope { request, info, model: Model::of(&info.target.model), capabilities };
    let mut notes = Notes::default();
    let mut options = scope.options(&request.options);
    let schemas = options.remove("structuredOutputs") != Some(Value::Bool(false));

    let mut tools = tools::tools(scope, &mut notes)?;
    for (option, field) in
        [("retrievalConfig", None), ("streamFunctionCallArguments", Some("functionCallingConfig"))]
    {
        let Some(value) = options.remove(option) else { continue };
        let value = match field {
            Some(field) => json!({ field: { option: value } }),
            None => json!({ option: value }),
        };
        value
            .as_object()
            .into_iter()
            .flatten()
            .for_each(|(key, value)| merge_field(&mut tools.config, key, value));
    }
    let format = format::response_format(scope, tools.functions, schemas, &mut notes)?;
    let generation = head::generation(scope, format.config, &mut options, &mut notes)?;
    let system = history::system(scope, format.instruction);

    let mut head = JsonObject::new();
    for (key, value) in [("generationConfig", generation), ("toolConfig", tools.config)] {
        if !value.is_empty() {
            head.insert(key.into(), Value::Object(value));
        }
    }
    if let Some(safety) = head::safety(&mut options) {
        head.insert("safetySettings".into(), safety);
    }
    if let Some(instruction) = system.field {
        head.insert("systemInstruction".into(), instruction);
    }
    for (key, value) in options.iter().chain(&request.extra_body) {
        merge_field(&mut head, key, value);
    }
    if let Some(mut given) = head.remove("tools") {
        if !tools.wire.is_empty() {
            notes.compatibility(
                "tools",
                "the tools of the options or the extra body take the place of the request's",
            );
        }
        tools.wire = given.as_array_mut().map(std::mem::take).unwrap_or_else(|| vec![given]);
    }
    let contents = match head.remove("contents") {
        Some(given) => Contents::Given(given),
        None => Contents::Ours(history::contents(scope, system.in_turn, &mut notes)?),
    };
    Ok((Body { head, tools: tools.wire, contents }, notes.into_warnings()))
}

fn invalid(message: impl Into<String>) -> ModelError {
    ModelError::new(ErrorClass::InvalidRequest, message)
}

fn unsupported(message: impl Into<String>) -> ModelError {
    ModelError::new(ErrorClass::Unsupported, message)
}
