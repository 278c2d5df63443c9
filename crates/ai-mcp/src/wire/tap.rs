use std::collections::HashSet;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rmcp::model::{
    JsonRpcMessage, NumberOrString, ProgressNotificationParam, ProgressToken, RequestId, ServerNotification,
};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use tokio::sync::{Notify, broadcast, watch};
use tokio_util::sync::CancellationToken;

use crate::text::line;

/// Requests of the server that may wait for an answer at once. Each costs a task, and a server that asks without
/// reading the answers could make any number.
const MOST_REQUESTS: usize = 64;

/// Reports of progress that are kept for a call that is not read; older ones give way.
const PROGRESS_KEPT: usize = 64;

/// Bytes of the message of a report of progress that are kept.
const MESSAGE_KEPT: usize = 1_000;

/// The longest id of a request of the server, in bytes: it is kept until the answer.
const LONGEST_ID: usize = 1_000;

/// A report of progress.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    pub(crate) token: ProgressToken,
    pub(crate) progress: f64,
    pub(crate) total: Option<f64>,
    pub(crate) message: Option<String>,
}

impl Progress {
    /// What is kept of a report; nothing of one about a call that cannot be ours.
    fn of(report: &ProgressNotificationParam) -> Option<Self> {
        (length(&report.progress_token.0) <= LONGEST_ID).then(|| Self {
            token: report.progress_token.clone(),
            progress: report.progress,
            total: report.total,
            message: report.message.as_deref().map(|message| line(message, MESSAGE_KEPT)),
        })
    }
}

/// Bytes of an id.
fn length(id: &NumberOrString) -> usize {
    match id {
        NumberOrString::Number(_) => 0,
        NumberOrString::String(id) => id.len(),
    }
}

/// What ended a connection from this side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    TooLarge { most: usize },
    TooManyRequests,
    LongId,
    Silent,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { most } => write!(f, "it sent a message of more than {most} bytes"),
            Self::TooManyRequests => write!(f, "it has more than {MOST_REQUESTS} requests open at once"),
            Self::LongId => write!(f, "it sent a request whose id is longer than {LONGEST_ID} bytes"),
            Self::Silent => f.write_str("it no longer answers"),
        }
    }
}

/// What is heard on one connection.
#[derive(Debug)]
pub(crate) struct Wire {
    progress: broadcast::Sender<Progress>,
    /// How often the server has said that its tools are others now.
    changes: watch::Sender<u64>,
    /// The server has refused something without saying what, so that a request may wait for good: a server that was
    /// started anew and has forgotten the session does so.
    pub(crate) doubt: Notify,
    /// Nothing comes any more.
    pub(crate) closed: CancellationToken,
    fault: OnceLock<Fault>,
    /// Requests of the server without an answer yet.
    open: Mutex<HashSet<RequestId>>,
}

impl Wire {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            progress: broadcast::Sender::new(PROGRESS_KEPT),
            changes: watch::Sender::new(0),
            doubt: Notify::new(),
            closed: CancellationToken::new(),
            fault: OnceLock::new(),
            open: Mutex::default(),
        })
    }

    /// Progress of all calls from now on.
    pub(crate) fn progress(&self) -> broadcast::Receiver<Progress> {
        self.progress.subscribe()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// How often the server has said so far that its tools are others.
    pub(crate) fn changes_heard(&self) -> u64 {
        *self.changes.borrow()
    }

    pub(crate) fn fail(&self, fault: Fault) {
        let _ = self.fault.set(fault);
    }

    pub(crate) fn fault(&self) -> Option<Fault> {
        self.fault.get().copied()
    }

    fn open(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A transport whose notifications are heard here, in order and before the answer they precede. They go no further:
/// behind this, each would be a task of its own, and a server may send any number.
#[derive(Debug)]
pub(crate) struct Tap<T> {
    inner: T,
    wire: Arc<Wire>,
}

impl<T> Tap<T> {
    pub(crate) fn new(inner: T, wire: Arc<Wire>) -> Self {
        Self { inner, wire }
    }

    /// Hears a message; gives it back if it is to go on, and an error if the connection must end.
    fn hear(
        &self,
        message: RxJsonRpcMessage<RoleClient>,
    ) -> Result<Option<RxJsonRpcMessage<RoleClient>>, Fault> {
        match &message {
            JsonRpcMessage::Notification(notification) => match &notification.notification {
                ServerNotification::ProgressNotification(report) => {
                    if let Some(progress) = Progress::of(&report.params) {
                        // Without a call that listens it is lost, as it should be.
                        let _ = self.wire.progress.send(progress);
                    }
                    Ok(None)
                }
                ServerNotification::ToolListChangedNotification(_) => {
                    self.wire.changes.send_modify(|heard| *heard += 1);
                    Ok(None)
                }
                ServerNotification::CancelledNotification(cancelled) => {
                    if let Some(id) = &cancelled.params.request_id {
                        self.wire.open().remove(id);
                    }
                    Ok(Some(message))
                }
                ServerNotification::SubscriptionsAcknowledgedNotification(_) => Ok(Some(message)),
                _ => Ok(None),
            },
            JsonRpcMessage::Request(request) if length(&request.id) > LONGEST_ID => Err(Fault::LongId),
            JsonRpcMessage::Request(request) => {
                let mut open = self.wire.open();
                open.insert(request.id.clone());
                if open.len() > MOST_REQUESTS { Err(Fault::TooManyRequests) } else { Ok(Some(message)) }
            }
            JsonRpcMessage::Error(error) => {
                // Ours have numbers.
                if !matches!(error.id, Some(RequestId::Number(_))) {
                    self.wire.doubt.notify_one();
                }
                Ok(Some(message))
            }
            _ => Ok(Some(message)),
        }
    }
}

/// An error of a transport, in words.
pub(crate) trait Told: std::error::Error {
    fn told(&self) -> String;
}

impl Told for io::Error {
    fn told(&self) -> String {
        self.to_string()
    }
}

impl<E: std::error::Error + Send + Sync + 'static> Told for StreamableHttpError<E> {
    /// With what is beneath: that a request failed says little without why.
    fn told(&self) -> String {
        let Self::Client(error) = self else { return self.to_string() };
        let (mut text, mut source) = (error.to_string(), error.source());
        while let Some(beneath) = source {
            text.push_str(": ");
            text.push_str(&beneath.to_string());
            source = beneath.source();
        }
        text
    }
}

impl<T: Transport<RoleClient, Error: Told>> Transport<RoleClient> for Tap<T> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answered = match &item {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        let (wire, sending) = (Arc::clone(&self.wire), self.inner.send(item));
        async move {
            let sent = sending.await;
            if let Some(id) = answered {
                wire.open().remove(&id);
            }
            sent.map_err(|error| io::Error::other(error.told()))
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let Some(message) = self.inner.receive().await else {
                self.wire.closed.cancel();
                return None;
            };
            match self.hear(message) {
                Ok(None) => {}
                Ok(going_on) => return going_on,
                Err(fault) => {
                    self.wire.fail(fault);
                    self.wire.closed.cancel();
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.wire.closed.cancel();
        self.inner.close().await.map_err(|error| io::Error::other(error.told()))
    }
}

impl<T> Drop for Tap<T> {
    fn drop(&mut self) {
        self.wire.closed.cancel();
    }
}
