//! The answer, event by event.

use ai_http::{CallInfo, Decoder, End, Event, Next, Parts, excerpt, halves};
use ai_provider::{
    Delivery, ErrorClass, Finish, FinishReason, JsonObject, ModelError, ProviderMetadata, ProviderOptions,
    Request, ResponseMetadata, StreamPart, UnifiedFinish,
};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::failure;
use crate::metadata::FALLBACK;
use blocks::Blocks;
use frame::{Block, Frame, Message, Named, Piece, Progress, RarePiece};
use loose::Index;
use scope::Scope;
use sources::Sources;

mod begin;
mod blocks;
mod call;
mod frame;
mod kind;
mod loose;
mod scope;
mod sources;
mod usage;

/// Events this adapter reads. Of any other, nothing is expected.
const EVENTS: [&str; 8] = [
    "message",
    "message_start",
    "message_delta",
    "message_stop",
    "content_block_start",
    DELTA,
    "content_block_stop",
    "error",
];

const DELTA: &str = "content_block_delta";

/// What some servers send at the end, as other APIs have it. It says nothing here.
const END_MARK: &str = "[DONE]";

pub(crate) struct MessagesDecoder {
    scope: Scope,
    delivery: Delivery,
    /// The id of the message under way, once it began.
    message: Option<String>,
    /// Who answers, as far as it was told.
    model: Option<String>,
    blocks: Blocks,
    sources: Sources,
    /// The usage so far, as it came.
    usage: JsonObject,
    /// Why the model stopped.
    stop: Option<String>,
    /// What goes with the finish.
    values: JsonObject,
    /// What the server said in place of an answer, in case that none comes.
    suspect: Option<ModelError>,
}

impl MessagesDecoder {
    pub(crate) fn new(request: Option<&Request>, info: &CallInfo<'_>) -> Self {
        Self {
            scope: Scope::new(request, info),
            delivery: info.delivery,
            message: None,
            model: None,
            blocks: Blocks::default(),
            sources: Sources::default(),
            usage: JsonObject::new(),
            stop: None,
            values: JsonObject::new(),
            suspect: None,
        }
    }

    fn frame(&mut self, name: Option<&str>, data: &str, out: &mut Parts) -> Result<Next, ModelError> {
        let error = match self.read(name, data, out) {
            Ok(next) => return next,
            Err(error) => error,
        };
        if let Some(marked) = halves::with_stand_ins(data) {
            self.blocks.marked = true;
            let next = self.read(name, &marked, out);
            self.blocks.marked = false;
            return next.unwrap_or_else(|_| Err(not_an_event(data, &error.to_string())));
        }
        // An event of a kind nobody knows may look any way.
        let kind = serde_json::from_str::<Named<'_>>(data).ok().map(|named| named.kind);
        let kind = kind.as_deref().filter(|kind| !kind.is_empty()).or(name).unwrap_or_default();
        match kind {
            "error" => Err(failure::of_event(data)),
            _ if error.is_data() && !kind.is_empty() && !EVENTS.contains(&kind) => Ok(Next::More),
            _ => Err(not_an_event(data, &error.to_string())),
        }
    }

    /// What an event says.
    ///
    /// # Errors
    /// If it cannot be read.
    fn read(
        &mut self,
        name: Option<&str>,
        data: &str,
        out: &mut Parts,
    ) -> serde_json::Result<Result<Next, ModelError>> {
        // Most of a stream is deltas: where the name says that it is one, it is read into what a delta holds.
        if name == Some(DELTA)
            && let Ok(piece) = serde_json::from_str::<Piece<'_>>(data)
            && matches!(&*piece.kind, DELTA | "")
        {
            return Ok(self.delta(piece, data, out));
        }
        let frame: Frame<'_> = serde_json::from_str(data)?;
        let kind = if frame.kind.is_empty() { name.unwrap_or_default() } else { &*frame.kind };
        if kind == DELTA {
            return Ok(self.delta(serde_json::from_str(data)?, data, out));
        }
        Ok(self.other(kind, &frame, data, out))
    }

