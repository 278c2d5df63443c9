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

use ai_provider::{Finish, UnifiedFinish, Usage};
use futures_util::stream;

use super::*;

fn finish() -> StreamPart {
    StreamPart::Finish(Box::new(Finish {
        reason: UnifiedFinish::Stop.into(),
        usage: Usage::default(),
        metadata: None,
    }))
}

fn text() -> [StreamPart; 3] {
    [StreamPart::text_start("0"), StreamPart::text_delta("0", "Hi"), StreamPart::text_end("0")]
}

#[tokio::test]
async fn a_whole_answer_has_no_error() {
    let items: Vec<_> = text().into_iter().chain([finish()]).map(Ok).collect();
    let (parts, error) = collect(stream::iter(items.clone())).await;
    assert_eq!((parts.len(), error.is_none()), (4, true));
    let (answer, error) = fold(stream::iter(items)).await;
    assert_eq!((answer.message.text().as_str(), answer.incomplete, error.is_none()), ("Hi", false, true));
}

#[tokio::test]
async fn what_came_before_an_error_is_kept() {
    let failure = ModelError::new(ErrorClass::Overloaded, "busy");
    let items: Vec<_> = text().into_iter().map(Ok).chain([Err(failure)]).collect();
    let (answer, error) = fold(stream::iter(items)).await;
    assert_eq!(answer.message.text(), "Hi");
    assert_eq!(error.unwrap().class(), ErrorClass::Overloaded);
}

#[tokio::test]
async fn a_stream_that_goes_on_after_an_error_is_found_out() {
    let failure = ModelError::new(ErrorClass::Overloaded, "busy");
    let (parts, error) = collect(stream::iter([Err(failure), Ok(finish())])).await;
    let error = error.unwrap();
    assert!(parts.is_empty());
    assert_eq!(error.class(), ErrorClass::Protocol);
    assert!(error.source().unwrap().to_string().contains("busy"));
}

#[tokio::test]
async fn folding_parts_out_of_order_is_an_error() {
    let (_, error) = fold(stream::iter([Ok(StreamPart::text_delta("0", "Hi"))])).await;
    assert_eq!(error.unwrap().class(), ErrorClass::Protocol);
    let (_, error) = fold(stream::iter([Ok(finish()), Ok(finish())])).await;
    assert_eq!(error.unwrap().class(), ErrorClass::Protocol);
}
