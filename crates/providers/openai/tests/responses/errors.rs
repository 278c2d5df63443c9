//! Failures: under a status, in a stream, and bodies that end too early.

use ai_http::Codec;
use ai_provider::{Delivery, ErrorClass, UnifiedFinish};
use ai_testkit::{Cut, MemoryReply};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use crate::support::{
    added, codec, completed, created, decoded, delta, done, events, finish, incomplete, message, parts, run,
    stream, text, whole,
};

fn failed(error: Value) -> Value {
    json!({"type": "response.failed", "response": {"id": "resp_1", "status": "failed", "error": error}})
}

/// [OA-225]
#[tokio::test]
async fn the_finish_is_the_reason_of_the_response() {
    let call = done(0, crate::support::function_call("fc", "a", "f", "{}"));
    let bare = json!({"type": "response.incomplete", "response": {"status": "incomplete"}});
    let mut odd = completed();
    odd["response"]["incomplete_details"] = json!({"reason": "content_filter"});
    for (list, unified, raw) in [
        (vec![completed()], UnifiedFinish::Stop, None),
        (vec![call.clone(), completed()], UnifiedFinish::ToolCalls, None),
        (vec![incomplete("max_output_tokens")], UnifiedFinish::Length, Some("max_output_tokens")),
        (
            vec![call.clone(), incomplete("max_output_tokens")],
            UnifiedFinish::Length,
            Some("max_output_tokens"),
        ),
        (vec![incomplete("content_filter")], UnifiedFinish::ContentFilter, Some("content_filter")),
        (vec![incomplete("of_the_future")], UnifiedFinish::Other, Some("of_the_future")),
        (vec![call.clone(), incomplete("of_the_future")], UnifiedFinish::Other, Some("of_the_future")),
        (vec![bare], UnifiedFinish::Other, Some("incomplete")),
        (vec![odd], UnifiedFinish::ContentFilter, Some("content_filter")),
        (vec![json!({"type": "response.completed"})], UnifiedFinish::Stop, None),
    ] {
        let parts = parts("openai", events(&[vec![created()], list.clone()].concat())).await;
        let reason = finish(&parts).reason;
        assert_eq!((reason.unified, reason.raw.as_deref()), (unified, raw), "{list:?}");
    }
}

/// [OA-229]
#[tokio::test]
async fn a_body_without_its_last_event_is_incomplete() {
    let begun = events(&[created(), added(0, message("m", "")), delta("output_text", 0, "m", "Hi")]);
    for (body, class) in [
        (String::new(), ErrorClass::Incomplete),
        (": x\n\n".repeat(3), ErrorClass::Incomplete),
        ("data: [DONE]\n\n".to_owned(), ErrorClass::Incomplete),
        (events(&[created()]), ErrorClass::Incomplete),
        (begun.clone(), ErrorClass::Incomplete),
        (begun + "data: [DONE]\n\n", ErrorClass::MissingFinish),
    ] {
        let (parts, error) = stream("openai", body.clone()).await;
        let error = error.unwrap();
        assert_eq!((error.class(), error.retryable()), (class, true), "{body}");
        assert_eq!(text(&parts), if body.contains("Hi") { "Hi" } else { "" });
    }
}

/// [OA-229]
#[tokio::test]
async fn a_last_event_without_its_blank_line_counts_if_it_is_whole() {
    let body =
        events(&[created(), added(0, message("m", "")), delta("output_text", 0, "m", "Hi"), completed()]);
    for end in ["", "\n"] {
        let body = format!("{}{end}", body.trim_end());
        assert_eq!(finish(&parts("openai", body).await).usage.input.total, Some(3));
    }
    let cut = body.trim_end().len() - 1;
    let (parts, error) = stream("openai", body[..cut].to_owned()).await;
    assert_eq!((text(&parts).as_str(), error.unwrap().class()), ("Hi", ErrorClass::Incomplete));
}

