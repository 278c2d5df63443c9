//! The stream a user interface reads.

mod chunk;
mod content;
mod convert;
mod data;
mod level;
mod mapper;
mod message;
mod read_error;
mod reduce_error;
mod reducer;
#[cfg(test)]
pub(crate) mod samples;
mod settings;
mod sse;
mod sse_reader;
mod user_part;
mod word;

pub use chunk::UiChunk;
pub(crate) use content::CUT_OFF;
pub(crate) use convert::assistant as parts_to_history;
pub use convert::{UiConvertError, to_model_messages, to_ui_messages, to_ui_messages_with};
pub use data::DataChunk;
pub use level::UiProtocol;
pub(crate) use mapper::Mapper;
pub use message::{UiApproval, UiBlockState, UiMessage, UiPart, UiRole, UiToolPart, UiToolState};
pub use read_error::UiReadError;
pub use reduce_error::UiReduceError;
pub use reducer::UiReducer;
pub(crate) use settings::{UiSettings, plain};
pub use sse::{SSE_DONE, SSE_HEADERS, encode_sse};
pub use sse_reader::SseReader;
pub use user_part::UiUserPart;
pub use word::{UiFinishReason, UiInputEncoding};
