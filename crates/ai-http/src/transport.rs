use std::fmt;
use std::pin::Pin;

use ai_provider::ModelError;
use async_trait::async_trait;
use bytes::Bytes;
use futures_core::Stream;
use http::{HeaderMap, StatusCode};

use crate::call::HttpCall;

/// The bytes of a response as they come. Dropping it closes the connection or resets the stream.
pub type Body = Pin<Box<dyn Stream<Item = Result<Bytes, ModelError>> + Send>>;

/// Sends one request. It neither retries nor follows a redirect to another origin, and sets no time limit
/// on the whole: the model around it owns those.
#[async_trait]
pub trait Transport: Send + Sync + fmt::Debug {
    /// Sends the request and waits for the head of the response.
    ///
    /// # Errors
    /// `Transport` if no response came, `InvalidRequest` if the URL is none.
    async fn send(&self, call: HttpCall) -> Result<HttpResponse, ModelError>;
}

/// The head of a response, with the body to come.
pub struct HttpResponse {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The URL that answered, after redirects.
    pub url: String,
    /// The body.
    pub body: Body,
}

impl fmt::Debug for HttpResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpResponse").field("status", &self.status).finish_non_exhaustive()
    }
}
