use jiff::Timestamp;
use jiff::tz::TimeZone;
use stream_manager::port::{Conversation, ConversationStore, Page, StoreError, TopicSummary};
use stream_manager::record::{RowStatus, TopicId};

use super::{last, lost};
use crate::config::Config;
use crate::failure::Failure;
use crate::store::Store;
use crate::text::{nearest, shorten, visible_line};
use crate::view::View;

/// What stands for the conversation that was written last.
const LAST: &str = "last";

/// How many conversations are read at once, and looked through for one whose id was meant.
const PAGE: usize = 200;

/// The most characters of a title in a note, and in a list.
const TITLE: usize = 60;

/// The conversation a user names.
pub(super) async fn topic(store: &dyn ConversationStore, id: &str) -> Result<TopicId, Failure> {
    let topics =
        |limit| async move { store.list(&Page { limit, after: None }).await.map_err(|error| lost(&error)) };
    let id = id.trim();
    if id == LAST {
        let missing = || {
            Failure::usage("no conversation is kept yet")
                .with_advice("chat ask --store and chat talk --store keep one.")
        };
        return topics(1).await?.into_iter().next().map(|summary| summary.topic).ok_or_else(missing);
    }
    let named = TopicId::from(id);
    if store.history(&named).await.map_err(|error| lost(&error))?.is_some() {
        return Ok(named);
    }
    let known = topics(PAGE).await?;
    let ids = || known.iter().map(|summary| summary.topic.as_str());
    let begins = || ids().find(|known| id.len() >= 4 && known.starts_with(id));
    let meant = nearest(id, ids()).or_else(begins);
    let meant = meant.map(|id| format!("Did you mean {id}? ")).unwrap_or_default();
    Err(Failure::usage(format!("there is no conversation {}", visible_line(&shorten(id, TITLE))))
        .with_advice(format!("{meant}chat chats lists all.")))
}

/// How a conversation stands, in words.
pub(super) fn standing(topic: &TopicId, conversation: &Conversation) -> String {
    let messages = match conversation.shown().len() {
        1 => "1 message".to_owned(),
        number => format!("{number} messages"),
    };
    let title = conversation.inputs.iter().find_map(|stored| stored.input.title()).unwrap_or_default();
    let end = match last(conversation) {
        Some(RowStatus::Interrupted) => " The last answer was interrupted: its program died.",
        Some(RowStatus::Stopped) => " The last answer was stopped.",
        Some(RowStatus::Failed) => " The last answer failed.",
        Some(RowStatus::AwaitingApproval) => {
            " The last answer waits for a decision about a tool; the next question takes its place."
        }
        Some(RowStatus::Open) => " The last answer is still being written, or its program died a moment ago.",
        _ => "",
    };
    format!("{topic}: {messages}, beginning with \"{}\".{end}", shorten(&title, TITLE))
}

/// `chat chats`.
///
/// # Errors
/// If the store cannot be used, or the list not be shown.
pub(crate) async fn list(config: &Config, view: &mut View) -> Result<(), Failure> {
    let Some(store) = Store::lasting(&config.store).await?.conversations() else { return Ok(()) };
    let mut page = Page { limit: PAGE, after: None };
    loop {
        let summaries: Result<_, StoreError> = store.list(&page).await;
        let summaries = summaries.map_err(|error| lost(&error))?;
        if summaries.is_empty() && page.after.is_none() {
            view.note("No conversation is kept yet: chat ask --store and chat talk --store keep one.")
                .map_err(Failure::of_screen)?;
        }
        for summary in &summaries {
            view.print(&line(summary)).map_err(Failure::of_screen)?;
        }
        match summaries.last() {
            Some(last) if summaries.len() == PAGE => page.after = Some((last.updated_at, last.topic.clone())),
            _ => return Ok(()),
        }
    }
}

fn line(summary: &TopicSummary) -> String {
    let time = i64::try_from(summary.updated_at).ok().and_then(|time| Timestamp::from_millisecond(time).ok());
    let time =
        time.map(|time| time.to_zoned_datetime(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string());
    let (id, title) = (visible_line(summary.topic.as_str()), visible_line(&shorten(&summary.title, TITLE)));
    format!("{id}\t{}\t{}\t{title}", time.unwrap_or_default(), summary.rows)
}
