//! What can be asked of a registry: a model, an answer, vectors, an agent.

mod embed;
mod resolve;
mod text;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use ai_provider::{CallContext, ErrorClass, LanguageModel, ModelError};

pub use embed::{BatchUsage, EmbedMany, embed_many};
pub use resolve::{ResolveModel, resolve_language_model};
pub use text::{GenerateText, StreamText, generate_text, stream_text};

use crate::error::Error;
use crate::model_ref::ModelRef;
use crate::plugin::{Operation, Pipeline, Plugins, RequestContext};
use crate::registry::{GivenSettings, Registry};

/// A request to be: await it. Made by [`generate_text`], [`stream_text`], [`embed_many`],
/// [`resolve_language_model`] and [`create_agent`](crate::create_agent).
#[must_use = "nothing happens before it is awaited"]
pub struct Call<'a, K> {
    pub(crate) setup: Setup<'a>,
    pub(crate) kind: K,
}

/// What all requests have.
pub(crate) struct Setup<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) settings: GivenSettings,
    pub(crate) plugins: Plugins,
}

pub(crate) type Awaited<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

impl<'a, K> Call<'a, K> {
    pub(crate) fn new(registry: &'a Registry, kind: K) -> Self {
        Self { setup: Setup { registry, settings: GivenSettings::default(), plugins: Plugins::new() }, kind }
    }

    /// Sets who takes part.
    pub fn with_plugins(mut self, plugins: &Plugins) -> Self {
        self.setup.plugins = plugins.clone();
        self
    }

    /// Sets the settings of the provider: JSON, or [typed](GivenSettings::typed). Not used where the model itself was
    /// given, or a plugin finds it.
    pub fn with_provider_settings(mut self, settings: impl Into<GivenSettings>) -> Self {
        self.setup.settings = settings.into();
        self
    }
}

impl<K> fmt::Debug for Call<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("plugins", &self.setup.plugins).finish_non_exhaustive()
    }
}

/// A model by its name, `provider:model`, or the model itself.
#[derive(Debug)]
pub enum ModelChoice<M: ?Sized = dyn LanguageModel> {
    /// To be found by the plugins or in the registry.
    Named(String),
    /// Used as it is.
    Ready(Arc<M>),
}

impl<M: ?Sized> ModelChoice<M> {
    pub(crate) fn named(&self) -> Result<Option<ModelRef>, Error> {
        match self {
            Self::Named(name) => name.parse().map(Some),
            Self::Ready(_) => Ok(None),
        }
    }
}

impl<M: ?Sized> From<&str> for ModelChoice<M> {
    fn from(name: &str) -> Self {
        Self::Named(name.to_owned())
    }
}

impl<M: ?Sized> From<String> for ModelChoice<M> {
    fn from(name: String) -> Self {
        Self::Named(name)
    }
}

impl<M: ?Sized> From<ModelRef> for ModelChoice<M> {
    fn from(name: ModelRef) -> Self {
        Self::Named(name.to_string())
    }
}

impl<M: ?Sized> From<Arc<M>> for ModelChoice<M> {
    fn from(model: Arc<M>) -> Self {
        Self::Ready(model)
    }
}

impl Setup<'_> {
    /// The context as the plugins have configured it. A failure there is one of the request: it is told to them too.
    pub(crate) async fn configure(
        &self,
        operation: Operation,
        named: Option<ModelRef>,
    ) -> (Pipeline, Result<(), Error>) {
        let mut ctx = RequestContext::new(operation, self.registry.clone(), named);
        let configured = Pipeline::configure(&self.plugins, &mut ctx).await;
        (Pipeline::new(self.plugins.clone(), Arc::new(ctx)), configured)
    }

    /// The model: the one given, or the first a plugin finds, or the registry's.
    pub(crate) async fn find(
        self,
        plugins: &Pipeline,
        model: ModelChoice,
    ) -> Result<Arc<dyn LanguageModel>, Error> {
        let model = match (model, plugins.ctx().requested()) {
            (ModelChoice::Ready(model), _) => model,
            (ModelChoice::Named(_), Some(named)) => match plugins.resolve(named).await? {
                Some(model) => model,
                None => self.registry.language_model_with(named, self.settings).await?,
            },
            (ModelChoice::Named(name), None) => self.registry.language_model(&name).await?,
        };
        Ok(plugins.found(model))
    }
}

/// Awaits the part of a request before its model is called, unless it is cancelled or its time is up.
pub(crate) async fn within<T>(
    ctx: &CallContext,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let work = async {
        match ctx.deadline {
            None => work.await,
            Some(at) => tokio::time::timeout_at(at.into(), work).await.unwrap_or_else(|_| {
                Err(ModelError::new(ErrorClass::Timeout, "the time of the request was up before its call")
                    .into())
            }),
        }
    };
    let done = ctx.cancel.run_until_cancelled(work).await;
    done.unwrap_or_else(|| Err(ModelError::cancelled().into()))
}
