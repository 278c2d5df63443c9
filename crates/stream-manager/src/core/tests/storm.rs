//! Anything, in any order.

use std::cell::RefCell;
use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};

use super::world::{Pending, World};
use super::*;

type Counts = BTreeMap<&'static str, u32>;

/// Numbers that decide what happens, until there are none left.
struct Choices<'a> {
    numbers: std::slice::Iter<'a, u16>,
    counts: &'a RefCell<Counts>,
}

impl Choices<'_> {
    fn below(&mut self, limit: usize) -> usize {
        usize::from(self.numbers.next().copied().unwrap_or(0)) % limit.max(1)
    }

    fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == of - 1
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        let at = self.below(from.len());
        from.get(at).cloned()
    }

    fn count(&self, what: &'static str) {
        *self.counts.borrow_mut().entry(what).or_default() += 1;
    }
}

/// What people and clocks do.
fn act(world: &mut World, choices: &mut Choices<'_>) {
    let status = world.status();
    let rows: Vec<RowId> = world.sealed.values().map(|terminal| terminal.row.clone()).collect();
    let live: Vec<RowId> = status.attempts.iter().map(|active| active.row.clone()).collect();
    match choices.below(100) {
        0..=44 => {
            let policies =
                [WhenLive::Steer, WhenLive::Steer, WhenLive::FollowUp, WhenLive::Reject, WhenLive::Interrupt];
            let mut when_live = policies[choices.below(5)];
            if when_live == WhenLive::Interrupt && !choices.one_in(3) {
                when_live = WhenLive::Steer;
            }
            let id =
                format!("i{}", if choices.one_in(6) { choices.below(20) } else { world.tickets as usize });
            let models: &[&str] =
                [&[][..], &["a"], &["a", "b"], &["a", "a"]][[0, 0, 0, 1, 2, 2, 3][choices.below(7)]];
            let input = message(&id, when_live).with_models(models.iter().copied());
            submit(world, input, when_live, None);
        }
        45..=52 => {
            let row =
                choices.pick(&live).or_else(|| choices.pick(&rows)).unwrap_or_else(|| RowId::from("none"));
            let body = if choices.one_in(2) {
                InputBody::Regenerate { row }
            } else {
                InputBody::Append { beside: row }
            };
            let models: &[&str] = [&[][..], &["c"], &["d"], &["a"]][choices.below(4)];
            let id = format!("r{}", world.tickets);
            submit(
                world,
                Input::new(id, body).with_models(models.iter().copied()),
                WhenLive::Steer,
                status.turn,
            );
        }
        53..=72 => answer(world, choices),
        73..=79 => {
            let turn = match choices.below(8) {
                0 => TurnId { epoch: 1, number: 1 },
                _ => status.turn.unwrap_or(TurnId { epoch: 9, number: 9 }),
            };
            let was_live = world.topic.live().is_some_and(|live| live.id == turn);
            count_stop(world, choices);
            let ticket = world.ticket();
            world.tell(Fact::Stop { ticket, turn });
            let still = world.topic.live().is_some_and(|live| live.id == turn);
            assert!(!was_live || !still || world.status().state == TopicState::Stopping);
        }
        80..=83 => {
            let row = choices.pick(&live).unwrap_or_else(|| RowId::from("none"));
            let ticket = world.ticket();
            world.tell(Fact::StopRow { ticket, row });
        }
        84..=86 => {
            let why = [StopWhy::ApprovalIdle, StopWhy::NoReaders][choices.below(2)];
            world.tell(Fact::Expired { why });
        }
        87..=90 => {
            let ids: Vec<_> = world.inputs.keys().cloned().collect();
            let input = choices.pick(&ids).unwrap_or_else(|| InputId::from("none"));
            let ticket = world.ticket();
            world.tell(Fact::Withdraw { ticket, input });
        }
        91..=93 => drop(world.tell(Fact::Paused)),
        94..=97 => drop(world.tell(Fact::Resumed)),
        98 if choices.one_in(8) => {
            choices.count("deleted");
            let ticket = world.ticket();
            world.tell(Fact::Delete { ticket });
        }
        99 if choices.one_in(8) => {
            if choices.one_in(2) {
                choices.count("shut down");
                world.tell(Fact::ShutDown);
            } else {
                choices.count("lost");
                world.tell(Fact::LeaseLost);
                for (_, task) in std::mem::take(&mut world.tasks) {
                    assert!(
                        task.cancelled || task.settling.is_some() || task.ended,
                        "what runs is cancelled"
                    );
                }
                world.pending.retain(|pending| matches!(pending, Pending::Accept { .. }));
            }
        }
        _ => {}
    }
}