    fn other(
        &mut self,
        kind: &str,
        frame: &Frame<'_>,
        data: &str,
        out: &mut Parts,
    ) -> Result<Next, ModelError> {
        match kind {
            "content_block_start" => {
                let block =
                    frame.content_block.ok_or_else(|| protocol("content_block_start has no block"))?;
                self.block(frame.index, block, out)?;
            }
            "content_block_stop" => self.blocks.stop(frame.index, &self.scope, out),
            "message_start" => self.begin(frame.message, out)?,
            "message_delta" => self.progress(frame, out)?,
            "message_stop" => return self.done(out).map(|()| Next::Done),
            "message" => return self.whole(data, out),
            "error" => return Err(failure::of_event(data)),
            "ping" => {}
            _ => self.strange(kind, frame, data)?,
        }
        Ok(Next::More)
    }

    /// An event of no known kind: a failure in some other form, another API, or nothing of interest.
    fn strange(&mut self, kind: &str, frame: &Frame<'_>, data: &str) -> Result<(), ModelError> {
        if (frame.error.is_some() || kind.is_empty())
            && let Some(error) = failure::of_frame(data)
        {
            return Err(error);
        }
        if frame.choices.is_some() {
            let message = "the server answers in Chat Completions, not in Messages: check the base URL";
            return Err(protocol(message));
        }
        if kind.is_empty() {
            self.suspect = failure::of_no_answer(data).or(self.suspect.take());
        }
        Ok(())
    }

