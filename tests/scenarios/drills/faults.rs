//! Runs with faults in them, and what comes after.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};

use ai_google::Google;

use super::*;

/// [AL-262]
#[tokio::test]
async fn each_event_of_a_run_reaches_those_it_is_for() {
    let seen = drill(vec![asks(), answer()], false).await;
    assert_eq!(seen.text, "Let me see.It is sunny.");
    assert_eq!(seen.outcome, "finished");
    let said: Vec<_> =
        seen.transcript.messages.iter().map(|entry| serde_json::to_value(entry).unwrap()).collect();
    let roles: Vec<_> = said.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
    let kinds: Vec<_> =
        said[1]["parts"].as_array().unwrap().iter().map(|part| part["type"].clone()).collect();
    assert_eq!(kinds, ["reasoning", "text", "tool-call"]);
    assert_eq!(seen.transcript.missing, []);
    let audit = seen.audit_json();
    for said in ["Where?", "Let me see.", "Rome", "Sunny", "sunny"] {
        assert!(!audit.contains(said), "{said} in {audit}");
    }
    for told in [
        "\"type\":\"call-started\"",
        "\"tool\":\"weather\"",
        "\"kind\":\"reasoning\"",
        "\"outcome\":\"finished\"",
    ] {
        assert!(audit.contains(told), "{told} not in {audit}");
    }
    assert_eq!(
        seen.kinds().iter().filter(|kind| **kind == "message-metadata").count(),
        2,
        "usage, step by step"
    );
}

/// [AL-268]
#[tokio::test]
async fn text_that_was_shown_before_the_network_went_is_archived_and_not_committed() {
    let seen = drill(vec![reply(frame(&say("It is rai"))).ending(reset()), answer()], true).await;
    assert_eq!(seen.text, "It is sunny.", "what the user reads in the end");
    assert!(seen.kinds().contains(&"reset-step"));
    assert_eq!((seen.transcript.messages.len(), seen.transcript.is_incomplete()), (2, false));
    let Some(AuditEvent::RunEnded { withdrawn, .. }) = seen.audit.entries().last().map(|entry| &entry.event)
    else {
        panic!("no end")
    };
    let parts: Vec<_> = withdrawn.iter().flat_map(|old| &old.parts).map(|part| part.digest.bytes).collect();
    assert_eq!(parts, ["It is rai".len()]);
    assert_eq!(seen.failures(), [(1, 1, ErrorClass::Transport, false)]);

    // System prompt, tools and history are sent again as they were; the note stands behind them.
    let [first, second] = &seen.requests[..] else { panic!("{} requests", seen.requests.len()) };
    assert_eq!(first["tools"].to_string(), second["tools"].to_string());
    let history = |request: &Value| request["messages"].as_array().unwrap().clone();
    let (before, after) = (history(first), history(second));
    assert_eq!((&after[..before.len()], after.len()), (&before[..], before.len() + 1));
}

/// [AL-258]
#[tokio::test]
async fn what_was_cut_reaches_the_next_turn_marked_or_not_at_all() {
    let seen = drill(vec![reply(frame(&say("It is rai"))).ending(reset())], false).await;
    for (how, said) in [(Interrupted::LeaveOut, false), (Interrupted::Mark, true)] {
        let transport = MemoryTransport::new().reply(answer());
        let mut history = seen.transcript.history(how);
        history.push(Arc::new(Message::user("And?")));
        let next = agent(&transport, tools(), false);
        let chunks: Vec<_> = next.stream(history, CancellationToken::new()).chunks().collect().await;
        assert_eq!(chunks.last().map(UiChunk::kind), Some("finish"));
        let body = String::from_utf8(transport.calls()[0].body.to_vec()).unwrap();
        assert_eq!(body.contains("It is rai"), said);
        assert_eq!(body.contains("It is not complete."), said);
    }
}

/// [AL-259]
#[tokio::test]
async fn another_provider_gets_the_calls_and_none_of_the_reasoning_as_text() {
    let seen = drill(vec![asks(), answer()], false).await;
    let transport = MemoryTransport::new().reply(MemoryReply::json(StatusCode::BAD_REQUEST, "{}"));
    let anthropic = Anthropic::builder()
        .keys(Arc::new(Keys::one(ApiKey::new(KEY).unwrap())))
        .transport(Arc::new(transport.clone()))
        .build()
        .unwrap();
    let next = Agent::new(ToolLoop::new(anthropic.language_model("claude").unwrap()).with_tools(tools()));
    let mut history = seen.transcript.history(Interrupted::Mark);
    history.push(Arc::new(Message::user("And tomorrow?")));
    let _ = next.generate(history, CancellationToken::new()).await;
    let body: Value = serde_json::from_slice(&transport.calls()[0].body).unwrap();
    let messages = body["messages"].as_array().unwrap();
    assert!(!body.to_string().contains("Where?"), "reasoning of another is left out: {body}");
    let blocks: Vec<_> = messages
        .iter()
        .flat_map(|message| message["content"].as_array().cloned().unwrap_or_default())
        .collect();
    let of = |kind: &str| blocks.iter().filter(|block| block["type"] == *kind).collect::<Vec<_>>();
    assert_eq!((&of("tool_use")[0]["id"], &of("tool_use")[0]["name"]), (&json!("c1"), &json!("weather")));
    assert_eq!(of("tool_result")[0]["tool_use_id"], "c1");
}

