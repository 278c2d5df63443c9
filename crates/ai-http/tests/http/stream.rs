//! From a body to parts.

use std::time::Duration;

use ai_http::Framing;
use ai_provider::{CallContext, Delivery, ErrorClass, LanguageModel, ModelError, StreamPart, Warning};
use ai_testkit::{Cut, MemoryEnd, MemoryReply, MemoryTransport, collect};
use futures_util::StreamExt;
use http::StatusCode;
use serde_json::{Value, json};

use crate::api::{Api, TRAILING, brief, call, call_with, frames, model, request};

const ANSWER: &str =
    "data: {\"text\":\"北🙂\"}\n\ndata: {\"text\":\"é\"}\n\ndata: {\"usage\":2,\"finish\":\"stop\"}\n\n";

fn replying(body: impl Into<String>) -> MemoryTransport {
    MemoryTransport::new().reply(MemoryReply::sse(body.into()))
}

fn replying_then(body: &str, end: MemoryEnd) -> MemoryTransport {
    MemoryTransport::new().reply(MemoryReply::sse(body.to_owned()).ending(end))
}

fn broken() -> MemoryEnd {
    MemoryEnd::Error(ModelError::new(ErrorClass::Transport, "connection reset"))
}

/// Everything a body gives, as text.
async fn everything(reply: MemoryReply, framing: fn() -> Framing) -> String {
    let transport = MemoryTransport::new().reply(reply);
    let api = Api { framing, ..Api::at(crate::api::URL) };
    let model = ai_http::HttpModel::new(api, crate::api::target(), std::sync::Arc::new(transport));
    let mut request = request();
    request.include_raw = true;
    let (parts, error) = collect(model.stream(request, CallContext::new())).await;
    format!("{parts:#?}\n{error:#?}")
}

/// [HT-01]
#[tokio::test]
async fn text_is_whole_when_it_comes_byte_by_byte() {
    let transport = MemoryTransport::new().reply(MemoryReply::sse(ANSWER).cut(Cut::Every(1)));
    assert_eq!(brief(&call(&model(transport)).await), ("北🙂é", Some("stop"), None));
}

/// [HT-10] Samples of every framing and of every way to fail.
#[tokio::test]
async fn no_cutting_changes_what_a_body_gives() {
    let sse: fn() -> Framing = || Framing::Sse;
    let good = [
        ANSWER.to_owned(),
        ANSWER.replace('\n', "\r"),
        ANSWER.replace('\n', "\r\n"),
        format!("\u{feff}{ANSWER}"),
    ];
    let bad = [
        String::new(),
        ": x\n\n: x\n\n".to_owned(),
        ANSWER.replace("finish", "reason"),
        ANSWER.trim_end().to_owned(),
        ANSWER.trim_end().trim_end_matches('}').to_owned(),
        frames(&["{\"text\":\"a\"}", "nonsense", "{\"text\":\"b\"}"]),
        frames(&["{\"text\":\"a\"}", "{\"error\":{\"code\":529,\"message\":\"Overloaded\"}}"]),
        " \r\n{\"text\":\"whole\",\"finish\":\"stop\"}".to_owned(),
        "\u{feff} {\"text\":\"cut\"".to_owned(),
        format!("\n<html>{}</html>", "<p>a page</p>".repeat(500)),
    ];
    let samples = good.into_iter().chain(bad).map(|body| (body, sse)).chain([
        ("{\"text\":\"a\"}\n\n{\"finish\":\"stop\"}\r\n".to_owned(), (|| Framing::Lines) as fn() -> Framing),
        ("{\"text\":\"a\"}\n{\"finish\":".to_owned(), || Framing::Lines),
        ("{\"text\":\"a\",\n\"finish\":\"stop\"}\n".to_owned(), || Framing::Whole),
    ]);
    for (body, framing) in samples {
        let whole = everything(MemoryReply::sse(body.clone()), framing).await;
        let cuts = (0..60).map(Cut::Random).chain([Cut::Every(1), Cut::Every(2), Cut::Event]);
        for cut in cuts {
            let pieces = everything(MemoryReply::sse(body.clone()).cut(cut.clone()), framing).await;
            assert_eq!(pieces, whole, "{cut:?} of {body:?}");
        }
    }
}

