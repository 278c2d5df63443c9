use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::event::{Event, EventSink};

/// What belongs to one call and to the run it is part of, not to the model.
///
/// ```
/// use ai_provider::{CallContext, CancellationToken};
/// let cancel = CancellationToken::new();
/// let ctx = CallContext::new().with_cancel(cancel.clone());
/// cancel.cancel();
/// assert!(ctx.cancel.is_cancelled());
/// ```
#[derive(Clone, Debug)]
pub struct CallContext {
    /// Cancelling it ends the call with [`ErrorClass::Cancelled`](crate::ErrorClass::Cancelled).
    pub cancel: CancellationToken,
    /// When the whole run must be over, read off tokio's clock; no limit if absent.
    pub deadline: Option<Instant>,
    /// Which key of the model's source to use; see [`KeySource`](crate::KeySource).
    pub key_index: usize,
    /// New whenever the body of the request may differ, otherwise the same on every attempt. Sent as the
    /// idempotency key where the API has one, and the seed of all ids made on this side.
    pub request_id: RequestId,
    /// The step of the run this call is, from 1; absent outside a run.
    pub step: Option<u32>,
    /// Where layers keep what lasts for one run.
    pub scope: RunScope,
    events: Option<Arc<dyn EventSink>>,
}

impl CallContext {
    /// A bare call: never cancelled, no deadline, first key, a fresh request id and scope.
    pub fn new() -> Self {
        Self::of_run(CancellationToken::new(), RunScope::new(), RequestId::random())
    }

    /// A call of a run that has its token and scope: no deadline, first key.
    pub fn of_run(cancel: CancellationToken, scope: RunScope, request_id: RequestId) -> Self {
        Self { cancel, deadline: None, key_index: 0, request_id, step: None, scope, events: None }
    }

    /// Sets the token.
    #[must_use]
    pub fn with_cancel(mut self, cancel: CancellationToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Sets the deadline.
    #[must_use]
    pub fn with_deadline(mut self, deadline: impl Into<Option<Instant>>) -> Self {
        self.deadline = deadline.into();
        self
    }

    /// Sets the key.
    #[must_use]
    pub fn with_key_index(mut self, index: usize) -> Self {
        self.key_index = index;
        self
    }

    /// Sets the request id.
    #[must_use]
    pub fn with_request_id(mut self, id: impl Into<RequestId>) -> Self {
        self.request_id = id.into();
        self
    }

    /// Says which step of a run the call is, from 1.
    #[must_use]
    pub fn with_step(mut self, step: u32) -> Self {
        self.step = Some(step);
        self
    }

    /// Sets the scope: that of the run the call belongs to.
    #[must_use]
    pub fn with_scope(mut self, scope: RunScope) -> Self {
        self.scope = scope;
        self
    }

    /// Sets where events go.
    #[must_use]
    pub fn with_events(mut self, sink: Arc<dyn EventSink>) -> Self {
        self.events = Some(sink);
        self
    }

    /// Sends an event; without a sink it is dropped.
    pub fn emit(&self, event: Event) {
        if let Some(sink) = &self.events {
            sink.emit(event);
        }
    }
}

impl Default for CallContext {
    fn default() -> Self {
        Self::new()
    }
}

/// Identifies a request to the provider across its attempts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestId(Arc<str>);

impl RequestId {
    /// A new one (a random UUID).
    pub fn random() -> Self {
        Self(uuid::Uuid::new_v4().to_string().into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for RequestId {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for RequestId {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who keeps a value in a [`RunScope`]: compared by identity, so that two wrappers of the same type in one
/// stack do not share state.
#[derive(Clone, Debug, Default)]
pub struct ScopeKey(Arc<()>);

impl ScopeKey {
    /// A key equal to its clones alone.
    pub fn new() -> Self {
        Self::default()
    }

    fn address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }
}

type Slot = (ScopeKey, Arc<dyn Any + Send + Sync>);

/// Where layers keep what lasts for one run, so that one model value can serve many runs at once.
///
/// Clones share the same values. It is never stored: a resumed run starts with an empty one.
///
/// ```
/// use ai_provider::{RunScope, ScopeKey};
/// use std::sync::atomic::{AtomicU32, Ordering};
/// let (scope, key) = (RunScope::new(), ScopeKey::new());
/// scope.get_or_insert(&key, AtomicU32::default).fetch_add(1, Ordering::Relaxed);
/// assert_eq!(scope.get_or_insert(&key, AtomicU32::default).load(Ordering::Relaxed), 1);
/// ```
#[derive(Clone, Default)]
pub struct RunScope(Arc<Mutex<HashMap<(usize, TypeId), Slot>>>);

impl RunScope {
    /// An empty scope.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value kept under this key and type, made by `new` the first time. `new` must not use the scope.
    pub fn get_or_insert<T: Any + Send + Sync>(&self, key: &ScopeKey, new: impl FnOnce() -> T) -> Arc<T> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = (key.address(), TypeId::of::<T>());
        if let Some(Ok(value)) = slots.get(&at).map(|(_, value)| Arc::clone(value).downcast::<T>()) {
            return value;
        }
        let value = Arc::new(new());
        // The slot holds the key too, so that its address cannot be given to another one.
        slots.insert(at, (key.clone(), Arc::clone(&value) as Arc<dyn Any + Send + Sync>));
        value
    }
}

impl fmt::Debug for RunScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunScope").finish_non_exhaustive()
    }
}
