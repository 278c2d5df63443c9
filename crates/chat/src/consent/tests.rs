#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and one is a person"
)]

use agent_loop::UiChunk;
use futures_util::FutureExt;
use serde_json::json;

use super::*;

fn consent(mode: Mode) -> Consent {
    Consent { mode, always: Mutex::default() }
}

/// A call, and the question about it.
fn chunks(call: &str, tool: &str) -> [UiChunk; 2] {
    let available = json!({
        "type": "tool-input-available", "toolCallId": call, "toolName": tool, "input": {"path": "a"},
    });
    let request = json!({"type": "tool-approval-request", "approvalId": "x", "toolCallId": call});
    [available, request].map(|chunk| serde_json::from_value(chunk).unwrap())
}

/// [CH-305]
#[test]
fn consent_is_never_given_by_accident() {
    for yes in ["y", "YES ", " Yes"] {
        assert_eq!(reply(yes), Some(Reply::Yes));
    }
    assert_eq!((reply("a"), reply("Always")), (Some(Reply::Always), Some(Reply::Always)));
    for no in ["", " ", "n", "No"] {
        assert_eq!(reply(no), Some(Reply::No));
    }
    for nothing in ["ye", "ok", "yesno", "1"] {
        assert_eq!(reply(nothing), None, "{nothing} is asked about again");
    }
}

/// [CH-305]
#[test]
fn a_question_shows_what_would_run_and_drives_no_terminal() {
    let shown = question("files__write", r#"{"path":"a"}"#);
    assert_eq!(shown, r#"Run files__write with {"path":"a"}? [y]es, [n]o, [a]lways files__write: "#);
    let evil = question("a\u{1b}[2J", &format!("\n\r\u{202e}{}", "x".repeat(5_000)));
    assert!(!evil.contains(|c: char| c.is_control() || c == '\u{202e}'), "{evil:?}");
    assert!(evil.contains('…') && evil.chars().count() < 2_200);
}

/// [CH-304]
#[test]
fn without_a_person_a_call_is_denied_or_allowed_at_once() {
    for (mode, approved) in [(Mode::Deny, false), (Mode::Allow, true)] {
        let consent = consent(mode);
        let mut questions = consent.questions();
        let [available, request] = chunks("c1", "tool");
        assert!(!questions.hear(&available));
        assert!(questions.answered().now_or_never().is_none(), "there is nothing to decide yet");
        assert!(questions.hear(&request));
        let (call, decision) = questions.answered().now_or_never().unwrap().unwrap();
        assert_eq!((call.to_string().as_str(), decision.approved), ("c1", approved));
        assert_eq!(decision.reason.is_some_and(|why| why.contains("Nobody can be asked")), !approved);
    }
}

/// [CH-305]
#[tokio::test]
async fn what_a_person_answers_holds_for_the_call_or_for_good() {
    let consent = consent(Mode::Ask);
    let mut questions = consent.questions();
    // As if the terminal had been read.
    let mut answer = async |call: &str, tool: &str, reply: Reply| {
        chunks(call, tool).iter().for_each(|chunk| {
            questions.hear(chunk);
        });
        let id = questions.waiting.pop_back().unwrap();
        questions.asking = Some((id, tokio::task::spawn(async move { reply })));
        questions.answered().await.map(|(call, decision)| (call.to_string(), decision.approved))
    };
    assert_eq!(answer("c1", "a", Reply::Yes).await, Some(("c1".to_owned(), true)));
    assert_eq!(answer("c2", "a", Reply::No).await, Some(("c2".to_owned(), false)));
    assert_eq!(answer("c3", "b", Reply::Always).await, Some(("c3".to_owned(), true)));
    assert_eq!(answer("c4", "a", Reply::Stop).await, None);
    // Always: for this tool, in every later run.
    let mut later = consent.questions();
    chunks("c5", "b").iter().for_each(|chunk| {
        later.hear(chunk);
    });
    let (_, decision) = later.answered().now_or_never().unwrap().unwrap();
    assert!(decision.approved);
    assert_eq!(consent.decided("a"), None);
}
