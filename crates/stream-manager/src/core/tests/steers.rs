//! What is said while a turn runs.

use super::say::{row, takes};
use super::world::World;
use super::*;

/// [SM-4]
#[test]
fn what_is_said_to_a_live_turn_is_answered_in_its_row_by_the_next_attempt() {
    let mut world = World::new();
    let first = world.start("question");
    world.tell(Fact::Spoke { attempt: first });
    let yields = world.submit(message("more", WhenLive::Steer), WhenLive::Steer);
    assert!(world.accept().contains(&Effect::Yield { attempt: first }));
    world.say("and more", WhenLive::Steer);
    assert!(matches!(world.heard(yields), Some(Reply::Accepted { turn: Some(_), .. })));

    world.end(first, End::Complete);
    assert_eq!(world.settling(first), Some(RowStatus::Open));
    world.persist(first);
    assert!(!world.sealed.contains_key(&first), "its readers go on with the next, which is not there yet");
    let begin = world.plan();
    assert_eq!(
        (takes(&begin), begin.attempts[0].row.clone()),
        (vec!["more".into(), "and more".into()], row(first))
    );
    assert_eq!(world.state(), TopicState::Streaming);
    world.begin(&begin, false);
    assert_eq!(world.sealed[&first].continues, Some(begin.id()));
    assert_eq!(world.status().attempts[0].earlier, [first]);

    world.complete(begin.id());
    assert_eq!(world.state(), TopicState::Done);
    assert_eq!(world.consumed("and more"), Some(begin.id()));
}

/// [SM-5]
#[test]
fn what_comes_while_the_end_is_written_is_decided_after_the_write() {
    let mut world = World::new();
    let first = world.start("question");
    world.say("early", WhenLive::Steer);
    world.end(first, End::Complete);
    world.say("in the row", WhenLive::Steer);
    world.persist(first);
    let begin = world.plan();
    assert_eq!(takes(&begin), ["early", "in the row"]);
    world.begin(&begin, false);

    world.end(begin.id(), End::Complete);
    world.say("late", WhenLive::Steer);
    world.say("later", WhenLive::Steer);
    world.persist(begin.id());
    let next = world.plan();
    assert_eq!(takes(&next), ["late", "later"], "one batch in a turn of its own");
    assert_ne!(next.attempts[0].row, row(first));
}

/// [SM-5]
#[test]
fn a_row_whose_steers_are_gone_by_then_is_complete() {
    let mut world = World::new();
    let first = world.start("question");
    world.say("more", WhenLive::Steer);
    world.end(first, End::Complete);
    let ticket = world.ticket();
    world.tell(Fact::Withdraw { ticket, input: "more".into() });
    assert_eq!(world.returned("more"), Some(ReturnReason::Withdrawn));
    world.persist(first);
    assert_eq!(world.settling(first), Some(RowStatus::Complete));
    world.persist(first);
    assert_eq!(world.state(), TopicState::Done);
}

/// [SM-6]
#[test]
fn what_waits_for_a_turn_that_is_no_answer_goes_back_and_says_why() {
    let ends = [
        (End::Failed, ReturnReason::Failed, TopicState::Failed),
        (End::Limited, ReturnReason::StopCondition, TopicState::Failed),
        (End::Stopped, ReturnReason::Stopped, TopicState::Stopped),
    ];
    for (end, why, state) in ends {
        let mut world = World::new();
        let attempt = world.start("question");
        world.say("steer", WhenLive::Steer);
        world.say("follow-up", WhenLive::FollowUp);
        world.end(attempt, end.clone());
        assert_eq!(world.returned("steer"), None, "told once it is written");
        world.persist(attempt);
        assert_eq!((world.returned("steer"), world.returned("follow-up")), (Some(why), Some(why)), "{end:?}");
        assert_eq!(world.state(), state);
        assert!(world.pending.is_empty(), "{:?}", world.pending);
    }
}

/// [SM-6]
#[test]
fn one_of_several_that_fails_keeps_what_waits_from_being_answered_whichever_ends_last() {
    for order in [[0, 1], [1, 0]] {
        for (end, why) in [(End::Failed, ReturnReason::Failed), (End::Limited, ReturnReason::StopCondition)] {
            let mut world = World::new();
            let attempts = world.start_beside("question", &["a", "b"]);
            world.say("steer", WhenLive::Steer);
            let ends = [end.clone(), End::Complete];
            for at in order {
                world.end(attempts[at], ends[at].clone());
                world.persist(attempts[at]);
            }
            assert_eq!(world.returned("steer"), Some(why), "{order:?}");
        }
    }
}

