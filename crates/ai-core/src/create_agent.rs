use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;

use ai_provider::{LanguageModel, ModelError};

use crate::error::Error;
use crate::operation::{Awaited, Call, ModelChoice};
use crate::plugin::{AgentPlugins, Operation};
use crate::registry::Registry;
use crate::tool_loop::ToolLoop;

type Wrapping = Pin<Box<dyn Future<Output = Result<Arc<dyn LanguageModel>, ModelError>> + Send>>;
type Wrapper = Box<dyn FnOnce(Arc<dyn LanguageModel>) -> Wrapping + Send>;

/// Builds an agent: a [`ToolLoop`] on a model, in six phases.
///
/// 1. The plugins configure the context.
/// 2. The model is found: by the first plugin that knows it, else in the registry, which makes its provider. A model
///    that is given is used as it is.
/// 3. The middleware of the context is put around it.
/// 4. The plugins are bound to the loop: with each run they hear of its start and its end and change its parameters,
///    with each step its request and its stream.
/// 5. [`wrap_model`](Call::wrap_model) puts the caller's own wrapper around all of it.
/// 6. The loop is made, of what the wrapper returns.
///
/// ```
/// use ai_core::{create_agent, Registry};
///
/// # async fn f(registry: &Registry) -> Result<(), ai_core::Error> {
/// let agent = create_agent(registry, "openai:gpt-5")
///     .wrap_model(|model| async move { Ok(model) })
///     .await?
///     .with_instructions("Be brief.");
/// # let _ = agent; Ok(()) }
/// ```
pub fn create_agent<'a>(registry: &'a Registry, model: impl Into<ModelChoice>) -> Call<'a, CreateAgent> {
    Call::new(registry, CreateAgent { model: model.into(), wrap: None })
}

/// What [`create_agent`] asks for.
pub struct CreateAgent {
    model: ModelChoice,
    wrap: Option<Wrapper>,
}

impl Call<'_, CreateAgent> {
    /// Puts the caller's own wrapper (retry, fallback) around the model: outermost, called once, last. What it
    /// returns is the model used.
    pub fn wrap_model<F, Fut>(mut self, wrap: F) -> Self
    where
        F: FnOnce(Arc<dyn LanguageModel>) -> Fut + Send + 'static,
        Fut: Future<Output = Result<Arc<dyn LanguageModel>, ModelError>> + Send + 'static,
    {
        self.kind.wrap = Some(Box::new(move |model| Box::pin(wrap(model))));
        self
    }
}

impl<'a> IntoFuture for Call<'a, CreateAgent> {
    type Output = Result<ToolLoop, Error>;
    type IntoFuture = Awaited<'a, ToolLoop>;

    /// # Errors
    /// If the reference cannot be read, the provider is not known, cannot be made or has no language models, a plugin
    /// fails, or the wrapper does.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { setup, kind: CreateAgent { model, wrap } } = self;
            let list = setup.plugins.clone();
            let (plugins, configured) = setup.configure(Operation::Agent, model.named()?).await;
            configured?;
            let model = setup.find(&plugins, model).await?;
            let bound = AgentPlugins::new(list, Arc::clone(plugins.ctx()));
            let model = match wrap {
                Some(wrap) => wrap(model).await?,
                None => model,
            };
            Ok(ToolLoop::new(model).with_plugins(bound))
        })
    }
}

impl fmt::Debug for CreateAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreateAgent").field("model", &self.model).finish_non_exhaustive()
    }
}