/// [HT-02]
#[tokio::test]
async fn bytes_that_are_no_text_end_the_answer() {
    let body = [b"data: {\"text\":\"good\"}\n\ndata: {\"text\":\"".as_slice(), b"\xFF\"}\n\n"].concat();
    let outcome = call(&model(MemoryTransport::new().reply(MemoryReply::sse(body)))).await;
    assert_eq!(brief(&outcome), ("good", None, Some(ErrorClass::Protocol)));
    assert!(!outcome.2.unwrap().retryable());
}

/// [HT-08]
#[tokio::test]
async fn a_last_event_without_blank_line_finishes_the_answer() {
    for cut_off in ["\n\n", "\n", ""] {
        let body = format!("{}{cut_off}", ANSWER.trim_end());
        let transport = replying(body);
        let (parts, error) = collect(model(transport).stream(request(), CallContext::new())).await;
        assert!(error.is_none(), "{error:?}");
        let Some(StreamPart::Finish(finish)) = parts.last() else { panic!("{parts:?}") };
        assert_eq!(finish.usage.output.total, Some(2));
    }
}

/// [HT-09]
#[tokio::test]
async fn an_event_that_is_cut_makes_the_answer_incomplete() {
    let last = "data: {\"usage\":2,\"finish\":\"stop\"}";
    for at in 1..last.len() {
        let body = format!("data: {{\"text\":\"hi\"}}\n\n{}", &last[..at]);
        let outcome = call(&model(replying(body.clone()))).await;
        assert_eq!(brief(&outcome), ("hi", None, Some(ErrorClass::Incomplete)), "{body:?}");
        assert!(outcome.2.unwrap().retryable());
    }
    // One line feed is no blank line.
    let outcome = call(&model(replying("data: {\"text\":\"hi\"}\n\ndata: {\"fin\n"))).await;
    assert_eq!(brief(&outcome), ("hi", None, Some(ErrorClass::Incomplete)));
}

/// [HT-09]
#[tokio::test]
async fn a_document_that_is_cut_is_incomplete_and_one_that_is_wrong_is_not() {
    let document = "{\"text\":\"hi\",\"finish\":\"stop\"}";
    for at in 1..document.len() {
        let outcome = call(&model(replying(&document[..at]))).await;
        assert_eq!(brief(&outcome), ("", None, Some(ErrorClass::Incomplete)), "{}", &document[..at]);
    }
    let outcome = call(&model(replying("{\"text\":]"))).await;
    assert_eq!(brief(&outcome), ("", None, Some(ErrorClass::Protocol)));
}

/// [HT-16]
#[tokio::test]
async fn a_document_in_place_of_events_is_read_by_the_same_decoder() {
    for begin in ["", "\n \t", "\u{feff}", "\u{feff}\r\n"] {
        for label in ["text/event-stream", "application/json", "nonsense"] {
            let body = format!("{begin}{{\"text\":\"hi\",\n\n\"finish\":\"stop\"}}\n");
            let transport = MemoryTransport::new()
                .reply(MemoryReply::ok(body.clone()).header("content-type", label).cut(Cut::Every(1)))
                .reply(MemoryReply::ok(body).header("content-type", label));
            let model = model(transport);
            assert_eq!(brief(&call(&model).await), ("hi", Some("stop"), None), "{begin:?} {label}");
            assert_eq!(brief(&call(&model).await), ("hi", Some("stop"), None), "{begin:?} {label}");
        }
    }
    let body = "{\"error\":{\"code\":429,\"message\":\"slow down\"}}";
    let outcome = call(&model(replying(body))).await;
    assert_eq!(brief(&outcome), ("", None, Some(ErrorClass::RateLimit)), "an error object is an error");
    assert!(outcome.2.unwrap().retryable());
    assert_eq!(
        brief(&call(&model(replying("[1,2]"))).await).2,
        Some(ErrorClass::Incomplete),
        "no finish in it"
    );
}

