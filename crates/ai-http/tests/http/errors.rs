//! Responses that are errors.

use std::time::{Duration, SystemTime};

use ai_provider::{ErrorClass, Hint, ModelError};
use ai_testkit::{Cut, MemoryReply, MemoryTransport};
use http::StatusCode;

use crate::api::{URL, brief, call, frames, model};

fn reply(status: u16, body: &str) -> MemoryReply {
    MemoryReply::new(StatusCode::from_u16(status).unwrap(), body.to_owned())
}

async fn error_of(reply: MemoryReply) -> ModelError {
    let (text, finish, error) = call(&model(MemoryTransport::new().reply(reply))).await;
    assert_eq!((text.as_str(), finish), ("", None));
    error.expect("an error")
}

/// [HT-40]
#[tokio::test]
async fn the_body_of_an_error_is_read_whatever_its_label() {
    let error =
        error_of(reply(502, "<html><h1>Bad Gateway</h1></html>").header("content-type", "text/html")).await;
    assert_eq!((error.class(), error.status(), error.retryable()), (ErrorClass::Server, Some(502), true));
    assert_eq!(error.message(), "Bad Gateway");

    let body = r#"{"error":{"code":400,"message":"bad schema","status":"INVALID_ARGUMENT"}}"#;
    let error = error_of(reply(400, body).header("content-type", "text/event-stream")).await;
    assert_eq!(
        (error.class(), error.status(), error.retryable()),
        (ErrorClass::InvalidRequest, Some(400), false)
    );
    assert_eq!((error.message(), error.code()), ("bad schema", Some("INVALID_ARGUMENT")));

    let error = error_of(reply(500, "")).await;
    assert_eq!(error.message(), "Internal Server Error");
}

/// [HT-46]
#[tokio::test]
async fn an_error_names_url_and_request() {
    for name in ["x-request-id", "request-id", "x-ms-request-id", "apim-request-id", "x-amzn-requestid"] {
        let error = error_of(reply(500, "").header(name, " req_1 ")).await;
        assert_eq!((error.url(), error.request_id()), (Some(URL), Some("req_1")), "{name}");
    }
    let both = reply(500, "").header("request-id", "b").header("x-request-id", "a");
    assert_eq!(error_of(both).await.request_id(), Some("a"));
    let error = error_of(reply(500, "").header("x-request-id", &"x".repeat(201))).await;
    assert_eq!(error.request_id(), None, "that is no id");
}

/// [HT-46]
#[tokio::test]
async fn a_failure_to_send_names_the_url_too() {
    let failure = ModelError::new(ErrorClass::Transport, "connection refused");
    let error = error_of(MemoryReply::fail(failure)).await;
    assert_eq!((error.class(), error.url()), (ErrorClass::Transport, Some(URL)));
}

/// [HT-44]
#[tokio::test]
async fn an_error_carries_the_servers_hint() {
    let error = error_of(reply(429, "slow").header("retry-after", "1.5")).await;
    assert_eq!(error.hint(), Some(Hint::After(Duration::from_millis(1500))));
    let error = error_of(reply(429, "slow").header("retry-after", "garbage")).await;
    assert_eq!((error.hint(), error.retryable()), (None, true));
    let error = error_of(reply(503, "").header("retry-after-ms", "20")).await;
    assert_eq!(error.hint(), Some(Hint::After(Duration::from_millis(20))));
}

/// [HT-45]
#[tokio::test]
async fn a_hint_as_a_date_is_a_difference() {
    let server = SystemTime::now() + Duration::from_secs(500_000);
    let date = |time| httpdate::fmt_http_date(time);
    let skewed = reply(429, "")
        .header("date", &date(server))
        .header("retry-after", &date(server + Duration::from_secs(90)));
    assert_eq!(error_of(skewed).await.hint(), Some(Hint::After(Duration::from_secs(90))));
    let Some(Hint::After(after)) =
        error_of(reply(429, "").header("retry-after", &date(SystemTime::now() + Duration::from_secs(60))))
            .await
            .hint()
    else {
        panic!("no hint");
    };
    assert!((50..=60).contains(&after.as_secs()), "{after:?}");
}

/// [HT-42]
#[tokio::test]
async fn a_missing_key_is_said_so() {
    let error = error_of(reply(401, r#"{"error":{"message":"missing key"}}"#)).await;
    assert_eq!(error.class(), ErrorClass::Auth);
    assert_eq!(error.message(), "missing key (the request carried no key)");
}

/// [HT-19] [HT-22]
#[tokio::test]
async fn what_a_server_says_in_place_of_an_answer_is_kept() {
    let no_stream =
        ["upstream connect error or disconnect/reset before headers", "\"quota exceeded\"", "error: busy\n"];
    for said in no_stream {
        for label in ["text/plain", "text/event-stream", "application/json"] {
            let reply = MemoryReply::ok(said).header("content-type", label).cut(Cut::Every(1));
            let error = call(&model(MemoryTransport::new().reply(reply))).await.2.unwrap();
            assert_eq!((error.class(), error.retryable()), (ErrorClass::Protocol, false), "{error}");
            assert_eq!(error.excerpt(), Some(said.trim()));
            assert!(error.to_string().ends_with(said.trim()), "{error}");
        }
    }
    let unknown = "{\"message\":\"Internal thing\",\"statusCode\":500}";
    for body in [
        unknown.to_owned(),
        frames(&[unknown]),
        frames(&[unknown, "{\"more\":1}"]),
        frames(&[unknown, "[DONE]"]),
    ] {
        let error = call(&model(MemoryTransport::new().reply(MemoryReply::ok(body)))).await.2.unwrap();
        assert_eq!((error.class(), error.excerpt()), (ErrorClass::Incomplete, Some(unknown)));
        assert!(error.message().ends_with(unknown), "{error}");
    }
    let begun = frames(&["{\"text\":\"hi\"}", "{\"more\":1}"]);
    let error = call(&model(MemoryTransport::new().reply(MemoryReply::ok(begun)))).await.2.unwrap();
    assert_eq!((error.message(), error.excerpt()), ("no finish came", None), "the answer had begun");
}

/// [HT-48]
#[tokio::test]
async fn a_compressed_body_that_nobody_asked_for_is_named() {
    let bytes = [b"\x1f\x8b\x08\x00".as_slice(), &[0xC3, 0x28, 0x80, 0xFF].repeat(50)].concat();
    for how in ["gzip", "GZip", "br", "zstd", "identity, deflate", "x-gzip"] {
        for (status, class) in [
            (StatusCode::OK, ErrorClass::Protocol),
            (StatusCode::TOO_MANY_REQUESTS, ErrorClass::RateLimit),
            (StatusCode::BAD_GATEWAY, ErrorClass::Server),
        ] {
            let reply = MemoryReply::new(status, bytes.clone()).header("content-encoding", how);
            let error = call(&model(MemoryTransport::new().reply(reply))).await.2.unwrap();
            assert_eq!(error.class(), class);
            assert!(error.message().contains("compressed body") && error.message().is_ascii(), "{error}");
            assert_eq!(error.excerpt(), None);
            assert_eq!(error.retryable(), !status.is_success());
        }
    }
    for how in ["identity", "utf-8", ""] {
        let reply = MemoryReply::sse(frames(&["{\"finish\":\"stop\"}"])).header("content-encoding", how);
        let outcome = call(&model(MemoryTransport::new().reply(reply))).await;
        assert_eq!(brief(&outcome), ("", Some("stop"), None), "{how:?} compresses nothing");
    }
}
