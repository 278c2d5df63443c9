use std::sync::Arc;

use ai_provider::{Message, ToolCall};

use super::heal::is_sound;
use super::machine::Run;
use super::outcome::Outcome;
use super::phase::Phase;
use super::record::StepRecord;
use super::step::answers;

/// What no stored run can be.
impl Run {
    /// Why this run cannot have come to be: what would make a provider refuse its history, or lose what it is fed.
    pub(super) fn flaw(&self) -> Option<&'static str> {
        match &self.phase {
            Phase::CheckStop if self.steps.is_empty() => Some("it is at the end of a step and has none"),
            // It waits in the phase of its step; as an outcome this is said of a run, not stored in it.
            Phase::Done(Outcome::AwaitingApproval { .. }) => Some("it is done and waits for approval"),
            Phase::Done(Outcome::HandedOver { calls }) => self.flaw_of_handing_over(calls),
            _ if !is_sound(&self.messages) => Some("its history has a call without a result, or the reverse"),
            _ => None,
        }
    }

    /// The last step is taken back when its calls return, so it has to be the end of the history.
    fn flaw_of_handing_over(&self, calls: &[ToolCall]) -> Option<&'static str> {
        let Some(step) = self.steps.last() else { return Some("it handed calls over and has no step") };
        let open = step.message.tool_calls().filter(|call| !call.provider_executed);
        let open = open.filter(|call| step.tools.iter().all(|tool| tool.result.tool_call_id != call.id));
        if calls.is_empty() || !open.eq(calls) {
            return Some("the calls it handed over are not those its last step left open");
        }
        let before = before_step(&self.messages, step);
        if before.is_none() || before_step(&self.new_messages, step).is_none() {
            return Some("its last step is not the end of its history");
        }
        before.is_some_and(|before| !is_sound(before)).then_some("its history has a call without a result")
    }
}

/// The messages in front of those of a step, if these are the last ones.
fn before_step<'a>(messages: &'a [Arc<Message>], step: &StepRecord) -> Option<&'a [Arc<Message>]> {
    let (last, before) = messages.split_last()?;
    let answers = answers(step);
    let (said, before) = match &**last {
        _ if answers.is_empty() => (last, before),
        Message::Tool(message) if message.parts == answers => before.split_last()?,
        _ => return None,
    };
    matches!(&**said, Message::Assistant(said) if *said == step.message).then_some(before)
}
