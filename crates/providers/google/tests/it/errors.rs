//! What the server says when it fails.

use std::time::Duration;

use ai_provider::{Delivery, ErrorClass, Hint, ModelError};
use ai_testkit::MemoryReply;
use http::StatusCode;

use crate::support::*;

async fn failed(status: u16, body: &str) -> ModelError {
    let reply = MemoryReply::new(StatusCode::from_u16(status).unwrap(), body.to_owned());
    let (parts, error) = run(Delivery::Stream, reply).await;
    assert_eq!(parts.len(), 1);
    error.unwrap()
}

/// A body as Google writes it.
fn body(code: u16, status: &str, message: &str, details: &str) -> String {
    format!(
        r#"{{"error":{{"code":{code},"message":"{message}","status":"{status}","details":[{details}]}}}}"#
    )
}

fn reason(reason: &str) -> String {
    format!(
        r#"{{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"{reason}","domain":"googleapis.com"}}"#
    )
}

fn retry(delay: &str) -> String {
    format!(r#"{{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":{delay}}}"#)
}

fn limit(id: &str) -> String {
    format!(
        r#"{{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{{"quotaId":"{id}"}}]}}"#
    )
}

/// [GG-70] [GG-73]
#[tokio::test]
async fn every_kind_of_failure_is_told_apart() {
    use ErrorClass::*;
    for (code, status, message, details, class, retryable) in [
        (400, "INVALID_ARGUMENT", "Unknown name 'x'", String::new(), InvalidRequest, false),
        (
            400,
            "INVALID_ARGUMENT",
            "API key not valid. Please pass a valid API key.",
            reason("API_KEY_INVALID"),
            Auth,
            false,
        ),
        (400, "INVALID_ARGUMENT", "API key expired. Please renew the API key.", String::new(), Auth, false),
        (
            400,
            "INVALID_ARGUMENT",
            "The input token count (1048600) exceeds the maximum number of tokens allowed (1048575).",
            String::new(),
            ContextTooLong,
            false,
        ),
        (
            400,
            "INVALID_ARGUMENT",
            "Function call is missing a thought_signature in functionCall parts.",
            String::new(),
            StaleReplay,
            false,
        ),
        (400, "INVALID_ARGUMENT", "Thought signature is not valid", String::new(), StaleReplay, false),
        (
            400,
            "FAILED_PRECONDITION",
            "User location is not supported for the API use.",
            String::new(),
            InvalidRequest,
            false,
        ),
        (
            400,
            "FAILED_PRECONDITION",
            "The free tier is not available in your country. Please enable billing.",
            String::new(),
            Quota,
            false,
        ),
        (
            401,
            "UNAUTHENTICATED",
            "Request had invalid authentication credentials.",
            reason("ACCESS_TOKEN_EXPIRED"),
            Auth,
            false,
        ),
        (403, "PERMISSION_DENIED", "Your API key was reported as leaked.", String::new(), Auth, false),
        (
            403,
            "PERMISSION_DENIED",
            "This API method requires billing to be enabled.",
            reason("BILLING_DISABLED"),
            Quota,
            false,
        ),
        (404, "NOT_FOUND", "models/x is not found for API version v1beta", String::new(), NotFound, false),
        (
            429,
            "RESOURCE_EXHAUSTED",
            "Resource has been exhausted (e.g. check quota).",
            String::new(),
            RateLimit,
            true,
        ),
        (
            429,
            "RESOURCE_EXHAUSTED",
            "You exceeded your current quota, please check your plan and billing details.",
            String::new(),
            Quota,
            false,
        ),
        (
            429,
            "RESOURCE_EXHAUSTED",
            "You exceeded your current quota",
            limit("GenerateRequestsPerMinutePerProjectPerModel"),
            RateLimit,
            true,
        ),
        (
            429,
            "RESOURCE_EXHAUSTED",
            "x",
            limit("GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
            Quota,
            false,
        ),
        (429, "RESOURCE_EXHAUSTED", "You exceeded your current quota", retry(r#""34.4s""#), RateLimit, true),
        (500, "INTERNAL", "An internal error has occurred.", String::new(), Server, true),
        (
            503,
            "UNAVAILABLE",
            "The model is overloaded. Please try again later.",
            String::new(),
            Overloaded,
            true,
        ),
        (504, "DEADLINE_EXCEEDED", "The request timed out.", String::new(), Timeout, true),
    ] {
        let body = body(code, status, message, &details);
        let error = failed(code, &body).await;
        assert_eq!((error.class(), error.retryable()), (class, retryable), "{body}");
        assert_eq!((error.status(), error.code()), (Some(code), Some(status)));
        assert_eq!(error.message(), message);

        // The same in a list, and in an event of a success.
        assert_eq!(failed(code, &format!("[{body}]")).await.class(), class, "{body}");
        let (parts, error) = stream(gm(r#"[{"text":"par"}]"#) + &data(&body)).await;
        let error = error.unwrap();
        assert_eq!(
            (text(&parts).as_str(), error.class(), error.status()),
            ("par", class, Some(code)),
            "{body}"
        );
        assert_eq!(error.retryable(), retryable, "{body}");
    }
}

/// [GG-71]
#[tokio::test]
async fn retry_info_is_the_hint_and_nonsense_is_none() {
    let millis = |millis| Some(Hint::After(Duration::from_millis(millis)));
    for (delay, hint) in [
        (r#""34.4s""#, millis(34_400)),
        (r#""2s""#, millis(2_000)),
        (r#""0.25s""#, millis(250)),
        (r#""57600s""#, millis(57_600_000)),
        (r#""34.074824224s""#, Some(Hint::After(Duration::new(34, 74_824_224)))),
        (r#""0s""#, None),
        (r#""0.000s""#, None),
        (r#""-3s""#, None),
        (r#""+3s""#, None),
        (r#""1e3s""#, None),
        (r#""s""#, None),
        (r#""3""#, None),
        (r#""3m""#, None),
        (r#""1.s""#, None),
        (r#""1.0000000001s""#, None),
        (r#""99999999999999999999s""#, None),
        (r#""NaNs""#, None),
        ("3", None),
        ("null", None),
        ("{}", None),
    ] {
        let body = body(429, "RESOURCE_EXHAUSTED", "Slow down", &retry(delay));
        assert_eq!(failed(429, &body).await.hint(), hint, "{delay}");
        assert_eq!(stream(data(&body)).await.1.unwrap().hint(), hint, "{delay}");
    }
    let reply = MemoryReply::new(StatusCode::TOO_MANY_REQUESTS, body(429, "RESOURCE_EXHAUSTED", "x", ""));
    let (_, error) = run(Delivery::Stream, reply.header("retry-after", "7")).await;
    assert_eq!(error.unwrap().hint(), millis(7_000));
}

/// [GG-72]
#[tokio::test]
async fn bodies_that_are_no_error_of_google_keep_their_status() {
    let error = failed(502, "<html><h1>Bad Gateway</h1></html>").await;
    assert_eq!(
        (error.class(), error.status(), error.message()),
        (ErrorClass::Server, Some(502), "Bad Gateway")
    );
    assert!(error.retryable());
    let reply = MemoryReply::new(StatusCode::BAD_REQUEST, body(400, "INVALID_ARGUMENT", "bad schema", ""));
    let (_, error) = run(Delivery::Stream, reply.header("content-type", "text/event-stream")).await;
    assert_eq!(error.unwrap().message(), "bad schema");
    assert_eq!(failed(429, "").await.class(), ErrorClass::RateLimit);
    assert_eq!(failed(413, "[]").await.class(), ErrorClass::ContextTooLong);
    for details in [
        "7",
        "null,{}",
        r#"{"@type":7}"#,
        r#"{"@type":"x/RetryInfo"}"#,
        r#"{"@type":"x.QuotaFailure","violations":7}"#,
    ] {
        assert_eq!(
            failed(429, &body(429, "RESOURCE_EXHAUSTED", "x", details)).await.class(),
            ErrorClass::RateLimit
        );
    }
}

/// [GG-29]
#[tokio::test]
async fn an_error_in_place_of_an_answer_is_no_empty_success() {
    let google = body(400, "INVALID_ARGUMENT", "bad schema", "");
    for text in [&google, &format!("[{google}]")] {
        for outcome in [whole(text.clone()).await, run(Delivery::Stream, MemoryReply::ok(text.clone())).await]
        {
            let error = outcome.1.unwrap();
            assert_eq!((error.class(), error.message()), (ErrorClass::InvalidRequest, "bad schema"));
        }
    }
    for (frame, class, words) in [
        (r#"{"error":"no capacity","code":"unavailable"}"#, ErrorClass::Overloaded, "no capacity"),
        (r#"{"message":"Unauthorized","status":401}"#, ErrorClass::Auth, "Unauthorized"),
        (r#"{"detail":"the gateway is sad"}"#, ErrorClass::Server, "the gateway is sad"),
        (r#"{"note":"hello"}"#, ErrorClass::Incomplete, "without an answer"),
    ] {
        let error = stream(data(frame)).await.1.unwrap();
        assert!(error.message().contains(words), "{frame}: {error}");
        assert_eq!(error.class(), class, "{frame}");
    }
    let error = stream("event: error\ndata: {\"message\":\"gone\"}\n\n").await.1.unwrap();
    assert_eq!(error.message(), "gone");
}
