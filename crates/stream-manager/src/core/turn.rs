use ai_provider::Id;

use super::fact::{StopWhy, Ticket};
use crate::record::{AttemptId, Input, InputId, ReturnReason, RowId, RowStatus, StoredInput, TurnId};
use crate::source::CallAnswer;

/// A turn under way.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub(super) id: TurnId,
    /// One for each model, in the order in which they are shown.
    pub(super) slots: Vec<Slot>,
    /// Set for good once the turn is to end.
    pub(super) stop: Option<StopWhy>,
    /// Who waits for the stop to be durable.
    pub(super) waiting: Vec<Ticket>,
    /// What the stop gave back.
    pub(super) returned: Vec<Input>,
    /// What goes back with the next settlement, and why.
    pub(super) returning: Vec<(InputId, ReturnReason)>,
}

impl Turn {
    pub(super) fn new(id: TurnId, slots: Vec<Slot>) -> Self {
        Self { id, slots, stop: None, waiting: Vec::new(), returned: Vec::new(), returning: Vec::new() }
    }

    pub(super) fn slot(&mut self, attempt: AttemptId) -> Option<&mut Slot> {
        self.slots.iter_mut().find(|slot| slot.attempt == attempt)
    }

    pub(super) fn is_settled(&self) -> bool {
        self.slots.iter().all(|slot| matches!(slot.phase, SlotPhase::Settled(_)))
    }

    /// Whether no attempt can say anything any more.
    pub(super) fn is_silent(&self) -> bool {
        self.slots.iter().all(|slot| !slot.is_running())
    }

    pub(super) fn has_failed(&self) -> bool {
        self.endings().any(|ending| ending.status == RowStatus::Failed)
    }

    /// Whether it was cut as a whole: by limits of time, or row by row.
    pub(super) fn is_cut(&self) -> bool {
        !self.slots.is_empty() && self.slots.iter().all(|slot| slot.ending().is_some_and(Ending::is_cut))
    }

    /// Why what waits goes back although nobody stopped the turn: it has said all it will, and that is no answer.
    pub(super) fn gives_back(&self) -> Option<ReturnReason> {
        if self.stop.is_some() || !self.is_silent() {
            return None;
        }
        let failed = self.endings().any(|ending| ending.status == RowStatus::Failed && !ending.limited);
        if failed {
            Some(ReturnReason::Failed)
        } else if self.has_failed() {
            Some(ReturnReason::StopCondition)
        } else {
            self.is_cut().then_some(ReturnReason::Stopped)
        }
    }

    fn endings(&self) -> impl Iterator<Item = &Ending> {
        self.slots.iter().filter_map(Slot::ending)
    }
}

/// One answer of a turn.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) row: RowId,
    pub(super) model: Option<String>,
    pub(super) attempt: AttemptId,
    /// The attempts before it in the same row and turn.
    pub(super) earlier: Vec<AttemptId>,
    pub(super) phase: SlotPhase,
    /// Whether a model has said anything in it.
    pub(super) spoke: bool,
    /// Whether its driver takes input up in the middle.
    pub(super) redirects: bool,
    /// Set once it alone is to end.
    pub(super) stop: Option<StopWhy>,
    /// Whether the end of this attempt was shown.
    pub(super) sealed: bool,
    /// Whether its task is gone.
    pub(super) orphaned: bool,
}

impl Slot {
    pub(super) fn new(row: RowId, model: Option<String>, attempt: AttemptId, starting: Starting) -> Self {
        let phase = SlotPhase::Beginning(Box::new(starting));
        let earlier = Vec::new();
        Self {
            row,
            model,
            attempt,
            earlier,
            phase,
            spoke: false,
            redirects: false,
            stop: None,
            sealed: false,
            orphaned: false,
        }
    }

