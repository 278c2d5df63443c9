//! Stops, holds, shutdowns and deletions.

use super::say::takes;
use super::world::{Pending, World};
use super::*;

/// [SM-20]
#[test]
fn a_stop_shows_at_once_gives_back_what_waits_and_is_told_once_durable() {
    let mut world = World::new();
    let attempt = world.start("question");
    world.say("steer", WhenLive::Steer);
    world.say("follow-up", WhenLive::FollowUp);
    let turn = world.turn();
    let stops = [world.stop(), world.stop()];
    assert!(world.tasks[&attempt].cancelled);
    assert_eq!((world.state(), world.heard(stops[0])), (TopicState::Stopping, None));
    world.end(attempt, End::Stopped);
    assert_eq!(world.heard(stops[0]), None);
    world.persist(attempt);
    for stop in stops {
        assert_eq!(world.stopped(stop), Some(vec!["steer", "follow-up"]));
    }
    assert_eq!((world.state(), world.returned("steer")), (TopicState::Stopped, Some(ReturnReason::Stopped)));

    let (over, never) = (world.ticket(), world.ticket());
    world.tell(Fact::Stop { ticket: over, turn });
    world.tell(Fact::Stop { ticket: never, turn: TurnId { epoch: 1, number: 9 } });
    assert_eq!(
        (world.refused(over), world.refused(never)),
        (Some(Refusal::NotLive), Some(Refusal::StaleTurn))
    );
}

/// [SM-21]
#[test]
fn a_stop_before_anything_begins_launches_nothing() {
    let mut world = World::new();
    let asked = world.say("question", WhenLive::Steer);
    let begin = world.plan();
    let stop = world.stop();
    world.not_begin(&begin, NotBegun::Failed);
    assert!(matches!(world.heard(asked), Some(Reply::NotStarted { why: ReturnReason::Stopped })));
    assert_eq!(world.stopped(stop), Some(vec!["question"]));
    assert_eq!((world.state(), world.begun.len()), (TopicState::Stopped, 0));
}

/// [SM-21]
#[test]
fn a_stop_between_an_attempt_and_the_next_ends_the_row_and_gives_back_what_it_was_to_answer() {
    let mut world = World::new();
    let attempt = world.start("question");
    world.say("one", WhenLive::Steer);
    world.complete(attempt);
    let begin = world.plan();
    world.say("two", WhenLive::Steer);
    let stop = world.stop();
    world.not_begin(&begin, NotBegun::Failed);
    assert_eq!(world.settling(attempt), Some(RowStatus::Stopped));
    world.persist(attempt);
    assert_eq!(world.stopped(stop), Some(vec!["one", "two"]));
    assert_eq!(world.sealed[&attempt].continues, None);
}

/// [SM-22]
#[test]
fn what_is_said_while_a_stop_is_under_way_is_answered_afterwards() {
    let mut world = World::new();
    let attempt = world.start("question");
    let stop = world.stop();
    world.say("next", WhenLive::Steer);
    world.end(attempt, End::Stopped);
    world.persist(attempt);
    assert_eq!(world.stopped(stop), Some(vec![]));
    assert_eq!(takes(&world.plan()), ["next"]);
}

/// [SM-22]
#[test]
fn a_turn_is_interrupted_for_another_also_one_that_waits() {
    let mut world = World::new();
    let attempt = world.start("question");
    world.say("steer", WhenLive::Steer);
    world.say("instead", WhenLive::Interrupt);
    world.end(attempt, End::Stopped);
    world.persist(attempt);
    assert_eq!(
        (takes(&world.plan()), world.returned("steer")),
        (vec!["instead".into()], Some(ReturnReason::Stopped))
    );

    let mut world = World::new();
    world.park("question", &["call"], false);
    world.say("instead", WhenLive::Interrupt);
    assert_eq!(world.stored().status, RowStatus::Stopped);
    assert_eq!(takes(&world.plan()), ["instead"]);
}

/// [SM-23]
#[test]
fn a_stopped_turn_is_stopped_although_one_of_its_answers_was_complete() {
    let mut world = World::new();
    let attempts = world.start_beside("question", &["a", "b"]);
    world.complete(attempts[0]);
    world.stop();
    world.end(attempts[1], End::Stopped);
    world.persist(attempts[1]);
    assert_eq!((world.state(), world.status().last_completed_at), (TopicState::Stopped, None));
    assert_eq!(world.sealed[&attempts[0]].status, RowStatus::Complete);
}

/// [SM-23]
#[test]
fn one_row_is_stopped_alone_also_one_that_is_about_to_go_on() {
    let mut world = World::new();
    let attempts = world.start_beside("question", &["a", "b"]);
    let ticket = world.ticket();
    world.tell(Fact::StopRow { ticket, row: super::say::row(attempts[0]) });
    assert!(world.tasks[&attempts[0]].cancelled && !world.tasks[&attempts[1]].cancelled);
    assert_eq!(world.heard(ticket), Some(&Reply::Done));
    world.end(attempts[0], End::Stopped);
    world.persist(attempts[0]);
    world.complete(attempts[1]);
    assert_eq!(world.state(), TopicState::Done);

    let mut world = World::new();
    let attempt = world.start("question");
    world.say("more", WhenLive::Steer);
    world.end(attempt, End::Complete);
    let ticket = world.ticket();
    world.tell(Fact::StopRow { ticket, row: super::say::row(attempt) });
    world.persist(attempt);
    assert_eq!(world.settling(attempt), Some(RowStatus::Stopped));
    world.persist(attempt);
    assert_eq!(world.stopped(ticket), Some(vec!["more"]));
}

