//! Turns that begin, run and end.

use super::say::{row, takes};
use super::world::{Pending, World};
use super::*;

/// [SM-10]
#[test]
fn a_turn_is_pending_then_streaming_then_done_and_only_done_is_a_completion() {
    let mut world = World::new();
    let ticket = world.say("question", WhenLive::Steer);
    assert_eq!(
        (world.state(), world.heard(ticket)),
        (TopicState::Pending, None),
        "it hears once the turn has begun"
    );
    let attempt = world.run();
    assert!(matches!(world.heard(ticket), Some(Reply::Accepted { seq: 1, turn: Some(_), duplicate: false })));
    world.tell(Fact::Spoke { attempt });
    assert_eq!(world.state(), TopicState::Streaming);
    world.complete(attempt);
    let status = world.status();
    let done_at = status.last_completed_at.expect("a completion");
    assert_eq!((status.state, status.attempts.len()), (TopicState::Done, 1));

    let attempt = world.start("again");
    world.end(attempt, End::Failed);
    world.persist(attempt);
    assert_eq!((world.state(), world.status().last_completed_at), (TopicState::Failed, Some(done_at)));
    // A clock that is set back still gives a later time.
    world.now = 0;
    let attempt = world.start("third");
    world.complete(attempt);
    assert!(world.status().last_completed_at > Some(done_at));
}

/// [SM-11]
#[test]
fn inputs_are_written_down_one_at_a_time_and_a_refused_one_holds_up_nobody() {
    let mut world = World::new();
    let first = world.submit(message("one", WhenLive::Steer), WhenLive::Steer);
    world.submit(message("two", WhenLive::Steer), WhenLive::Steer);
    world.pending.clear();
    let why = NotAccepted::Store(StoreErrorKind::Full);
    let effects = world.tell(Fact::Accepted { ticket: first, result: Err(why) });
    assert!(
        matches!(&effects[..], [Effect::Accept { input, .. }, Effect::Reply { .. }] if input.id.as_str() == "two")
    );
    assert_eq!(world.refused(first), Some(Refusal::StoreBlocked));
    world.accept();
    assert_eq!(takes(&world.plan()), ["two"]);
}

/// [SM-11] [SM-12]
#[test]
fn an_input_sent_again_is_answered_once_also_where_the_topic_had_not_heard_of_it() {
    let mut world = World::new();
    let attempt = world.start("question");
    let again = world.say("question", WhenLive::Steer);
    assert!(matches!(world.heard(again), Some(Reply::Accepted { seq: 1, duplicate: true, .. })));

    let unheard = world.submit(message("unheard", WhenLive::FollowUp), WhenLive::FollowUp);
    world.write_down(&message("unheard", WhenLive::FollowUp));
    world.pending.retain(|pending| !matches!(pending, Pending::Accept { .. }));
    let result = Err(NotAccepted::Store(StoreErrorKind::Unavailable));
    world.tell(Fact::Accepted { ticket: unheard, result });
    let again = world.say("unheard", WhenLive::FollowUp);
    assert!(matches!(world.heard(again), Some(Reply::Accepted { duplicate: false, .. })));
    world.complete(attempt);
    assert_eq!(takes(&world.plan()), ["unheard"]);
}

/// [SM-12]
#[test]
fn an_input_that_is_on_its_way_back_is_not_taken_again() {
    let mut world = World::new();
    world.start("question");
    world.say("steer", WhenLive::Steer);
    let ticket = world.ticket();
    world.tell(Fact::Withdraw { ticket, input: "steer".into() });
    // The store has not heard yet that it goes back.
    let again = world.say("steer", WhenLive::Steer);
    assert!(matches!(world.heard(again), Some(Reply::Accepted { duplicate: true, .. })));
    assert_eq!(world.status().queued, 0);
}

