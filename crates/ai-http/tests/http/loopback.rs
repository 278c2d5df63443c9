//! The default transport against real sockets.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ai_http::{HttpCall, HttpModel, ReqwestTransport, Transport};
use ai_provider::{ApiKey, CallContext, ErrorClass, Keys, LanguageModel, StreamPart};
use ai_testkit::{Cut, WireEnd, WireFraming, WireReply, WireServer};
use futures_util::StreamExt;
use http::{Method, StatusCode};

use crate::api::{Api, brief, call, frames, request, target};

const SOON: Duration = Duration::from_secs(10);

fn answer() -> String {
    frames(&["{\"text\":\"a\"}", "{\"text\":\"b\"}", "{\"finish\":\"stop\"}"])
}

/// The default, but for proxies: these tests talk to this machine, whatever its settings say.
fn transport() -> ReqwestTransport {
    ReqwestTransport::from_client(ReqwestTransport::client_builder().no_proxy().build().unwrap())
}

fn model_at(url: &str) -> HttpModel<Api> {
    let keys = Keys::one(ApiKey::new("sk-12345678").unwrap());
    HttpModel::new(Api::at(format!("{url}/v1/chat")), target(), Arc::new(transport()))
        .with_keys(Arc::new(keys))
}

/// [HT-74]
#[tokio::test]
async fn a_call_goes_out_and_its_answer_comes_in() {
    for framing in [WireFraming::Chunked, WireFraming::Length, WireFraming::UntilClose] {
        let server =
            WireServer::start([WireReply::sse(answer()).framing(framing).cut(Cut::Every(3))]).unwrap();
        let outcome = call(&model_at(server.url())).await;
        assert_eq!(brief(&outcome), ("ab", Some("stop"), None), "{framing:?}");
        let requests = server.requests();
        let header = |name: &str| {
            requests[0].headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
        };
        assert_eq!((requests[0].method.as_str(), requests[0].path.as_str()), ("POST", "/v1/chat"));
        assert_eq!(header("authorization"), Some("Bearer sk-12345678".into()));
        assert_eq!(header("content-type"), Some("application/json".into()));
        assert_eq!(header("user-agent"), Some(concat!("ai-http/", env!("CARGO_PKG_VERSION")).into()));
    }
}

/// [HT-27] [HT-74]
#[tokio::test]
async fn a_connection_is_used_again_when_trailing_bytes_come_late() {
    let late =
        WireReply::sse(answer() + "data: [DONE]\n\n").cut(Cut::Event).chunk_delay(Duration::from_millis(20));
    let server = WireServer::repeat(late).unwrap();
    let model = model_at(server.url());
    for _ in 0..5 {
        assert_eq!(brief(&call(&model).await), ("ab", Some("stop"), None));
    }
    assert_eq!((server.requests().len(), server.connections()), (5, 1));
}

/// [HT-35]
#[tokio::test]
async fn dropping_a_stream_closes_its_socket_at_every_stage() {
    let before_head = WireReply::sse(answer()).head_delay(Duration::from_secs(3600));
    let after_head = WireReply::sse(answer()).ending(WireEnd::HangAfter(0));
    let in_answer = WireReply::sse(answer()).cut(Cut::Event).ending(WireEnd::HangAfter(40));
    for (reply, items) in [(before_head, 1), (after_head, 1), (in_answer, 3)] {
        let server = WireServer::start([reply]).unwrap();
        let mut stream = model_at(server.url()).stream(request(), CallContext::new());
        for _ in 0..items {
            stream.next().await.unwrap().unwrap();
        }
        let mut next = Box::pin(stream.next());
        let waiting = async { assert!(server.wait_requests(1, SOON).await, "no request came") };
        tokio::select! {
            item = &mut next => panic!("{item:?}"),
            () = waiting => {}
        }
        drop(next);
        drop(stream);
        assert!(server.wait_closed(SOON).await, "the socket stays open after {items} items");
    }
}

/// [HT-36]
#[tokio::test]
async fn a_stream_that_is_never_polled_does_not_connect() {
    let server = WireServer::repeat(WireReply::sse(answer())).unwrap();
    let model = model_at(server.url());
    let mut stream = model.stream(request(), CallContext::new());
    assert!(matches!(stream.next().await, Some(Ok(StreamPart::StreamStart { .. }))));
    drop(stream);
    drop(model.stream(request(), CallContext::new()));
    assert_eq!(brief(&call(&model).await).1, Some("stop"));
    assert_eq!((server.requests().len(), server.connections()), (1, 1), "only the call that was polled");
}

