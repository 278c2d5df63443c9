use futures_util::future::BoxFuture;
use stream_manager::port::{StoreError, StoreErrorKind::Fenced};
use stream_manager::record::{ReturnReason, RowStatus, TopicId};

use super::kit::{
    Checked, Store, begin, checkpoint, claim, fails, history, lease, open, said, same, settlement,
};

type Write = for<'a> fn(&'a Store, &'a TopicId, u64) -> BoxFuture<'a, Result<(), StoreError>>;

/// Every method that is fenced, on a topic where attempt 1 writes row `a-1` and input `free` waits.
const WRITES: [(&str, Write); 6] = [
    ("claim_and_open", |store, topic, epoch| {
        Box::pin(async move {
            let claim = claim(2, &["free"], vec![open(topic, "new", 2)]);
            store.claim_and_open(&lease(topic, epoch), &claim).await
        })
    }),
    ("checkpoint", |store, topic, epoch| {
        Box::pin(async move {
            store.checkpoint(&lease(topic, epoch), &checkpoint("a-1", 1, "text")).await.map(drop)
        })
    }),
    ("settle", |store, topic, epoch| {
        Box::pin(async move {
            let mut end = settlement("a-1", 1, RowStatus::Complete, "text");
            end.returned.push(("free".into(), ReturnReason::Stopped));
            store.settle(&lease(topic, epoch), &end).await.map(drop)
        })
    }),
    ("return_inputs", |store, topic, epoch| {
        Box::pin(async move {
            store.return_inputs(&lease(topic, epoch), &["free".into()], ReturnReason::Stopped).await
        })
    }),
    ("return_inputs of nothing", |store, topic, epoch| {
        Box::pin(async move { store.return_inputs(&lease(topic, epoch), &[], ReturnReason::Stopped).await })
    }),
    ("delete", |store, topic, epoch| {
        Box::pin(async move { store.delete(&lease(topic, epoch)).await.map(drop) })
    }),
];

/// A lease that is not the latest writes nothing.
pub(super) async fn fence(store: Store) -> Checked {
    let topic = TopicId::from("t");
    begin(&store, &topic, 1).await?;
    store.accept(&topic, &said("free", "Hello.")).await?;
    store.return_inputs(&lease(&topic, 3), &[], ReturnReason::Stopped).await?;
    let before = history(&store, &topic).await?;
    for epoch in [1, 2] {
        for (name, write) in WRITES {
            let what = format!("{name} of epoch {epoch} after epoch 3");
            fails(&what, write(&store, &topic, epoch).await, Fenced)?;
            same(&format!("the topic after {what}"), &history(&store, &topic).await?, &before)?;
        }
    }
    same("an input, which needs no lease", store.accept(&topic, &said("open", "Hello.")).await?.seq, 3)?;
    let other = TopicId::from("other");
    begin(&store, &other, 1).await?;
    for (_, write) in WRITES {
        write(&store, &topic, 3).await?;
    }
    Ok(())
}

/// The epoch of every write counts as seen, also where the write finds nothing to do, and also of a topic that is deleted.
pub(super) async fn seen(store: Store) -> Checked {
    for (name, write) in WRITES {
        let topic = TopicId::from(name);
        begin(&store, &topic, 1).await?;
        store.accept(&topic, &said("free", "Hello.")).await?;
        write(&store, &topic, 2).await?;
        let late = store.checkpoint(&lease(&topic, 1), &checkpoint("a-1", 1, "late")).await;
        fails(&format!("a write of epoch 1 after {name} of epoch 2"), late, Fenced)?;
    }
    let topic = TopicId::from("t");
    begin(&store, &topic, 1).await?;
    store.checkpoint(&lease(&topic, 2), &checkpoint("never", 1, "text")).await?;
    let late = store.checkpoint(&lease(&topic, 1), &checkpoint("a-1", 1, "late")).await;
    fails("a write of epoch 1 after one of epoch 2 that found no row", late, Fenced)?;

    store.delete(&lease(&topic, 4)).await?;
    store.accept(&topic, &said("again", "Hello.")).await?;
    let row = || vec![open(&topic, "new", 3)];
    let late = store.claim_and_open(&lease(&topic, 3), &claim(3, &["again"], row())).await;
    fails("a claim of epoch 3 on a topic that was deleted in epoch 4 and made anew", late, Fenced)?;
    store.claim_and_open(&lease(&topic, 4), &claim(3, &["again"], row())).await?;
    Ok(())
}
