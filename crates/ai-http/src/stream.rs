//! One call as a stream: prepare, send, read, drain.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ai_provider::{CallContext, ErrorClass, ModelError, Request, StreamPart, Warning};
use bytes::Bytes;
use futures_core::Stream;
use http::HeaderMap;
use http::header::CONTENT_ENCODING;

use crate::body::{Reading, Step};
use crate::call::HttpCall;
use crate::codec::{CallInfo, Codec, Decoder, Framing, IdSeed};
use crate::download::at_hand;
use crate::excerpt::excerpt;
use crate::model::Shared;
use crate::redact::{Secrets, rebuild};
use crate::report::Report;
use crate::transport::Body;
use crate::wait::{Guard, Patience};

#[cfg(test)]
mod tests;

/// How long the body of an error is read. The status is known by then: the body only explains it.
const ERROR_BODY_TIME: Duration = Duration::from_secs(5);

/// How much, and how long, is read behind the end of an answer, so that its connection can be used again.
/// Beyond this, a new connection costs less.
const DRAIN_BYTES: usize = 64 * 1024;
const DRAIN_TIME: Duration = Duration::from_millis(250);

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The answer to one call.
pub(crate) struct CallStream<C> {
    shared: Arc<Shared<C>>,
    guard: Guard,
    state: State,
}

enum State {
    /// Key, encoding, authorization.
    Preparing(BoxFuture<Result<Prepared, ModelError>>),
    /// The request is under way.
    Opening(BoxFuture<Result<Reading, ModelError>>),
    Reading(Box<Reading>),
    /// The body turned out to be no answer; what it says is being read.
    Failing(BoxFuture<ModelError>),
    /// The finish was handed out.
    Draining(Draining),
    Over,
}

impl<C: Codec> CallStream<C> {
    pub(crate) fn new(shared: Arc<Shared<C>>, request: Request, ctx: CallContext) -> Self {
        let guard = Guard::new(&ctx);
        let state = State::Preparing(Box::pin(prepare(Arc::clone(&shared), request, ctx)));
        Self { shared, guard, state }
    }

    fn leave_reading(&mut self, next: impl FnOnce(Reading) -> State) {
        if let State::Reading(reading) = std::mem::replace(&mut self.state, State::Over) {
            self.state = next(*reading);
        }
    }

    fn fail(&mut self, error: ModelError) -> Poll<Option<<Self as Stream>::Item>> {
        self.state = State::Over;
        tracing::debug!(model = %self.shared.target, class = %error.class(), status = error.status(), "call failed");
        Poll::Ready(Some(Err(error)))
    }
}

impl<C: Codec> Stream for CallStream<C> {
    type Item = Result<StreamPart, ModelError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            match &mut this.state {
                State::Preparing(preparing) => match guarded(&mut this.guard, preparing, cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Err(error)) | Poll::Ready(Ok(Err(error))) => return this.fail(error),
                    Poll::Ready(Ok(Ok(mut prepared))) => {
                        let warnings = std::mem::take(&mut prepared.warnings);
                        this.state = State::Opening(Box::pin(open(Arc::clone(&this.shared), prepared)));
                        return Poll::Ready(Some(Ok(StreamPart::StreamStart { warnings })));
                    }
                },
                State::Opening(opening) => match guarded(&mut this.guard, opening, cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Err(error)) | Poll::Ready(Ok(Err(error))) => return this.fail(error),
                    Poll::Ready(Ok(Ok(reading))) => this.state = State::Reading(Box::new(reading)),
                },
                State::Reading(reading) => match ready!(reading.poll(&mut this.guard, cx)) {
                    Step::Part(part) => return Poll::Ready(Some(Ok(part))),
                    Step::Failed(error) => return this.fail(error),
                    Step::Finish(part) => {
                        tracing::debug!(model = %this.shared.target, "call finished");
                        this.leave_reading(|reading| {
                            reading
                                .into_rest()
                                .0
                                .map_or(State::Over, |body| State::Draining(Draining::new(body)))
                        });
                        return Poll::Ready(Some(Ok(part)));
                    }
                    Step::Page(begin) => {
                        let limit = this.shared.limits.error_body;
                        this.leave_reading(|reading| {
                            State::Failing(Box::pin(page_instead(reading, begin, limit)))
                        });
                    }
                },
                State::Failing(failing) => match guarded(&mut this.guard, failing, cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Err(error) | Ok(error)) => return this.fail(error),
                },
                State::Draining(draining) => {
                    if !this.guard.is_cancelled() && draining.poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                    this.state = State::Over;
                }
                State::Over => return Poll::Ready(None),
            }
        }
    }
}

/// The future's output, unless the call is ended from outside.
fn guarded<T>(
    guard: &mut Guard,
    future: &mut BoxFuture<T>,
    cx: &mut Context<'_>,
) -> Poll<Result<T, ModelError>> {
    guard.check()?;
    match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Ok(output)),
        Poll::Pending => guard.poll(cx).map(Err),
    }
}

/// A call that is ready to be sent.
struct Prepared {
    call: HttpCall,
    warnings: Vec<Warning>,
    framing: Framing,
    decoder: Box<dyn Decoder>,
    include_raw: bool,
    report: Report,
}