/// [HT-33]
#[tokio::test]
async fn a_cancel_closes_the_socket() {
    let server = WireServer::start([WireReply::sse(answer()).ending(WireEnd::HangAfter(20))]).unwrap();
    let ctx = CallContext::new();
    let model = model_at(server.url());
    let cancel = async {
        assert!(server.wait_requests(1, SOON).await);
        ctx.cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(crate::api::call_with(&model, request(), ctx.clone()), cancel);
    assert_eq!(brief(&outcome).2, Some(ErrorClass::Cancelled));
    assert!(server.wait_closed(SOON).await);
}

/// [HT-24]
#[tokio::test]
async fn a_broken_connection_is_told_from_a_clean_end() {
    let cases = [
        (WireReply::sse(answer()).cut(Cut::Event).ending(WireEnd::CloseAfter(20)), ErrorClass::Transport),
        (
            WireReply::sse(answer()).framing(WireFraming::Length).ending(WireEnd::CloseAfter(20)),
            ErrorClass::Transport,
        ),
        (
            WireReply::sse(answer()).framing(WireFraming::UntilClose).ending(WireEnd::CloseAfter(20)),
            ErrorClass::Incomplete,
        ),
    ];
    for (reply, class) in cases {
        let server = WireServer::start([reply]).unwrap();
        let outcome = call(&model_at(server.url())).await;
        assert_eq!(brief(&outcome), ("a", None, Some(class)));
        let error = outcome.2.unwrap();
        assert!(error.retryable() && error.url().is_some_and(|url| url.starts_with(server.url())), "{error}");
    }
}

/// [HT-73]
#[tokio::test]
async fn nothing_is_sent_twice() {
    let failures = [
        WireReply::new(StatusCode::SERVICE_UNAVAILABLE, "busy").header("retry-after", "0"),
        WireReply::raw("").ending(WireEnd::CloseAfter(0)),
        WireReply::raw("").ending(WireEnd::ResetAfter(0)),
        WireReply::raw("nonsense\r\n\r\n"),
        WireReply::sse(answer()).ending(WireEnd::ResetAfter(10)),
    ];
    for failure in failures {
        let server = WireServer::repeat(failure.clone()).unwrap();
        let outcome = call(&model_at(server.url())).await;
        assert!(outcome.2.is_some_and(|error| error.retryable()), "{failure:?}");
        assert_eq!(server.requests().len(), 1, "{failure:?}");
    }
}

fn redirect(status: u16, to: &str) -> WireReply {
    WireReply::new(StatusCode::from_u16(status).unwrap(), "").header("location", to)
}

/// [HT-70]
#[tokio::test]
async fn no_redirect_leads_to_another_origin() {
    let elsewhere = WireServer::repeat(WireReply::sse(answer())).unwrap();
    for status in [301, 302, 303, 307, 308] {
        for host in [elsewhere.url().to_owned(), elsewhere.url().replace("127.0.0.1", "localhost")] {
            let server =
                WireServer::repeat(redirect(status, &format!("{host}/v1/chat?token=CANARY"))).unwrap();
            let error = call(&model_at(server.url())).await.2.unwrap();
            assert_eq!((error.class(), error.status()), (ErrorClass::InvalidRequest, Some(status)));
            assert!(!error.retryable());
            assert!(error.message().contains(server.url()) && error.message().contains(&host), "{error}");
            assert!(!format!("{error:?}").contains("CANARY"), "{error:?}");
        }
    }
    assert_eq!(elsewhere.requests().len(), 0);
}

/// [HT-70]
#[tokio::test]
async fn a_client_that_follows_redirects_itself_is_found_out() {
    let elsewhere = WireServer::repeat(WireReply::sse(answer())).unwrap();
    let server = WireServer::repeat(redirect(307, elsewhere.url())).unwrap();
    let transport = ReqwestTransport::from_client(reqwest::Client::builder().no_proxy().build().unwrap());
    let call = HttpCall::get(server.url());
    let error = transport.send(call).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::InvalidRequest);
    assert!(error.message().contains(elsewhere.url()), "{error}");
}

