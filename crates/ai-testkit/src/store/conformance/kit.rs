//! What the checks are made of.

use std::fmt::Debug;
use std::sync::Arc;

use agent_loop::{UiMessage, UiPart, UiRole};
use ai_provider::Message;
use futures_util::future::BoxFuture;
use stream_manager::port::{
    Checkpoint, Claim, Conversation, ConversationStore, Lease, Settlement, StoreError, StoreErrorKind,
};
use stream_manager::record::{
    AttemptId, Fate, Input, InputBody, InputId, Known, Queue, Row, RowContent, RowStatus, TopicId, TurnId,
};
use tokio::task::JoinSet;

pub(super) type Checking = BoxFuture<'static, Checked>;
pub(super) type Checked<T = ()> = Result<T, Unmet>;
pub(super) type Store = Arc<dyn ConversationStore>;

/// What does not hold.
#[derive(Debug)]
pub(super) struct Unmet(pub(super) String);

impl From<StoreError> for Unmet {
    fn from(error: StoreError) -> Self {
        Self(format!("it fails: {error} ({:?})", error.kind()))
    }
}

/// Values are told up to so many characters.
const TOLD: usize = 600;

pub(super) fn told(value: &impl Debug) -> String {
    let text = format!("{value:?}");
    match text.char_indices().nth(TOLD) {
        Some((at, _)) => format!("{}… ({} bytes)", text.get(..at).unwrap_or_default(), text.len()),
        None => text,
    }
}

pub(super) fn ensure(holds: bool, what: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(Unmet(what())) }
}

pub(super) fn same<T: PartialEq + Debug>(what: &str, got: T, wanted: T) -> Checked {
    ensure(got == wanted, || format!("{what} should be {}, but is {}", told(&wanted), told(&got)))
}

/// It must fail, and so.
pub(super) fn fails<T: Debug>(what: &str, got: Result<T, StoreError>, kind: StoreErrorKind) -> Checked {
    match got {
        Err(error) if error.kind() == kind => Ok(()),
        Err(error) => {
            Err(Unmet(format!("{what} should fail as {kind:?}, but fails as {:?}: {error}", error.kind())))
        }
        Ok(value) => Err(Unmet(format!("{what} should fail as {kind:?}, but gives {}", told(&value)))),
    }
}

/// Does something so often at once, on as many threads as there are.
pub(super) async fn at_once<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    tasks: impl IntoIterator<Item = F>,
) -> Checked<Vec<T>> {
    let mut set = JoinSet::new();
    for task in tasks {
        set.spawn(task);
    }
    let mut results = Vec::new();
    while let Some(result) = set.join_next().await {
        results.push(result.map_err(|error| Unmet(format!("a call panicked: {error}")))?);
    }
    Ok(results)
}

pub(super) fn lease(topic: &TopicId, epoch: u64) -> Lease {
    Lease::new(topic.clone(), "node".into(), epoch)
}

pub(super) fn attempt(number: u64) -> AttemptId {
    AttemptId { epoch: 1, number }
}

pub(super) fn turn(number: u64) -> TurnId {
    TurnId { epoch: 1, number }
}

/// Something the user says.
pub(super) fn said(id: &str, text: &str) -> Input {
    let message = Arc::new(Message::user(text));
    Input::new(id, InputBody::Message { message, queue: Queue::Steer, parent: None })
}

pub(super) fn content(row: &str, text: &str) -> RowContent {
    let mut ui = UiMessage::new(row, UiRole::Assistant);
    ui.parts.push(UiPart::Text {
        text: text.to_owned(),
        state: None,
        citations: None,
        provider_metadata: None,
    });
    let mut content = RowContent::new(ui);
    content.messages.push(Arc::new(Message::assistant(text)).into());
    content
}

/// When the rows of the checks were opened: milliseconds since 1970.
pub(super) const THEN: u64 = 1_750_000_000_123;

/// A row that attempt `number` of turn `number` begins to write.
pub(super) fn open(topic: &TopicId, id: &str, number: u64) -> Row {
    Row::assistant(id, topic.clone(), turn(number), attempt(number), content(id, ""), THEN)
}

pub(super) fn claim(number: u64, inputs: &[&str], rows: Vec<Row>) -> Claim {
    let inputs = inputs.iter().map(|id| InputId::from(*id)).collect();
    Claim { turn: turn(number), attempt: attempt(number), inputs, rows }
}

/// What the input of a claim has become.
pub(super) fn consumed(number: u64) -> Known<Fate> {
    Known::Is(Fate::Consumed { turn: turn(number), attempt: attempt(number) })
}

/// Accepts input `i-NUMBER`, and consumes it in attempt `number`: with a row of the user, `u-NUMBER`, and an open one,
/// `a-NUMBER`.
pub(super) async fn begin(store: &Store, topic: &TopicId, number: u64) -> Checked<[Row; 2]> {
    let (input, user, row) = (format!("i-{number}"), format!("u-{number}"), format!("a-{number}"));
    store.accept(topic, &said(&input, "Hello.")).await?;
    let user = Row::user(user.as_str(), topic.clone(), turn(number), content(&user, "Hello."), THEN);
    let rows = [user, open(topic, &row, number)];
    store.claim_and_open(&lease(topic, 1), &claim(number, &[&input], rows.to_vec())).await?;
    Ok(rows)
}

pub(super) fn checkpoint(row: &str, number: u64, text: &str) -> Checkpoint {
    Checkpoint { row: row.into(), attempt: attempt(number), content: content(row, text) }
}

pub(super) fn settlement(row: &str, number: u64, status: RowStatus, text: &str) -> Settlement {
    Settlement {
        row: row.into(),
        attempt: attempt(number),
        status,
        content: content(row, text),
        returned: Vec::new(),
    }
}

pub(super) async fn history(store: &Store, topic: &TopicId) -> Checked<Conversation> {
    let found = store.history(topic).await?;
    found.ok_or_else(|| Unmet(format!("topic {} should have a history", told(topic))))
}

/// A row of a topic, as it is stored.
pub(super) async fn stored(store: &Store, topic: &TopicId, id: &str) -> Checked<Row> {
    let found = history(store, topic).await?.rows.into_iter().find(|row| row.id.as_str() == id);
    found.ok_or_else(|| Unmet(format!("row {id} should be there")))
}

/// What has become of an input.
pub(super) async fn fate(store: &Store, topic: &TopicId, id: &str) -> Checked<Known<Fate>> {
    let found = store.input(topic, &id.into()).await?;
    found.map(|input| input.fate).ok_or_else(|| Unmet(format!("input {id} should be there")))
}

/// The same row, whenever it was written last.
pub(super) fn timeless(row: &Row) -> Row {
    let mut row = row.clone();
    row.updated_at = row.created_at;
    row
}
