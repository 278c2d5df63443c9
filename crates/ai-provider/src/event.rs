use std::fmt;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::context::RequestId;
use crate::error::ErrorRecord;
use crate::finish::UnifiedFinish;
use crate::keys::KeyLabel;
use crate::target::TargetId;
use crate::usage::Usage;

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
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AttemptEvent {
    /// The step of the run, from 1; absent where a model is called outside a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// Counts all attempts of the step from 1, over keys and targets. Of what is between two attempts, the number
    /// of the one to come.
    pub attempt: u32,
    /// What this attempt calls.
    pub target: TargetId,
    /// With which key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyLabel>,
    /// The id its request carries.
    pub request_id: RequestId,
    /// What happened.
    #[serde(flatten)]
    pub kind: AttemptKind,
}

impl AttemptEvent {
    /// An event outside a run, without a key.
    pub fn new(attempt: u32, target: TargetId, request_id: RequestId, kind: AttemptKind) -> Self {
        Self { step: None, attempt, target, key: None, request_id, kind }
    }

    /// Says in which step of a run it happened.
    #[must_use]
    pub fn in_step(mut self, step: impl Into<Option<u32>>) -> Self {
        self.step = step.into();
        self
    }

    /// Names the key.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<Option<KeyLabel>>) -> Self {
        self.key = key.into();
        self
    }
}

/// What happened to an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum AttemptKind {
    /// It begins.
    Started,
    /// It failed.
    Failed {
        /// The error.
        error: ErrorRecord,
        /// Whether nothing of its answer was shown, so that a further attempt doubles nothing.
        safe: bool,
        /// The wait the server asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<Duration>,
        /// What it used up all the same, as far as the provider said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Box<Usage>>,
    },
    /// The next attempt uses another key of the same target.
    Rotated {
        /// The key before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<KeyLabel>,
    },
    /// The next attempt calls another target.
    FellBack {
        /// The target before.
        from: TargetId,
    },
    /// A target that could have been next was passed over.
    Skipped {
        /// Its name: as its caller named it, if it was never made.
        name: String,
        /// Why.
        why: String,
    },
    /// There is a wait before the next attempt; sent before it.
    Waiting {
        /// How long.
        delay: Duration,
        /// Who set it.
        source: DelaySource,
        /// When it ends.
        until: SystemTime,
        /// What is left of the time for the call; absent without a limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remaining: Option<Duration>,
    },
    /// This was the last attempt. Sent exactly once on every end, also on the first attempt's success.
    Settled {
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
    Answered {
        /// Why the model stopped.
        finish: UnifiedFinish,
    },
    /// With an error that is passed on.
    Failed {
        /// The error.
        error: ErrorRecord,
    },
    /// By the caller, or by dropping the stream.
    Cancelled,
}

/// Who set a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DelaySource {
    /// The backoff of the policy.
    Backoff,
    /// The server's hint.
    Hint,
}
