//! Many rounds on threads of their own, and readers that do not read.

use std::sync::Arc;
use std::time::Duration;

use agent_loop::UiChunk;
use ai_provider::{Id, Message};
use async_trait::async_trait;
use futures_util::stream;
use stream_manager::reader::{Attach, ReaderBody};
use stream_manager::record::{Fate, Known, RowStatus, TopicId, TopicState};
use stream_manager::{
    OpenError, Send, StreamManager, TurnEnd, TurnEnding, TurnEvent, TurnRequest, TurnRun, TurnSource,
};

/// Says so many words at once.
struct Words(usize);

#[async_trait]
impl TurnSource for Words {
    async fn open(&self, request: TurnRequest) -> Result<TurnRun, OpenError> {
        let id = Id::from("1");
        let count = self.0;
        let words = (0..count).map(move |_| {
            let delta = "word ".to_owned();
            TurnEvent::Chunk(UiChunk::TextDelta { id: id.clone(), delta, provider_metadata: None })
        });
        let start = UiChunk::TextStart { id: Id::from("1"), provider_metadata: None };
        let end = std::iter::once(()).map(move |()| {
            let stopped = request.cancel.is_cancelled();
            let end = if stopped { TurnEnd::Stopped } else { TurnEnd::Complete };
            let said = vec![Arc::new(Message::assistant("words"))];
            TurnEvent::End(Box::new(TurnEnding::new(end).with_messages(said)))
        });
        let events = std::iter::once(TurnEvent::Chunk(start)).chain(words).chain(end);
        Ok(TurnRun::new(stream::iter(events)))
    }
}

async fn round(manager: StreamManager, number: usize) {
    let topic = TopicId::from(format!("t{}", number % 50));
    let sent = manager.send(&topic, Send::text("a").with_id(format!("a{number}"))).await.unwrap();
    let steered = tokio::spawn({
        let (manager, topic) = (manager.clone(), topic.clone());
        async move { manager.steer(&topic, Send::text("b").with_id(format!("b{number}"))).await.unwrap() }
    });
    if number.is_multiple_of(3)
        && let Some(turn) = sent.turn
    {
        let _ = manager.stop(&topic, turn, Duration::from_secs(30)).await;
    }
    if let Some(turn) = sent.turn
        && let Ok(mut reader) = manager.attach(&topic, Attach::new().with_turn(turn)).await
    {
        let mut place = std::collections::HashMap::new();
        while let Some(item) = reader.next().await {
            let item = item.unwrap();
            let last = place.insert(item.attempt, item.last).unwrap_or(0);
            if !matches!(item.body, ReaderBody::Rebase(_) | ReaderBody::Lost) {
                assert_eq!(item.first, last + 1);
            }
        }
    }
    steered.await.unwrap();
}

/// [SM-281]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_rounds_on_threads_lose_and_double_nothing() {
    let manager = StreamManager::builder(Words(20)).build().await.unwrap();
    let rounds: Vec<_> = (0..1_000).map(|number| tokio::spawn(round(manager.clone(), number))).collect();
    for round in rounds {
        round.await.unwrap();
    }
    assert!(manager.shut_down(Duration::from_secs(60)).await);
    assert_eq!((manager.tasks(), manager.topics()), (0, 0));
    let mut inputs = 0;
    for topic in 0..50 {
        let topic = TopicId::from(format!("t{topic}"));
        let conversation = manager.history(&topic).await.unwrap().unwrap();
        assert!(conversation.rows.iter().all(|row| row.status != Known::Is(RowStatus::Open)));
        inputs += conversation.inputs.len();
        assert!(conversation.inputs.iter().all(|stored| stored.fate != Known::Is(Fate::Queued)));
    }
    assert_eq!(inputs, 2_000);
}

/// [SM-282]
#[test]
fn a_reader_that_never_reads_costs_less_than_eight_mebibytes() {
    let used = allocation_counter::measure(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let manager = StreamManager::builder(Words(100_000)).build().await.unwrap();
            let topic = TopicId::from("t");
            let turn = manager.send(&topic, Send::text("a")).await.unwrap().turn.unwrap();
            let reader = manager.attach(&topic, Attach::new().with_turn(turn)).await.unwrap();
            while manager.status(&topic).await.unwrap().state != TopicState::Done {
                tokio::task::yield_now().await;
            }
            drop(reader);
        });
    });
    assert!(used.bytes_max < 8 << 20, "{} bytes", used.bytes_max);
}
