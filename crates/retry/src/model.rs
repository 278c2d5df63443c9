use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ai_provider::{CallContext, Capabilities, LanguageModel, ModelStream, Request, ScopeKey, TargetId};

use crate::engine::Engine;
use crate::policy::{KeyOrder, RetryPolicy};
use crate::stream::RetryStream;

/// A model with a policy around it.
pub(crate) struct RetryModel(Arc<Shared>);

/// What all calls share: nothing of it belongs to a run.
pub(crate) struct Shared {
    pub(crate) policy: RetryPolicy,
    pub(crate) primary: Arc<dyn LanguageModel>,
    pub(crate) scope_key: ScopeKey,
    /// Where the next run begins among the keys.
    cursor: AtomicUsize,
}

impl Shared {
    /// The key a run begins with at the primary; `asked` is what the caller's context says.
    pub(crate) fn first_key(&self, asked: usize) -> usize {
        match self.policy.key_order() {
            KeyOrder::RoundRobin => asked.wrapping_add(self.cursor.fetch_add(1, Ordering::Relaxed)),
            KeyOrder::First => asked,
        }
    }
}

impl RetryModel {
    pub(crate) fn new(policy: RetryPolicy, primary: Arc<dyn LanguageModel>) -> Self {
        let (scope_key, cursor) = (ScopeKey::new(), AtomicUsize::new(0));
        Self(Arc::new(Shared { policy, primary, scope_key, cursor }))
    }
}

impl LanguageModel for RetryModel {
    fn target(&self) -> &TargetId {
        self.0.primary.target()
    }

    fn capabilities(&self) -> &Capabilities {
        self.0.primary.capabilities()
    }

    /// See [`LanguageModel::stream`]. It must be polled within a tokio runtime that has its timers enabled.
    fn stream(&self, request: Request, ctx: CallContext) -> ModelStream {
        if request.settings.max_retries == Some(0) {
            return self.0.primary.stream(request, ctx);
        }
        let engine = Engine::new(Arc::clone(&self.0), request, ctx);
        Box::pin(RetryStream::new(engine))
    }
}
