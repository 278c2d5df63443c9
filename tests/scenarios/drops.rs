use std::time::Duration;

use ai_core::LoopEvent;
use ai_core::run::Outcome;
use ai_core::{RunOptions, ToolLoop};
use ai_provider::{CancellationToken, Message, StreamPart};
use ai_testkit::{WireEnd, WireReply, WireServer};
use futures_util::StreamExt;
use serde_json::json;

use crate::support::{LONG, agent, frame};

fn hanging() -> (WireServer, ToolLoop) {
    let body = frame(&json!({"content": "one"})) + &frame(&json!({"content": " two"}));
    let server = WireServer::start([WireReply::sse(body).ending(WireEnd::HangAfter(usize::MAX))]).unwrap();
    let agent = agent(&server);
    (server, agent)
}

#[tokio::test]
async fn dropping_the_run_closes_the_socket() {
    for deltas in [0, 1, 2] {
        let (server, agent) = hanging();
        let (_handle, mut stream) = agent.start([Message::user("go")], RunOptions::default());
        let mut seen = 0;
        while seen < deltas {
            match stream.next().await {
                Some(LoopEvent::Part(StreamPart::TextDelta { .. })) => seen += 1,
                Some(_) => {}
                None => panic!("the stream ended"),
            }
        }
        if deltas == 0 {
            // The call goes out only while the stream is polled.
            while server.requests().is_empty() {
                let _ = tokio::time::timeout(Duration::from_millis(5), stream.next()).await;
            }
        }
        assert_eq!(server.closed(), 0);
        drop(stream);
        assert!(server.wait_closed(LONG).await, "the socket is still open after {deltas} deltas");
    }
}

#[tokio::test]
async fn cancelling_the_run_closes_the_socket_and_keeps_what_came() {
    let (server, agent) = hanging();
    let cancel = CancellationToken::new();
    let (_handle, mut stream) =
        agent.start([Message::user("go")], RunOptions::default().with_cancel(cancel.clone()));
    let mut seen = 0;
    let mut outcome = None;
    while let Some(event) = stream.next().await {
        match event {
            LoopEvent::Part(StreamPart::TextDelta { .. }) => {
                seen += 1;
                if seen == 2 {
                    cancel.cancel();
                }
            }
            LoopEvent::End(end) => outcome = Some(end.outcome),
            _ => {}
        }
    }
    let Some(Outcome::Cancelled { partial: Some(partial) }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(partial.text(), "one two");
    assert!(server.wait_closed(LONG).await);
}
