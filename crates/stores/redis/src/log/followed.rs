use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use redis::aio::MultiplexedConnection;
use redis::{Cmd, RedisError};
use stream_manager::port::StoreErrorKind;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use super::tail::Tail;
use super::{LogKeys, Scripts};
use crate::lock::lock;
use crate::server::{Args, Server};
use crate::task::EndOnDrop;

/// So long the server waits for something to come before it answers that there is nothing.
const BLOCK: Duration = Duration::from_millis(1000);

/// So many entries of each log at a time: the records of a few seconds.
const ENTRIES: usize = 256;

/// Between two reads: what comes in it is read together.
const GATHER: Duration = Duration::from_millis(2);

/// A log of which nothing was heard for so long is looked at: whether it is there, and its owner.
const QUIET: Duration = Duration::from_secs(1);

/// Between two tries to wake the read that waits, or to connect.
const PAUSE: Duration = Duration::from_millis(5);
const RECONNECT: Duration = Duration::from_millis(100);

/// The logs that this node follows: all over one connection, and each once, however many readers it has here.
#[derive(Debug)]
pub(crate) struct Followed {
    list: Arc<List>,
    most: usize,
    _task: EndOnDrop,
}

#[derive(Debug, Default)]
struct List {
    tails: Mutex<HashMap<String, Weak<Tail>>>,
    changed: Notify,
}

/// Entries of logs, by their keys.
type Found = Option<Vec<(String, Vec<(String, Vec<String>)>)>>;

impl Followed {
    pub(crate) fn start(server: Arc<Server>, log_bytes: usize) -> Self {
        let list = Arc::new(List::default());
        let work = follow_all(Arc::clone(&list), server);
        // Twice of what the server keeps: a snapshot that reaches to the one reaches into the other.
        Self {
            list,
            most: log_bytes.saturating_mul(2).saturating_add(256 * 1024),
            _task: EndOnDrop::spawn(work),
        }
    }

    /// Follows a log, from its beginning if it was not followed.
    pub(super) fn follow(&self, keys: LogKeys) -> Arc<Tail> {
        let mut tails = lock(&self.list.tails);
        let known = tails.get(&keys.stream).and_then(Weak::upgrade);
        // One that failed for good is read anew: it may have been made again.
        if let Some(tail) = known.filter(|tail| tail.is_live() || tail.lock().has_end) {
            return tail;
        }
        let stream = keys.stream.clone();
        let tail = Arc::new(Tail::new(keys, self.most));
        tails.insert(stream, Arc::downgrade(&tail));
        drop(tails);
        self.list.changed.notify_one();
        tail
    }
}

impl List {
    /// Those that have readers and may go on.
    fn live(&self) -> Vec<Arc<Tail>> {
        let mut tails = lock(&self.tails);
        tails.retain(|_, tail| tail.strong_count() > 0);
        tails.values().filter_map(Weak::upgrade).filter(|tail| tail.is_live()).collect()
    }
}

/// A connection, and its name at the server.
struct Line {
    connection: MultiplexedConnection,
    id: u64,
}

async fn follow_all(list: Arc<List>, server: Arc<Server>) {
    let scripts = Scripts::new();
    let mut line: Option<Line> = None;
    let mut silent: Option<Instant> = None;
    loop {
        let tails = list.live();
        if tails.is_empty() {
            list.changed.notified().await;
            continue;
        }
        let read = match &mut line {
            Some(line) => read(line, &list, &server, &tails).await,
            None => match connect(&server).await {
                Ok(connected) => {
                    line = Some(connected);
                    continue;
                }
                Err(error) => Err(error),
            },
        };
        match read {
            Ok(found) => {
                silent = None;
                share(&tails, found);
                look(&server, &scripts, &tails).await;
                drop(tails);
                sleep(GATHER).await;
            }
            Err(_) => {
                line = None;
                if silent.get_or_insert_with(Instant::now).elapsed() >= server.timeout() {
                    tails.iter().for_each(|tail| tail.fail(StoreErrorKind::Unavailable, false));
                }
                drop(tails);
                sleep(RECONNECT).await;
            }
        }
    }
}

async fn connect(server: &Server) -> Result<Line, RedisError> {
    let mut connection = server.blocking().await?;
    let ask = redis::cmd("CLIENT").arg("ID").query_async(&mut connection).await;
    // A server that does not tell cannot be woken; it then answers a new reader a little later.
    Ok(Line { connection, id: ask.unwrap_or_default() })
}

/// Reads what the logs have behind their places, and waits for it if there is nothing.
async fn read(
    line: &mut Line,
    list: &List,
    server: &Server,
    tails: &[Arc<Tail>],
) -> Result<Found, RedisError> {
    let mut command = Cmd::new();
    command.arg("XREAD").arg("COUNT").arg(ENTRIES);
    command.arg("BLOCK").arg(u64::try_from(BLOCK.as_millis()).unwrap_or(u64::MAX)).arg("STREAMS");
    for tail in tails {
        command.arg(&tail.keys.stream);
    }
    for tail in tails {
        command.arg(&tail.lock().position);
    }
    let answer = timeout(BLOCK + server.timeout(), command.query_async(&mut line.connection));
    tokio::pin!(answer);
    let late = |_| RedisError::from(std::io::Error::from(std::io::ErrorKind::TimedOut));
    tokio::select! {
        found = &mut answer => return found.map_err(late)?,
        () = list.changed.notified() => {}
    }
    // Another log is to be followed. The call that wakes may come before the one that waits: it is made until it is heard.
    loop {
        let mut wake = redis::pipe();
        wake.cmd("CLIENT").arg("UNBLOCK").arg(line.id);
        tokio::select! {
            found = &mut answer => return found.map_err(late)?,
            () = async {
                server.once::<redis::Value>("waking the reader of logs", &wake).await.ok();
                sleep(PAUSE).await;
            } => {}
        }
    }
}

fn share(tails: &[Arc<Tail>], found: Found) {
    let by_key: HashMap<&str, &Arc<Tail>> =
        tails.iter().map(|tail| (tail.keys.stream.as_str(), tail)).collect();
    for (key, entries) in found.into_iter().flatten() {
        if let Some(tail) = by_key.get(key.as_str()) {
            tail.take(entries, ENTRIES);
        }
    }
}

/// Looks at the logs that are quiet.
async fn look(server: &Server, scripts: &Scripts, tails: &[Arc<Tail>]) {
    let quiet = tails.iter().filter(|tail| tail.is_quiet(QUIET));
    join_all(quiet.map(|tail| async move {
        let LogKeys { stream, snapshot, lease, epochs, topic } = &tail.keys;
        let keys = [stream, snapshot, lease, epochs].map(String::clone);
        let args = Args::new().text(topic.as_str());
        // One that cannot be asked now is asked again.
        match server.run("looking at a quiet log", &scripts.alive, &keys, args).await {
            Ok(0) => tail.fail(StoreErrorKind::NotFound, true),
            Ok(2) => tail.abandon(),
            Ok(_) | Err(_) => {}
        }
    }))
    .await;
}
