use std::collections::BTreeSet;

use stream_manager::port::{
    Orphan, Page,
    StoreErrorKind::{Conflict, NotFound},
    TopicSummary, Written,
};
use stream_manager::record::{Input, InputBody, ReturnReason, RowStatus, TopicId};

use super::kit::{
    Checked, Store, Unmet, begin, checkpoint, claim, ensure, history, lease, open, said, same, settlement,
};

/// Rows come in the order in which they were opened, inputs in that in which they were accepted.
pub(super) async fn order(store: Store) -> Checked {
    let topic = TopicId::from("t");
    let mut wanted = Vec::new();
    for number in [5, 3, 9, 1, 7, 2] {
        wanted.extend(begin(&store, &topic, number).await?.map(|row| row.id));
    }
    let ids = ["z", "m", "a", "10", "9"];
    let rows = ids.iter().map(|id| open(&topic, id, 20)).collect();
    store.accept(&topic, &said("last", "Hello.")).await?;
    store.claim_and_open(&lease(&topic, 1), &claim(20, &["last"], rows)).await?;
    wanted.extend(ids.map(Into::into));
    store.settle(&lease(&topic, 1), &settlement("a-3", 3, RowStatus::Complete, "late")).await?;
    let found = history(&store, &topic).await?;
    let rows: Vec<_> = found.rows.into_iter().map(|row| row.id).collect();
    same("the order of the rows", rows, wanted)?;
    let inputs: Vec<_> = found.inputs.into_iter().map(|stored| stored.input.id.to_string()).collect();
    let wanted = ["i-5", "i-3", "i-9", "i-1", "i-7", "i-2", "last"].map(str::to_owned);
    same("the order of the inputs", inputs, wanted.to_vec())
}

/// A list names the topics, the latest written first.
pub(super) async fn list(store: Store) -> Checked {
    same("the list of an empty store", store.list(&Page::default()).await?, vec![])?;
    let long = format!("  What\n is {} ", "ü".repeat(300));
    for (topic, text) in [("a", "About a"), ("b", long.as_str()), ("c", "")] {
        store.accept(&topic.into(), &said("i", text)).await?;
        tick().await;
    }
    store.accept(&"c".into(), &Input::new("j", InputBody::Regenerate { row: "r".into() })).await?;
    store.accept(&"c".into(), &said("k", "Said later")).await?;
    tick().await;
    begin(&store, &"a".into(), 1).await?;

    let topics = store.list(&Page::default()).await?;
    let names: Vec<&str> = topics.iter().map(|summary| summary.topic.as_str()).collect();
    same("the order of the topics", names, vec!["a", "c", "b"])?;
    let titles: Vec<&str> = topics.iter().map(|summary| summary.title.as_str()).collect();
    let cut = format!("What is {}", "ü".repeat(192));
    same("the titles", titles, vec!["About a", "Said later", &cut])?;
    same("how many rows they have", topics.iter().map(|it| it.rows).collect(), vec![2, 0, 0])?;
    ensure(
        topics.iter().all(|it| it.created_at > 1_600_000_000_000 && it.created_at <= it.updated_at),
        || format!("times should be milliseconds since 1970, and updated after created: {topics:?}"),
    )?;
    ensure(topics.first().is_some_and(|it| it.created_at < it.updated_at), || {
        "a topic that was written later should say so".to_owned()
    })?;

    for (what, topic) in [("a claim", "b"), ("a checkpoint", "c"), ("an end", "b"), ("a return", "c")] {
        tick().await;
        let topic = TopicId::from(topic);
        let lease = lease(&topic, 1);
        match what {
            "a claim" => {
                begin(&store, &"c".into(), 1).await?;
                tick().await;
                begin(&store, &topic, 1).await?;
            }
            "a checkpoint" => drop(store.checkpoint(&lease, &checkpoint("a-1", 1, "x")).await?),
            "an end" => {
                store.accept(&"c".into(), &said("back", "x")).await?;
                tick().await;
                store.settle(&lease, &settlement("a-1", 1, RowStatus::Complete, "x")).await?;
            }
            _ => store.return_inputs(&lease, &["back".into()], ReturnReason::Stopped).await?,
        }
        let first = store.list(&Page { limit: 1, after: None }).await?;
        let first = first.first().map(|summary| summary.topic.clone());
        same(&format!("the first topic after {what}"), first, Some(topic))?;
    }
    Ok(())
}

/// Lets the clock of the store reach another millisecond. The store has its own clock, so that tokio's cannot do it.
async fn tick() {
    let start = std::time::Instant::now();
    while start.elapsed() < std::time::Duration::from_millis(3) {
        tokio::task::yield_now().await;
    }
}

/// Pages join without a gap and without a double, also where times are equal.
pub(super) async fn pages(store: Store) -> Checked {
    let mut wanted = BTreeSet::new();
    for number in 0..40 {
        let topic = TopicId::from(format!("t-{number}"));
        store.accept(&topic, &said("i", "Hello.")).await?;
        wanted.insert(topic);
    }
    let all = store.list(&Page { limit: usize::MAX, after: None }).await?;
    let place = |summary: &TopicSummary| (summary.updated_at, summary.topic.clone());
    ensure(all.iter().map(place).is_sorted_by(|one, other| one > other), || {
        "topics should come latest first, and those of one millisecond by their ids, the greatest first"
            .to_owned()
    })?;
    same("the topics of a page without a limit", all.iter().map(|it| it.topic.clone()).collect(), wanted)?;
    for limit in [1, 7, 40, 41] {
        let mut page = Page { limit, after: None };
        let mut joined = Vec::new();
        loop {
            let topics = store.list(&page).await?;
            ensure(topics.len() <= limit, || format!("a page of {limit} has {} topics", topics.len()))?;
            let Some(last) = topics.last() else { break };
            page.after = Some(place(last));
            joined.extend(topics);
            ensure(joined.len() <= all.len(), || format!("pages of {limit} have topics twice"))?;
        }
        same(&format!("pages of {limit}, joined"), &joined, &all)?;
    }
    same("a page of none", store.list(&Page { limit: 0, after: None }).await?, vec![])?;
    let ages_ago = Page { limit: 9, after: Some((0, "x".into())) };
    same("a page behind the end", store.list(&ages_ago).await?, vec![])?;
    let never = Page { limit: 9, after: Some((u64::MAX, "x".into())) };
    same("a page behind a time to come", store.list(&never).await?.len(), 9)
}

