use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use redis::Script;
use stream_manager::port::{Acquired, Lease, Ownership, StoreError, StoreErrorKind};
use stream_manager::record::{NodeId, TopicId};
use tokio::time::Instant;

use crate::lock::lock;
use crate::server::Args;
use crate::store::RedisStore;

/// Lua counts in doubles, which are exact so far. No topic changes its owner so often.
pub(crate) const MAX_EPOCH: u64 = (1 << 53) - 1;

/// The leases this node was given, and until when they hold by its own clock: measured from before it asked, so that they
/// end here before they end at the server. A node that slept finds them ended before its next write.
#[derive(Debug, Default)]
pub(crate) struct Held(Mutex<HashMap<TopicId, Term>>);

#[derive(Clone, Copy, Debug)]
struct Term {
    epoch: u64,
    /// Never, if so far ahead that the clock does not reach it.
    until: Option<Instant>,
}

/// Beyond, those that ended are forgotten: the server refuses what is written under them once there is a new owner.
const MAX_TERMS: usize = 10_000;

impl Term {
    fn has_ended(&self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }
}

impl Held {
    fn note(&self, lease: &Lease, asked: Instant, ttl: Duration) {
        let term = Term { epoch: lease.epoch, until: asked.checked_add(ttl) };
        let mut held = lock(&self.0);
        if held.len() >= MAX_TERMS {
            held.retain(|_, term| !term.has_ended());
        }
        held.insert(lease.topic.clone(), term);
    }

    fn give_back(&self, lease: &Lease) {
        let mut held = lock(&self.0);
        if held.get(&lease.topic).is_some_and(|term| term.epoch == lease.epoch) {
            held.remove(&lease.topic);
        }
    }

    /// Refuses what is written under a lease that ended by this node's clock, or is older than one it was given.
    pub(crate) fn check(&self, lease: &Lease) -> Result<(), StoreError> {
        if lease.epoch > MAX_EPOCH {
            return Err(StoreError::new(
                StoreErrorKind::Conflict,
                format!("epoch {} is too large", lease.epoch),
            ));
        }
        let held = lock(&self.0);
        let Some(term) = held.get(&lease.topic) else { return Ok(()) };
        if (term.epoch == lease.epoch && term.has_ended()) || lease.epoch < term.epoch {
            return Err(StoreError::fenced(format!("the lease of topic {} ended", lease.topic)));
        }
        Ok(())
    }
}

/// The scripts of leases.
#[derive(Debug)]
pub(crate) struct Scripts {
    acquire: Script,
    renew: Script,
    pub(crate) release: Script,
    owner: Script,
}

impl Scripts {
    pub(crate) fn new() -> Self {
        // KEYS: lease, epochs of the group. A lease is `EPOCH NODE`.
        Self {
            acquire: Script::new(
                r"
                local held = redis.call('GET', KEYS[1])
                if held then
                    local node = string.match(held, '^%d+ (.*)$')
                    if node ~= ARGV[2] then return {0, node} end
                end
                local epoch = redis.call('HINCRBY', KEYS[2], ARGV[1], 1)
                if tonumber(ARGV[3]) > 0 then
                    redis.call('SET', KEYS[1], epoch .. ' ' .. ARGV[2], 'PX', ARGV[3])
                else
                    redis.call('DEL', KEYS[1])
                end
                return {epoch, ''}",
            ),
            renew: Script::new(
                r"
                if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
                return redis.call('PEXPIRE', KEYS[1], ARGV[2])",
            ),
            release: Script::new(
                r"
                if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
                return redis.call('DEL', KEYS[1])",
            ),
            owner: Script::new(r"return redis.call('GET', KEYS[1])"),
        }
    }
}

fn value(lease: &Lease) -> String {
    format!("{} {}", lease.epoch, lease.node)
}

#[async_trait]
impl Ownership for RedisStore {
    async fn acquire(&self, topic: &TopicId, node: &NodeId, ttl: Duration) -> Result<Acquired, StoreError> {
        let asked = Instant::now();
        let keys = [self.keys().topic(topic, "lease"), self.keys().of_group(topic, "epochs")];
        let args = Args::new().text(topic.as_str()).text(node.as_str()).millis(ttl);
        let what = format!("asking for the lease of topic {topic}");
        let (epoch, other): (u64, String) =
            self.server().run(what, &self.scripts().lease.acquire, &keys, args).await?;
        if epoch == 0 {
            return Ok(Acquired::Other(other.into()));
        }
        let lease = Lease::new(topic.clone(), node.clone(), epoch);
        self.held().note(&lease, asked, ttl);
        Ok(Acquired::Held(lease))
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<(), StoreError> {
        self.held().check(lease)?;
        let asked = Instant::now();
        let keys = [self.keys().topic(&lease.topic, "lease")];
        let what = format!("renewing the lease of topic {}", lease.topic);
        let args = Args::new().text(value(lease)).millis(ttl);
        let renewed: bool =
            self.server().run(what.as_str(), &self.scripts().lease.renew, &keys, args).await?;
        if !renewed {
            return Err(StoreError::fenced(what));
        }
        self.held().note(lease, asked, ttl);
        Ok(())
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.held().give_back(lease);
        let keys = [self.keys().topic(&lease.topic, "lease")];
        let what = format!("giving back the lease of topic {}", lease.topic);
        let args = Args::new().text(value(lease));
        self.server().run::<bool>(what, &self.scripts().lease.release, &keys, args).await.map(drop)
    }

    async fn owner(&self, topic: &TopicId) -> Result<Option<NodeId>, StoreError> {
        let keys = [self.keys().topic(topic, "lease")];
        let what = format!("asking for the owner of topic {topic}");
        let held: Option<String> =
            self.server().run(what, &self.scripts().lease.owner, &keys, Args::new()).await?;
        Ok(held.and_then(|held| held.split_once(' ').map(|(_, node)| node.into())))
    }
}
