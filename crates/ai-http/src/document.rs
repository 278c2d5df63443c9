//! One document as the answer to a call: through the driver of all calls, so that its keys, timers, limits and errors
//! are theirs.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};

use ai_provider::{
    Delivery, ErrorClass, Finish, FinishReason, ModelError, ModelStream, Request, StreamPart, UnifiedFinish,
    Usage, Warning,
};
use http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;

use crate::call::HttpCall;
use crate::codec::{CallInfo, Codec, Decoder, End, Event, Framing, Next, Parts};
use crate::excerpt::excerpt;
use crate::failure::{error_of_frame, error_of_response};

/// Bytes of a document that are searched for an error. Errors are short; what is longer is an answer.
const ERROR_BYTES: usize = 64 * 1024;

/// Where the decoder leaves what it has read: a document is no part of a stream.
pub(crate) struct Slot<T>(Arc<Mutex<Option<T>>>);

impl<T> Slot<T> {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(None)))
    }

    fn put(&self, document: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(document);
    }

    fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<T> Clone for Slot<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Reads the response of an error: its status, its headers and its body, capped.
pub(crate) type ReadError = fn(StatusCode, &HeaderMap, &[u8]) -> ModelError;

pub(crate) struct DocumentCodec<T> {
    pub(crate) call: HttpCall,
    pub(crate) read_error: ReadError,
    pub(crate) slot: Slot<T>,
}

struct DocumentDecoder<T>(Slot<T>);

impl<T: DeserializeOwned + Send + 'static> Codec for DocumentCodec<T> {
    fn encode(&self, _: &Request, _: &CallInfo<'_>) -> Result<(HttpCall, Vec<Warning>), ModelError> {
        Ok((self.call.clone(), Vec::new()))
    }

    fn framing(&self, _: Delivery) -> Framing {
        Framing::Whole
    }

    fn decoder(&self, _: &CallInfo<'_>) -> Box<dyn Decoder> {
        Box::new(DocumentDecoder(self.slot.clone()))
    }

    fn error(&self, status: StatusCode, headers: &HeaderMap, excerpt: &[u8]) -> ModelError {
        (self.read_error)(status, headers, excerpt)
    }
}

impl<T: DeserializeOwned + Send> Decoder for DocumentDecoder<T> {
    fn event(&mut self, event: Event<'_>, out: &mut Parts) -> Result<Next, ModelError> {
        if event.data.len() <= ERROR_BYTES
            && let Some(error) = error_of_frame(event.data)
        {
            return Err(error);
        }
        let document = serde_json::from_str(event.data).map_err(|error| {
            let message = format!("the answer is not of the expected form: {error}");
            ModelError::new(ErrorClass::Protocol, message).with_excerpt(excerpt(event.data.as_bytes()))
        })?;
        self.0.put(document);
        let reason = FinishReason::from(UnifiedFinish::Stop);
        out.push(StreamPart::Finish(Box::new(Finish { reason, usage: Usage::default(), metadata: None })));
        Ok(Next::Done)
    }

    fn end(&mut self, _: End, _: &mut Parts) -> Result<(), ModelError> {
        Err(incomplete())
    }
}

/// What errors of all APIs have in common.
pub(crate) fn usual_error(status: StatusCode, _: &HeaderMap, excerpt: &[u8]) -> ModelError {
    error_of_response(status, excerpt)
}

pub(crate) fn request() -> Request {
    let mut request = Request::default();
    request.delivery = Delivery::Whole;
    request
}

/// Polls the call to its end, and takes the document.
pub(crate) async fn read<T>(mut answer: ModelStream, slot: &Slot<T>) -> Result<T, ModelError> {
    while let Some(part) = poll_fn(|cx| answer.as_mut().poll_next(cx)).await {
        part?;
    }
    slot.take().ok_or_else(incomplete)
}

fn incomplete() -> ModelError {
    ModelError::new(ErrorClass::Incomplete, "the server closed without an answer")
}
