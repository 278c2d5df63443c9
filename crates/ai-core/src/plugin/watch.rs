use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ai_provider::{CancellationToken, ErrorClass, ModelError, ModelStream, StreamPart};
use futures_core::Stream;
use futures_util::future::{Either, select};

use super::{Pipeline, RequestResult, StreamEnd};
use crate::error::Error;

type Item = Result<StreamPart, ModelError>;

/// What an observer has left once the request is cancelled: enough to store what it was told, little enough to wait
/// for.
const GRACE: Duration = Duration::from_secs(5);

/// The stream of a request, whose plugins hear how it ends before its consumer does.
pub(crate) fn watched(stream: ModelStream, plugins: Arc<Pipeline>, cancel: CancellationToken) -> ModelStream {
    Box::pin(Watched { stream: Some(stream), plugins, cancel, telling: None, told: false })
}

struct Watched {
    /// Kept behind a finish for what it does then: draining the connection.
    stream: Option<ModelStream>,
    plugins: Arc<Pipeline>,
    cancel: CancellationToken,
    telling: Option<Pin<Box<dyn Future<Output = Item> + Send>>>,
    told: bool,
}

impl Stream for Watched {
    type Item = Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Item>> {
        let this = &mut *self;
        loop {
            if let Some(telling) = &mut this.telling {
                let last = ready!(telling.as_mut().poll(cx));
                this.telling = None;
                this.told = true;
                if last.is_err() {
                    this.stream = None;
                }
                return Poll::Ready(Some(last));
            }
            let Some(stream) = &mut this.stream else { return Poll::Ready(None) };
            let item = ready!(stream.as_mut().poll_next(cx));
            if this.told {
                this.stream = None;
                return Poll::Ready(None);
            }
            match item {
                Some(Ok(part)) if !matches!(part, StreamPart::Finish(_)) => {
                    return Poll::Ready(Some(Ok(part)));
                }
                last => {
                    let last = last.unwrap_or_else(|| Err(incomplete()));
                    let (plugins, cancel) = (Arc::clone(&this.plugins), this.cancel.clone());
                    this.telling = Some(Box::pin(tell(plugins, cancel, last)));
                }
            }
        }
    }
}

async fn tell(plugins: Arc<Pipeline>, cancel: CancellationToken, last: Item) -> Item {
    match &last {
        Ok(StreamPart::Finish(finish)) => {
            last_word(&cancel, plugins.answered(RequestResult::Stream(finish))).await;
            plugins.end(StreamEnd::Finished { usage: &finish.usage });
        }
        Ok(_) => {}
        Err(error) => {
            let error = Error::from(error.clone());
            last_word(&cancel, plugins.failed(&error)).await;
            plugins.end(StreamEnd::Failed(&error));
        }
    }
    last
}

/// Lets observers hear of something that has happened, whether or not the request is cancelled. Once it is, they have
/// [`GRACE`] left, so that one that hangs does not hold it.
pub(crate) async fn last_word(cancel: &CancellationToken, observers: impl Future<Output = ()>) {
    let (mut observers, cancelled) = (pin!(observers), pin!(cancel.cancelled()));
    if let Either::Left(_) = select(observers.as_mut(), cancelled).await {
        return;
    }
    if tokio::time::timeout(GRACE, observers).await.is_err() {
        tracing::warn!(grace = ?GRACE, "an observer of a cancelled request did not end in time and was dropped");
    }
}

fn incomplete() -> ModelError {
    ModelError::new(ErrorClass::Incomplete, "the stream ended without a finish")
}
