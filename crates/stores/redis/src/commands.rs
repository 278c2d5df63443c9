use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use stream_manager::port::{
    Command, CommandHandler, Commands, Reply, Serving, StoreError, StoreErrorKind, decode, encode,
};
use stream_manager::record::{NodeId, TopicId};
use tokio::sync::{OnceCell, Semaphore, mpsc, oneshot};
use tokio::time::{Instant, interval, sleep, timeout, timeout_at};
use uuid::Uuid;

use crate::channels::{Event, Subscription};
use crate::error::unavailable;
use crate::keys::Keys;
use crate::lock::lock;
use crate::server::{Args, Server};
use crate::store::{RedisStore, Scripts};
use crate::task::{EndOnDrop, spawn};

/// A node that listens says so anew every so often, and is taken for gone when it has not for three times that.
const BEAT: Duration = Duration::from_secs(5);
const LISTENS: Duration = Duration::from_secs(15);

/// A node that listens, but cannot be reached, connects again: the command is sent again after so long.
const PAUSE: Duration = Duration::from_millis(20);

/// So many commands a node works on at once. Beyond, they are dropped, and their callers told by their limit.
const AT_ONCE: usize = 1024;

/// So many commands are remembered, so that one that was sent twice is done once.
const REMEMBERED: usize = 4096;

/// A command on its way.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Call {
    /// Its number among those of the caller, and where its reply goes.
    id: u64,
    caller: String,
    /// How long the caller waits, in milliseconds.
    limit: u64,
    topic: TopicId,
    command: Command,
}

#[derive(Debug, Serialize, Deserialize)]
struct Answer {
    id: u64,
    reply: Reply,
}

/// Where the replies to the calls of this node arrive.
pub(crate) struct Caller {
    name: String,
    count: AtomicU64,
    waiting: Arc<Mutex<HashMap<u64, oneshot::Sender<Reply>>>>,
    hears: OnceCell<(Subscription, EndOnDrop)>,
}

impl Caller {
    pub(crate) fn new() -> Self {
        Self {
            name: Uuid::new_v4().to_string(),
            count: AtomicU64::new(0),
            waiting: Arc::default(),
            hears: OnceCell::new(),
        }
    }

    /// A number for a call, and its reply to come.
    fn expect(&self) -> (Expected<'_>, oneshot::Receiver<Reply>) {
        let id = self.count.fetch_add(1, Ordering::Relaxed);
        let (sender, reply) = oneshot::channel();
        lock(&self.waiting).insert(id, sender);
        (Expected { caller: self, id }, reply)
    }
}

/// A reply that is waited for.
struct Expected<'a> {
    caller: &'a Caller,
    id: u64,
}

impl Drop for Expected<'_> {
    fn drop(&mut self) {
        lock(&self.caller.waiting).remove(&self.id);
    }
}

async fn take_replies(
    waiting: Arc<Mutex<HashMap<u64, oneshot::Sender<Reply>>>>,
    mut events: mpsc::Receiver<Event>,
) {
    while let Some(event) = events.recv().await {
        let Event::Message(text) = event else { continue };
        // What cannot be read is of a later version: its caller is told by its limit.
        let Ok(answer) = decode::<Answer>(&text) else { continue };
        if let Some(sender) = lock(&waiting).remove(&answer.id) {
            sender.send(answer.reply).ok();
        }
    }
}

impl RedisStore {
    async fn hear_replies(&self) -> Result<(), StoreError> {
        let caller = self.caller();
        let hears = caller.hears.get_or_try_init(|| async {
            let channel = self.keys().channel("reply", &caller.name);
            let (subscription, events) = self.channels().subscribe(&channel).await?;
            Ok((subscription, EndOnDrop::spawn(take_replies(Arc::clone(&caller.waiting), events))))
        });
        hears.await.map(drop)
    }

    /// Sends a command until somebody hears it.
    async fn deliver(&self, node: &NodeId, text: &str) -> Result<(), StoreError> {
        let channel = self.keys().channel("command", node.as_str());
        loop {
            let mut send = redis::pipe();
            send.cmd("EXISTS").arg(self.keys().node(node)).cmd("PUBLISH").arg(&channel).arg(text);
            let what = format!("calling node {node}");
            let (listens, heard): (bool, u64) = self.server().pipe(what.as_str(), &send).await?;
            if heard > 0 {
                return Ok(());
            }
            if !listens {
                return Err(StoreError::new(StoreErrorKind::NotFound, what));
            }
            sleep(PAUSE).await;
        }
    }
}

#[async_trait]
impl Commands for RedisStore {
    async fn call(
        &self,
        node: &NodeId,
        topic: &TopicId,
        command: Command,
        limit: Duration,
    ) -> Result<Reply, StoreError> {
        let (expected, reply) = self.caller().expect();
        let text = encode(&Call {
            id: expected.id,
            caller: self.caller().name.clone(),
            limit: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
            topic: topic.clone(),
            command,
        })?;
        let work = async {
            self.hear_replies().await?;
            self.deliver(node, &text).await?;
            reply.await.map_err(|_| unavailable(format!("the reply of node {node} is lost")))
        };
        let replied = timeout(limit, work).await;
        replied.unwrap_or_else(|_| Err(unavailable(format!("no reply of node {node} in {limit:?}"))))
    }

