//! Bodies that are too large, and what is read behind an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ai_http::{Body, Framing, HttpCall, HttpModel, HttpResponse, Limits, Transport};
use ai_provider::{CallContext, Delivery, ErrorClass, LanguageModel, ModelError, StreamPart};
use ai_testkit::{MemoryEnd, MemoryReply, MemoryTransport, collect};
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{HeaderMap, StatusCode};

use crate::api::{Api, URL, brief, call, call_with, frames, model, request, target};

const CHUNK: usize = 16 * 1024;

/// Answers with a beginning, and then the same bytes for ever.
#[derive(Clone, Debug)]
struct Endless {
    status: u16,
    begin: Bytes,
    again: Bytes,
    read: Arc<AtomicUsize>,
}

impl Endless {
    fn new(status: u16, begin: &str, again: &str) -> Self {
        let again = again.repeat(CHUNK / again.len());
        Self { status, begin: begin.to_owned().into(), again: again.into(), read: Arc::default() }
    }

    /// Bytes that were read of the endless part.
    fn read(&self) -> usize {
        self.read.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Transport for Endless {
    async fn send(&self, call: HttpCall) -> Result<HttpResponse, ModelError> {
        let (again, read) = (self.again.clone(), Arc::clone(&self.read));
        let rest = stream::repeat_with(move || {
            read.fetch_add(again.len(), Ordering::SeqCst);
            Ok(again.clone())
        });
        let body: Body = Box::pin(stream::iter([Ok(self.begin.clone())]).chain(rest));
        let status = StatusCode::from_u16(self.status).unwrap();
        Ok(HttpResponse { status, headers: HeaderMap::new(), url: call.url, body })
    }
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.line = 1024 * 1024;
    limits.event_bytes = 512 * 1024;
    limits.event_lines = 1000;
    limits.body = 2 * 1024 * 1024;
    limits.idle_bytes = 256 * 1024;
    limits
}

/// [HT-12]
#[tokio::test]
async fn a_line_without_end_stops_the_read() {
    let transport = Endless::new(200, "data: {\"text\":\"a\"}\n\ndata: ", "a");
    let outcome = call(&model(transport.clone()).with_limits(limits())).await;
    assert_eq!(brief(&outcome), ("a", None, Some(ErrorClass::TooLarge)));
    assert!(transport.read() <= limits().line + CHUNK, "{}", transport.read());
    assert!(!outcome.2.unwrap().retryable());
}

/// [HT-13]
#[tokio::test]
async fn an_event_without_end_stops_the_read() {
    let transport = Endless::new(200, "data: {\"text\":\"a\"}\n\n", "data: x\n");
    let outcome = call(&model(transport.clone()).with_limits(limits())).await;
    assert_eq!(brief(&outcome), ("a", None, Some(ErrorClass::TooLarge)));
    assert!(transport.read() <= 1000 * "data: x\n".len() + CHUNK, "{}", transport.read());
}

/// [HT-29] [HT-13]
#[tokio::test]
async fn a_server_that_sends_no_events_is_not_read_for_ever() {
    let begin = "data: {\"text\":\"a\"}\n\n";
    for again in
        [": ping\n\n", ": ping\n", "event: x\n", "id: 1\n\n", "retry: 1\n", "\n", "\r", "x\n", "data\n\n"]
    {
        let transport = Endless::new(200, begin, again);
        let outcome = call(&model(transport.clone()).with_limits(limits())).await;
        assert_eq!(brief(&outcome), ("a", None, Some(ErrorClass::TooLarge)), "{again:?}");
        assert!(transport.read() <= limits().idle_bytes + CHUNK, "{again:?}: {}", transport.read());
    }
}

/// [HT-15]
#[tokio::test]
async fn a_document_without_end_stops_the_read() {
    let mut whole = request();
    whole.delivery = Delivery::Whole;
    for request in [whole, request()] {
        let transport = Endless::new(200, "{\"text\":\"", "a");
        let outcome =
            call_with(&model(transport.clone()).with_limits(limits()), request, CallContext::new()).await;
        assert_eq!(brief(&outcome), ("", None, Some(ErrorClass::TooLarge)));
        assert!(transport.read() <= limits().body + CHUNK, "{}", transport.read());
    }
}

/// [HT-41]
#[tokio::test]
async fn the_body_of_an_error_is_read_in_part() {
    let transport = Endless::new(500, "{\"error\":{\"message\":\"", "a");
    let outcome = call(&model(transport.clone())).await;
    let error = outcome.2.unwrap();
    assert_eq!((error.class(), error.status(), error.retryable()), (ErrorClass::Server, Some(500), true));
    assert!(error.message().starts_with("{\"error\"") && error.message().chars().count() <= 301, "{error}");
    assert!(transport.read() <= 64 * 1024 + CHUNK, "{}", transport.read());
}

/// [HT-41]
#[tokio::test]
async fn a_page_without_end_is_read_in_part() {
    let transport = Endless::new(200, "<html>", "<p>a</p>");
    let outcome = call(&model(transport.clone())).await;
    assert_eq!(brief(&outcome), ("", None, Some(ErrorClass::Protocol)));
    assert!(transport.read() <= Limits::default().error_body + CHUNK, "{}", transport.read());
}

/// [HT-41]
#[tokio::test(start_paused = true)]
async fn an_error_does_not_wait_long_for_its_body() {
    let reply = MemoryReply::new(StatusCode::BAD_GATEWAY, "{\"error\":{\"message\":\"gone\"}}")
        .ending(MemoryEnd::Hang);
    let start = tokio::time::Instant::now();
    let (_, _, error) = call(&model(MemoryTransport::new().reply(reply))).await;
    let error = error.unwrap();
    assert_eq!((error.status(), error.message()), (Some(502), "gone"), "what came is used");
    assert_eq!(start.elapsed(), Duration::from_secs(5));
}

/// [HT-41]
#[tokio::test]
async fn an_error_keeps_its_status_when_its_body_breaks() {
    let end = MemoryEnd::Error(ModelError::new(ErrorClass::Transport, "reset"));
    let reply = MemoryReply::new(StatusCode::TOO_MANY_REQUESTS, "slow").ending(end);
    let (_, _, error) = call(&model(MemoryTransport::new().reply(reply))).await;
    let error = error.unwrap();
    assert_eq!((error.class(), error.message()), (ErrorClass::RateLimit, "slow"));
}

/// [HT-27]
#[tokio::test]
async fn no_more_than_64_kib_are_read_behind_the_finish() {
    let transport = Endless::new(200, &frames(&["{\"finish\":\"stop\"}"]), "data: {\"text\":\"late\"}\n\n");
    let mut stream = model(transport.clone()).stream(request(), CallContext::new());
    while !matches!(stream.next().await, Some(Ok(StreamPart::Finish(_)))) {}
    assert_eq!(transport.read(), 0, "nothing is read before the consumer asks for more");
    assert!(stream.next().await.is_none());
    let read = transport.read();
    assert!((64 * 1024..64 * 1024 + CHUNK).contains(&read), "{read}: up to the chunk that reaches the limit");
}

/// [HT-27]
#[tokio::test(start_paused = true)]
async fn no_longer_than_250_ms_are_waited_behind_the_finish() {
    let reply = MemoryReply::sse(frames(&["{\"finish\":\"stop\"}"])).ending(MemoryEnd::Hang);
    let start = tokio::time::Instant::now();
    let outcome = call(&model(MemoryTransport::new().reply(reply.clone()))).await;
    assert_eq!(brief(&outcome), ("", Some("stop"), None));
    assert_eq!(start.elapsed(), Duration::from_millis(250));

    let ctx = CallContext::new();
    let mut stream = model(MemoryTransport::new().reply(reply)).stream(request(), ctx.clone());
    while !matches!(stream.next().await, Some(Ok(StreamPart::Finish(_)))) {}
    ctx.cancel.cancel();
    assert!(stream.next().await.is_none(), "a cancel behind the finish changes nothing");
    assert_eq!(start.elapsed(), Duration::from_millis(250), "but the wait");
}

/// [HT-27]
#[tokio::test]
async fn a_body_that_breaks_behind_the_finish_is_no_failure() {
    let end = MemoryEnd::Error(ModelError::new(ErrorClass::Transport, "reset"));
    let reply = MemoryReply::sse(frames(&["{\"text\":\"a\",\"finish\":\"stop\"}", "nonsense"])).ending(end);
    let outcome = call(&model(MemoryTransport::new().reply(reply))).await;
    assert_eq!(brief(&outcome), ("a", Some("stop"), None));
}

/// [HT-33]
#[tokio::test]
async fn a_flood_of_comments_can_be_cancelled() {
    let transport = Endless::new(200, "", ": ping\n\n");
    let ctx = CallContext::new();
    let cancel = ctx.cancel.clone();
    let model = model(transport.clone());
    let both = async { tokio::join!(call_with(&model, request(), ctx), async { cancel.cancel() }) };
    let (outcome, ()) =
        tokio::time::timeout(Duration::from_secs(30), both).await.expect("other tasks get their turn");
    assert_eq!(brief(&outcome), ("", None, Some(ErrorClass::Cancelled)));
}

/// A body that must not be polled behind its end, as its trait allows.
#[derive(Debug)]
struct Strict(&'static str, bool);

#[async_trait]
impl Transport for Strict {
    async fn send(&self, call: HttpCall) -> Result<HttpResponse, ModelError> {
        let (text, fails) = (self.0, self.1);
        let body = stream::unfold(0, move |step| async move {
            match step {
                0 => Some((Ok(Bytes::from_static(text.as_bytes())), 1)),
                1 if fails => Some((Err(ModelError::new(ErrorClass::Transport, "reset")), 2)),
                2 => panic!("polled behind its error"),
                _ => None,
            }
        });
        Ok(HttpResponse {
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            url: call.url,
            body: Box::pin(body),
        })
    }
}

/// [HT-23]
#[tokio::test]
async fn a_body_is_not_polled_behind_its_end() {
    let almost = "data: {\"text\":\"a\"}\n\ndata: {\"reason\":\"stop\"}\n\n";
    for body in [almost, "data: {\"finish\":\"stop\"}", "data: {\"text\":\"a\"}\n\n", ""] {
        for fails in [false, true] {
            let (parts, _) = collect(model(Strict(body, fails)).stream(request(), CallContext::new())).await;
            assert!(matches!(parts[0], StreamPart::StreamStart { .. }));
        }
    }
}

/// [HT-12]
#[tokio::test]
async fn json_lines_have_the_same_limit() {
    let transport = Endless::new(200, "{\"text\":\"a\"}\n", "a");
    let api = Api { framing: || Framing::Lines, ..Api::at(URL) };
    let model = HttpModel::new(api, target(), Arc::new(transport.clone())).with_limits(limits());
    assert_eq!(brief(&call(&model).await), ("a", None, Some(ErrorClass::TooLarge)));
    assert!(transport.read() <= limits().line + CHUNK, "{}", transport.read());
}
