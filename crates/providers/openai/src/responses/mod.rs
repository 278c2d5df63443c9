//! The Responses API: OpenAI's own, and what other servers make of it.

mod codec;
mod decode;
mod dialect;
mod encode;
mod minted;

pub use codec::ResponsesCodec;
pub use dialect::ResponsesDialect;
