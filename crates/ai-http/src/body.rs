//! Reads a body: chunks to events to parts.

use std::task::{Context, Poll, ready};
use std::time::Duration;

use ai_provider::{ErrorClass, ModelError, StreamPart};
use bytes::Bytes;
use serde_json::Value;

use crate::codec::{Decoder, End, Event, Framing, Next, Parts};
use crate::excerpt::excerpt;
use crate::framer::Framer;
use crate::limits::Limits;
use crate::lines::LinesFramer;
use crate::redact::rebuild;
use crate::report::Report;
use crate::sse::SseFramer;
use crate::transport::Body;
use crate::wait::{Guard, Patience, deadline_passed};
use crate::whole::WholeFramer;

/// Bytes given to the framer at once: its buffer stays small, and in the cache, however large the chunks.
const FEED: usize = 8 * 1024;

/// Parts made of what is there before they are handed out one by one: the code of the decoder stays in the cache while
/// it runs, and that of the layers above while they do.
const BATCH: usize = 64;

/// Chunks read in one poll before other tasks get their turn and the timers are looked at.
const BURST: u32 = 32;

/// What a poll of the body gives.
pub(crate) enum Step {
    Part(StreamPart),
    /// The last part.
    Finish(StreamPart),
    Failed(ModelError),
    /// The body is a web page, which begins like this.
    Page(Bytes),
}

/// How the body is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sse,
    Lines,
    Whole,
    Custom,
}

/// Where reading has got to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The body is being read.
    Body,
    /// It has ended; the framer may still hold an event.
    Leftover,
    /// The decoder is done.
    Decoded,
}

/// A body under way.
pub(crate) struct Reading {
    /// Gone once it has ended.
    body: Option<Body>,
    /// Read, and not yet given to the framer.
    chunk: Bytes,
    framer: Box<dyn Framer>,
    kind: Kind,
    /// The first byte that is not blank was seen, and fits the kind.
    begun: bool,
    decoder: Box<dyn Decoder>,
    parts: Parts,
    /// What the first event says, as long as the decoder has made nothing of any.
    said: Option<String>,
    /// Comes behind the parts.
    failure: Option<ModelError>,
    phase: Phase,
    idle: Patience,
    /// Set once the answer is over but for its trailing events.
    trailing: Option<Patience>,
    include_raw: bool,
    report: Report,
    limits: Limits,
}

impl Reading {
    pub(crate) fn new(
        body: Body,
        framing: Framing,
        decoder: Box<dyn Decoder>,
        idle: Option<Duration>,
        limits: Limits,
        report: Report,
    ) -> Self {
        let (framer, kind): (Box<dyn Framer>, _) = match framing {
            Framing::Sse => (Box::new(SseFramer::new(&limits)), Kind::Sse),
            Framing::Lines => (Box::new(LinesFramer::new(&limits)), Kind::Lines),
            Framing::Whole => (Box::new(WholeFramer::new(&limits)), Kind::Whole),
            Framing::Custom(framer) => (framer, Kind::Custom),
        };
        Self {
            body: Some(body),
            chunk: Bytes::new(),
            framer,
            kind,
            begun: kind == Kind::Custom,
            decoder,
            parts: Parts::default(),
            said: None,
            failure: None,
            phase: Phase::Body,
            idle: Patience::new(idle),
            trailing: None,
            include_raw: false,
            report,
            limits,
        }
    }

    pub(crate) fn with_raw(mut self, include_raw: bool) -> Self {
        self.include_raw = include_raw;
        self
    }

    /// What is left of the body, unless it has ended, and what is known of the call.
    pub(crate) fn into_rest(self) -> (Option<Body>, Report) {
        (self.body, self.report)
    }

