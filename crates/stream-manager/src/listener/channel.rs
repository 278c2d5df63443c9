use std::error::Error;
use std::time::Duration;

use agent_loop::{UiMessage, UiPart, UiRole};
use async_trait::async_trait;
use tokio::time::{Instant, timeout_at};

use crate::fold::Fold;
use crate::reader::{ReaderBody, ReaderItem, TopicReader};
use crate::record::{RowId, RowStatus};

/// A place where people read text: a chat room, a ticket, a terminal.
#[async_trait]
pub trait Channel: Send + Sync {
    /// Sends a message. Gives what the channel calls it.
    ///
    /// # Errors
    /// If the channel does not take it.
    async fn send(&self, text: &str) -> Result<String, Box<dyn Error + Send + Sync>>;

    /// Changes a message.
    ///
    /// # Errors
    /// If the channel does not take it.
    async fn edit(&self, message: &str, text: &str) -> Result<(), Box<dyn Error + Send + Sync>>;

    /// Deletes a message: a step was taken back.
    ///
    /// # Errors
    /// If the channel does not take it.
    async fn delete(&self, message: &str) -> Result<(), Box<dyn Error + Send + Sync>>;
}

/// How an answer is written to a channel.
#[derive(Clone, Debug)]
#[must_use]
pub struct ChannelSettings {
    every: Option<Duration>,
    max_chars: usize,
    interrupted: String,
}

impl Default for ChannelSettings {
    fn default() -> Self {
        Self { every: None, max_chars: MAX_CHARS, interrupted: "(The answer was interrupted.)".to_owned() }
    }
}

/// What the strictest of the widespread channels takes in one message.
const MAX_CHARS: usize = 2_000;

impl ChannelSettings {
    /// The whole answer at its end, in messages of at most 2,000 characters.
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows the answer while it is written: what is new is sent, or edited in, at most so often.
    pub fn with_edits_every(mut self, every: Duration) -> Self {
        self.every = Some(every);
        self
    }

    /// Sets how many characters a message may have: at least 1.
    pub fn with_max_chars(mut self, chars: usize) -> Self {
        self.max_chars = chars.max(1);
        self
    }

    /// Sets what is said at the end of an answer that failed.
    pub fn with_interrupted(mut self, text: impl Into<String>) -> Self {
        self.interrupted = text.into();
        self
    }
}

/// Writes the texts of a topic's answers to a channel, until the reader ends: no reasoning, no tools. Of several rows each
/// has messages of its own.
///
/// While an answer is written, a channel that does not take an edit is tried again with the next; at its end once more, and
/// then what was not taken is an error.
///
/// # Errors
/// If the end of an answer could not be written, or the log does not answer.
pub async fn speak(
    mut reader: TopicReader,
    channel: &dyn Channel,
    settings: ChannelSettings,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut rows: Vec<Row> = Vec::new();
    let mut due: Option<Instant> = None;
    loop {
        let next = match due {
            None => Some(reader.next().await),
            Some(due) => timeout_at(due, reader.next()).await.ok(),
        };
        let Some(next) = next else {
            for row in &mut rows {
                // It is tried again with the next text.
                row.write(channel, settings.max_chars).await.ok();
            }
            due = None;
            continue;
        };
        let Some(item) = next.transpose()? else { break };
        let row = match rows.iter_mut().position(|row| row.id == item.row) {
            Some(place) => rows.get_mut(place),
            None => {
                rows.push(Row::new(item.row.clone()));
                rows.last_mut()
            }
        };
        let Some(row) = row else { continue };
        let is_over = row.take(&item, &settings);
        if is_over {
            let id = row.id.clone();
            if row.write(channel, settings.max_chars).await.is_err() {
                row.write(channel, settings.max_chars).await?;
            }
            rows.retain(|row| row.id != id);
        } else if let (Some(every), None) = (settings.every, due) {
            due = Instant::now().checked_add(every);
        }
    }
    Ok(())
}

/// A row, and the messages that show it.
#[derive(Debug)]
struct Row {
    id: RowId,
    fold: Fold,
    note: Option<String>,
    sent: Vec<(String, String)>,
}

impl Row {
    fn new(id: RowId) -> Self {
        let fold = Fold::new(UiMessage::new(id.as_str(), UiRole::Assistant));
        Self { id, fold, note: None, sent: Vec::new() }
    }

    /// Takes an item in. Returns whether the row is over.
    fn take(&mut self, item: &ReaderItem, settings: &ChannelSettings) -> bool {
        if let Some(chunk) = item.chunk() {
            self.fold.push(chunk);
        } else if let ReaderBody::Rebase(snapshot) = &item.body {
            self.fold = Fold::new(UiMessage::new(self.id.as_str(), UiRole::Assistant));
            snapshot.chunks.iter().for_each(|chunk| self.fold.push(chunk));
        }
        let is_lost = item.body == ReaderBody::Lost;
        let failed = item
            .terminal()
            .is_some_and(|terminal| matches!(terminal.status, RowStatus::Failed | RowStatus::Interrupted));
        if is_lost || failed {
            self.note = Some(settings.interrupted.clone());
        }
        is_lost || item.terminal().is_some_and(|terminal| terminal.continues.is_none())
    }

    /// Brings the channel up to date.
    async fn write(
        &mut self,
        channel: &dyn Channel,
        max_chars: usize,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let texts = self.fold.message().parts.iter().filter_map(|part| match part {
            UiPart::Text { text, .. } if !text.trim().is_empty() => Some(text.trim()),
            _ => None,
        });
        let text = texts.chain(self.note.as_deref()).collect::<Vec<_>>().join("\n\n");
        let pieces = split(&text, max_chars);
        for (at, piece) in pieces.iter().enumerate() {
            match self.sent.get_mut(at) {
                Some((_, shown)) if shown == piece => {}
                Some((id, shown)) => {
                    channel.edit(id, piece).await?;
                    (*piece).clone_into(shown);
                }
                None => {
                    let id = channel.send(piece).await?;
                    self.sent.push((id, (*piece).to_owned()));
                }
            }
        }
        while self.sent.len() > pieces.len() {
            if let Some((id, _)) = self.sent.last() {
                channel.delete(id).await?;
            }
            self.sent.pop();
        }
        Ok(())
    }
}

/// Cuts a text into pieces of at most so many characters, at the last white space of each if there is one. A piece that is
/// full stays as it is when the text grows.
fn split(text: &str, max_chars: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let Some((end, next)) = rest.char_indices().nth(max_chars) else {
            pieces.push(rest);
            break;
        };
        let (head, _) = rest.split_at(end);
        let cut = if next.is_whitespace() { end } else { head.rfind(char::is_whitespace).unwrap_or(end) };
        let (piece, tail) = rest.split_at(cut);
        pieces.push(piece.trim_end());
        rest = tail.trim_start();
    }
    pieces
}

#[cfg(test)]
mod tests;
