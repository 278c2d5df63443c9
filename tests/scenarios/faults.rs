use std::error::Error;

use ai_core::RunEnd;
use ai_core::run::{Outcome, ToolStatus};
use ai_provider::ErrorClass;
use ai_testkit::{WireEnd, WireReply, WireServer};
use http::StatusCode;
use serde_json::json;

use crate::support::{KEY, agent, ask, call, frame, stream};

async fn outcome(replies: Vec<WireReply>) -> (RunEnd, usize) {
    let server = WireServer::start(replies).unwrap();
    let (_, end) = ask(&agent(&server)).await;
    (end, server.requests().len())
}

fn failed(end: &RunEnd) -> (ErrorClass, Option<u16>, String) {
    let error = end.error.as_ref().unwrap_or_else(|| panic!("{:?}", end.outcome));
    let mut text = format!("{error} {error:?}");
    let mut source = error.source();
    while let Some(error) = source {
        text += &format!(" {error} {error:?}");
        source = error.source();
    }
    (error.class(), error.status(), text)
}

/// What is wrong on the wire ends the run with an error of the right class, one request, and no key in any text.
#[tokio::test]
async fn each_fault_on_the_wire_is_told_apart() {
    let json = |status, body: &str| WireReply::json(StatusCode::from_u16(status).unwrap(), body.to_owned());
    let part = frame(&json!({"content": "par"}));
    let echo =
        format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}","code":"invalid_api_key"}}}}"#);
    let quota = r#"{"error":{"message":"used up","type":"insufficient_quota","code":"insufficient_quota"}}"#;
    for (reply, class, status) in [
        (json(401, &echo), ErrorClass::Auth, Some(401)),
        (json(404, r#"{"error":{"message":"no such model"}}"#), ErrorClass::NotFound, Some(404)),
        (json(429, r#"{"error":{"message":"slow down"}}"#), ErrorClass::RateLimit, Some(429)),
        (json(429, quota), ErrorClass::Quota, Some(429)),
        (json(500, "{}"), ErrorClass::Server, Some(500)),
        (
            WireReply::new(StatusCode::BAD_GATEWAY, "<html><h1>Bad Gateway</h1></html>"),
            ErrorClass::Server,
            Some(502),
        ),
        (
            json(200, r#"{"error":{"message":"bad schema","code":400}}"#),
            ErrorClass::InvalidRequest,
            Some(400),
        ),
        (WireReply::sse("<html>login</html>"), ErrorClass::Protocol, None),
        (WireReply::sse(""), ErrorClass::Incomplete, None),
        (WireReply::sse(": ping\n\n: ping\n\n"), ErrorClass::Incomplete, None),
        (WireReply::sse("data: [DONE]\n\n"), ErrorClass::Incomplete, None),
        (WireReply::sse(part.clone()), ErrorClass::Incomplete, None),
        (WireReply::sse(format!("{part}data: {{\"cho")), ErrorClass::Incomplete, None),
        (WireReply::sse(format!("{part}data: nonsense\n\n{part}")), ErrorClass::Protocol, None),
        (WireReply::sse(part.clone()).ending(WireEnd::ResetAfter(usize::MAX)), ErrorClass::Transport, None),
        (WireReply::sse(stream(&[], "stop")), ErrorClass::Empty, None),
    ] {
        let shown = format!("{reply:?}");
        let (end, requests) = outcome(vec![reply]).await;
        let (found, with_status, text) = failed(&end);
        assert_eq!(found, class, "{shown}: {text}");
        if status.is_some() {
            assert_eq!(with_status, status, "{shown}: {text}");
        }
        assert!(!text.contains("CANARY"), "{text}");
        assert_eq!(requests, 1, "{shown}");
        assert!(end.new_messages.is_empty(), "{shown}");
    }
}

#[tokio::test]
async fn what_came_before_a_fault_is_kept() {
    let part = frame(&json!({"content": "half an "}));
    for reply in
        [WireReply::sse(part.clone()), WireReply::sse(part.clone()).ending(WireEnd::ResetAfter(usize::MAX))]
    {
        let (end, _) = outcome(vec![reply]).await;
        let Outcome::Failed { partial: Some(partial), .. } = &end.outcome else {
            panic!("{:?}", end.outcome)
        };
        assert_eq!(partial.text(), "half an ");
    }
}

#[tokio::test]
async fn a_half_call_is_never_run() {
    let cut = stream(
        &[call(0, "a", "weather", r#"{"name":"Rome"}"#), call(1, "b", "weather", r#"{"na"#)],
        "length",
    );
    let (end, requests) = outcome(vec![WireReply::sse(cut)]).await;
    assert!(matches!(end.outcome, Outcome::Truncated { .. }), "{:?}", end.outcome);
    assert_eq!(requests, 1);
    assert!(end.steps[0].tools.iter().all(|tool| tool.status == ToolStatus::Skipped));

    let body = frame(&call(0, "a", "weather", r#"{"name":"Rome"}"#));
    let (end, _) = outcome(vec![WireReply::sse(body)]).await;
    assert_eq!(failed(&end).0, ErrorClass::Incomplete);
    assert!(end.steps.is_empty());
}

#[tokio::test]
async fn calls_run_although_the_reason_says_stop() {
    let calls =
        stream(&[json!({"content": "On it."}), call(0, "a", "weather", r#"{"name":"Rome"}"#)], "stop");
    let done = stream(&[json!({"content": "Sunny."})], "stop");
    let (end, requests) = outcome(vec![WireReply::sse(calls), WireReply::sse(done)]).await;
    assert_eq!(end.outcome, Outcome::Finished);
    assert_eq!(requests, 2);
    assert_eq!(end.steps[0].tools[0].status, ToolStatus::Ok);
}