/// [SM-7]
#[test]
fn several_models_yield_and_the_answer_is_a_turn_of_its_own() {
    let mut world = World::new();
    let attempts = world.start_beside("question", &["a", "b"]);
    world.submit(message("steer", WhenLive::Steer), WhenLive::Steer);
    let effects = world.accept();
    assert!(attempts.iter().all(|attempt| effects.contains(&Effect::Yield { attempt: *attempt })));
    for attempt in &attempts {
        world.complete(*attempt);
    }
    assert!(!world.sealed[&attempts[0]].ends_turn && world.sealed[&attempts[1]].ends_turn);
    assert_eq!(takes(&world.plan()), ["steer"]);
}

/// [SM-8]
#[test]
fn a_driver_is_handed_one_input_at_a_time_and_what_it_refuses_yields() {
    let mut world = World::new();
    let attempt = world.start_driven("question");
    for id in ["one", "two", "three"] {
        world.say(id, WhenLive::Steer);
    }
    let effects = world.take_up(attempt);
    assert!(
        effects.iter().any(
            |effect| matches!(effect, Effect::Redirect { input, .. } if input.input.id.as_str() == "two")
        )
    );
    assert_eq!(world.consumed("one"), Some(attempt));
    assert!(world.hand_back(attempt).contains(&Effect::Yield { attempt }));
    world.end(attempt, End::Complete);
    world.persist(attempt);
    assert_eq!(takes(&world.plan()), ["two", "three"]);
}

/// [SM-8] [SM-9]
#[test]
fn what_a_driver_took_up_as_its_run_ended_is_used_and_not_returned() {
    for stop_first in [true, false] {
        let mut world = World::new();
        let attempt = world.start_driven("question");
        world.say("handed", WhenLive::Steer);
        let ticket = if stop_first {
            let ticket = world.stop();
            world.end(attempt, End::Stopped);
            ticket
        } else {
            world.end(attempt, End::Complete);
            world.stop()
        };
        assert_eq!(world.returned("handed"), None, "what became of it is not known yet");
        world.take_up(attempt);
        world.persist(attempt);
        if world.settling(attempt).is_some() {
            world.persist(attempt);
        }
        assert_eq!(world.consumed("handed"), Some(attempt));
        assert_eq!(world.stopped(ticket), Some(vec![]));
    }
}

/// [SM-9]
#[test]
fn what_a_driver_never_spoke_of_is_answered_or_goes_back_first() {
    let mut world = World::new();
    let attempt = world.start_driven("question");
    world.say("handed", WhenLive::Steer);
    world.say("behind", WhenLive::Steer);
    world.end(attempt, End::Complete);
    world.persist(attempt);
    assert_eq!(takes(&world.plan()), ["handed", "behind"]);

    let mut world = World::new();
    let attempt = world.start_driven("question");
    world.say("handed", WhenLive::Steer);
    world.say("behind", WhenLive::Steer);
    let ticket = world.stop();
    world.end(attempt, End::Stopped);
    world.persist(attempt);
    assert_eq!(world.stopped(ticket), Some(vec!["handed", "behind"]));
}

/// [SM-9]
#[test]
fn the_end_of_another_attempt_says_nothing_of_what_was_handed_over() {
    let mut world = World::new();
    let driven = world.start_driven("question");
    world.say("handed", WhenLive::Steer);
    world.append(driven, "b");
    world.accept();
    let beside = world.run();
    world.complete(beside);
    world.take_up(driven);
    world.complete(driven);
    assert_eq!(world.consumed("handed"), Some(driven));
    assert!(world.pending.is_empty(), "nothing is answered again: {:?}", world.pending);
}

/// [SM-8]
#[test]
fn a_driver_is_handed_what_was_said_before_it_began() {
    let mut world = World::new();
    world.say("question", WhenLive::Steer);
    world.say("early", WhenLive::Steer);
    let begin = world.plan();
    let effects = world.begin(&begin, true);
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Redirect { .. })));
    assert!(!effects.contains(&Effect::Yield { attempt: begin.id() }));
    world.take_up(begin.id());
    assert_eq!(world.consumed("early"), Some(begin.id()));
}
