use stream_manager::port::Written;
use stream_manager::record::{Fate, Known, ReturnReason, RowStatus, TopicId};

use super::kit::{
    Checked, Store, begin, checkpoint as point, claim, consumed, content, ensure, fate, history, lease, open,
    said, same, settlement, stored, timeless,
};

/// What an open row holds is written for its attempt alone, and no row comes to be by it.
pub(super) async fn checkpoint(store: Store) -> Checked {
    let (topic, lease) = (TopicId::from("t"), lease(&TopicId::from("t"), 1));
    let nowhere = store.checkpoint(&lease, &point("a-1", 1, "text")).await?;
    same("a checkpoint of a topic that is not there", nowhere, Written::Gone)?;
    same("that topic", store.history(&topic).await?, None)?;

    let [user, row] = begin(&store, &topic, 1).await?;
    for text in ["one", "one two", "one two"] {
        same("a checkpoint", store.checkpoint(&lease, &point("a-1", 1, text)).await?, Written::Done)?;
        let now = stored(&store, &topic, "a-1").await?;
        same("what the row holds", &now.content, &content("a-1", text))?;
        ensure(now.updated_at > row.updated_at, || "a checkpoint should be a write, by its time".to_owned())?;
        let mut same_but_content = timeless(&now);
        same_but_content.content.clone_from(&row.content);
        same("everything else of the row", &same_but_content, &row)?;
    }
    same("another row", stored(&store, &topic, "u-1").await?, user)?;

    let before = history(&store, &topic).await?;
    let other = store.checkpoint(&lease, &point("a-1", 2, "other")).await?;
    same("a checkpoint of another attempt", other, Written::Already)?;
    let gone = store.checkpoint(&lease, &point("never", 1, "text")).await?;
    same("a checkpoint of a row that is not there", gone, Written::Gone)?;
    let user = store.checkpoint(&lease, &point("u-1", 1, "mine")).await?;
    same("a checkpoint of a row of the user", user, Written::Already)?;
    same("the topic after these", history(&store, &topic).await?, before)?;

    for status in [RowStatus::AwaitingApproval, RowStatus::Complete] {
        store.settle(&lease, &settlement("a-1", 1, status, "end")).await?;
        let before = history(&store, &topic).await?;
        let late = store.checkpoint(&lease, &point("a-1", 1, "late")).await?;
        same(&format!("a checkpoint of a row that is {}", status.as_str()), late, Written::Already)?;
        same("the topic after it", history(&store, &topic).await?, before)?;
    }
    Ok(())
}

/// A row ends once, as it is told first.
pub(super) async fn settle(store: Store) -> Checked {
    let (topic, lease) = (TopicId::from("t"), lease(&TopicId::from("t"), 1));
    let nowhere = store.settle(&lease, &settlement("a", 1, RowStatus::Complete, "text")).await?;
    same("the end of a row of a topic that is not there", nowhere, Written::Gone)?;
    same("that topic", store.history(&topic).await?, None)?;

    let ends = [RowStatus::Complete, RowStatus::Stopped, RowStatus::Failed, RowStatus::Interrupted];
    for (number, status) in (1..).zip(ends) {
        let [_, row] = begin(&store, &topic, number).await?;
        let id = row.id.as_str();
        let other = store.settle(&lease, &settlement(id, number + 100, status, "other")).await?;
        same("the end of another attempt", other, Written::Already)?;
        same("the row after it", stored(&store, &topic, id).await?, row.clone())?;

        let done = store.settle(&lease, &settlement(id, number, status, "end")).await?;
        same("the end of a row", done, Written::Done)?;
        let ended = stored(&store, &topic, id).await?;
        let mut wanted = row.clone();
        wanted.status = Known::Is(status);
        wanted.content = content(id, "end");
        same("the row that ended", timeless(&ended), timeless(&wanted))?;
        ensure(ended.updated_at > row.updated_at, || "an end should be a write, by its time".to_owned())?;

        let again = store.settle(&lease, &settlement(id, number, RowStatus::Failed, "again")).await?;
        same("the end of a row that is over", again, Written::Already)?;
        same("the row after it", stored(&store, &topic, id).await?, ended)?;
    }
    let gone = store.settle(&lease, &settlement("never", 1, RowStatus::Complete, "text")).await?;
    same("the end of a row that is not there", gone, Written::Gone)?;
    same("how many rows there are", history(&store, &topic).await?.rows.len(), 8)?;

    begin(&store, &topic, 9).await?;
    for status in [RowStatus::AwaitingApproval, RowStatus::AwaitingApproval, RowStatus::Stopped] {
        let done = store.settle(&lease, &settlement("a-9", 9, status, status.as_str())).await?;
        same("an end, of a row that is not over", done, Written::Done)?;
        let row = stored(&store, &topic, "a-9").await?;
        same("its status", row.status, Known::Is(status))?;
    }

    begin(&store, &topic, 20).await?;
    let goes_on = settlement("a-20", 20, RowStatus::Open, "so far");
    for _ in 0..2 {
        same(
            "a row that another attempt goes on with",
            store.settle(&lease, &goes_on).await?,
            Written::Done,
        )?;
    }
    store.accept(&topic, &said("steer", "And?")).await?;
    let next = claim(21, &["steer"], vec![open(&topic, "a-20", 21)]);
    store.claim_and_open(&lease, &next).await?;
    let late = store.settle(&lease, &settlement("a-20", 20, RowStatus::Complete, "late")).await?;
    same("the end of the attempt before", late, Written::Already)?;
    let done = store.settle(&lease, &settlement("a-20", 21, RowStatus::Complete, "all")).await?;
    same("the end of the attempt that went on", done, Written::Done)
}

