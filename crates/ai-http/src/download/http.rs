use std::error::Error as StdError;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use ai_provider::{ErrorClass, ModelError};
use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderName};
use url::{Host, Url};

use super::address::{NotPublic, PublicOnly, is_public};
use super::{Download, Downloaded, shown};
use crate::call::HttpCall;
use crate::reqwest_transport::ReqwestTransport;
use crate::stream::compression;
use crate::transport::{Body, HttpResponse, Transport};
use crate::wait::Patience;

/// A moved file takes a step or two, one behind a content network some more.
const REDIRECTS: usize = 5;

/// Downloads over HTTP, for URLs that strangers may have written.
///
/// - Only `http` and `https`.
/// - Only public addresses: what a name resolves to is checked before it is connected to, on each redirect anew, and
///   so are addresses in the URL, in any spelling. Without this, whoever writes a URL into a conversation could read
///   what only this machine can reach. For the same reason the system's proxies, which would resolve the name
///   themselves, are not used.
/// - At most 20 MiB (what APIs take of a file), and 30 s in all.
/// - No key, cookie or header of a model's call goes along.
///
/// ```
/// use std::sync::Arc;
/// use ai_http::{Client, HttpDownload};
/// let client = Client::builder().download(Arc::new(HttpDownload::new()?)).build()?;
/// # let _ = client;
/// # Ok::<(), ai_provider::ModelError>(())
/// ```
#[derive(Clone, Debug)]
pub struct HttpDownload {
    transport: Arc<dyn Transport>,
    private: bool,
    limit: usize,
    timeout: Duration,
}

impl HttpDownload {
    /// The default, with a connection pool of its own.
    ///
    /// # Errors
    /// As [`ReqwestTransport::new`].
    pub fn new() -> Result<Self, ModelError> {
        let client = ReqwestTransport::client_builder().no_proxy().dns_resolver(Arc::new(PublicOnly));
        Ok(Self::over(Arc::new(ReqwestTransport::build(client)?.without_redirects())))
    }

    /// Reaches addresses of this machine and network too: for URLs that only trusted people write.
    ///
    /// # Errors
    /// As [`ReqwestTransport::new`].
    pub fn including_private() -> Result<Self, ModelError> {
        let transport = ReqwestTransport::build(ReqwestTransport::client_builder().no_proxy())?;
        Ok(Self { private: true, ..Self::over(Arc::new(transport.without_redirects())) })
    }

    /// By a transport of yours. Addresses in URLs are checked as ever; what a name resolves to is for the transport
    /// to check.
    pub fn over(transport: Arc<dyn Transport>) -> Self {
        Self { transport, private: false, limit: 20 * 1024 * 1024, timeout: Duration::from_secs(30) }
    }

    /// Sets the most bytes a file may have.
    #[must_use]
    pub fn with_limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Sets how long a download may take in all.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    async fn fetch(&self, url: &str) -> Result<Downloaded, ModelError> {
        let mut url = Url::parse(url).map_err(|error| useless(url, error.to_string()))?;
        for _ in 0..=REDIRECTS {
            self.check(&url)?;
            let sent = self.transport.send(HttpCall::get(url.as_str())).await;
            let response = sent.map_err(|error| not_sent(&url, error))?;
            match next(&url, &response)? {
                Some(next) => url = next,
                None => return self.read(&url, response).await,
            }
        }
        Err(useless(url.as_str(), format!("it is redirected more than {REDIRECTS} times")))
    }

