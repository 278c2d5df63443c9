use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use agent_loop::{DataChunk, UiChunk, UiMessage};
use futures_util::FutureExt;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tracing::Instrument;

use super::Actor;
use super::effects::persist;
use super::plan::{Plan, Planner, empty_message};
use crate::attempt::{Attempt, Controls, Handle, Order, message_of, steering_chunk};
use crate::core::{Begin, BeginKind, Fact, NotBegun, Planned};
use crate::facts::Facts;
use crate::memory::MemoryLog;
use crate::port::{Claim, Lease, LogWriter, Refusal, ReplayLog, StoreError};
use crate::record::{AttemptId, Row};
use crate::shared::{Shared, now_ms};
use crate::source::{OpenError, TurnRequest, TurnRun};

type Orders = mpsc::UnboundedReceiver<Order>;

impl Actor {
    /// Gets attempts ready, writes their rows, and runs them. They can be cancelled from the moment they are planned.
    pub(super) fn begin(&mut self, begin: Begin) {
        let mut controls = Vec::new();
        for planned in &begin.attempts {
            let (orders, taken) = mpsc::unbounded_channel();
            let control = Controls::new();
            self.attempts.insert(planned.attempt, Handle { controls: control.clone(), orders });
            self.logs.push(planned.attempt);
            controls.push((control, taken));
        }
        let group = begin.id();
        let (shared, facts, work) = (Arc::clone(&self.shared), self.facts.clone(), self.work.clone());
        let starting =
            Starting { shared: Arc::clone(&shared), lease: self.lease.clone(), facts: facts.clone(), begin };
        self.spawn(async move {
            let ready = AssertUnwindSafe(starting.run(controls)).catch_unwind().await;
            let not_begun = |why| Fact::NotBegun { attempt: group, why };
            let fact = match ready {
                Ok(Ok(attempts)) => {
                    let redirects = attempts.iter().any(|attempt| attempt.run.redirect.is_some());
                    // The topic hears of the beginning before it hears of anything in it.
                    facts.tell(Fact::Begun { attempt: group, redirects });
                    for attempt in attempts {
                        let span = tracing::info_span!(
                            "attempt",
                            topic = %attempt.lease.topic,
                            turn = %attempt.row.turn,
                            attempt = %attempt.id,
                            model = attempt.row.model.as_deref(),
                        );
                        let kill = shared.kill.clone();
                        let running = async move {
                            tokio::select! {
                                () = kill.cancelled() => {}
                                () = attempt.run() => {}
                            }
                        };
                        shared.tasks.spawn(work.track_future(running.instrument(span)));
                    }
                    return;
                }
                Ok(Err(NotStarted::Fenced)) => Fact::LeaseLost,
                Ok(Err(NotStarted::Why(why))) => not_begun(why),
                Err(_) => not_begun(NotBegun::Failed),
            };
            facts.tell(fact);
        });
    }
}

enum NotStarted {
    Fenced,
    Why(NotBegun),
}

impl From<NotBegun> for NotStarted {
    fn from(why: NotBegun) -> Self {
        Self::Why(why)
    }
}

struct Starting {
    shared: Arc<Shared>,
    lease: Lease,
    facts: Facts,
    begin: Begin,
}

impl Starting {
    async fn run(self, controls: Vec<(Controls, Orders)>) -> Result<Vec<Attempt>, NotStarted> {
        let history = persist(&self.shared, || self.shared.store.history(&self.lease.topic)).await;
        let conversation = history.map_err(|error| self.failed(&error))?.unwrap_or_default();
        let planner = Planner {
            topic: &self.lease.topic,
            begin: &self.begin,
            conversation: &conversation,
            partials: self.shared.settings.partials,
            now: now_ms(),
        };
        let (mut rows, plans) = planner.plan()?;
        let mut runs = Vec::new();
        for ((plan, planned), (control, _)) in plans.iter().zip(&self.begin.attempts).zip(&controls) {
            runs.push(self.open(plan, planned, control).await?);
        }
        rows.extend(plans.iter().map(|plan| plan.row.clone()));
        let (turn, attempt, inputs) = (self.begin.turn, self.begin.id(), self.begin.kind.inputs());
        let claim = Claim { turn, attempt, inputs, rows };
        let claimed = persist(&self.shared, || self.shared.store.claim_and_open(&self.lease, &claim)).await;
        claimed.map_err(|error| self.failed(&error))?;

        let mut attempts = Vec::new();
        let prepared = plans.into_iter().zip(runs).zip(&self.begin.attempts).zip(controls);
        for (((plan, run), planned), (controls, orders)) in prepared {
            let writer = self.writer(planned.attempt, seed(&plan.row)).await?;
            attempts.push(Attempt {
                shared: Arc::clone(&self.shared),
                lease: self.lease.clone(),
                id: planned.attempt,
                row: plan.row,
                writer,
                run,
                opening: self.opening(planned),
                goes_on: plan.goes_on,
                controls,
                orders,
                facts: self.facts.clone(),
            });
        }
        Ok(attempts)
    }

