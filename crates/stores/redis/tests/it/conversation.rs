use std::sync::Arc;

use ai_provider::Message;
use stream_manager::port::{Claim, ConversationStore, Page, StoreErrorKind};
use stream_manager::record::{AttemptId, Input, InputBody, Queue, Row, RowContent, TurnId};
use stream_store_redis::RedisSettings;

use crate::log::{lease, seed};
use crate::server::server;

pub(crate) fn said(id: &str, text: &str) -> Input {
    let message = Arc::new(Message::user(text));
    Input::new(id, InputBody::Message { message, queue: Queue::Steer, parent: None })
}

fn claim(inputs: &[&str], row: &str) -> Claim {
    let (turn, attempt) = (TurnId { epoch: 1, number: 1 }, AttemptId { epoch: 1, number: 1 });
    Claim {
        turn,
        attempt,
        inputs: inputs.iter().map(|id| (*id).into()).collect(),
        rows: vec![Row::assistant(
            row,
            "t".into(),
            turn,
            attempt,
            RowContent::new(seed()),
            1_750_000_000_000,
        )],
    }
}

/// [ST-102]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_node_wrote_every_node_reads_also_after_a_restart() {
    let mut server = server!();
    let (one, other) = (server.store().await, server.store().await);
    one.accept(&"t".into(), &said("a", "Hello.")).await.unwrap();
    assert_eq!(other.accept(&"t".into(), &said("b", "And?")).await.unwrap().seq, 2);
    other.claim_and_open(&lease(1), &claim(&["a"], "row")).await.unwrap();
    let stale = one.claim_and_open(&lease(1), &claim(&["a", "b"], "row-2")).await;
    assert_eq!(stale.unwrap_err().kind(), StoreErrorKind::Conflict);
    let before = one.history(&"t".into()).await.unwrap();
    assert!(before.as_ref().is_some_and(|it| it.rows.len() == 1 && it.inputs.len() == 2));

    server.restart().await;
    let fresh = server.store().await;
    for store in [&one, &other, &fresh] {
        assert_eq!(store.history(&"t".into()).await.unwrap(), before);
        assert_eq!(store.inbox(&"t".into()).await.unwrap().len(), 1);
        assert_eq!(store.orphans().await.unwrap().len(), 1);
        assert_eq!(store.list(&Page::default()).await.unwrap().len(), 1);
        let known = store.accept(&"t".into(), &said("a", "Hello.")).await.unwrap();
        assert!(known.duplicate);
    }
}

/// [ST-103]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn applications_with_their_own_prefix_do_not_meet() {
    let server = server!();
    let one = server.store_with(RedisSettings::default().with_prefix("one")).await;
    let other = server.store_with(RedisSettings::default().with_prefix("other")).await;
    one.accept(&"t".into(), &said("a", "Hello.")).await.unwrap();
    assert_eq!(other.history(&"t".into()).await.unwrap(), None);
    assert_eq!(other.waiting().await.unwrap(), vec![]);
    let keys = server.command(&["KEYS", "*"]).await;
    assert!(keys.lines().all(|key| key.starts_with("one:{")), "{keys}");
    let braces = RedisSettings::default().with_prefix("{x}");
    let refused = stream_store_redis::RedisStore::connect(&server.url(), braces).await;
    assert_eq!(refused.unwrap_err().kind(), StoreErrorKind::Conflict);
}
