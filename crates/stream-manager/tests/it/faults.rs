//! What has gone wrong in other people's programs.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use ai_testkit::store::{Fault, FaultyStore, StoreCall};
use async_trait::async_trait;
use futures_util::StreamExt;
use stream_manager::listener::{Listener, Listeners, listen};
use stream_manager::memory::MemoryConversations;
use stream_manager::port::{StoreErrorKind, WhenLive};
use stream_manager::reader::{Attach, ReaderItem};
use stream_manager::record::{Known, RowStatus, TopicId, TopicState};
use stream_manager::{Send, StreamManager, TurnEnd, TurnEnding};

use crate::world::{SOON, World};

/// [SM-290]
#[tokio::test(start_paused = true)]
async fn a_cut_answer_is_stored_once_under_the_id_it_was_streamed_with() {
    let mut world = World::new().await;
    let id = world.send("q1").await.turn.unwrap();
    let turn = world.turns.next().await;
    for _ in 0..5 {
        turn.text("word ");
    }
    world.until(TopicState::Streaming).await;
    world.manager.stop(&world.topic, id, SOON).await.unwrap();
    let rows = world.conversation().await.rows;
    assert_eq!(rows.len(), 2);
    let answer = &rows[1];
    assert_eq!((&answer.id, answer.status.known()), (&turn.request.row, Some(&RowStatus::Stopped)));
    assert_eq!(answer.content.ui.known().unwrap().parts.len(), 5, "what was shown is there");

    world.send("q2").await;
    let turn = world.turns.next().await;
    assert_eq!(turn.prompt(), ["u: q1", "u: q2"], "what was cut is no fact of what follows");
    turn.text("half").fail();
    world.until(TopicState::Failed).await;
    assert_eq!(world.rows().await.len(), 4);
}

/// [SM-291]
#[tokio::test(start_paused = true)]
async fn a_stop_before_the_first_word_keeps_the_question_and_shows_no_empty_answer() {
    let mut world = World::new().await;
    let id = world.send("q1").await.turn.unwrap();
    let _turn = world.turns.next().await;
    world.manager.stop(&world.topic, id, SOON).await.unwrap();
    let shown: Vec<_> = world.manager.messages(&world.topic).await.unwrap().unwrap();
    assert_eq!(shown.iter().map(|message| message.id.as_str()).collect::<Vec<_>>(), ["q1"]);
    let rows = world.conversation().await.rows;
    assert_eq!(rows[1].status, Known::Is(RowStatus::Stopped), "the store knows");
}

/// [SM-292]
#[tokio::test(start_paused = true)]
async fn a_message_sent_again_and_again_is_answered_once() {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryConversations::new())));
    let given = store.clone();
    let mut world = World::with(|builder| builder.with_store(given), |source| source).await;
    world.send("q1").await;
    let turn = world.turns.next().await;
    turn.text("half").step("half");
    assert!(!world.send("m1").await.duplicate);
    assert!(world.send("m1").await.duplicate);
    store.fault(StoreCall::Claim, Fault::Fails(StoreErrorKind::Unavailable), 3);
    turn.waits().await;
    turn.answer("half");
    let next = world.turns.next().await;
    assert!(world.send("m1").await.duplicate);
    next.answer("of m1");
    world.until(TopicState::Done).await;
    assert!(world.send("m1").await.duplicate);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(world.turns.none());
    assert_eq!(world.rows().await[1], "complete: a: half | u: m1 | a: of m1");
}

