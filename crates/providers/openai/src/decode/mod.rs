//! The answer, frame by frame.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ai_http::{
    CallInfo, Decoder, End, Event, IdSeed, Next, Parts, error_of_event, error_of_frame, error_of_no_answer,
    excerpt, halves,
};
use ai_provider::{
    AssistantPart, Delivery, ErrorClass, Finish, FinishReason, Message, ModelError, Origin, ProviderMetadata,
    ProviderOptions, Request, ResponseMetadata, StreamPart, UnifiedFinish,
};

use crate::dialect::Dialect;
use alike::Alike;
use blocks::Blocks;
pub(crate) use calls::escaped;
use calls::{Calls, Fragment};
use details::Details;
use frame::{Came, Choice, Choices, Delta, Frame, FunctionDelta};
use logprobs::Logprobs;
use loose::Content;
use sources::Sources;
use tags::Tags;
use usage::LastUsage;

mod alike;
mod blocks;
mod calls;
mod content;
mod details;
pub(crate) mod fill;
mod frame;
pub(crate) mod logprobs;
pub(crate) mod loose;
mod object;
mod sources;
mod tags;
pub(crate) mod usage;

/// Where a reasoning block's metadata says which field it came in.
pub(crate) const REASONING_FIELD: &str = "reasoningField";
/// The fields servers use for reasoning.
pub(crate) const REASONING_FIELDS: [&str; 2] = ["reasoning_content", "reasoning"];
/// Where it holds the reasoning in its maker's own form.
pub(crate) const REASONING_DETAILS: &str = "reasoningDetails";
/// Where a call's metadata holds the signature it must go back with.
pub(crate) const SIGNATURE: &str = "thoughtSignature";

/// How long usage is awaited behind the finish reason. It comes in the next packet or not at all.
const TRAILING: Duration = Duration::from_secs(2);

const END_MARK: &str = "[DONE]";

/// What some servers send for a null, as a text.
const NO_REASON: &str = "null";

pub(crate) struct ChatDecoder {
    dialect: Arc<Dialect>,
    origin: Origin,
    ids: IdSeed,
    delivery: Delivery,
    described: bool,
    alike: Alike,
    blocks: Blocks,
    calls: Calls,
    sources: Sources,
    logprobs: Logprobs,
    /// A delta came, even an empty one: the answer is a stream.
    streamed: bool,
    /// What came so far.
    came: Came,
    /// The frame that is being read has stand-ins for halves of characters.
    marked: bool,
    /// What the server said in place of an answer, in case that none comes.
    suspect: Option<ModelError>,
    usage: LastUsage,
    /// Why the model stopped: from here on only usage and sources are read.
    finish: Option<FinishReason>,
    details: Details,
    /// Tells reasoning within the text, where the dialect says that it stands there.
    tags: Option<Tags>,
    /// The piece of reasoning that came last, where the dialect says that it may come again.
    last_reasoning: Option<String>,
    /// The text the request ends with, where the dialect says that the answer may begin with it.
    prefill: Option<String>,
}

impl ChatDecoder {
    pub(crate) fn new(dialect: Arc<Dialect>, info: &CallInfo<'_>) -> Self {
        Self {
            tags: dialect.reasoning_tag.as_deref().map(Tags::new),
            last_reasoning: dialect.repeats_reasoning.then(String::new),
            prefill: None,
            details: Details::default(),
            dialect,
            origin: info.origin(),
            ids: info.ids.clone(),
            delivery: info.delivery,
            described: false,
            alike: Alike::default(),
            blocks: Blocks::default(),
            calls: Calls::default(),
            sources: Sources::default(),
            logprobs: Logprobs::default(),
            streamed: false,
            came: Came::default(),
            marked: false,
            suspect: None,
            usage: LastUsage::default(),
            finish: None,
        }
    }

    /// The decoder of the answer to this request.
    pub(crate) fn answering(mut self, request: &Request) -> Self {
        if self.dialect.echoes_prefill
            && let Some(Message::Assistant(last)) = request.messages.last().map(|message| &**message)
        {
            let texts = last.parts.iter().filter_map(|part| match part {
                AssistantPart::Text(part) => Some(part.text.as_str()),
                _ => None,
            });
            self.prefill = Some(texts.collect()).filter(|text: &String| !text.is_empty());
        }
        self
    }