    /// Addresses that stand in a URL never meet the resolver.
    fn check(&self, url: &Url) -> Result<(), ModelError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(useless(url.as_str(), "only http and https are fetched"));
        }
        let address = match url.host() {
            None => return Err(useless(url.as_str(), "it names no host")),
            Some(Host::Domain(_)) => return Ok(()),
            Some(Host::Ipv4(address)) => address.into(),
            Some(Host::Ipv6(address)) => address.into(),
        };
        match self.private || is_public(address) {
            true => Ok(()),
            false => Err(useless(url.as_str(), NotPublic(address.to_string()).to_string())),
        }
    }

    async fn read(&self, url: &Url, response: HttpResponse) -> Result<Downloaded, ModelError> {
        let status = response.status;
        if !status.is_success() {
            let why = format!("the server answered {status}");
            let passing = status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429);
            return Err(if passing { broken(url, why) } else { useless(url.as_str(), why) });
        }
        if let Some(how) = compression(&response.headers) {
            return Err(useless(
                url.as_str(),
                format!("it comes compressed ({how}), which was not asked for"),
            ));
        }
        let said = text(&response.headers, CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
        if said.is_some_and(|said| usize::try_from(said).map_or(true, |said| said > self.limit)) {
            return Err(self.too_large(url));
        }
        let data = self.collect(url, response.body).await?;
        let media_type = text(&response.headers, CONTENT_TYPE).and_then(|value| value.split(';').next());
        let media_type =
            media_type.map(|value| value.trim().to_ascii_lowercase()).filter(|value| !value.is_empty());
        Ok(Downloaded { media_type, data })
    }

    async fn collect(&self, url: &Url, mut body: Body) -> Result<Bytes, ModelError> {
        let mut data = BytesMut::new();
        while let Some(chunk) = poll_fn(|cx| body.as_mut().poll_next(cx)).await {
            let chunk = chunk.map_err(|error| not_sent(url, error))?;
            if chunk.len() > self.limit - data.len() {
                return Err(self.too_large(url));
            }
            data.extend_from_slice(&chunk);
        }
        Ok(data.freeze())
    }

    fn too_large(&self, url: &Url) -> ModelError {
        failed(ErrorClass::TooLarge, url.as_str(), format!("it is larger than {} bytes", self.limit))
    }
}

#[async_trait]
impl Download for HttpDownload {
    async fn download(&self, url: &str) -> Result<Downloaded, ModelError> {
        let fetched = Patience::new(Some(self.timeout)).wait(self.fetch(url)).await;
        fetched.unwrap_or_else(|| {
            let why = format!("it is not here after {:?}", self.timeout);
            Err(failed(ErrorClass::Timeout, url, why).with_retryable(true))
        })
    }
}

/// Where a response sends us, if it does.
fn next(url: &Url, response: &HttpResponse) -> Result<Option<Url>, ModelError> {
    if !matches!(response.status.as_u16(), 301..=303 | 307 | 308) {
        return Ok(None);
    }
    let location = text(&response.headers, LOCATION).and_then(|location| url.join(location).ok());
    location.map(Some).ok_or_else(|| useless(url.as_str(), "it is redirected, but it is not said to where"))
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

fn not_sent(url: &Url, error: ModelError) -> ModelError {
    if let Some(refused) = not_public(&error) {
        return useless(url.as_str(), refused);
    }
    let (class, retryable) = (error.class(), error.retryable());
    failed(class, url.as_str(), error.message()).with_retryable(retryable).with_source(error)
}

fn not_public(error: &ModelError) -> Option<String> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(refused) = error.downcast_ref::<NotPublic>() {
            return Some(refused.to_string());
        }
        cause = error.source();
    }
    None
}

/// What another try does not change.
fn useless(url: &str, why: impl AsRef<str>) -> ModelError {
    failed(ErrorClass::InvalidRequest, url, why)
}

/// What another try may change. Not of a class that says something of the model's server.
fn broken(url: &Url, why: impl AsRef<str>) -> ModelError {
    failed(ErrorClass::Transport, url.as_str(), why).with_retryable(true)
}

fn failed(class: ErrorClass, url: &str, why: impl AsRef<str>) -> ModelError {
    let url = shown(url);
    ModelError::new(class, format!("the file at {url} cannot be downloaded: {}", why.as_ref())).with_url(url)
}
