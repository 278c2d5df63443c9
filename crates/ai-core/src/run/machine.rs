use std::sync::Arc;

use ai_provider::{
    AssistantMessage, ErrorClass, ErrorRecord, FinishReason, Message, ModelError, UnifiedFinish, Usage,
};
use serde::{Deserialize, Serialize};

use super::config::RunConfig;
use super::input::{Answer, Input, Interruption, OutOfOrder, ToolFacts, Verdict};
use super::next::Next;
use super::outcome::{BudgetKind, Outcome, TerminalRecord};
use super::phase::Phase;
use super::record::{FailedStep, PendingApproval, StepRecord, ToolStatus, VerdictRecord};
use super::snapshot::RunSnapshot;
use super::step::{CallState, INTERRUPTED, OpenStep, denied, finish_error};

/// The version of the stored form. Raised when an older program could not read it.
const SCHEMA: u32 = 1;

/// A run of the model and its tools: history, steps and what comes next.
///
/// ```
/// use ai_core::run::{Next, Run, RunConfig};
/// use ai_provider::Message;
/// let run = Run::new([Message::user("Hi")], RunConfig::default());
/// assert!(matches!(run.next(), Next::Prepare { step: 1 }));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    #[serde(deserialize_with = "known_schema")]
    schema: u32,
    config: RunConfig,
    messages: Vec<Arc<Message>>,
    new_messages: Vec<Arc<Message>>,
    steps: Vec<Arc<StepRecord>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    failed_steps: Vec<FailedStep>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    verdicts: Vec<VerdictRecord>,
    usage: Usage,
    #[serde(deserialize_with = "Phase::sound")]
    phase: Phase,
}

impl Run {
    /// A run that begins with this history.
    pub fn new(messages: impl IntoIterator<Item = Message>, config: RunConfig) -> Self {
        Self::from_shared(messages.into_iter().map(Arc::new).collect(), config)
    }

    /// A run that begins with a history shared with others.
    pub fn from_shared(messages: Vec<Arc<Message>>, config: RunConfig) -> Self {
        Self {
            schema: SCHEMA,
            config,
            messages,
            new_messages: Vec::new(),
            steps: Vec::new(),
            failed_steps: Vec::new(),
            verdicts: Vec::new(),
            usage: Usage::default(),
            phase: Phase::Prepare,
        }
    }

