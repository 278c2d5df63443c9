//! What the models of a provider share.

use std::sync::Arc;
use std::time::Duration;

use ai_http::{Client, HeaderKey, HttpCall};
use ai_provider::{
    ApiKey, CallContext, CancellationToken, Capabilities, ErrorClass, Hint, LanguageModel, ModelError,
    TargetId,
};
use ai_testkit::{MemoryEnd, MemoryReply, MemoryTransport, collect};
use http::{HeaderName, StatusCode};
use serde::Deserialize;

use crate::api::{Api, frames, request};

#[derive(Debug, PartialEq, Deserialize)]
struct Names {
    names: Vec<String>,
}

fn target() -> TargetId {
    TargetId::new("acme", "", "http://h/v1")
}

async fn names(transport: &MemoryTransport, ctx: CallContext) -> Result<Names, ModelError> {
    let client = Client::builder()
        .api_key(ApiKey::new("sk-secret-key-1").unwrap())
        .authorize_or(HeaderKey(HeaderName::from_static("x-api-key")))
        .header("x-team", "blue")
        .transport(Arc::new(transport.clone()))
        .build()?;
    client.fetch_json(&target(), HttpCall::get("http://h/v1/names?key=sk-secret-key-1"), ctx).await
}

/// [HT-150]
#[tokio::test]
async fn key_and_headers_go_with_models_and_documents_alike() {
    let transport = MemoryTransport::new()
        .reply(MemoryReply::ok(r#"{"names":["a"]}"#))
        .reply(MemoryReply::sse(frames(&["{\"finish\":\"stop\"}"])));
    assert_eq!(names(&transport, CallContext::new()).await.unwrap(), Names { names: vec!["a".into()] });
    let client = Client::builder()
        .api_key(ApiKey::new("sk-2").unwrap())
        .header("x-team", "blue")
        .header("x-gone", "1")
        .transport(Arc::new(transport.clone()))
        .build()
        .unwrap();
    let model = client.model(Api::at("http://h/v1"), target(), Capabilities::default());
    let mut asked = request();
    asked.extra_headers = vec![("x-gone".into(), None), ("x-team".into(), Some("red".into()))];
    collect(model.stream(asked, CallContext::new())).await;
    let calls = transport.calls();
    let header = |call: usize, name: &str| {
        calls[call].headers.get(name).map(|value| value.to_str().unwrap().to_owned())
    };
    assert_eq!(header(0, "x-api-key").as_deref(), Some("sk-secret-key-1"));
    assert_eq!(header(0, "x-team").as_deref(), Some("blue"));
    assert_eq!(header(1, "authorization").as_deref(), Some("Bearer sk-2"));
    assert_eq!(header(1, "x-team").as_deref(), Some("red"), "the request's own header wins");
    assert_eq!(header(1, "x-gone"), None);
    let error = Client::builder().header("x-bad", "a\r\nb: c").build().unwrap_err();
    assert_eq!(error.class(), ErrorClass::InvalidRequest);
}

/// [HT-151]
#[tokio::test]
async fn a_document_fails_as_a_call_does() {
    let ok = MemoryReply::ok;
    let status =
        |code| MemoryReply::new(StatusCode::from_u16(code).unwrap(), r#"{"error":{"message":"no"}}"#);
    for (reply, class) in [
        (status(401), ErrorClass::Auth),
        (status(529), ErrorClass::Overloaded),
        (ok(r#"{"error":{"message":"m","code":"insufficient_quota"}}"#), ErrorClass::Quota),
        (ok(r#"{"names":7}"#), ErrorClass::Protocol),
        (ok("[]"), ErrorClass::Protocol),
        (ok("<h1>Log in</h1>"), ErrorClass::Protocol),
        (ok(r#"{"names":["#), ErrorClass::Incomplete),
        (ok(""), ErrorClass::Incomplete),
    ] {
        let transport = MemoryTransport::new().reply(reply);
        let error = names(&transport, CallContext::new()).await.unwrap_err();
        assert_eq!(error.class(), class, "{error}");
        assert!(error.to_string().contains("http://h/v1/names"), "{error}");
        assert!(!format!("{error} {error:?}").contains("sk-secret-key-1"), "{error:?}");
    }
}

/// [HT-151]
#[tokio::test(start_paused = true)]
async fn a_document_is_cancelled_and_has_the_deadline_of_its_context() {
    let hanging = || MemoryTransport::new().reply(MemoryReply::ok("").ending(MemoryEnd::Hang));
    let cancel = CancellationToken::new();
    cancel.cancel();
    let error = names(&hanging(), CallContext::new().with_cancel(cancel)).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Cancelled);
    let deadline = tokio::time::Instant::now() + Duration::from_secs(2);
    let error = names(&hanging(), CallContext::new().with_deadline(deadline.into_std())).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Timeout);
}

/// [HT-153]
#[tokio::test]
async fn a_document_has_the_errors_of_its_provider() {
    let date = |at: u64| std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(at);
    for (body, hint) in [("1030", Some(Hint::After(Duration::from_secs(30)))), ("970", None), ("1000", None)]
    {
        let reply = MemoryReply::new(StatusCode::TOO_MANY_REQUESTS, body)
            .header("date", &httpdate::fmt_http_date(date(1_000)))
            .header("x-request-id", "r1");
        let client = Client::builder()
            .transport(Arc::new(MemoryTransport::new().reply(reply)))
            .read_errors(|status, headers, body| {
                assert!(headers.contains_key("x-request-id"));
                let at: u64 = str::from_utf8(body).unwrap().parse().unwrap();
                let at = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(at);
                let error = ModelError::new(ErrorClass::Quota, "by its own reader");
                error.with_status(status.as_u16()).with_hint(Hint::At(at))
            })
            .build()
            .unwrap();
        let target = TargetId::new("acme", "", "http://h/v1");
        let call = HttpCall::get("http://h/v1/names");
        let error =
            client.fetch_json::<serde_json::Value>(&target, call, CallContext::new()).await.unwrap_err();
        assert_eq!((error.class(), error.message()), (ErrorClass::Quota, "by its own reader"), "{body}");
        assert_eq!((error.hint(), error.request_id()), (hint, Some("r1")), "{body}");
        assert_eq!(error.url(), Some("http://h/v1/names"), "{body}");
    }
}