/// [HT-16]
#[tokio::test]
async fn a_whole_answer_is_one_document() {
    let mut request = request();
    request.delivery = Delivery::Whole;
    let body = "{\"text\":\"hi\",\"usage\":3,\"finish\":\"stop\"}";
    let outcome = call_with(&model(replying(body)), request.clone(), CallContext::new()).await;
    assert_eq!(brief(&outcome), ("hi", Some("stop"), None));
    let outcome = call_with(&model(replying("\n")), request, CallContext::new()).await;
    assert_eq!(brief(&outcome), ("", None, Some(ErrorClass::Incomplete)));
}

/// [HT-17]
#[tokio::test]
async fn a_web_page_with_a_status_of_success_is_no_answer() {
    let page = "\n<!doctype html><html><style>p {}</style><h1>Sign in</h1><p>to go on</p></html>";
    for framing in [(|| Framing::Sse) as fn() -> Framing, || Framing::Lines, || Framing::Whole] {
        let api = Api { framing, ..Api::at(crate::api::URL) };
        let transport = replying(page);
        let model = ai_http::HttpModel::new(api, crate::api::target(), std::sync::Arc::new(transport));
        let (text, finish, error) = call(&model).await;
        let error = error.unwrap();
        assert_eq!((text.as_str(), finish, error.class()), ("", None, ErrorClass::Protocol));
        assert_eq!(error.excerpt(), Some("Sign in to go on"));
        assert!(error.message().contains("base URL"), "{error}");
        assert_eq!(error.url(), Some(crate::api::URL));
    }
}

/// [HT-18]
#[tokio::test]
async fn a_malformed_event_is_named_by_its_number() {
    let body =
        frames(&["{\"text\":\"a\"}", "{\"text\":\"b\"}", "not json \u{1b}[31m", "{\"finish\":\"stop\"}"]);
    let outcome = call(&model(replying(format!(": comment\n\n{body}")))).await;
    assert_eq!(brief(&outcome), ("ab", None, Some(ErrorClass::Protocol)));
    let error = outcome.2.unwrap();
    assert_eq!(error.message(), "event 3: not JSON");
    assert_eq!(error.excerpt(), Some("not json [31m"));
    assert!(!error.retryable());
    assert!(std::error::Error::source(&error).is_some());
}

/// [HT-20]
#[tokio::test]
async fn the_start_comes_before_anything_is_sent() {
    let transport = replying(ANSWER);
    let mut stream = model(transport.clone()).stream(request(), CallContext::new());
    assert_eq!(transport.calls().len(), 0);
    let first = stream.next().await.unwrap().unwrap();
    assert_eq!(first, StreamPart::StreamStart { warnings: vec![Warning::other("test api")] });
    assert_eq!(transport.calls().len(), 0);
    assert!(stream.next().await.unwrap().is_ok());
    assert_eq!(transport.calls().len(), 1);
}

/// [HT-20]
#[tokio::test]
async fn a_request_that_cannot_be_encoded_is_not_sent() {
    let transport = replying(ANSWER);
    let empty = ai_provider::Request::new([]);
    let mut stream = model(transport.clone()).stream(empty, CallContext::new());
    let error = stream.next().await.unwrap().unwrap_err();
    assert_eq!((error.class(), error.message()), (ErrorClass::InvalidRequest, "there is no message"));
    assert!(stream.next().await.is_none());
    assert_eq!(transport.calls().len(), 0);
}

/// [HT-21]
#[tokio::test]
async fn an_error_in_the_stream_comes_behind_the_parts_before_it() {
    let body = frames(&[
        "{\"text\":\"par\"}",
        "{\"text\":\"tial\",\"error\":{\"code\":529,\"message\":\"Overloaded\"}}",
        "{\"text\":\"lost\",\"finish\":\"stop\"}",
    ]);
    let transport = MemoryTransport::new().reply(MemoryReply::sse(body).header("x-request-id", "r1"));
    let outcome = call(&model(transport)).await;
    assert_eq!(brief(&outcome), ("partial", None, Some(ErrorClass::Overloaded)));
    let error = outcome.2.unwrap();
    assert_eq!((error.message(), error.status(), error.retryable()), ("Overloaded", Some(529), true));
    assert_eq!((error.url(), error.request_id()), (Some(crate::api::URL), Some("r1")));
}

