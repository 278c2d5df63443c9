//! What takes part in requests as a whole: before a model is found, around its parameters, and at the end.
//!
//! A [`Plugin`] has hooks, of which it implements those it needs. A list of [`Plugins`] belongs to one call
//! (`stream_text`, `generate_text`, `embed_many`, `resolve_language_model`) or to one agent (`create_agent`). What
//! wraps one model alone, as a value, is a [middleware](crate::middleware).
//!
//! # Which hook applies where
//!
//! | hook | kind | `resolve_…` | `generate_text`, `stream_text` | agent | `embed_many` |
//! |---|---|---|---|---|---|
//! | `configure_context` | in order | yes | yes | once per agent | yes |
//! | `on_request_start` | observer | | yes | once per run | yes |
//! | `resolve_model` | first answer | yes | if the model is a name | if the model is a name, once per agent | |
//! | `transform_params` | in order | | once | once per run | |
//! | `transform_step` | in order | | once | once per step | |
//! | `transform_stream` | in order | | once | once per step | |
//! | `transform_result` | in order | | `generate_text` | | |
//! | `transform_embedding`, `transform_embeddings` | in order | | | | yes |
//! | `on_request_end` or `on_error` | observer | | yes | once per run | yes |
//! | `on_stream_end` | last | | yes | once per run | |
//!
//! *In order* is by [`Stage`]: all of `Pre`, all of `Normal`, all of `Post`; within a stage as they were listed. The
//! first failure ends the request. *Observers* all run at the same time; what they return, and a panic, is logged and
//! changes nothing.
//!
//! # Where a plugin stands in the stream
//!
//! ```text
//! model ← middleware ← wrap_model ← transform_stream (pre → post) ← assembler
//! ```
//!
//! A stream of theirs that panics is an error of the request, and one that never ends is ended by its cancel and its
//! deadline.
//!
//! # When hooks run
//!
//! All of them but `on_stream_end` are asynchronous and run while the request is awaited or its stream is polled.
//! `on_stream_end` is synchronous and called exactly once for each request whose start was announced, last of all:
//! from `Drop` if need be. Exactly one of `on_request_end` and `on_error` comes before it, unless the request was
//! dropped. For a stream they come when it ends, not when it is opened: before its last item is handed out.

mod agent;
mod context;
mod guarded;
mod params;
mod pipeline;
mod provider_tools;
mod watch;

use std::fmt;
use std::sync::Arc;

use ai_provider::{
    EmbeddingRequest, Embeddings, Finish, Generation, LanguageModel, ModelStream, Request, Usage,
};
use async_trait::async_trait;

pub(crate) use agent::{AgentPlugins, RunPlugins};
pub use context::{Operation, RequestContext};
pub(crate) use guarded::guarded;
pub use params::CallParams;
pub(crate) use pipeline::Pipeline;
pub use provider_tools::ProviderTools;
pub(crate) use watch::{last_word, watched};

use crate::error::{Error, PluginError};
use crate::model_ref::ModelRef;
use crate::tool_loop::RunEnd;

/// Takes part in requests; see the [module](self) for what is called when.
///
/// One value serves many requests at once: what belongs to one request is kept in its [`RequestContext`].
///
/// ```
/// use ai_core::plugin::{CallParams, Plugin, RequestContext};
/// use ai_core::PluginError;
///
/// /// Cold answers, whoever asks.
/// struct Cold;
///
/// #[async_trait::async_trait]
/// impl Plugin for Cold {
///     fn name(&self) -> &str {
///         "cold"
///     }
///
///     async fn transform_params(
///         &self,
///         mut params: CallParams,
///         _ctx: &RequestContext,
///     ) -> Result<CallParams, PluginError> {
///         params.settings.temperature = Some(0.0);
///         Ok(params)
///     }
/// }
/// ```
#[async_trait]
pub trait Plugin: Send + Sync + 'static {
    /// Its name, for errors, logs, and [`Plugins::without`].
    fn name(&self) -> &str;

    /// When it comes, among the plugins of a request.
    fn stage(&self) -> Stage {
        Stage::Normal
    }

    /// Sets the context up: what the other hooks shall find there, and middleware for the model. The one hook that
    /// may change the context.
    async fn configure_context(&self, _ctx: &mut RequestContext) -> Result<(), PluginError> {
        Ok(())
    }

    /// The request begins.
    async fn on_request_start(&self, _ctx: &RequestContext) -> Result<(), PluginError> {
        Ok(())
    }

    /// The model of this name, if the plugin knows better than the registry. The first that answers is heard; where
    /// nobody does, the registry is asked.
    async fn resolve_model(
        &self,
        _model: &ModelRef,
        _ctx: &RequestContext,
    ) -> Result<Option<Arc<dyn LanguageModel>>, PluginError> {
        Ok(None)
    }

    /// Changes the parameters of a call or of a run, tools included.
    async fn transform_params(
        &self,
        params: CallParams,
        _ctx: &RequestContext,
    ) -> Result<CallParams, PluginError> {
        Ok(params)
    }

    /// Changes the request of one step, messages included; `step` counts from 1. A step begins with the parameters of
    /// its run, so what was changed in one step is not there in the next.
    async fn transform_step(
        &self,
        request: Request,
        _step: u32,
        _ctx: &RequestContext,
    ) -> Result<Request, PluginError> {
        Ok(request)
    }

    /// Changes the answer of the model as it comes. The stream it returns keeps the rules of
    /// [`StreamPart`](ai_provider::StreamPart): nothing follows an error or a finish.
    fn transform_stream(&self, stream: ModelStream, _ctx: &Arc<RequestContext>) -> ModelStream {
        stream
    }

    /// Changes a whole answer.
    async fn transform_result(
        &self,
        result: Generation,
        _ctx: &RequestContext,
    ) -> Result<Generation, PluginError> {
        Ok(result)
    }

    /// Changes what is to be embedded, before it is cut into batches.
    async fn transform_embedding(
        &self,
        request: EmbeddingRequest,
        _ctx: &RequestContext,
    ) -> Result<EmbeddingRequest, PluginError> {
        Ok(request)
    }

    /// Changes the vectors of all batches together.
    async fn transform_embeddings(
        &self,
        embeddings: Embeddings,
        _ctx: &RequestContext,
    ) -> Result<Embeddings, PluginError> {
        Ok(embeddings)
    }

    /// The request was answered.
    async fn on_request_end(
        &self,
        _result: RequestResult<'_>,
        _ctx: &RequestContext,
    ) -> Result<(), PluginError> {
        Ok(())
    }

    /// The request failed or was cancelled.
    async fn on_error(&self, _error: &Error, _ctx: &RequestContext) -> Result<(), PluginError> {
        Ok(())
    }

    /// The request is over. Must not block.
    fn on_stream_end(&self, _end: StreamEnd<'_>, _ctx: &RequestContext) {}
}

