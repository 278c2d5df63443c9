//! The answer, event by event.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use ai_http::{
    CallInfo, Decoder, End, Event, Next, Parts, error_of_event, error_of_frame, error_of_no_answer, excerpt,
    halves,
};
use ai_provider::{
    Delivery, ErrorClass, Finish, FinishReason, JsonObject, ModelError, ProviderMetadata, ProviderOptions,
    ResponseMetadata, StreamPart, UnifiedFinish, Usage,
};
use serde_json::Value;
use serde_json::value::RawValue;

use super::dialect::ResponsesDialect;
use super::minted::RESPONSE_ID;
use crate::decode::logprobs::Logprobs;
use crate::decode::loose::{self, Raw, Scalar};
use crate::decode::{fill, usage};
use frame::{Frame, Piece, Response};
use items::Items;
use mint::Mint;
use reasoning::Form;
use sources::Sources;

mod asked;
mod calls;
mod frame;
mod item;
mod items;
mod mint;
mod pieces;
mod reasoning;
mod server;
mod sources;
mod text;

pub(super) use asked::Asked;

/// Bytes of the inputs of all calls: what an assembler would take too.
const MAX_INPUT: usize = 64 << 20;

const END_MARK: &str = "[DONE]";

pub(crate) struct ResponsesDecoder {
    dialect: Arc<ResponsesDialect>,
    asked: Asked,
    delivery: Delivery,
    mint: Mint,
    described: bool,
    items: Items,
    sources: Sources,
    logprobs: Logprobs,
    /// Bytes of input so far.
    input: usize,
    /// The model refused to answer.
    refused: bool,
    /// A call came that waits for its result.
    called: bool,
    /// The frame that is being read has stand-ins for halves of characters.
    marked: bool,
    /// What the server said in place of an answer, in case that none comes.
    suspect: Option<ModelError>,
}

impl ResponsesDecoder {
    pub(crate) fn new(dialect: Arc<ResponsesDialect>, asked: Asked, info: &CallInfo<'_>) -> Self {
        Self {
            dialect,
            asked,
            delivery: info.delivery,
            mint: Mint::new(info),
            described: false,
            items: Items::default(),
            sources: Sources::default(),
            logprobs: Logprobs::default(),
            input: 0,
            refused: false,
            called: false,
            marked: false,
            suspect: None,
        }
    }

    fn frame(&mut self, name: Option<&str>, data: &str, out: &mut Parts) -> Result<Next, ModelError> {
        if !data.starts_with('{') {
            return Err(not_an_event(data, &format!("not a JSON object: {}", excerpt(data.as_bytes()))));
        }
        // Most of a stream is pieces: what looks like one is read into what a piece holds.
        if name.is_some_and(|name| name.ends_with(".delta")) || data.contains(".delta\"") {
            let mut piece = Piece::default();
            if fill::read(data, &mut piece).is_ok() {
                let kind = std::mem::take(&mut piece.kind);
                let kind = kind.as_text().and_then(|kind| kind.strip_prefix("response."));
                if let Some(kind) = kind
                    && self.piece(kind, &mut piece, out)?
                {
                    return Ok(Next::More);
                }
            }
        }
        let mut frame = Frame::default();
        let Err(error) = fill::read(data, &mut frame) else { return self.read(name, &mut frame, data, out) };
        let Some(marked) = halves::with_stand_ins(data) else { return Err(not_an_event(data, &error)) };
        let mut frame = Frame::default();
        fill::read(&marked, &mut frame).map_err(|error| not_an_event(data, &error))?;
        self.marked = true;
        let next = self.read(name, &mut frame, data, out);
        self.marked = false;
        next
    }