    fn frame(&mut self, data: &str, out: &mut Parts) -> Result<Next, ModelError> {
        if let Some(next) = self.take_alike(data, out) {
            return next;
        }
        if !data.starts_with('{') {
            return Err(not_a_frame(data, &format!("not a JSON object: {}", excerpt(data.as_bytes()))));
        }
        let mut frame = Frame::default();
        let Err(error) = fill::read(data, &mut frame) else {
            let only = frame.only_string(data);
            let next = self.read(&mut frame, data, out)?;
            if let (Next::More, Some((string, token))) = (next, only) {
                self.alike.learn(data, token, string);
            }
            return Ok(next);
        };
        let Some(marked) = halves::with_stand_ins(data) else { return Err(not_a_frame(data, &error)) };
        let mut frame = Frame::default();
        fill::read(&marked, &mut frame).map_err(|error| not_a_frame(data, &error))?;
        self.marked = true;
        let next = self.read(&mut frame, data, out);
        self.marked = false;
        next
    }

    fn read(&mut self, frame: &mut Frame<'_>, data: &str, out: &mut Parts) -> Result<Next, ModelError> {
        if frame.choices.as_ref().is_none_or(Choices::is_empty) {
            self.check_without_choices(frame, data)?;
        }
        self.describe(frame, out);
        self.sources.lists([frame.search_results, frame.citations], &self.ids, out)?;
        let mut usage = self.note_usage(frame);
        let mut reason = None;
        let mut known = self.came;
        let mut whole = self.delivery == Delivery::Whole;
        let mut failed = frame.error.0.or(frame.x_groq.error.0).is_some();
        for choice in frame.choices.iter_mut().flat_map(Choices::iter_mut) {
            failed |= choice.error.0.is_some();
            usage |= self.usage.keep(choice.usage);
            let ended = choice.finish_reason.take_text().filter(|reason| reason != NO_REASON);
            whole |= self.choice(choice, ended.is_some(), &mut known, out)?;
            reason = ended.or(reason);
        }
        if failed && let Some(error) = error_of_frame(data) {
            return Err(error);
        }
        match reason {
            Some(raw) => {
                let complete = whole || (usage && self.usage.counts());
                Ok(self.finish(raw.into_owned(), complete, out))
            }
            None if whole => Err(self.unfinished(true, out)),
            None => Ok(Next::More),
        }
    }

    /// A frame without choices may hold usage, nothing of interest, or an error in some form.
    fn check_without_choices(&mut self, frame: &Frame<'_>, data: &str) -> Result<(), ModelError> {
        if frame.usage.0.is_none() || frame.error.0.is_some() {
            if let Some(error) = error_of_frame(data) {
                return Err(error);
            }
            self.suspect = error_of_no_answer(data).or(self.suspect.take());
        }
        if self.delivery == Delivery::Stream || frame.choices.is_some() {
            return Ok(());
        }
        Err(self.suspect.take().unwrap_or_else(|| {
            let message = "the answer is JSON, but not of this API: it has no choices";
            ModelError::new(ErrorClass::Protocol, message)
        }))
    }

    /// Says who answers, as soon as a frame does: some servers begin with a blank one.
    fn describe(&mut self, frame: &mut Frame<'_>, out: &mut Parts) {
        if self.described {
            return;
        }
        let created = frame.created.number().and_then(|seconds| u64::try_from(seconds).ok());
        let timestamp = created.filter(|seconds| *seconds > 0);
        let [id, model] = [&mut frame.id, &mut frame.model].map(|text| text.take_text().map(Cow::into_owned));
        if id.is_none() && model.is_none() && timestamp.is_none() {
            return;
        }
        self.described = true;
        let asked_model = Some(self.origin.target.model.clone());
        out.push(StreamPart::ResponseMetadata(Box::new(ResponseMetadata {
            id,
            timestamp,
            asked_model,
            model,
        })));
    }

