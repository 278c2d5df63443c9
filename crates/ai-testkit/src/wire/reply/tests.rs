#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "tests fail by panicking"
)]

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;

fn bytes(reply: &WireReply) -> String {
    let writes = reply.plan().writes.into_iter().map(|(_, bytes)| bytes).collect::<Vec<_>>();
    String::from_utf8(writes.concat()).unwrap()
}

#[test]
fn a_length_is_announced() {
    let reply = WireReply::json(StatusCode::NOT_FOUND, "{}").header("X-Id", "7");
    let expected =
        "HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\nX-Id: 7\r\ncontent-length: 2\r\n\r\n{}";
    assert_eq!(bytes(&reply), expected);
    assert_eq!(reply.plan().then, Then::Keep);
}

#[test]
fn each_piece_is_a_chunk() {
    let reply = WireReply::sse("data: 1\n\ndata: 2\n\n").cut(Cut::Event);
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    assert_eq!(bytes(&reply), format!("{head}9\r\ndata: 1\n\n\r\n9\r\ndata: 2\n\n\r\n0\r\n\r\n"));
    assert_eq!(reply.plan().writes.len(), 4);
}

#[test]
fn a_body_without_an_announced_end_closes_the_connection() {
    let reply = WireReply::ok("abc").framing(WireFraming::UntilClose);
    assert_eq!(bytes(&reply), "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nabc");
    assert_eq!(reply.plan().then, Then::Close);
}

#[test]
fn raw_bytes_are_sent_as_they_are() {
    let reply = WireReply::raw("HTTP/1.1 2").header("a", "b").framing(WireFraming::Chunked);
    assert_eq!(bytes(&reply), "HTTP/1.1 2");
    assert_eq!(reply.plan().then, Then::Close);
}

#[test]
fn what_does_not_end_well_never_looks_complete() {
    for (sent, announced, limit) in [("ab", 4, 2), ("abcd", 5, 4), ("abcd", 5, 99), ("", 4, 0)] {
        let reply = WireReply::ok("abcd").ending(WireEnd::CloseAfter(limit));
        let expected = format!("HTTP/1.1 200 OK\r\ncontent-length: {announced}\r\n\r\n{sent}");
        assert_eq!(bytes(&reply), expected);
    }
    for (sent, limit) in [("2\r\nab\r\n2\r\nc", 3), ("2\r\nab\r\n", 2), ("2\r\nab\r\n2\r\ncd\r\n", 4)] {
        let reply = WireReply::ok("abcd").framing(WireFraming::Chunked).cut(Cut::Every(2));
        let reply = reply.ending(WireEnd::ResetAfter(limit));
        assert_eq!(bytes(&reply), format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{sent}"));
        assert_eq!(reply.plan().then, Then::Reset);
    }
}

#[test]
fn each_delay_stands_before_its_write() {
    let second = Duration::from_secs;
    let delays = |reply: WireReply| -> Vec<_> {
        let reply = reply.cut(Cut::Every(1));
        let reply = reply.head_delay(second(3)).body_delay(second(5)).chunk_delay(second(7));
        reply.plan().writes.into_iter().map(|(delay, _)| delay.as_secs()).collect()
    };
    assert_eq!(delays(WireReply::ok("abc")), [3, 5, 7, 7, 7]);
    assert_eq!(delays(WireReply::ok("")), [3, 5]);
    assert_eq!(delays(WireReply::raw("ab")), [3, 7, 7]);
}

#[test]
fn chunks_hold_the_body_whatever_the_cut() {
    let cases = (prop::collection::vec(any::<u8>(), 0..200), any::<u64>());
    let several = Cell::new(0);
    let outcome = TestRunner::new(Config::default()).run(&cases, |(body, seed)| {
        let reply = WireReply::ok(body.clone()).framing(WireFraming::Chunked).cut(Cut::Random(seed));
        let writes = reply.plan().writes;
        several.set(several.get() + u32::from(writes.len() > 3));
        let mut decoded = Vec::new();
        for (_, chunk) in &writes[1..] {
            let httparse::Status::Complete((at, size)) = httparse::parse_chunk_size(chunk).unwrap() else {
                panic!("{chunk:?}");
            };
            prop_assert_eq!(chunk.len(), at + size as usize + 2);
            decoded.extend_from_slice(&chunk[at..chunk.len() - 2]);
        }
        prop_assert_eq!(decoded, body);
        Ok(())
    });
    outcome.unwrap();
    assert!(several.get() > 200, "{several:?}");
}
