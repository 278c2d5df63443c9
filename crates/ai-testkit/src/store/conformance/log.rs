use std::sync::Arc;
use std::time::Duration;

use agent_loop::{UiChunk, UiMessage, UiPart, UiReducer, UiRole};
use ai_provider::Id;
use stream_manager::port::{
    Lease, LogBody, LogReader, LogRecord, LogWriter, Read, ReplayLog,
    StoreErrorKind::{Conflict, Fenced},
};
use stream_manager::record::{AttemptId, RowStatus, Terminal, TopicId};

use super::kit::{Checked, Unmet, attempt, ensure, fails, lease, same};

type Log = Arc<dyn ReplayLog>;

/// Longer than a record takes to a reader on a busy machine.
const LONG: Duration = Duration::from_secs(30);
/// So long a reader is watched that should get nothing.
const QUIET: Duration = Duration::from_millis(50);

fn topic() -> TopicId {
    "t".into()
}

fn seed() -> UiMessage {
    UiMessage::new("row", UiRole::Assistant)
}

fn terminal() -> Terminal {
    Terminal::new("row".into(), RowStatus::Complete, None, true)
}

async fn create(log: &Log, number: u64) -> Checked<Box<dyn LogWriter>> {
    Ok(log.create(&lease(&topic(), 1), attempt(number), seed()).await?)
}

fn text(id: &str, delta: &str) -> UiChunk {
    UiChunk::TextDelta { id: Id::from(id), delta: delta.to_owned(), provider_metadata: None }
}

/// A text and a reasoning, interleaved, and a text that is left open.
fn script() -> Vec<UiChunk> {
    let start = |id: &str| UiChunk::TextStart { id: Id::from(id), provider_metadata: None };
    let end = |id: &str| UiChunk::TextEnd { id: Id::from(id), citations: None, provider_metadata: None };
    let (r, provider_metadata) = (Id::from("r"), None);
    vec![
        UiChunk::StartStep,
        start("a"),
        text("a", "Hé"),
        UiChunk::ReasoningStart { id: r.clone(), provider_metadata: None },
        text("a", "llo \u{0} 😀"),
        UiChunk::ReasoningDelta { id: r.clone(), delta: "hm".to_owned(), provider_metadata: None },
        UiChunk::ReasoningEnd { id: r, provider_metadata },
        end("a"),
        start("b"),
        text("b", "And "),
        text("b", "more"),
    ]
}

/// What a reader has seen.
struct Seen {
    shown: UiReducer,
    /// The number of the last record.
    last: u64,
    records: Vec<Arc<LogRecord>>,
    rebased: usize,
    terminal: Option<Terminal>,
}

impl Seen {
    /// A reader that has seen everything up to `after`.
    fn new(after: u64, chunks: &[UiChunk]) -> Checked<Self> {
        let mut shown = UiReducer::continuing(seed());
        for chunk in chunks.iter().take(usize::try_from(after).unwrap_or(usize::MAX)) {
            push(&mut shown, chunk)?;
        }
        Ok(Self { shown, last: after, records: Vec::new(), rebased: 0, terminal: None })
    }

    fn take(&mut self, read: Read, records: Vec<Arc<LogRecord>>) -> Checked {
        if let Read::Rebase(snapshot) = &read {
            same("the row of a snapshot", snapshot.row.as_str(), "row")?;
            self.rebased += 1;
            self.last = snapshot.through;
            self.shown = UiReducer::continuing(seed());
            for chunk in &snapshot.chunks {
                push(&mut self.shown, chunk)?;
            }
        }
        for record in records {
            same("the number of the next record", record.seq, self.last + 1)?;
            ensure(self.terminal.is_none(), || "nothing should follow the last record".to_owned())?;
            self.last = record.seq;
            match &record.body {
                LogBody::Chunk(chunk) => push(&mut self.shown, chunk)?,
                LogBody::Terminal(terminal) => self.terminal = Some(terminal.clone()),
                other => return Err(Unmet(format!("{other:?} was not written"))),
            }
            self.records.push(record);
        }
        Ok(())
    }
}

fn push(shown: &mut UiReducer, chunk: &UiChunk) -> Checked {
    let pushed = shown.push(chunk.clone());
    pushed
        .map(drop)
        .map_err(|error| Unmet(format!("a reader should be able to show {chunk:?}, but: {error}")))
}

async fn open(log: &Log, number: u64, after: Option<u64>) -> Checked<Box<dyn LogReader>> {
    let reader = log.read(&topic(), attempt(number), after).await?;
    reader.ok_or_else(|| Unmet(format!("the log of attempt {number} should be there")))
}

