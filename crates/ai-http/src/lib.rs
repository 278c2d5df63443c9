//! HTTP and server-sent events for provider crates.
//!
//! A provider crate writes a [`Codec`]: how a request becomes an HTTP call and how events become parts. This
//! crate does the rest: it sends the call, cuts the body into events, holds timers and limits, types errors and
//! masks keys.
//!
//! | you want to | look at |
//! |---|---|
//! | make a model of a codec | [`HttpModel`] |
//! | make a provider: keys, transport and limits for all its models | [`Client`], [`client_setters!`] |
//! | write a codec | [`Codec`], [`Decoder`], [`Endpoint`], [`path_segment`], [`Pairing`], [`Notes`] |
//! | say a JSON Schema as the API takes it | [`schema`] |
//! | get files at URLs for models that cannot | [`Download`], [`HttpDownload`] |
//! | read an API's errors | [`error_of_response`], [`class_of_status`], [`retry_hint`], [`excerpt`] |
//! | send keys in another way | [`Authorize`], [`Bearer`], [`HeaderKey`], [`ExpiringToken`] |
//! | reach servers in another way (proxies, certificates, no network) | [`ReqwestTransport`], [`Transport`] |
//! | change what is waited for and held | [`Timeouts`], [`Limits`] |
//! | cut a body in another way | [`Framing::Custom`], [`Framer`], [`SseFramer`] |
//!
//! Nothing here spawns a task or retries. Dropping a model's stream closes its connection.

mod auth;
mod body;
mod call;
mod client;
mod codec;
mod document;
mod download;
mod endpoint;
mod excerpt;
mod failure;
mod framer;
pub mod halves;
mod hint;
mod history;
mod limits;
mod lines;
mod mask;
mod media;
mod model;
mod notes;
mod options;
mod redact;
mod report;
mod reqwest_transport;
pub mod schema;
mod setup;
mod sse;
mod status;
mod stream;
mod transport;
mod wait;
mod whole;

pub use auth::{Authorize, Bearer, ExpiringToken, FreshToken, HeaderKey};
pub use call::HttpCall;
pub use client::{Client, ClientBuilder};
pub use codec::{CallInfo, Codec, Decoder, End, Event, Framing, IdSeed, Next, Parts};
pub use download::{Download, Downloaded, HttpDownload};
pub use endpoint::{Endpoint, path_segment};
pub use excerpt::excerpt;
pub use failure::{error_of_event, error_of_frame, error_of_no_answer, error_of_response};
pub use framer::Framer;
pub use hint::retry_hint;
pub use history::{CallIds, Paired, Pairing, is_json_object, legal_tool_name};
pub use limits::{Limits, Timeouts};
pub use lines::LinesFramer;
pub use media::{data_url, sniff_image};
pub use model::HttpModel;
pub use notes::Notes;
pub use options::{merge_field, options_of};
pub use redact::redact_url;
pub use reqwest_transport::ReqwestTransport;
pub use setup::ModelSetup;
pub use sse::SseFramer;
pub use status::{class_of_status, is_retryable_status};
pub use transport::{Body, HttpResponse, Transport};
pub use whole::WholeFramer;

/// What [`client_setters!`] names, so that it works in any crate.
#[doc(hidden)]
pub mod reexport {
    pub use ai_provider::{ApiKey, KeySource};
}
