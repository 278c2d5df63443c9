use std::error::Error as StdError;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;

use async_trait::async_trait;
use futures_core::Stream;

use crate::assembler::{Assembled, Assembler, IncompleteCall};
use crate::capabilities::Capabilities;
use crate::context::CallContext;
use crate::error::ModelError;
use crate::finish::FinishReason;
use crate::keys::KeyLabel;
use crate::message::AssistantMessage;
use crate::metadata::ProviderMetadata;
use crate::part::{ResponseMetadata, StreamPart};
use crate::request::{Delivery, Request};
use crate::target::TargetId;
use crate::usage::Usage;
use crate::warning::Warning;

/// A model's answer as it comes. Idle until polled; dropping it cancels the call.
///
/// Nothing follows an `Err` or a [`StreamPart::Finish`].
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<StreamPart, ModelError>> + Send>>;

/// A language model: one method that does work, and nothing borrowed.
///
/// One call is one step: a model never loops, never retries and never runs a tool of the caller's. Everything
/// that wraps a model (middleware, retry) is a `LanguageModel` too: it implements `stream` and forwards
/// `target`, `capabilities` and `keys`.
pub trait LanguageModel: Send + Sync + 'static {
    /// What a call goes to.
    fn target(&self) -> &TargetId;

    /// What the model can do.
    fn capabilities(&self) -> &Capabilities;

    /// The names of the keys it can use, by index; empty if it rotates none.
    fn keys(&self) -> &[KeyLabel] {
        &[]
    }

    /// Calls the model. Every failure, early or late, is an `Err` item of the stream.
    fn stream(&self, request: Request, ctx: CallContext) -> ModelStream;
}

impl fmt::Debug for dyn LanguageModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LanguageModel").field("target", self.target()).finish_non_exhaustive()
    }
}

/// What every language model can do besides.
#[async_trait]
pub trait LanguageModelExt: LanguageModel {
    /// Calls the model for an answer in one body and folds it.
    ///
    /// # Errors
    /// Whatever the call met, with the part of the answer that came before.
    async fn generate(&self, mut request: Request, ctx: CallContext) -> Result<Generation, GenerateError> {
        request.delivery = Delivery::Whole;
        let mut stream = self.stream(request, ctx);
        let mut assembler = Assembler::default();
        while let Some(item) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
            if let Err(error) = item.and_then(|part| assembler.push(&part)) {
                return Err(GenerateError { error, partial: Box::new(assembler.finish()) });
            }
        }
        assembler.finish().into_generation()
    }
}

impl<M: LanguageModel + ?Sized> LanguageModelExt for M {}

/// A whole answer: one with a finish. Whether it says anything is for the caller to ask:
/// [`AssistantMessage::is_empty`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Generation {
    /// What the model said.
    pub message: AssistantMessage,
    /// Calls whose input was cut, for example by the limit of output tokens. Never run them.
    pub incomplete_calls: Vec<IncompleteCall>,
    /// Why it stopped.
    pub finish: FinishReason,
    /// What it took.
    pub usage: Usage,
    /// Who answered.
    pub response: ResponseMetadata,
    /// What could not be done as asked.
    pub warnings: Vec<Warning>,
    /// What the provider attached to the finish.
    pub metadata: Option<Box<ProviderMetadata>>,
}

impl Generation {
    pub(crate) fn new(assembled: Assembled, finish: FinishReason) -> Self {
        Self {
            message: assembled.message,
            incomplete_calls: assembled.incomplete_calls,
            finish,
            usage: assembled.usage,
            response: assembled.response,
            warnings: assembled.warnings,
            metadata: assembled.metadata,
        }
    }

    /// The text of the answer.
    pub fn text(&self) -> String {
        self.message.text()
    }
}

/// A failed call with what came before it failed.
#[derive(Clone, Debug)]
pub struct GenerateError {
    /// What failed.
    pub error: ModelError,
    /// The part of the answer that came.
    pub partial: Box<Assembled>,
}

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl StdError for GenerateError {
    /// That of [`error`](Self::error), which this error already says in its own words.
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.error.source()
    }
}

impl From<GenerateError> for ModelError {
    fn from(error: GenerateError) -> Self {
        error.error
    }
}
