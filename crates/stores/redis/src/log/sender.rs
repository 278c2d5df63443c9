use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::Notify;
use tokio::time::sleep;

use super::outbox::{Outbox, Sending};
use crate::lock::lock;
use crate::server::Server;
use crate::settings::RedisSettings;
use crate::store::Scripts;
use crate::task::EndOnDrop;

/// After a failure, so long until the next try.
const PAUSE: Duration = Duration::from_millis(100);

/// Sends what the writers of this node have, all of them at once: each round is one command for each writer that has
/// something, and the next begins when the server has answered.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    list: Arc<List>,
    _task: Arc<EndOnDrop>,
}

#[derive(Debug, Default)]
struct List {
    outboxes: Mutex<Vec<Arc<Outbox>>>,
    is_urgent: AtomicBool,
    listed: Notify,
    urgent: Notify,
}

impl Sender {
    pub(crate) fn start(server: Arc<Server>, scripts: Arc<Scripts>, settings: &RedisSettings) -> Self {
        let list = Arc::new(List::default());
        let work = send_all(Arc::clone(&list), server, scripts, settings.clone());
        Self { list, _task: Arc::new(EndOnDrop::spawn(work)) }
    }

    /// Has an outbox sent: now, or with others in a moment.
    pub(super) fn post(&self, outbox: &Arc<Outbox>, now: bool) {
        self.list.add(outbox);
        if now {
            self.list.is_urgent.store(true, Ordering::Release);
            self.list.urgent.notify_one();
        }
    }
}

impl List {
    fn add(&self, outbox: &Arc<Outbox>) {
        if !outbox.is_listed.swap(true, Ordering::AcqRel) {
            lock(&self.outboxes).push(Arc::clone(outbox));
            self.listed.notify_one();
        }
    }

    async fn gather(&self, time: Duration) {
        loop {
            self.listed.notified().await;
            if !lock(&self.outboxes).is_empty() {
                break;
            }
        }
        if !self.is_urgent.swap(false, Ordering::AcqRel) {
            tokio::select! {
                () = sleep(time) => {}
                () = self.urgent.notified() => {}
            }
            self.is_urgent.store(false, Ordering::Release);
        }
    }
}

async fn send_all(list: Arc<List>, server: Arc<Server>, scripts: Arc<Scripts>, settings: RedisSettings) {
    loop {
        list.gather(settings.gather).await;
        let outboxes = std::mem::take(&mut *lock(&list.outboxes));
        let sendings = outboxes.iter().map(|outbox| {
            // Before it is looked at: what is added from now on lists it anew.
            outbox.is_listed.store(false, Ordering::Release);
            outbox.send(&server, &scripts, &settings)
        });
        let results = join_all(sendings).await;
        let mut has_failed = false;
        for (outbox, sending) in outboxes.iter().zip(results) {
            has_failed |= sending == Sending::Failed;
            if sending != Sending::Over {
                list.add(outbox);
            }
        }
        if has_failed {
            sleep(PAUSE).await;
        }
    }
}
