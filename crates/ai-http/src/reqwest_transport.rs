use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use ai_provider::{ErrorClass, ModelError};
use async_trait::async_trait;
use bytes::Bytes;
use futures_core::Stream;
use http::{Method, StatusCode};
use reqwest::{Client, ClientBuilder, Response};
use url::Url;

use crate::call::HttpCall;
use crate::redact::{causes, redact_url};
use crate::transport::{HttpResponse, Transport};

#[cfg(test)]
mod tests;

/// A reachable server accepts within a round trip or two.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A moved path takes one step; more than this is a loop.
const REDIRECTS: usize = 3;

/// The transport over reqwest: rustls, HTTP/1.1 and HTTP/2, the system's proxies, a connection pool that all
/// clones share. It must be used within a tokio runtime.
///
/// Redirects are followed here, at most three and within one origin only, since a redirect to
/// another server would carry the key there. Where the method would change to GET, none is followed.
#[derive(Clone)]
pub struct ReqwestTransport {
    client: Client,
    redirects: usize,
}

impl ReqwestTransport {
    /// A transport with a pool of its own and the settings of [`client_builder`](Self::client_builder).
    ///
    /// # Errors
    /// `Transport` if TLS cannot be set up, for example because the system has no certificates.
    pub fn new() -> Result<Self, ModelError> {
        Self::build(Self::client_builder())
    }

    pub(crate) fn build(client: ClientBuilder) -> Result<Self, ModelError> {
        let client = client.build().map_err(|error| {
            let message = format!("the HTTP client cannot be set up: {}", causes(&error));
            ModelError::new(ErrorClass::Transport, message)
                .with_retryable(false)
                .with_source(error.without_url())
        })?;
        Ok(Self::from_client(client))
    }

    /// Hands out redirects as they come, for those that check where they lead.
    pub(crate) fn without_redirects(self) -> Self {
        Self { redirects: 0, ..self }
    }

    /// The settings this crate needs, to add proxies, certificates or another connect timeout (10 s) to:
    /// no redirects, no retries, no timeout on the whole.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ai_http::ReqwestTransport;
    /// let client = ReqwestTransport::client_builder().connect_timeout(Duration::from_secs(3)).build()?;
    /// let transport = ReqwestTransport::from_client(client);
    /// # Ok::<(), reqwest::Error>(())
    /// ```
    pub fn client_builder() -> ClientBuilder {
        Client::builder()
            .user_agent(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
    }

    /// A transport over a client of yours, which shares its pool. Make it from
    /// [`client_builder`](Self::client_builder), or see to it that it
    ///
    /// - follows no redirects (`redirect::Policy::none()`): reqwest would carry key headers along to another
    ///   server. An answer from another origin is refused, but the key is there by then;
    /// - does not retry (`retry::never()`): what is tried again is decided above;
    /// - has a connect timeout and no timeout on the whole, which would cut long answers.
    pub fn from_client(client: Client) -> Self {
        Self { client, redirects: REDIRECTS }
    }
}

impl fmt::Debug for ReqwestTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A client shows its default headers, which may hold a key.
        f.debug_struct("ReqwestTransport").finish_non_exhaustive()
    }
}

#[async_trait]
impl Transport for ReqwestTransport {
    async fn send(&self, call: HttpCall) -> Result<HttpResponse, ModelError> {
        let mut url = parse(&call.url)?;
        for _ in 0..=self.redirects {
            let request = self.client.request(call.method.clone(), url.clone());
            let sent = request.headers(call.headers.clone()).body(call.body.clone()).send().await;
            let response = sent.map_err(|error| not_sent(error, &url))?;
            if response.url().origin() != url.origin() {
                return Err(refused(&url, response.url(), response.status()));
            }
            if self.redirects == 0 {
                return Ok(head(response));
            }
            match next_hop(&call.method, &url, &response)? {
                Some(next) => url = next,
                None => return Ok(head(response)),
            }
        }
        let message = format!("{} redirects more than {REDIRECTS} times", redact_url(&call.url));
        Err(ModelError::new(ErrorClass::InvalidRequest, message))
    }
}

fn parse(url: &str) -> Result<Url, ModelError> {
    let refuse = |why: String| {
        let message = format!("{:?} is not a usable URL: {why}", redact_url(url));
        ModelError::new(ErrorClass::InvalidRequest, message)
    };
    let parsed = Url::parse(url).map_err(|error| refuse(error.to_string()))?;
    match parsed.scheme() {
        "http" | "https" => Ok(parsed),
        _ => Err(refuse("it must begin with http:// or https://".into())),
    }
}

