//! A request as the body of a call.

use ai_http::{CallInfo, Notes, merge_field, options_of};
use ai_provider::{
    Capabilities, Delivery, ErrorClass, JsonObject, ModelError, ProviderOptions, Request, Warning,
};
use serde_json::Value;

use crate::dialect::Dialect;
pub(crate) use wire::Body;
use wire::Messages;

mod format;
mod head;
mod history;
mod media;
mod results;
mod tools;
mod wire;

/// Options a reasoning model of OpenAI refuses.
const NOT_OF_REASONING: [&str; 3] = ["logit_bias", "logprobs", "top_logprobs"];

/// What the parts of the encoder look at.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) dialect: &'a Dialect,
    pub(crate) capabilities: &'a Capabilities,
    pub(crate) request: &'a Request,
    pub(crate) info: &'a CallInfo<'a>,
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

/// The body of the call, and what could not be said in it. `defaults` go over the settings and under what the
/// request says by itself.
pub(crate) fn body<'a>(
    scope: Scope<'a>,
    defaults: &JsonObject,
) -> Result<(Body<'a>, Vec<Warning>), ModelError> {
    let Scope { request, info, .. } = scope;
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
    let settings = head.clone();
    overlay(&mut head, defaults);
    let mut options = scope.options(&request.options);
    if scope.dialect.models.is_reasoning(scope.model()) {
        for option in NOT_OF_REASONING {
            if options.remove(option).is_some() {
                notes.unsupported(option, format!("{} does not take it", scope.model()));
            }
        }
    }
    overlay(&mut head, &options);
    overlay(&mut head, &request.extra_body);
    for (field, set) in settings.iter().filter(|(field, _)| *field != "stream_options") {
        if head.get(field).is_some_and(|sent| sent != set) {
            notes.add(Warning::other(format!(
                "`{field}` of the request is overridden by options or extra body"
            )));
        }
    }
    if !tools.is_empty() && head.contains_key("tools") {
        notes.add(Warning::other("the tools of the request are overridden by options or extra body"));
    }
    check_delivery(&head, info.delivery)?;
    if head.get("n").and_then(Value::as_u64).is_some_and(|n| n > 1) {
        notes.unsupported("n", "only the first answer is read");
    }
    let messages = match head.remove("messages") {
        Some(given) => {
            notes.add(Warning::other("the messages of the request are overridden by options or extra body"));
            Messages::Given(given)
        }
        None => Messages::Ours(history::messages(scope, format.instruction, &mut notes)?),
    };
    Ok((Body { head, tools, messages }, notes.into_warnings()))
}

fn overlay(head: &mut JsonObject, fields: &JsonObject) {
    for (key, value) in fields {
        merge_field(head, key, value);
    }
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
