use std::fmt;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::time::Duration;

use ai_provider::{ErrorClass, LanguageModel, ModelError};

use crate::backoff::Backoff;
use crate::decide::LEAST_CALL;
use crate::error::PolicyError;
use crate::fallback::{Fallback, Source};
use crate::health::HealthBoard;
use crate::model::RetryModel;

/// No wait is longer unless the policy says so: what takes longer is for a person to decide.
const CEILING: Duration = Duration::from_secs(60);

/// More is a loop without an end.
pub(crate) const MOST_RETRIES: u32 = 1000;

/// Which key a run begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyOrder {
    /// The first healthy one: the others are in reserve.
    #[default]
    First,
    /// The next one: load is spread.
    RoundRobin,
}

/// What is tried when a model call fails.
///
/// The default: 2 retries after 1 s and 2 s (with full jitter), no wait beyond 60 s, no budget, no limit on the time
/// to the first output, no fallbacks. Keys rotate by themselves if the model has several.
///
/// ```
/// use std::time::Duration;
/// use retry::{KeyOrder, RetryPolicy};
/// let policy = RetryPolicy::new()
///     .with_retries(3)
///     .with_base_delay(Duration::from_millis(500))
///     .with_budget(Duration::from_secs(90))
///     .with_first_output(Duration::from_secs(20))
///     .with_key_order(KeyOrder::RoundRobin);
/// # let _ = policy;
/// ```
#[derive(Clone)]
pub struct RetryPolicy {
    pub(crate) retries: u32,
    base_delay: Duration,
    factor: f32,
    max_delay: Option<Duration>,
    jitter: bool,
    pub(crate) seed: Option<u64>,
    pub(crate) budget: Option<Duration>,
    pub(crate) first_output: Option<Duration>,
    pub(crate) retry_empty: bool,
    key_order: Option<KeyOrder>,
    pub(crate) health: Option<Arc<HealthBoard>>,
    pub(crate) fallbacks: Vec<Fallback>,
    fallback_on: Option<Vec<ErrorClass>>,
}

impl RetryPolicy {
    /// The default policy.
    pub fn new() -> Self {
        Self {
            retries: 2,
            base_delay: Duration::from_secs(1),
            factor: 2.0,
            max_delay: None,
            jitter: true,
            seed: None,
            budget: None,
            first_output: None,
            retry_empty: true,
            key_order: None,
            health: None,
            fallbacks: Vec::new(),
            fallback_on: None,
        }
    }

    /// Sets how often the primary is tried again in one call; the first try and further keys do not count. A request
    /// that states [`max_retries`](ai_provider::Settings::max_retries) wins.
    #[must_use]
    pub fn with_retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Sets the wait before the first retry. A server that states a wait wins.
    #[must_use]
    pub fn with_base_delay(mut self, delay: Duration) -> Self {
        self.base_delay = delay;
        self
    }

    /// Sets what each wait is multiplied by for the next; 1 keeps them equal.
    #[must_use]
    pub fn with_factor(mut self, factor: f32) -> Self {
        self.factor = factor;
        self
    }

    /// Sets the longest wait. A server that asks for a longer one is not waited for. Default: 60 s, or the budget if
    /// that is shorter.
    #[must_use]
    pub fn with_max_delay(mut self, delay: Duration) -> Self {
        self.max_delay = Some(delay);
        self
    }

    /// Sets whether a wait is a random share of what it would be: so that clients that failed together do not come
    /// back together. Default: yes. A wait the server asks for is never shortened.
    #[must_use]
    pub fn with_jitter(mut self, jitter: bool) -> Self {
        self.jitter = jitter;
        self
    }

    /// Sets the seed of the jitter, for tests. Default: each call has its own.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets the time for one model call, over all attempts, waits and fallbacks to the end of the answer. The deadline
    /// of the context holds too; the earlier one counts.
    #[must_use]
    pub fn with_budget(mut self, budget: Duration) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Sets how long an attempt may take to its first output. It is then given up, and the next target is asked, or
    /// the same one again if there is no other.
    #[must_use]
    pub fn with_first_output(mut self, limit: Duration) -> Self {
        self.first_output = Some(limit);
        self
    }

    /// Sets whether an answer without content counts as a failure that passes. Default: yes.
    #[must_use]
    pub fn with_retry_empty(mut self, retry: bool) -> Self {
        self.retry_empty = retry;
        self
    }

    /// Sets which key a run begins with. For models with keys alone.
    #[must_use]
    pub fn with_key_order(mut self, order: KeyOrder) -> Self {
        self.key_order = Some(order);
        self
    }

    /// Shares what is known of keys and endpoints with other runs and other policies.
    #[must_use]
    pub fn with_health_board(mut self, board: Arc<HealthBoard>) -> Self {
        self.health = Some(board);
        self
    }

    /// Adds a fallback behind the others.
    #[must_use]
    pub fn with_fallback(mut self, fallback: Fallback) -> Self {
        self.fallbacks.push(fallback);
        self
    }

