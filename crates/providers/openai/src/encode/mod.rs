//! A request as the body of a call.

use ai_http::CallInfo;
use ai_provider::{
    Delivery, ErrorClass, JsonObject, ModelError, ProviderOptions, Request, Warning, merge_json,
};
use serde_json::Value;

use crate::dialect::Dialect;
use notes::Notes;
use wire::{Body, Messages};

mod format;
mod head;
mod history;
mod ids;
mod media;
mod notes;
mod pairing;
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
        let mut all = Value::Object(JsonObject::new());
        for namespace in ["openai", &self.dialect.name, &self.info.target.provider] {
            if let Some(ours) = options.get(namespace) {
                for (key, value) in ours {
                    merge_entry(&mut all, key, value);
                }
            }
        }
        match all {
            Value::Object(all) => all,
            _ => JsonObject::new(),
        }
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
    let mut head = Value::Object(head);
    for (key, value) in &scope.options(&request.options) {
        merge_entry(&mut head, key, value);
    }
    for (key, value) in &request.extra_body {
        merge_entry(&mut head, key, value);
    }
    let Value::Object(mut head) = head else { return Err(invalid("the body is no object")) };
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

fn merge_entry(base: &mut Value, key: &str, value: &Value) {
    let Value::Object(base) = base else { return };
    match base.get_mut(key) {
        Some(mine) => merge_json(mine, value),
        None => {
            base.insert(key.to_owned(), value.clone());
        }
    }
}

fn invalid(message: impl Into<String>) -> ModelError {
    ModelError::new(ErrorClass::InvalidRequest, message)
}

fn unsupported(message: impl Into<String>) -> ModelError {
    ModelError::new(ErrorClass::Unsupported, message)
}