/// [AL-253]
#[tokio::test]
async fn an_audit_holds_no_key_and_no_body_of_an_error() {
    let body =
        format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}. SAID-by-the-server"}}}}"#);
    let refused = || {
        MemoryReply::json(StatusCode::UNAUTHORIZED, body.clone())
            .header("x-request-id", "req-1")
            .header("set-cookie", "session=COOKIE")
            .header("www-authenticate", &format!("Bearer {KEY}"))
    };
    for content in [false, true] {
        let transport = MemoryTransport::new().repeat(refused());
        let seen = see(transport, |transport| agent(transport, tools(), false), content).await;
        let audit = seen.audit_json();
        assert!(!audit.contains(KEY) && !audit.contains("COOKIE"), "{audit}");
        assert_eq!(audit.contains("SAID-by-the-server"), content, "{audit}");
        for told in
            ["\"class\":\"auth\"", "\"status\":401", "\"requestId\":\"req-1\"", "\"type\":\"settled\""]
        {
            assert!(audit.contains(told), "{told} not in {audit}");
        }
        assert_eq!(seen.failures(), [(1, 1, ErrorClass::Auth, true)]);
    }
}

/// [AL-271]
#[tokio::test]
async fn five_faults_are_five_entries() {
    let hangs = tool_fn("hangs", "Never ends.", |_: City, _| async {
        std::future::pending::<Result<String, ToolError>>().await
    });
    let hangs = hangs.with_timeout(Duration::from_millis(50)).with_effect(Effect::SideEffect);
    let calls = stream(
        &[call(0, "bad", "weather", r#"{"name":7}"#), call(1, "late", "hangs", r#"{"name":"x"}"#)],
        "tool_calls",
    );
    let connect = ModelError::new(ErrorClass::Transport, "connection refused");
    let busy = MemoryReply::json(StatusCode::TOO_MANY_REQUESTS, r#"{"error":{"message":"slow down"}}"#);
    let transport = [
        MemoryReply::fail(connect),
        reply(frame(&say("It is rai"))).ending(reset()),
        reply(calls),
        busy,
        answer(),
    ];
    let transport = transport.into_iter().fold(MemoryTransport::new(), MemoryTransport::reply);
    let seen = see(transport, |transport| agent(transport, tools().with(hangs).unwrap(), true), false).await;
    assert_eq!(
        (seen.outcome.as_str(), seen.text.as_str(), seen.requests.len()),
        ("finished", "It is sunny.", 5)
    );
    assert_eq!(
        seen.failures(),
        [
            (1, 1, ErrorClass::Transport, true),
            (1, 2, ErrorClass::Transport, false),
            (2, 1, ErrorClass::RateLimit, true),
        ]
    );
    let mut calls = CallTimeline::new();
    calls.extend(seen.audit.entries());
    let mut lines: Vec<_> = calls.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "call bad · invalid input",
            "call late · policy allow · started · timed out, delivery unknown, not retried"
        ]
    );
}

/// [AL-270]
#[tokio::test]
async fn ids_that_an_adapter_makes_come_from_the_generator_too() {
    let call = r#"data: {"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"weather","args":{"name":"Rome"}}}]},"finishReason":"STOP"}]}"#;
    let text = r#"data: {"candidates":[{"content":{"role":"model","parts":[{"text":"Sunny."}]},"finishReason":"STOP"}]}"#;
    let play = async |known: bool| {
        let transport = [call, call, text].map(|event| reply(format!("{event}\n\n")));
        let transport = transport.into_iter().fold(MemoryTransport::new(), MemoryTransport::reply);
        let google = Google::builder()
            .keys(Arc::new(Keys::one(ApiKey::new(KEY).unwrap())))
            .transport(Arc::new(transport))
            .build()
            .unwrap();
        let agent = Agent::new(ToolLoop::new(google.language_model("gemini").unwrap()).with_tools(tools()));
        let count = AtomicU32::new(0);
        let known_ids = move || format!("id-{}", count.fetch_add(1, Ordering::Relaxed));
        let agent = if known { agent.with_ids(known_ids) } else { agent };
        let chunks: Vec<_> = agent.stream([question()], CancellationToken::new()).chunks().collect().await;
        assert_eq!(chunks.last().map(UiChunk::kind), Some("finish"), "{chunks:?}");
        chunks
    };
    let calls = |chunks: &[UiChunk]| -> HashSet<String> {
        let calls = chunks.iter().filter_map(|chunk| match chunk {
            UiChunk::ToolInputAvailable { tool_call_id, .. } => Some(tool_call_id.to_string()),
            _ => None,
        });
        calls.collect()
    };
    let first = play(true).await;
    assert_eq!(first, play(true).await);
    assert_eq!(calls(&first).len(), 2, "the calls of two steps have ids of their own");
    assert_ne!(calls(&first), calls(&play(false).await));
}
