use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;

use ai_core::{Call, CreateAgent, Error, ModelChoice, Plugins, Registry, create_agent};
use ai_provider::{JsonObject, LanguageModel, ModelError};

use crate::agent::Agent;
use crate::feature::{Feature, FeatureScope};

/// An agent to be: await it. Made by [`Agent::assemble`].
#[must_use = "nothing happens before it is awaited"]
pub struct Assembly<'a> {
    call: Call<'a, CreateAgent>,
    plugins: Plugins,
    features: Vec<Feature>,
    context: JsonObject,
}

impl<'a> Assembly<'a> {
    pub(crate) fn new(registry: &'a Registry, model: impl Into<ModelChoice>) -> Self {
        Self {
            call: create_agent(registry, model),
            plugins: Plugins::new(),
            features: Vec::new(),
            context: JsonObject::new(),
        }
    }

    /// Adds a feature, plugins included.
    pub fn with_feature(mut self, feature: Feature) -> Self {
        self.features.push(feature);
        self
    }

    /// Sets further plugins; they come before those of the features.
    pub fn with_plugins(mut self, plugins: &Plugins) -> Self {
        self.plugins = plugins.clone();
        self
    }

    /// Says what kind of agent it is, for features that do not apply everywhere: see [`Agent::with_context`].
    pub fn with_context(mut self, context: JsonObject) -> Self {
        self.context = context;
        self
    }

    /// Puts the caller's own wrapper (retry, fallback) around the model: outermost, called once, last. What it
    /// returns is the model used.
    pub fn wrap_model<F, Fut>(mut self, wrap: F) -> Self
    where
        F: FnOnce(Arc<dyn LanguageModel>) -> Fut + Send + 'static,
        Fut: Future<Output = Result<Arc<dyn LanguageModel>, ModelError>> + Send + 'static,
    {
        self.call = self.call.wrap_model(wrap);
        self
    }
}

impl<'a> IntoFuture for Assembly<'a> {
    type Output = Result<Agent, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    /// # Errors
    /// Those of [`create_agent`].
    fn into_future(self) -> Self::IntoFuture {
        let Self { call, mut plugins, features, context } = self;
        let scope = FeatureScope { context: &context };
        for feature in features.iter().filter(|feature| feature.applies(&scope)) {
            for plugin in feature.plugins().in_order() {
                plugins = plugins.with_shared(Arc::clone(plugin));
            }
        }
        let call = call.with_plugins(&plugins);
        Box::pin(async move {
            let agent = Agent::new(call.await?).with_context(context);
            Ok(features.into_iter().fold(agent, Agent::with_feature))
        })
    }
}

impl fmt::Debug for Assembly<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Assembly")
            .field("call", &self.call)
            .field("features", &self.features)
            .finish_non_exhaustive()
    }
}
