use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ai_provider::{LanguageModel, RequestId, TargetId};

use crate::middleware::Middleware;
use crate::model_ref::ModelRef;
use crate::registry::Registry;

/// What kind of request it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// `generate_text`.
    Text,
    /// `stream_text`.
    Stream,
    /// `create_agent` and the runs of what it makes.
    Agent,
    /// `embed_many`.
    Embedding,
    /// `resolve_language_model`.
    Resolve,
}

type Values = HashMap<TypeId, Arc<dyn Any + Send + Sync>>;

/// What belongs to one request. All its hooks see the same one.
///
/// Plugins keep values in it by type. Each run of an agent has a context of its own, whose
/// [`parent`](Self::parent) is the one the agent was made with: what is kept in the parent is seen, and what the run
/// keeps is gone with it.
pub struct RequestContext {
    id: RequestId,
    operation: Operation,
    registry: Registry,
    requested: Option<ModelRef>,
    model: OnceLock<Arc<dyn LanguageModel>>,
    target: OnceLock<TargetId>,
    middleware: Vec<Arc<dyn Middleware>>,
    values: Mutex<Values>,
    parent: Option<Arc<RequestContext>>,
}

impl RequestContext {
    pub(crate) fn new(operation: Operation, registry: Registry, requested: Option<ModelRef>) -> Self {
        Self {
            id: RequestId::random(),
            operation,
            registry,
            requested,
            model: OnceLock::new(),
            target: OnceLock::new(),
            middleware: Vec::new(),
            values: Mutex::default(),
            parent: None,
        }
    }

    /// The context of a run.
    pub(super) fn child(parent: &Arc<Self>) -> Self {
        Self {
            model: parent.model.clone(),
            target: parent.target.clone(),
            parent: Some(Arc::clone(parent)),
            ..Self::new(parent.operation, parent.registry.clone(), parent.requested.clone())
        }
    }

    /// An id of this request alone.
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// What kind of request it is.
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// The registry it was made with.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The model that was asked for by name; absent if the caller gave the model itself.
    pub fn requested(&self) -> Option<&ModelRef> {
        self.requested.as_ref()
    }

    /// The language model that was found, in its middleware but without `wrap_model`; absent until it is.
    pub fn model(&self) -> Option<&Arc<dyn LanguageModel>> {
        self.model.get()
    }

    /// What the model that was found calls, an embedding model too; absent until it is.
    pub fn target(&self) -> Option<&TargetId> {
        self.target.get()
    }

    /// The context of the agent this run belongs to.
    pub fn parent(&self) -> Option<&Arc<RequestContext>> {
        self.parent.as_ref()
    }

    /// Adds middleware around the model: the first added is the outermost.
    pub fn push_middleware(&mut self, middleware: impl Middleware) {
        self.middleware.push(Arc::new(middleware));
    }

    /// Keeps a value, in the place of one of its type.
    pub fn insert<T: Any + Send + Sync>(&self, value: T) {
        self.lock().insert(TypeId::of::<T>(), Arc::new(value));
    }

    /// The value of this type that is kept here, or else in the parent.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let own = self.lock().get(&TypeId::of::<T>()).cloned();
        let own = own.and_then(|value| value.downcast().ok());
        own.or_else(|| self.parent.as_ref()?.get())
    }

    /// The value of this type that is kept here, made the first time. `new` must not use the context.
    pub fn get_or_insert_with<T: Any + Send + Sync>(&self, new: impl FnOnce() -> T) -> Arc<T> {
        let mut values = self.lock();
        if let Some(Ok(value)) = values.get(&TypeId::of::<T>()).cloned().map(Arc::downcast) {
            return value;
        }
        let value = Arc::new(new());
        values.insert(TypeId::of::<T>(), Arc::clone(&value) as _);
        value
    }

    pub(super) fn middleware(&self) -> &[Arc<dyn Middleware>] {
        &self.middleware
    }

    pub(super) fn found(&self, model: &Arc<dyn LanguageModel>) {
        self.found_target(model.target());
        let _ = self.model.set(Arc::clone(model));
    }

    pub(crate) fn found_target(&self, target: &TargetId) {
        let _ = self.target.set(target.clone());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Values> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for RequestContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestContext")
            .field("id", &self.id)
            .field("operation", &self.operation)
            .field("requested", &self.requested)
            .field("target", &self.target.get())
            .finish_non_exhaustive()
    }
}