/// What comes next.
async fn next(reader: &mut dyn LogReader, most: usize) -> Checked<(Read, Vec<Arc<LogRecord>>)> {
    let mut records = Vec::new();
    let read = std::future::poll_fn(|cx| reader.poll_read(cx, most, &mut records));
    match tokio::time::timeout(LONG, read).await {
        Ok(read) => {
            let read = read?;
            let empty = records.is_empty() && matches!(read, Read::Records);
            ensure(!empty, || "a reader should get at least one record, or wait".to_owned())?;
            Ok((read, records))
        }
        Err(_) => Err(Unmet(format!("a reader should get more, but nothing came for {LONG:?}"))),
    }
}

/// Nothing comes.
async fn quiet(what: &str, reader: &mut dyn LogReader) -> Checked {
    let mut records = Vec::new();
    let read = std::future::poll_fn(|cx| reader.poll_read(cx, 10, &mut records));
    match tokio::time::timeout(QUIET, read).await {
        Err(_) => Ok(()),
        Ok(read) => Err(Unmet(format!("{what} should wait, but gets {read:?} with {records:?}"))),
    }
}

/// Reads until the place.
async fn read_to(seen: &mut Seen, reader: &mut dyn LogReader, last: u64) -> Checked {
    while seen.last < last || (last == 0 && seen.rebased == 0) {
        let (read, records) = next(reader, 3).await?;
        ensure(matches!(read, Read::Records | Read::Rebase(_)), || {
            format!("a reader at {} of {last} should get more, but gets {read:?}", seen.last)
        })?;
        seen.take(read, records)?;
    }
    Ok(())
}

/// Reads until the end.
async fn read_all(seen: &mut Seen, reader: &mut dyn LogReader, most: usize) -> Checked {
    loop {
        let (read, records) = next(reader, most).await?;
        if matches!(read, Read::End) {
            return Ok(());
        }
        seen.take(read, records)?;
    }
}

/// Records are numbered from 1, and come as they were written, then the end.
pub(super) async fn records(log: Log) -> Checked {
    let mut writer = create(&log, 1).await?;
    for (seq, chunk) in (1..).zip(script()) {
        same("the number of a chunk", writer.append(chunk), seq)?;
    }
    writer.flush().await?;
    ensure(!writer.is_fenced(), || "a writer without a rival should not be fenced".to_owned())?;
    let message = writer.message();
    writer.seal(terminal()).await?;

    let chunks = script().into_iter().map(LogBody::Chunk);
    let bodies = chunks.chain([LogBody::Terminal(terminal())]);
    let wanted: Vec<_> = (1..).zip(bodies).map(|(seq, body)| LogRecord { seq, body }).collect();
    for most in [1, 3, 1000] {
        let mut reader = open(&log, 1, None).await?;
        let mut seen = Seen::new(0, &[])?;
        read_all(&mut seen, &mut *reader, most).await?;
        let records: Vec<_> = seen.records.iter().map(|record| LogRecord::clone(record)).collect();
        same("the records", &records, &wanted)?;
        same("what a reader shows", seen.shown.message(), &message)?;
        let again = next(&mut *reader, most).await?.0;
        same("what follows the end", again, Read::End)?;
    }
    Ok(())
}

/// A reader goes on behind any place; one beyond the end begins anew.
pub(super) async fn cursors(log: Log) -> Checked {
    let chunks = script();
    let mut writer = create(&log, 1).await?;
    for chunk in &chunks {
        writer.append(chunk.clone());
    }
    writer.flush().await?;
    let last = chunks.len() as u64;
    let mut waiting = open(&log, 1, Some(last)).await?;
    quiet("a reader at the last record", &mut *waiting).await?;
    let mut beyond = open(&log, 1, Some(last + 7)).await?;
    let mut ahead = Seen::new(0, &[])?;
    let (read, records) = next(&mut *beyond, 10).await?;
    ensure(matches!(read, Read::Rebase(_)), || {
        format!("a reader beyond the end should begin anew, but gets {read:?}")
    })?;
    ahead.take(read, records)?;
    read_to(&mut ahead, &mut *beyond, last).await?;
    same("what it shows then", ahead.shown.message(), &writer.message())?;
    writer.seal(terminal()).await?;

    for after in 0..=last + 1 {
        let mut reader = open(&log, 1, Some(after)).await?;
        let mut seen = Seen::new(after, &chunks)?;
        read_all(&mut seen, &mut *reader, 4).await?;
        let what = format!("of a reader behind {after} of {last}");
        same(&format!("the records {what}"), seen.records.len() as u64, last + 1 - after)?;
        same(&format!("the snapshots {what}"), seen.rebased, 0)?;
        same(&format!("the message {what}"), seen.shown.message(), &writer.message())?;
    }
    for after in [last + 2, last + 100, u64::MAX] {
        let mut reader = open(&log, 1, Some(after)).await?;
        let mut seen = Seen::new(0, &[])?;
        read_all(&mut seen, &mut *reader, 4).await?;
        same(&format!("the snapshots of a reader behind {after} of {last}"), seen.rebased, 1)?;
        same("its message", seen.shown.message(), &writer.message())?;
        same("its end", seen.terminal, Some(terminal()))?;
    }
    Ok(())
}

