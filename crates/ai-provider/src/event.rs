use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::context::RequestId;
use crate::error::ErrorRecord;
use crate::keys::KeyLabel;
use crate::target::TargetId;

/// Receives what happens beside a stream. Synchronous and infallible: it must not block.
pub trait EventSink: Send + Sync {
    /// Takes one event.
    fn emit(&self, event: Event);
}

impl<F: Fn(Event) + Send + Sync> EventSink for F {
    fn emit(&self, event: Event) {
        self(event);
    }
}

impl fmt::Debug for dyn EventSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventSink")
    }
}

/// What happens beside a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Event {
    /// Something about an attempt to call a model.
    Attempt(AttemptEvent),
}

/// The life of the attempts behind one step: how a model call was tried again, elsewhere or with another key.
///
/// Types of this crate, so that nobody needs the retry crate to read them. Never part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum AttemptEvent {
    /// An attempt begins.
    Started {
        /// Counts all attempts of the step from 1, over keys and targets.
        attempt: u32,
        /// What is called.
        target: TargetId,
        /// With which key.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<KeyLabel>,
        /// The id the request carries.
        request_id: RequestId,
    },
    /// An attempt failed and another will follow; sent before the wait.
    Retrying(Box<RetryNotice>),
    /// The last attempt is over. Sent on every end, also on the first attempt's success.
    Settled {
        /// How many attempts were made.
        attempts: u32,
        /// The target of the last one.
        target: TargetId,
        /// How it ended.
        end: AttemptEnd,
    },
}

/// How the last attempt ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum AttemptEnd {
    /// With an answer.
    Answered,
    /// With an error that is passed on.
    Failed {
        /// The error.
        error: ErrorRecord,
    },
    /// By the caller, or by dropping the stream.
    Cancelled,
}

/// Announces the next attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RetryNotice {
    /// The number of the attempt to come.
    pub attempt: u32,
    /// What it will call.
    pub target: TargetId,
    /// With which key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyLabel>,
    /// What failed before.
    pub cause: ErrorRecord,
    /// The wait before it.
    pub delay: Duration,
    /// Who set the wait.
    pub delay_source: DelaySource,
    /// What is left of the wall-clock budget; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining: Option<Duration>,
}

/// Who set a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DelaySource {
    /// There is none: another key or target is at hand.
    None,
    /// The backoff of the policy.
    Backoff,
    /// The server's hint.
    Hint,
}
