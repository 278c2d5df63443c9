use std::fmt;
use std::future::IntoFuture;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use ai_provider::{
    CallContext, EmbeddingModel, EmbeddingRequest, Embeddings, ErrorClass, ModelError, RequestId, TargetId,
    Usage,
};
use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::time::Instant;

use super::text::failed;
use super::{Awaited, Call, ModelChoice, within};
use crate::error::Error;
use crate::plugin::{Operation, RequestResult, last_word};
use crate::registry::Registry;

/// Batches sent at the same time unless something else is said: enough to be quick, few enough for the rate limits of
/// small accounts.
const CONCURRENCY: usize = 8;

/// The vectors of any number of texts, in their order. They are sent in batches of at most what the model takes in
/// one call, several at the same time if it allows that; usage is summed.
///
/// No text needs no call. If a batch fails, those under way are dropped and its error is that of all.
///
/// ```
/// use ai_core::{Registry, embed_many};
/// use ai_provider::EmbeddingRequest;
///
/// # async fn f(registry: &Registry) -> Result<(), ai_core::Error> {
/// let texts = EmbeddingRequest::new(["a river", "a mountain"]);
/// let embeddings = embed_many(registry, "openai:text-embedding-3-small", texts).await?;
/// assert_eq!(embeddings.vectors.len(), 2);
/// # Ok(()) }
/// ```
pub fn embed_many<'a>(
    registry: &'a Registry,
    model: impl Into<ModelChoice<dyn EmbeddingModel>>,
    request: EmbeddingRequest,
) -> Call<'a, EmbedMany> {
    let (model, ctx) = (model.into(), CallContext::new());
    Call::new(registry, EmbedMany { model, request, ctx, concurrency: CONCURRENCY, observer: None })
}

/// What [`embed_many`] asks for.
pub struct EmbedMany {
    model: ModelChoice<dyn EmbeddingModel>,
    request: EmbeddingRequest,
    ctx: CallContext,
    concurrency: usize,
    observer: Option<Observer>,
}

type Observer = Box<dyn Fn(&BatchUsage) + Send + Sync>;

impl fmt::Debug for EmbedMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbedMany").field("model", &self.model).finish_non_exhaustive()
    }
}

/// What one batch took.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BatchUsage {
    /// The id its request carried.
    pub request_id: RequestId,
    /// What was called.
    pub target: TargetId,
    /// How many texts it had.
    pub values: usize,
    /// What it took.
    pub usage: Usage,
    /// How long it took.
    pub elapsed: Duration,
}

impl Call<'_, EmbedMany> {
    /// Sets the token, the deadline and what else belongs to the calls; each batch gets a request id of its own.
    pub fn with_context(mut self, ctx: CallContext) -> Self {
        self.kind.ctx = ctx;
        self
    }

    /// Sets how many batches are sent at the same time, at least 1. Default 8; 1 where the model forbids more.
    pub fn with_concurrency(mut self, batches: usize) -> Self {
        self.kind.concurrency = batches;
        self
    }

    /// Sets who hears of each batch that succeeded, as soon as it did. It must not block; a panic changes nothing.
    pub fn on_batch(mut self, observer: impl Fn(&BatchUsage) + Send + Sync + 'static) -> Self {
        self.kind.observer = Some(Box::new(observer));
        self
    }
}

impl<'a> IntoFuture for Call<'a, EmbedMany> {
    type Output = Result<Embeddings, Error>;
    type IntoFuture = Awaited<'a, Embeddings>;

    /// # Errors
    /// If the model cannot be found, a plugin or a call fails, or the model gives another number of vectors than it
    /// had texts.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { setup, kind } = self;
            let named = kind.model.named()?;
            let ctx = kind.ctx.clone();
            let configured = within(&ctx, async { Ok(setup.configure(Operation::Embedding, named).await) });
            let (plugins, configured) = configured.await?;
            let embedded = within(&ctx, async {
                configured?;
                plugins.start().await;
                let model = match (kind.model, plugins.ctx().requested()) {
                    (ModelChoice::Ready(model), _) => model,
                    (ModelChoice::Named(_), Some(named)) => {
                        setup.registry.embedding_model_with(named, setup.settings).await?
                    }
                    (ModelChoice::Named(name), None) => setup.registry.embedding_model(&name).await?,
                };
                plugins.ctx().found_target(model.target());
                let request = plugins.embedding(kind.request).await?;
                let all = batches(&*model, request, &kind.ctx, kind.concurrency, kind.observer.as_deref());
                plugins.embeddings(all.await?).await
            });
            match embedded.await {
                Ok(embeddings) => {
                    last_word(&ctx.cancel, plugins.answered(RequestResult::Embedding(&embeddings))).await;
                    Ok(embeddings)
                }
                Err(error) => Err(failed(&plugins, &ctx, error).await),
            }
        })
    }
}

async fn batches(
    model: &dyn EmbeddingModel,
    mut request: EmbeddingRequest,
    ctx: &CallContext,
    concurrency: usize,
    observer: Option<&(dyn Fn(&BatchUsage) + Send + Sync)>,
) -> Result<Embeddings, ModelError> {
    let values = std::mem::take(&mut request.values);
    let size = model.max_batch().unwrap_or(usize::MAX).max(1);
    let concurrency = if model.parallel_batches() { concurrency.max(1) } else { 1 };
    let one = |values: &[String]| {
        let mut batch = request.clone();
        batch.values = values.to_vec();
        let ctx = ctx.clone().with_request_id(RequestId::random().as_str());
        async move { embed(model, batch, ctx, observer).await }
    };
    let calls: Vec<_> = values.chunks(size).map(one).collect();
    let done: Vec<Embeddings> = stream::iter(calls).buffered(concurrency).try_collect().await?;
    let mut all = Embeddings::default();
    for batch in done {
        all.vectors.extend(batch.vectors);
        all.usage.add(&batch.usage);
        for warning in batch.warnings {
            if !all.warnings.contains(&warning) {
                all.warnings.push(warning);
            }
        }
    }
    Ok(all)
}

async fn embed(
    model: &dyn EmbeddingModel,
    batch: EmbeddingRequest,
    ctx: CallContext,
    observer: Option<&(dyn Fn(&BatchUsage) + Send + Sync)>,
) -> Result<Embeddings, ModelError> {
    let (began, values, request_id) = (Instant::now(), batch.values.len(), ctx.request_id.clone());
    let embeddings = model.embed(batch, ctx).await?;
    if embeddings.vectors.len() != values {
        let message = format!("the model gave {} vectors for {values} texts", embeddings.vectors.len());
        return Err(ModelError::new(ErrorClass::Protocol, message));
    }
    if let Some(observer) = observer {
        let usage = BatchUsage {
            request_id,
            target: model.target().clone(),
            values,
            usage: embeddings.usage.clone(),
            elapsed: began.elapsed(),
        };
        if catch_unwind(AssertUnwindSafe(|| observer(&usage))).is_err() {
            tracing::warn!("an observer of embeddings panicked; the request is as it was");
        }
    }
    Ok(embeddings)
}