/// [SM-23]
#[test]
fn a_row_that_is_about_to_go_on_is_stopped_alone_too() {
    let mut world = World::new();
    let attempt = world.start("question");
    world.say("more", WhenLive::Steer);
    world.end(attempt, End::Complete);
    world.append(attempt, "b");
    world.accept();
    let beside = world.run();
    let ticket = world.ticket();
    world.tell(Fact::StopRow { ticket, row: super::say::row(attempt) });
    world.persist(attempt);
    assert_eq!(world.settling(attempt), Some(RowStatus::Stopped));
    world.persist(attempt);
    world.complete(beside);
    assert_eq!(takes(&world.plan()), ["more"], "the turn was not stopped");
}

/// [SM-24]
#[test]
fn while_a_hold_stands_no_turn_begins_and_nobody_is_asked_to_yield() {
    let mut world = World::new();
    let attempt = world.start("question");
    world.tell(Fact::Paused);
    world.submit(message("steer", WhenLive::Steer), WhenLive::Steer);
    assert!(!world.accept().contains(&Effect::Yield { attempt }));
    world.complete(attempt);
    assert!(world.pending.is_empty());
    assert_eq!((world.state(), world.status().queued), (TopicState::Done, 1));
    world.tell(Fact::Resumed);
    assert_eq!(takes(&world.plan()), ["steer"]);
}

/// [SM-25]
#[test]
fn a_shutdown_interrupts_what_runs_and_returns_what_waits_also_behind_a_stop() {
    let mut world = World::new();
    let attempt = world.start("question");
    let stop = world.stop();
    world.say("behind the stop", WhenLive::Steer);
    let refused = world.submit(message("coming", WhenLive::Steer), WhenLive::Steer);
    world.tell(Fact::ShutDown);
    world.accept();
    assert_eq!(world.refused(refused), Some(Refusal::NotAdmitting));
    for id in ["behind the stop", "coming"] {
        assert_eq!(world.returned(id), Some(ReturnReason::ShutDown), "{id}");
    }
    world.end(attempt, End::Stopped);
    world.persist(attempt);
    assert_eq!(world.stopped(stop), Some(vec![]));

    let mut world = World::new();
    let attempt = world.start("question");
    world.tell(Fact::ShutDown);
    world.end(attempt, End::Stopped);
    assert_eq!(world.settling(attempt), Some(RowStatus::Interrupted));
    world.persist(attempt);
    assert!(world.topic.is_at_rest());
}

/// [SM-25]
#[test]
fn a_row_that_waits_for_a_person_does_so_beyond_a_shutdown() {
    let mut world = World::new();
    let attempts = world.start_beside("question", &["a", "b"]);
    world.end(attempts[0], End::Awaiting { calls: vec![Id::from("call")] });
    world.persist(attempts[0]);
    world.tell(Fact::ShutDown);
    world.end(attempts[1], End::Stopped);
    world.persist(attempts[1]);
    assert_eq!((world.state(), world.pending.len()), (TopicState::AwaitingApproval, 0));
}

/// [SM-26]
#[test]
fn a_topic_is_deleted_once_nothing_runs_or_is_written_and_tells_of_all_that_goes_with_it() {
    let mut world = World::new();
    let attempt = world.start("question");
    world.stop();
    world.say("behind the stop", WhenLive::Steer);
    world.submit(message("being written", WhenLive::Steer), WhenLive::Steer);
    let unwritten = world.submit(message("unwritten", WhenLive::Steer), WhenLive::Steer);
    let delete = world.ticket();
    world.tell(Fact::Delete { ticket: delete });
    assert_eq!(world.refused(unwritten), Some(Refusal::NotAdmitting));
    world.end(attempt, End::Stopped);
    world.persist(attempt);
    assert!(!world.deleted, "one input is still being written");
    world.accept();
    assert!(world.deleted);
    for id in ["behind the stop", "being written"] {
        assert_eq!(world.returned(id), Some(ReturnReason::Deleted), "{id}");
    }
}

/// [SM-27]
#[test]
fn a_topic_that_has_another_owner_cancels_what_runs_and_lets_nobody_wait() {
    let mut world = World::new();
    let attempt = world.start("question");
    let (stop, coming) = (world.stop(), world.submit(message("coming", WhenLive::Steer), WhenLive::Steer));
    world.tell(Fact::LeaseLost);
    assert!(world.tasks[&attempt].cancelled);
    for ticket in [stop, coming] {
        assert_eq!(world.heard(ticket), Some(&Reply::NotOwner));
    }
    let late = world.tell(Fact::Ended { attempt, end: End::Complete });
    assert!(late.is_empty());
    assert_eq!(world.topic.stale(), 1);
    assert!(!world.pending.iter().any(|pending| matches!(pending, Pending::Stored(_))));
}
