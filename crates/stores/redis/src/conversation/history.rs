use std::collections::HashMap;

use stream_manager::port::{Conversation, StoreError};
use stream_manager::record::{Row, StoredInput, TopicId};

use super::row::Pieces;
use super::{RawInput, read_input};
use crate::error::corrupt;
use crate::server::Args;
use crate::store::RedisStore;

type Hash = HashMap<String, String>;

impl RedisStore {
    pub(super) async fn read_history(&self, topic: &TopicId) -> Result<Option<Conversation>, StoreError> {
        let what = format!("reading the history of topic {topic}");
        let script = &self.scripts().conversation.history;
        let args = Args::new().text(topic.as_str());
        let found: Vec<(Hash, Hash)> =
            self.server().run(what, script, &self.conversation_keys(topic), args).await?;
        let Some((rows, inputs)) = found.into_iter().next() else { return Ok(None) };
        Ok(Some(Conversation::new(join_rows(rows)?, join_inputs(&inputs)?)))
    }

    pub(super) async fn open_rows(&self, topic: &TopicId) -> Result<Vec<Row>, StoreError> {
        let what = format!("reading the open rows of topic {topic}");
        let script = &self.scripts().conversation.open;
        let args = Args::new().text(topic.as_str());
        let rows: Vec<(String, String, u64, u64, String)> =
            self.server().run(what, script, &self.conversation_keys(topic), args).await?;
        rows.into_iter().map(|row| Pieces::from(row).join()).collect()
    }
}

/// The rows of a hash, by their places.
fn join_rows(fields: Hash) -> Result<Vec<Row>, StoreError> {
    let mut rows: HashMap<String, (u64, Pieces)> = HashMap::new();
    for (field, value) in fields {
        let Some((kind, id)) = split(&field) else { continue };
        let (place, row) = rows.entry(id.to_owned()).or_default();
        match kind {
            'h' => row.head = value,
            's' => row.status = value,
            'c' => row.content = value,
            '@' => row.created_at = number(&value)?,
            'w' => row.updated_at = number(&value)?,
            'p' => *place = number(&value)?,
            _ => {}
        }
    }
    let mut rows: Vec<_> = rows.into_values().collect();
    rows.sort_unstable_by_key(|(place, _)| *place);
    rows.iter().map(|(_, row)| row.join()).collect()
}

fn join_inputs(fields: &Hash) -> Result<Vec<StoredInput>, StoreError> {
    let mut inputs: Vec<RawInput> = Vec::new();
    for (field, value) in fields {
        let Some(('i', seq)) = split(field) else { continue };
        let at = |kind| {
            fields.get(&format!("{kind}{seq}")).ok_or_else(|| corrupt(format!("input {seq} is not whole")))
        };
        inputs.push((number(seq)?, value.clone(), at('f')?.clone(), number(at('@')?)?));
    }
    inputs.sort_unstable_by_key(|(seq, ..)| *seq);
    inputs.into_iter().map(read_input).collect()
}

/// What a field holds, and of which row or input.
fn split(field: &str) -> Option<(char, &str)> {
    let mut chars = field.chars();
    Some((chars.next()?, chars.as_str()))
}

fn number(text: &str) -> Result<u64, StoreError> {
    let unreadable =
        |error: std::num::ParseIntError| corrupt(format!("{text:?} is no number")).with_source(error);
    text.parse().map_err(unreadable)
}