/// [HT-22]
#[tokio::test]
async fn an_answer_without_its_end_is_incomplete() {
    for body in
        ["", ": x\n\n: x\n\n: x\n\n", "data: [DONE]\n\n", "data: {\"text\":\"a\"}\n\n", "event: ping\n\n"]
    {
        let outcome = call(&model(replying(body))).await;
        assert_eq!(outcome.1, None, "{body:?}");
        let error = outcome.2.unwrap();
        assert_eq!((error.class(), error.retryable()), (ErrorClass::Incomplete, true), "{body:?}");
    }
}

/// [HT-22]
#[tokio::test]
async fn a_decoder_that_stops_without_a_finish_is_incomplete() {
    let outcome = call(&model(replying(frames(&["{\"text\":\"a\",\"done\":true}"])))).await;
    assert_eq!(brief(&outcome), ("a", None, Some(ErrorClass::Incomplete)));
}

/// [HT-23]
#[tokio::test]
async fn nothing_follows_the_end() {
    let badly =
        frames(&["{\"text\":\"a\",\"finish\":\"stop\",\"badly\":true}", "{\"text\":\"b\"}", "nonsense"]);
    for body in [
        badly,
        frames(&["{\"finish\":\"stop\"}", "nonsense"]),
        frames(&["nonsense", "{\"finish\":\"stop\"}"]),
    ] {
        let mut stream = model(replying(body)).stream(request(), CallContext::new());
        let mut ends = 0;
        while let Some(item) = stream.next().await {
            assert_eq!(ends, 0, "{item:?} behind the end");
            ends += usize::from(matches!(item, Err(_) | Ok(StreamPart::Finish(_))));
        }
        assert_eq!(ends, 1);
        for _ in 0..3 {
            assert!(stream.next().await.is_none());
        }
    }
}

/// [HT-23]
#[tokio::test]
async fn an_event_that_finishes_and_fails_has_failed() {
    let body = frames(&["{\"text\":\"a\"}", "{\"finish\":\"stop\",\"badly\":\"fails\"}"]);
    assert_eq!(brief(&call(&model(replying(body))).await), ("a", None, Some(ErrorClass::Server)));
}

/// [HT-24]
#[tokio::test]
async fn a_connection_that_breaks_leaves_what_came() {
    let outcome = call(&model(replying_then("data: {\"text\":\"par\"}\n\ndata: {\"te", broken()))).await;
    assert_eq!(brief(&outcome), ("par", None, Some(ErrorClass::Transport)));
    let error = outcome.2.unwrap();
    assert_eq!(error.message(), "the answer broke off and is incomplete: connection reset");
    assert!(error.retryable());
}

const ALMOST: &str = "data: {\"text\":\"a\"}\n\ndata: {\"reason\":\"stop\"}\n\n";

/// [HT-25]
#[tokio::test(start_paused = true)]
async fn trailing_events_are_awaited_until_their_end() {
    let start = tokio::time::Instant::now();
    let usage = format!("{ALMOST}data: {{\"usage\":7}}\n\n");
    let cases = [
        (replying(format!("{usage}data: [DONE]\n\n")), "stop", Duration::ZERO),
        (replying(usage.clone()), "stop Body", Duration::ZERO),
        (replying_then(&usage, MemoryEnd::Hang), "stop TrailingOver", TRAILING),
    ];
    for (transport, finish, waited) in cases {
        let begun = start.elapsed();
        let mut stream = model(transport).stream(request(), CallContext::new());
        let mut last = None;
        while !matches!(last, Some(StreamPart::Finish(_))) {
            last = Some(stream.next().await.unwrap().unwrap());
        }
        assert_eq!(start.elapsed() - begun, waited, "{finish}");
        let Some(StreamPart::Finish(part)) = last else { panic!("no finish") };
        assert_eq!((part.reason.raw.as_deref(), part.usage.output.total), (Some(finish), Some(7)));
    }
}

