use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use ai_provider::{
    Account, Delivery, FilePart, Id, ModelError, Origin, Request, RequestId, StreamPart, TargetId, Warning,
};
use http::{HeaderMap, StatusCode};

use crate::call::HttpCall;
use crate::framer::Framer;

/// What a codec is told about the call.
#[derive(Clone, Debug)]
pub struct CallInfo<'a> {
    /// What the call goes to.
    pub target: &'a TargetId,
    /// The account of the key that will be used; absent where the endpoint takes none.
    pub account: Option<&'a Account>,
    /// How the answer shall come.
    pub delivery: Delivery,
    /// Makes the ids the server leaves out.
    pub ids: IdSeed,
}

impl CallInfo<'_> {
    /// Who mints the opaque blocks of this call's answer.
    pub fn origin(&self) -> Origin {
        Origin { target: self.target.clone(), account: self.account.cloned() }
    }
}

/// An API as a pure function pair: request to HTTP call, frames to parts.
///
/// No I/O, no clock, no future, and no look-ahead: a frame gives its parts when it is read, so an early
/// failure is the first `Err` of the stream.
pub trait Codec: Send + Sync + 'static {
    /// Writes the request.
    ///
    /// # Errors
    /// `InvalidRequest` or `Unsupported` if the request cannot be said in this API.
    fn encode(&self, request: &Request, info: &CallInfo<'_>) -> Result<(HttpCall, Vec<Warning>), ModelError>;

    /// Whether the server cannot get a file of this type at its URL, so that it must be here before the request is
    /// written. Asked of each file that is given by URL, of users and of tools; what could not be got reaches
    /// [`encode`](Self::encode) as it was.
    fn must_download(&self, _file: &FilePart, _info: &CallInfo<'_>) -> bool {
        false
    }

    /// How the body of a success is cut into events.
    fn framing(&self, delivery: Delivery) -> Framing;

    /// A decoder for one response.
    fn decoder(&self, info: &CallInfo<'_>) -> Box<dyn Decoder>;

    /// A decoder for the response to this request, for an API whose answers read differently by what was asked:
    /// names a tool has on this side alone, a schema that is said as a tool. This is what the driver calls.
    fn decoder_for(&self, _request: &Request, info: &CallInfo<'_>) -> Box<dyn Decoder> {
        self.decoder(info)
    }

    /// Reads an error response. `excerpt` is the body, capped; it may be of any type whatever the headers
    /// say. URL, hint, request id and masking of keys are added by the caller.
    fn error(&self, status: StatusCode, headers: &HeaderMap, excerpt: &[u8]) -> ModelError;
}

/// Reads the events of one response.
pub trait Decoder: Send {
    /// Takes one event and pushes the parts it gives. Never called again after `Done` or an error; after
    /// `Trailing` it gets the trailing events, and may return any [`Next`] (the first limit holds). Parts
    /// pushed before an error are delivered before it.
    ///
    /// Raw parts are pushed by the caller, and nothing is delivered behind a `Finish`.
    ///
    /// # Errors
    /// `Protocol` for what breaks the API's rules, or the failure the event itself reports.
    fn event(&mut self, event: Event<'_>, out: &mut Parts) -> Result<Next, ModelError>;

    /// The events are over. Called once, unless `event` returned `Done` or an error.
    ///
    /// # Errors
    /// `Incomplete` if the terminal event never came, `MissingFinish` if only its reason is missing.
    fn end(&mut self, why: End, out: &mut Parts) -> Result<(), ModelError>;
}

/// How a body is cut into events.
#[non_exhaustive]
pub enum Framing {
    /// Server-sent events. A body that turns out to be a JSON document is read as `Whole`.
    Sse,
    /// One event per line that is not blank.
    Lines,
    /// The body is one event.
    Whole,
    /// Some other way.
    Custom(Box<dyn Framer>),
}

impl fmt::Debug for Framing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sse => "Sse",
            Self::Lines => "Lines",
            Self::Whole => "Whole",
            Self::Custom(_) => "Custom",
        })
    }
}

/// One event of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// Its name, where the framing has names.
    pub name: Option<&'a str>,
    /// Its payload.
    pub data: &'a str,
    /// Counts the events of the body from 1.
    pub number: u64,
}

/// What the decoder expects next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Next {
    /// Another event.
    More,
    /// The answer is over but for trailing events (usage), which are awaited this long at most.
    Trailing(Duration),
    /// Nothing: the terminal event was read and its parts are pushed.
    Done,
}

/// Why the events are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// The body ended.
    Body,
    /// The time for trailing events is over.
    TrailingOver,
}

/// Parts on their way out.
#[derive(Debug, Default)]
pub struct Parts(VecDeque<StreamPart>);

impl Parts {
    /// Adds one.
    pub fn push(&mut self, part: StreamPart) {
        self.0.push_back(part);
    }

    /// Takes the first.
    pub fn pop(&mut self) -> Option<StreamPart> {
        self.0.pop_front()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Makes ids that depend on the request alone, so that cutting the bytes differently never changes them and
/// two steps of a conversation never share one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdSeed(u64);

impl IdSeed {
    /// A seed for this request.
    pub fn new(request: &RequestId) -> Self {
        // FNV-1a: stable over versions and machines, which the standard hasher does not promise.
        let hash = request.as_str().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(hash)
    }

    /// The `index`-th id with this prefix, for example `call_1b2f…_0`.
    pub fn id(&self, prefix: &str, index: usize) -> Id {
        format!("{prefix}_{:016x}_{index}", self.0).into()
    }
}