    /// What shall happen next.
    pub fn next(&self) -> Next<'_> {
        match &self.phase {
            Phase::Prepare => Next::Prepare { step: self.step() },
            Phase::Model { .. } => Next::CallModel,
            Phase::Repair(open) => {
                Next::Repair { calls: open.with_state(|state| matches!(state, CallState::Invalid(_))) }
            }
            Phase::Decide(open) => {
                Next::DecideApproval { calls: open.with_state(|state| *state == CallState::Undecided) }
            }
            Phase::Tools(open) => {
                Next::CallTools { calls: open.with_state(|state| *state == CallState::Ready) }
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

    /// Whether a failed step may be tried again.
    pub fn may_retry(&self) -> bool {
        matches!(self.phase, Phase::Model { .. })
            && self.failed_steps.len() < usize::try_from(self.config.step_retries).unwrap_or(usize::MAX)
    }

    /// The calls that wait for a person.
    pub fn pending_approvals(&self) -> Vec<PendingApproval> {
        match &self.phase {
            Phase::Decide(open) | Phase::Tools(open) | Phase::AwaitApproval(open) => open.pending(),
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
                    self.messages = history;
                }
                self.phase = Phase::Model { tools: prepared.tools, repair: prepared.repair };
            }
            (Phase::Model { tools, repair }, Input::Answered(answer)) => {
                self.answered(*answer, tools, repair)
            }
            (phase @ Phase::Model { .. }, Input::ModelFailed { error, partial, retry }) => {
                self.phase = phase;
                self.model_failed(error, partial, retry);
            }
            (Phase::Repair(mut open), Input::Repaired(repaired)) => {
                for (id, call) in repaired {
                    open.repair(&id, call);
                }
                self.advance(open, false);
            }
            (Phase::Decide(mut open), Input::Decided(verdicts)) => {
                for (id, verdict) in verdicts {
                    open.decide(&id, verdict);
                }
                self.advance(open, false);
            }
            (Phase::AwaitApproval(mut open), Input::Answer { call_id, approved, reason }) => {
                match open.find(&call_id) {
                    Some(asked) if matches!(asked.state, CallState::Asking(_)) => {
                        asked.state = if approved {
                            CallState::Ready
                        } else {
                            CallState::Done(denied(&asked.call, reason))
                        };
                        self.advance(open, false);
                    }
                    _ => {
                        let detail = format!("call `{call_id}` does not wait for approval");
                        return self.refuse(Phase::AwaitApproval(open), name, Some(detail));
                    }
                }
            }
            (Phase::Tools(mut open), Input::ToolFinished(record)) => {
                let id = record.result.tool_call_id.clone();
                match open.find(&id) {
                    Some(call) if call.state == CallState::Ready => {
                        call.state = CallState::Done(*record);
                        if open.any(|state| *state == CallState::Ready) {
                            self.phase = Phase::Tools(open);
                        } else {
                            self.advance(open, false);
                        }
                    }
                    _ => {
                        let detail = format!("call `{id}` is not running");
                        return self.refuse(Phase::Tools(open), name, Some(detail));
                    }
                }
            }
            (Phase::CheckStop, Input::Verdicts(verdicts)) => self.check_stop(verdicts),
            (Phase::Done(outcome), Input::Interrupted { by: Interruption::Cancelled, .. })
                if !matches!(outcome, Outcome::Failed { .. } | Outcome::Cancelled { .. }) =>
            {
                if matches!(outcome, Outcome::HandedOver { .. }) {
                    self.take_back();
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

    fn answered(&mut self, answer: Answer, tools: Vec<ToolFacts>, repair: bool) {
        let Answer { target, assembled } = answer;
        let finish = match self.final_check(&assembled) {
            Ok(finish) => finish,
            Err(error) => {
                self.usage.add(&assembled.usage);
                return self.fail(error, assembled.message);
            }
        };
        let record = StepRecord {
            step: u32::try_from(self.steps.len()).unwrap_or(u32::MAX).saturating_add(1),
            target,
            response: assembled.response,
            message: assembled.message,
            tools: Vec::new(),
            usage: assembled.usage,
            warnings: assembled.warnings,
            finish,
        };
        let cut = match record.finish.unified {
            UnifiedFinish::Length => {
                Some(Outcome::Truncated { incomplete_calls: assembled.incomplete_calls })
            }
            UnifiedFinish::ContentFilter => Some(Outcome::Refused { finish: record.finish.clone() }),
            _ => None,
        };
        let mut open = OpenStep::new(record, tools);
        match cut {
            Some(outcome) => {
                open.close(&ToolStatus::Skipped, "Not run: the answer that made this call was cut.");
                self.commit(open);
                self.phase = Phase::Done(outcome);
            }
            None => self.advance(open, repair),
        }
    }

    /// What an answer must be to count as one. Asked here and nowhere else, so that what ends the run and what
    /// is said of it cannot differ.
    fn final_check(&self, assembled: &ai_provider::Assembled) -> Result<FinishReason, ErrorRecord> {
        let error = |class, text: &str| Err(ModelError::new(class, text).record());
        let Some(finish) = assembled.finish.clone() else {
            return error(ErrorClass::Incomplete, "the stream ended before the answer was complete");
        };
        match finish.unified {
            UnifiedFinish::Error => Err(finish_error(&finish)),
            UnifiedFinish::Length | UnifiedFinish::ContentFilter => Ok(finish),
            _ if !assembled.incomplete_calls.is_empty() => {
                error(ErrorClass::Incomplete, "the answer ended inside a tool call")
            }
            _ if assembled.is_empty() => error(ErrorClass::Empty, "the model gave an empty answer"),
            _ => Ok(finish),
        }
    }

    fn model_failed(&mut self, error: ErrorRecord, partial: AssistantMessage, retry: bool) {
        if retry && self.may_retry() {
            self.failed_steps.push(FailedStep { step: self.step(), error, partial });
            self.phase = Phase::Prepare;
        } else {
            self.fail(error, partial);
        }
    }

    fn fail(&mut self, error: ErrorRecord, partial: AssistantMessage) {
        self.phase = Phase::Done(Outcome::Failed { error, partial: said(partial) });
    }

    /// The next phase of a step whose answer is there: the first of these that applies.
    fn advance(&mut self, mut open: OpenStep, repair: bool) {
        let terminal =
            |state: &CallState| matches!(state, CallState::Done(record) if record.terminal.is_some());
        if open.any(|state| matches!(state, CallState::Invalid(_))) {
            if repair {
                self.phase = Phase::Repair(open);
                return;
            }
            for call in &mut open.calls {
                if let CallState::Invalid(record) = &call.state {
                    call.state = CallState::Done(record.clone());
                }
            }
        }
        let waits = |state: &CallState| *state == CallState::Undecided || *state == CallState::Ready;
        if open.any(terminal) && !open.any(waits) {
            // Nobody will answer what was asked of a person or of the caller.
            open.close(&ToolStatus::Skipped, "Not run: another tool of the same answer ended the run.");
        }
        self.phase = if open.any(|state| *state == CallState::Undecided) {
            Phase::Decide(open)
        } else if open.any(|state| *state == CallState::Ready) {
            Phase::Tools(open)
        } else if open.any(|state| matches!(state, CallState::Asking(_))) {
            Phase::AwaitApproval(open)
        } else {
            let calls = open.calls.len();
            let handed: Vec<_> =
                open.with_state(|state| *state == CallState::HandedOver).into_iter().cloned().collect();
            match self.commit(open) {
                Some(terminal) => Phase::Done(Outcome::ToolTerminal(terminal)),
                None if !handed.is_empty() => Phase::Done(Outcome::HandedOver { calls: handed }),
                None if calls == 0 => Phase::Done(Outcome::Finished),
                None => Phase::CheckStop,
            }
        };
    }

    /// Makes the step part of the history; gives the first terminal failure of its tools.
    fn commit(&mut self, open: OpenStep) -> Option<TerminalRecord> {
        let (record, messages) = open.commit();
        self.messages.extend(messages.iter().cloned());
        self.new_messages.extend(messages);
        self.usage.add(&record.usage);
        let terminal = record.tools.iter().find_map(|tool| tool.terminal.clone());
        self.steps.push(Arc::new(record));
        terminal
    }

    /// The calls handed over in the last step will not be answered after all: they get results in the history.
    fn take_back(&mut self) {
        let Some(step) = self.steps.pop() else { return };
        let committed = 1 + usize::from(!step.tools.is_empty());
        for messages in [&mut self.messages, &mut self.new_messages] {
            messages.truncate(messages.len().saturating_sub(committed));
        }
        let (record, messages) = OpenStep::again(Arc::unwrap_or_clone(step)).commit();
        self.messages.extend(messages.iter().cloned());
        self.new_messages.extend(messages);
        self.steps.push(Arc::new(record));
    }

    fn check_stop(&mut self, verdicts: Vec<Verdict>) {
        let step = u32::try_from(self.steps.len()).unwrap_or(u32::MAX);
        let find = |wanted: fn(&Verdict) -> bool| verdicts.iter().find(|verdict| wanted(verdict)).cloned();
        // A clean end wins over one that reads like a failure.
        let first = find(|verdict| *verdict == Verdict::SteerYield)
            .or_else(|| find(|verdict| matches!(verdict, Verdict::Stop { .. })))
            .or_else(|| verdicts.first().cloned());
        self.verdicts.extend(verdicts.into_iter().map(|verdict| VerdictRecord { step, verdict }));
        let cap = self.config.step_cap.max(1);
        self.phase = match first {
            Some(Verdict::SteerYield) => Phase::Done(Outcome::SteerYield),
            Some(Verdict::Stop { .. }) => Phase::Done(Outcome::Finished),
            Some(Verdict::Budget { kind }) => Phase::Done(Outcome::Budget { kind }),
            Some(Verdict::LoopGuard { tool }) => Phase::Done(Outcome::LoopGuard { tool }),
            None if step >= cap => Phase::Done(Outcome::StepCap { cap }),
            None => Phase::Prepare,
        };
    }

    /// The run ends here. The answer of an open step is complete: it becomes history, with a result for each of
    /// its calls.
    fn close(&mut self, phase: Phase) -> bool {
        match phase {
            Phase::Repair(mut open)
            | Phase::Decide(mut open)
            | Phase::Tools(mut open)
            | Phase::AwaitApproval(mut open) => {
                open.close(&ToolStatus::Cancelled, INTERRUPTED);
                self.commit(open);
                true
            }
            _ => false,
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

fn said(partial: AssistantMessage) -> Option<Box<AssistantMessage>> {
    (!partial.parts.is_empty()).then(|| Box::new(partial))
}