    fn read(
        &mut self,
        name: Option<&str>,
        frame: &mut Frame<'_>,
        data: &str,
        out: &mut Parts,
    ) -> Result<Next, ModelError> {
        let kind = std::mem::take(&mut frame.kind);
        let Some(kind) = kind.as_text().or(name) else { return self.untyped(frame, data, out) };
        if kind == "error" {
            return Err(error_of_event(data));
        }
        let Some(kind) = kind.strip_prefix("response.") else { return self.untyped(frame, data, out) };
        self.typed(kind, frame, out)
    }

    fn typed(&mut self, kind: &str, frame: &mut Frame<'_>, out: &mut Parts) -> Result<Next, ModelError> {
        match kind {
            "output_text.done" => self.late_text(false, frame, out)?,
            "refusal.done" => {
                self.refused = true;
                self.late_text(true, frame, out)?;
            }
            "reasoning_summary_text.done" | "reasoning_summary.done" => {
                self.late_reasoning(Form::Summary, frame, out)?;
            }
            "reasoning_text.done" | "reasoning.done" => self.late_reasoning(Form::Content, frame, out)?,
            "function_call_arguments.done" => self.late_input(frame)?,
            "output_text.annotation.added" => self.annotation(frame, out)?,
            "image_generation_call.partial_image" => self.partial_image(frame, out)?,
            "output_item.added" => {
                if let Some(item) = self.item_of(frame.item)? {
                    self.added(&item, frame.output_index.number(), out)?;
                }
            }
            "output_item.done" => {
                if let Some(item) = self.item_of(frame.item)? {
                    self.done(&item, frame.output_index.number(), out)?;
                }
            }
            "created" | "in_progress" | "queued" => {
                if let Some(response) = &mut frame.response {
                    self.describe(response, out);
                }
            }
            "completed" | "done" | "incomplete" | "failed" | "cancelled" => {
                let mut response = frame.response.take().unwrap_or_default();
                return self.terminal(kind, &mut response, out);
            }
            kind if kind.ends_with(".delta") => drop(self.piece(kind, &mut frame.piece(), out)?),
            _ => {}
        }
        Ok(Next::More)
    }