/// A deleted topic is gone, and what is written for it late brings nothing back.
pub(super) async fn delete(store: Store) -> Checked {
    let (topic, other) = (TopicId::from("t"), TopicId::from("other"));
    same("the deletion of nothing", store.delete(&lease(&topic, 1)).await?, false)?;
    begin(&store, &topic, 1).await?;
    store.accept(&topic, &said("waits", "Hello.")).await?;
    begin(&store, &other, 1).await?;
    let others = history(&store, &other).await?;
    same("the deletion of a topic", store.delete(&lease(&topic, 1)).await?, true)?;
    same("its deletion again", store.delete(&lease(&topic, 1)).await?, false)?;

    let lease = lease(&topic, 1);
    let late = store.checkpoint(&lease, &checkpoint("a-1", 1, "late")).await?;
    same("a late checkpoint", late, Written::Gone)?;
    let mut end = settlement("a-1", 1, RowStatus::Complete, "late");
    end.returned.push(("waits".into(), ReturnReason::Deleted));
    same("a late end", store.settle(&lease, &end).await?, Written::Gone)?;
    store.return_inputs(&lease, &["waits".into()], ReturnReason::Deleted).await?;
    match store.claim_and_open(&lease, &claim(2, &["waits"], vec![open(&topic, "new", 2)])).await {
        Err(error) if matches!(error.kind(), NotFound | Conflict) => {}
        other => return Err(Unmet(format!("a late claim should not be found, but gives {other:?}"))),
    }
    same("the history", store.history(&topic).await?, None)?;
    same("an input", store.input(&topic, &"waits".into()).await?, None)?;
    same("the inbox", store.inbox(&topic).await?, vec![])?;
    let listed: Vec<_> = store.list(&Page::default()).await?.into_iter().map(|it| it.topic).collect();
    same("the list", listed, vec![other.clone()])?;
    same("topics that wait", store.waiting().await?, vec![])?;
    let open: Vec<_> = store.orphans().await?.into_iter().map(|orphan| orphan.topic).collect();
    same("topics with open rows", open, vec![other.clone()])?;
    same("another topic", history(&store, &other).await?, others)?;

    let anew = store.accept(&topic, &said("i-1", "Anew.")).await?;
    same("the first input of the topic made anew", (anew.seq, anew.duplicate), (1, false))?;
    let late = store.checkpoint(&lease, &checkpoint("a-1", 1, "late")).await?;
    same("a late checkpoint of a row before", late, Written::Gone)?;
    let found = history(&store, &topic).await?;
    same("what the topic made anew has", (found.rows.len(), found.inputs.len()), (0, 1))?;
    let title = store.list(&Page { limit: 1, after: None }).await?.first().map(|it| it.title.clone());
    same("its title", title, Some("Anew.".to_owned()))
}

/// Open rows are found, and only they.
pub(super) async fn orphans(store: Store) -> Checked {
    same("the open rows of an empty store", store.orphans().await?, vec![])?;
    let (done, half) = (TopicId::from("done"), TopicId::from("half"));
    for number in 1..=5 {
        begin(&store, &done, number).await?;
        begin(&store, &half, number).await?;
    }
    let ends = [RowStatus::Complete, RowStatus::Stopped, RowStatus::Failed, RowStatus::Interrupted];
    for (number, status) in (1..).zip(ends.into_iter().chain([RowStatus::AwaitingApproval])) {
        let end = settlement(&format!("a-{number}"), number, status, "end");
        store.settle(&lease(&done, 1), &end).await?;
    }
    store.settle(&lease(&half, 1), &settlement("a-2", 2, RowStatus::Complete, "end")).await?;
    store.settle(&lease(&half, 1), &settlement("a-3", 3, RowStatus::Open, "goes on")).await?;
    let rows = history(&store, &half).await?.rows;
    let open =
        rows.into_iter().filter(|row| ["a-1", "a-3", "a-4", "a-5"].contains(&row.id.as_str())).collect();
    same("the open rows", store.orphans().await?, vec![Orphan::new(half, open)])
}

/// Topics whose inputs wait are found, and only they.
pub(super) async fn waiting(store: Store) -> Checked {
    same("topics that wait, of an empty store", store.waiting().await?, vec![])?;
    for topic in ["a", "b", "c", "d"] {
        begin(&store, &topic.into(), 1).await?;
    }
    for topic in ["b", "c", "d"] {
        store.accept(&topic.into(), &said("x", "Hello.")).await?;
        store.accept(&topic.into(), &said("y", "Hello.")).await?;
    }
    let d = TopicId::from("d");
    store.return_inputs(&lease(&d, 1), &["x".into(), "y".into()], ReturnReason::Stopped).await?;
    let c = TopicId::from("c");
    store.claim_and_open(&lease(&c, 1), &claim(2, &["x"], vec![])).await?;
    let found: BTreeSet<_> = store.waiting().await?.into_iter().collect();
    same("topics that wait", found, BTreeSet::from(["b".into(), c]))?;
    same("how often they are named", store.waiting().await?.len(), 2)
}