/// [OA-230]
#[tokio::test]
async fn an_error_in_the_stream_is_typed_as_under_a_status() {
    let said = [created(), added(0, message("m", "")), delta("output_text", 0, "m", "par")];
    let quota = json!({"code": "insufficient_quota", "message": "no credit", "type": "insufficient_quota"});
    for (last, class, status, retryable) in [
        (json!({"type": "error", "error": quota}), ErrorClass::Quota, 429, false),
        (failed(quota.clone()), ErrorClass::Quota, 429, false),
        (
            json!({"type": "error", "code": "rate_limit_exceeded", "message": "slow down", "param": null}),
            ErrorClass::RateLimit,
            429,
            true,
        ),
        (json!({"type": "error", "message": "what?"}), ErrorClass::Server, 500, true),
        (json!({"type": "error"}), ErrorClass::Server, 500, true),
        (failed(json!({"code": "server_error", "message": "sorry"})), ErrorClass::Server, 500, true),
        (
            failed(json!({"code": "server_is_overloaded", "message": "sorry"})),
            ErrorClass::Overloaded,
            503,
            true,
        ),
        (
            failed(json!({"code": "context_length_exceeded", "message": "too long"})),
            ErrorClass::ContextTooLong,
            400,
            false,
        ),
        (failed(json!({"code": "invalid_prompt", "message": "no"})), ErrorClass::ContentRefused, 400, false),
        (failed(Value::Null), ErrorClass::Server, 500, true),
        (json!({"type": "response.failed"}), ErrorClass::Server, 500, true),
        (
            json!({"type": "response.cancelled", "response": {"status": "cancelled"}}),
            ErrorClass::Server,
            500,
            true,
        ),
        (json!({"error": {"message": "bare", "code": 429}}), ErrorClass::RateLimit, 429, true),
    ] {
        for before in [&said[..1], &said[..]] {
            let body =
                events_of(before) + &format!("data: {last}\n\n") + &events(&[failed(json!({"code": "x"}))]);
            let (parts, error) = stream("openai", body).await;
            let error = error.unwrap_or_else(|| panic!("{last} is no error"));
            assert_eq!(
                (error.class(), error.status(), error.retryable()),
                (class, Some(status), retryable),
                "{last}"
            );
            assert_eq!(text(&parts), if before.len() > 1 { "par" } else { "" });
        }
    }
}

fn events_of(list: &[Value]) -> String {
    events(list)
}

/// [OA-230]
#[tokio::test]
async fn an_event_named_error_is_one_whatever_it_holds() {
    let (_, error) = stream("openai", "event: error\ndata: out of order\n\n".to_owned()).await;
    let error = error.unwrap();
    assert_eq!((error.class(), error.message()), (ErrorClass::Server, "out of order"));
}

/// [OA-231]
#[tokio::test]
async fn what_is_no_event_is_a_protocol_error_with_its_number() {
    let item = |item: &str| format!("data: {{\"type\":\"response.output_item.done\",\"item\":{item}}}\n\n");
    for bad in [
        "data: oops\n\n".to_owned(),
        "data: [1]\n\n".to_owned(),
        "data: {\"type\":\n\n".to_owned(),
        item("[1]"),
        item("\"x\""),
        "data: {\"type\":\"response.completed\",\"response\":[1]}\n\n".to_owned(),
        "data: {\"type\":\"response.completed\",\"response\":{\"output\":{\"a\":1}}}\n\n".to_owned(),
    ] {
        let (_, error) = stream("openai", events(&[created()]) + &bad).await;
        let error = error.unwrap_or_else(|| panic!("{bad}"));
        assert_eq!((error.class(), error.retryable()), (ErrorClass::Protocol, false), "{bad}");
        assert!(error.message().contains("event 2"), "{error}");
    }
}

/// [OA-231]
#[tokio::test]
async fn chat_completions_in_place_of_a_response_are_explained() {
    let chunk =
        r#"{"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hi"}}]}"#;
    let answer = r#"{"id":"c1","object":"chat.completion","choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}"#;
    let (_, streamed) = stream("openai", format!("data: {chunk}\n\n")).await;
    let (_, whole) = whole("openai", answer).await;
    for error in [streamed.unwrap(), whole.unwrap()] {
        assert_eq!(error.class(), ErrorClass::Protocol);
        assert!(error.message().contains("Chat Completions"), "{error}");
    }
}