/// [SM-13]
#[test]
fn what_cannot_be_taken_is_refused_before_it_is_written() {
    let mut world = World::new();
    let cases = [
        (message(" ", WhenLive::Steer), Refusal::EmptyInput),
        (message("twice", WhenLive::Steer).with_models(["a", "a"]), Refusal::DuplicateModel),
    ];
    for (input, why) in cases {
        let ticket = world.submit(input, WhenLive::Steer);
        assert_eq!(world.refused(ticket), Some(why));
    }
    let attempt = world.start("question");
    let ticket = world.submit(message("busy", WhenLive::Reject), WhenLive::Reject);
    assert_eq!(world.refused(ticket), Some(Refusal::TopicBusy));
    let ticket = world.ticket();
    let stale = Some(TurnId { epoch: 1, number: 7 });
    let input = message("stale", WhenLive::Steer);
    world.tell(Fact::Submitted { ticket, input, when_live: WhenLive::Steer, turn: stale });
    assert_eq!(world.refused(ticket), Some(Refusal::StaleTurn));
    for number in 0..256 {
        world.say(&format!("{number}"), WhenLive::Steer);
    }
    let ticket = world.submit(message("full", WhenLive::Steer), WhenLive::Steer);
    assert_eq!(world.refused(ticket), Some(Refusal::QueueFull));
    assert!(world.tasks.contains_key(&attempt));
}

/// [SM-14]
#[test]
fn models_side_by_side_begin_as_one_or_not_at_all() {
    let mut world = World::new();
    let input = message("question", WhenLive::Steer).with_models(["a", "b"]);
    let ticket = world.submit(input, WhenLive::Steer);
    world.accept();
    let begin = world.plan();
    let slots: Vec<_> =
        begin.attempts.iter().map(|planned| (planned.model.as_deref(), planned.slot)).collect();
    assert_eq!(slots, [(Some("a"), 0), (Some("b"), 1)]);
    world.not_begin(&begin, NotBegun::Refused(Refusal::NoSuchModel));
    assert_eq!(world.refused(ticket), Some(Refusal::NoSuchModel));
    assert_eq!(world.returned("question"), Some(ReturnReason::LaunchFailed));
    assert_eq!(world.state(), TopicState::Failed);
}

/// [SM-15]
#[test]
fn a_model_joins_a_live_turn_beside_the_others_or_in_the_place_of_one_that_is_over() {
    let mut world = World::new();
    let attempts = world.start_beside("question", &["a", "b"]);
    let twice = world.append(attempts[0], "b");
    assert_eq!(world.refused(twice), Some(Refusal::DuplicateModel));
    let anew = |world: &mut World, models: &[&str]| {
        let body = InputBody::Regenerate { row: row(attempts[0]) };
        let id = format!("anew-{}", world.tickets);
        world.submit(Input::new(id, body).with_models(models.iter().copied()), WhenLive::Steer)
    };
    let early = anew(&mut world, &[]);
    assert_eq!(world.refused(early), Some(Refusal::TopicBusy));
    world.end(attempts[0], End::Failed);
    world.persist(attempts[0]);
    let other = anew(&mut world, &["b"]);
    assert_eq!(world.refused(other), Some(Refusal::DuplicateModel), "it would run twice");
    anew(&mut world, &[]);
    world.accept();
    let second = world.plan();
    assert_eq!((second.attempts[0].model.as_deref(), second.attempts[0].slot), (Some("a"), 0));
    world.begin(&second, false);
    world.complete(second.id());
    world.complete(attempts[1]);
    assert_eq!(world.state(), TopicState::Done, "what failed was answered anew");
}

/// [SM-16]
#[test]
fn nobody_joins_a_turn_that_is_being_stopped() {
    let mut world = World::new();
    let attempt = world.start("question");
    let ticket = world.append(attempt, "b");
    world.stop();
    world.accept();
    assert_eq!(world.refused(ticket), Some(Refusal::TopicBusy));
    assert!(!world.pending.iter().any(|pending| matches!(pending, Pending::Begin(_))));
}
