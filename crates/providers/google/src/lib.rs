//! Google Gemini.

mod codec;
mod decode;
mod encode;
mod failure;

pub use codec::GenerateContentCodec;
