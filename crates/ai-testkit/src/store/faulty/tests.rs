#![allow(clippy::unwrap_used, missing_docs, reason = "tests fail by panicking")]

use futures_util::FutureExt;
use stream_manager::memory::MemoryConversations;
use stream_manager::record::InputBody;

use super::*;

fn store() -> FaultyStore {
    FaultyStore::new(Arc::new(MemoryConversations::new()))
}

fn named(id: &str) -> Input {
    Input::new(id, InputBody::Regenerate { row: "r".into() })
}

fn input() -> (TopicId, Input) {
    ("t".into(), named("i"))
}

#[tokio::test]
async fn a_method_fails_so_often_after_so_many_and_the_others_do_not() {
    let store = store();
    let (topic, input) = input();
    store.fault_after(1, StoreCall::Accept, Fault::Fails(StoreErrorKind::Full), 2);
    let mut kinds = Vec::new();
    for _ in 0..4 {
        kinds.push(store.accept(&topic, &input).await.err().map(|error| error.kind()));
        assert!(store.inbox(&topic).await.is_ok());
    }
    assert_eq!(kinds, [None, Some(StoreErrorKind::Full), Some(StoreErrorKind::Full), None]);
    assert_eq!((store.calls(StoreCall::Accept), store.calls(StoreCall::Inbox), store.writes()), (4, 4, 4));
}

#[tokio::test]
async fn an_answer_is_lost_after_it_was_done() {
    let store = store();
    let (topic, input) = input();
    store.fault(StoreCall::Accept, Fault::DoneButFails, 1);
    assert!(store.accept(&topic, &input).await.unwrap_err().is_transient());
    assert!(store.accept(&topic, &input).await.unwrap().duplicate);
}

#[tokio::test]
async fn what_hangs_goes_on_when_the_store_recovers_and_not_before() {
    let store = store();
    let (topic, input) = input();
    store.fault_writes(Fault::Hangs);
    let mut call = store.accept(&topic, &input);
    assert!((&mut call).now_or_never().is_none());
    drop(store.accept(&topic, &named("dropped")));
    assert!(store.inbox(&topic).await.unwrap().is_empty());
    store.recover();
    assert!(!call.await.unwrap().duplicate);
    assert_eq!(store.inbox(&topic).await.unwrap().len(), 1);

    store.fault(StoreCall::Accept, Fault::DoneButHangs, 1);
    let other = named("other");
    let mut call = store.accept(&topic, &other);
    assert!((&mut call).now_or_never().is_none());
    assert_eq!(store.inbox(&topic).await.unwrap().len(), 2);
    store.recover();
    assert!(!call.await.unwrap().duplicate);
}
