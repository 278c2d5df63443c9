#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "tests fail by panicking"
)]

use futures_util::TryStreamExt;
use tokio::time::{Instant, timeout};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn call() -> HttpCall {
    HttpCall::get("http://localhost/v1")
}

async fn read(reply: MemoryReply) -> Result<Vec<Bytes>, ModelError> {
    MemoryTransport::new().reply(reply).send(call()).await?.body.try_collect().await
}

#[tokio::test]
async fn a_reply_comes_as_written() {
    let reply = MemoryReply::json(StatusCode::TOO_MANY_REQUESTS, "{}")
        .header("retry-after", "3")
        .header("x-a", "1")
        .header("x-a", "2");
    let transport = MemoryTransport::new().reply(reply);
    let response = transport.send(call()).await.unwrap();
    assert_eq!(response.status, 429);
    assert_eq!(response.url, "http://localhost/v1");
    assert_eq!(response.headers["content-type"], "application/json");
    assert_eq!(response.headers["retry-after"], "3");
    assert_eq!(response.headers.get_all("x-a").iter().count(), 2);
    assert_eq!(response.body.try_collect::<Vec<_>>().await.unwrap(), ["{}"]);
}

#[tokio::test]
async fn the_body_comes_in_the_pieces_of_its_cut() {
    assert_eq!(read(MemoryReply::sse("abcde").cut(Cut::Every(2))).await.unwrap(), ["ab", "cd", "e"]);
    assert!(read(MemoryReply::ok("")).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_body_ends_as_told_and_stays_ended() {
    let broken = MemoryEnd::Error(ModelError::new(ErrorClass::Transport, "reset"));
    let transport = MemoryTransport::new().reply(MemoryReply::ok("ab").ending(broken));
    let mut body = transport.send(call()).await.unwrap().body;
    assert_eq!(body.next().await.unwrap().unwrap(), "ab");
    assert_eq!(body.next().await.unwrap().unwrap_err().class(), ErrorClass::Transport);
    assert!(body.next().await.is_none());
    assert!(body.next().await.is_none());
    drop(body);
    assert_eq!(transport.dropped(), 0);
}

#[tokio::test]
async fn sending_can_fail() {
    let failure = ModelError::new(ErrorClass::Transport, "no route");
    let transport = MemoryTransport::new().reply(MemoryReply::fail(failure));
    assert_eq!(transport.send(call()).await.unwrap_err().message(), "no route");
    let error = transport.send(call()).await.unwrap_err();
    assert_eq!(error.message(), "call 2 came to a memory transport with 1 replies");
    assert_eq!((transport.calls().len(), transport.dropped()), (2, 0));
    let error = read(MemoryReply::ok("").header("a b", "c")).await.unwrap_err();
    assert!(error.message().contains("a b"), "{error}");
    let error = read(MemoryReply::ok("").header("a", "b\nc")).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::InvalidRequest);
}

#[tokio::test]
async fn a_repeated_reply_serves_every_further_call() {
    let transport = MemoryTransport::new().reply(MemoryReply::ok("first")).repeat(MemoryReply::ok("again"));
    for expected in ["first", "again", "again"] {
        let body = transport.send(call()).await.unwrap().body;
        assert_eq!(body.try_collect::<Vec<_>>().await.unwrap(), [expected]);
    }
}

#[tokio::test(start_paused = true)]
async fn each_delay_stands_where_it_says() {
    let reply = MemoryReply::ok("abc").cut(Cut::Every(1));
    let reply = reply.head_delay(5 * SECOND).body_delay(7 * SECOND).chunk_delay(SECOND);
    let began = Instant::now();
    let mut body = MemoryTransport::new().reply(reply).send(call()).await.unwrap().body;
    assert_eq!(began.elapsed(), 5 * SECOND);
    for at in [12, 13, 14] {
        assert!(body.next().await.is_some());
        assert_eq!(began.elapsed(), at * SECOND);
    }
    assert!(body.next().await.is_none());
    assert_eq!(began.elapsed(), 15 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn whatever_is_dropped_before_its_end_counts() {
    let transport = MemoryTransport::new()
        .reply(MemoryReply::ok("").head_delay(60 * SECOND))
        .reply(MemoryReply::ok("ab"))
        .reply(MemoryReply::ok("ab").ending(MemoryEnd::Hang));
    assert!(timeout(SECOND, transport.send(call())).await.is_err());
    assert_eq!(transport.dropped(), 1);
    let mut body = transport.send(call()).await.unwrap().body;
    assert_eq!(body.next().await.unwrap().unwrap(), "ab");
    drop(body);
    assert_eq!(transport.dropped(), 2);
    let body = transport.send(call()).await.unwrap().body;
    assert!(timeout(60 * SECOND, body.try_collect::<Vec<_>>()).await.is_err());
    assert_eq!(transport.dropped(), 3);
}
