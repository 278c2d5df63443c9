use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ai_core::{RunOptions, StopWhen};
use ai_provider::{JsonObject, LanguageModel};

use crate::control::{Ledger, RunControl, State};
use crate::feature::{Feature, FeatureScope};
use crate::hooks::{Caller, Hooks, compose_hooks};
use crate::limits::Timeouts;
use crate::usage::{Costs, Meter};
use crate::views::{Audit, Auditing};

/// What takes part in the runs of an agent.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) parts: Vec<Part>,
    pub(crate) context: JsonObject,
    pub(crate) hook_timeout: Option<Duration>,
    pub(crate) timeouts: Timeouts,
    pub(crate) media: bool,
    pub(crate) usage_shown: bool,
    pub(crate) costs: Costs,
    pub(crate) ledger: Option<Ledger>,
    pub(crate) audit: Option<Audit>,
}

/// A contributor, in its place.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Hooks(Hooks),
    Feature(Feature),
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            parts: Vec::new(),
            context: JsonObject::new(),
            hook_timeout: Some(Duration::from_secs(30)),
            timeouts: Timeouts::new(),
            media: true,
            usage_shown: false,
            costs: Costs::default(),
            ledger: None,
            audit: None,
        }
    }
}

impl Setup {
    /// The options of a run in which all this takes part, behind the observers.
    pub(crate) fn take_part(
        &self,
        mut options: RunOptions,
        observers: Hooks,
        model: Arc<dyn LanguageModel>,
        resets: bool,
        auditing: Option<Auditing>,
    ) -> RunOptions {
        if let Some(total) = self.timeouts.total {
            let earlier = options.deadline;
            options = options.with_timeout(total);
            options.deadline = earlier.into_iter().chain(options.deadline).min();
        }
        let (hooks, stops) = self.fold(observers);
        options.control = Arc::new(RunControl {
            caller: Caller::new(hooks, self.hook_timeout),
            stops,
            limits: self.timeouts,
            media: self.media,
            ledger: self.ledger.clone(),
            costs: self.costs.clone(),
            resets,
            auditing,
            model,
            scope: options.scope.clone(),
            inner: options.control,
            state: Mutex::<State>::default(),
        });
        options
    }

    fn fold(&self, observers: Hooks) -> (Hooks, Vec<StopWhen>) {
        let scope = FeatureScope { context: &self.context };
        let applying = self.parts.iter().filter(|part| match part {
            Part::Hooks(_) => true,
            Part::Feature(feature) => feature.applies(&scope),
        });
        let (mut all, mut stops) = (vec![observers], Vec::new());
        for part in applying {
            match part {
                Part::Hooks(hooks) => all.push(hooks.clone()),
                Part::Feature(feature) => {
                    all.push(feature.hooks().clone());
                    stops.extend_from_slice(feature.stops());
                }
            }
        }
        (compose_hooks(all), stops)
    }

    /// What adds up the usage for those who watch, if they shall see it.
    pub(crate) fn meter(&self) -> Option<Meter> {
        self.usage_shown.then(|| Meter::new(self.costs.clone()))
    }
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup")
            .field("parts", &self.parts)
            .field("timeouts", &self.timeouts)
            .field("hook_timeout", &self.hook_timeout)
            .field("media", &self.media)
            .field("usage_shown", &self.usage_shown)
            .field("ledger", &self.ledger.is_some())
            .field("audit", &self.audit)
            .finish_non_exhaustive()
    }
}
