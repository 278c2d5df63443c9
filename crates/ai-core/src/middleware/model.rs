use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use ai_provider::{
    CallContext, Capabilities, KeyLabel, LanguageModel, ModelError, ModelStream, Request, StreamPart,
    TargetId,
};
use futures_core::Stream;

use super::guard::Guard;
use super::{Middleware, MiddlewareCall, Next};

/// Puts middleware around a model; the first is the outermost. An empty list gives the model itself.
///
/// The result keeps the model's target and keys.
pub fn wrap(
    model: Arc<dyn LanguageModel>,
    middleware: impl IntoIterator<Item = Arc<dyn Middleware>>,
) -> Arc<dyn LanguageModel> {
    let middleware: Vec<_> = middleware.into_iter().collect();
    middleware.into_iter().rfold(model, |inner, middleware| {
        let capabilities = middleware.capabilities(inner.capabilities());
        Arc::new(Wrapped { inner, middleware, capabilities })
    })
}

struct Wrapped {
    inner: Arc<dyn LanguageModel>,
    middleware: Arc<dyn Middleware>,
    capabilities: Option<Capabilities>,
}

impl LanguageModel for Wrapped {
    fn target(&self) -> &TargetId {
        self.inner.target()
    }

    fn capabilities(&self) -> &Capabilities {
        self.capabilities.as_ref().unwrap_or_else(|| self.inner.capabilities())
    }

    fn keys(&self) -> &[KeyLabel] {
        self.inner.keys()
    }

    fn stream(&self, request: Request, ctx: CallContext) -> ModelStream {
        let (inner, middleware) = (Arc::clone(&self.inner), Arc::clone(&self.middleware));
        let guard = Guard::new(ctx.clone());
        let opening = Box::pin(open(inner, Arc::clone(&middleware), request, ctx));
        Box::pin(Call { middleware, guard, state: State::Opening(opening) })
    }
}

async fn open(
    inner: Arc<dyn LanguageModel>,
    middleware: Arc<dyn Middleware>,
    request: Request,
    ctx: CallContext,
) -> Result<ModelStream, ModelError> {
    let call = MiddlewareCall { target: inner.target(), capabilities: inner.capabilities(), ctx: &ctx };
    let request = middleware.transform_request(request, &call).await?;
    Ok(middleware.wrap_stream(Next(inner), request, ctx))
}

struct Call {
    middleware: Arc<dyn Middleware>,
    guard: Guard,
    state: State,
}

enum State {
    Opening(Pin<Box<dyn Future<Output = Result<ModelStream, ModelError>> + Send>>),
    Open(ModelStream),
    Over,
}

impl Call {
    fn over(&mut self, cx: &mut Context<'_>) -> Poll<ModelError> {
        self.guard.poll(cx, format_args!("the middleware `{}`", self.middleware.name()))
    }
}

impl Stream for Call {
    type Item = Result<StreamPart, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let item = loop {
            match &mut this.state {
                State::Opening(opening) => match opening.as_mut().poll(cx) {
                    Poll::Ready(Ok(stream)) => this.state = State::Open(stream),
                    Poll::Ready(Err(error)) => break Some(Err(error)),
                    Poll::Pending => break Some(Err(ready!(this.over(cx)))),
                },
                State::Open(stream) => match stream.as_mut().poll_next(cx) {
                    Poll::Ready(Some(Ok(part))) => return Poll::Ready(Some(Ok(part))),
                    Poll::Ready(end) => break end,
                    Poll::Pending => break Some(Err(ready!(this.over(cx)))),
                },
                State::Over => return Poll::Ready(None),
            }
        };
        // What was called is dropped here, not with the stream: an error frees the connection at once.
        this.state = State::Over;
        Poll::Ready(item)
    }
}