    /// Keeps the usage of a frame; says whether it has some.
    fn note_usage(&mut self, frame: &Frame<'_>) -> bool {
        self.usage.keep(if frame.usage.0.is_some() { frame.usage } else { frame.x_groq.usage })
    }

    /// Reads a choice; says whether it is all of the answer. `known` is what came before this frame or in its
    /// deltas: several messages of one frame add up.
    ///
    /// Some servers send the message so far beside each delta, and some the whole message at the end of a
    /// stream. Behind a delta a message counts only for the kinds of content that no delta brought, and beside
    /// one only in the frame that ends the answer.
    fn choice(
        &mut self,
        choice: &mut Choice<'_>,
        ended: bool,
        known: &mut Came,
        out: &mut Parts,
    ) -> Result<bool, ModelError> {
        let repeats = self.streamed && choice.delta.is_none();
        if let Some(logprobs) = choice.logprobs.0.filter(|_| !repeats || self.logprobs.is_empty()) {
            self.logprobs.add(logprobs)?;
        }
        if let Some(delta) = &mut choice.delta {
            self.streamed = true;
            self.delta(delta, false, out)?;
            *known = self.came;
        }
        let Some(message) = choice.message.as_mut().filter(|_| ended || choice.delta.is_none()) else {
            return Ok(false);
        };
        if self.streamed {
            message.without(*known);
        }
        self.delta(message, true, out)?;
        Ok(!self.streamed)
    }

    fn delta(&mut self, delta: &mut Delta<'_>, whole: bool, out: &mut Parts) -> Result<(), ModelError> {
        if let Some(details) = delta.reasoning_details.0.filter(|_| self.dialect.reasoning_details) {
            self.details.add(details)?;
        }
        // Servers that send both send the same text twice.
        let [field, other] = REASONING_FIELDS;
        match delta.reasoning_content.has_text() {
            true => self.reasoning(delta.reasoning_content.take_text(), field, out),
            false => self.reasoning(delta.reasoning.take_text(), other, out),
        }
        match &mut delta.content {
            Content::None => {}
            Content::Text(text) => self.text(std::mem::take(text), out),
            Content::Parts(parts) => parts.iter_mut().for_each(|part| self.part(part, out)),
        }
        self.refusal(&mut delta.refusal, out);
        for image in delta.images.iter_mut().flatten() {
            self.part(image, out);
        }
        if let Some(annotations) = delta.annotations.0 {
            self.sources.annotations(annotations, &self.ids, out)?;
        }
        for call in delta.tool_calls.iter_mut().flatten() {
            let signature = call.extra_content.google.thought_signature.take_text().map(Cow::into_owned);
            let id = call.id.take_text().unwrap_or_default();
            let fragment = match call.custom.name.take_text() {
                None if !call.custom.input.has_text() => Fragment {
                    id,
                    index: call.index.number(),
                    signature,
                    ..self.function(&mut call.function)?
                },
                name => Fragment {
                    id,
                    index: call.index.number(),
                    name: name.unwrap_or_default(),
                    input: call.custom.input.take_text(),
                    is_text: true,
                    marked: self.marked,
                    signature,
                },
            };
            self.call(fragment, whole, out)?;
        }
        // How a call was said before there could be several.
        let only = self.function(&mut delta.function_call)?;
        if !only.name.is_empty() || !only.input.is_empty() {
            self.call(only, whole, out)?;
        }
        Ok(())
    }

