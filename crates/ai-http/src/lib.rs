//! HTTP and server-sent events for provider crates.
//!
//! A provider crate writes a [`Codec`]: how a request becomes an HTTP call and how frames become parts. This
//! crate does the rest: sends the call, cuts the body into events, holds timers and limits, types errors,
//! masks keys.

mod auth;
mod body;
mod call;
mod codec;
mod endpoint;
mod excerpt;
mod framer;
mod hint;
mod limits;
mod lines;
mod model;
mod redact;
mod report;
mod reqwest_transport;
mod sse;
mod status;
mod stream;
mod transport;
mod wait;
mod whole;

pub use auth::{Authorize, Bearer, ExpiringToken, FreshToken, HeaderKey};
pub use call::HttpCall;
pub use codec::{CallInfo, Codec, Decoder, End, Event, Framing, IdSeed, Next, Parts};
pub use endpoint::{Endpoint, path_segment};
pub use excerpt::excerpt;
pub use framer::Framer;
pub use hint::retry_hint;
pub use limits::{Limits, Timeouts};
pub use lines::LinesFramer;
pub use model::HttpModel;
pub use redact::redact_url;
pub use reqwest_transport::ReqwestTransport;
pub use sse::SseFramer;
pub use status::{class_of_status, error_of_response, is_retryable_status};
pub use transport::{Body, HttpResponse, Transport};
pub use whole::WholeFramer;
