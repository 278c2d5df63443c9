use std::collections::HashSet;
use std::sync::Arc;

use ai_provider::{AssistantMessage, Id, Message, ModelError, ToolCall, ToolResult, Usage};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::calls::CallState;
use super::config::RunConfig;
use super::heal::heal;
use super::input::{Input, Interruption, OutOfOrder, Verdict};
use super::next::Next;
use super::outcome::{BudgetKind, Outcome};
use super::phase::Phase;
use super::record::{FailedStep, PendingApproval, StepRecord, VerdictRecord};
use super::snapshot::{DAMAGED, RunSnapshot};
use super::transitions::said;

/// The version of the stored form. Raised when an older program could not read it.
pub(super) const SCHEMA: u32 = 1;

/// A run of the model and its tools: history, steps and what comes next.
///
/// ```
/// use ai_core::run::{Next, Run, RunConfig};
/// use ai_provider::Message;
/// let run = Run::new([Message::user("Hi")], RunConfig::default());
/// assert!(matches!(run.next(), Next::Prepare { step: 1 }));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "camelCase")]
pub struct Run {
    #[serde(deserialize_with = "known_schema")]
    schema: u32,
    pub(super) config: RunConfig,
    // What grows with the run is shared with its snapshots until it grows again.
    pub(super) messages: Arc<Vec<Arc<Message>>>,
    pub(super) new_messages: Arc<Vec<Arc<Message>>>,
    #[serde(deserialize_with = "numbered")]
    pub(super) steps: Arc<Vec<Arc<StepRecord>>>,
    #[serde(default, skip_serializing_if = "is_empty")]
    pub(super) failed_steps: Arc<Vec<FailedStep>>,
    #[serde(default, skip_serializing_if = "is_empty")]
    pub(super) verdicts: Arc<Vec<VerdictRecord>>,
    /// Calls that run at the provider and will have their results in a later step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) deferred: Vec<Id>,
    pub(super) usage: Usage,
    #[serde(deserialize_with = "Phase::sound")]
    pub(super) phase: Phase,
}

impl Run {
    /// A run that begins with this history.
    ///
    /// Providers refuse a call without a result behind it. Where the history has such a gap (a program died, a tool
    /// hung) the run's own copy gets a result that says so.
    pub fn new(messages: impl IntoIterator<Item = Message>, config: RunConfig) -> Self {
        Self::from_shared(messages.into_iter().map(Arc::new).collect(), config)
    }

    /// A run that begins with a history shared with others.
    pub fn from_shared(messages: Vec<Arc<Message>>, config: RunConfig) -> Self {
        Self {
            schema: SCHEMA,
            config,
            messages: Arc::new(heal(messages)),
            new_messages: Arc::default(),
            steps: Arc::default(),
            failed_steps: Arc::default(),
            verdicts: Arc::default(),
            deferred: Vec::new(),
            usage: Usage::default(),
            phase: Phase::Prepare,
        }
    }