/// [HT-71]
#[tokio::test]
async fn a_redirect_within_the_origin_keeps_the_request() {
    for status in [307, 308] {
        let server = WireServer::start([]).unwrap();
        server.route("/v1/chat", redirect(status, "/v2/chat"));
        server.route("/v2/chat", WireReply::sse(answer()));
        assert_eq!(brief(&call(&model_at(server.url())).await), ("ab", Some("stop"), None));
        let requests = server.requests();
        assert_eq!((requests[1].method.as_str(), requests[1].path.as_str()), ("POST", "/v2/chat"));
        assert_eq!(requests[1].body, requests[0].body);
        assert!(requests[1].headers.iter().any(|(name, _)| name == "authorization"));
    }
}

/// [HT-71]
#[tokio::test]
async fn a_redirect_that_would_lose_the_request_is_not_followed() {
    for status in [301, 302, 303] {
        let server = WireServer::start([]).unwrap();
        server.route("/v1/chat", redirect(status, "/v2/chat"));
        server.route("/v2/chat", WireReply::sse(answer()));
        let error = call(&model_at(server.url())).await.2.unwrap();
        assert_eq!((error.class(), error.status()), (ErrorClass::InvalidRequest, Some(status)));
        assert!(error.message().contains("/v2/chat"), "{error}");
        assert_eq!(server.requests().len(), 1);

        let get = HttpCall::get(format!("{}/v1/chat", server.url()));
        let response = transport().send(get).await.unwrap();
        assert_eq!((response.status, response.url), (StatusCode::OK, format!("{}/v2/chat", server.url())));
    }
}

/// [HT-71]
#[tokio::test]
async fn a_loop_of_redirects_ends() {
    let server = WireServer::repeat(redirect(307, "/v1/chat")).unwrap();
    let error = call(&model_at(server.url())).await.2.unwrap();
    assert_eq!(error.class(), ErrorClass::InvalidRequest);
    assert_eq!(server.requests().len(), 4);

    let nowhere = WireServer::repeat(WireReply::new(StatusCode::TEMPORARY_REDIRECT, "moved")).unwrap();
    let error = call(&model_at(nowhere.url())).await.2.unwrap();
    assert_eq!((error.status(), error.message()), (Some(307), "moved"), "without a location it is an answer");
}

/// [HT-72]
#[tokio::test]
async fn an_error_says_what_to_check() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = call(&model_at(&format!("http://{free}"))).await.2.unwrap();
    assert_eq!((error.class(), error.retryable()), (ErrorClass::Transport, true));
    assert!(error.message().contains(&free.to_string()) && error.message().contains("check"), "{error}");

    let error = call(&model_at("http://no-such-host.invalid")).await.2.unwrap();
    assert_eq!(error.class(), ErrorClass::Transport);
    assert!(error.message().contains("no-such-host.invalid cannot be found"), "{error}");

    let plain = WireServer::repeat(WireReply::sse(answer())).unwrap();
    let error = call(&model_at(&plain.url().replace("http://", "https://"))).await.2.unwrap();
    assert_eq!(error.class(), ErrorClass::Transport);
    assert!(error.message().contains(&plain.address().to_string()), "{error}");
}

/// [HT-72]
#[tokio::test]
async fn a_url_that_cannot_be_used_is_an_invalid_request() {
    let transport = ReqwestTransport::new().unwrap();
    assert!(format!("{transport:?}").contains("ReqwestTransport"));
    for url in ["", "localhost:1", "ftp://host/", "http://", "/v1"] {
        let call = HttpCall { method: Method::GET, ..HttpCall::get(url) };
        let error = transport.send(call).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::InvalidRequest, "{url:?}");
    }
}

/// [HT-75]
#[tokio::test]
async fn connecting_has_a_time_limit() {
    // A listener that accepts nobody: once its queue is full, the kernel drops further handshakes.
    let listener = tokio::net::TcpSocket::new_v4().unwrap();
    listener.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = listener.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut queue = Vec::new();
    while let Ok(Ok(socket)) =
        tokio::time::timeout(Duration::from_secs(1), tokio::net::TcpStream::connect(address)).await
    {
        queue.push(socket);
        assert!(queue.len() < 100, "the queue does not fill");
    }
    let client = ReqwestTransport::client_builder()
        .no_proxy()
        .connect_timeout(Duration::from_millis(300))
        .build()
        .unwrap();
    let start = Instant::now();
    let error = ReqwestTransport::from_client(client)
        .send(HttpCall::get(format!("http://{address}/")))
        .await
        .unwrap_err();
    assert_eq!(error.class(), ErrorClass::Timeout);
    assert!(error.message().contains(&address.to_string()), "{error}");
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}