    async fn serve(
        &self,
        node: &NodeId,
        handler: Arc<dyn CommandHandler>,
    ) -> Result<Box<dyn Serving>, StoreError> {
        let channel = self.keys().channel("command", node.as_str());
        let (subscription, events) = self.channels().subscribe(&channel).await?;
        let sign = Sign {
            server: Arc::clone(self.server()),
            scripts: Arc::clone(self.scripts()),
            key: self.keys().node(node),
            token: Uuid::new_v4().to_string(),
        };
        sign.show().await?;
        let desk = Desk { server: Arc::clone(self.server()), keys: Arc::clone(self.keys()), handler };
        Ok(Box::new(Listening {
            _subscription: subscription,
            _beats: EndOnDrop::spawn(keep_showing(sign.clone())),
            _works: EndOnDrop::spawn(desk.work(events)),
            sign,
            _store: self.clone(),
        }))
    }
}

/// Says that a node listens.
#[derive(Clone, Debug)]
struct Sign {
    server: Arc<Server>,
    scripts: Arc<Scripts>,
    key: String,
    token: String,
}

impl Sign {
    async fn show(&self) -> Result<(), StoreError> {
        let mut set = redis::pipe();
        let listens = u64::try_from(LISTENS.as_millis()).unwrap_or(u64::MAX);
        set.cmd("SET").arg(&self.key).arg(&self.token).arg("PX").arg(listens);
        self.server.pipe::<redis::Value>("saying that a node listens", &set).await.map(drop)
    }

    async fn take_down(self) {
        let args = Args::new().text(self.token);
        // One that cannot be taken down runs out.
        self.server
            .run::<bool>("saying that a node is gone", &self.scripts.lease.release, &[self.key], args)
            .await
            .ok();
    }
}

async fn keep_showing(sign: Sign) {
    let mut beats = interval(BEAT);
    loop {
        beats.tick().await;
        // The next one may succeed.
        sign.show().await.ok();
    }
}

/// A node listens until this is dropped, or the same node listens anew.
#[derive(Debug)]
struct Listening {
    _subscription: Subscription,
    _beats: EndOnDrop,
    _works: EndOnDrop,
    sign: Sign,
    /// Without it nobody hears the channel.
    _store: RedisStore,
}

impl Serving for Listening {}

impl Drop for Listening {
    fn drop(&mut self) {
        // Where the runtime is gone too, the sign runs out.
        if tokio::runtime::Handle::try_current().is_ok() {
            spawn(self.sign.clone().take_down());
        }
    }
}

/// Where commands are worked on.
struct Desk {
    server: Arc<Server>,
    keys: Arc<Keys>,
    handler: Arc<dyn CommandHandler>,
}

impl Desk {
    async fn work(self, mut events: mpsc::Receiver<Event>) {
        let desk = Arc::new(self);
        let room = Arc::new(Semaphore::new(AT_ONCE));
        let mut seen = Seen::default();
        while let Some(event) = events.recv().await {
            let Event::Message(text) = event else { continue };
            let come = Instant::now();
            // What cannot be read is of a later version: its caller is told by its limit.
            let Ok(call) = decode::<Call>(&text) else { continue };
            let Ok(place) = Arc::clone(&room).try_acquire_owned() else { continue };
            if seen.is_new(&call) {
                let desk = Arc::clone(&desk);
                spawn(async move {
                    desk.answer(call, come).await;
                    drop(place);
                });
            }
        }
    }

    async fn answer(&self, call: Call, come: Instant) {
        let work = self.handler.handle(call.topic, call.command);
        let reply = match come.checked_add(Duration::from_millis(call.limit)) {
            Some(deadline) => timeout_at(deadline, work).await.ok(),
            None => Some(work.await),
        };
        // Nobody waits for it any more.
        let Some(reply) = reply else { return };
        let Ok(text) = encode(&Answer { id: call.id, reply }) else { return };
        let mut send = redis::pipe();
        send.cmd("PUBLISH").arg(self.keys.channel("reply", &call.caller)).arg(text);
        // A caller that gets no reply is told by its limit.
        self.server.pipe::<redis::Value>("replying to a command", &send).await.ok();
    }
}

/// The commands that came last.
#[derive(Debug, Default)]
struct Seen {
    known: HashSet<(String, u64)>,
    order: VecDeque<(String, u64)>,
}

impl Seen {
    fn is_new(&mut self, call: &Call) -> bool {
        let name = (call.caller.clone(), call.id);
        if !self.known.insert(name.clone()) {
            return false;
        }
        self.order.push_back(name);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("name", &self.name).finish_non_exhaustive()
    }
}