    /// A message begins. A server may say so twice; what would begin another one is spliced in from elsewhere.
    fn begin(&mut self, message: Option<&RawValue>, out: &mut Parts) -> Result<(), ModelError> {
        let message: Message<'_> = match message {
            Some(raw) => parse(raw, "the message of message_start")?,
            None => Message::default(),
        };
        match &self.message {
            Some(open) if *open == *message.id => return Ok(()),
            Some(_) => return Err(protocol("another message began before the end of this one")),
            None => {}
        }
        self.describe(&message, out);
        for (at, raw) in (0_i64..).zip(message.content.iter().flatten()) {
            self.block(Index(Some(at)), raw, out)?;
            self.blocks.stop(Index(Some(at)), &self.scope, out);
            self.blocks.expect_repeated(&parse(raw, "a content block")?);
        }
        Ok(())
    }

    fn describe(&mut self, message: &Message<'_>, out: &mut Parts) {
        self.message = Some(message.id.to_string());
        self.model = message.model.said();
        usage::update(&mut self.usage, message.usage);
        self.keep([("container", message.container), ("contextManagement", message.context_management)]);
        let id = message.id.said();
        if id.is_some() || self.model.is_some() {
            self.announce(id, out);
        }
    }

    fn announce(&self, id: Option<String>, out: &mut Parts) {
        out.push(StreamPart::ResponseMetadata(Box::new(ResponseMetadata {
            id,
            timestamp: None,
            asked_model: Some(self.scope.origin.target.model.clone()),
            model: self.model.clone(),
        })));
    }

    /// Another model took over.
    fn take_over(&mut self, model: Option<String>, out: &mut Parts) {
        if model.is_some() && model != self.model {
            self.model = model;
            self.announce(None, out);
        }
    }

    fn block(&mut self, index: Index, raw: &RawValue, out: &mut Parts) -> Result<(), ModelError> {
        let mut block: Block<'_> = parse(raw, "a content block")?;
        if &*block.kind == FALLBACK {
            let model = block.to.as_ref().and_then(|to| to.model.said());
            self.take_over(model, out);
        }
        let citations = block.citations.take();
        self.blocks.start(index, raw, block, &self.scope, out)?;
        citations.into_iter().flatten().try_for_each(|citation| self.source(citation, out))
    }

    fn source(&mut self, citation: &RawValue, out: &mut Parts) -> Result<(), ModelError> {
        if self.scope.json {
            return Ok(());
        }
        self.sources.add(citation, self.scope.namespace(), &self.scope.ids, out)
    }

    fn delta(&mut self, piece: Piece<'_>, data: &str, out: &mut Parts) -> Result<Next, ModelError> {
        let Piece { index, delta, .. } = piece;
        match &*delta.kind {
            "text_delta" => self.blocks.text(index, delta.text.into_cow(), &self.scope, out),
            "thinking_delta" => self.blocks.thinking(index, delta.thinking.into_cow(), &self.scope, out),
            "input_json_delta" => self.blocks.input(index, delta.partial_json.into_cow(), out),
            "" => Err(protocol("a delta has no type")),
            kind => self.rare_delta(kind, index, data, out),
        }?;
        Ok(Next::More)
    }

    fn rare_delta(
        &mut self,
        kind: &str,
        index: Index,
        data: &str,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        if !matches!(kind, "signature_delta" | "citations_delta" | "compaction_delta") {
            return self.blocks.unknown(index);
        }
        let rare: RarePiece<'_> =
            serde_json::from_str(data).map_err(|error| not_an_event(data, &error.to_string()))?;
        let delta = rare.delta;
        match (kind, delta.citation) {
            ("signature_delta", _) => self.blocks.signature(index, &delta.signature, &self.scope, out),
            ("citations_delta", Some(citation)) => self.source(citation, out),
            ("citations_delta", None) => Ok(()),
            _ => self.blocks.compacted(index, delta.content.into_cow(), delta.encrypted_content, out),
        }
    }

    /// What is known of the whole message so far: it may come several times.
    fn progress(&mut self, frame: &Frame<'_>, out: &mut Parts) -> Result<(), ModelError> {
        let delta: Progress<'_> = match frame.delta {
            Some(raw) => parse(raw, "the delta of message_delta")?,
            None => Progress::default(),
        };
        self.stop = delta.stop_reason.said().or(self.stop.take());
        usage::update(&mut self.usage, frame.usage);
        self.keep([
            ("stopSequence", delta.stop_sequence),
            ("stopDetails", delta.stop_details),
            ("container", delta.container),
            ("contextManagement", frame.context_management),
        ]);
        let model = usage::fallback_model(&self.usage).map(str::to_owned);
        self.take_over(model, out);
        Ok(())
    }

    fn keep<const N: usize>(&mut self, values: [(&str, Option<&RawValue>); N]) {
        for (name, value) in values {
            if let Some(value) = value.and_then(|value| serde_json::from_str::<Value>(value.get()).ok()) {
                self.values.insert(name.to_owned(), value);
            }
        }
    }

    /// An answer in one body: the same blocks, each whole.
    fn whole(&mut self, data: &str, out: &mut Parts) -> Result<Next, ModelError> {
        let message: Message<'_> = serde_json::from_str(data)
            .map_err(|error| protocol(&format!("the answer is no message: {error}")))?;
        if message.content.is_none() {
            let unknown = || protocol("the answer is JSON, but no message: it has no content");
            return Err(failure::of_frame(data)
                .or_else(|| failure::of_no_answer(data))
                .unwrap_or_else(unknown));
        }
        if self.message.is_some() {
            return Err(protocol("another message began before the end of this one"));
        }
        self.describe(&message, out);
        for (at, raw) in (0_i64..).zip(message.content.iter().flatten()) {
            self.block(Index(Some(at)), raw, out)?;
            self.blocks.stop(Index(Some(at)), &self.scope, out);
        }
        self.stop = message.stop_reason.said();
        self.keep([("stopSequence", message.stop_sequence), ("stopDetails", message.stop_details)]);
        self.done(out).map(|()| Next::Done)
    }

    fn done(&mut self, out: &mut Parts) -> Result<(), ModelError> {
        let Some(raw) = self.stop.take() else { return Err(self.unfinished(true)) };
        let (unified, cut) = meaning(&raw);
        self.blocks.finish(cut, &self.scope, out);
        let unified = match unified {
            // The call was the answer, in the form that was asked for.
            UnifiedFinish::ToolCalls if self.blocks.json => UnifiedFinish::Stop,
            unified => unified,
        };
        let model = usage::fallback_model(&self.usage).map(str::to_owned);
        self.take_over(model, out);
        let values = std::mem::take(&mut self.values);
        let values = values.into_iter().fold(ProviderOptions::default(), |all, (name, value)| {
            all.with(self.scope.namespace(), name, value)
        });
        out.push(StreamPart::Finish(Box::new(Finish {
            reason: FinishReason::new(unified, raw),
            usage: usage::read(std::mem::take(&mut self.usage)),
            metadata: (!values.is_empty()).then(|| Box::new(ProviderMetadata { origin: None, values })),
        })));
        Ok(())
    }

    /// What it means that no reason came. A call under way never becomes one.
    fn unfinished(&mut self, marked: bool) -> ModelError {
        let came = self.blocks.came;
        if !came
            && self.message.is_none()
            && let Some(error) = self.suspect.take()
        {
            return error;
        }
        let (class, message) = match (marked, came) {
            (true, true) => {
                (ErrorClass::MissingFinish, "the answer ended without a stop reason: it may be cut")
            }
            (true, false) => (ErrorClass::Incomplete, "the answer ended before it began"),
            (false, true) => (ErrorClass::Incomplete, "the answer broke off and is incomplete"),
            (false, false) => (ErrorClass::Incomplete, "the server closed without an answer"),
        };
        ModelError::new(class, message)
    }
}

