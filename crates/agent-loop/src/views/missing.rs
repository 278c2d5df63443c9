use std::collections::HashMap;

use ai_core::run::{Outcome, StepRecord, ToolStatus};
use ai_provider::{Id, Usage};
use serde::{Deserialize, Serialize};

/// Something a run has not come to, or that nobody knows of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Missing {
    /// The whole answer of a step.
    Answer {
        /// The step.
        step: u32,
    },
    /// The rest of the answer of a step: it was cut.
    RestOfAnswer {
        /// The step.
        step: u32,
    },
    /// What a step took: nobody said. It is unknown, not nothing.
    Usage {
        /// The step.
        step: u32,
    },
    /// The rest of the input of a call. The call was never made.
    Input {
        /// The step.
        step: u32,
        /// The id the call would have had.
        call_id: Id,
        /// Which tool.
        tool: String,
    },
    /// The result of a call.
    Result {
        /// The step that made the call.
        step: u32,
        /// The call.
        call_id: Id,
        /// Which tool.
        tool: String,
        /// What became of it.
        state: Unresolved,
    },
    /// How the run ended: it had not, or nobody heard of it.
    Ending,
}

impl Missing {
    /// Whether it has to be found out what happened before anything of the kind is done again: the call may have
    /// taken effect.
    pub fn needs_check(&self) -> bool {
        use Unresolved::{DeliveryUnknown, Unknown};
        matches!(self, Self::Result { state: Unknown | DeliveryUnknown, .. })
    }

    fn step(&self) -> u32 {
        match self {
            Self::Answer { step }
            | Self::RestOfAnswer { step }
            | Self::Usage { step }
            | Self::Input { step, .. }
            | Self::Result { step, .. } => *step,
            Self::Ending => u32::MAX,
        }
    }
}

/// What became of a call without a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Unresolved {
    /// It did not run: the answer that made it broke off.
    NotRun,
    /// It waits for a person.
    AwaitsApproval,
    /// It runs at the caller's.
    HandedOver,
    /// It was cut while it ran; running it again does no harm.
    Cancelled,
    /// It was cut while it ran, and may have taken effect.
    DeliveryUnknown,
    /// Nobody knows: it runs at the provider, or was not seen to its end.
    Unknown,
}

/// Keeps track of what is missing in a run.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    step: u32,
    in_step: bool,
    said: bool,
    lost: Vec<Missing>,
    calls: Vec<Call>,
    at: HashMap<Id, usize>,
}

#[derive(Debug)]
struct Call {
    id: Id,
    tool: String,
    step: u32,
    provider_executed: bool,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Input,
    Made,
    Started,
    Done,
    Lost(Unresolved),
}

impl Gaps {
    /// Of a run that has this many steps behind it.
    pub(super) fn behind(steps: u32) -> Self {
        Self { step: steps, ..Self::default() }
    }

    /// The step under way, or the last one.
    pub(super) fn step(&self) -> u32 {
        self.step
    }

    pub(super) fn step_start(&mut self, step: u32) {
        (self.step, self.in_step, self.said) = (step, true, false);
    }

    /// Something of the answer was shown.
    pub(super) fn said(&mut self) {
        self.said = true;
    }

    /// What the step has shown is taken back.
    pub(super) fn reset(&mut self) {
        self.said = false;
        self.calls.retain(|call| call.step != self.step);
        self.at = self.calls.iter().enumerate().map(|(at, call)| (call.id.clone(), at)).collect();
    }

    pub(super) fn input(&mut self, id: &Id, tool: &str) {
        self.said = true;
        self.put(id, tool, false, State::Input);
    }

    pub(super) fn call(&mut self, id: &Id, tool: &str, provider_executed: bool) {
        self.said = true;
        self.put(id, tool, provider_executed, State::Made);
    }

    pub(super) fn started(&mut self, id: &Id) {
        self.set(id, State::Started);
    }

    /// The call has its result.
    pub(super) fn done(&mut self, id: &Id) {
        self.set(id, State::Done);
    }

    /// A call is over like this.
    pub(super) fn ended(&mut self, id: &Id, status: &ToolStatus) {
        self.set(
            id,
            match status {
                ToolStatus::Cancelled => State::Lost(Unresolved::Cancelled),
                ToolStatus::DeliveryUnknown(_) => State::Lost(Unresolved::DeliveryUnknown),
                ToolStatus::Skipped => State::Lost(Unresolved::NotRun),
                _ => State::Done,
            },
        );
    }

    /// Whether only a part of the input of this call has come.
    pub(super) fn is_half(&self, id: &Id) -> bool {
        self.find(id).is_some_and(|call| call.state == State::Input)
    }

    pub(super) fn step_end(&mut self, record: &StepRecord) {
        (self.step, self.in_step) = (record.step, false);
        if is_unknown(&record.usage) {
            self.lost.push(Missing::Usage { step: record.step });
        }
        for tool in &record.tools {
            self.ended(&tool.result.tool_call_id, &tool.status);
        }
    }

    /// What is missing of a run that ended like this; of one that did not end, as far as it has come.
    pub(super) fn missing(&self, outcome: Option<&Outcome>) -> Vec<Missing> {
        let mut missing = self.lost.clone();
        let step = self.step;
        let cut = match outcome {
            None => self.in_step,
            Some(Outcome::Failed { .. } | Outcome::Cancelled { .. } | Outcome::Budget { .. }) => self.in_step,
            Some(Outcome::Truncated { .. }) => true,
            Some(_) => false,
        };
        if cut {
            missing.push(if self.said { Missing::RestOfAnswer { step } } else { Missing::Answer { step } });
            if self.in_step {
                missing.push(Missing::Usage { step });
            }
        }
        missing.extend(self.calls.iter().filter_map(|call| call.missing(outcome)));
        if outcome.is_none() {
            missing.push(Missing::Ending);
        }
        missing.sort_by_key(Missing::step);
        missing
    }

    fn find(&self, id: &Id) -> Option<&Call> {
        self.calls.get(*self.at.get(id)?)
    }

    fn set(&mut self, id: &Id, state: State) {
        if let Some(call) = self.at.get(id).and_then(|at| self.calls.get_mut(*at)) {
            call.state = state;
        }
    }

    fn put(&mut self, id: &Id, tool: &str, provider_executed: bool, state: State) {
        let call = Call { id: id.clone(), tool: tool.to_owned(), step: self.step, provider_executed, state };
        match self.at.get(id).and_then(|at| self.calls.get_mut(*at)) {
            Some(known) => *known = call,
            None => {
                self.at.insert(id.clone(), self.calls.len());
                self.calls.push(call);
            }
        }
    }
}

impl Call {
    fn missing(&self, outcome: Option<&Outcome>) -> Option<Missing> {
        let (step, call_id, tool) = (self.step, self.id.clone(), self.tool.clone());
        let waits = |calls: &[ai_provider::ToolCall]| calls.iter().any(|call| call.id == self.id);
        let state = match (self.state, outcome) {
            (State::Input, _) => return Some(Missing::Input { step, call_id, tool }),
            (State::Done, _) => return None,
            (State::Lost(state), _) => state,
            (_, Some(Outcome::AwaitingApproval { calls })) if waits(calls) => Unresolved::AwaitsApproval,
            (_, Some(Outcome::HandedOver { calls })) if waits(calls) => Unresolved::HandedOver,
            (State::Made, Some(_)) if !self.provider_executed => Unresolved::NotRun,
            _ => Unresolved::Unknown,
        };
        Some(Missing::Result { step, call_id, tool, state })
    }
}

fn is_unknown(usage: &Usage) -> bool {
    usage.total().is_none()
}
