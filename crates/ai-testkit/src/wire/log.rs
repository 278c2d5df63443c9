use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::StatusCode;
use tokio::sync::Notify;
use tokio::time;

use super::reply::WireReply;
use super::request::RecordedRequest;

/// What the server and the test share.
#[derive(Debug, Default)]
pub(super) struct Log {
    entries: Mutex<Entries>,
    changed: Condvar,
    notify: Notify,
}

#[derive(Debug, Default)]
pub(super) struct Entries {
    pub(super) replies: VecDeque<WireReply>,
    pub(super) given: usize,
    pub(super) repeat: Option<WireReply>,
    pub(super) routes: Vec<(String, WireReply)>,
    pub(super) requests: Vec<RecordedRequest>,
    pub(super) connections: usize,
    pub(super) closed: usize,
}

impl Entries {
    /// Records a request and finds its reply.
    pub(super) fn take_reply(&mut self, request: RecordedRequest) -> WireReply {
        let path = request.path.split('?').next().unwrap_or_default();
        let route = self.routes.iter().rev().find(|(route, _)| route == path).map(|(_, reply)| reply.clone());
        self.requests.push(request);
        let reply = route.or_else(|| self.replies.pop_front()).or_else(|| self.repeat.clone());
        reply.unwrap_or_else(|| {
            let (request, replies) = (self.requests.len(), self.given);
            let text = format!("request {request} came to a wire server with {replies} replies");
            WireReply::new(StatusCode::BAD_REQUEST, text)
        })
    }
}

impl Log {
    pub(super) fn read<T>(&self, read: impl FnOnce(&Entries) -> T) -> T {
        read(&self.lock())
    }

    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Entries) -> T) -> T {
        let out = change(&mut self.lock());
        self.changed.notify_all();
        self.notify.notify_waiters();
        out
    }

    pub(super) fn blocking_wait(&self, timeout: Duration, holds: impl Fn(&Entries) -> bool) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), timeout, |entries| !holds(entries));
        let (entries, _) = waited.unwrap_or_else(PoisonError::into_inner);
        holds(&entries)
    }

    pub(super) async fn wait(&self, timeout: Duration, holds: impl Fn(&Entries) -> bool) -> bool {
        let waiting = async {
            loop {
                // Registered before the look, so that no change can slip in between.
                let mut changed = pin!(self.notify.notified());
                changed.as_mut().enable();
                if self.read(&holds) {
                    return;
                }
                changed.await;
            }
        };
        time::timeout(timeout, waiting).await.is_ok()
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