fn count_stop(world: &World, choices: &Choices<'_>) {
    for slot in world.topic.live().into_iter().flat_map(|turn| &turn.slots) {
        choices.count(match slot.phase {
            SlotPhase::Beginning(_) => "stopped beginning",
            SlotPhase::Running => "stopped running",
            SlotPhase::Settling(_) => "stopped settling",
            SlotPhase::Blocked(_) => "stopped blocked",
            SlotPhase::Settled(_) => "stopped settled",
        });
    }
    if matches!(world.topic.phase, Phase::Parked(_)) {
        choices.count("stopped parked");
    }
}

fn submit(world: &mut World, input: Input, when_live: WhenLive, turn: Option<TurnId>) {
    let ticket = world.ticket();
    world.tell(Fact::Submitted { ticket, input, when_live, turn });
}

/// A person decides, or a client has a result.
fn answer(world: &mut World, choices: &mut Choices<'_>) {
    let Phase::Parked(parked) = &world.topic.phase else { return };
    let parked = choices.pick(parked).expect("a row that waits");
    let call_id = choices.pick(&parked.calls).map_or_else(|| Id::from("none"), |(call, _)| call);
    let row = parked.row;
    let client = parked.client ^ choices.one_in(12);
    let body = if client {
        InputBody::ToolResult { row, call_id, output: ToolOutput::Text("4".into()) }
    } else {
        InputBody::Approval { row, call_id, approved: !choices.one_in(8), reason: None }
    };
    submit(world, Input::new(format!("a{}", world.tickets), body), WhenLive::Steer, None);
}

/// One thing that is under way comes to an end, or goes a step further.
fn complete(world: &mut World, choices: &mut Choices<'_>, kind: bool) {
    let at = choices.below(world.pending.len());
    let Some(pending) = world.pending.get(at).cloned() else { return };
    let fails = |choices: &mut Choices<'_>, of: usize| !kind && choices.one_in(of);
    let fact = match &pending {
        Pending::Accept { ticket, input } => {
            world.pending.remove(at);
            let lost = fails(choices, 12);
            let result = if fails(choices, 12) {
                choices.count("not accepted");
                Err(NotAccepted::Refused(Refusal::NoSuchRow))
            } else if lost && choices.one_in(2) {
                Err(NotAccepted::Store(StoreErrorKind::Unavailable))
            } else {
                let accepted = world.write_down(input);
                if lost && !accepted.duplicate {
                    choices.count("accepted unheard");
                    world.unheard.insert(input.id.clone());
                    Err(NotAccepted::Store(StoreErrorKind::Unavailable))
                } else {
                    if accepted.duplicate && world.unheard.remove(&input.id) {
                        choices.count("heard again");
                    }
                    Ok(accepted)
                }
            };
            let fact = Fact::Accepted { ticket: *ticket, result };
            world.tell(fact.clone());
            fact
        }
        Pending::Begin(begin) => {
            world.pending.remove(at);
            let attempt = begin.id();
            if let BeginKind::Continue { .. } = begin.kind {
                choices.count("continued");
            }
            if fails(choices, 8) {
                choices.count("not begun");
                let why = [NotBegun::Failed, NotBegun::Refused(Refusal::NoSuchModel)][choices.below(2)];
                world.not_begin(begin, why);
                Fact::NotBegun { attempt, why }
            } else {
                let redirects = choices.one_in(3);
                world.begin(begin, redirects);
                Fact::Begun { attempt, redirects }
            }
        }
        Pending::Task(attempt) => return task(world, choices, *attempt, kind),
        Pending::Stored(settle) => {
            world.pending.remove(at);
            let attempt = settle.attempt;
            let fact =
                if fails(choices, 8) { Fact::Abandoned { attempt } } else { Fact::Persisted { attempt } };
            if let Fact::Persisted { .. } = fact {
                world.give_back(&settle.returned);
            }
            world.tell(fact.clone());
            fact
        }
        Pending::Return { inputs, why } => {
            world.pending.remove(at);
            let returned: Vec<_> = inputs.iter().map(|input| (input.clone(), *why)).collect();
            return world.give_back(&returned);
        }
        Pending::Repair(settle) => {
            world.pending.remove(at);
            return world.give_back(&settle.returned);
        }
    };
    again(world, choices, &fact);
}