    pub(crate) fn poll(&mut self, guard: &mut Guard, cx: &mut Context<'_>) -> Poll<Step> {
        if guard.is_cancelled() {
            return Poll::Ready(Step::Failed(self.report.complete(ModelError::cancelled())));
        }
        let mut chunks = 0;
        loop {
            if guard.is_late() {
                self.expire();
            }
            if let Some(part) = self.parts.pop() {
                match part {
                    // A decoder that fails has not finished, whatever it said before.
                    StreamPart::Finish(_) if self.failure.is_some() => continue,
                    StreamPart::Finish(_) => return Poll::Ready(Step::Finish(part)),
                    _ => return Poll::Ready(Step::Part(part)),
                }
            }
            if self.phase == Phase::Decoded {
                let error = self.failure.take().unwrap_or_else(no_finish);
                return Poll::Ready(Step::Failed(self.report.complete(error)));
            }
            if self.decode_some() {
                continue;
            }
            if !self.chunk.is_empty() {
                match self.feed() {
                    Some(page) => return Poll::Ready(Step::Page(page)),
                    None => continue,
                }
            }
            if chunks < BURST && self.read(cx).is_ready() {
                chunks += 1;
                continue;
            }
            if self.watch(guard, cx).is_pending() {
                if chunks == BURST {
                    cx.waker().wake_by_ref();
                }
                return Poll::Pending;
            }
        }
    }

    /// Decodes what is there, up to [`BATCH`] parts; says whether there was something.
    fn decode_some(&mut self) -> bool {
        let mut some = false;
        while self.phase != Phase::Decoded && self.parts.len() < BATCH && self.decode() {
            some = true;
        }
        some
    }

    /// Decodes the next event, or what the end of the body means; says whether there was one.
    fn decode(&mut self) -> bool {
        let leftover = self.phase == Phase::Leftover;
        let event = if leftover { self.framer.end() } else { self.framer.next() };
        match event {
            Ok(Some(event)) => {
                if self.include_raw {
                    self.parts.push(raw(event));
                }
                let before = self.parts.len();
                let next = self.decoder.event(event, &mut self.parts);
                if self.parts.len() > before {
                    self.said = None;
                } else if event.number == 1 && next.is_ok() {
                    self.said = Some(excerpt(event.data.as_bytes()));
                }
                match next {
                    Ok(Next::More) => {}
                    Ok(Next::Done) => self.phase = Phase::Decoded,
                    Ok(Next::Trailing(limit)) => {
                        self.trailing.get_or_insert_with(|| Patience::new(Some(limit)));
                    }
                    Err(error) => {
                        let error = judge(error, event, leftover, self.kind == Kind::Whole);
                        self.break_off(error, leftover);
                    }
                }
            }
            Ok(None) if leftover => self.end(End::Body),
            Ok(None) => return false,
            Err(error) => self.break_off(error, leftover),
        }
        true
    }

    /// A cut behind the end of the answer is only the end of the body.
    fn break_off(&mut self, error: ModelError, leftover: bool) {
        if leftover && self.trailing.is_some() && error.class() == ErrorClass::Incomplete {
            self.end(End::Body);
        } else {
            self.fail(error);
        }
    }

    fn end(&mut self, why: End) {
        self.phase = Phase::Decoded;
        if let Err(error) = self.decoder.end(why, &mut self.parts) {
            self.fail(error);
        }
    }

    fn fail(&mut self, error: ModelError) {
        self.phase = Phase::Decoded;
        self.failure = Some(match self.said.take() {
            Some(said) if error.class() == ErrorClass::Incomplete && error.excerpt().is_none() => {
                with_words(&error, said)
            }
            _ => error,
        });
    }

    /// Ends the call from outside. An answer that lacks only its trailing events is kept, but for a cancel.
    fn interrupt(&mut self, error: ModelError) {
        if self.trailing.is_some() && !error.is_cancelled() {
            self.end(End::TrailingOver);
        } else {
            self.fail(error);
        }
    }

    /// The deadline has passed: parts that wait for the consumer come too late as well.
    fn expire(&mut self) {
        match (self.phase, &self.trailing) {
            (Phase::Decoded, Some(_)) => {}
            (_, Some(_)) => self.interrupt(deadline_passed()),
            (_, None) if self.failure.is_none() => {
                self.parts = Parts::default();
                self.fail(deadline_passed());
            }
            (_, None) => {}
        }
    }

