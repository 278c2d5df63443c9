use std::fmt;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use ai_provider::{RunScope, ScopeKey};

use super::control::StepView;
use crate::run::{BudgetKind, RunSnapshot, StepRecord, Verdict};

/// A condition under which a run ends although it could go on. It is asked at the end of each step after which the
/// run could go on; the run remembers what each condition said, and at which step
/// ([`Run::verdicts`](crate::run::Run::verdicts)).
///
/// ```
/// use ai_core::StopWhen;
/// # fn f(agent: ai_core::ToolLoop) -> ai_core::ToolLoop {
/// agent
///     .with_stop(StopWhen::tool_called(["submit"]))
///     .with_stop(StopWhen::tokens(200_000))
///     .with_stop(StopWhen::custom("enough", |run| run.run().messages().len() > 100))
/// # }
/// ```
#[derive(Clone)]
pub struct StopWhen(Arc<dyn Condition>);

type Asking<'a> = Pin<Box<dyn Future<Output = Option<Verdict>> + Send + 'a>>;

trait Condition: Send + Sync {
    fn ask<'a>(&'a self, step: &'a StepView<'_>, scope: &RunScope) -> Asking<'a>;
}

impl StopWhen {
    /// So many steps are over. The run is finished then; [`with_step_cap`](super::ToolLoop::with_step_cap) ends
    /// one that should have been finished by then.
    pub fn steps(count: u32) -> Self {
        let name = format!("{count} steps");
        Self::sync(move |step| (step.step() >= count).then(|| Verdict::Stop { condition: name.clone() }))
    }

    /// The step that has just ended called one of these tools.
    pub fn tool_called<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        Self::sync(move |step| {
            let called = step.steps().last()?.message.tool_calls().find(|call| names.contains(&call.name))?;
            Some(Verdict::Stop { condition: format!("called {}", called.name) })
        })
    }

    /// The steps together took so many tokens, input and output, those of tools that call models included. Tokens
    /// that a provider does not report are not counted.
    pub fn tokens(most: u64) -> Self {
        Self::sync(move |step| {
            let spent = step.usage().total().unwrap_or_default() >= most;
            spent.then_some(Verdict::Budget { kind: BudgetKind::Tokens })
        })
    }

    /// The steps together cost so much. `price` says what one step cost, in any unit.
    pub fn cost(most: f64, price: impl Fn(&StepRecord) -> f64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(Cost { most, price, key: ScopeKey::new() }))
    }

    /// A condition of the caller's. `name` says which in what is stored.
    pub fn custom(
        name: impl Into<String>,
        holds: impl Fn(&RunSnapshot) -> bool + Send + Sync + 'static,
    ) -> Self {
        let name = name.into();
        Self::sync(move |step| holds(&step.snapshot()).then(|| Verdict::Stop { condition: name.clone() }))
    }

    /// A condition of the caller's that takes its time: it is awaited, as long as the run is not cut.
    pub fn custom_async<F, Fut>(name: impl Into<String>, holds: F) -> Self
    where
        F: Fn(RunSnapshot) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = bool> + Send + 'static,
    {
        Self(Arc::new(Awaited { name: name.into(), holds }))
    }

    /// Input waits for the model: `waits` is asked at each boundary. The run ends cleanly, as
    /// [`Outcome::SteerYield`](crate::run::Outcome::SteerYield), so that another one can take the input up.
    pub fn input_waits(waits: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self::sync(move |_| waits().then_some(Verdict::SteerYield))
    }

    fn sync(holds: impl Fn(&StepView<'_>) -> Option<Verdict> + Send + Sync + 'static) -> Self {
        Self(Arc::new(Immediate(holds)))
    }

    /// Asks it about this step. `scope` is where it keeps what it counts.
    pub async fn ask(&self, step: &StepView<'_>, scope: &RunScope) -> Option<Verdict> {
        self.0.ask(step, scope).await
    }
}

impl fmt::Debug for StopWhen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StopWhen")
    }
}

struct Immediate<F>(F);

impl<F> Condition for Immediate<F>
where
    F: Fn(&StepView<'_>) -> Option<Verdict> + Send + Sync,
{
    fn ask<'a>(&'a self, step: &'a StepView<'_>, _scope: &RunScope) -> Asking<'a> {
        Box::pin(ready((self.0)(step)))
    }
}

struct Awaited<F> {
    name: String,
    holds: F,
}

impl<F, Fut> Condition for Awaited<F>
where
    F: Fn(RunSnapshot) -> Fut + Send + Sync,
    Fut: Future<Output = bool> + Send + 'static,
{
    fn ask<'a>(&'a self, step: &'a StepView<'_>, _scope: &RunScope) -> Asking<'a> {
        let holds = (self.holds)(step.snapshot());
        Box::pin(async move { holds.await.then(|| Verdict::Stop { condition: self.name.clone() }) })
    }
}

/// Keeps the sum in the scope of the run, so that a step costs the same however many came before it.
struct Cost<P> {
    most: f64,
    price: P,
    key: ScopeKey,
}

#[derive(Default)]
struct Spent {
    steps: usize,
    sum: f64,
}

impl<P: Fn(&StepRecord) -> f64 + Send + Sync> Condition for Cost<P> {
    fn ask<'a>(&'a self, step: &'a StepView<'_>, scope: &RunScope) -> Asking<'a> {
        let spent = scope.get_or_insert(&self.key, Mutex::<Spent>::default);
        let mut spent = spent.lock().unwrap_or_else(PoisonError::into_inner);
        for record in step.steps().get(spent.steps..).unwrap_or_default() {
            spent.sum += (self.price)(record);
            spent.steps += 1;
        }
        let over = spent.sum >= self.most;
        Box::pin(ready(over.then_some(Verdict::Budget { kind: BudgetKind::Cost })))
    }
}