/// Where a response sends the request, if it does.
fn next_hop(method: &Method, url: &Url, response: &Response) -> Result<Option<Url>, ModelError> {
    let status = response.status();
    let keeps_method = match status.as_u16() {
        307 | 308 => true,
        301..=303 => matches!(*method, Method::GET | Method::HEAD),
        _ => return Ok(None),
    };
    let location = response.headers().get(http::header::LOCATION);
    let Some(next) = location.and_then(|location| url.join(location.to_str().ok()?).ok()) else {
        return Ok(None);
    };
    if next.origin() != url.origin() || !keeps_method {
        return Err(refused(url, &next, status));
    }
    Ok(Some(next))
}

fn refused(from: &Url, to: &Url, status: StatusCode) -> ModelError {
    let message = if from.origin() == to.origin() {
        format!(
            "{} moved to {}, and this kind of redirect loses the request: set the new URL",
            redact_url(from.as_str()),
            redact_url(to.as_str())
        )
    } else {
        format!(
            "{} redirects to {}, another origin, which must not get the key: if it is right, set it as the URL",
            from.origin().ascii_serialization(),
            to.origin().ascii_serialization()
        )
    };
    ModelError::new(ErrorClass::InvalidRequest, message).with_status(status.as_u16())
}

fn head(response: Response) -> HttpResponse {
    let place = place(response.url());
    HttpResponse {
        status: response.status(),
        headers: response.headers().clone(),
        url: response.url().as_str().to_owned(),
        body: Box::pin(Chunks { inner: response.bytes_stream(), place }),
    }
}

struct Chunks<S> {
    inner: S,
    place: String,
}

impl<S: Stream<Item = reqwest::Result<Bytes>> + Unpin> Stream for Chunks<S> {
    type Item = Result<Bytes, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = Pin::new(&mut self.inner).poll_next(cx);
        next.map(|next| next.map(|chunk| chunk.map_err(|error| broken(error, &self.place))))
    }
}

/// `host:port`, as people look for it.
fn place(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port_or_known_default().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn not_sent(error: reqwest::Error, url: &Url) -> ModelError {
    let error = error.without_url();
    let (place, causes) = (place(url), causes(&error));
    let transport = ErrorClass::Transport;
    let (class, message) = if error.is_builder() {
        (ErrorClass::InvalidRequest, format!("the request cannot be sent: {causes}"))
    } else if error.is_dns() {
        let host = url.host_str().unwrap_or_default();
        (transport, format!("the host {host} cannot be found: check its name and the network"))
    } else if error.is_timeout() && error.is_connect() {
        (
            ErrorClass::Timeout,
            format!("no connection to {place} in time: check the host, the port and the network"),
        )
    } else if error.is_timeout() {
        (ErrorClass::Timeout, format!("no answer from {place} in time"))
    } else if let Some(message) = io_kind(&error).and_then(|kind| unreachable(kind, &place)) {
        (transport, message)
    } else if error.is_connect() {
        (transport, format!("no connection to {place}: {causes}"))
    } else {
        (transport, format!("the connection to {place} broke before an answer came: {causes}"))
    };
    ModelError::new(class, message).with_source(error)
}

fn unreachable(kind: io::ErrorKind, place: &str) -> Option<String> {
    Some(match kind {
        io::ErrorKind::ConnectionRefused => {
            format!("nothing listens at {place}: check the host and the port, and whether the server runs")
        }
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => {
            format!("{place} cannot be reached: check the network")
        }
        _ => return None,
    })
}

fn broken(error: reqwest::Error, place: &str) -> ModelError {
    let error = error.without_url();
    let class = if error.is_timeout() { ErrorClass::Timeout } else { ErrorClass::Transport };
    let message = format!("the connection to {place} broke: {}", causes(&error));
    ModelError::new(class, message).with_source(error)
}

fn io_kind(error: &dyn StdError) -> Option<io::ErrorKind> {
    let mut next = error.source();
    while let Some(cause) = next {
        if let Some(error) = cause.downcast_ref::<io::Error>() {
            return Some(error.kind());
        }
        next = cause.source();
    }
    None
}
