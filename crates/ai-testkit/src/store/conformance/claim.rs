use stream_manager::port::StoreErrorKind::{Conflict, NotFound};
use stream_manager::record::{Fate, Known, RowStatus, TopicId};

use super::kit::{
    Checked, Store, Unmet, at_once as run_at_once, attempt, begin, checkpoint, claim as claiming, consumed,
    content, ensure, fails, fate, history, lease, open, said, same, settlement, stored, timeless,
};

/// Inputs are consumed and rows opened together.
pub(super) async fn claim(store: Store) -> Checked {
    let topic = TopicId::from("t");
    for id in ["i-1", "more", "waits"] {
        store.accept(&topic, &said(id, "Hello.")).await?;
    }
    let rows = vec![open(&topic, "left", 1), open(&topic, "right", 1)];
    store.claim_and_open(&lease(&topic, 1), &claiming(1, &["more", "i-1"], rows.clone())).await?;
    same("the rows", history(&store, &topic).await?.rows, rows)?;
    same("the first input", fate(&store, &topic, "i-1").await?, consumed(1))?;
    same("the second input", fate(&store, &topic, "more").await?, consumed(1))?;
    let inbox: Vec<_> = store.inbox(&topic).await?.into_iter().map(|stored| stored.input.id).collect();
    same("what waits still", inbox, vec!["waits".into()])?;

    let alone = claiming(2, &["waits"], Vec::new());
    store.claim_and_open(&lease(&topic, 1), &alone).await?;
    same("an input that is consumed without a row", fate(&store, &topic, "waits").await?, consumed(2))?;
    let without = claiming(3, &[], vec![open(&topic, "third", 3)]);
    store.claim_and_open(&lease(&topic, 1), &without).await?;
    same("how many rows there are", history(&store, &topic).await?.rows.len(), 3)
}

/// A claim that was made is no error, and changes nothing.
pub(super) async fn again(store: Store) -> Checked {
    let topic = TopicId::from("t");
    let rows = begin(&store, &topic, 1).await?;
    let first = claiming(1, &["i-1"], rows.to_vec());
    store.claim_and_open(&lease(&topic, 1), &first).await?;
    store.checkpoint(&lease(&topic, 1), &checkpoint("a-1", 1, "some text")).await?;
    store.claim_and_open(&lease(&topic, 1), &first).await?;
    let row = stored(&store, &topic, "a-1").await?;
    same("what the row holds after the claim came again", row.content, content("a-1", "some text"))?;
    same("how many rows there are", history(&store, &topic).await?.rows.len(), 2)?;

    let without = claiming(2, &[], vec![open(&topic, "b", 2)]);
    store.claim_and_open(&lease(&topic, 1), &without).await?;
    store.checkpoint(&lease(&topic, 1), &checkpoint("b", 2, "more")).await?;
    store.claim_and_open(&lease(&topic, 1), &without).await?;
    let row = stored(&store, &topic, "b").await?;
    same("what the row of a claim without inputs holds", row.content, content("b", "more"))?;

    let settled = settlement("a-1", 1, RowStatus::Complete, "all");
    store.settle(&lease(&topic, 1), &settled).await?;
    store.claim_and_open(&lease(&topic, 1), &first).await?;
    let row = stored(&store, &topic, "a-1").await?;
    same("a row that is over, after the claim came again", row.status, Known::Is(RowStatus::Complete))
}

/// A claim that does not fit leaves nothing behind.
pub(super) async fn conflict(store: Store) -> Checked {
    let topic = TopicId::from("t");
    let nowhere = claiming(1, &[], vec![open(&topic, "x", 1)]);
    fails(
        "a claim on a topic that is not there",
        store.claim_and_open(&lease(&topic, 1), &nowhere).await,
        NotFound,
    )?;
    same("a topic that a claim named", store.history(&topic).await?, None)?;

    begin(&store, &topic, 1).await?;
    for id in ["free", "gone"] {
        store.accept(&topic, &said(id, "Hello.")).await?;
    }
    let why = stream_manager::record::ReturnReason::Withdrawn;
    store.return_inputs(&lease(&topic, 1), &["gone".into()], why).await?;
    store.settle(&lease(&topic, 1), &settlement("a-1", 1, RowStatus::Complete, "done")).await?;
    let before = history(&store, &topic).await?;

    let row = || vec![open(&topic, "new", 2)];
    let stray = open(&TopicId::from("elsewhere"), "new", 2);
    let cases = [
        ("of a consumed input", claiming(2, &["free", "i-1"], row())),
        ("of a returned input", claiming(2, &["free", "gone"], row())),
        ("of an input that is not there", claiming(2, &["free", "never"], row())),
        ("of one input twice", claiming(2, &["free", "free"], row())),
        (
            "of a row that is over",
            claiming(2, &["free"], vec![open(&topic, "new", 2), open(&topic, "a-1", 2)]),
        ),
        (
            "of a row of the user",
            claiming(2, &["free"], vec![open(&topic, "new", 2), open(&topic, "u-1", 2)]),
        ),
        ("of one row twice", claiming(2, &["free"], vec![open(&topic, "new", 2), open(&topic, "new", 2)])),
        ("of a row of another topic", claiming(2, &["free"], vec![stray])),
        ("of which a part was made before", claiming(1, &["i-1", "free"], row())),
    ];
    for (what, claim) in cases {
        fails(&format!("a claim {what}"), store.claim_and_open(&lease(&topic, 1), &claim).await, Conflict)?;
        same(&format!("the topic after a claim {what}"), &history(&store, &topic).await?, &before)?;
    }
    store.claim_and_open(&lease(&topic, 1), &claiming(2, &["free"], row())).await?;
    same("the input after one that fits", fate(&store, &topic, "free").await?, consumed(2))
}

