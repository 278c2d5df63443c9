use std::collections::BTreeSet;

use stream_manager::record::{Fate, Known, ReturnReason, StoredInput, TopicId};

use super::kit::{Checked, Store, at_once as run_at_once, begin, consumed, ensure, lease, said, same, told};

/// Inputs are numbered from 1 in the order in which they come, and kept as they are.
pub(super) async fn accept(store: Store) -> Checked {
    let (topic, other) = (TopicId::from("t"), TopicId::from("other"));
    same("an input of a topic that is not there", store.input(&topic, &"a".into()).await?, None)?;
    same("the inbox of a topic that is not there", store.inbox(&topic).await?, vec![])?;
    same("the history of a topic that is not there", store.history(&topic).await?, None)?;

    let first = said("c", "one");
    let inputs = [first.clone(), said("a", "two").with_models(["m", "n"]), said("b", "three")];
    for (seq, input) in (1..).zip(&inputs) {
        let accepted = store.accept(&topic, input).await?;
        same("the number of an input", accepted.seq, seq)?;
        same("whether it came before", accepted.duplicate, false)?;
        same("its fate", accepted.fate, Known::Is(Fate::Queued))?;
    }
    same("the first number of another topic", store.accept(&other, &first).await?.seq, 1)?;

    let inbox = store.inbox(&topic).await?;
    let wanted = (1..).zip(&inputs).zip(&inbox);
    let wanted =
        wanted.map(|((seq, input), stored)| StoredInput::queued(seq, input.clone(), stored.accepted_at));
    let wanted: Vec<_> = wanted.collect();
    same("how many wait", inbox.len(), 3)?;
    same("what waits", &inbox, &wanted)?;
    ensure(inbox.iter().all(|stored| stored.accepted_at > 1_600_000_000_000), || {
        format!("when they were accepted should be milliseconds since 1970: {}", told(&inbox))
    })?;
    ensure(inbox.is_sorted_by_key(|stored| stored.accepted_at), || "times should not run back".to_owned())?;
    same("one input", store.input(&topic, &"a".into()).await?.as_ref(), wanted.get(1))?;
    same("an input that is not there", store.input(&topic, &"d".into()).await?, None)?;
    let history = store.history(&topic).await?.unwrap_or_default();
    same("the inputs of the history", &history.inputs, &wanted)?;
    same("the rows of the history", history.rows, vec![])
}

/// The same id again is the same input, whatever has become of it.
pub(super) async fn again(store: Store) -> Checked {
    let topic = TopicId::from("t");
    store.accept(&topic, &said("i-1", "Hello.")).await?;
    let twice = store.accept(&topic, &said("i-1", "Something else.")).await?;
    same("an input again", (twice.seq, twice.duplicate), (1, true))?;
    same("its fate", twice.fate, Known::Is(Fate::Queued))?;
    let stored = store.input(&topic, &"i-1".into()).await?.map(|stored| stored.input);
    same("what it says: the first counts", stored, Some(said("i-1", "Hello.")))?;

    begin(&store, &topic, 1).await?;
    let twice = store.accept(&topic, &said("i-1", "Hello.")).await?;
    same("a consumed input again", (twice.seq, twice.duplicate), (1, true))?;
    same("its fate", twice.fate, consumed(1))?;
    same("what waits then", store.inbox(&topic).await?, vec![])?;

    store.accept(&topic, &said("b", "no")).await?;
    store.return_inputs(&lease(&topic, 1), &["b".into()], ReturnReason::Withdrawn).await?;
    let twice = store.accept(&topic, &said("b", "no")).await?;
    same("a returned input again", (twice.seq, twice.duplicate), (2, true))?;
    same("its fate", twice.fate, Known::Is(Fate::Returned { why: ReturnReason::Withdrawn }))?;
    same("the next number", store.accept(&topic, &said("c", "next")).await?.seq, 3)
}

/// Of one input sent from eight tasks one counts; of eight inputs each gets a number of its own.
pub(super) async fn at_once(store: Store) -> Checked {
    for round in 0..8 {
        let topic = TopicId::from(format!("t-{round}"));
        let tasks = (0..8).map(|_| (store.clone(), topic.clone()));
        let results = run_at_once(
            tasks.map(|(store, topic)| async move { store.accept(&topic, &said("same", "Hello.")).await }),
        )
        .await?;
        let accepted = results.into_iter().collect::<Result<Vec<_>, _>>()?;
        let first = accepted.iter().filter(|accepted| !accepted.duplicate).count();
        same("how many of eight sends of one input are the first", first, 1)?;
        ensure(accepted.iter().all(|accepted| accepted.seq == 1), || {
            format!("one input should have one number, but has {accepted:?}")
        })?;

        let tasks = (0..8).map(|number| (store.clone(), topic.clone(), format!("own-{number}")));
        let results = run_at_once(
            tasks.map(|(store, topic, id)| async move { store.accept(&topic, &said(&id, "Hello.")).await }),
        )
        .await?;
        let mut numbers = BTreeSet::new();
        for accepted in results {
            numbers.insert(accepted?.seq);
        }
        same("the numbers of eight inputs sent at once", numbers, (2..=9).collect())?;
        let inbox: Vec<u64> = store.inbox(&topic).await?.iter().map(|stored| stored.seq).collect();
        same("the numbers of what waits", inbox, (1..=9).collect())?;
    }
    Ok(())
}
