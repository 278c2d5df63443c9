use std::future::IntoFuture;
use std::sync::Arc;

use ai_provider::{
    CallContext, Capabilities, Generation, LanguageModel, LanguageModelExt, ModelStream, Request, TargetId,
};

use super::{Awaited, Call, ModelChoice, Setup, within};
use crate::error::Error;
use crate::plugin::{CallParams, Operation, Pipeline, RequestResult, StreamEnd, guarded, last_word, watched};
use crate::registry::Registry;

/// One answer of a model, as a stream. Awaiting it finds the model and prepares the request; the call itself begins
/// when the stream is polled.
///
/// ```
/// use ai_core::{Registry, stream_text};
/// use ai_provider::{Message, Request, StreamPart};
/// use futures_util::StreamExt;
///
/// # async fn f(registry: &Registry) -> Result<(), ai_core::Error> {
/// let request = Request::new([Message::user("Name three rivers.")]);
/// let mut answer = stream_text(registry, "openai:gpt-5", request).await?;
/// while let Some(part) = answer.next().await {
///     if let StreamPart::TextDelta { delta, .. } = part? {
///         print!("{delta}");
///     }
/// }
/// # Ok(()) }
/// ```
pub fn stream_text<'a>(
    registry: &'a Registry,
    model: impl Into<ModelChoice>,
    request: Request,
) -> Call<'a, StreamText> {
    Call::new(registry, StreamText(Text { model: model.into(), request, ctx: CallContext::new() }))
}

/// One whole answer of a model.
///
/// ```
/// use ai_core::{Registry, generate_text};
/// use ai_provider::{Message, Request};
///
/// # async fn f(registry: &Registry) -> Result<(), ai_core::Error> {
/// let request = Request::new([Message::user("Name three rivers.")]);
/// println!("{}", generate_text(registry, "openai:gpt-5", request).await?.text());
/// # Ok(()) }
/// ```
pub fn generate_text<'a>(
    registry: &'a Registry,
    model: impl Into<ModelChoice>,
    request: Request,
) -> Call<'a, GenerateText> {
    Call::new(registry, GenerateText(Text { model: model.into(), request, ctx: CallContext::new() }))
}

/// What [`stream_text`] asks for.
#[derive(Debug)]
pub struct StreamText(Text);

/// What [`generate_text`] asks for.
#[derive(Debug)]
pub struct GenerateText(Text);

#[derive(Debug)]
struct Text {
    model: ModelChoice,
    request: Request,
    ctx: CallContext,
}

impl Call<'_, StreamText> {
    /// Sets the token, the deadline and what else belongs to the call.
    pub fn with_context(mut self, ctx: CallContext) -> Self {
        self.kind.0.ctx = ctx;
        self
    }
}

impl Call<'_, GenerateText> {
    /// Sets the token, the deadline and what else belongs to the call.
    pub fn with_context(mut self, ctx: CallContext) -> Self {
        self.kind.0.ctx = ctx;
        self
    }
}

impl<'a> IntoFuture for Call<'a, StreamText> {
    type Output = Result<ModelStream, Error>;
    type IntoFuture = Awaited<'a, ModelStream>;

    /// # Errors
    /// If the model cannot be found, a plugin fails before the call, or the request is cancelled by then. What fails
    /// later is an item of the stream.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let StreamText(Text { model, request, ctx }) = self.kind;
            let (plugins, ready) = prepare(self.setup, Operation::Stream, model, request, &ctx).await?;
            let cancel = ctx.cancel.clone();
            let Some(plugins) = plugins else { return Ok(ready.model.stream(ready.request, ctx)) };
            let stream = guarded(plugins.stream(ready.model.stream(ready.request, ctx.clone())), ctx);
            Ok(watched(stream, plugins, cancel))
        })
    }
}

impl<'a> IntoFuture for Call<'a, GenerateText> {
    type Output = Result<Generation, Error>;
    type IntoFuture = Awaited<'a, Generation>;

    /// # Errors
    /// As [`stream_text`], and whatever the call met, with the part of the answer that came before.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let GenerateText(Text { model, request, ctx }) = self.kind;
            let (plugins, ready) = prepare(self.setup, Operation::Text, model, request, &ctx).await?;
            let Some(plugins) = plugins else { return Ok(ready.model.generate(ready.request, ctx).await?) };
            let changed = Changed { model: ready.model, plugins: Arc::clone(&plugins) };
            let answered = async {
                let answer = changed.generate(ready.request, ctx.clone()).await?;
                within(&ctx, plugins.result(answer)).await
            };
            match answered.await {
                Ok(answer) => {
                    last_word(&ctx.cancel, plugins.answered(RequestResult::Text(&answer))).await;
                    plugins.end(StreamEnd::Finished { usage: &answer.usage });
                    Ok(answer)
                }
                Err(error) => Err(failed(&plugins, &ctx, error).await),
            }
        })
    }
}

struct Ready {
    model: Arc<dyn LanguageModel>,
    request: Request,
}

/// All that comes before the call. Without plugins there is nobody to tell anything.
async fn prepare(
    setup: Setup<'_>,
    operation: Operation,
    model: ModelChoice,
    request: Request,
    ctx: &CallContext,
) -> Result<(Option<Arc<Pipeline>>, Ready), Error> {
    let named = model.named()?;
    let configured = within(ctx, async { Ok(setup.configure(operation, named).await) });
    let (plugins, configured) = configured.await?;
    let none = setup.plugins.is_empty();
    let ready = within(ctx, async {
        configured?;
        plugins.start().await;
        let model = setup.find(&plugins, model).await?;
        let request = if none { request } else { changed(&plugins, request).await? };
        Ok(Ready { model, request })
    });
    match ready.await {
        Ok(ready) => Ok(((!none).then(|| Arc::new(plugins)), ready)),
        Err(error) => Err(failed(&plugins, ctx, error).await),
    }
}

async fn changed(plugins: &Pipeline, mut request: Request) -> Result<Request, Error> {
    let params = plugins.params(CallParams::of(&request, None)).await?;
    params.apply(&mut request);
    plugins.step(request, 1).await
}

pub(super) async fn failed(plugins: &Pipeline, ctx: &CallContext, error: Error) -> Error {
    last_word(&ctx.cancel, plugins.failed(&error)).await;
    plugins.end(StreamEnd::Failed(&error));
    error
}

/// A model whose answers the plugins change.
struct Changed {
    model: Arc<dyn LanguageModel>,
    plugins: Arc<Pipeline>,
}

impl LanguageModel for Changed {
    fn target(&self) -> &TargetId {
        self.model.target()
    }

    fn capabilities(&self) -> &Capabilities {
        self.model.capabilities()
    }

    fn stream(&self, request: Request, ctx: CallContext) -> ModelStream {
        guarded(self.plugins.stream(self.model.stream(request, ctx.clone())), ctx)
    }
}