/// Of attempts that claim one input at once, one gets it.
pub(super) async fn at_once(store: Store) -> Checked {
    for round in 0..10 {
        let topic = TopicId::from(format!("t-{round}"));
        store.accept(&topic, &said("one", "Hello.")).await?;
        let tasks = (1..=8).map(|number| (store.clone(), topic.clone(), number));
        let results = run_at_once(tasks.map(|(store, topic, number)| async move {
            let row = open(&topic, &format!("row-{number}"), number);
            let claim = claiming(number, &["one"], vec![row]);
            (number, store.claim_and_open(&lease(&topic, 1), &claim).await)
        }))
        .await?;
        let mut winners = Vec::new();
        for (number, result) in results {
            match result {
                Ok(()) => winners.push(number),
                Err(error) if error.kind() == Conflict => {}
                Err(error) => return Err(error.into()),
            }
        }
        let [winner] = winners[..] else {
            return Err(Unmet(format!(
                "of eight claims of one input one should be made, but {winners:?} were"
            )));
        };
        same("whose the input is", fate(&store, &topic, "one").await?, consumed(winner))?;
        let rows: Vec<_> = history(&store, &topic).await?.rows.into_iter().map(|row| row.attempt).collect();
        same("whose the rows are", rows, vec![Some(attempt(winner))])?;
    }
    Ok(())
}

/// A row that is not over goes on under another attempt, in its place; one that is over does not.
pub(super) async fn reopen(store: Store) -> Checked {
    let topic = TopicId::from("t");
    for number in 1..=3 {
        begin(&store, &topic, number).await?;
    }
    let held = |status| (status, None);
    let runs = |status| (status, Some(serde_json::json!({"step": 3})));
    let cases = [
        (held(RowStatus::Open), true),
        (held(RowStatus::AwaitingApproval), true),
        (runs(RowStatus::Complete), true),
        (runs(RowStatus::Interrupted), true),
        (held(RowStatus::Complete), false),
        (held(RowStatus::Stopped), false),
        (held(RowStatus::Failed), false),
        (held(RowStatus::Interrupted), false),
    ];
    for (number, ((status, run), can)) in (10..).step_by(10).zip(cases) {
        let [_, first] = begin(&store, &topic, number).await?;
        let id = first.id.as_str();
        let what = format!("a row that is {} with {run:?} as its run", status.as_str());
        let mut settled = settlement(id, number, status, "so far");
        settled.content.run = run;
        store.settle(&lease(&topic, 1), &settled).await?;
        let rows = history(&store, &topic).await?.rows;
        let place = rows.iter().position(|row| row.id == first.id);

        store.accept(&topic, &said(&format!("steer-{number}"), "And?")).await?;
        let mut next = open(&topic, id, number + 1);
        next.created_at = first.created_at + 5;
        next.updated_at = first.created_at + 7;
        next.content = content(id, "from here");
        let steer = format!("steer-{number}");
        let again = claiming(number + 1, &[&steer], vec![next.clone()]);
        let made = store.claim_and_open(&lease(&topic, 1), &again).await;
        if !can {
            fails(&what, made, Conflict)?;
            same(
                &format!("the input for {what}"),
                fate(&store, &topic, &steer).await?,
                Known::Is(Fate::Queued),
            )?;
            continue;
        }
        made?;
        let after = history(&store, &topic).await?.rows;
        ensure(
            after.len() == rows.len() && after.iter().position(|row| row.id == first.id) == place,
            || format!("{what} should stay in its place"),
        )?;
        let row = stored(&store, &topic, id).await?;
        same(&format!("when {what} was opened"), row.created_at, first.created_at)?;
        next.created_at = first.created_at;
        same(&format!("{what}, opened again"), timeless(&row), timeless(&next))?;
        let late = store.checkpoint(&lease(&topic, 1), &checkpoint(id, number, "late")).await?;
        ensure(late == stream_manager::port::Written::Already, || {
            format!("the attempt before should not write {what} any more, but it gave {late:?}")
        })?;
    }
    Ok(())
}