    /// What it begins with, if it is one of this group and has not begun.
    pub(super) fn starting(&self, group: AttemptId) -> Option<&Starting> {
        match &self.phase {
            SlotPhase::Beginning(starting) if starting.group == group => Some(starting),
            _ => None,
        }
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.phase, SlotPhase::Beginning(_) | SlotPhase::Running)
    }

    /// Whether it goes on, as far as is known, once its end is written.
    pub(super) fn yields(&self) -> bool {
        !matches!(self.phase, SlotPhase::Settled(_))
            && self.ending().is_some_and(|ending| ending.status == RowStatus::Open)
    }

    /// Whether an input is on its way into the row, or back to its sender.
    pub(super) fn holds(&self, id: &InputId) -> bool {
        match &self.phase {
            SlotPhase::Beginning(starting) => {
                starting.inputs.iter().any(|stored| stored.input.id == *id)
                    || starting.parked.as_ref().is_some_and(|parked| parked.holds(id))
            }
            _ => self.ending().is_some_and(|ending| ending.returned.iter().any(|(known, _)| known == id)),
        }
    }

    pub(super) fn ending(&self) -> Option<&Ending> {
        match &self.phase {
            SlotPhase::Settling(ending) | SlotPhase::Blocked(ending) | SlotPhase::Settled(ending) => {
                Some(ending)
            }
            SlotPhase::Beginning(_) | SlotPhase::Running => None,
        }
    }
}

/// How far an attempt is. It only ever moves down this list, but for a settled one that another attempt continues.
#[derive(Clone, Debug)]
pub(super) enum SlotPhase {
    /// Its rows are being opened.
    Beginning(Box<Starting>),
    /// It runs.
    Running,
    /// It is over; its end is being written. The end is chosen once.
    Settling(Ending),
    /// Its end could not be written; it is tried again. The end stays what it was.
    Blocked(Ending),
    /// Its end is durable, or given up.
    Settled(Ending),
}

/// What an attempt begins with.
#[derive(Clone, Debug)]
pub(super) struct Starting {
    /// The first of those that begin together, and begin or do not begin as one.
    pub(super) group: AttemptId,
    /// What it takes from the inbox.
    pub(super) inputs: Vec<StoredInput>,
    /// Who waits to hear whether it begins.
    pub(super) ticket: Option<(Ticket, u64)>,
    /// The attempt it continues, if it goes on in the same row.
    pub(super) continues: Option<AttemptId>,
    /// The row it was, if it waited for answers.
    pub(super) parked: Option<ParkedRow>,
    /// The slot it takes the place of.
    pub(super) replaces: Option<Box<Slot>>,
    /// Whether the task of the attempt it continues is gone.
    pub(super) orphaned: bool,
}

impl Starting {
    pub(super) fn new(group: AttemptId) -> Self {
        Self {
            group,
            inputs: Vec::new(),
            ticket: None,
            continues: None,
            parked: None,
            replaces: None,
            orphaned: false,
        }
    }
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) status: RowStatus,
    /// Calls that wait for an answer, and whether it is the client's.
    pub(super) waits: Option<Waits>,
    /// What goes back to its senders with it.
    pub(super) returned: Vec<(InputId, ReturnReason)>,
    /// Whether it failed by a limit of the run.
    pub(super) limited: bool,
}

impl Ending {
    pub(super) fn new(status: RowStatus) -> Self {
        Self { status, waits: None, returned: Vec::new(), limited: false }
    }

    fn is_cut(&self) -> bool {
        matches!(self.status, RowStatus::Stopped | RowStatus::Interrupted)
    }
}

/// What a row waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Waits {
    pub(super) calls: Vec<Id>,
    /// Whether the client runs the calls: then a new message does not wait for them.
    pub(super) client: bool,
}

/// A row that waits for answers.
#[derive(Clone, Debug)]
pub(crate) struct ParkedRow {
    pub(crate) row: RowId,
    pub(crate) turn: TurnId,
    pub(crate) model: Option<String>,
    pub(crate) attempt: AttemptId,
    pub(crate) client: bool,
    /// The calls, with what was said of them and in which input.
    pub(crate) calls: Vec<(Id, Option<(InputId, CallAnswer)>)>,
}

impl ParkedRow {
    pub(super) fn holds(&self, id: &InputId) -> bool {
        self.calls.iter().any(|(_, answer)| answer.as_ref().is_some_and(|(known, _)| known == id))
    }

    pub(super) fn is_answered(&self) -> bool {
        self.calls.iter().all(|(_, answer)| answer.is_some())
    }
}
