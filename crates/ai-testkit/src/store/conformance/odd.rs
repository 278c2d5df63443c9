use serde_json::{Value, json};
use stream_manager::port::StoreErrorKind::{Conflict, NotFound};
use stream_manager::record::{Known, Row, TopicId};

use super::kit::{
    Checked, Store, Unmet, begin, checkpoint, claim, consumed, content, fate, history, lease, open, said,
    same, settlement, stored, turn,
};

/// Rows and inputs of megabytes are kept.
pub(super) async fn large(store: Store) -> Checked {
    let topic = TopicId::from("t");
    let text = "0123456789 ü\n".repeat(8 * 1024 * 1024 / 14);
    let input = said("large", text.get(..2 * 1024 * 1024).unwrap_or(&text));
    store.accept(&topic, &input).await?;
    same("an input of 2 MiB", store.input(&topic, &"large".into()).await?.map(|it| it.input), Some(input))?;
    begin(&store, &topic, 1).await?;
    store.checkpoint(&lease(&topic, 1), &checkpoint("a-1", 1, &text)).await?;
    same("a row of 16 MiB", stored(&store, &topic, "a-1").await?.content, content("a-1", &text))?;
    let end = settlement("a-1", 1, stream_manager::record::RowStatus::Complete, "short");
    store.settle(&lease(&topic, 1), &end).await?;
    same("the row, short again", stored(&store, &topic, "a-1").await?.content, content("a-1", "short"))
}

/// JSON as deep as a server can send it, which is 128 levels, is kept inside a row, and a row that has it is read.
pub(super) async fn deep(store: Store) -> Checked {
    let topic = TopicId::from("t");
    let nested = (0..127)
        .fold(json!(1), |inner, level| if level % 2 == 0 { json!([inner]) } else { json!({"x": inner}) });
    begin(&store, &topic, 1).await?;
    let mut row = checkpoint("a-1", 1, "text");
    let ui = json!({"id": "a-1", "role": "assistant", "parts": [
        {"type": "tool-x", "toolCallId": "c", "state": "input-available", "input": nested},
    ]});
    row.content.ui = Known::Is(serde_json::from_value(ui).map_err(|error| Unmet(error.to_string()))?);
    row.content.run = Some(json!({"steps": [{"calls": [{"input": nested}]}]}));
    store.checkpoint(&lease(&topic, 1), &row).await?;
    same("a row with deep JSON", stored(&store, &topic, "a-1").await?.content, row.content)?;
    same("the open rows with deep JSON", store.orphans().await?.len(), 1)?;

    let input: Value = json!({"id": "deep", "body": {"type": "later", "x": nested}});
    let input = serde_json::from_value(input).map_err(|error| Unmet(error.to_string()))?;
    store.accept(&topic, &input).await?;
    same(
        "an input with deep JSON",
        store.input(&topic, &"deep".into()).await?.map(|it| it.input),
        Some(input),
    )
}

/// Ids are any text: kept, or refused before anything is written.
pub(super) async fn ids(store: Store) -> Checked {
    let long = "long ".repeat(205);
    let plain = [
        "a/b",
        "../../etc",
        "a:b",
        "a b",
        " a ",
        "a",
        "A",
        "ä",
        "a\u{308}",
        "😀",
        "'; --",
        "\"",
        "`",
        "%",
        "_",
        "*",
        "?",
        "[a]",
        "{a}",
        "\\",
        "a\\b",
        "\n",
        "a\r\nb",
        "\u{7f}",
        "\u{feff}",
        "null",
        "0",
        "1.0",
        "-1",
        &long,
    ];
    for id in plain {
        check_id(&store, id).await?;
    }
    let listed = store.list(&stream_manager::port::Page::default()).await?.len();
    same("how many topics there are: as many as ids", listed, plain.len())?;
    for id in ["", "\0", "a\0b", "a\0"] {
        match store.accept(&id.into(), &said(id, "Hello.")).await {
            Ok(_) => check_id(&store, id).await?,
            Err(error) if matches!(error.kind(), Conflict | NotFound) => {
                same("a refused id", store.history(&id.into()).await?, None)?;
            }
            Err(error) => return Err(Unmet(format!("id {id:?} should be kept or refused, but: {error}"))),
        }
    }
    Ok(())
}

async fn check_id(store: &Store, id: &str) -> Checked {
    let topic = TopicId::from(id);
    let lease = lease(&topic, 1);
    store.accept(&topic, &said(id, id)).await?;
    let row: Row = open(&topic, id, 1);
    store.claim_and_open(&lease, &claim(1, &[id], vec![row.clone()])).await?;
    let what = |it: &str| format!("{it} of topic, row and input {id:?}");
    let found = history(store, &topic).await?;
    same(&what("the rows"), found.rows, vec![row])?;
    same(&what("the inputs"), found.inputs.len(), 1)?;
    same(&what("the fate"), fate(store, &topic, id).await?, consumed(1))?;
    store.checkpoint(&lease, &checkpoint(id, 1, id)).await?;
    same(&what("what was written"), stored(store, &topic, id).await?.content, content(id, id))
}

/// Ids that look alike when they are joined are apart, and so are the rows of two topics.
pub(super) async fn apart(store: Store) -> Checked {
    let pairs = [("a", "b:c"), ("a:b", "c"), ("a", "b/c"), ("a/b", "c"), ("a", "bc"), ("ab", "c")];
    for (topic, id) in pairs {
        let topic = TopicId::from(topic);
        same(
            &format!("whether {topic:?} with {id:?} came before"),
            store.accept(&topic, &said(id, id)).await?.duplicate,
            false,
        )?;
        store.claim_and_open(&lease(&topic, 1), &claim(1, &[id], vec![open(&topic, id, 1)])).await?;
    }
    let [one, other] = ["one", "other"].map(TopicId::from);
    begin(&store, &one, 1).await?;
    begin(&store, &other, 1).await?;
    store.checkpoint(&lease(&one, 1), &checkpoint("a-1", 1, "of one")).await?;
    same(
        "a row of the same id in another topic",
        stored(&store, &other, "a-1").await?.content,
        content("a-1", ""),
    )?;
    store.delete(&lease(&one, 5)).await?;
    same("the other topic", history(&store, &other).await?.rows.len(), 2)?;
    same("its turn", stored(&store, &other, "a-1").await?.turn, turn(1))
}
