//! Failures: under a status, in a body of a success, in the middle of a stream.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod support;

use ai_provider::ErrorClass::{
    self, Auth, ContentRefused, ContextTooLong, InvalidRequest, NotFound, Overloaded, Quota, RateLimit,
    Server, Timeout,
};
use ai_provider::{Delivery, ModelError, StreamPart};
use ai_testkit::MemoryReply;
use http::StatusCode;
use support::{DONE, ch, data, dialect, fin, run, stream, text, whole};

async fn answered(status: u16, body: &str) -> ModelError {
    let reply = MemoryReply::new(StatusCode::from_u16(status).unwrap(), body.to_owned());
    let (parts, error) = run(dialect("openai"), Delivery::Stream, reply).await;
    assert_eq!(parts.len(), 1, "only the start comes before an error response: {parts:?}");
    let error = error.unwrap();
    assert_eq!(error.status(), Some(status));
    error
}

/// [OA-50]
#[tokio::test]
async fn an_error_in_a_stream_ends_it_with_its_class_and_keeps_what_came() {
    let cases: &[(&str, ErrorClass, u16, bool, Option<&str>)] = &[
        (
            r#"{"error":{"message":"quota","type":"insufficient_quota","code":429}}"#,
            Quota,
            429,
            false,
            Some("insufficient_quota"),
        ),
        (
            r#"{"error":{"message":"slow","type":"tokens","code":"rate_limit_exceeded"}}"#,
            RateLimit,
            429,
            true,
            Some("rate_limit_exceeded"),
        ),
        (
            r#"{"error":{"message":"Overloaded","type":"overloaded_error"}}"#,
            Overloaded,
            503,
            true,
            Some("overloaded_error"),
        ),
        (r#"{"error":{"message":"bad gateway","code":502}}"#, Server, 502, true, None),
        (r#"{"error":{"message":"bad gateway","code":"502"}}"#, Server, 502, true, None),
        (r#"{"error":{"message":"m","type":"tokens","code":null}}"#, RateLimit, 429, true, Some("tokens")),
        (r#"{"error":{"message":"boom"}}"#, Server, 500, true, None),
        (r#"{"error":"boom"}"#, Server, 500, true, None),
        (r#"{"error":true}"#, Server, 500, true, None),
        (
            r#"{"object":"error","message":"no","type":"BadRequestError","param":null,"code":400}"#,
            InvalidRequest,
            400,
            false,
            Some("BadRequestError"),
        ),
        (
            r#"{"choices":[],"error":{"message":"key","code":"invalid_api_key"}}"#,
            Auth,
            401,
            false,
            Some("invalid_api_key"),
        ),
        (
            r#"{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error","error":{"code":503,"message":"x"}}]}"#,
            Overloaded,
            503,
            true,
            None,
        ),
        (
            r#"{"error":{"message":"gone","type":"server_error","code":"timeout"}}"#,
            Timeout,
            504,
            true,
            Some("timeout"),
        ),
        (
            r#"[{"error":{"code":429,"message":"Resource exhausted","status":"RESOURCE_EXHAUSTED"}}]"#,
            RateLimit,
            429,
            true,
            Some("RESOURCE_EXHAUSTED"),
        ),
    ];
    for (frame, class, status, retryable, code) in cases {
        for before in ["", "par"] {
            let delta = ch(&format!(r#"{{"content":"{before}"}}"#));
            let body = [delta, data(frame), fin(r#""stop""#), DONE.into()].concat();
            let (parts, error) = stream("openai", body).await;
            let error = error.unwrap();
            assert_eq!((error.class(), error.status()), (*class, Some(*status)), "{frame}");
            assert_eq!((error.retryable(), error.code()), (*retryable, *code), "{frame}");
            assert_eq!(text(&parts), before);
            assert!(!parts.iter().any(|part| matches!(part, StreamPart::Finish(_))));
        }
    }
}

/// [OA-51]
#[tokio::test]
async fn an_event_named_error_is_one_whatever_it_holds() {
    for (payload, message) in [
        (r#"{"message":"upstream died"}"#, "upstream died"),
        ("upstream died", "upstream died"),
        (r#"{"error":{"message":"upstream died"}}"#, "upstream died"),
    ] {
        let body = [ch(r#"{"content":"par"}"#), format!("event: error\ndata: {payload}\n\n"), DONE.into()];
        let (parts, error) = stream("openai", body.concat()).await;
        assert_eq!(text(&parts), "par");
        assert_eq!(error.unwrap().message(), message);
    }
}

/// [OA-52]
#[tokio::test]
async fn a_body_of_a_success_that_reports_a_failure_is_one() {
    for body in [
        r#"{"error":{"message":"no credit","code":"insufficient_quota"}}"#,
        r#"{"error":"no credit","code":"insufficient_quota"}"#,
        r#"{"message":"no credit","type":"insufficient_quota","code":"insufficient_quota"}"#,
    ] {
        for (parts, error) in [stream("openai", body).await, whole("openai", body).await] {
            let error = error.unwrap();
            assert_eq!((error.class(), error.message()), (Quota, "no credit"), "{body}");
            assert_eq!(parts.len(), 1, "{parts:?}");
        }
    }
    let (_, error) = whole("openai", r#"{"detail":"Not authenticated"}"#).await;
    assert_eq!(error.unwrap().message(), "Not authenticated");
}

/// [OA-59]
#[tokio::test]
async fn what_comes_in_place_of_an_answer_is_in_the_error() {
    use ErrorClass::Protocol;
    let cases: &[(&str, ErrorClass, &str)] = &[
        (r#"{"message":"Internal thing","statusCode":500}"#, Server, "Internal thing"),
        (r#"{"statusCode":"503","error_msg":"too busy"}"#, Overloaded, "too busy"),
        (r#"{"httpStatus":404,"title":"no such thing"}"#, NotFound, "no such thing"),
        (r#"{"status":"error","detail":"it broke"}"#, Server, "it broke"),
        (r#"{"status":"error","detail":{"why":"it broke"}}"#, Server, "it broke"),
        (r#"{"code":1001,"msg":"it broke"}"#, Protocol, "it broke"),
        (r#"{"code":429,"msg":"slow down"}"#, RateLimit, "slow down"),
        (r#"{"error_code":336003,"error_msg":"it broke"}"#, Server, "it broke"),
        (r#"{"code":1001,"statusCode":429,"msg":"slow down"}"#, RateLimit, "slow down"),
        (r#"{"code":"insufficient_quota","msg":"slow down"}"#, Quota, "slow down"),
        (r#"{"success":false,"errorMessage":"it broke","data":null}"#, Protocol, "it broke"),
        (r#"{"success":false,"reason":"Insufficient balance"}"#, Quota, "Insufficient balance"),
        (r#"{"errors":[{"status":"401","detail":"who are you"}]}"#, Auth, "who are you"),
        (r#"{"errors":["it broke","badly"]}"#, Server, "it broke"),
        (r#"{"error":["it broke","badly"]}"#, Server, "it broke; badly"),
        (r#"{"choices":[],"message":"it broke","statusCode":500}"#, Server, "it broke"),
        (r#"{"choices":null,"usage":null,"message":"it broke"}"#, Protocol, "it broke"),
        (r#"{"choices":[],"message":"it broke"}"#, Protocol, "it broke"),
        (r#"[{"message":"it broke"}]"#, Protocol, "it broke"),
        (r#"{"result":{"why":"it broke"}}"#, Protocol, "it broke"),
        (r#""quota exceeded""#, Protocol, "quota exceeded"),
        (r#"["it broke"]"#, Protocol, "it broke"),
        ("upstream connect error", Protocol, "upstream connect error"),
    ];
    for (body, class, words) in cases {
        let mut answers = vec![whole("openai", *body).await];
        // Without a message it may be a note too, and the end of the stream is what failed.
        let noted = body.contains("result");
        // What is no JSON object or list is told from a stream by the framer.
        if body.starts_with(['{', '[']) && !noted {
            answers.push(stream("openai", *body).await);
        }
        if !noted {
            answers.push(stream("openai", data(body)).await);
            answers.push(
                stream("openai", [&data(body), ": bye\n\n", &data(r#"{"type":"ping"}"#), DONE].concat())
                    .await,
            );
        }
        for (parts, error) in answers {
            let error = error.unwrap();
            assert_eq!(error.class(), *class, "{body}: {error}");
            let said = format!("{} {}", error.message(), error.excerpt().unwrap_or_default());
            assert!(said.contains(words), "{body}: {error:?}");
            assert_eq!(parts.len(), 1, "{parts:?}");
        }
    }

    // Where an answer came, such a frame was a note.
    let note = data(r#"{"message":"still working","type":"status"}"#);
    for begun in [ch(r#"{"content":"a"}"#), ch(r#"{"role":"assistant"}"#)] {
        let (_, error) = stream("openai", [note.clone(), begun.clone()].concat()).await;
        assert_eq!(error.unwrap().class(), ErrorClass::Incomplete);
        let (_, error) =
            stream("openai", [note.clone(), begun, note.clone(), fin(r#""stop""#)].concat()).await;
        assert!(error.is_none(), "{error:?}");
    }
}

/// [OA-53]
#[tokio::test]
async fn a_failure_in_words_may_be_tried_again_only_if_they_say_unavailable() {
    let body = |code: &str| format!(r#"{{"code":"{code}","error":"Sorry."}}"#);
    let (_, error) = stream("xai", body("The service is currently unavailable")).await;
    let error = error.unwrap();
    assert_eq!((error.class(), error.retryable(), error.message()), (Overloaded, true, "Sorry."));
    let (_, error) = stream("xai", body("Some requested entity is in a bad mood")).await;
    assert!(!error.unwrap().retryable());
}

/// [OA-54]
#[tokio::test]
async fn the_class_is_read_from_the_name_then_the_status_then_the_words() {
    let named = |code: &str| {
        format!(r#"{{"error":{{"message":"m","type":"invalid_request_error","code":"{code}"}}}}"#)
    };
    let cases: Vec<(u16, String, ErrorClass)> = vec![
        (400, named("context_length_exceeded"), ContextTooLong),
        (400, named("invalid_api_key"), Auth),
        (400, named("model_not_found"), NotFound),
        (400, named("content_policy_violation"), ContentRefused),
        (400, named("something_new"), InvalidRequest),
        (403, named("insufficient_quota"), Quota),
        (404, named("something_new"), NotFound),
        (429, named("billing_hard_limit_reached"), Quota),
        (429, named("something_new"), RateLimit),
        (400, r#"{"error":{"message":"Prompt has 5000 tokens, window is 4096","code":"context_length_exceeded"}}"#.into(), ContextTooLong),
        (400, r#"{"error":{"message":"This model's maximum context length is 4096 tokens","type":"BadRequestError","code":400}}"#.into(), ContextTooLong),
        (400, r#"{"error":{"message":"max_tokens is too large: 99999","type":"invalid_request_error"}}"#.into(), InvalidRequest),
        (413, r#"{"error":{"message":"Request too large","type":"tokens","code":"rate_limit_exceeded"}}"#.into(), ContextTooLong),
        (402, r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}"#.into(), Quota),
        (429, r#"{"error":{"message":"You exceeded your current quota"}}"#.into(), Quota),
        (429, r#"{"error":{"message":"You exceeded your current quota","code":429,"status":"RESOURCE_EXHAUSTED"}}"#.into(), RateLimit),
        (429, r#"{"error":{"message":"busy","type":"engine_overloaded_error"}}"#.into(), Overloaded),
        (400, r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"prompt is too long: 9 tokens"}}}"#.into(), ContextTooLong),
        (401, String::new(), Auth),
        (403, "<html>no</html>".into(), Auth),
        (422, r#"{"detail":[{"loc":["body","messages"],"msg":"field required"}]}"#.into(), InvalidRequest),
        (503, "busy".into(), Overloaded),
        (529, String::new(), Overloaded),
        (500, r#"{"error":{"message":"x","type":"server_error"}}"#.into(), Server),
    ];
    for (status, body, class) in cases {
        assert_eq!(answered(status, &body).await.class(), class, "{status} {body}");
    }
}

/// [OA-55]
#[tokio::test]
async fn a_status_decides_whether_the_same_request_may_be_tried_again() {
    for status in [400, 401, 403, 404, 413, 422] {
        assert!(!answered(status, "{}").await.retryable(), "{status}");
    }
    for status in [408, 409, 429, 500, 502, 503, 504, 529] {
        assert!(answered(status, "{}").await.retryable(), "{status}");
        assert!(answered(status, "<html><h1>Bad Gateway</h1></html>").await.retryable(), "{status}");
    }
    let quota = r#"{"error":{"message":"credit used up","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#;
    assert!(!answered(429, quota).await.retryable());
}

/// [OA-56]
#[tokio::test]
async fn a_message_is_found_in_every_shape_in_use() {
    for (body, message) in [
        (r#"{"error":{"message":"m","code":"c"}}"#, "m"),
        (r#"{"error":"m"}"#, "m"),
        (r#"{"message":"m","type":"t","code":null}"#, "m"),
        (r#"{"object":"error","message":{"detail":[{"msg":"m","type":"missing"}]},"code":null}"#, "m"),
        (r#"{"detail":"m"}"#, "m"),
        (r#"{"detail":[{"loc":["body","n"],"msg":"m"},{"msg":"m2"}]}"#, "body.n: m; m2"),
        (r#"[{"error":{"message":"m"}}]"#, "m"),
        (r#"{"error":{"message":"","detail":"m"}}"#, "m"),
        ("<html><h1>Bad\n Gateway</h1></html>", "Bad Gateway"),
        ("plain words", "plain words"),
        ("", "Bad Request"),
        ("{}", "{}"),
        (r#"{"error":{"message":"m","metadata":{"raw":"beneath"}}}"#, "m: beneath"),
    ] {
        assert_eq!(answered(400, body).await.message(), message, "{body}");
    }
}

/// [OA-57]
#[tokio::test]
async fn what_a_server_says_is_cut_to_a_line() {
    let long = "x\\n\\u001b[31m".repeat(100_000);
    let body = format!(r#"{{"error":{{"message":"{long}","code":"{long}"}}}}"#);
    let (_, error) = stream("openai", data(&body)).await;
    let error = error.unwrap();
    for said in [error.message(), error.code().unwrap(), error.excerpt().unwrap()] {
        assert!(said.chars().count() <= 301, "{}", said.len());
        assert!(!said.chars().any(char::is_control));
    }
}

/// [OA-58]
#[tokio::test]
async fn a_key_that_a_server_echoes_is_not_in_the_error() {
    let echo = r#"{"error":{"message":"Incorrect API key provided: sk-secret-of-the-test","code":"invalid_api_key"}}"#;
    for error in [answered(401, echo).await, stream("openai", data(echo)).await.1.unwrap()] {
        assert_eq!(error.class(), Auth);
        assert!(!format!("{error:?} {error}").contains("secret-of-the-test"), "{error:?}");
    }
}