impl fmt::Debug for dyn Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plugin").field("name", &self.name()).field("stage", &self.stage()).finish()
    }
}

/// When a plugin comes, among the plugins of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// Before the others.
    Pre,
    /// Between.
    #[default]
    Normal,
    /// After the others.
    Post,
}

/// How a request was answered.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum RequestResult<'a> {
    /// By a whole answer, as the plugins have changed it.
    Text(&'a Generation),
    /// By a stream, which ends with this.
    Stream(&'a Finish),
    /// By a run, which neither failed nor was cancelled; it may wait for an approval.
    Agent(&'a RunEnd),
    /// By vectors, as the plugins have changed them.
    Embedding(&'a Embeddings),
}

/// How the stream of a request ended.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum StreamEnd<'a> {
    /// It came to its end.
    Finished {
        /// What it took.
        usage: &'a Usage,
    },
    /// It failed, or was cancelled by its token.
    Failed(&'a Error),
    /// It was dropped.
    Dropped,
}

/// A list of plugins. It never changes; cheap to clone.
///
/// ```
/// # use std::sync::Arc;
/// # use ai_core::plugin::{Plugin, Plugins};
/// # struct Cold; impl Plugin for Cold { fn name(&self) -> &str { "cold" } }
/// # struct Log; impl Plugin for Log { fn name(&self) -> &str { "log" } }
/// let plugins = Plugins::new().with(Cold).with(Log);
/// assert_eq!(plugins.without("cold").names().collect::<Vec<_>>(), ["log"]);
/// assert_eq!(plugins.len(), 2);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Plugins(Arc<[Arc<dyn Plugin>]>);

impl Plugins {
    /// No plugins.
    pub fn new() -> Self {
        Self::default()
    }

    /// This list and one more.
    #[must_use]
    pub fn with(&self, plugin: impl Plugin) -> Self {
        self.with_shared(Arc::new(plugin))
    }

    /// This list and one more, which others hold too.
    #[must_use]
    pub fn with_shared(&self, plugin: Arc<dyn Plugin>) -> Self {
        Self(self.0.iter().cloned().chain([plugin]).collect())
    }

    /// This list without the plugins of this name.
    #[must_use]
    pub fn without(&self, name: &str) -> Self {
        Self(self.0.iter().filter(|plugin| plugin.name() != name).cloned().collect())
    }

    /// The names, as they were listed.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|plugin| plugin.name())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are in a stage.
    pub fn count(&self, stage: Stage) -> usize {
        self.0.iter().filter(|plugin| plugin.stage() == stage).count()
    }

    /// The plugins in the order in which they take part.
    pub fn in_order(&self) -> impl Iterator<Item = &Arc<dyn Plugin>> {
        let stages = [Stage::Pre, Stage::Normal, Stage::Post];
        stages.into_iter().flat_map(|stage| self.0.iter().filter(move |plugin| plugin.stage() == stage))
    }
}

impl FromIterator<Arc<dyn Plugin>> for Plugins {
    fn from_iter<I: IntoIterator<Item = Arc<dyn Plugin>>>(plugins: I) -> Self {
        Self(plugins.into_iter().collect())
    }
}
