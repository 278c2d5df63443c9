//! Ends that cannot be written, tasks that die, and what an owner finds.

use super::say::takes;
use super::world::World;
use super::*;
use crate::core::{Found, ParkedRow};

/// [SM-30]
#[test]
fn an_end_that_cannot_be_written_stays_what_it_was_and_what_waits_is_answered_afterwards() {
    let mut world = World::new();
    let attempt = world.start("question");
    world.end(attempt, End::Complete);
    world.block(attempt);
    assert!(world.events.contains(&Event::Blocked { attempt }));
    world.say("meanwhile", WhenLive::Steer);
    assert!(world.state().is_live() && world.sealed.is_empty());
    world.persist(attempt);
    assert_eq!(world.sealed[&attempt].status, RowStatus::Complete);
    assert_eq!(takes(&world.plan()), ["meanwhile"]);
}

/// [SM-31]
#[test]
fn a_stop_has_a_blocked_end_written_once_more_and_then_given_up() {
    for given_up in [true, false] {
        let mut world = World::new();
        let attempt = world.start("question");
        world.end(attempt, End::Complete);
        world.block(attempt);
        let stop = world.stop();
        assert!(world.tasks[&attempt].last_try);
        if given_up {
            world.abandon(attempt);
        } else {
            world.persist(attempt);
        }
        assert_eq!(world.stopped(stop), Some(vec![]));
        let status = if given_up { RowStatus::Failed } else { RowStatus::Complete };
        assert_eq!(world.sealed[&attempt].status, status);
        assert_eq!(
            world.pending.len(),
            usize::from(given_up),
            "a row that was given up is ended in the background"
        );
    }
}

/// [SM-31]
#[test]
fn what_waits_goes_back_if_an_end_is_given_up_without_a_stop() {
    let mut world = World::new();
    let attempt = world.start("question");
    world.say("more", WhenLive::Steer);
    world.end(attempt, End::Complete);
    world.abandon(attempt);
    assert_eq!(world.returned("more"), Some(ReturnReason::Failed));
    assert_eq!(world.state(), TopicState::Failed);
}

/// [SM-32]
#[test]
fn a_task_that_dies_fails_its_row_once() {
    let mut world = World::new();
    let attempt = world.start("question");
    world.say("more", WhenLive::Steer);
    world.die(attempt);
    assert!(world.tell(Fact::Died { attempt }).is_empty());
    let settle = world.stored();
    assert_eq!((settle.status, world.state()), (RowStatus::Failed, TopicState::Failed));
    assert_eq!(world.returned("more"), Some(ReturnReason::Failed));
}

/// [SM-32]
#[test]
fn a_row_is_ended_although_the_task_before_died_and_the_next_does_not_begin() {
    let mut world = World::new();
    let attempt = world.start("question");
    world.say("more", WhenLive::Steer);
    world.complete(attempt);
    let begin = world.plan();
    world.die(attempt);
    world.not_begin(&begin, NotBegun::Failed);
    assert_eq!(world.stored().status, RowStatus::Failed);
    assert_eq!(
        (world.returned("more"), world.state()),
        (Some(ReturnReason::LaunchFailed), TopicState::Failed)
    );
}

/// [SM-33]
#[test]
fn decisions_resume_a_row_once_all_are_there_and_what_is_said_meanwhile_waits() {
    let mut world = World::new();
    let first = world.park("question", &["a", "b"], false);
    world.say("meanwhile", WhenLive::Steer);
    assert_eq!((world.state(), world.status().queued), (TopicState::AwaitingApproval, 1));
    let yes = world.decide(first, "a", true);
    let (again, no) = (world.decide(first, "a", true), world.decide(first, "a", false));
    assert!(matches!(world.heard(yes), Some(Reply::Accepted { duplicate: false, .. })));
    assert!(matches!(world.heard(again), Some(Reply::Accepted { duplicate: true, .. })));
    assert_eq!(world.refused(no), Some(Refusal::AlreadyDecided));
    let (result, unknown) = (world.hand_in(first, "b"), world.decide(first, "c", true));
    assert_eq!(
        (world.refused(result), world.refused(unknown)),
        (Some(Refusal::NoSuchCall), Some(Refusal::NoSuchCall))
    );

    let turn = world.turn();
    world.decide(first, "b", false);
    let begin = world.plan();
    assert_eq!((begin.turn, begin.attempts[0].row.clone()), (turn, super::say::row(first)));
    assert!(
        matches!(&begin.kind, BeginKind::Resume { from, answers, .. } if *from == first && answers.len() == 2)
    );
    world.not_begin(&begin, NotBegun::Failed);
    assert_eq!(world.state(), TopicState::AwaitingApproval, "it waits as before, for other answers");

    world.decide(first, "a", true);
    world.decide(first, "b", true);
    let second = world.plan();
    world.begin(&second, false);
    world.complete(second.id());
    assert_eq!(takes(&world.plan()), ["meanwhile"], "in a turn of its own");
    let late = world.decide(first, "a", true);
    assert_eq!(world.refused(late), Some(Refusal::NoSuchCall));
}

