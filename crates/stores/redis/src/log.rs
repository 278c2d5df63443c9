//! The logs of attempts: one stream for each, whose entries hold the records that were gathered for a moment.
//!
//! The id of an entry is `EPOCH-NUMBER`, with the number of its last record. The server takes no id that is less than the
//! last one, so that nothing can follow the entry by which a new owner seals the log of an old one.

mod entry;
mod followed;
mod outbox;
mod reader;
mod sender;
mod tail;
mod writer;

use std::sync::Arc;

use async_trait::async_trait;
use redis::Script;
use stream_manager::Fold;
use stream_manager::port::{
    Lease, LogReader, LogWriter, ReplayLog, StoreError, StoreErrorKind, UiMessage, encode,
};
use stream_manager::record::{AttemptId, Terminal, TopicId};
use uuid::Uuid;

use crate::server::Args;
use crate::store::RedisStore;
pub(crate) use followed::Followed;
pub(crate) use sender::Sender;

/// The scripts of logs.
#[derive(Debug)]
pub(crate) struct Scripts {
    create: Script,
    append: Script,
    seal: Script,
    begin: Script,
    alive: Script,
}

impl Scripts {
    pub(crate) fn new() -> Self {
        Self {
            create: Script::new(include_str!("log/create.lua")),
            append: Script::new(include_str!("log/append.lua")),
            seal: Script::new(include_str!("log/seal.lua")),
            begin: Script::new(include_str!("log/begin.lua")),
            alive: Script::new(include_str!("log/alive.lua")),
        }
    }
}

/// The keys of a log.
#[derive(Clone, Debug)]
struct LogKeys {
    topic: TopicId,
    epochs: String,
    stream: String,
    snapshot: String,
    lease: String,
}

impl LogKeys {
    fn of(store: &RedisStore, topic: &TopicId, attempt: AttemptId) -> Self {
        let keys = store.keys();
        Self {
            topic: topic.clone(),
            epochs: keys.of_group(topic, "epochs"),
            stream: keys.attempt(topic, attempt, "log"),
            snapshot: keys.attempt(topic, attempt, "snapshot"),
            lease: keys.topic(topic, "lease"),
        }
    }

    /// As the scripts that write take them.
    fn for_writing(&self) -> [String; 3] {
        [self.epochs.clone(), self.stream.clone(), self.snapshot.clone()]
    }
}

/// A forgotten log stays so long for the readers that it has.
const LINGER: std::time::Duration = std::time::Duration::from_secs(10);

#[async_trait]
impl ReplayLog for RedisStore {
    async fn create(
        &self,
        lease: &Lease,
        attempt: AttemptId,
        seed: UiMessage,
    ) -> Result<Box<dyn LogWriter>, StoreError> {
        self.held().check(lease)?;
        let what = format!("creating the log of attempt {attempt} of topic {}", lease.topic);
        let keys = LogKeys::of(self, &lease.topic, attempt);
        let row = seed.id.clone();
        let mut fold = Fold::new(seed);
        let args = Args::new().text(lease.topic.as_str()).number(lease.epoch).text(entry::id(lease.epoch, 0));
        let args = args.text(Uuid::new_v4().to_string()).text(row).text(encode(&fold.chunks())?);
        let args = args.millis(self.settings().log_idle);
        let [epochs, stream, snapshot] = keys.for_writing();
        let four = [epochs, stream, snapshot, keys.lease.clone()];
        match self.server().run(what.as_str(), &self.scripts().log.create, &four, args).await? {
            -1 => Err(StoreError::fenced(what)),
            0 => Err(StoreError::new(StoreErrorKind::Conflict, what)),
            _ => {
                let outbox = outbox::Outbox::new(keys, lease, attempt, fold, Arc::clone(self.held()));
                Ok(Box::new(writer::RedisWriter::new(outbox, self.sender().clone())))
            }
        }
    }

    async fn read(
        &self,
        topic: &TopicId,
        attempt: AttemptId,
        after: Option<u64>,
    ) -> Result<Option<Box<dyn LogReader>>, StoreError> {
        let keys = LogKeys::of(self, topic, attempt);
        let mut ask = redis::pipe();
        ask.cmd("EXISTS").arg(&keys.stream).cmd("EXISTS").arg(&keys.snapshot);
        let what = format!("looking for the log of attempt {attempt} of topic {topic}");
        let (log, snapshot): (bool, bool) = self.server().pipe(what, &ask).await?;
        if !(log && snapshot) {
            return Ok(None);
        }
        let begin = reader::Begin { store: self.clone(), keys: keys.clone() };
        let tail = self.followed().follow(keys);
        Ok(Some(Box::new(reader::RedisReader::new(tail, begin, after.unwrap_or_default()))))
    }

    async fn seal_orphan(
        &self,
        lease: &Lease,
        attempt: AttemptId,
        terminal: Terminal,
    ) -> Result<(), StoreError> {
        self.held().check(lease)?;
        let what = format!("sealing the log of attempt {attempt} of topic {}", lease.topic);
        let keys = LogKeys::of(self, &lease.topic, attempt);
        let id = entry::id(lease.epoch, u64::MAX);
        let args = Args::new().text(lease.topic.as_str()).number(lease.epoch).text(id);
        let args = args.text(encode(&terminal)?).millis(self.settings().log_kept);
        match self.server().run(what.as_str(), &self.scripts().log.seal, &keys.for_writing(), args).await? {
            -1 => Err(StoreError::fenced(what)),
            _ => Ok(()),
        }
    }

    async fn forget(&self, topic: &TopicId, attempt: AttemptId) -> Result<(), StoreError> {
        let keys = LogKeys::of(self, topic, attempt);
        let mut forget = redis::pipe();
        let linger = u64::try_from(LINGER.as_millis()).unwrap_or(u64::MAX);
        forget.cmd("UNLINK").arg(&keys.snapshot).cmd("PEXPIRE").arg(&keys.stream).arg(linger);
        let what = format!("forgetting the log of attempt {attempt} of topic {topic}");
        self.server().pipe::<(u64, u64)>(what, &forget).await.map(drop)
    }
}
