//! HTTP and server-sent events for provider crates.
//!
//! A provider crate writes a [`Codec`]: how a request becomes an HTTP call and how frames become parts. This
//! crate does the rest: sends the call, cuts the body into events, holds timers and limits, types errors,
//! masks keys.

mod call;
mod codec;
mod framer;
mod transport;

pub use call::HttpCall;
pub use codec::{CallInfo, Codec, Decoder, End, Event, Framing, IdSeed, Next, Parts};
pub use framer::Framer;
pub use transport::{Body, HttpResponse, Transport};