/// [SM-293]
#[tokio::test(start_paused = true)]
async fn two_messages_at_once_are_answered_one_after_the_other() {
    for _ in 0..200 {
        let mut world = World::new().await;
        let send = |id: &'static str| {
            let (manager, topic) = (world.manager.clone(), world.topic.clone());
            tokio::spawn(async move {
                let send = Send::text(id).with_id(id).when_live(WhenLive::FollowUp);
                manager.send(&topic, send).await.unwrap()
            })
        };
        let (a, b) = (send("A"), send("B"));
        let first = world.turns.next().await;
        let asked = first.prompt()[0].clone();
        first.answer("one");
        let second = world.turns.next().await;
        let prompt = second.prompt();
        assert_eq!((&prompt[0], prompt[1].as_str(), prompt.len()), (&asked, "a: one", 3));
        second.answer("two");
        a.await.unwrap();
        b.await.unwrap();
        world.until(TopicState::Done).await;
        let rows = world.rows().await;
        assert_eq!(rows.len(), 4);
        assert!(rows[0].starts_with("complete: u") && rows[1] == "complete: a: one", "{rows:?}");
    }
}

/// [SM-294]
#[tokio::test(start_paused = true)]
async fn a_reader_that_leaves_stops_nothing_and_a_stop_by_name_always_ends_the_run() {
    let mut world = World::new().await;
    let id = world.send("q1").await.turn.unwrap();
    let turn = world.turns.next().await;
    let mut reader = world.manager.attach(&world.topic, Attach::new()).await.unwrap();
    turn.text("one");
    reader.next().await.unwrap().unwrap();
    drop(reader);
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(world.state().await.is_live() && !turn.is_dropped());
    world.manager.stop(&world.topic, id, SOON).await.unwrap();
    assert!(turn.is_dropped(), "its sockets are closed");
}

struct Echo(StreamManager, TopicId);

#[async_trait]
impl Listener for Echo {
    fn id(&self) -> &str {
        "echo"
    }

    fn on_item(&self, _item: &ReaderItem) -> Result<(), Box<dyn Error + std::marker::Send + Sync>> {
        Ok(())
    }

    async fn on_terminal(&self, _end: &ReaderItem) -> Result<(), Box<dyn Error + std::marker::Send + Sync>> {
        self.0.send(&self.1, Send::text("echo").with_id("echo")).await?;
        Ok(())
    }
}

/// [SM-295]
#[tokio::test(start_paused = true)]
async fn a_listener_may_speak_to_its_own_topic() {
    let mut world = World::new().await;
    world.send("q1").await;
    let turn = world.turns.next().await;
    let listeners = Listeners::new();
    listeners.insert(Arc::new(Echo(world.manager.clone(), world.topic.clone())));
    let reader = world.manager.attach(&world.topic, Attach::new()).await.unwrap();
    let listening =
        tokio::spawn(async move { listen(reader, &listeners, SOON, |failure| panic!("{failure}")).await });
    turn.answer("one");
    let next = world.turns.next().await;
    assert_eq!(next.prompt().last().unwrap(), "u: echo");
    next.answer("two");
    world.until(TopicState::Done).await;
    listening.await.unwrap().unwrap();
}

/// [SM-296]
#[tokio::test(start_paused = true)]
async fn a_row_is_answered_anew_below_the_same_question() {
    let mut world = World::new().await;
    world.send("q1").await;
    let first = world.turns.next().await;
    first.answer("one");
    world.until(TopicState::Done).await;
    world.send("q2").await;
    world.turns.next().await.answer("two");
    world.until(TopicState::Done).await;

    world.manager.regenerate(&world.topic, &first.request.row, Vec::new()).await.unwrap();
    let again = world.turns.next().await;
    assert_eq!(again.prompt(), ["u: q1"]);
    again.end(
        TurnEnding::new(TurnEnd::Complete)
            .with_messages(vec![Arc::new(ai_provider::Message::assistant("other"))]),
    );
    world.until(TopicState::Done).await;
    world.send("q3").await;
    assert_eq!(world.turns.next().await.prompt(), ["u: q1", "a: other", "u: q3"]);
    let rows = world.conversation().await.rows;
    assert_eq!(rows.len(), 7, "what was replaced is still stored");
    let mut watch = world.manager.watch().await.unwrap();
    assert_eq!(watch.next().await.unwrap().topic, world.topic);
}
