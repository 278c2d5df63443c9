use std::collections::VecDeque;
use std::time::Duration;

use agent_loop::UiChunk;
use tokio::time::{Instant, timeout_at};

use crate::port::StoreError;
use crate::reader::{ReaderBody, ReaderItem, TopicReader};

/// A reader that gives deltas in fewer, larger ones: for user interfaces that draw at each.
///
/// Deltas of one block or input that come within the window are one, up to 2,048 characters. Everything else comes at once,
/// behind what was held of its row. A delta with provider metadata is left as it is. A merged item says which records it
/// stands for, so that its [cursor](ReaderItem::cursor) is that of the last.
#[derive(Debug)]
pub struct Coalesced {
    reader: TopicReader,
    merger: Merger,
    window: Duration,
    /// When what is held is given out.
    due: Option<Instant>,
    over: bool,
}

/// One frame of a screen.
const WINDOW: Duration = Duration::from_millis(16);

/// More text than a person reads between two frames, so that a burst is drawn in pieces.
const MOST: usize = 2_048;

impl Coalesced {
    /// Merges what comes within 16 ms.
    pub fn new(reader: TopicReader) -> Self {
        Self { reader, merger: Merger::default(), window: WINDOW, due: None, over: false }
    }

    /// Sets how long a delta may be held. Above 50 ms text begins to stutter.
    #[must_use]
    pub fn with_window(mut self, window: Duration) -> Self {
        self.window = window;
        self
    }

    /// What comes next. `None` at the end. Dropping the future loses nothing.
    ///
    /// # Errors
    /// If the log does not answer: behind all that was read.
    pub async fn next(&mut self) -> Option<Result<ReaderItem, StoreError>> {
        loop {
            if let Some(item) = self.merger.ready.pop_front() {
                return Some(Ok(item));
            }
            if self.over {
                return None;
            }
            let next = self.reader.next();
            let item = match self.due {
                None => next.await,
                Some(due) => match timeout_at(due, next).await {
                    Ok(item) => item,
                    Err(_) => {
                        self.flush();
                        continue;
                    }
                },
            };
            match item {
                Some(Ok(item)) => {
                    self.merger.push(item);
                    if self.merger.held.is_empty() {
                        self.due = None;
                    } else if self.due.is_none() {
                        self.due = Instant::now().checked_add(self.window);
                    }
                }
                Some(Err(error)) => {
                    // What is held stands behind the cursor of the last item: the next reader gets it again.
                    self.over = true;
                    self.merger = Merger::default();
                    return Some(Err(error));
                }
                None => {
                    self.over = true;
                    self.flush();
                }
            }
        }
    }

    fn flush(&mut self) {
        self.merger.flush();
        self.due = None;
    }
}

/// Merges deltas, without a clock.
#[derive(Debug, Default)]
struct Merger {
    /// One for each row whose last item is a delta.
    held: Vec<Held>,
    ready: VecDeque<ReaderItem>,
}

#[derive(Debug)]
struct Held {
    item: ReaderItem,
    chars: usize,
}

impl Merger {
    fn push(&mut self, item: ReaderItem) {
        let place = self.held.iter().position(|held| held.item.row == item.row);
        let Some(chars) = item.chunk().and_then(bare_delta).map(|text| text.chars().count()) else {
            self.release(place);
            self.ready.push_back(item);
            return;
        };
        let held = place.and_then(|place| self.held.get_mut(place));
        if let Some(held) = held.filter(|held| held.chars + chars <= MOST)
            && held.extend(&item)
        {
            held.chars += chars;
            if held.chars == MOST {
                self.release(place);
            }
            return;
        }
        self.release(place);
        if chars >= MOST {
            self.ready.push_back(item);
        } else {
            self.held.push(Held { item, chars });
        }
    }

    fn release(&mut self, place: Option<usize>) {
        if let Some(place) = place {
            self.ready.push_back(self.held.remove(place).item);
        }
    }

    fn flush(&mut self) {
        self.ready.extend(self.held.drain(..).map(|held| held.item));
    }
}

impl Held {
    /// Adds the text of an item that goes on with this one, if it does.
    fn extend(&mut self, next: &ReaderItem) -> bool {
        let (Some(ours), Some(theirs)) = (self.item.chunk(), next.chunk()) else { return false };
        if self.item.attempt != next.attempt || !is_same_block(ours, theirs) {
            return false;
        }
        if !matches!(self.item.body, ReaderBody::Merged(_)) {
            self.item.body = ReaderBody::Merged(ours.clone());
        }
        let text = bare_delta(theirs).unwrap_or_default();
        if let ReaderBody::Merged(
            UiChunk::TextDelta { delta, .. }
            | UiChunk::ReasoningDelta { delta, .. }
            | UiChunk::ToolInputDelta { input_text_delta: delta, .. },
        ) = &mut self.item.body
        {
            delta.push_str(text);
        }
        self.item.last = next.last;
        true
    }
}

/// The text of a delta that has nothing else.
fn bare_delta(chunk: &UiChunk) -> Option<&str> {
    match chunk {
        UiChunk::TextDelta { delta, provider_metadata: None, .. }
        | UiChunk::ReasoningDelta { delta, provider_metadata: None, .. }
        | UiChunk::ToolInputDelta { input_text_delta: delta, .. } => Some(delta),
        _ => None,
    }
}

fn is_same_block(one: &UiChunk, other: &UiChunk) -> bool {
    match (one, other) {
        (UiChunk::TextDelta { id: one, .. }, UiChunk::TextDelta { id: other, .. })
        | (UiChunk::ReasoningDelta { id: one, .. }, UiChunk::ReasoningDelta { id: other, .. })
        | (
            UiChunk::ToolInputDelta { tool_call_id: one, .. },
            UiChunk::ToolInputDelta { tool_call_id: other, .. },
        ) => one == other,
        _ => false,
    }
}
