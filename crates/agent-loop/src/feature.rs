use std::fmt;
use std::sync::Arc;

use ai_core::{Plugin, Plugins, StopWhen};
use ai_provider::JsonObject;

use crate::hooks::Hooks;

/// What one concern contributes to an agent: plugins, hooks and stop conditions under one name, and when they apply.
///
/// Hooks and stop conditions are asked for at the start of each run. Plugins take part in the making of a model, so
/// they are asked for when the agent is [assembled](crate::Agent::assemble).
///
/// ```
/// use agent_loop::{Feature, Hooks};
/// use ai_core::StopWhen;
///
/// let audit = Feature::new("audit")
///     .when(|scope| scope.context.get("kind").is_some_and(|kind| kind == "chat"))
///     .with_hooks(Hooks::new().on_finish(|_| async { Ok(()) }))
///     .with_stop(StopWhen::tool_called(["submit"]));
/// assert_eq!(audit.name(), "audit");
/// ```
#[derive(Clone)]
pub struct Feature {
    name: Arc<str>,
    applies: Option<Arc<Applies>>,
    plugins: Plugins,
    hooks: Hooks,
    stops: Vec<StopWhen>,
}

type Applies = dyn Fn(&FeatureScope<'_>) -> bool + Send + Sync;

/// Where a feature would take part.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FeatureScope<'a> {
    /// What the application says of its run: see [`Agent::with_context`](crate::Agent::with_context).
    pub context: &'a JsonObject,
}

impl Feature {
    /// A feature that applies everywhere and contributes nothing yet.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            applies: None,
            plugins: Plugins::new(),
            hooks: Hooks::new(),
            stops: Vec::new(),
        }
    }

    /// Sets when it applies. It then contributes all or nothing. One whose test panics does not apply.
    #[must_use]
    pub fn when(mut self, applies: impl Fn(&FeatureScope<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.applies = Some(Arc::new(applies));
        self
    }

    /// Adds a plugin.
    #[must_use]
    pub fn with_plugin(mut self, plugin: impl Plugin) -> Self {
        self.plugins = self.plugins.with(plugin);
        self
    }

    /// Adds hooks, behind those it has.
    #[must_use]
    pub fn with_hooks(mut self, hooks: Hooks) -> Self {
        self.hooks = crate::compose_hooks([self.hooks, hooks]);
        self
    }

    /// Adds a stop condition.
    #[must_use]
    pub fn with_stop(mut self, condition: StopWhen) -> Self {
        self.stops.push(condition);
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn applies(&self, scope: &FeatureScope<'_>) -> bool {
        let Some(applies) = &self.applies else { return true };
        let asked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| applies(scope)));
        asked.unwrap_or_else(|_| {
            tracing::error!(feature = &*self.name, "the test of a feature panicked");
            false
        })
    }

    pub(crate) fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    pub(crate) fn stops(&self) -> &[StopWhen] {
        &self.stops
    }

    pub(crate) fn plugins(&self) -> &Plugins {
        &self.plugins
    }
}

impl fmt::Debug for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feature")
            .field("name", &self.name)
            .field("plugins", &self.plugins)
            .field("hooks", &self.hooks)
            .field("stops", &self.stops.len())
            .finish_non_exhaustive()
    }
}