/// [HT-25]
#[tokio::test(start_paused = true)]
async fn keep_alives_do_not_prolong_the_wait_for_trailing_events() {
    for keep_alive in [": ping\n\n", "data: {}\n\n"] {
        let body = format!("{ALMOST}{}", keep_alive.repeat(100));
        let reply = MemoryReply::sse(body).cut(Cut::Event).chunk_delay(Duration::from_millis(500));
        let start = tokio::time::Instant::now();
        let outcome = call(&model(MemoryTransport::new().reply(reply))).await;
        assert_eq!(brief(&outcome), ("a", Some("stop TrailingOver"), None), "{keep_alive:?}");
        assert!(start.elapsed() < Duration::from_secs(4), "{keep_alive:?}: {:?}", start.elapsed());
    }
}

/// [HT-26]
#[tokio::test(start_paused = true)]
async fn a_failure_behind_the_answer_does_not_fail_it() {
    let broken_off = replying_then(ALMOST, broken());
    assert_eq!(brief(&call(&model(broken_off)).await), ("a", Some("stop Body"), None));
    let cut = replying(format!("{ALMOST}data: {{\"usa"));
    assert_eq!(brief(&call(&model(cut)).await), ("a", Some("stop Body"), None));
    let deadline = tokio::time::Instant::now() + Duration::from_secs(1);
    let ctx = CallContext::new().with_deadline(deadline.into_std());
    let hanging = model(replying_then(ALMOST, MemoryEnd::Hang));
    assert_eq!(brief(&call_with(&hanging, request(), ctx).await), ("a", Some("stop TrailingOver"), None));
}

/// [HT-26]
#[tokio::test(start_paused = true)]
async fn a_cancel_and_a_malformed_event_do_fail_it() {
    let malformed = replying(format!("{ALMOST}data: nonsense\n\n"));
    assert_eq!(brief(&call(&model(malformed)).await), ("a", None, Some(ErrorClass::Protocol)));

    let ctx = CallContext::new();
    let cancel = ctx.cancel.clone();
    let hanging = model(replying_then(ALMOST, MemoryEnd::Hang));
    let cancelled = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(call_with(&hanging, request(), ctx), cancelled);
    assert_eq!(brief(&outcome), ("a", None, Some(ErrorClass::Cancelled)));
}

/// [HT-28]
#[tokio::test]
async fn raw_events_come_before_their_parts_when_asked_for() {
    let body = frames(&["{\"text\":\"a\"}", "not json"]);
    let mut request = request();
    request.include_raw = true;
    let (parts, error) = collect(model(replying(body.clone())).stream(request, CallContext::new())).await;
    let raws: Vec<(usize, &Value)> = parts
        .iter()
        .enumerate()
        .filter_map(|(at, part)| match part {
            StreamPart::Raw { raw_value } => Some((at, raw_value)),
            _ => None,
        })
        .collect();
    assert_eq!(raws, [(1, &json!({"text": "a"})), (4, &json!("not json"))]);
    assert_eq!(error.unwrap().class(), ErrorClass::Protocol);

    let (parts, _) = collect(model(replying(body)).stream(crate::api::request(), CallContext::new())).await;
    assert!(!parts.iter().any(|part| matches!(part, StreamPart::Raw { .. })));
}

/// [HT-40]
#[tokio::test]
async fn only_a_status_of_success_is_an_answer() {
    for status in [200, 201, 206] {
        let reply = MemoryReply::new(StatusCode::from_u16(status).unwrap(), ANSWER);
        let outcome = call(&model(MemoryTransport::new().reply(reply))).await;
        assert_eq!(outcome.1.as_deref(), Some("stop"), "{status}");
    }
    for status in [304, 400, 500] {
        let reply = MemoryReply::new(StatusCode::from_u16(status).unwrap(), ANSWER);
        let (text, finish, error) = call(&model(MemoryTransport::new().reply(reply))).await;
        assert_eq!((text.as_str(), finish, error.unwrap().status()), ("", None, Some(status)));
    }
}