fn task(world: &mut World, choices: &mut Choices<'_>, attempt: AttemptId, kind: bool) {
    let task = world.tasks[&attempt].clone();
    if !kind && choices.one_in(40) {
        choices.count("died");
        world.die(attempt);
        return again(world, choices, &Fact::Died { attempt });
    }
    if task.handed.is_some() && (!task.ended || task.settling.is_some()) && !choices.one_in(3) {
        if choices.one_in(4) {
            choices.count("handed back");
            world.hand_back(attempt);
        } else {
            choices.count(if task.ended { "taken up at the end" } else { "taken up" });
            world.take_up(attempt);
        }
        return;
    }
    if task.settling.is_some() {
        if kind || (!task.blocked && !choices.one_in(3)) || choices.one_in(2) {
            choices.count(if task.blocked { "recovered" } else { "persisted" });
            world.persist(attempt);
            again(world, choices, &Fact::Persisted { attempt });
        } else if task.last_try {
            choices.count("given up");
            world.abandon(attempt);
            again(world, choices, &Fact::Abandoned { attempt });
        } else if !task.blocked {
            choices.count("blocked");
            world.block(attempt);
            again(world, choices, &Fact::NotPersisted { attempt });
        }
        return;
    }
    if task.ended {
        return;
    }
    if !kind && choices.one_in(2) {
        world.tell(Fact::Spoke { attempt });
        return;
    }
    let calls: Vec<Id> = (0..1 + choices.below(2)).map(|call| Id::from(format!("c{call}"))).collect();
    let end = match choices.below(if task.cancelled { 3 } else { 11 }) {
        0..=1 if task.cancelled => End::Stopped,
        0 => End::Failed,
        1 => End::Limited,
        2 => End::Stopped,
        3..=5 => End::Awaiting { calls },
        6 => End::HandedOver { calls },
        _ => End::Complete,
    };
    choices.count(match &end {
        End::Complete => "complete",
        End::Awaiting { .. } => "awaiting",
        End::HandedOver { .. } => "handed over",
        End::Stopped => "stopped",
        End::Limited => "limited",
        End::Failed => "failed",
    });
    world.end(attempt, end.clone());
    again(world, choices, &Fact::Ended { attempt, end });
}

/// A fact that is told twice counts once.
fn again(world: &mut World, choices: &mut Choices<'_>, fact: &Fact) {
    // The one exception: a row that was to go on, or to wait, and does not, is ended by a second write of the attempt.
    let rewritten = |attempt: &AttemptId| {
        world.tasks.get(attempt).is_some_and(|task| task.settling.is_some())
            || world
                .pending
                .iter()
                .any(|other| matches!(other, Pending::Stored(it) if it.attempt == *attempt))
    };
    let rewritten = matches!(fact, Fact::Persisted { attempt } if rewritten(attempt));
    if rewritten || !choices.one_in(2) {
        return;
    }
    choices.count("told twice");
    let before = world.status();
    let reaction = world.topic.apply(fact.clone(), world.now);
    assert!(reaction.effects.is_empty() && reaction.events.is_empty(), "{fact:?} again: {reaction:?}");
    assert_eq!(world.status(), before);
}