/// The end of an attempt returns the inputs it names, of those that wait, whatever becomes of its row.
pub(super) async fn settle_returns(store: Store) -> Checked {
    let (topic, lease) = (TopicId::from("t"), lease(&TopicId::from("t"), 1));
    begin(&store, &topic, 1).await?;
    for id in ["a", "b", "c", "stays"] {
        store.accept(&topic, &said(id, "Hello.")).await?;
    }
    let mut end = settlement("a-1", 1, RowStatus::Stopped, "text");
    end.returned = vec![
        ("a".into(), ReturnReason::Stopped),
        ("i-1".into(), ReturnReason::Stopped),
        ("never".into(), ReturnReason::Stopped),
    ];
    same("an end that returns inputs", store.settle(&lease, &end).await?, Written::Done)?;
    let returned = |why| Known::Is(Fate::Returned { why });
    same("the input", fate(&store, &topic, "a").await?, returned(ReturnReason::Stopped))?;
    same("a consumed input it named", fate(&store, &topic, "i-1").await?, consumed(1))?;
    same("an input it did not name", fate(&store, &topic, "stays").await?, Known::Is(Fate::Queued))?;

    end.returned = vec![("a".into(), ReturnReason::Failed), ("b".into(), ReturnReason::ShutDown)];
    same("the same end again", store.settle(&lease, &end).await?, Written::Already)?;
    same("an input it returned before", fate(&store, &topic, "a").await?, returned(ReturnReason::Stopped))?;
    same("an input it names newly", fate(&store, &topic, "b").await?, returned(ReturnReason::ShutDown))?;

    end.row = "never".into();
    end.returned = vec![("c".into(), ReturnReason::Stale)];
    same("the end of a row that is not there", store.settle(&lease, &end).await?, Written::Gone)?;
    same("the input it named", fate(&store, &topic, "c").await?, returned(ReturnReason::Stale))?;
    let inbox: Vec<_> = store.inbox(&topic).await?.into_iter().map(|stored| stored.input.id).collect();
    same("what waits still", inbox, vec!["stays".into()])
}

/// Only what waits is returned, once.
pub(super) async fn returns(store: Store) -> Checked {
    let (topic, lease) = (TopicId::from("t"), lease(&TopicId::from("t"), 1));
    store.return_inputs(&lease, &["a".into()], ReturnReason::Withdrawn).await?;
    same("a topic that a return named", store.history(&topic).await?, None)?;

    begin(&store, &topic, 1).await?;
    for id in ["a", "b", "c"] {
        store.accept(&topic, &said(id, "Hello.")).await?;
    }
    let named = ["a".into(), "i-1".into(), "never".into(), "c".into(), "a".into()];
    store.return_inputs(&lease, &named, ReturnReason::Interrupted).await?;
    store.return_inputs(&lease, &named, ReturnReason::Stale).await?;
    let returned = || Known::Is(Fate::Returned { why: ReturnReason::Interrupted });
    same("an input that was returned twice", fate(&store, &topic, "a").await?, returned())?;
    same("another", fate(&store, &topic, "c").await?, returned())?;
    same("a consumed input", fate(&store, &topic, "i-1").await?, consumed(1))?;
    same("an input that was not named", fate(&store, &topic, "b").await?, Known::Is(Fate::Queued))?;
    let numbers: Vec<u64> = history(&store, &topic).await?.inputs.iter().map(|stored| stored.seq).collect();
    same("the numbers of all inputs", numbers, vec![1, 2, 3, 4])?;
    same("the rows", history(&store, &topic).await?.rows.len(), 2)
}
