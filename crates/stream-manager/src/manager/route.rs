use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use super::{ManagerError, StreamManager};
use crate::port::{Command, Reply, StoreErrorKind};
use crate::record::TopicId;
use crate::shared::later;

/// How long to wait before a topic is looked for again whose owner was not there; it doubles up to a second.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

impl StreamManager {
    /// Takes a command to whoever owns the topic: a live owner elsewhere, else this node, which owns it from then on.
    pub(super) async fn call(
        &self,
        topic: &TopicId,
        command: Command,
        limit: Duration,
    ) -> Result<Reply, ManagerError> {
        let until = later(Instant::now(), limit);
        let calling = async {
            let mut wait = LOOK_AGAIN;
            loop {
                match self.call_once(topic, command.clone(), until).await? {
                    Reply::NotOwner => {}
                    reply => return Ok(reply),
                }
                sleep(wait).await;
                wait = (wait * 2).min(Duration::from_secs(1));
            }
        };
        timeout_at(until, calling).await.map_err(|_| ManagerError::NoOwner)?
    }

    async fn call_once(
        &self,
        topic: &TopicId,
        command: Command,
        until: Instant,
    ) -> Result<Reply, ManagerError> {
        let shared = &self.inner.shared;
        let here = self.inner.registry.get(topic).is_some();
        let owner = if here { None } else { shared.ownership.owner(topic).await? };
        let node = owner.as_ref().unwrap_or(&shared.node);
        let rest = until.saturating_duration_since(Instant::now());
        match shared.commands.call(node, topic, command, rest).await {
            // An owner that does not listen any more: its lease runs out.
            Err(error) if error.kind() == StoreErrorKind::NotFound && owner.is_some() => Ok(Reply::NotOwner),
            reply => Ok(reply?),
        }
    }
}
