//! Short words for what happens in the world.

use super::world::{Pending, World};
use super::*;

impl World {
    pub(super) fn submit(&mut self, input: Input, when_live: WhenLive) -> Ticket {
        let ticket = self.ticket();
        self.tell(Fact::Submitted { ticket, input, when_live, turn: None });
        ticket
    }

    /// The input that is being written is written.
    pub(super) fn accept(&mut self) -> Vec<Effect> {
        let at = self
            .pending
            .iter()
            .position(|pending| matches!(pending, Pending::Accept { .. }))
            .expect("an input");
        let Pending::Accept { ticket, input } = self.pending.remove(at) else { panic!("an input") };
        let result = Ok(self.write_down(&input));
        self.tell(Fact::Accepted { ticket, result })
    }

    pub(super) fn say(&mut self, id: &str, when_live: WhenLive) -> Ticket {
        let ticket = self.submit(message(id, when_live), when_live);
        self.accept();
        ticket
    }

    /// What is to begin.
    pub(super) fn plan(&mut self) -> Begin {
        let at = self
            .pending
            .iter()
            .position(|pending| matches!(pending, Pending::Begin(_)))
            .expect("a beginning");
        let Pending::Begin(begin) = self.pending.remove(at) else { panic!("a beginning") };
        begin
    }

    /// Begins what is to begin.
    pub(super) fn run(&mut self) -> AttemptId {
        let begin = self.plan();
        self.begin(&begin, false);
        begin.id()
    }

    /// A turn that runs.
    pub(super) fn start(&mut self, id: &str) -> AttemptId {
        self.say(id, WhenLive::Steer);
        self.run()
    }

    /// A turn whose driver takes input up.
    pub(super) fn start_driven(&mut self, id: &str) -> AttemptId {
        self.say(id, WhenLive::Steer);
        let begin = self.plan();
        self.begin(&begin, true);
        begin.id()
    }

    /// A turn of models side by side.
    pub(super) fn start_beside(&mut self, id: &str, models: &[&str]) -> Vec<AttemptId> {
        self.submit(message(id, WhenLive::Steer).with_models(models.iter().copied()), WhenLive::Steer);
        self.accept();
        let begin = self.plan();
        self.begin(&begin, false);
        begin.attempts.iter().map(|planned| planned.attempt).collect()
    }

    /// A turn that waits for a person, or for the client.
    pub(super) fn park(&mut self, id: &str, calls: &[&str], client: bool) -> AttemptId {
        let attempt = self.start(id);
        let calls = calls.iter().map(|call| Id::from(*call)).collect();
        self.end(attempt, if client { End::HandedOver { calls } } else { End::Awaiting { calls } });
        self.persist(attempt);
        attempt
    }

    pub(super) fn complete(&mut self, attempt: AttemptId) -> Vec<Effect> {
        self.end(attempt, End::Complete);
        self.persist(attempt)
    }

    pub(super) fn decide(&mut self, attempt: AttemptId, call: &str, approved: bool) -> Ticket {
        let body = InputBody::Approval { row: row(attempt), call_id: Id::from(call), approved, reason: None };
        self.respond(body)
    }

    pub(super) fn hand_in(&mut self, attempt: AttemptId, call: &str) -> Ticket {
        let output = ToolOutput::Text("4".into());
        self.respond(InputBody::ToolResult { row: row(attempt), call_id: Id::from(call), output })
    }

    fn respond(&mut self, body: InputBody) -> Ticket {
        let id = format!("answer-{}", self.tickets);
        let ticket = self.submit(Input::new(id, body), WhenLive::Steer);
        if self.pending.iter().any(|pending| matches!(pending, Pending::Accept { .. })) {
            self.accept();
        }
        ticket
    }

    pub(super) fn append(&mut self, beside: AttemptId, model: &str) -> Ticket {
        let id = format!("append-{}", self.tickets);
        let body = InputBody::Append { beside: row(beside) };
        self.submit(Input::new(id, body).with_models([model]), WhenLive::Steer)
    }

    pub(super) fn stop(&mut self) -> Ticket {
        let (ticket, turn) = (self.ticket(), self.turn());
        self.tell(Fact::Stop { ticket, turn });
        ticket
    }

    pub(super) fn turn(&self) -> TurnId {
        self.status().turn.expect("a turn")
    }

    pub(super) fn state(&self) -> TopicState {
        self.status().state
    }

    /// The reply, if there is one by now.
    pub(super) fn heard(&self, ticket: Ticket) -> Option<&Reply> {
        self.replies.get(&ticket)
    }

    pub(super) fn refused(&self, ticket: Ticket) -> Option<Refusal> {
        match self.heard(ticket) {
            Some(Reply::Refused { why }) => Some(*why),
            _ => None,
        }
    }

    /// The ids of what a stop gave back.
    pub(super) fn stopped(&self, ticket: Ticket) -> Option<Vec<&str>> {
        match self.heard(ticket) {
            Some(Reply::Stopped { returned }) => {
                Some(returned.iter().map(|input| input.id.as_str()).collect())
            }
            _ => None,
        }
    }

    /// Why an input went back.
    pub(super) fn returned(&self, id: &str) -> Option<ReturnReason> {
        match self.told.get(&InputId::from(id)) {
            Some(Fate::Returned { why }) => Some(*why),
            _ => None,
        }
    }

    /// The attempt that consumed an input.
    pub(super) fn consumed(&self, id: &str) -> Option<AttemptId> {
        match self.told.get(&InputId::from(id)) {
            Some(Fate::Consumed { attempt, .. }) => Some(*attempt),
            _ => None,
        }
    }

    /// What an attempt is to write as its end.
    pub(super) fn settling(&self, attempt: AttemptId) -> Option<RowStatus> {
        Some(self.tasks.get(&attempt)?.settling.as_ref()?.status)
    }

    /// The row that is settled by no task.
    pub(super) fn stored(&mut self) -> Settle {
        let at =
            self.pending.iter().position(|pending| matches!(pending, Pending::Stored(_))).expect("a row");
        let Pending::Stored(settle) = self.pending.remove(at) else { panic!("a row") };
        self.give_back(&settle.returned);
        self.tell(Fact::Persisted { attempt: settle.attempt });
        settle
    }
}

/// The row that an attempt began.
pub(super) fn row(attempt: AttemptId) -> RowId {
    RowId::from(format!("msg-{attempt}"))
}

/// The inputs that a beginning takes.
pub(super) fn takes(begin: &Begin) -> Vec<String> {
    begin.kind.inputs().iter().map(ToString::to_string).collect()
}
