use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_core::stream::BoxStream;
use redis::Script;
use stream_manager::memory::MemoryStatus;
use stream_manager::port::{StatusBus, StoreError, decode, encode};
use stream_manager::record::{TopicId, TopicStatus};
use tokio::sync::{OnceCell, mpsc, oneshot};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use crate::channels::{Event, Subscription};
use crate::error::unavailable;
use crate::keys::{GROUPS, Keys};
use crate::lock::lock;
use crate::server::{Args, Server};
use crate::store::RedisStore;
use crate::task::EndOnDrop;

/// Before the last states are asked for again.
const PAUSE: Duration = Duration::from_millis(100);

/// What is said in the channel, by its first letter.
const STATUS: char = 's';
const FORGOTTEN: char = 'f';
/// Somebody waits until everything said before is heard.
const MARK: char = 'm';

/// The scripts of the status bus.
#[derive(Debug)]
pub(crate) struct Scripts {
    publish: Script,
    forget: Script,
}

impl Scripts {
    pub(crate) fn new() -> Self {
        // KEYS: the states of a group: `EPOCH REVISION JSON`, by topic.
        Self {
            publish: Script::new(
                r"
                local epoch, revision = tonumber(ARGV[2]), tonumber(ARGV[3])
                local before = redis.call('HGET', KEYS[1], ARGV[1])
                if before then
                    local was, at = string.match(before, '^(%d+) (%d+) ')
                    was, at = tonumber(was), tonumber(at)
                    if epoch < was or (epoch == was and revision <= at) then return 0 end
                end
                redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' ' .. ARGV[3] .. ' ' .. ARGV[4])
                redis.call('PUBLISH', ARGV[5], 's' .. ARGV[4])
                return 1",
            ),
            forget: Script::new(
                r"
                redis.call('HDEL', KEYS[1], ARGV[1])
                redis.call('PUBLISH', ARGV[2], 'f' .. ARGV[1])
                return 1",
            ),
        }
    }
}

/// The states of all topics, as this node knows them; kept once somebody watches.
#[derive(Debug, Default)]
pub(crate) struct Board {
    states: Arc<MemoryStatus>,
    marks: Arc<Mutex<HashMap<String, oneshot::Sender<()>>>>,
    hears: OnceCell<(Subscription, EndOnDrop)>,
}

fn read_stored(stored: &str) -> Result<TopicStatus, StoreError> {
    let mut parts = stored.splitn(3, ' ').skip(2);
    decode(parts.next().unwrap_or_default())
}

/// Follows the channel of all states.
struct Follower {
    server: Arc<Server>,
    keys: Arc<Keys>,
    states: Arc<MemoryStatus>,
    marks: Arc<Mutex<HashMap<String, oneshot::Sender<()>>>>,
    known: HashSet<TopicId>,
}

impl Follower {
    async fn run(mut self, mut events: mpsc::Receiver<Event>) {
        while let Some(event) = events.recv().await {
            match event {
                Event::Heard => self.load().await,
                Event::Message(text) => self.take(&text).await,
            }
        }
    }

    /// What was said while nobody heard it: the last state of every topic. What is said meanwhile waits behind it.
    async fn load(&mut self) {
        let mut read = redis::pipe();
        for group in 0..GROUPS {
            read.cmd("HVALS").arg(self.keys.group(group, "status"));
        }
        let found: Vec<Vec<String>> = loop {
            match self.server.pipe("reading the states of topics", &read).await {
                Ok(found) => break found,
                Err(_) => sleep(PAUSE).await,
            }
        };
        let before = std::mem::take(&mut self.known);
        // One that cannot be read is of a later version.
        for status in found.iter().flatten().filter_map(|stored| read_stored(stored).ok()) {
            self.put(status).await;
        }
        for topic in before.difference(&self.known) {
            self.states.forget(topic).await.ok();
        }
    }

    async fn take(&mut self, text: &str) {
        let mut chars = text.chars();
        let (kind, rest) = (chars.next(), chars.as_str());
        match kind {
            Some(STATUS) => {
                if let Ok(status) = decode(rest) {
                    self.put(status).await;
                }
            }
            Some(FORGOTTEN) => {
                let topic = TopicId::from(rest);
                self.known.remove(&topic);
                self.states.forget(&topic).await.ok();
            }
            Some(MARK) => {
                if let Some(mark) = lock(&self.marks).remove(rest) {
                    mark.send(()).ok();
                }
            }
            _ => {}
        }
    }

    async fn put(&mut self, status: TopicStatus) {
        self.known.insert(status.topic.clone());
        // Memory always answers.
        self.states.publish(status).await.ok();
    }
}

impl RedisStore {
    fn status_channel(&self) -> String {
        self.keys().channel("status", "all")
    }

    /// Waits until this node has heard what was said before.
    async fn catch_up(&self) -> Result<(), StoreError> {
        let board = self.board();
        let channel = self.status_channel();
        let hears = board.hears.get_or_try_init(|| async {
            let (subscription, events) = self.channels().subscribe(&channel).await?;
            let follower = Follower {
                server: Arc::clone(self.server()),
                keys: Arc::clone(self.keys()),
                states: Arc::clone(&board.states),
                marks: Arc::clone(&board.marks),
                known: HashSet::new(),
            };
            Ok::<_, StoreError>((subscription, EndOnDrop::spawn(follower.run(events))))
        });
        hears.await?;
        let name = Uuid::new_v4().to_string();
        let (mark, heard) = oneshot::channel();
        lock(&board.marks).insert(name.clone(), mark);
        let mut say = redis::pipe();
        say.cmd("PUBLISH").arg(&channel).arg(format!("{MARK}{name}"));
        let what = "watching the states of topics";
        let said = self.server().pipe::<redis::Value>(what, &say).await;
        let waited = match said {
            Ok(_) => timeout(self.server().timeout(), heard).await.is_ok_and(|heard| heard.is_ok()),
            Err(error) => {
                lock(&board.marks).remove(&name);
                return Err(error);
            }
        };
        lock(&board.marks).remove(&name);
        if waited { Ok(()) } else { Err(unavailable(what)) }
    }
}

#[async_trait]
impl StatusBus for RedisStore {
    async fn publish(&self, status: TopicStatus) -> Result<(), StoreError> {
        let topic = &status.topic;
        let args = Args::new().text(topic.as_str()).number(status.epoch).number(status.revision);
        let args = args.text(encode(&status)?).text(self.status_channel());
        let what = format!("telling how topic {topic} stands");
        let keys = [self.keys().of_group(topic, "status")];
        self.server().run::<bool>(what, &self.scripts().status.publish, &keys, args).await.map(drop)
    }

    async fn status(&self, topic: &TopicId) -> Result<Option<TopicStatus>, StoreError> {
        let mut read = redis::pipe();
        read.cmd("HGET").arg(self.keys().of_group(topic, "status")).arg(topic.as_str());
        let what = format!("asking how topic {topic} stands");
        let (found,): (Option<String>,) = self.server().pipe(what, &read).await?;
        found.map(|stored| read_stored(&stored)).transpose()
    }

    async fn watch(&self) -> Result<BoxStream<'static, TopicStatus>, StoreError> {
        self.catch_up().await?;
        self.board().states.watch().await
    }

    async fn forget(&self, topic: &TopicId) -> Result<(), StoreError> {
        let args = Args::new().text(topic.as_str()).text(self.status_channel());
        let what = format!("forgetting how topic {topic} stands");
        let keys = [self.keys().of_group(topic, "status")];
        self.server().run::<bool>(what, &self.scripts().status.forget, &keys, args).await.map(drop)
    }
}
