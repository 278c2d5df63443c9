use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;

use ai_provider::{LanguageModel, ModelError};

use crate::error::Error;
use crate::registry::Registry;
use crate::tool_loop::ToolLoop;

type Wrapping = Pin<Box<dyn Future<Output = Result<Arc<dyn LanguageModel>, ModelError>> + Send>>;
type Wrapper = Box<dyn FnOnce(Arc<dyn LanguageModel>) -> Wrapping + Send>;

/// Builds an agent on the model `provider:model` names: resolves the provider, resolves the model, wraps it, and
/// puts it into a [`ToolLoop`].
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
pub fn create_agent<'a>(registry: &'a Registry, model: &'a str) -> CreateAgent<'a> {
    CreateAgent { registry, model, wrap: None }
}

/// An agent to be: await it. Made by [`create_agent`].
#[must_use = "an agent is made when this is awaited"]
pub struct CreateAgent<'a> {
    registry: &'a Registry,
    model: &'a str,
    wrap: Option<Wrapper>,
}

impl CreateAgent<'_> {
    /// Puts the caller's own wrapper (retry, fallback) around the model: outermost, called once, last. What it
    /// returns is the model used.
    pub fn wrap_model<F, Fut>(mut self, wrap: F) -> Self
    where
        F: FnOnce(Arc<dyn LanguageModel>) -> Fut + Send + 'static,
        Fut: Future<Output = Result<Arc<dyn LanguageModel>, ModelError>> + Send + 'static,
    {
        self.wrap = Some(Box::new(move |model| Box::pin(wrap(model))));
        self
    }
}

impl<'a> IntoFuture for CreateAgent<'a> {
    type Output = Result<ToolLoop, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    /// # Errors
    /// If the reference cannot be read, the provider is not known or has no language models, or the wrapper
    /// fails.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let model = self.registry.language_model(self.model).await?;
            let model = match self.wrap {
                Some(wrap) => wrap(model).await?,
                None => model,
            };
            Ok(ToolLoop::new(model))
        })
    }
}

impl fmt::Debug for CreateAgent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreateAgent").field("model", &self.model).finish_non_exhaustive()
    }
}