    /// An event that brings a piece; says whether it is of a known kind.
    fn piece(&mut self, kind: &str, piece: &mut Piece<'_>, out: &mut Parts) -> Result<bool, ModelError> {
        match kind {
            "output_text.delta" => {
                self.logprobs_of(piece.logprobs)?;
                self.text(piece, out)?;
            }
            "function_call_arguments.delta"
            | "custom_tool_call_input.delta"
            | "code_interpreter_call_code.delta"
            | "apply_patch_call_operation_diff.delta" => self.input(piece, out)?,
            "reasoning_summary_text.delta" | "reasoning_summary.delta" => {
                self.reasoning(Form::Summary, piece, out)?;
            }
            "reasoning_text.delta" | "reasoning.delta" => self.reasoning(Form::Content, piece, out)?,
            "refusal.delta" => {
                self.refused = true;
                self.text(piece, out)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A document that is no event: a whole response, or something in its place.
    fn untyped(&mut self, frame: &mut Frame<'_>, data: &str, out: &mut Parts) -> Result<Next, ModelError> {
        let object = std::mem::take(&mut frame.object);
        let is_response = object.as_text() == Some("response") || frame.output.0.is_some();
        if is_response {
            let mut response = Response::default();
            fill::read(data, &mut response).map_err(|error| not_an_event(data, &error))?;
            let status = std::mem::take(&mut response.status);
            return match status.as_text().unwrap_or("completed") {
                "queued" | "in_progress" => Err(ModelError::new(
                    ErrorClass::Protocol,
                    "the response is not there yet: the server works on it in the background",
                )),
                status => self.terminal(status, &mut response, out),
            };
        }
        if let Some(error) = error_of_frame(data) {
            return Err(error);
        }
        if frame.choices.0.is_some() {
            return Err(ModelError::new(
                ErrorClass::Protocol,
                "the server answers with chat completions where a response was asked for: \
                 use the Chat Completions API for it",
            ));
        }
        self.suspect = error_of_no_answer(data).or(self.suspect.take());
        match self.delivery {
            Delivery::Stream => Ok(Next::More),
            Delivery::Whole => Err(self.suspect.take().unwrap_or_else(|| {
                ModelError::new(ErrorClass::Protocol, "the answer is JSON, but no response: it has no output")
            })),
        }
    }

    /// An item as an object. Half a character in a text is no reason not to read the rest; in a call it is one, since
    /// a tool would run with it.
    fn item_of(&self, raw: Raw<'_>) -> Result<Option<JsonObject>, ModelError> {
        let Some(raw) = raw.0 else { return Ok(None) };
        let read = |json: &str| serde_json::from_str::<JsonObject>(json);
        let is_call =
            |item: &JsonObject| server::text(item, "type").is_some_and(|kind| kind.ends_with("_call"));
        read(raw.get()).map(Some).or_else(|error| {
            let mended = halves::replaced(raw.get()).and_then(|json| read(&json).ok());
            mended.filter(|item| !is_call(item)).map(Some).ok_or_else(|| {
                let message = format!("an item of the response cannot be read: {error}");
                ModelError::new(ErrorClass::Protocol, message)
            })
        })
    }

    fn logprobs_of(&mut self, logprobs: Raw<'_>) -> Result<(), ModelError> {
        match logprobs.0.filter(|list| list.get() != "[]") {
            Some(list) => self.logprobs.add_list(list),
            None => Ok(()),
        }
    }

    /// Says who answers, as soon as a frame does.
    fn describe(&mut self, response: &mut Response<'_>, out: &mut Parts) {
        self.mint.stored |= response.is_stored();
        let id = response.id.take_text().map(Cow::into_owned);
        if id.is_some() {
            self.mint.response_id.clone_from(&id);
        }
        let created = response.created_at.number().and_then(|seconds| u64::try_from(seconds).ok());
        let timestamp = created.filter(|seconds| *seconds > 0);
        let model = response.model.take_text().map(Cow::into_owned);
        if self.described || (id.is_none() && model.is_none() && timestamp.is_none()) {
            return;
        }
        self.described = true;
        let asked_model = Some(self.mint.origin.target.model.clone());
        let metadata = ResponseMetadata { id, timestamp, asked_model, model };
        out.push(StreamPart::ResponseMetadata(Box::new(metadata)));
    }

    /// The response is over; nothing behind it is read.
    fn terminal(
        &mut self,
        kind: &str,
        response: &mut Response<'_>,
        out: &mut Parts,
    ) -> Result<Next, ModelError> {
        self.describe(response, out);
        let status = std::mem::take(&mut response.status);
        let status = status.as_text().unwrap_or(kind);
        if let Some(error) = response.error.0.filter(|error| !matches!(error.get(), "{}" | "\"\"")) {
            return Err(error_of_event(&format!(r#"{{"error":{}}}"#, error.get())));
        }
        if [kind, status].iter().any(|word| matches!(*word, "failed" | "cancelled")) {
            let message = format!("the server reports that the response is {status}, and gives no reason");
            return Err(ModelError::new(ErrorClass::Server, message).with_status(500));
        }
        self.settle(response.output.0, kind != "incomplete" && status != "incomplete", out)?;
        let reason = self.reason(kind, status, response);
        let usage = response.usage.0.map_or_else(Usage::default, |raw| usage::read(raw.get(), false));
        let metadata = self.finish_metadata(&mut response.service_tier);
        out.push(StreamPart::Finish(Box::new(Finish { reason, usage, metadata })));
        Ok(Next::Done)
    }

    /// Closes what is open. The output of the last frame is read where the items did not come one by one, and for
    /// those that were never done.
    fn settle(
        &mut self,
        output: Option<&RawValue>,
        complete: bool,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        let all = self.items.is_empty();
        if (all || self.items.any_open())
            && let Some(output) = output
        {
            let items = serde_json::from_str::<Vec<&RawValue>>(output.get()).map_err(|error| {
                ModelError::new(
                    ErrorClass::Protocol,
                    format!("the output of the response is no list: {error}"),
                )
            })?;
            for (item, index) in items.into_iter().zip(0..) {
                let Some(item) = self.item_of(Raw(Some(item)))? else { continue };
                if all || self.awaits(&item) {
                    self.done(&item, all.then_some(index), out)?;
                }
            }
        }
        self.close(complete, out);
        Ok(())
    }

    fn reason(&self, kind: &str, status: &str, response: &mut Response<'_>) -> FinishReason {
        let incomplete = response.incomplete.reason.take_text().map(Cow::into_owned);
        let cut = kind == "incomplete" || status == "incomplete";
        let raw = match incomplete {
            Some(reason) => Some(reason),
            None if cut => Some("incomplete".to_owned()),
            None => self.dialect.raw_status.then(|| status.to_owned()),
        };
        let unified = match raw.as_deref().filter(|raw| *raw != status || cut) {
            _ if self.refused => UnifiedFinish::ContentFilter,
            Some("max_output_tokens" | "max_tokens" | "length") => UnifiedFinish::Length,
            Some("content_filter") => UnifiedFinish::ContentFilter,
            Some(_) => UnifiedFinish::Other,
            None if self.called => UnifiedFinish::ToolCalls,
            None => UnifiedFinish::Stop,
        };
        FinishReason { unified, raw }
    }

    fn finish_metadata(&mut self, tier: &mut Scalar<'_>) -> Option<Box<ProviderMetadata>> {
        let namespace = self.mint.origin.target.provider.clone();
        let mut values = ProviderOptions::default();
        let tier = tier.take_text().map(|tier| ("serviceTier", Value::from(tier.into_owned())));
        let id = self.mint.response_id.as_deref().map(|id| (RESPONSE_ID, id.into()));
        let logprobs = self.logprobs.take().map(|logprobs| ("logprobs", logprobs));
        let refusal = self.refused.then(|| ("refusal", true.into()));
        for (name, value) in [tier, id, logprobs, refusal].into_iter().flatten() {
            values = values.with(&namespace, name, value);
        }
        (!values.is_empty()).then(|| Box::new(ProviderMetadata { origin: None, values }))
    }

    /// What it means that the response never ended. What there is of the calls is shown, and never becomes one.
    fn unfinished(&mut self, marked: bool, out: &mut Parts) -> ModelError {
        self.show(out);
        if self.items.is_empty() {
            return self.suspect.take().unwrap_or_else(|| {
                ModelError::new(ErrorClass::Incomplete, "the server closed without an answer")
            });
        }
        match marked {
            true => ModelError::new(
                ErrorClass::MissingFinish,
                "the answer ended without its last event: it may be cut",
            ),
            false => ModelError::new(ErrorClass::Incomplete, "the answer broke off and is incomplete"),
        }
    }
}

impl Decoder for ResponsesDecoder {
    fn event(&mut self, event: Event<'_>, out: &mut Parts) -> Result<Next, ModelError> {
        let data = event.data.trim();
        if data == END_MARK {
            return Err(self.unfinished(true, out));
        }
        if data.is_empty() {
            return Ok(Next::More);
        }
        if event.name == Some("error") {
            return Err(error_of_event(data));
        }
        self.frame(event.name, data, out)
    }

    fn end(&mut self, _why: End, out: &mut Parts) -> Result<(), ModelError> {
        Err(self.unfinished(false, out))
    }
}

/// Some servers report their failure as plain text, or as JSON of another shape.
fn not_an_event(data: &str, error: &dyn fmt::Display) -> ModelError {
    let said = || error_of_no_answer(data).filter(|_| !data.starts_with('{'));
    error_of_frame(data).or_else(said).unwrap_or_else(|| {
        ModelError::new(ErrorClass::Protocol, format!("not an event of a response: {error}"))
    })
}