async fn prepare<C: Codec>(
    shared: Arc<Shared<C>>,
    request: Request,
    ctx: CallContext,
) -> Result<Prepared, ModelError> {
    let key = shared.keys.key(ctx.key_index).await?;
    let info = CallInfo {
        target: &shared.target,
        account: key.as_ref().map(ai_provider::ApiKey::account),
        delivery: request.delivery,
        ids: IdSeed::new(&ctx.request_id),
    };
    let mut secrets = Secrets::default();
    key.iter().for_each(|key| secrets.add_key(key));
    let masked = |error| secrets.mask_error(error);
    let downloads = shared.downloads.as_ref();
    let (request, mut warnings) =
        at_hand(&*shared.codec, request, &info, downloads, &ctx.scope).await.map_err(masked)?;
    let (mut call, further) = shared.codec.encode(&request, &info).map_err(masked)?;
    warnings.extend(further);
    call.headers.extend(shared.headers.clone());
    warnings.extend(call.overridden(&request.extra_headers));
    let before = call.headers.clone();
    call.apply_extra(&request.extra_headers)?;
    shared.authorize.authorize(&mut call, key.as_ref()).await.map_err(masked)?;
    warnings.extend(call.remove_unwanted(&request.extra_headers, &before)?);
    tracing::debug!(model = %shared.target, key = key.as_ref().map(|key| key.label().as_str()), "call prepared");
    Ok(Prepared {
        report: Report::new(&call, secrets),
        call,
        warnings,
        framing: shared.codec.framing(request.delivery),
        decoder: shared.codec.decoder_for(&request, &info),
        include_raw: request.include_raw,
    })
}

async fn open<C: Codec>(shared: Arc<Shared<C>>, prepared: Prepared) -> Result<Reading, ModelError> {
    let Prepared { call, framing, decoder, include_raw, mut report, .. } = prepared;
    tracing::debug!(model = %shared.target, url = report.url(), bytes = call.body.len(), "sending");
    let limit = shared.timeouts.first_byte;
    let sent = Patience::new(limit).wait(shared.transport.send(call)).await;
    let response = sent.unwrap_or_else(|| Err(no_answer(limit))).map_err(|error| report.complete(error))?;
    report.answered(&response);
    let (status, headers) = (response.status, response.headers);
    tracing::debug!(model = %shared.target, status = status.as_u16(), request_id = report.request_id(), "answered");
    let compressed = compression(&headers);
    if !status.is_success() {
        // What cannot be read is not read.
        let limit = if compressed.is_some() { 0 } else { shared.limits.error_body };
        let body = read_some(response.body, Bytes::new(), limit).await;
        let mut error = shared.codec.error(status, &headers, &body);
        if let Some(how) = compressed {
            let message = format!("{} ({})", error.message(), unreadable(how));
            error = rebuild(&error, error.class(), message, str::to_owned);
        }
        return Err(report.complete_response(error, status.as_u16(), &headers));
    }
    if let Some(how) = compressed {
        let message = format!("{}: check proxies on the way", unreadable(how));
        return Err(report.complete(ModelError::new(ErrorClass::Protocol, message)));
    }
    let reading = Reading::new(response.body, framing, decoder, shared.timeouts.idle, shared.limits, report);
    Ok(reading.with_raw(include_raw))
}

/// How the body is compressed, if it is. The transport undoes what it has asked for, and then removes the
/// header.
pub(crate) fn compression(headers: &HeaderMap) -> Option<&'static str> {
    const KNOWN: [&str; 7] = ["gzip", "x-gzip", "deflate", "br", "zstd", "compress", "x-compress"];
    let values = headers.get_all(CONTENT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut names = values.flat_map(|value| value.split(',')).map(str::trim);
    names.find_map(|name| KNOWN.into_iter().find(|known| known.eq_ignore_ascii_case(name)))
}

fn unreadable(how: &str) -> String {
    format!("the server sent a compressed body ({how}) that was not asked for and cannot be read")
}

fn no_answer(limit: Option<Duration>) -> ModelError {
    let message = format!("the server did not answer within {:?}", limit.unwrap_or_default());
    ModelError::new(ErrorClass::Timeout, message)
}

/// A web page under a status of success: a proxy, a login, a wrong path.
async fn page_instead(reading: Reading, begin: Bytes, limit: usize) -> ModelError {
    let (body, report) = reading.into_rest();
    let page = match body {
        Some(body) => read_some(body, begin, limit).await,
        None => begin.to_vec(),
    };
    let error = ModelError::new(
        ErrorClass::Protocol,
        "the answer is a web page, not a model's: check the base URL, and proxies on the way",
    );
    report.complete(error.with_excerpt(excerpt(&page)))
}

/// What comes of a body within the limits of an error body. Failures end it.
async fn read_some(mut body: Body, begin: Bytes, limit: usize) -> Vec<u8> {
    let mut bytes = begin.get(..limit).unwrap_or(&begin).to_vec();
    let collect = std::future::poll_fn(|cx| {
        while bytes.len() < limit {
            match body.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(chunk))) => {
                    let room = limit - bytes.len();
                    bytes.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
                }
                Poll::Ready(_) => break,
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(())
    });
    Patience::new(Some(ERROR_BODY_TIME)).wait(collect).await;
    bytes
}

/// The rest of a body that nobody reads any more.
struct Draining {
    body: Body,
    left: usize,
    patience: Patience,
    waited: bool,
}

impl Draining {
    fn new(body: Body) -> Self {
        Self { body, left: DRAIN_BYTES, patience: Patience::new(Some(DRAIN_TIME)), waited: false }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while self.left > 0 {
            match self.body.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(chunk))) => self.left = self.left.saturating_sub(chunk.len().max(1)),
                Poll::Ready(_) => break,
                // The end mostly stands in what the connection has read already: once its task has had its turn it is
                // here, and no timer was needed.
                Poll::Pending if !std::mem::replace(&mut self.waited, true) => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Poll::Pending => return self.patience.poll(cx),
            }
        }
        Poll::Ready(())
    }
}