/// Readers that come at any time get all, each once, and those that wait are woken.
pub(super) async fn live(log: Log) -> Checked {
    let chunks = script();
    let mut writer = create(&log, 1).await?;
    let mut readers = vec![(open(&log, 1, None).await?, Seen::new(0, &[])?)];
    for (seq, chunk) in (1..).zip(&chunks) {
        writer.append(chunk.clone());
        writer.flush().await?;
        for (number, (reader, seen)) in readers.iter_mut().enumerate() {
            // Every third reader comes back only at the end.
            if number % 3 < 2 {
                read_to(seen, &mut **reader, seq).await?;
            }
        }
        readers.push((open(&log, 1, None).await?, Seen::new(0, &[])?));
        readers.push((open(&log, 1, Some(seq)).await?, Seen::new(seq, &chunks)?));
    }
    writer.seal(terminal()).await?;
    for (reader, seen) in &mut readers {
        read_all(seen, &mut **reader, 100).await?;
        same("what a reader shows", seen.shown.message(), &writer.message())?;
        same("its end", &seen.terminal, &Some(terminal()))?;
    }
    Ok(())
}

/// A reader far behind gets every record, or the message as it stands and what comes then; never a gap.
pub(super) async fn slow(log: Log) -> Checked {
    const DELTAS: u64 = 20_000;
    let start = UiChunk::TextStart { id: Id::from("a"), provider_metadata: None };
    let deltas = (0..DELTAS).map(|number| text("a", &format!("{number:099} ")));
    let chunks: Vec<_> = [start].into_iter().chain(deltas).collect();
    let mut writer = create(&log, 1).await?;
    let mut late = open(&log, 1, None).await?;
    for chunk in &chunks {
        writer.append(chunk.clone());
    }
    writer.flush().await?;
    writer.seal(terminal()).await?;
    let length = usize::try_from(DELTAS * 100).unwrap_or(usize::MAX);
    for after in [0, 1, DELTAS / 2, DELTAS] {
        let mut reader = open(&log, 1, Some(after)).await?;
        let mut seen = Seen::new(after, &chunks)?;
        read_all(&mut seen, &mut *reader, 1000).await?;
        ensure(seen.rebased <= 1, || {
            format!("a log that is over should not begin anew {} times", seen.rebased)
        })?;
        let what = format!("how long the text of a reader behind {after} is");
        same(&what, shown_text(seen.shown.message()), length)?;
        same("its end", seen.terminal, Some(terminal()))?;
    }
    let mut seen = Seen::new(0, &[])?;
    read_all(&mut seen, &mut *late, 1000).await?;
    let what = "how long the text of a reader that was there from the beginning is";
    same(what, shown_text(seen.shown.message()), length)
}

fn shown_text(message: &UiMessage) -> usize {
    let texts = message.parts.iter().filter_map(|part| match part {
        UiPart::Text { text, .. } => Some(text.len()),
        _ => None,
    });
    texts.sum()
}

/// A greater epoch fences every writer of the topic before it.
pub(super) async fn fence(log: Log) -> Checked {
    let mut old = create(&log, 1).await?;
    old.append(text("x", "seen"));
    old.flush().await?;
    let mut new = log.create(&lease(&topic(), 3), attempt(2), seed()).await?;
    old.append(text("x", "never seen"));
    fails("a flush of a writer that was taken over", old.flush().await, Fenced)?;
    ensure(old.is_fenced(), || "a writer that was taken over should know it".to_owned())?;
    fails("its end", old.seal(terminal()).await, Fenced)?;
    for epoch in [1, 2] {
        let late = log.create(&lease(&topic(), epoch), attempt(9), seed()).await;
        fails("a log of an early epoch", late.map(drop), Fenced)?;
        let late = log.seal_orphan(&lease(&topic(), epoch), attempt(1), terminal()).await;
        fails("an end of an early epoch", late, Fenced)?;
    }
    log.seal_orphan(&lease(&topic(), 3), attempt(1), terminal()).await?;
    let mut reader = open(&log, 1, None).await?;
    let mut seen = Seen::new(0, &[])?;
    let (read, records) = next(&mut *reader, 1).await?;
    same("what a reader gets of it", &read, &Read::Records)?;
    let first = records.first().map(|record| record.body.clone());
    same("its first record", first, Some(LogBody::Chunk(text("x", "seen"))))?;
    seen.last = 1;
    read_all(&mut seen, &mut *reader, 10).await?;
    same("its end", seen.terminal, Some(terminal()))?;
    new.append(UiChunk::StartStep);
    new.flush().await?;
    let other = log.create(&Lease::new("other".into(), "node".into(), 1), attempt(1), seed()).await;
    other.map(drop).map_err(Unmet::from)
}

