use ai_provider::ModelError;

use super::*;

fn read(status: u16, body: &str) -> ModelError {
    error_of_response(StatusCode::from_u16(status).unwrap(), body.as_bytes())
}

/// [HT-42]
#[test]
fn the_status_gives_class_and_verdict() {
    let table = [
        (301, ErrorClass::InvalidRequest, false),
        (400, ErrorClass::InvalidRequest, false),
        (401, ErrorClass::Auth, false),
        (402, ErrorClass::Quota, false),
        (403, ErrorClass::Auth, false),
        (404, ErrorClass::NotFound, false),
        (408, ErrorClass::Timeout, true),
        (409, ErrorClass::Server, true),
        (413, ErrorClass::ContextTooLong, false),
        (418, ErrorClass::InvalidRequest, false),
        (422, ErrorClass::InvalidRequest, false),
        (425, ErrorClass::InvalidRequest, false),
        (429, ErrorClass::RateLimit, true),
        (500, ErrorClass::Server, true),
        (501, ErrorClass::Server, true),
        (502, ErrorClass::Server, true),
        (503, ErrorClass::Overloaded, true),
        (504, ErrorClass::Server, true),
        (529, ErrorClass::Overloaded, true),
        (599, ErrorClass::Server, true),
    ];
    for (status, class, retryable) in table {
        let error = read(status, "");
        assert_eq!((error.class(), error.retryable()), (class, retryable), "{status}");
        assert_eq!(error.status(), Some(status));
        let code = StatusCode::from_u16(status).unwrap();
        assert_eq!((class_of_status(code), is_retryable_status(code)), (class, retryable), "{status}");
    }
    assert_eq!(read(404, "").message(), "Not Found");
    assert_eq!(read(599, "").message(), "the server gave no reason");
}

/// [HT-43]
#[test]
fn the_body_tells_apart_what_shares_a_status() {
    let cases = [
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            ErrorClass::Quota,
            false,
        ),
        (
            429,
            r#"{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}"#,
            ErrorClass::RateLimit,
            true,
        ),
        (403, r#"{"error":{"message":"Your credit balance is too low"}}"#, ErrorClass::Quota, false),
        (
            400,
            r#"{"error":{"message":"x","code":"context_length_exceeded"}}"#,
            ErrorClass::ContextTooLong,
            false,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 5 maximum"}}"#,
            ErrorClass::ContextTooLong,
            false,
        ),
        (
            400,
            r#"{"error":{"message":"filtered","code":"content_filter"}}"#,
            ErrorClass::ContentRefused,
            false,
        ),
        (500, r#"{"error":{"message":"the content_filter crashed"}}"#, ErrorClass::Server, true),
    ];
    for (status, body, class, retryable) in cases {
        let error = read(status, body);
        assert_eq!((error.class(), error.retryable()), (class, retryable), "{body}");
    }
}

/// [HT-152]
#[test]
fn words_tell_apart_what_a_name_or_a_status_puts_together() {
    use ErrorClass::{Auth, ContentRefused, ContextTooLong, InvalidRequest, Quota, RateLimit, StaleReplay};
    let minute = |words: &str| {
        format!(r#"{{"error":{{"message":"{words}","type":"tokens","code":"rate_limit_exceeded"}}}}"#)
    };
    let invalid =
        |words: &str| format!(r#"{{"error":{{"message":"{words}","type":"invalid_request_error"}}}}"#);
    let named = |code: &str| format!(r#"{{"error":{{"message":"m","code":"{code}"}}}}"#);
    let in_words = |code: &str, words: &str| format!(r#"{{"code":"{code}","error":"{words}"}}"#);
    let forbidden = "The caller does not have permission to execute the specified operation";
    let cases = [
        (
            429,
            minute("Request too large for m on tokens per min (TPM): Limit 3, Requested 6."),
            ContextTooLong,
        ),
        (429, minute("Rate limit reached for m on tokens per min (TPM): Limit 3, Used 2."), RateLimit),
        (
            403,
            in_words(forbidden, "Your team has either used all available credits or reached its limit."),
            Quota,
        ),
        (403, in_words(forbidden, "Your team is not allowed to use this model."), Auth),
        (400, in_words("Client specified an invalid argument", "Incorrect API key provided: x***y."), Auth),
        (
            400,
            r#"[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}]"#.into(),
            Auth,
        ),
        (400, invalid("You have reached your specified API usage limits."), Quota),
        (400, invalid("Your key is an api with usage of limits."), InvalidRequest),
        (429, invalid("Extra usage is required for long context requests."), Quota),
        (400, named("previous_response_not_found"), StaleReplay),
        (400, named("cyber_policy"), ContentRefused),
        (400, named("image_generation_policy_violation"), ContentRefused),
    ];
    for (status, body, class) in cases {
        let error = read(status, &body);
        assert_eq!((error.class(), error.status()), (class, Some(status)), "{body}");
        assert_eq!(error.retryable(), class == RateLimit, "{body}");
    }
}

/// [HT-40]
#[test]
fn message_and_code_come_out_of_any_shape() {
    let cases = [
        (r#"{"error":{"message":"m","type":"t","code":"c"}}"#, "m", Some("c")),
        (r#"{"error":{"message":"m","type":"t","code":null}}"#, "m", Some("t")),
        (
            r#"{"error":{"code":400,"message":"bad schema","status":"INVALID_ARGUMENT"}}"#,
            "bad schema",
            Some("INVALID_ARGUMENT"),
        ),
        (r#"[{"error":{"code":400,"message":"listed"}}]"#, "listed", None),
        (r#"{"error":"model not found"}"#, "model not found", None),
        (r#"{"object":"error","message":"m","type":"t","code":1000}"#, "m", Some("1000")),
        (r#"{"detail":"Not authenticated"}"#, "Not authenticated", None),
        (r#"{"code":"The service is busy","error":"try later"}"#, "try later", Some("The service is busy")),
        ("<html><h1>Bad Gateway</h1></html>", "Bad Gateway", None),
        ("upstream connect error", "upstream connect error", None),
        (r#"{"ok":false}"#, r#"{"ok":false}"#, None),
        ("null", "null", None),
        (
            "event: error\r\ndata: {\"error\":{\"message\":\"in an event\",\"code\":7}}\r\n\r\n",
            "in an event",
            Some("7"),
        ),
        ("[]", "[]", None),
        ("7", "7", None),
        (r#"{"error":{"message":"line\none\u001b[31m"}}"#, "line one [31m", None),
        (r#"{"error":{"message":"","type":"t"}}"#, r#"{"error":{"message":"","type":"t"}}"#, Some("t")),
    ];
    for (body, message, code) in cases {
        let error = read(400, body);
        assert_eq!((error.message(), error.code()), (message, code), "{body}");
    }
    assert_eq!(read(400, r#"{"error":{"message":"m"}}"#).excerpt(), Some(r#"{"error":{"message":"m"}}"#));
    assert_eq!(read(502, "<h1>Bad Gateway</h1>").excerpt(), None, "it would repeat the message");
}
