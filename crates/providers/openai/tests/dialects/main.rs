//! What differs from server to server and model to model: places, keys, what is known, quirks.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod answers;
mod places;
mod requests;
#[path = "../support/mod.rs"]
mod support;

use ai_provider::{Message, Request};

fn hi() -> Request {
    Request::new([Message::user("Hi")])
}