/// [OA-232]
#[tokio::test]
async fn what_a_server_says_in_place_of_an_answer_is_in_the_error() {
    for (body, class, words) in [
        (r#"{"error":{"message":"no","type":"invalid_request_error"}}"#, ErrorClass::InvalidRequest, "no"),
        (r#"{"message":"model is loading","status":503}"#, ErrorClass::Overloaded, "model is loading"),
        (r#"{"detail":"not here"}"#, ErrorClass::Server, "not here"),
        (r#"{"greeting":"hello"}"#, ErrorClass::Protocol, "no output"),
    ] {
        let (_, error) = whole("openai", body).await;
        let error = error.unwrap();
        assert!(error.message().contains(words), "{body}: {error}");
        assert_eq!(error.class(), class, "{body}");
    }
    let body = r#"{"object":"response","status":"in_progress","output":[],"background":true}"#;
    assert_eq!(whole("openai", body).await.1.unwrap().class(), ErrorClass::Protocol);
    let body = r#"{"object":"response","status":"failed","error":{"code":"server_error","message":"sorry"}}"#;
    assert_eq!(whole("openai", body).await.1.unwrap().message(), "sorry");
    // In a stream it is the error only if no answer comes.
    let note = "data: {\"message\":\"model is loading\"}\n\n";
    let error = stream("openai", note.to_owned()).await.1.unwrap();
    assert!(error.message().contains("model is loading"), "{error}");
    let body = note.to_owned() + &events(&[created(), done(0, message("m", "Hi")), completed()]);
    assert_eq!(text(&parts("openai", body).await), "Hi");
}

/// [OA-237]
#[tokio::test]
async fn a_history_that_is_no_longer_taken_is_stale() {
    let said = |message: &str, code: Value| json!({"error": {"message": message, "type": "invalid_request_error", "param": "input", "code": code}});
    for (status, body) in [
        (
            400,
            said(
                "The encrypted content gAAA...DQ== could not be verified.",
                "invalid_encrypted_content".into(),
            ),
        ),
        (400, said("The encrypted content for item rs_1 could not be verified.", Value::Null)),
        (
            404,
            said(
                "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
                Value::Null,
            ),
        ),
        (
            400,
            said(
                "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
                Value::Null,
            ),
        ),
        (
            400,
            said(
                "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
                Value::Null,
            ),
        ),
    ] {
        let error = codec("openai").error(
            StatusCode::from_u16(status).unwrap(),
            &HeaderMap::new(),
            body.to_string().as_bytes(),
        );
        assert_eq!((error.class(), error.retryable()), (ErrorClass::StaleReplay, false), "{body}");
        let (_, error) = stream("openai", events(&[created()]) + &format!("data: {body}\n\n")).await;
        let error = error.unwrap();
        assert_eq!((error.class(), error.status()), (ErrorClass::StaleReplay, Some(400)), "{body}");
    }
    // What is wrong in another way stays that.
    for (status, message, class) in [
        (404, "The model `gpt-x` does not exist", ErrorClass::NotFound),
        (400, "Invalid type for 'input[0].content'", ErrorClass::InvalidRequest),
    ] {
        let body = said(message, Value::Null).to_string();
        let error =
            codec("openai").error(StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), body.as_bytes());
        assert_eq!(error.class(), class, "{message}");
    }
}

/// [OA-238]
#[tokio::test]
async fn a_key_that_the_server_echoes_is_masked() {
    let error =
        json!({"type": "error", "code": "invalid_api_key", "message": "wrong: sk-secret-of-the-test"});
    let reply = MemoryReply::sse(events(&[error]));
    let (_, error) = run("openai", Delivery::Stream, reply).await;
    let error = error.unwrap();
    assert_eq!(error.class(), ErrorClass::Auth);
    assert!(!format!("{error} {error:?}").contains("sk-secret-of-the-test"), "{error:?}");
}

/// [OA-236]
#[tokio::test]
async fn usage_has_the_meaning_it_has_everywhere() {
    let of = |usage: Value| async move {
        let mut last = completed();
        last["response"]["usage"] = usage;
        let (parts, error) =
            decoded("openai", Delivery::Stream, events(&[created(), last]), Cut::Whole).await;
        assert_eq!(error, None);
        finish(&parts).usage
    };
    let usage =
        of(json!({"input_tokens": 1210, "input_tokens_details": {"cached_tokens": 1000}, "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 4}, "total_tokens": 1219}))
        .await;
    let (input, output) = (usage.input, usage.output);
    assert_eq!(
        (input.total, input.cache_read, input.no_cache, input.cache_write),
        (Some(1210), Some(1000), Some(210), None)
    );
    assert_eq!((output.total, output.reasoning, output.text), (Some(9), Some(4), Some(5)));
    assert_eq!(usage.raw.unwrap()["total_tokens"], 1219);
    let usage = of(json!({"input_tokens": 27, "output_tokens": 40})).await;
    assert_eq!((usage.input.cache_read, usage.output.text, usage.output.total), (None, None, Some(40)));
    assert_eq!(of(Value::Null).await, Default::default());
}
