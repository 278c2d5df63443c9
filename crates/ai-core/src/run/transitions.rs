use std::collections::HashSet;
use std::sync::Arc;

use ai_provider::{
    AssistantMessage, AssistantPart, ErrorClass, ErrorRecord, FinishReason, Message, ModelError, ToolResult,
    UnifiedFinish,
};

use super::calls::CallState;
use super::guard;
use super::input::{Answer, ToolFacts, Verdict};
use super::machine::Run;
use super::outcome::{Outcome, TerminalRecord};
use super::phase::Phase;
use super::record::{FailedStep, StepRecord, ToolStatus, VerdictRecord};
use super::step::{INTERRUPTED, OpenStep, finish_error};

/// How the run gets from one phase to the next.
impl Run {
    pub(super) fn answered(&mut self, answer: Answer, tools: Vec<ToolFacts>, repair: bool) {
        let Answer { target, assembled, invalid } = answer;
        let tools = if self.is_closing_step() { Vec::new() } else { tools };
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
            approvals: Vec::new(),
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
        let mut open = OpenStep::new(record, tools, invalid);
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

    pub(super) fn model_failed(&mut self, error: ErrorRecord, partial: AssistantMessage, retry: bool) {
        if retry && self.may_retry() {
            let failed = FailedStep { step: self.step(), error, partial };
            Arc::make_mut(&mut self.failed_steps).push(failed);
            self.phase = Phase::Prepare;
        } else {
            self.fail(error, partial);
        }
    }

    fn fail(&mut self, error: ErrorRecord, partial: AssistantMessage) {
        self.phase = Phase::Done(Outcome::Failed { error, partial: said(partial) });
    }

    /// The next phase of a step whose answer is there: the first of these that applies.
    pub(super) fn advance(&mut self, mut open: OpenStep, repair: bool) {
        let terminal =
            |state: &CallState| matches!(state, CallState::Done(record) if record.terminal.is_some());
        if open.calls.any(|state| matches!(state, CallState::Invalid(_))) {
            if repair {
                self.phase = Phase::Repair(open);
                return;
            }
            open.give_up_invalid();
        }
        let waits = |state: &CallState| *state == CallState::Undecided || *state == CallState::Ready;
        if open.calls.any(terminal) && !open.calls.any(waits) {
            // Nobody will answer what was asked of a person or of the caller.
            open.close(&ToolStatus::Skipped, "Not run: another tool of the same answer ended the run.");
        }
        self.phase = if open.calls.any(|state| *state == CallState::Undecided) {
            Phase::Decide(open)
        } else if open.calls.any(|state| *state == CallState::Ready) {
            Phase::Tools(open)
        } else if open.calls.any(|state| matches!(state, CallState::Asking(_))) {
            Phase::AwaitApproval(open)
        } else {
            let calls = open.calls.len();
            let handed: Vec<_> =
                open.calls.with_state(|state| *state == CallState::HandedOver).into_iter().cloned().collect();
            let closing = self.is_closing_step();
            match self.commit(open) {
                Some(terminal) => Phase::Done(Outcome::ToolTerminal(terminal)),
                None if !handed.is_empty() => Phase::Done(Outcome::HandedOver { calls: handed }),
                None if calls == 0 && (closing || self.deferred.is_empty()) => Phase::Done(Outcome::Finished),
                None if closing => Phase::Done(Outcome::StepCap { cap: self.config.step_cap.max(1) }),
                None => Phase::CheckStop,
            }
        };
    }

    /// Makes the step part of the history; gives the first terminal failure of its tools.
    fn commit(&mut self, open: OpenStep) -> Option<TerminalRecord> {
        let later: HashSet<_> =
            open.facts.iter().filter(|tool| tool.deferred).map(|tool| tool.name.clone()).collect();
        let (record, messages) = open.commit();
        self.await_results(&record, &later);
        self.usage.add(&record.usage);
        for usage in record.tools.iter().filter_map(|tool| tool.usage.as_deref()) {
            self.usage.add(usage);
        }
        let terminal = record.tools.iter().find_map(|tool| tool.terminal.clone());
        self.append(record, messages);
        terminal
    }

    fn append(&mut self, record: StepRecord, messages: Vec<Arc<Message>>) {
        Arc::make_mut(&mut self.messages).extend(messages.iter().cloned());
        Arc::make_mut(&mut self.new_messages).extend(messages);
        Arc::make_mut(&mut self.steps).push(Arc::new(record));
    }

    /// Keeps track of calls at the provider whose results come in a later step.
    fn await_results(&mut self, record: &StepRecord, later: &HashSet<String>) {
        if later.is_empty() && self.deferred.is_empty() {
            return;
        }
        let mut given = HashSet::new();
        for part in &record.message.parts {
            match part {
                AssistantPart::ToolCall(call) if call.provider_executed && later.contains(&call.name) => {
                    self.deferred.push(call.id.clone());
                }
                AssistantPart::ToolResult(result) => {
                    given.insert(&result.tool_call_id);
                }
                _ => {}
            }
        }
        self.deferred.retain(|call| !given.contains(call));
    }

    /// Takes back the last step, whose calls were handed over, and makes it part of the history again with these
    /// results.
    pub(super) fn recommit(&mut self, results: Vec<ToolResult>) {
        let Some(step) = Arc::make_mut(&mut self.steps).pop() else { return };
        let committed = 1 + usize::from(!step.tools.is_empty() || !step.approvals.is_empty());
        for messages in [&mut self.messages, &mut self.new_messages] {
            let messages = Arc::make_mut(messages);
            messages.truncate(messages.len().saturating_sub(committed));
        }
        let (record, messages) = OpenStep::again(Arc::unwrap_or_clone(step), results).commit();
        self.append(record, messages);
    }

    pub(super) fn check_stop(&mut self, verdicts: Vec<Verdict>) {
        let step = u32::try_from(self.steps.len()).unwrap_or(u32::MAX);
        let mut verdicts = verdicts;
        verdicts.extend(guard::look(self.config.loop_guard, &self.steps));
        let find = |wanted: fn(&Verdict) -> bool| verdicts.iter().find(|verdict| wanted(verdict)).cloned();
        // A clean end wins over one that reads like a failure.
        let first = find(|verdict| *verdict == Verdict::SteerYield)
            .or_else(|| find(|verdict| matches!(verdict, Verdict::Stop { .. })))
            .or_else(|| find(Verdict::ends));
        let cap = self.config.step_cap.max(1);
        let capped = first.is_none() && step >= cap;
        if capped && self.config.closing_step && step == cap {
            verdicts.push(Verdict::ClosingStep);
        }
        if !verdicts.is_empty() {
            let records = verdicts.into_iter().map(|verdict| VerdictRecord { step, verdict });
            Arc::make_mut(&mut self.verdicts).extend(records);
        }
        self.phase = match first {
            Some(Verdict::SteerYield) => Phase::Done(Outcome::SteerYield),
            Some(Verdict::Budget { kind }) => Phase::Done(Outcome::Budget { kind }),
            Some(Verdict::LoopGuard { tool }) => Phase::Done(Outcome::LoopGuard { tool }),
            Some(_) => Phase::Done(Outcome::Finished),
            None if capped && !(self.config.closing_step && step == cap) => {
                Phase::Done(Outcome::StepCap { cap })
            }
            None => Phase::Prepare,
        };
    }

    /// The run ends here. The answer of an open step is complete: it becomes history, with a result for each of
    /// its calls.
    pub(super) fn close(&mut self, phase: Phase) -> bool {
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

pub(super) fn said(partial: AssistantMessage) -> Option<Box<AssistantMessage>> {
    (!partial.parts.is_empty()).then(|| Box::new(partial))
}
