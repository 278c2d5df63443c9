use ai_core::LoopEvent;
use ai_core::run::Outcome;
use ai_provider::StreamPart;
use ai_testkit::{Cut, WireReply, WireServer};
use serde_json::{Value, json};

use crate::support::{KEY, agent, ask, call, stream};

fn two_steps() -> [String; 2] {
    [
        stream(
            &[
                json!({"role": "assistant", "content": "Let me look. 北🙂é"}),
                call(0, "call_a", "weather", ""),
                json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"na"}}]}),
                json!({"tool_calls": [{"index": 0, "function": {"arguments": "me\": \"Rome\"}"}}]}),
                call(1, "call_b", "weather", r#"{"name":"Oslo"}"#),
            ],
            "tool_calls",
        ),
        stream(&[json!({"content": "Both are "}), json!({"content": "sunny."})], "stop"),
    ]
}

#[tokio::test]
async fn a_conversation_of_two_steps_runs_over_http_however_the_bytes_are_cut() {
    let mut seen: Option<(Vec<String>, Vec<Value>)> = None;
    for cut in [Cut::Whole, Cut::Event, Cut::Every(1), Cut::Every(7), Cut::Random(1), Cut::Random(2)] {
        let server =
            WireServer::start(two_steps().map(|body| WireReply::sse(body).cut(cut.clone()))).unwrap();
        let (events, end) = ask(&agent(&server)).await;
        assert_eq!(end.outcome, Outcome::Finished, "{cut:?}");
        let text: String = events
            .iter()
            .filter_map(|event| match event {
                LoopEvent::Part(StreamPart::TextDelta { delta, .. }) => Some(delta.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(text, "Let me look. 北🙂éBoth are sunny.");
        assert_eq!((end.usage.input.total, end.usage.output.total), (Some(6), Some(2)));
        assert_eq!(server.connections(), 1, "the connection is used again");

        let messages: Vec<_> =
            end.new_messages.iter().map(|message| serde_json::to_string(&**message).unwrap()).collect();
        let bodies: Vec<_> = server.requests().iter().map(|request| request.json().unwrap()).collect();
        match &seen {
            None => seen = Some((messages, bodies)),
            Some(first) => assert_eq!(*first, (messages, bodies), "{cut:?} changes what comes out"),
        }
    }
}

/// The prompt prefix is stable: what stands before the history is equal in both requests, and the first history
/// without its closing bracket begins the second.
#[tokio::test]
async fn the_second_request_extends_the_first_byte_for_byte() {
    let server = WireServer::start(two_steps().map(WireReply::sse)).unwrap();
    ask(&agent(&server)).await;
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    let split = |body: &[u8]| {
        let body = String::from_utf8(body.to_vec()).unwrap();
        let at = body.find(r#""messages":["#).expect("a history") + r#""messages":["#.len();
        let history = body[at..].strip_suffix("]}").expect("the history is written last").to_owned();
        (body[..at].to_owned(), history)
    };
    let (first, second) = (split(&requests[0].body), split(&requests[1].body));
    assert_eq!(first.0, second.0);
    assert!(second.1.starts_with(&first.1), "{} does not begin with {}", second.1, first.1);
    assert!(second.1.len() > first.1.len());

    let body = requests[1].json().unwrap();
    let history = body["messages"].as_array().unwrap();
    assert_eq!(history.len(), 5);
    assert_eq!(
        history[2]["tool_calls"][0]["function"]["arguments"], "{\"name\": \"Rome\"}",
        "echoed as written"
    );
    assert_eq!(history[3]["tool_call_id"], "call_a");
    assert_eq!(history[4]["tool_call_id"], "call_b");
    assert_eq!(history[4]["content"], "Sunny in Oslo.");
    for request in &requests {
        assert_eq!(request.path, "/v1/chat/completions");
        assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    }
}
