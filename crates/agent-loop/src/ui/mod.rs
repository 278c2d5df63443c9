//! The stream a user interface reads.

mod chunk;
mod content;
mod mapper;
mod settings;
mod sse;

pub use chunk::{DataChunk, UiChunk, UiFinishReason};
pub(crate) use mapper::Mapper;
pub(crate) use settings::{UiSettings, plain};
pub use sse::{SSE_DONE, encode_sse};
