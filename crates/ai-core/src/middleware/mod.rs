//! What stands around one model: changes its requests, changes its answers, and is a model itself.
//!
//! | you want to | look at |
//! |---|---|
//! | put middleware around a model | [`wrap`] |
//! | write one | [`Middleware`], [`PartTransform`] |
//! | have reasoning that a model writes between tags | [`ExtractReasoning`] |
//! | use tools with a model that has none | [`PromptTools`] |
//! | have JSON of a schema from a model that takes none | [`PromptJson`] |
//! | set what requests leave open | [`DefaultSettings`] |
//! | have JSON without fences around it | [`ExtractJson`] |
//! | show text evenly | [`Smooth`] |
//! | stream from what answers in one body only | [`SimulateStreaming`] |
//! | show examples of tool input to every model | [`DescribeExamples`] |
//! | see the calls in the log | [`Logging`] |
//!
//! The first of a list is the outermost: it sees the request first and the answer last.
//!
//! ```text
//! request ─▶ first ─▶ second ─▶ model
//!                                 │
//! answer  ◀─ first ◀─ second ◀────┘
//! ```

mod default_settings;
mod extract_json;
mod extract_reasoning;
mod guard;
mod input_examples;
mod logging;
mod model;
mod prompt_json;
mod prompt_tools;
mod simulate_streaming;
mod smooth;
mod text;
mod transform;

use std::fmt;
use std::sync::Arc;

use ai_provider::{CallContext, Capabilities, LanguageModel, ModelError, ModelStream, Request, TargetId};
use async_trait::async_trait;

pub use default_settings::DefaultSettings;
pub use extract_json::ExtractJson;
pub use extract_reasoning::ExtractReasoning;
pub(crate) use guard::Guard;
pub use input_examples::DescribeExamples;
pub use logging::Logging;
pub use model::wrap;
pub use prompt_json::PromptJson;
pub(crate) use prompt_tools::words;
pub use prompt_tools::{PromptCall, PromptTools, TagFormat, ToolFormat};
pub use simulate_streaming::SimulateStreaming;
pub use smooth::Smooth;
pub use transform::{PartTransform, Parts, transform_parts};

/// Takes part in every call of one model.
///
/// One value serves many calls at once: what belongs to one call lives in the stream that
/// [`wrap_stream`](Self::wrap_stream) returns.
///
/// A model answers whole or piece by piece with the same parts, so there is one method for both:
/// `generate` is folded from the stream.
///
/// ```
/// use ai_core::middleware::{Middleware, MiddlewareCall, wrap};
/// use ai_provider::{LanguageModel, ModelError, Request};
/// use std::sync::Arc;
///
/// /// Never more than a thousand tokens.
/// struct Short;
///
/// #[async_trait::async_trait]
/// impl Middleware for Short {
///     fn name(&self) -> &str {
///         "short"
///     }
///
///     async fn transform_request(
///         &self,
///         mut request: Request,
///         _call: &MiddlewareCall<'_>,
///     ) -> Result<Request, ModelError> {
///         request.settings.max_output_tokens = Some(1_000);
///         Ok(request)
///     }
/// }
///
/// fn shortened(model: Arc<dyn LanguageModel>) -> Arc<dyn LanguageModel> {
///     wrap(model, [Arc::new(Short) as Arc<dyn Middleware>])
/// }
/// ```
#[async_trait]
pub trait Middleware: Send + Sync + 'static {
    /// Its name, for traces and errors.
    fn name(&self) -> &str;

    /// What the wrapped model can do, if that is not what the inner one can do. Asked once, by [`wrap`].
    fn capabilities(&self, _inner: &Capabilities) -> Option<Capabilities> {
        None
    }

    /// Changes the request. An error ends the call: the model is not asked.
    ///
    /// It is dropped where it stands when the call is cancelled or its deadline passes.
    async fn transform_request(
        &self,
        request: Request,
        _call: &MiddlewareCall<'_>,
    ) -> Result<Request, ModelError> {
        Ok(request)
    }

    /// Changes the answer: called with the transformed request when the stream is first polled. `next` is
    /// idle until [`Next::stream`] and the stream's own first poll.
    ///
    /// The stream it returns keeps the rules of [`StreamPart`](ai_provider::StreamPart): nothing follows an
    /// error or a finish.
    fn wrap_stream(&self, next: Next, request: Request, ctx: CallContext) -> ModelStream {
        next.stream(request, ctx)
    }
}

impl fmt::Debug for dyn Middleware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Middleware").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// The call a middleware takes part in.
#[derive(Debug)]
#[non_exhaustive]
pub struct MiddlewareCall<'a> {
    /// What the call goes to.
    pub target: &'a TargetId,
    /// What the model beneath this middleware can do.
    pub capabilities: &'a Capabilities,
    /// What belongs to the call and its run.
    pub ctx: &'a CallContext,
}

/// The model beneath a middleware: further middleware, or the model itself.
#[derive(Clone, Debug)]
pub struct Next(Arc<dyn LanguageModel>);

impl Next {
    /// Calls it.
    pub fn stream(&self, request: Request, ctx: CallContext) -> ModelStream {
        self.0.stream(request, ctx)
    }

    /// The model beneath.
    pub fn model(&self) -> &Arc<dyn LanguageModel> {
        &self.0
    }
}