    fn function<'a>(&self, function: &mut FunctionDelta<'a>) -> Result<Fragment<'a>, ModelError> {
        let (input, marked) = loose::arguments(function.arguments.0).map_err(|error| {
            let message = format!("the arguments of a tool call are no text: {error}");
            ModelError::new(ErrorClass::Protocol, message)
        })?;
        let name = function.name.take_text().unwrap_or_default();
        Ok(Fragment { name, input, marked: marked || self.marked, ..Fragment::default() })
    }

    fn call(&mut self, fragment: Fragment<'_>, whole: bool, out: &mut Parts) -> Result<(), ModelError> {
        self.close(out);
        match whole {
            true => self.calls.whole(fragment, out)?,
            false => self.calls.fragment(fragment, out)?,
        }
        self.came.calls |= !self.calls.is_empty();
        Ok(())
    }

    /// The reason came, in a frame that was read whole.
    fn finish(&mut self, raw: String, complete: bool, out: &mut Parts) -> Next {
        let unified = match self.dialect.finish(&raw) {
            _ if self.came.refusal => UnifiedFinish::ContentFilter,
            unified => unified,
        };
        let cut =
            matches!(unified, UnifiedFinish::Length | UnifiedFinish::ContentFilter | UnifiedFinish::Error);
        self.close(out);
        self.rest_of_details(out);
        self.calls.finish(cut, &self.ids, &self.origin, out);
        self.finish = Some(FinishReason::new(unified, raw));
        if complete {
            self.done(out);
            return Next::Done;
        }
        Next::Trailing(TRAILING)
    }

    /// Behind the finish: usage and sources, and nothing else, are read.
    fn trailing(&mut self, data: &str, out: &mut Parts) -> Result<Next, ModelError> {
        let mut frame = Frame::default();
        if fill::read(data, &mut frame).is_ok() {
            self.sources.lists([frame.search_results, frame.citations], &self.ids, out)?;
            if self.note_usage(&frame) && self.usage.counts() {
                self.done(out);
                return Ok(Next::Done);
            }
        }
        Ok(Next::Trailing(TRAILING))
    }

    fn done(&mut self, out: &mut Parts) {
        let Some(reason) = self.finish.take() else { return };
        let usage = self.usage.take(self.dialect.reasoning_beside_completion);
        let namespace = &self.origin.target.provider;
        let mut values = ProviderOptions::default();
        if let Some(logprobs) = self.logprobs.take() {
            values = values.with(namespace, "logprobs", logprobs);
        }
        if self.came.refusal {
            values = values.with(namespace, "refusal", true.into());
        }
        let metadata = (!values.is_empty()).then(|| Box::new(ProviderMetadata { origin: None, values }));
        out.push(StreamPart::Finish(Box::new(Finish { reason, usage, metadata })));
    }

    /// What it means that no reason came. What there is of the calls is shown, and never becomes one.
    fn unfinished(&mut self, marked: bool, out: &mut Parts) -> ModelError {
        self.calls.show(&self.ids, out);
        if !self.streamed
            && !self.came.anything()
            && self.usage.is_empty()
            && let Some(error) = self.suspect.take()
        {
            return error;
        }
        match (marked, self.came.anything()) {
            (true, true) => ModelError::new(
                ErrorClass::MissingFinish,
                "the answer ended without a finish reason: it may be cut",
            ),
            (true, false) => ModelError::new(ErrorClass::Incomplete, "the answer ended before it began"),
            (false, true) => {
                ModelError::new(ErrorClass::Incomplete, "the answer broke off and is incomplete")
            }
            (false, false) => ModelError::new(ErrorClass::Incomplete, "the server closed without an answer"),
        }
    }
}

impl Decoder for ChatDecoder {
    fn event(&mut self, event: Event<'_>, out: &mut Parts) -> Result<Next, ModelError> {
        let data = event.data.trim();
        if data == END_MARK {
            if self.finish.is_none() {
                return Err(self.unfinished(true, out));
            }
            self.done(out);
            return Ok(Next::Done);
        }
        if self.finish.is_some() {
            return self.trailing(data, out);
        }
        if data.is_empty() {
            return Ok(Next::More);
        }
        if event.name == Some("error") {
            return Err(error_of_event(data));
        }
        self.frame(data, out)
    }

    fn end(&mut self, _why: End, out: &mut Parts) -> Result<(), ModelError> {
        if self.finish.is_none() {
            return Err(self.unfinished(false, out));
        }
        self.done(out);
        Ok(())
    }
}

/// Some servers report their failure as plain text, or as JSON of another shape.
fn not_a_frame(data: &str, error: &dyn fmt::Display) -> ModelError {
    let said = || error_of_no_answer(data).filter(|_| !data.starts_with('{'));
    error_of_frame(data).or_else(said).unwrap_or_else(|| {
        let message = format!("not a frame of a chat completion: {error}");
        ModelError::new(ErrorClass::Protocol, message)
    })
}