/// The log of a writer that is gone is ended by the owner of its topic, once.
pub(super) async fn orphan(log: Log) -> Checked {
    let mut writer = create(&log, 1).await?;
    let chunks = script();
    for chunk in &chunks {
        writer.append(chunk.clone());
    }
    writer.flush().await?;
    let mut reader = open(&log, 1, None).await?;
    drop(writer);
    let interrupted = Terminal::new("row".into(), RowStatus::Interrupted, None, true);
    log.seal_orphan(&lease(&topic(), 2), attempt(1), interrupted.clone()).await?;
    log.seal_orphan(&lease(&topic(), 2), attempt(1), terminal()).await?;
    log.seal_orphan(&lease(&topic(), 2), attempt(77), terminal()).await?;
    for reader in [&mut reader, &mut open(&log, 1, None).await?] {
        let mut seen = Seen::new(0, &[])?;
        read_all(&mut seen, &mut **reader, 10).await?;
        same("how many records it gets", seen.records.len(), chunks.len() + 1)?;
        same("its end", seen.terminal, Some(interrupted.clone()))?;
    }
    ensure(log.read(&topic(), attempt(77), None).await?.is_none(), || {
        "the end of a log that is not there should not make it".to_owned()
    })
}

/// Nothing follows the end, and there is one.
pub(super) async fn seal(log: Log) -> Checked {
    let mut writer = create(&log, 1).await?;
    writer.append(UiChunk::StartStep);
    writer.seal(terminal()).await?;
    writer.seal(terminal()).await?;
    let other = Terminal::new("row".into(), RowStatus::Failed, None, true);
    fails("another end", writer.seal(other).await, Conflict)?;
    writer.append(UiChunk::StartStep);
    writer.flush().await?;
    let mut seen = Seen::new(0, &[])?;
    read_all(&mut seen, &mut *open(&log, 1, None).await?, 10).await?;
    same("how many records there are", seen.records.len(), 2)?;
    same("the end", seen.terminal, Some(terminal()))
}

/// A log that is forgotten is not found; others are.
pub(super) async fn forget(log: Log) -> Checked {
    log.forget(&topic(), attempt(1)).await?;
    for number in [1, 2] {
        let mut writer = create(&log, number).await?;
        writer.append(UiChunk::StartStep);
        writer.seal(terminal()).await?;
    }
    log.forget(&topic(), attempt(1)).await?;
    ensure(log.read(&topic(), attempt(1), None).await?.is_none(), || {
        "a forgotten log should be gone".to_owned()
    })?;
    let mut seen = Seen::new(0, &[])?;
    read_all(&mut seen, &mut *open(&log, 2, None).await?, 10).await?;
    same("the end of another log", seen.terminal, Some(terminal()))
}

/// What is not there is not found, an attempt has one log, and the logs of topics are apart.
pub(super) async fn apart(log: Log) -> Checked {
    let pairs = [("t", 1, 11), ("t", 11, 1), ("t:1", 1, 1), ("t/1.1", 1, 1)];
    let id = |epoch, number| AttemptId { epoch, number };
    for (number, (topic, epoch, attempt)) in pairs.into_iter().enumerate() {
        let lease = Lease::new(topic.into(), "node".into(), 20);
        let found = log.read(&lease.topic, id(epoch, attempt), None).await?;
        ensure(found.is_none(), || {
            format!("attempt {epoch}.{attempt} of topic {topic} should not be there yet")
        })?;
        let mut writer = log.create(&lease, id(epoch, attempt), seed()).await?;
        writer.append(text("x", &number.to_string()));
        writer.flush().await?;
        let again = log.create(&lease, id(epoch, attempt), seed()).await;
        fails("a second log of an attempt", again.map(drop), Conflict)?;
        let reader = log.read(&lease.topic, id(epoch, attempt), None).await?;
        let mut reader = reader.ok_or_else(|| Unmet("a log that was made should be there".to_owned()))?;
        let (_, records) = next(&mut *reader, 10).await?;
        let bodies: Vec<_> = records.iter().map(|record| record.body.clone()).collect();
        same("what it holds", bodies, vec![LogBody::Chunk(text("x", &number.to_string()))])?;
        writer.seal(terminal()).await?;
    }
    Ok(())
}