    /// Gives the framer its next bytes, or gives back those of a web page.
    fn feed(&mut self) -> Option<Bytes> {
        if !self.begun {
            // White space and a byte-order mark may stand before all kinds.
            let blank = |byte: &u8| b" \t\r\n\xEF\xBB\xBF".contains(byte);
            let begin = self.chunk.iter().position(|byte| !blank(byte));
            self.begun = begin.is_some();
            let at = begin.unwrap_or_default();
            match self.chunk.get(at) {
                Some(b'<') => return Some(std::mem::take(&mut self.chunk)),
                Some(b'{' | b'[') if self.kind == Kind::Sse => {
                    // What came before is blank, and may be the half of a mark.
                    drop(self.chunk.split_to(at));
                    self.kind = Kind::Whole;
                    self.framer = Box::new(WholeFramer::new(&self.limits));
                }
                _ => {}
            }
        }
        let piece = self.chunk.split_to(FEED.min(self.chunk.len()));
        self.framer.push(&piece);
        None
    }

    /// Reads the next chunk.
    fn read(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let next = match &mut self.body {
            Some(body) => ready!(body.as_mut().poll_next(cx)),
            None => None,
        };
        if let Some(Ok(chunk)) = next {
            self.idle.rest();
            self.chunk = chunk;
            return Poll::Ready(());
        }
        // A body must not be polled behind its end.
        self.body = None;
        match next {
            Some(Err(_)) if self.trailing.is_some() => self.end(End::Body),
            Some(Err(error)) => {
                let message = format!("the answer broke off and is incomplete: {}", error.message());
                self.fail(rebuild(&error, error.class(), message, str::to_owned));
            }
            _ => self.phase = Phase::Leftover,
        }
        Poll::Ready(())
    }

    /// Looks at everything that may end the wait for a chunk; ready if something did.
    fn watch(&mut self, guard: &mut Guard, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(trailing) = &mut self.trailing
            && (trailing.poll(cx).is_ready() || self.idle.poll(cx).is_ready())
        {
            self.end(End::TrailingOver);
        } else if let Poll::Ready(error) = guard.poll(cx) {
            self.interrupt(error);
        } else if self.idle.poll(cx).is_ready() {
            self.fail(ModelError::new(
                ErrorClass::Timeout,
                "the server fell silent in the middle of the answer",
            ));
        } else {
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

fn raw(event: Event<'_>) -> StreamPart {
    let raw_value = serde_json::from_str(event.data).unwrap_or_else(|_| Value::String(event.data.to_owned()));
    StreamPart::Raw { raw_value }
}

/// The error of an answer that the decoder could make nothing of, with what it says.
fn with_words(error: &ModelError, said: String) -> ModelError {
    let message = format!("{}; it said: {said}", error.message());
    rebuild(error, error.class(), message, str::to_owned).with_excerpt(said)
}

fn no_finish() -> ModelError {
    ModelError::new(ErrorClass::Incomplete, "the answer ended without a finish")
}

/// What a decoder's failure means where the event stood: an event that lacks its end was cut, not malformed.
fn judge(error: ModelError, event: Event<'_>, leftover: bool, whole: bool) -> ModelError {
    if error.class() != ErrorClass::Protocol {
        return error;
    }
    if leftover && (!whole || is_cut(event.data)) {
        let message = format!("the body ended inside an event: {}", error.message());
        return rebuild(&error, ErrorClass::Incomplete, message, str::to_owned);
    }
    let error =
        if error.excerpt().is_none() { error.with_excerpt(excerpt(event.data.as_bytes())) } else { error };
    if whole || error.message().starts_with("event ") {
        return error;
    }
    let message = format!("event {}: {}", event.number, error.message());
    rebuild(&error, ErrorClass::Protocol, message, str::to_owned)
}

/// Whether this would be JSON if it went on.
fn is_cut(json: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(json).is_err_and(|error| error.is_eof())
}
