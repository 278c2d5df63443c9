use super::inbox::Start;
use super::topic::{LastTurn, Phase, Reaction, Topic};
use super::turn::ParkedRow;
use crate::record::{InputBody, Queue, ReturnReason, StoredInput, TopicState, TurnId};
use crate::source::CallAnswer;
use ai_core::Decision;

/// What the store knows of a topic when its owner begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// Rows that wait for answers.
    pub(crate) parked: Vec<ParkedRow>,
    /// Inputs that wait, in their order.
    pub(crate) queued: Vec<StoredInput>,
    /// The last turn that is over, and how it ended.
    pub(crate) last: Option<(TurnId, TopicState)>,
    /// When a turn was last completed.
    pub(crate) last_completed_at: Option<u64>,
    /// Whether what waits is answered now; else it goes back to its senders. Answers to questions are always taken.
    pub(crate) answer: bool,
}

impl Topic {
    /// Goes on where an earlier owner has left off.
    pub(crate) fn recover(&mut self, found: Found) -> Reaction {
        let mut out = Reaction::default();
        self.last = found.last.map(|(id, state)| LastTurn { id, state, attempts: Vec::new() });
        self.last_completed_at = found.last_completed_at;
        let mut parked = found.parked;
        let mut back = Vec::new();
        for stored in found.queued {
            let Some(body) = stored.input.body.known() else { continue };
            match body {
                InputBody::Message { .. } | InputBody::Regenerate { .. } | InputBody::Append { .. } => {
                    if found.answer {
                        self.wait_again(stored);
                    } else {
                        back.push(stored);
                    }
                }
                InputBody::Approval { row, call_id, approved, reason } => {
                    let answer =
                        CallAnswer::Decided(Decision { approved: *approved, reason: reason.clone() });
                    let call = parked.iter_mut().filter(|waiting| waiting.row == *row && !waiting.client);
                    let mut calls = call.flat_map(|waiting| &mut waiting.calls);
                    match calls.find(|(id, known)| id == call_id && known.is_none()) {
                        Some((_, known)) => *known = Some((stored.input.id.clone(), answer)),
                        None => back.push(stored),
                    }
                }
                InputBody::ToolResult { row, call_id, output } => {
                    let answer = CallAnswer::Result(output.clone());
                    let call = parked.iter_mut().filter(|waiting| waiting.row == *row && waiting.client);
                    let mut calls = call.flat_map(|waiting| &mut waiting.calls);
                    match calls.find(|(id, known)| id == call_id && known.is_none()) {
                        Some((_, known)) => *known = Some((stored.input.id.clone(), answer)),
                        None => back.push(stored),
                    }
                }
            }
        }
        self.return_now(&back, ReturnReason::Interrupted, &mut out);
        if !parked.is_empty() {
            self.phase = Phase::Parked(parked);
        }
        self.resume_answered(&mut out);
        self.await_decision(&mut out);
        self.try_start(&mut out);
        self.publish(&mut out);
        out
    }

    /// Steers that wait were for a turn that is over: they are answered together, in one of their own.
    fn wait_again(&mut self, stored: StoredInput) {
        let steer = |stored: &StoredInput| {
            matches!(stored.input.body.known(), Some(InputBody::Message { queue: Queue::Steer, .. }))
        };
        match self.inbox.starts.back_mut() {
            Some(start) if steer(&stored) && start.inputs.iter().all(steer) => start.inputs.push(stored),
            _ => self.inbox.starts.push_back(Start { inputs: vec![stored], ticket: None }),
        }
    }
}