/// [SM-34]
#[test]
fn a_row_that_waits_is_stopped_by_name_and_by_time_and_closed_for_what_the_client_says_instead() {
    let mut world = World::new();
    let attempt = world.park("question", &["a"], false);
    world.say("meanwhile", WhenLive::Steer);
    let stop = world.stop();
    assert_eq!(world.state(), TopicState::Stopping);
    assert_eq!(world.stored().status, RowStatus::Stopped);
    assert_eq!(world.stopped(stop), Some(vec!["meanwhile"]));
    assert_eq!(world.sealed[&attempt].status, RowStatus::AwaitingApproval, "its log had its end before");

    let mut world = World::new();
    world.park("question", &["a"], false);
    world.tell(Fact::Expired { why: StopWhy::ApprovalIdle });
    assert_eq!((world.stored().status, world.state()), (RowStatus::Stopped, TopicState::Stopped));

    let mut world = World::new();
    let attempt = world.park("question", &["a", "b"], true);
    world.hand_in(attempt, "a");
    world.say("instead", WhenLive::Steer);
    assert_eq!(world.stored().status, RowStatus::Complete);
    assert_eq!(
        (takes(&world.plan()), world.returned("answer-1")),
        (vec!["instead".into()], Some(ReturnReason::Stale))
    );
}

fn found(world: &mut World, answer: bool) -> Found {
    let mut queued = Vec::new();
    for (id, queue) in [("one", WhenLive::Steer), ("two", WhenLive::Steer), ("three", WhenLive::FollowUp)] {
        let input = message(id, queue);
        let seq = world.write_down(&input).seq;
        queued.push(StoredInput::queued(seq, input, 1));
    }
    Found { queued, answer, ..Found::default() }
}

/// [SM-35]
#[test]
fn what_an_owner_finds_goes_back_or_is_answered_and_a_hold_stands() {
    let mut world = World::new();
    let left = found(&mut world, false);
    let out = world.topic.recover(left);
    let back: Vec<_> = ["one", "two", "three"].map(InputId::from).into();
    assert!(out.effects.contains(&Effect::Return { inputs: back, why: ReturnReason::Interrupted }));

    for paused in [false, true] {
        let mut world = World::new();
        if paused {
            world.tell(Fact::Paused);
        }
        let left = found(&mut world, true);
        let mut out = world.topic.recover(left);
        if paused {
            assert!(!out.effects.iter().any(|effect| matches!(effect, Effect::Begin(_))));
            out = world.topic.apply(Fact::Resumed, 1);
        }
        let begun = out.effects.iter().find_map(|effect| match effect {
            Effect::Begin(begin) => Some(takes(begin)),
            _ => None,
        });
        assert_eq!(begun, Some(vec!["one".into(), "two".into()]), "steers together, the rest afterwards");
        assert_eq!(world.status().queued, 1);
    }
}

/// [SM-35]
#[test]
fn a_decision_that_an_owner_finds_resumes_its_row() {
    let mut world = World::new();
    let (row, attempt) = (RowId::from("row"), AttemptId { epoch: 0, number: 4 });
    let call_id = Id::from("call");
    let body =
        InputBody::Approval { row: row.clone(), call_id: call_id.clone(), approved: true, reason: None };
    let turn = TurnId { epoch: 0, number: 3 };
    let parked = ParkedRow { row, turn, model: None, attempt, client: false, calls: vec![(call_id, None)] };
    let queued = vec![StoredInput::queued(1, Input::new("yes", body), 1)];
    let out = world.topic.recover(Found { parked: vec![parked], queued, ..Found::default() });
    let resumed = out.effects.iter().find_map(|effect| match effect {
        Effect::Begin(begin) => Some((begin.turn, takes(begin))),
        _ => None,
    });
    assert_eq!(resumed, Some((turn, vec!["yes".into()])));
}
