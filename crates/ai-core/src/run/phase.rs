use std::collections::HashSet;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::calls::CallState;
use super::input::ToolFacts;
use super::outcome::Outcome;
use super::snapshot::DAMAGED;
use super::step::OpenStep;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "at", content = "with", rename_all = "kebab-case")]
pub(super) enum Phase {
    Prepare,
    Model { tools: Vec<ToolFacts>, repair: bool },
    Repair(OpenStep),
    Decide(OpenStep),
    Tools(OpenStep),
    AwaitApproval(OpenStep),
    CheckStop,
    Done(Outcome),
}

impl Phase {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Prepare => "Prepare",
            Self::Model { .. } => "CallModel",
            Self::Repair(_) => "Repair",
            Self::Decide(_) => "DecideApproval",
            Self::Tools(_) => "CallTools",
            Self::AwaitApproval(_) => "AwaitApproval",
            Self::CheckStop => "CheckStop",
            Self::Done(_) => "Done",
        }
    }

    /// Reads a stored phase, which must be one that a run can be in: a driver asks for what stands here until it is
    /// done, so a phase with nothing to do would be asked for ever.
    pub(super) fn sound<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let phase = Self::deserialize(deserializer)?;
        match phase.flaw() {
            None => Ok(phase),
            Some(flaw) => Err(D::Error::custom(format!("{DAMAGED}at `{}`, {flaw}", phase.name()))),
        }
    }

    fn flaw(&self) -> Option<&'static str> {
        let (open, due) = match self {
            Self::Repair(open) => (open, 0),
            Self::Decide(open) => (open, 1),
            Self::Tools(open) => (open, 2),
            Self::AwaitApproval(open) => (open, 3),
            Self::Prepare | Self::Model { .. } | Self::CheckStop | Self::Done(_) => return None,
        };
        // The phases of a step, in order: what belongs to an earlier one is dealt with by now.
        let stage = |state: &CallState| match state {
            CallState::Invalid(_) => 0,
            CallState::Undecided => 1,
            CallState::Ready => 2,
            CallState::Asking(_) => 3,
            CallState::HandedOver | CallState::Answered(_) | CallState::Done(_) => 4,
        };
        let stages: Vec<_> = open.calls.iter().map(|call| stage(&call.state)).collect();
        if !stages.contains(&due) {
            return Some("no call waits for it");
        }
        if stages.iter().any(|stage| *stage < due) {
            return Some("a call waits for something earlier");
        }
        let called = open.record.message.tool_calls().filter(|call| {
            !call.provider_executed
                || open.calls.get(&call.id).is_some_and(|open| open.call.provider_executed)
        });
        if !called.map(|call| &call.id).eq(open.calls.iter().map(|open| &open.call.id)) {
            return Some("its calls are not those of the message");
        }
        let waits_there = |state: &CallState| matches!(state, CallState::Asking(_) | CallState::Answered(_));
        let answered = |state: &CallState| matches!(state, CallState::Answered(_));
        if open.calls.iter().any(|open| match open.call.provider_executed {
            true => !waits_there(&open.state),
            false => answered(&open.state),
        }) {
            return Some("a call at the provider is taken for one that runs here, or the reverse");
        }
        let mut seen = HashSet::new();
        open.calls.iter().any(|open| !seen.insert(&open.call.id)).then_some("two calls have one id")
    }
}
