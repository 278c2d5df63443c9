//! Several models side by side.

use stream_manager::port::Refusal;
use stream_manager::record::{Fate, InputId, ReturnReason, TopicState};
use stream_manager::{Receipt, Send};

use crate::world::World;

async fn ask_two(world: &World) -> Receipt {
    let send = Send::text("q1").with_id("q1").with_models(["a", "b"]);
    world.manager.send(&world.topic, send).await.unwrap()
}

/// [SM-210]
#[tokio::test(start_paused = true)]
async fn each_model_has_a_row_and_the_turn_ends_with_the_last() {
    let mut world = World::new().await;
    ask_two(&world).await;
    let (a, b) = (world.turns.next().await, world.turns.next().await);
    assert_eq!((a.request.model.as_deref(), b.request.model.as_deref()), (Some("a"), Some("b")));
    b.answer("of b");
    world.until(TopicState::Streaming).await;
    a.answer("of a");
    world.until(TopicState::Done).await;
    assert_eq!(world.rows().await, ["complete: u: q1", "complete: a: of a", "complete: a: of b"]);
    world.send("q2").await;
    assert_eq!(world.turns.next().await.prompt(), ["u: q1", "a: of a", "u: q2"], "the first answer counts");
}

/// [SM-211]
#[tokio::test(start_paused = true)]
async fn a_failed_one_is_replaced_and_another_joins_while_the_rest_go_on() {
    let mut world = World::new().await;
    ask_two(&world).await;
    let (a, b) = (world.turns.next().await, world.turns.next().await);
    let row = a.request.row.clone();
    let early = world.manager.regenerate(&world.topic, &row, Vec::new()).await;
    assert_eq!(early.unwrap_err().refusal(), Some(Refusal::TopicBusy), "it is still being written");
    a.fail();
    let status = async {
        while !world.rows().await.iter().any(|row| row.starts_with("failed")) {
            tokio::task::yield_now().await;
        }
    };
    status.await;
    world.manager.regenerate(&world.topic, &row, Vec::new()).await.unwrap();
    let again = world.turns.next().await;
    assert_eq!(again.request.model.as_deref(), Some("a"));
    assert_ne!(again.request.row, row);
    world.manager.append(&world.topic, &b.request.row, "c").await.unwrap();
    let twice = world.manager.append(&world.topic, &b.request.row, "c").await;
    assert_eq!(twice.unwrap_err().refusal(), Some(Refusal::DuplicateModel));
    let c = world.turns.next().await;
    let models: Vec<_> = world
        .manager
        .status(&world.topic)
        .await
        .unwrap()
        .attempts
        .into_iter()
        .map(|a| a.model.unwrap())
        .collect();
    assert_eq!(models, ["a", "b", "c"]);
    for turn in [again, b, c] {
        turn.answer("fine");
    }
    world.until(TopicState::Done).await;
}

/// [SM-212]
#[tokio::test(start_paused = true)]
async fn a_steer_ends_all_of_them_at_their_step_and_is_answered_in_a_turn_of_its_own() {
    let mut world = World::new().await;
    ask_two(&world).await;
    let (a, b) = (world.turns.next().await, world.turns.next().await);
    world.send("s1").await;
    a.waits().await;
    b.waits().await;
    a.answer("of a");
    b.answer("of b");
    let next = world.turns.next().await;
    assert_eq!(next.prompt(), ["u: q1", "a: of a", "u: s1"]);
    next.answer("ok");
    world.until(TopicState::Done).await;
}

/// [SM-213]
#[tokio::test(start_paused = true)]
async fn a_failed_sibling_gives_back_what_waits_in_either_order() {
    for failing_first in [true, false] {
        let mut world = World::new().await;
        ask_two(&world).await;
        let (a, b) = (world.turns.next().await, world.turns.next().await);
        world.send("s1").await;
        let (fails, answers) = if failing_first { (a, b) } else { (b, a) };
        if failing_first {
            fails.fail();
            answers.answer("fine");
        } else {
            answers.answer("fine");
            fails.fail();
        }
        world.until(TopicState::Failed).await;
        assert_eq!(world.fate("s1").await, Fate::Returned { why: ReturnReason::Failed });
        assert!(world.turns.none());
    }
}

/// [SM-214]
#[tokio::test(start_paused = true)]
async fn one_of_several_is_stopped_alone() {
    let mut world = World::new().await;
    ask_two(&world).await;
    let (a, b) = (world.turns.next().await, world.turns.next().await);
    world.manager.stop_row(&world.topic, &a.request.row).await.unwrap();
    b.answer("of b");
    world.until(TopicState::Done).await;
    assert_eq!(world.rows().await, ["complete: u: q1", "stopped: ", "complete: a: of b"]);
    assert!(world.manager.input(&world.topic, &InputId::from("q1")).await.unwrap().is_some());
}
