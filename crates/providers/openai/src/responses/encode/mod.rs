//! A request as the body of a call.

use ai_http::{CallInfo, Notes, merge_field, options_of};
use ai_provider::{Delivery, ErrorClass, JsonObject, ModelError, Origin, ProviderOptions, Request, Warning};
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
struct Scope<'a> {
    dialect: &'a ResponsesDialect,
    request: &'a Request,
    info: &'a CallInfo<'a>,
    /// Who gets back what is its own.
    origin: &'a Origin,
}

impl<'a> Scope<'a> {
    fn model(&self) -> &'a str {
        &self.info.target.model
    }

    /// The options as further fields of something on the wire that has these fields already.
    fn extra(&self, options: &ProviderOptions, taken: &[&str]) -> JsonObject {
        if options.is_empty() {
            return JsonObject::new();
        }
        let mut extra = self.options(options);
        extra.retain(|key, _| !taken.contains(&key.as_str()));
        extra
    }

    /// The caller's options for this server: for all of this adapter, for the dialect, for the provider by
    /// the name it has here. Later ones win.
    fn options(&self, options: &ProviderOptions) -> JsonObject {
        options_of(options, &["openai", &self.dialect.name, &self.info.target.provider])
    }
}

/// The body of the call, and what could not be said in it.
pub(super) fn body<'a>(
    dialect: &'a ResponsesDialect,
    request: &'a Request,
    info: &'a CallInfo<'a>,
    origin: &'a Origin,
) -> Result<(Body<'a>, Vec<Warning>), ModelError> {
    let scope = Scope { dialect, request, info, origin };
    let mut notes = Notes::default();
    let choice = tools::choice(scope)?;
    let tools = tools::definitions(scope, &mut notes)?;
    let format = head::format(scope, &mut notes);
    let mut head = head::settings(scope, &mut notes)?;
    if let Some(choice) = choice {
        head.insert("tool_choice".into(), choice);
    }
    if let Some(format) = format.wire {
        merge_field(&mut head, "text", &serde_json::json!({ "format": format }));
    }
    for (key, value) in &scope.options(&request.options) {
        merge_field(&mut head, key, value);
    }
    for (key, value) in &request.extra_body {
        merge_field(&mut head, key, value);
    }
    check_delivery(&head, info.delivery)?;
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