    /// Sets after which failures a fallback is asked. Default: all but a cancel, refused content, and a request that
    /// is too long unless the fallback's window is larger.
    #[must_use]
    pub fn with_fallback_on(mut self, classes: impl IntoIterator<Item = ErrorClass>) -> Self {
        self.fallback_on = Some(classes.into_iter().collect());
        self
    }

    /// Puts the policy around a model. What comes back shows the model's target and capabilities, and no keys. Its
    /// state belongs to the run of each call: one value serves any number of runs at once.
    ///
    /// # Errors
    /// If the policy cannot work: the error names the setting.
    pub fn wrap(self, model: Arc<dyn LanguageModel>) -> Result<Arc<dyn LanguageModel>, PolicyError> {
        self.check(&*model)?;
        Ok(Arc::new(RetryModel::new(self, model)))
    }

    /// The policy as the closure that `wrap_model` of an agent takes.
    pub fn wrapper(self) -> impl FnOnce(Arc<dyn LanguageModel>) -> WrapFuture + Send + 'static {
        move |model| ready(self.wrap(model).map_err(ModelError::from))
    }

    pub(crate) fn backoff(&self) -> Backoff {
        let ceiling = self.max_delay.unwrap_or_else(|| CEILING.min(self.budget.unwrap_or(CEILING)));
        let base = self.base_delay.min(ceiling);
        Backoff { base, factor: self.factor, ceiling, jitter: self.jitter }
    }

    pub(crate) fn key_order(&self) -> KeyOrder {
        self.key_order.unwrap_or_default()
    }

    /// Whether a fallback is asked after such a failure. Of a request that is too long, only for a larger window:
    /// that is for the target to say.
    pub(crate) fn falls_back_on(&self, class: ErrorClass) -> bool {
        match &self.fallback_on {
            _ if class == ErrorClass::Cancelled => false,
            Some(classes) => classes.contains(&class),
            None => class != ErrorClass::ContentRefused,
        }
    }

    fn check(&self, model: &dyn LanguageModel) -> Result<(), PolicyError> {
        let bad = |field, message: &str| Err(PolicyError::new(field, message));
        if self.retries > MOST_RETRIES {
            return bad("retries", "more than 1000 is a loop without an end");
        }
        if self.base_delay.is_zero() {
            return bad("base_delay", "without a wait a failing server is called in a hot loop");
        }
        if !self.factor.is_finite() || self.factor < 1.0 {
            return bad("factor", "waits cannot shrink: it must be 1 or more");
        }
        if self.max_delay.is_some_and(|most| most < self.base_delay) {
            return bad("max_delay", "it is below the base delay");
        }
        if self.first_output.is_some_and(|limit| limit.is_zero()) {
            return bad("first_output", "no model answers in no time");
        }
        if let Some(budget) = self.budget {
            if budget < LEAST_CALL {
                return bad("budget", "it is too short for any call: 500 ms at least");
            }
            if self.max_delay.is_some_and(|most| most > budget) {
                return bad("max_delay", "it is above the budget");
            }
            if self.retries > 0 && self.base_delay > budget {
                return bad("base_delay", "it is above the budget");
            }
        }
        if self.key_order.is_some() && model.keys().is_empty() {
            return bad("key_order", "the model has no keys");
        }
        if let Some(classes) = &self.fallback_on
            && !self.fallbacks.is_empty()
            && !classes.iter().any(|class| *class != ErrorClass::Cancelled)
        {
            return bad("fallback_on", "no failure would ever go to the fallbacks");
        }
        self.check_fallbacks(model)
    }

    fn check_fallbacks(&self, model: &dyn LanguageModel) -> Result<(), PolicyError> {
        for (at, fallback) in self.fallbacks.iter().enumerate() {
            let bad = |what: &str| Err(PolicyError::new("fallback", format!("{}: {what}", fallback.name)));
            if fallback.name.trim().is_empty() {
                return Err(PolicyError::new("fallback", "it has no name"));
            }
            if fallback.retries > MOST_RETRIES {
                return bad("more than 1000 retries are a loop without an end");
            }
            let earlier = self.fallbacks.iter().take(at);
            match &fallback.source {
                Source::Model(own) if own.target() == model.target() => {
                    return bad("it is the primary itself");
                }
                Source::Model(own) => {
                    let same = |other: &Fallback| match &other.source {
                        Source::Model(other) => other.target() == own.target(),
                        Source::Lazy(_) => false,
                    };
                    if earlier.clone().any(same) {
                        return bad("it is there twice");
                    }
                }
                Source::Lazy(_) if earlier.clone().any(|other| other.name == fallback.name) => {
                    return bad("it is there twice");
                }
                Source::Lazy(_) => {}
            }
        }
        Ok(())
    }
}

/// What [`RetryPolicy::wrapper`] gives.
type WrapFuture = Ready<Result<Arc<dyn LanguageModel>, ModelError>>;

impl Default for RetryPolicy {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for RetryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryPolicy")
            .field("retries", &self.retries)
            .field("backoff", &self.backoff())
            .field("budget", &self.budget)
            .field("first_output", &self.first_output)
            .field("key_order", &self.key_order())
            .field("fallbacks", &self.fallbacks)
            .finish_non_exhaustive()
    }
}
