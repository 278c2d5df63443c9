//! A request as the body of a call.

use ai_http::{CallInfo, Notes, merge_field, options_of};
use ai_provider::{Delivery, ErrorClass, JsonObject, ModelError, ProviderOptions, Request, Warning};
use serde_json::Value;

use crate::dialect::Dialect;
use wire::{Body, Messages};

mod format;
mod head;
mod history;
mod media;
mod results;
mod tools;
mod wire;

/// What the parts of the encoder look at.
#[derive(Clone, Copy)]
struct Scope<'a> {
    dialect: &'a Dialect,
    request: &'a Request,
    info: &'a CallInfo<'a>,
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
pub(crate) fn body<'a>(
    dialect: &'a Dialect,
    request: &'a Request,
    info: &'a CallInfo<'a>,
) -> Result<(Body<'a>, Vec<Warning>), ModelError> {
    let scope = Scope { dialect, request, info };
    let mut notes = Notes::default();
    let choice = tools::choice(scope)?;
    let tools = tools::definitions(scope, &choice, &mut notes)?;
    let format = format::response_format(scope, &mut notes);
    let mut head = head::settings(scope, &mut notes)?;
    if let Some(choice) = choice.wire {
        head.insert("tool_choice".into(), choice);
    }
    if let Some(format) = format.wire {
        head.insert("response_format".into(), format);
    }
    for (key, value) in &scope.options(&request.options) {
        merge_field(&mut head, key, value);
    }
    for (key, value) in &request.extra_body {
        merge_field(&mut head, key, value);
    }
    check_delivery(&head, info.delivery)?;
    if head.get("n").and_then(Value::as_u64).is_some_and(|n| n > 1) {
        notes.unsupported("n", "only the first answer is read");
    }
    let messages = match head.remove("messages") {
        Some(given) => Messages::Given(given),
        None => Messages::Ours(history::messages(scope, format.instruction, &mut notes)?),
    };
    Ok((Body { head, tools, messages }, notes.into_warnings()))
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
