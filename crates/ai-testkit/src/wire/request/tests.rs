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

/// Reads one request from bytes that come in two reads, and what is left after it.
async fn read_cut(bytes: &[u8], cut: usize) -> Result<(RecordedRequest, BytesMut), NoRequest> {
    let (first, second) = bytes.split_at(cut);
    let mut from = AsyncReadExt::chain(first, second);
    let mut buffer = BytesMut::new();
    let head = read_head(&mut from, &mut buffer).await?;
    let request = read_body(&mut from, &mut buffer, head, 1).await?;
    from.read_to_end(&mut Vec::new()).await.unwrap();
    Ok((request, buffer))
}

async fn read(bytes: &[u8]) -> Result<RecordedRequest, NoRequest> {
    Ok(read_cut(bytes, 0).await?.0)
}

fn fault<T: std::fmt::Debug>(result: Result<T, NoRequest>) -> String {
    match result {
        Err(NoRequest::Malformed(fault)) => fault,
        other => panic!("{other:?}"),
    }
}

const SAMPLES: [(&[u8], &str); 4] = [
    (b"GET /v1/models?a=1 HTTP/1.1\r\nHost: x\r\n\r\n", ""),
    (b"POST /v1 HTTP/1.1\r\ncontent-length: 5\r\n\r\nhello", "hello"),
    (
        b"POST /v1 HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\nA;x=y\r\nllo, world\r\n0\r\n\r\n",
        "hello, world",
    ),
    (b"POST /v1 HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\na\r\n0\r\nx-sum: 1\r\n\r\n", "a"),
];

#[tokio::test]
async fn a_request_is_read_whatever_the_cut() {
    for (bytes, body) in SAMPLES {
        for cut in 0..=bytes.len() {
            let (request, rest) = read_cut(bytes, cut).await.unwrap();
            assert_eq!(request.body, body, "{cut}");
            assert_eq!(request.body_len, body.len() as u64);
            assert!(rest.is_empty());
        }
    }
}

#[tokio::test]
async fn half_a_request_is_none() {
    for (bytes, _) in SAMPLES {
        for length in 0..bytes.len() {
            let read = read(&bytes[..length]).await;
            assert!(matches!(read, Err(NoRequest::Gone)), "{length}: {read:?}");
        }
    }
}

#[tokio::test]
async fn headers_are_kept_as_sent() {
    let bytes = b"GET /a?b HTTP/1.1\r\nX-A: 1\r\nx-a:  2\r\nX-B: \xff\r\n\r\n";
    let request = read(bytes).await.unwrap();
    assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/a?b"));
    let expected = [("X-A", &b"1"[..]), ("x-a", b"2"), ("X-B", b"\xff")];
    assert!(request.headers.iter().map(|(name, value)| (name.as_str(), &value[..])).eq(expected));
    assert_eq!(request.header("X-a"), Some("1"));
    assert_eq!((request.header("x-b"), request.header("x-c")), (None, None));
}

#[tokio::test]
async fn what_follows_belongs_to_the_next_request() {
    let bytes = b"POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}GET / HTTP/1.1\r\n";
    let mut buffer = BytesMut::new();
    let mut from = &bytes[..];
    let head = read_head(&mut from, &mut buffer).await.unwrap();
    assert_eq!(
        read_body(&mut from, &mut buffer, head, 1).await.unwrap().json().unwrap(),
        serde_json::json!({})
    );
    assert_eq!(buffer, "GET / HTTP/1.1\r\n");
}

#[tokio::test]
async fn the_connection_is_kept_only_where_both_sides_can() {
    for (bytes, keeps) in [
        (&b"GET / HTTP/1.1\r\n\r\n"[..], true),
        (b"GET / HTTP/1.0\r\n\r\n", false),
        (b"GET / HTTP/1.1\r\nConnection: te, Close\r\n\r\n", false),
    ] {
        assert_eq!(read_head(&mut &bytes[..], &mut BytesMut::new()).await.unwrap().keep_alive, keeps);
    }
}

#[tokio::test]
async fn what_is_no_http_is_refused() {
    for (bytes, expected) in [
        ("hello\r\n\r\n", "token"),
        ("POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", "two lengths"),
        ("POST / HTTP/1.1\r\ncontent-length: +1\r\n\r\n", "no number"),
        ("POST / HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n", "both"),
        ("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n", "no size"),
        ("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc\r\n", "longer"),
    ] {
        let fault = fault(read(bytes.as_bytes()).await);
        assert!(fault.contains(expected), "{fault}");
    }
}

#[tokio::test]
async fn an_endless_head_is_refused() {
    let endless = format!("GET / HTTP/1.1\r\nx: {}", "y".repeat(1 << 20));
    assert!(fault(read(endless.as_bytes()).await).contains("too long"));
    let endless = format!("GET / HTTP/1.1\r\n{}", "x: y\r\n".repeat(MAX_HEADERS + 1));
    assert!(fault(read(endless.as_bytes()).await).contains("headers"));
}

#[tokio::test]
async fn a_body_above_the_limit_is_read_to_its_end() {
    let length = BODY_KEPT as u64 + 1000;
    let head = format!("POST / HTTP/1.1\r\ncontent-length: {length}\r\n\r\n");
    let body = tokio::io::repeat(b'x').take(length).chain(&b"rest"[..]);
    let mut from = AsyncReadExt::chain(head.as_bytes(), body);
    let mut buffer = BytesMut::new();
    let head = read_head(&mut from, &mut buffer).await.unwrap();
    let request = read_body(&mut from, &mut buffer, head, 1).await.unwrap();
    assert_eq!((request.body.len(), request.body_len), (BODY_KEPT, length));
    from.read_to_end(&mut Vec::new()).await.unwrap();
}

#[test]
fn a_chunked_body_is_put_together() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let cases = (prop::collection::vec("[a-z\\r\\n]{1,40}", 0..8), any::<prop::sample::Index>());
    let inside = Cell::new(0);
    let outcome = TestRunner::new(Config::default()).run(&cases, |(chunks, cut)| {
        let mut bytes = b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
        let head = bytes.len();
        for chunk in &chunks {
            bytes.extend_from_slice(format!("{:X}\r\n{chunk}\r\n", chunk.len()).as_bytes());
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        let cut = cut.index(bytes.len());
        inside.set(inside.get() + u32::from(cut > head));
        let (request, _) = runtime.block_on(read_cut(&bytes, cut)).unwrap();
        prop_assert_eq!(request.body, chunks.concat());
        Ok(())
    });
    outcome.unwrap();
    assert!(inside.get() > 100, "{inside:?}");
}
