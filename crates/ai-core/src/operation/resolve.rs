use std::future::IntoFuture;
use std::sync::Arc;

use ai_provider::LanguageModel;

use super::{Awaited, Call, ModelChoice};
use crate::plugin::Operation;
use crate::registry::Registry;

/// A language model with the middleware its plugins put around it: the model alone, without a request. For fallback
/// models, which so keep plugins of their own, and for whoever wants to hold one.
///
/// Of the plugins' hooks, `configure_context` and `resolve_model` are called.
///
/// ```
/// # use ai_core::plugin::Plugins;
/// use ai_core::{Registry, create_agent, resolve_language_model};
///
/// # async fn f(registry: Registry, plugins: Plugins) -> Result<(), ai_core::Error> {
/// let fallbacks = registry.clone();
/// let agent = create_agent(&registry, "openai:gpt-5")
///     .wrap_model(|primary| async move {
///         let other = resolve_language_model(&fallbacks, "anthropic:claude-sonnet-4-5").with_plugins(&plugins).await;
///         let _ = other.map_err(ai_provider::ModelError::from)?;
///         Ok(primary) // or a retry layer around both
///     })
///     .await?;
/// # let _ = agent; Ok(()) }
/// ```
pub fn resolve_language_model<'a>(
    registry: &'a Registry,
    model: impl Into<ModelChoice>,
) -> Call<'a, ResolveModel> {
    Call::new(registry, ResolveModel(model.into()))
}

/// What [`resolve_language_model`] asks for.
#[derive(Debug)]
pub struct ResolveModel(ModelChoice);

impl<'a> IntoFuture for Call<'a, ResolveModel> {
    type Output = Result<Arc<dyn LanguageModel>, crate::Error>;
    type IntoFuture = Awaited<'a, Arc<dyn LanguageModel>>;

    /// # Errors
    /// If the name cannot be read or is not known, the provider cannot be made or refuses, or a plugin fails.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { setup, kind: ResolveModel(model) } = self;
            let (plugins, configured) = setup.configure(Operation::Resolve, model.named()?).await;
            configured?;
            setup.find(&plugins, model).await
        })
    }
}
