//! A request as the body of a call.

use ai_http::{CallInfo, Notes, merge_field, options_of};
use ai_provider::{
    Capabilities, Delivery, ErrorClass, JsonObject, ModelError, Origin, ProviderOptions, Request, Warning,
};
use serde_json::Value;

use super::dialect::ResponsesDialect;
use wire::{Body, Input};

pub(super) use media::must_download;

mod assistant;
mod head;
mod input;
mod media;
mod results;
mod tools;
mod wire;

/// What the parts of the encoder look at.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) dialect: &'a ResponsesDialect,
    pub(super) capabilities: &'a Capabilities,
    pub(super) request: &'a Request,
    pub(super) info: &'a CallInfo<'a>,
    /// Who gets back what is its own.
    pub(super) origin: &'a Origin,
}

impl<'a> Scope<'a> {
    fn model(&self) -> &'a str {
        &self.info.target.model
    }

    /// The options as further fields of something on the wire that has these fields already.
    fn extra(&self, options: &ProviderOptions, taken: &[&str], notes: &mut Notes) -> JsonObject {
        if options.is_empty() {
            return JsonObject::new();
        }
        let mut extra = self.options(options);
        extra.retain(|key, _| {
            let free = !taken.contains(&key.as_str());
            if !free {
                notes.add(Warning::other(format!(
                    "the option `{key}` is not used: the field is written already"
                )));
            }
            free
        });
        extra
    }

    /// The caller's options for this server: for all of this adapter, for the dialect, for the provider by
    /// the name it has here. Later ones win.
    fn options(&self, options: &ProviderOptions) -> JsonObject {
        options_of(options, &["openai", &self.dialect.name, &self.info.target.provider])
    }
}

/// The body of the call, and what could not be said in it. `defaults` go under the options of the request.
pub(super) fn body<'a>(
    scope: Scope<'a>,
    defaults: &JsonObject,
) -> Result<(Body<'a>, Vec<Warning>), ModelError> {
    let request = scope.request;
    let mut notes = Notes::default();
    let choice = tools::choice(scope)?;
    let tools = tools::definitions(scope, &mut notes)?;
    let format = head::format(scope, &mut notes);
    let mut head = head::settings(scope, &mut notes)?;
    if let Some(choice) = choice {
        head.insert("tool_choice".into(), choice);
    }
    if let Some(format) = format.wire {
        head.insert("text".into(), serde_json::json!({ "format": format }));
    }
    let settings = head.clone();
    for fields in [defaults, &scope.options(&request.options), &request.extra_body] {
        fields.iter().for_each(|(key, value)| merge_field(&mut head, key, value));
    }
    let mut overridden = |what: &str| {
        notes.add(Warning::other(format!("{what} of the request: overridden by options or extra body")));
    };
    for (field, _) in settings.iter().filter(|(field, set)| !head::holds(&head, field, set)) {
        overridden(&format!("`{field}`"));
    }
    if !tools.is_empty() && head.contains_key("tools") {
        overridden("the tools");
    }
    if head.contains_key("input") {
        overridden("the messages");
    }
    check_delivery(&head, scope.info.delivery)?;
    head::include(scope, &mut head);
    head::check(&head, &mut notes);
    let input = match head.remove("input") {
        Some(given) => Input::Given(given),
        None => {
            let ours = input::items(scope, &head, format.instruction, &mut notes)?;
            if let Some(instructions) = ours.instructions
                && !head.contains_key("instructions")
            {
                head.insert("instructions".into(), instructions.into());
            }
            Input::Ours(ours.items)
        }
    };
    Ok((Body { head, tools, input }, notes.into_warnings()))
}

/// How the answer comes is known before the body is written, and the bytes of the answer are read by it.
fn check_delivery(head: &JsonObject, delivery: Delivery) -> Result<(), ModelError> {
    let streams = head.get("stream").and_then(Value::as_bool).unwrap_or(false);
    if streams == (delivery == Delivery::Stream) {
        return Ok(());
    }
    Err(invalid(
        "`stream` is set by the request's `delivery` and cannot be changed in its options or extra body",
    ))
}

fn invalid(message: impl Into<String>) -> ModelError {
    ModelError::new(ErrorClass::InvalidRequest, message)
}

fn unsupported(message: impl Into<String>) -> ModelError {
    ModelError::new(ErrorClass::Unsupported, message)
}
