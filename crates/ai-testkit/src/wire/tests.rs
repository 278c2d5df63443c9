#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "tests fail by panicking"
)]

use std::error::Error as _;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::pin::pin;
use std::time::Instant;

use futures_util::future::{Either, select};
use futures_util::{StreamExt, TryStreamExt};
use http::StatusCode;

use super::*;
use crate::Cut;

/// Far above what loopback needs, so that only a fault can reach it.
const LONG: Duration = Duration::from_secs(20);

fn client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

async fn post(server: &WireServer) -> reqwest::Response {
    client().post(format!("{}/v1/chat", server.url())).body("{}").send().await.unwrap()
}

/// The bytes that came before the error, and the error.
async fn broken(server: &WireServer) -> (Vec<u8>, reqwest::Error) {
    let mut body = post(server).await.bytes_stream();
    let mut bytes = Vec::new();
    loop {
        match body.next().await.expect("the body ended as if it were whole") {
            Ok(piece) => bytes.extend_from_slice(&piece),
            Err(error) => return (bytes, error),
        }
    }
}

fn raw(server: &WireServer, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(request).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[tokio::test]
async fn replies_come_in_order_over_one_connection() {
    let replies = [
        WireReply::json(StatusCode::TOO_MANY_REQUESTS, "{}").header("retry-after", "3"),
        WireReply::sse("data: 1\n\n"),
    ];
    let server = WireServer::start(replies).unwrap();
    let client = client();
    let ask = |body: &'static str| client.post(format!("{}/v1?x=1", server.url())).body(body).send();
    let first = ask("one").await.unwrap();
    assert_eq!(first.status(), 429);
    assert_eq!(first.headers()["retry-after"], "3");
    assert_eq!(first.text().await.unwrap(), "{}");
    assert_eq!(ask("two").await.unwrap().text().await.unwrap(), "data: 1\n\n");
    let third = ask("three").await.unwrap();
    assert_eq!(third.status(), 400);
    assert_eq!(third.text().await.unwrap(), "request 3 came to a wire server with 2 replies");
    let requests = server.requests();
    let seen: Vec<_> = requests.iter().map(|request| (&request.body[..], request.connection)).collect();
    assert_eq!(seen, [(&b"one"[..], 1), (b"two", 1), (b"three", 1)]);
    assert_eq!((requests[0].method.as_str(), requests[0].path.as_str()), ("POST", "/v1?x=1"));
    assert_eq!((server.connections(), server.closed()), (1, 0));
}

#[tokio::test]
async fn a_route_has_its_own_reply() {
    let server = WireServer::start([WireReply::ok("first")]).unwrap();
    server.route("/v1/models", WireReply::ok("models"));
    let get = async |path| {
        let answer = client().get(format!("{}{path}", server.url())).send().await.unwrap();
        answer.text().await.unwrap()
    };
    assert_eq!(get("/v1/models").await, "models");
    assert_eq!(get("/v1/models?page=2").await, "models");
    assert_eq!(get("/v1").await, "first");
    server.reply(WireReply::ok("added"));
    assert_eq!(get("/v1").await, "added");
}

#[tokio::test]
async fn every_cut_and_framing_gives_the_same_body() {
    let body: Vec<u8> = (0..3000_u32).flat_map(|n| format!("data: {n}\n\n").into_bytes()).collect();
    let cuts = [Cut::Whole, Cut::Event, Cut::Every(7), Cut::Random(1), Cut::At(vec![1, 5000])];
    let server = WireServer::start([]).unwrap();
    let client = client();
    for cut in cuts {
        for framing in [WireFraming::Length, WireFraming::Chunked, WireFraming::UntilClose] {
            server.reply(WireReply::ok(body.clone()).framing(framing).cut(cut.clone()));
            let answer = client.get(server.url()).send().await.unwrap();
            assert_eq!(answer.bytes().await.unwrap(), body, "{framing:?} {cut:?}");
        }
    }
    assert_eq!((server.requests().len(), server.closed()), (15, 0));
}

#[tokio::test]
async fn chunks_reach_the_client_as_pieces() {
    let server = WireServer::start([WireReply::sse("abcdefgh").cut(Cut::Every(3))]).unwrap();
    let pieces: Vec<_> = post(&server).await.bytes_stream().try_collect().await.unwrap();
    assert_eq!(pieces, ["abc", "def", "gh"]);
}

#[tokio::test]
async fn an_early_close_is_an_error_unless_the_end_was_never_announced() {
    for framing in [WireFraming::Length, WireFraming::Chunked] {
        for limit in [0, 2, 3, 4, 6, 99] {
            let reply = WireReply::ok("abcdef").framing(framing).cut(Cut::Every(3));
            let server = WireServer::repeat(reply.ending(WireEnd::CloseAfter(limit))).unwrap();
            let (bytes, _) = broken(&server).await;
            assert_eq!(bytes, b"abcdef"[..limit.min(6)], "{framing:?} {limit}");
            assert_eq!(server.closed(), 0);
        }
    }
    let reply = WireReply::ok("abcdef").framing(WireFraming::UntilClose).ending(WireEnd::CloseAfter(2));
    let server = WireServer::repeat(reply).unwrap();
    assert_eq!(post(&server).await.text().await.unwrap(), "ab");
}

#[tokio::test]
async fn a_reset_reaches_the_client_as_one() {
    let reply = WireReply::sse("data: 1\n\ndata: 2\n\n").cut(Cut::Event).ending(WireEnd::ResetAfter(9));
    let server = WireServer::repeat(reply).unwrap();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let error = stream.read_to_end(&mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    let answer = client().get(server.url()).send().await.unwrap();
    let error = answer.bytes().await.unwrap_err();
    assert!(error.source().is_some(), "{error:?}");
}

#[tokio::test]
async fn a_hang_lasts_until_the_client_has_enough() {
    let reply = WireReply::sse("data: 1\n\n").ending(WireEnd::HangAfter(usize::MAX));
    let server = WireServer::repeat(reply).unwrap();
    let mut body = post(&server).await.bytes_stream();
    assert_eq!(body.next().await.unwrap().unwrap(), "data: 1\n\n");
    assert!(tokio::time::timeout(Duration::from_millis(50), body.next()).await.is_err());
    assert!(!server.wait_closed(Duration::ZERO).await);
    drop(body);
    assert!(server.wait_closed(LONG).await);
    assert_eq!(server.closed(), 1);
}

#[tokio::test]
async fn a_client_that_leaves_before_the_head_is_noticed() {
    let silent = WireReply::raw("").ending(WireEnd::HangAfter(0));
    for reply in [silent, WireReply::ok("").head_delay(LONG)] {
        let server = WireServer::repeat(reply).unwrap();
        let asking = Box::pin(client().get(server.url()).send());
        let Either::Right((arrived, asking)) = select(asking, pin!(server.wait_requests(1, LONG))).await
        else {
            panic!("there was an answer");
        };
        assert!(arrived);
        assert_eq!(server.closed(), 0);
        drop(asking);
        assert!(server.wait_closed(LONG).await);
    }
}

#[tokio::test]
async fn a_client_that_stops_reading_a_large_body_is_noticed() {
    let server = WireServer::repeat(WireReply::ok(vec![b'x'; 64 << 20])).unwrap();
    let mut body = post(&server).await.bytes_stream();
    assert!(body.next().await.is_some());
    drop(body);
    assert!(server.wait_closed(LONG).await);
}

#[tokio::test]
async fn delays_are_kept() {
    let reply = WireReply::sse("ab").cut(Cut::Every(1));
    let wait = Duration::from_millis(20);
    let server = WireServer::repeat(reply.head_delay(wait).body_delay(wait).chunk_delay(wait)).unwrap();
    let began = Instant::now();
    assert_eq!(post(&server).await.text().await.unwrap(), "ab");
    assert!(began.elapsed() >= 4 * wait);
}

#[test]
fn it_serves_blocking_clients_and_raw_bytes() {
    let server = WireServer::start([WireReply::raw("HTTP/1.1 200\r\nbroken")]).unwrap();
    assert_eq!(raw(&server, b"GET / HTTP/1.1\r\n\r\n"), "HTTP/1.1 200\r\nbroken");
    assert!(server.blocking_wait_requests(1, LONG));
    assert!(!server.blocking_wait_requests(2, Duration::from_millis(10)));
    server.reply(WireReply::ok("slow").body_delay(LONG));
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert!(server.blocking_wait_requests(2, LONG));
    drop(stream);
    assert!(server.blocking_wait_closed(LONG));
}

#[test]
fn what_is_no_http_gets_an_answer_and_no_reply() {
    let server = WireServer::start([WireReply::ok("x")]).unwrap();
    let answer = raw(&server, b"hello\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 400 Bad Request"), "{answer}");
    assert!(answer.contains("no HTTP request: "), "{answer}");
    assert!(server.requests().is_empty());
}

#[test]
fn it_tells_a_waiting_client_to_go_on() {
    let server = WireServer::repeat(WireReply::ok("done")).unwrap();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream
        .write_all(
            b"POST / HTTP/1.1\r\nexpect: 100-continue\r\nconnection: close\r\ncontent-length: 2\r\n\r\n",
        )
        .unwrap();
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"{}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("done"));
    assert_eq!(server.requests()[0].body, "{}");
}

#[test]
fn requests_sent_ahead_are_answered_in_order() {
    let server =
        WireServer::start([WireReply::ok("1"), WireReply::ok("2").framing(WireFraming::UntilClose)]).unwrap();
    let answer = raw(&server, b"GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n");
    assert!(answer.contains("\r\n\r\n1HTTP/1.1 200 OK") && answer.ends_with("\r\n\r\n2"), "{answer}");
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn many_clients_are_served_at_once() {
    let server = WireServer::repeat(WireReply::sse("data: 1\n\n").ending(WireEnd::HangAfter(99))).unwrap();
    let mut open = Vec::new();
    for _ in 0..20 {
        let mut body = post(&server).await.bytes_stream();
        assert!(body.next().await.unwrap().is_ok());
        open.push(body);
    }
    assert!(server.wait_requests(20, LONG).await);
    assert_eq!(server.connections(), 20);
}

#[tokio::test]
async fn dropping_it_closes_what_is_open_and_the_port() {
    let server = WireServer::repeat(WireReply::sse("data: 1\n\n").ending(WireEnd::HangAfter(99))).unwrap();
    let mut body = post(&server).await.bytes_stream();
    assert!(body.next().await.unwrap().is_ok());
    let address = server.address();
    drop(server);
    assert!(body.next().await.unwrap().is_err());
    assert!(TcpStream::connect(address).is_err());
}