    fn failed(&self, error: &StoreError) -> NotStarted {
        if error.is_fenced() {
            return NotStarted::Fenced;
        }
        tracing::warn!(%error, topic = %self.lease.topic, "a turn could not be started");
        NotBegun::Failed.into()
    }

    async fn open(&self, plan: &Plan, planned: &Planned, controls: &Controls) -> Result<TurnRun, NotStarted> {
        let request = TurnRequest {
            topic: self.lease.topic.clone(),
            turn: self.begin.turn,
            attempt: planned.attempt,
            row: planned.row.clone(),
            model: planned.model.clone(),
            history: plan.history.clone(),
            resume: plan.resume.clone(),
            cancel: controls.cancel.clone(),
            input_waits: controls.waits.clone(),
        };
        let opening = self.shared.source.open(request);
        match timeout(self.shared.settings.store_timeout, opening).await {
            Ok(Ok(run)) => Ok(run),
            Ok(Err(OpenError::NoSuchModel(_))) => Err(NotBegun::Refused(Refusal::NoSuchModel).into()),
            Ok(Err(error)) => {
                tracing::warn!(%error, topic = %self.lease.topic, "a turn could not be started");
                Err(NotBegun::Failed.into())
            }
            Err(_) => Err(NotBegun::Failed.into()),
        }
    }

    /// The log is a cache: without it the attempt runs all the same, and its readers have the store.
    async fn writer(&self, attempt: AttemptId, seed: UiMessage) -> Result<Box<dyn LogWriter>, NotStarted> {
        let created = self.shared.log.create(&self.lease, attempt, seed.clone());
        match timeout(self.shared.settings.store_timeout, created).await {
            Ok(Ok(writer)) => return Ok(writer),
            Ok(Err(error)) => {
                tracing::warn!(%error, topic = %self.lease.topic, "an answer cannot be followed");
            }
            Err(_) => tracing::warn!(topic = %self.lease.topic, "an answer cannot be followed"),
        }
        let own = MemoryLog::new().create(&self.lease, attempt, seed).await;
        own.map_err(|error| self.failed(&error))
    }

    /// What an attempt shows first: which turn it belongs to, for clients, and what the user said in the middle.
    fn opening(&self, planned: &Planned) -> Vec<UiChunk> {
        let beside = self.begin.attempts.iter();
        let beside: Vec<_> = beside
            .map(|other| json!({ "attempt": other.attempt, "row": other.row, "model": other.model }))
            .collect();
        let data = json!({
            "chat": self.lease.topic,
            "turn": self.begin.turn,
            "message": planned.row,
            "model": planned.model,
            "attempt": planned.attempt,
            "attempts": beside,
        });
        let turn = DataChunk { name: "turn".to_owned(), id: None, data, transient: Some(true) };
        let mut opening = vec![UiChunk::Data(turn)];
        if let BeginKind::Continue { inputs, .. } = &self.begin.kind {
            let shown = inputs.iter().filter_map(|stored| Some((stored, message_of(stored)?)));
            opening.extend(shown.map(|(stored, message)| steering_chunk(&stored.input.id, message)));
        }
        opening
    }
}

/// What the row shows before the attempt adds to it.
fn seed(row: &Row) -> UiMessage {
    row.content.ui.known().cloned().unwrap_or_else(|| empty_message(row.id.as_str()))
}