    /// What shall happen next.
    pub fn next(&self) -> Next<'_> {
        match &self.phase {
            Phase::Prepare => Next::Prepare { step: self.step() },
            Phase::Model { .. } => Next::CallModel,
            Phase::Repair(open) => Next::Repair { calls: open.invalid() },
            Phase::Decide(open) => {
                Next::DecideApproval { calls: open.calls.with_state(|state| *state == CallState::Undecided) }
            }
            Phase::Tools(open) => {
                Next::CallTools { calls: open.calls.with_state(|state| *state == CallState::Ready) }
            }
            Phase::AwaitApproval(open) => Next::AwaitApproval { pending: open.pending() },
            Phase::CheckStop => Next::CheckStop,
            Phase::Done(outcome) => Next::Done(outcome),
        }
    }

    /// The number of the step that is under way or comes next.
    pub fn step(&self) -> u32 {
        let done = u32::try_from(self.steps.len()).unwrap_or(u32::MAX);
        match self.phase {
            Phase::CheckStop | Phase::Done(_) => done,
            _ => done.saturating_add(1),
        }
    }

    /// The history: what the run began with and what it added.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// The history, to be held beyond the next input.
    pub(crate) fn shared_messages(&self) -> Arc<Vec<Arc<Message>>> {
        Arc::clone(&self.messages)
    }

    /// What the run added to the history.
    pub fn new_messages(&self) -> &[Arc<Message>] {
        &self.new_messages
    }

    /// The steps that are complete.
    pub fn steps(&self) -> &[Arc<StepRecord>] {
        &self.steps
    }

    /// The steps that failed and were tried again.
    pub fn failed_steps(&self) -> &[FailedStep] {
        &self.failed_steps
    }

    /// What the stop conditions said, step by step.
    pub fn verdicts(&self) -> &[VerdictRecord] {
        &self.verdicts
    }

    /// What all steps took.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// How it ended, if it has.
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.phase {
            Phase::Done(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// Whether the step that is under way or comes next is the last one, without tools: see
    /// [`RunConfig::closing_step`].
    pub fn is_closing_step(&self) -> bool {
        let cap = usize::try_from(self.config.step_cap.max(1)).unwrap_or(usize::MAX);
        self.config.closing_step && self.steps.len() >= cap && !matches!(self.phase, Phase::Done(_))
    }

    /// What the model is to be told at the end of its next request. It is no part of the history.
    pub fn note(&self) -> Option<String> {
        let notes: Vec<_> = [self.retry_note(), self.limit_note()].into_iter().flatten().collect();
        (!notes.is_empty()).then(|| notes.join("\n\n"))
    }

    /// An answer that broke off was shown, and the model knows nothing of it.
    fn retry_note(&self) -> Option<String> {
        let failed = self.failed_steps.last().filter(|failed| failed.step == self.step())?;
        (!failed.partial.parts.is_empty()).then(|| {
            "Note from the program: your answer to this broke off and does not count. Give it again from its beginning."
                .to_owned()
        })
    }

    fn limit_note(&self) -> Option<String> {
        if self.is_closing_step() {
            let text = "Note from the program: the limit of steps is reached and no tool can be called any more. \
                        Answer now with what you have, and say what is left undone.";
            return Some(text.to_owned());
        }
        let step = u32::try_from(self.steps.len()).unwrap_or(u32::MAX);
        self.verdicts.iter().rev().take_while(|record| record.step == step).find_map(|record| {
            let Verdict::LoopWarning { tool, times } = &record.verdict else { return None };
            Some(format!(
                "Note from the program: `{tool}` was called with the same input in {times} steps in a row. Do \
                 something else, or say what stands in the way."
            ))
        })
    }

    /// Whether a failed step may be tried again.
    pub fn may_retry(&self) -> bool {
        matches!(self.phase, Phase::Model { .. })
            && self.failed_steps.len() < usize::try_from(self.config.step_retries).unwrap_or(usize::MAX)
    }

    /// Lets a run that failed, was cancelled or has spent a budget go on behind its last complete step. No tool runs
    /// again; what the model had said in the step that broke off is kept among the
    /// [`failed_steps`](Self::failed_steps). Gives whether there is anything to go on with: not in a run that ended
    /// otherwise, nor in one whose last answer is complete.
    pub fn reopen(&mut self) -> bool {
        let Phase::Done(outcome) = &self.phase else { return false };
        let broken_off = match outcome {
            Outcome::Failed { error, partial } => partial.clone().map(|partial| (error.clone(), *partial)),
            Outcome::Cancelled { partial } => {
                partial.clone().map(|partial| (ModelError::cancelled().record(), *partial))
            }
            Outcome::Budget { .. } => None,
            _ => return false,
        };
        let answered = matches!(
            self.new_messages.last().map(|last| &**last),
            Some(Message::Assistant(last)) if last.tool_calls().all(|call| call.provider_executed)
        );
        if answered && broken_off.is_none() {
            return false;
        }
        if let Some((error, partial)) = broken_off {
            let step = u32::try_from(self.steps.len()).unwrap_or(u32::MAX).saturating_add(1);
            Arc::make_mut(&mut self.failed_steps).push(FailedStep { step, error, partial });
        }
        self.phase = Phase::Prepare;
        true
    }

    /// The calls that wait for a person.
    pub fn pending_approvals(&self) -> Vec<PendingApproval> {
        match &self.phase {
            Phase::Repair(open) | Phase::Decide(open) | Phase::Tools(open) | Phase::AwaitApproval(open) => {
                open.pending()
            }
            _ => Vec::new(),
        }
    }

    /// The run as it stands, for storage.
    pub fn snapshot(&self) -> RunSnapshot {
        RunSnapshot::new(self.clone())
    }

    /// Takes what came of [`next`](Self::next).
    ///
    /// # Errors
    /// If the run did not ask for it. It is unchanged then.
    pub fn feed(&mut self, input: Input) -> Result<(), OutOfOrder> {
        let name = input.name();
        let phase = std::mem::replace(&mut self.phase, Phase::CheckStop);
        match (phase, input) {
            (Phase::Prepare, Input::Prepared(prepared)) => {
                if let Some(history) = prepared.history {
                    self.messages = Arc::new(heal(history));
                }
                self.phase = Phase::Model { tools: prepared.tools, repair: prepared.repair };
            }
            (Phase::Model { tools, repair }, Input::Answered(answer)) => {
                if let Some(id) = called_twice(&answer.assembled.message) {
                    let detail = format!("call `{id}` stands there twice");
                    return self.refuse(Phase::Model { tools, repair }, name, Some(detail));
                }
                self.answered(*answer, tools, repair);
            }
            (phase @ Phase::Model { .. }, Input::ModelFailed { error, partial, retry }) => {
                self.phase = phase;
                self.model_failed(error, partial, retry);
            }
            (Phase::Repair(mut open), Input::Repaired(repaired)) => {
                open.repair(repaired);
                self.advance(open, false);
            }
            (Phase::Decide(mut open), Input::Decided(verdicts)) => {
                for (id, verdict) in verdicts {
                    open.decide(&id, verdict);
                }
                self.advance(open, false);
            }
            (
                phase @ (Phase::Tools(_) | Phase::AwaitApproval(_)),
                Input::Answer { call_id, approved, reason },
            ) => return self.answer(phase, &call_id, approved, reason),
            (Phase::Tools(mut open), Input::ToolFinished(record)) => {
                let id = record.result.tool_call_id.clone();
                if !open.finish(*record) {
                    let detail = format!("call `{id}` is not running");
                    return self.refuse(Phase::Tools(open), name, Some(detail));
                }
                if open.calls.has_ready() {
                    self.phase = Phase::Tools(open);
                } else {
                    self.advance(open, false);
                }
            }
            (Phase::Done(Outcome::HandedOver { calls }), Input::Returned(results)) => {
                if let Some(detail) = mismatch(&calls, &results) {
                    return self.refuse(Phase::Done(Outcome::HandedOver { calls }), name, Some(detail));
                }
                self.recommit(results);
                self.phase = Phase::CheckStop;
            }
            (Phase::CheckStop, Input::Verdicts(verdicts)) => self.check_stop(verdicts),
            (Phase::Done(outcome), Input::Interrupted { by: Interruption::Cancelled, .. })
                if !matches!(outcome, Outcome::Failed { .. } | Outcome::Cancelled { .. }) =>
            {
                if matches!(outcome, Outcome::HandedOver { .. }) {
                    self.recommit(Vec::new());
                }
                self.phase = Phase::Done(Outcome::Cancelled { partial: None });
            }
            (phase @ Phase::Done(_), Input::Interrupted { .. } | Input::Broken(_)) => {
                return self.refuse(phase, name, None);
            }
            (phase, Input::Broken(error)) => {
                self.close(phase);
                self.phase = Phase::Done(Outcome::Failed { error, partial: None });
            }
            (phase, Input::Interrupted { by, partial }) => {
                let partial = if self.close(phase) { None } else { partial.and_then(said) };
                self.phase = Phase::Done(match by {
                    Interruption::Cancelled => Outcome::Cancelled { partial },
                    Interruption::TimeUp => Outcome::Budget { kind: BudgetKind::Time },
                });
            }
            (phase, _) => return self.refuse(phase, name, None),
        }
        Ok(())
    }

    /// A person's answer, also one that comes while other calls of the step run.
    fn answer(
        &mut self,
        phase: Phase,
        call_id: &Id,
        approved: bool,
        reason: Option<String>,
    ) -> Result<(), OutOfOrder> {
        let (mut open, running) = match phase {
            Phase::Tools(open) => (open, true),
            Phase::AwaitApproval(open) => (open, false),
            other => return self.refuse(other, "Answer", None),
        };
        let asks = open.answer(call_id, approved, reason);
        if running {
            self.phase = Phase::Tools(open);
        } else if asks {
            self.advance(open, false);
        } else {
            self.phase = Phase::AwaitApproval(open);
        }
        if asks {
            return Ok(());
        }
        let detail = format!("call `{call_id}` does not wait for approval");
        Err(OutOfOrder { input: "Answer", phase: self.phase.name(), detail: Some(detail) })
    }

    fn refuse(
        &mut self,
        phase: Phase,
        input: &'static str,
        detail: Option<String>,
    ) -> Result<(), OutOfOrder> {
        let at = phase.name();
        self.phase = phase;
        Err(OutOfOrder { input, phase: at, detail })
    }
}

/// The id that two calls have.
fn called_twice(message: &AssistantMessage) -> Option<&Id> {
    let mut seen = HashSet::new();
    message.tool_calls().map(|call| &call.id).find(|id| !seen.insert(*id))
}

impl Serialize for Run {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Run {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let run = Self::deserialize(deserializer)?;
        match run.flaw() {
            None => Ok(run),
            Some(flaw) => Err(D::Error::custom(format!("{DAMAGED}{flaw}"))),
        }
    }
}

fn known_schema<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    match u32::deserialize(deserializer)? {
        schema @ 1..=SCHEMA => Ok(schema),
        schema => Err(serde::de::Error::custom(format!(
            "the stored run has schema {schema}; this program reads schemas up to {SCHEMA}"
        ))),
    }
}

/// Reads steps, which must be those of one run, in order.
fn numbered<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Arc<Vec<Arc<StepRecord>>>, D::Error> {
    let steps = Vec::<Arc<StepRecord>>::deserialize(deserializer)?;
    match steps.iter().zip(1..).find(|(step, number)| step.step != *number) {
        None => Ok(Arc::new(steps)),
        Some((step, number)) => Err(serde::de::Error::custom(format!(
            "{DAMAGED}step {} stands in the place of step {number}",
            step.step
        ))),
    }
}

/// What keeps these results from being those of these calls.
fn mismatch(calls: &[ToolCall], results: &[ToolResult]) -> Option<String> {
    let mut open: HashSet<_> = calls.iter().map(|call| &call.id).collect();
    for result in results {
        if !open.remove(&result.tool_call_id) {
            return Some(format!("call `{}` was not handed over, or is answered twice", result.tool_call_id));
        }
    }
    let missing = calls.iter().find(|call| open.contains(&call.id))?;
    Some(format!("call `{}` has no result", missing.id))
}

fn is_empty<T>(list: &[T]) -> bool {
    list.is_empty()
}