/// Shuts down, lets everything come to its end, and looks at what is left.
fn finish(world: &mut World, choices: &mut Choices<'_>) {
    world.tell(Fact::ShutDown);
    let mut rounds = 0;
    while !world.pending.is_empty() {
        world.pending.rotate_left(1);
        complete(world, choices, true);
        rounds += 1;
        assert!(rounds < 10_000, "it does not come to an end: {:?}", world.pending);
    }
    let topic = &world.topic;
    assert!(topic.is_at_rest(), "{topic:?}");
    assert!(world.open.is_empty(), "nobody waits for a reply: {:?}", world.open);
    if world.published.is_none() || (topic.is_lost() && !world.deleted) {
        return;
    }
    assert_eq!(world.begun, world.sealed.keys().copied().collect(), "what began has an end");
    assert_eq!(topic.status().queued, 0);
    let parked: Vec<_> = match &topic.phase {
        Phase::Parked(rows) => rows.clone(),
        _ => Vec::new(),
    };
    for (id, (_, input, fate)) in &world.inputs {
        let told = world.told.get(id);
        match fate {
            Fate::Queued if world.deleted => {}
            Fate::Queued => {
                let waits = world.unheard.contains(id) || parked.iter().any(|row| row.holds(id));
                assert!(waits && told.is_none(), "{input:?} is neither used nor returned: {told:?}");
            }
            fate => assert_eq!(told, Some(fate), "{id}"),
        }
        if world.deleted && !world.unheard.contains(id) {
            assert!(told.is_some(), "{id} goes with the topic, and that is told");
        }
    }
    let chain = world.sealed.values().filter(|terminal| terminal.continues.is_some()).count();
    if chain >= 2 {
        choices.count("chains");
    }
}

fn storm(mut world: World, numbers: &[u16], counts: &RefCell<Counts>) {
    let mut choices = Choices { numbers: numbers.iter(), counts };
    while choices.numbers.len() > 0 && !world.topic.is_lost() {
        if choices.below(100) < 35 {
            act(&mut world, &mut choices);
        } else {
            complete(&mut world, &mut choices, false);
        }
    }
    if world.published.is_some() {
        finish(&mut world, &mut choices);
    }
}

/// [SM-1] [SM-2] [SM-3]
#[test]
fn every_attempt_input_and_question_comes_to_one_end() {
    let counts = RefCell::new(Counts::new());
    let cases = 2_000;
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let numbers = proptest::collection::vec(any::<u16>(), 400..1_600);
    let result = runner.run(&numbers, |numbers| {
        storm(World::new(), &numbers, &counts);
        Ok(())
    });
    match result {
        Ok(()) => {}
        // The smallest case, with what had happened.
        Err(TestError::Fail(_, numbers)) => storm(World::traced(), &numbers, &counts),
        Err(error) => panic!("{error}"),
    }
    let counts = counts.into_inner();
    for (what, least) in LEAST {
        let seen = counts.get(what).copied().unwrap_or_default();
        assert!(seen >= *least, "{what}: {seen} of at least {least}; {counts:?}");
    }
}

/// What the cases are about, and how often each comes at least: a third of what was seen.
const LEAST: &[(&str, u32)] = &[
    ("accepted unheard", 700),
    ("awaiting", 1300),
    ("blocked", 1000),
    ("chains", 8),
    ("complete", 1800),
    ("continued", 130),
    ("deleted", 70),
    ("died", 500),
    ("failed", 450),
    ("given up", 150),
    ("handed back", 60),
    ("handed over", 400),
    ("heard again", 35),
    ("limited", 400),
    ("lost", 35),
    ("not begun", 700),
    ("persisted", 5000),
    ("recovered", 800),
    ("shut down", 30),
    ("stopped", 2000),
    ("stopped beginning", 400),
    ("stopped blocked", 80),
    ("stopped parked", 500),
    ("stopped running", 700),
    ("stopped settled", 200),
    ("stopped settling", 450),
    ("taken up", 180),
    ("taken up at the end", 25),
    ("told twice", 5000),
];
