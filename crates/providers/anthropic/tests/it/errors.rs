//! Failures: under a status, in a body of a success, in the middle of a stream.

use std::time::Duration;

use ai_provider::ErrorClass::{
    self, Auth, ContentRefused, ContextTooLong, InvalidRequest, NotFound, Overloaded, Protocol, Quota,
    RateLimit, Server, StaleReplay, Timeout,
};
use ai_provider::{Delivery, Hint, ModelError, StreamPart};
use ai_testkit::MemoryReply;
use http::StatusCode;
use serde_json::json;

use crate::support::{an, block, delta, end, run, start, stream, text, text_block, whole};

fn failure(kind: &str, message: &str) -> String {
    json!({"type": "error", "error": {"type": kind, "message": message}}).to_string()
}

async fn answered(status: u16, body: &str) -> ModelError {
    let reply = MemoryReply::new(StatusCode::from_u16(status).unwrap(), body.to_owned());
    let (parts, error) = run(Delivery::Stream, reply).await;
    assert_eq!(parts.len(), 1, "only the start comes before an error response: {parts:?}");
    let error = error.unwrap();
    assert_eq!(error.status(), Some(status));
    error
}

/// Type, class, the status it stands for, whether the same target may be tried again.
const KINDS: &[(&str, ErrorClass, u16, bool)] = &[
    ("invalid_request_error", InvalidRequest, 400, false),
    ("authentication_error", Auth, 401, false),
    ("billing_error", Quota, 402, false),
    ("permission_error", Auth, 403, false),
    ("not_found_error", NotFound, 404, false),
    ("request_too_large", ContextTooLong, 413, false),
    ("rate_limit_error", RateLimit, 429, true),
    ("api_error", Server, 500, true),
    ("timeout_error", Timeout, 504, true),
    ("overloaded_error", Overloaded, 529, true),
];

