//! A request as the body of a call.

use std::cell::{Cell, RefCell};

use ai_http::{CallInfo, Notes, merge_field, options_of};
use ai_provider::{
    Capabilities, Delivery, ErrorClass, JsonObject, ModelError, ProviderOptions, Request, Warning,
};
use serde_json::Value;

use crate::models::Model;
use crate::server_tools::WireNames;
use betas::Betas;
use wire::{Body, Messages};

mod betas;
mod format;
mod head;
mod history;
mod media;
mod reasoning;
mod results;
mod server;
mod settings;
mod tools;
mod wire;

pub(crate) use betas::HEADER as BETAS;
pub(crate) use format::is_native;
pub(crate) use media::must_download;

/// The names of this adapter's options: of requests, messages, parts and tools.
pub(crate) const NAMESPACE: &str = "anthropic";

/// Places of a prompt that may be cached. The API refuses a request with more.
const BREAKPOINTS: usize = 4;

/// What the parts of the encoder look at.
#[derive(Clone, Copy)]
struct Scope<'a> {
    request: &'a Request,
    info: &'a CallInfo<'a>,
    model: &'static Model,
    capabilities: &'a Capabilities,
    names: &'a WireNames,
    betas: &'a RefCell<Betas>,
    breakpoints: &'a Cell<usize>,
}

impl<'a> Scope<'a> {
    fn provider(&self) -> &'a str {
        &self.info.target.provider
    }

    /// The caller's options for this server: for this adapter, and for the provider by the name it has here. The
    /// latter win.
    fn options(&self, options: &ProviderOptions) -> JsonObject {
        match self.provider() {
            _ if options.is_empty() => JsonObject::new(),
            NAMESPACE => options_of(options, &[NAMESPACE]),
            provider => options_of(options, &[NAMESPACE, provider]),
        }
    }

    /// Takes the cache marker out of options, if one more may be set.
    fn cache_control(&self, options: &mut JsonObject, notes: &mut Notes) -> Option<Value> {
        let marker = ["cache_control", "cacheControl"].into_iter().filter_map(|name| options.remove(name));
        let marker = marker.filter(|marker| !marker.is_null()).last()?;
        let left = self.breakpoints.get();
        if left == 0 {
            notes.unsupported(
                "cache_control",
                format!("the API takes {BREAKPOINTS} cache breakpoints: further ones were left out"),
            );
            return None;
        }
        self.breakpoints.set(left - 1);
        Some(marker)
    }

    fn beta(&self, beta: &str) {
        self.betas.borrow_mut().add(beta);
    }

    /// Whether what is known of the model is about the models of this maker.
    fn is_claude(&self) -> bool {
        self.model.known != crate::models::Known::Foreign
    }
}

/// A request in the words of the API.
pub(crate) struct Encoded<'a> {
    pub(crate) body: Body<'a>,
    /// The value of the header for what is not generally available; empty for none.
    pub(crate) betas: String,
    pub(crate) warnings: Vec<Warning>,
}

/// Writes a request, and hands it to `send` as long as all it borrows is there.
pub(crate) fn encode<T>(
    request: &Request,
    info: &CallInfo<'_>,
    capabilities: &Capabilities,
    betas: &[String],
    send: impl FnOnce(Encoded<'_>) -> Result<T, ModelError>,
) -> Result<T, ModelError> {
    let names = WireNames::of(&request.tools);
    let betas = RefCell::new(Betas::new(betas));
    let breakpoints = Cell::new(BREAKPOINTS);
    let scope = Scope {
        request,
        info,
        model: Model::of(&info.target.model),
        capabilities,
        names: &names,
        betas: &betas,
        breakpoints: &breakpoints,
    };
    let mut notes = Notes::default();
    let body = body(scope, &mut notes)?;
    let betas = betas.borrow_mut().header();
    send(Encoded { body, betas, warnings: notes.into_warnings() })
}

fn body<'a>(scope: Scope<'a>, notes: &mut Notes) -> Result<Body<'a>, ModelError> {
    let request = scope.request;
    let mut options = scope.options(&request.options);
    scope.betas.borrow_mut().take(&mut options)?;
    let format = format::response_format(scope, notes)?;
    let parallel = options.remove("disable_parallel_tool_use").and_then(|value| value.as_bool());
    let choice = tools::choice(scope, &format, parallel, notes)?;
    let mut head = head::head(scope, options, &choice, format.wire, notes)?;
    check_delivery(&head, scope.info.delivery)?;
    if head.get("cache_control").is_some_and(|marker| !marker.is_null()) {
        scope.breakpoints.set(BREAKPOINTS - 1);
    }
    let tools = tools::definitions(scope, format.tool, notes)?;
    let (system, first) = history::system(scope, format.instruction, notes);
    for (field, ours) in [("tools", !tools.is_empty()), ("system", !system.is_empty())] {
        if ours && head.contains_key(field) {
            notes.compatibility("extraBody", format!("`{field}` replaces those of the request"));
        }
    }
    let messages = match head.remove("messages") {
        Some(given) => {
            notes.compatibility("extraBody", "`messages` replaces those of the request");
            Messages::Given(given)
        }
        None => Messages::Ours(history::messages(scope, first, notes)?),
    };
    Ok(Body { head, tools, system, messages })
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

/// Puts the caller's fields over ours; says which settings they replace.
fn put_over(head: &mut JsonObject, over: &JsonObject, from: &str, notes: &mut Notes) {
    for (key, value) in over {
        let replaced =
            head.get(key).is_some_and(|ours| ours != value && !(ours.is_object() && value.is_object()));
        if replaced {
            notes.compatibility(from, format!("`{key}` replaces what the settings say"));
        }
        merge_field(head, key, value);
    }
}

fn invalid(message: impl Into<String>) -> ModelError {
    ModelError::new(ErrorClass::InvalidRequest, message)
}

fn unsupported(message: impl Into<String>) -> ModelError {
    ModelError::new(ErrorClass::Unsupported, message)
}
