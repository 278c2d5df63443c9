//! What is read, each on one state of the file.

use rusqlite::{OptionalExtension, Params, Transaction};
use stream_manager::port::{Conversation, Orphan, Page, StoreError, TopicSummary, decode};
use stream_manager::record::{InputId, StoredInput, TopicId};

use crate::error::{from_sql, store_error};
use crate::row::{self, READ};

const INPUT: &str = "SELECT i.seq, i.body, i.fate, i.accepted_at
                     FROM topics AS t JOIN inputs AS i ON i.topic = t.key WHERE t.topic = ?1";

pub(crate) fn input(
    transaction: &Transaction<'_>,
    topic: &TopicId,
    id: &InputId,
) -> Result<Option<StoredInput>, StoreError> {
    let sql = format!("{INPUT} AND i.input = ?2");
    Ok(all(transaction, &sql, (topic.as_str(), id.as_str()), stored_input)?.pop())
}

pub(crate) fn inbox(transaction: &Transaction<'_>, topic: &TopicId) -> Result<Vec<StoredInput>, StoreError> {
    let sql = format!("{INPUT} AND i.queued = 1 ORDER BY i.seq");
    all(transaction, &sql, [topic.as_str()], stored_input)
}

pub(crate) fn history(
    transaction: &Transaction<'_>,
    topic: &TopicId,
) -> Result<Option<Conversation>, StoreError> {
    let sql = "SELECT key FROM topics WHERE topic = ?1 AND live = 1";
    let key = transaction.prepare_cached(sql).and_then(|mut statement| {
        statement.query_row([topic.as_str()], |row| row.get::<_, i64>(0)).optional()
    });
    let Some(key) = key.map_err(|error| store_error("reading a topic", error))? else { return Ok(None) };
    let sql = format!("SELECT {READ} FROM rows WHERE topic = ?1 ORDER BY place");
    let rows = all(transaction, &sql, [key], row::read)?;
    let inputs = all(transaction, &format!("{INPUT} ORDER BY i.seq"), [topic.as_str()], stored_input)?;
    Ok(Some(Conversation::new(rows, inputs)))
}

pub(crate) fn list(transaction: &Transaction<'_>, page: &Page) -> Result<Vec<TopicSummary>, StoreError> {
    let limit = i64::try_from(page.limit).unwrap_or(i64::MAX);
    let select = "SELECT topic, title, created_at, updated_at,
                  (SELECT count(*) FROM rows WHERE rows.topic = topics.key) FROM topics WHERE live = 1";
    let order = "ORDER BY updated_at DESC, topic DESC LIMIT ?1";
    match &page.after {
        None => all(transaction, &format!("{select} {order}"), [limit], summary),
        Some((at, topic)) => {
            let at = i64::try_from(*at).unwrap_or(i64::MAX);
            let sql = format!("{select} AND (updated_at, topic) < (?2, ?3) {order}");
            all(transaction, &sql, (limit, at, topic.as_str()), summary)
        }
    }
}

pub(crate) fn orphans(transaction: &Transaction<'_>) -> Result<Vec<Orphan>, StoreError> {
    let sql = format!("SELECT {READ} FROM rows WHERE status = '\"open\"' ORDER BY topic, place");
    let mut orphans: Vec<Orphan> = Vec::new();
    for row in all(transaction, &sql, [], row::read)? {
        match orphans.last_mut().filter(|orphan| orphan.topic == row.topic) {
            Some(orphan) => orphan.rows.push(row),
            None => orphans.push(Orphan::new(row.topic.clone(), vec![row])),
        }
    }
    Ok(orphans)
}

pub(crate) fn waiting(transaction: &Transaction<'_>) -> Result<Vec<TopicId>, StoreError> {
    let sql = "SELECT topic FROM topics WHERE key IN (SELECT topic FROM inputs WHERE queued = 1)";
    all(transaction, sql, [], |row| {
        let topic: String = row.get(0).map_err(|error| store_error("reading a topic", error))?;
        Ok(TopicId::from(topic))
    })
}

fn all<T>(
    transaction: &Transaction<'_>,
    sql: &str,
    values: impl Params,
    read: impl Fn(&rusqlite::Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let failed = |error| store_error("reading the database", error);
    let mut statement = transaction.prepare_cached(sql).map_err(failed)?;
    let mut rows = statement.query(values).map_err(failed)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(failed)? {
        found.push(read(row)?);
    }
    Ok(found)
}

fn stored_input(row: &rusqlite::Row<'_>) -> Result<StoredInput, StoreError> {
    let failed = |error| store_error("reading an input", error);
    let (body, fate): (String, String) = (row.get(1).map_err(failed)?, row.get(2).map_err(failed)?);
    let seq = from_sql(row.get(0).map_err(failed)?)?;
    let mut stored = StoredInput::queued(seq, decode(&body)?, from_sql(row.get(3).map_err(failed)?)?);
    stored.fate = decode(&fate)?;
    Ok(stored)
}

fn summary(row: &rusqlite::Row<'_>) -> Result<TopicSummary, StoreError> {
    let failed = |error| store_error("reading a list of topics", error);
    let (topic, title): (String, String) = (row.get(0).map_err(failed)?, row.get(1).map_err(failed)?);
    let number = |column| row.get(column).map_err(failed).and_then(from_sql);
    Ok(TopicSummary::new(topic.into(), title, number(4)?, number(2)?, number(3)?))
}