/// [AN-60]
#[tokio::test]
async fn an_error_in_a_stream_counts_as_the_same_failure_under_its_status() {
    for (kind, class, status, retryable) in KINDS {
        let event = an(&failure(kind, "Something"));
        let bare = format!("data: {}\n\n", failure(kind, "Something"));
        let begun = [
            start(),
            block(0, r#"{"type":"text","text":""}"#),
            delta(0, r#"{"type":"text_delta","text":"par"}"#),
        ]
        .concat();
        for (before, shown) in [(String::new(), ""), (start(), ""), (begun, "par")] {
            for event in [&event, &bare] {
                let (parts, error) =
                    stream([&before, event, &end("end_turn")].map(String::as_str).concat()).await;
                let error = error.unwrap();
                assert_eq!((error.class(), error.status()), (*class, Some(*status)), "{kind}");
                assert_eq!((error.retryable(), error.code()), (*retryable, Some(*kind)));
                assert_eq!((error.message(), text(&parts).as_str()), ("Something", shown));
                assert!(!parts.iter().any(|part| matches!(part, StreamPart::Finish(_))));
            }
        }
        let response = answered(*status, &failure(kind, "Something")).await;
        assert_eq!((response.class(), response.retryable()), (*class, *retryable), "{kind}");
        assert_eq!((response.code(), response.message()), (Some(*kind), "Something"));
    }
}

/// [AN-61]
#[tokio::test]
async fn an_event_named_error_is_one_whatever_it_holds() {
    for (payload, message) in [
        (r#"{"message":"upstream died"}"#, "upstream died"),
        ("upstream died", "upstream died"),
        (r#"{"error":{"message":"upstream died"}}"#, "upstream died"),
        (r#"{"type":"error","error":"upstream died"}"#, "upstream died"),
    ] {
        let (parts, error) =
            stream([start(), text_block(0, "par"), format!("event: error\ndata: {payload}\n\n")].concat())
                .await;
        let error = error.unwrap();
        assert_eq!((error.class(), error.message()), (Server, message), "{payload}");
        assert_eq!(text(&parts), "par");
    }
    // Without a name, by what they hold.
    for (frame, class) in [
        (r#"{"error":{"message":"m","type":"insufficient_quota","code":429}}"#, Quota),
        (r#"{"type":"new","error":{"message":"m","code":"rate_limit_exceeded"}}"#, RateLimit),
        (r#"{"object":"error","message":"no","code":400}"#, InvalidRequest),
    ] {
        let (_, error) = stream(format!("data: {frame}\n\n")).await;
        assert_eq!(error.unwrap().class(), class, "{frame}");
    }
}

/// [AN-62]
#[tokio::test]
async fn an_error_response_is_read_whatever_its_body_is() {
    for (status, body, class, retryable, message) in [
        (502, "<html><h1>Bad Gateway</h1></html>", Server, true, "Bad Gateway"),
        (
            400,
            r#"{"error":{"code":400,"message":"bad schema","status":"INVALID_ARGUMENT"}}"#,
            InvalidRequest,
            false,
            "bad schema",
        ),
        (529, "", Overloaded, true, "the server gave no reason"),
        (408, "", Timeout, true, "Request Timeout"),
        (409, "", Server, true, "Conflict"),
        (422, "", InvalidRequest, false, "Unprocessable Entity"),
        (403, "", Auth, false, "Forbidden"),
    ] {
        let error = answered(status, body).await;
        assert_eq!((error.class(), error.retryable()), (class, retryable), "{status} {body}");
        assert!(error.message().starts_with(message), "{}", error.message());
    }
}

/// [AN-63]
#[tokio::test]
async fn what_shares_a_name_is_told_apart_by_its_words() {
    for (message, class) in [
        ("prompt is too long: 208310 tokens > 200000 maximum", ContextTooLong),
        ("input length and `max_tokens` exceed context limit: 199 + 20 > 200", ContextTooLong),
        ("Your credit balance is too low to access the Anthropic API.", Quota),
        ("Output blocked by content filtering policy", ContentRefused),
        ("messages.1.content.0: Invalid `signature` in `thinking` block", StaleReplay),
        (
            "messages.3.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
            StaleReplay,
        ),
        ("max_tokens: must be at least 1", InvalidRequest),
    ] {
        let body = failure("invalid_request_error", message);
        let (_, in_stream) = stream(an(&body)).await;
        for error in [answered(400, &body).await, in_stream.unwrap()] {
            assert_eq!((error.class(), error.retryable()), (class, false), "{message}");
            assert_eq!((error.message(), error.code()), (message, Some("invalid_request_error")));
            assert_eq!(error.status(), Some(400));
        }
    }
}

/// [AN-64]
#[tokio::test]
async fn the_id_of_the_request_is_kept() {
    let body = json!({
        "type": "error", "error": {"type": "api_error", "message": "m"}, "request_id": "req_011",
    });
    let (_, in_stream) = stream(an(&body.to_string())).await;
    for error in [answered(500, &body.to_string()).await, in_stream.unwrap()] {
        assert_eq!(error.request_id(), Some("req_011"));
    }
    let reply =
        MemoryReply::new(StatusCode::OK, an(&failure("api_error", "m"))).header("request-id", "req_7");
    assert_eq!(run(Delivery::Stream, reply).await.1.unwrap().request_id(), Some("req_7"));
}

/// [AN-65]
#[tokio::test]
async fn an_error_in_a_body_of_a_success_is_an_error() {
    let body = failure("overloaded_error", "Overloaded");
    let reply = MemoryReply::ok(body.clone()).header("content-type", "application/json");
    for error in [whole(body.clone()).await.1, stream(body).await.1, run(Delivery::Stream, reply).await.1] {
        let error = error.unwrap();
        assert_eq!((error.class(), error.status()), (Overloaded, Some(529)));
    }
    for (body, class) in [
        (r#"{"error":{"message":"m","code":"invalid_api_key"}}"#, Auth),
        (r#"{"code":"unauthorized","message":"m"}"#, Auth),
        (r#"{"detail":"nope"}"#, Server),
        (r#"{"message":"nope"}"#, Protocol),
    ] {
        assert_eq!(whole(body).await.1.unwrap().class(), class, "{body}");
        assert_eq!(stream(body).await.1.unwrap().class(), class, "{body}");
    }
}

/// [AN-66]
#[tokio::test]
async fn a_server_of_another_api_is_named() {
    let chat =
        r#"{"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"hi"}}]}"#;
    let (_, error) = stream(format!("data: {chat}\n\ndata: [DONE]\n\n")).await;
    let error = error.unwrap();
    assert_eq!((error.class(), error.retryable()), (Protocol, false));
    assert!(error.message().contains("Chat Completions"), "{}", error.message());
}

/// [AN-67]
#[tokio::test]
async fn a_key_that_the_server_echoes_is_masked() {
    let said = failure("authentication_error", "no such key: sk-secret-of-the-test");
    let (_, in_stream) = stream(an(&said)).await;
    for error in [answered(401, &said).await, in_stream.unwrap()] {
        let shown = format!("{error} {error:?} {:?}", error.record());
        assert!(!shown.contains("sk-secret-of-the-test"), "{shown}");
    }
}

/// [AN-68]
#[tokio::test]
async fn a_limit_says_when_it_is_lifted_where_nothing_else_does() {
    let hint = async |headers: &[(&str, &str)]| {
        let all = [("date", "Sat, 31 Jan 2026 00:00:00 GMT")];
        let reply = MemoryReply::new(StatusCode::TOO_MANY_REQUESTS, failure("rate_limit_error", "slow"));
        let reply = all.iter().chain(headers).fold(reply, |reply, (name, value)| reply.header(name, value));
        run(Delivery::Stream, reply).await.1.unwrap().hint()
    };
    let after = |seconds| Some(Hint::After(Duration::from_secs(seconds)));
    let met = [
        ("anthropic-ratelimit-requests-remaining", "0"),
        ("anthropic-ratelimit-requests-reset", "2026-01-31T00:00:07Z"),
        ("anthropic-ratelimit-tokens-remaining", "0"),
        ("anthropic-ratelimit-tokens-reset", "2026-01-31T00:01:00Z"),
        ("anthropic-ratelimit-output-tokens-remaining", "500"),
        ("anthropic-ratelimit-output-tokens-reset", "2026-01-31T01:00:00Z"),
    ];
    assert_eq!(hint(&met).await, after(60));
    assert_eq!(hint(&met[..2]).await, after(7));
    assert_eq!(hint(&met[4..]).await, None);
    for limit in ["requests", "tokens", "input-tokens", "output-tokens"] {
        let (remaining, reset) =
            (format!("anthropic-ratelimit-{limit}-remaining"), format!("anthropic-ratelimit-{limit}-reset"));
        assert_eq!(hint(&[(&remaining, "0"), (&reset, "2026-01-31T00:00:09Z")]).await, after(9), "{limit}");
    }
    assert_eq!(hint(&[&met[..], &[("retry-after", "3")]].concat()).await, after(3));
    assert_eq!(hint(&[&met[..], &[("retry-after", "soon")]].concat()).await, after(60));
    let past = [met[0], ("anthropic-ratelimit-requests-reset", "2026-01-30T00:00:00Z")];
    assert_eq!(hint(&past).await, None);
    assert_eq!(hint(&[met[0], ("anthropic-ratelimit-requests-reset", "later")]).await, None);
}
