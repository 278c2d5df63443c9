use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ai_provider::{
    EmbeddingRequest, Embeddings, Generation, LanguageModel, ModelError, ModelStream, Request,
};
use futures_util::future::join_all;
use futures_util::{FutureExt, stream};

use super::{CallParams, Operation, Plugin, Plugins, RequestContext, RequestResult, StreamEnd};
use crate::error::{Error, PluginError};
use crate::middleware;
use crate::model_ref::ModelRef;
use crate::panic::panic_text;

type Told<'a> = Pin<Box<dyn Future<Output = Result<(), PluginError>> + Send + 'a>>;

/// The plugins of one request at work: each hook once, in order, whatever the request is.
#[derive(Debug)]
pub(crate) struct Pipeline {
    plugins: Plugins,
    ctx: Arc<RequestContext>,
    started: AtomicBool,
    ended: AtomicBool,
}

impl Pipeline {
    pub(crate) fn new(plugins: Plugins, ctx: Arc<RequestContext>) -> Self {
        Self { plugins, ctx, started: AtomicBool::new(false), ended: AtomicBool::new(false) }
    }

    pub(crate) fn ctx(&self) -> &Arc<RequestContext> {
        &self.ctx
    }

    /// Lets the plugins set the context up.
    pub(crate) async fn configure(plugins: &Plugins, ctx: &mut RequestContext) -> Result<(), Error> {
        for plugin in plugins.in_order() {
            guarded(&**plugin, "configure_context", async { plugin.configure_context(ctx).await }).await?;
        }
        Ok(())
    }

    pub(crate) async fn start(&self) {
        // Vectors are no stream: their end is told to nobody.
        self.started.store(self.ctx.operation() != Operation::Embedding, Ordering::Release);
        self.tell("on_request_start", |plugin| plugin.on_request_start(&self.ctx)).await;
    }

    /// The model the first plugin that answers gives.
    pub(crate) async fn resolve(&self, model: &ModelRef) -> Result<Option<Arc<dyn LanguageModel>>, Error> {
        for plugin in self.plugins.in_order() {
            let asked = async { plugin.resolve_model(model, &self.ctx).await };
            if let Some(model) = guarded(&**plugin, "resolve_model", asked).await? {
                return Ok(Some(model));
            }
        }
        Ok(None)
    }

    /// Puts the context's middleware around the model, and the model into the context.
    pub(crate) fn found(&self, model: Arc<dyn LanguageModel>) -> Arc<dyn LanguageModel> {
        let model = middleware::wrap(model, self.ctx.middleware().iter().cloned());
        self.ctx.found(&model);
        model
    }

    pub(crate) async fn params(&self, mut params: CallParams) -> Result<CallParams, Error> {
        for plugin in self.plugins.in_order() {
            let changed = async { plugin.transform_params(params, &self.ctx).await };
            params = guarded(&**plugin, "transform_params", changed).await?;
        }
        Ok(params)
    }

    pub(crate) async fn step(&self, mut request: Request, step: u32) -> Result<Request, Error> {
        for plugin in self.plugins.in_order() {
            let changed = async { plugin.transform_step(request, step, &self.ctx).await };
            request = guarded(&**plugin, "transform_step", changed).await?;
        }
        Ok(request)
    }

    pub(crate) fn stream(&self, stream: ModelStream) -> ModelStream {
        self.plugins.in_order().fold(stream, |stream, plugin| {
            let changed = catch_unwind(AssertUnwindSafe(|| plugin.transform_stream(stream, &self.ctx)));
            changed.unwrap_or_else(|panic| {
                let error = panicked(&**plugin, "transform_stream", &*panic);
                Box::pin(stream::once(std::future::ready(Err(ModelError::from(error)))))
            })
        })
    }

    pub(crate) async fn result(&self, mut result: Generation) -> Result<Generation, Error> {
        for plugin in self.plugins.in_order() {
            let changed = async { plugin.transform_result(result, &self.ctx).await };
            result = guarded(&**plugin, "transform_result", changed).await?;
        }
        Ok(result)
    }

    pub(crate) async fn embedding(&self, mut request: EmbeddingRequest) -> Result<EmbeddingRequest, Error> {
        for plugin in self.plugins.in_order() {
            let changed = async { plugin.transform_embedding(request, &self.ctx).await };
            request = guarded(&**plugin, "transform_embedding", changed).await?;
        }
        Ok(request)
    }

    pub(crate) async fn embeddings(&self, mut embeddings: Embeddings) -> Result<Embeddings, Error> {
        for plugin in self.plugins.in_order() {
            let changed = async { plugin.transform_embeddings(embeddings, &self.ctx).await };
            embeddings = guarded(&**plugin, "transform_embeddings", changed).await?;
        }
        Ok(embeddings)
    }

    pub(crate) async fn answered(&self, result: RequestResult<'_>) {
        self.tell("on_request_end", |plugin| plugin.on_request_end(result, &self.ctx)).await;
    }

    pub(crate) async fn failed(&self, error: &Error) {
        self.tell("on_error", |plugin| plugin.on_error(error, &self.ctx)).await;
    }

    /// The last hook, once: what comes later is not said. Nothing is said of a request that never began.
    pub(crate) fn end(&self, end: StreamEnd<'_>) {
        if !self.started.load(Ordering::Acquire) || self.ended.swap(true, Ordering::AcqRel) {
            return;
        }
        for plugin in self.plugins.in_order() {
            let told = catch_unwind(AssertUnwindSafe(|| plugin.on_stream_end(end, &self.ctx)));
            if let Err(panic) = told {
                let error = panicked(&**plugin, "on_stream_end", &*panic);
                tracing::warn!(%error, "an observer failed; the request is as it was");
            }
        }
    }

    /// All at the same time, and all to their end.
    async fn tell<'a>(&'a self, hook: &'static str, tell: impl Fn(&'a dyn Plugin) -> Told<'a>) {
        let told = self.plugins.in_order().map(|plugin| {
            let plugin: &dyn Plugin = &**plugin;
            let tell = &tell;
            guarded(plugin, hook, async move { tell(plugin).await })
        });
        for error in join_all(told).await.into_iter().filter_map(Result::err) {
            tracing::warn!(%error, "an observer failed; the request is as it was");
        }
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        self.end(StreamEnd::Dropped);
    }
}

async fn guarded<T>(
    plugin: &dyn Plugin,
    hook: &'static str,
    future: impl Future<Output = Result<T, PluginError>>,
) -> Result<T, Error> {
    match AssertUnwindSafe(future).catch_unwind().await {
        Ok(done) => done.map_err(|cause| Error::plugin(plugin.name(), hook, cause)),
        Err(panic) => Err(panicked(plugin, hook, &*panic)),
    }
}

fn panicked(plugin: &dyn Plugin, hook: &'static str, panic: &(dyn std::any::Any + Send)) -> Error {
    Error::plugin(plugin.name(), hook, format!("it panicked: {}", panic_text(panic)))
}