impl Decoder for MessagesDecoder {
    fn event(&mut self, event: Event<'_>, out: &mut Parts) -> Result<Next, ModelError> {
        let data = event.data.trim();
        if event.name == Some("error") {
            return Err(failure::of_event(data));
        }
        if data.is_empty() || data == END_MARK {
            return Ok(Next::More);
        }
        if !data.starts_with('{') {
            return Err(not_an_event(data, &format!("not a JSON object: {}", excerpt(data.as_bytes()))));
        }
        match self.delivery {
            Delivery::Stream => self.frame(event.name, data, out),
            // Errors come in the same form as in a stream.
            Delivery::Whole => match serde_json::from_str::<Named<'_>>(data) {
                Ok(named) if &*named.kind == "error" => Err(failure::of_event(data)),
                _ => self.whole(data, out),
            },
        }
    }

    fn end(&mut self, _why: End, _out: &mut Parts) -> Result<(), ModelError> {
        Err(self.unfinished(false))
    }
}

/// What a stop reason means, and whether the answer ends too early for it. A word that is not known is not guessed.
fn meaning(raw: &str) -> (UnifiedFinish, bool) {
    match raw {
        "end_turn" | "stop_sequence" | "pause_turn" => (UnifiedFinish::Stop, false),
        "tool_use" => (UnifiedFinish::ToolCalls, false),
        "max_tokens" | "model_context_window_exceeded" => (UnifiedFinish::Length, true),
        "refusal" => (UnifiedFinish::ContentFilter, true),
        _ => (UnifiedFinish::Other, false),
    }
}

fn parse<'a, T: serde::Deserialize<'a>>(raw: &'a RawValue, what: &str) -> Result<T, ModelError> {
    serde_json::from_str(raw.get()).map_err(|error| protocol(&format!("{what} cannot be read: {error}")))
}

fn protocol(message: &str) -> ModelError {
    ModelError::new(ErrorClass::Protocol, message)
}

/// Some servers report their failure as plain text, or as JSON of another shape.
fn not_an_event(data: &str, error: &str) -> ModelError {
    let said = || failure::of_no_answer(data).filter(|_| !data.starts_with('{'));
    failure::of_frame(data)
        .or_else(said)
        .unwrap_or_else(|| protocol(&format!("not an event of this API: {error}")))
}
