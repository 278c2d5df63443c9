use std::fmt;
use std::sync::Arc;

use ai_provider::{
    CallContext, Capabilities, KeyLabel, KeySource, Keys, LanguageModel, ModelStream, Request, TargetId,
};

use http::HeaderMap;

use crate::auth::{Authorize, Bearer};
use crate::codec::Codec;
use crate::download::{Download, Downloads};
use crate::limits::{Limits, Timeouts};
use crate::stream::CallStream;
use crate::transport::Transport;

/// A language model over HTTP: a codec for its API and a transport to reach it.
///
/// ```no_run
/// use std::sync::Arc;
/// use ai_http::{Codec, HttpModel, ReqwestTransport};
/// use ai_provider::{ApiKey, Keys, LanguageModel, TargetId};
///
/// # fn f(codec: impl Codec) -> Result<(), ai_provider::ModelError> {
/// let target = TargetId::new("acme", "large-1", "https://api.acme.example/v1");
/// let key = ApiKey::new("sk-…".replace('…', "1"))?;
/// let model = HttpModel::new(codec, target, Arc::new(ReqwestTransport::new()?))
///     .with_keys(Arc::new(Keys::one(key)));
/// let model: Arc<dyn LanguageModel> = Arc::new(model);
/// # Ok(()) }
/// ```
pub struct HttpModel<C>(Arc<Shared<C>>);

/// What a model and its calls share.
pub(crate) struct Shared<C> {
    pub(crate) codec: Arc<C>,
    pub(crate) target: TargetId,
    pub(crate) capabilities: Capabilities,
    pub(crate) keys: Arc<dyn KeySource>,
    pub(crate) authorize: Arc<dyn Authorize>,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) timeouts: Timeouts,
    pub(crate) limits: Limits,
    pub(crate) headers: HeaderMap,
    pub(crate) downloads: Option<Downloads>,
}

impl<C> Clone for Shared<C> {
    fn clone(&self) -> Self {
        Self {
            codec: Arc::clone(&self.codec),
            target: self.target.clone(),
            capabilities: self.capabilities.clone(),
            keys: Arc::clone(&self.keys),
            authorize: Arc::clone(&self.authorize),
            transport: Arc::clone(&self.transport),
            timeouts: self.timeouts,
            limits: self.limits,
            headers: self.headers.clone(),
            downloads: self.downloads.clone(),
        }
    }
}

impl<C: Codec> HttpModel<C> {
    /// A model without keys, with default capabilities, timeouts and limits; a key would be sent as
    /// [`Bearer`].
    pub fn new(codec: C, target: TargetId, transport: Arc<dyn Transport>) -> Self {
        Self(Arc::new(Shared {
            codec: Arc::new(codec),
            target,
            capabilities: Capabilities::default(),
            keys: Arc::new(Keys::none()),
            authorize: Arc::new(Bearer),
            transport,
            timeouts: Timeouts::default(),
            limits: Limits::default(),
            headers: HeaderMap::new(),
            downloads: None,
        }))
    }

    /// Sets where keys come from.
    #[must_use]
    pub fn with_keys(self, keys: Arc<dyn KeySource>) -> Self {
        self.with(|shared| shared.keys = keys)
    }

    /// Sets how a call shows its key.
    #[must_use]
    pub fn with_authorize(self, authorize: Arc<dyn Authorize>) -> Self {
        self.with(|shared| shared.authorize = authorize)
    }

    /// Sets what the model can do.
    #[must_use]
    pub fn with_capabilities(self, capabilities: Capabilities) -> Self {
        self.with(|shared| shared.capabilities = capabilities)
    }

    /// Sets how long to wait for the server.
    #[must_use]
    pub fn with_timeouts(self, timeouts: Timeouts) -> Self {
        self.with(|shared| shared.timeouts = timeouts)
    }

    /// Sets how much to hold in memory.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        self.with(|shared| shared.limits = limits)
    }

    /// Sets headers that go with every call, under those of the request. Values marked sensitive stay out of logs.
    #[must_use]
    pub fn with_headers(self, headers: HeaderMap) -> Self {
        self.with(|shared| shared.headers = headers)
    }

    /// Adds headers to those that go with every call, and replaces those of the same name.
    #[must_use]
    pub fn and_headers(self, headers: HeaderMap) -> Self {
        self.with(|shared| shared.headers.extend(headers))
    }

    /// Sets how files are got at URLs the model cannot fetch. Default: not at all, which is an error where a user
    /// gives one.
    #[must_use]
    pub fn with_download(self, download: Arc<dyn Download>) -> Self {
        self.with(|shared| shared.downloads = Some(Downloads::new(download)))
    }

    /// As [`with_download`](Self::with_download), shared with other models.
    pub(crate) fn with_downloads(self, downloads: Option<Downloads>) -> Self {
        self.with(|shared| shared.downloads = downloads)
    }

    fn with(mut self, change: impl FnOnce(&mut Shared<C>)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }
}

impl<C: Codec> LanguageModel for HttpModel<C> {
    fn target(&self) -> &TargetId {
        &self.0.target
    }

    fn capabilities(&self) -> &Capabilities {
        &self.0.capabilities
    }

    fn keys(&self) -> &[KeyLabel] {
        self.0.keys.labels()
    }

    /// See [`LanguageModel::stream`]. It must be polled within a tokio runtime that has its timers enabled.
    fn stream(&self, request: Request, ctx: CallContext) -> ModelStream {
        Box::pin(CallStream::new(Arc::clone(&self.0), request, ctx))
    }
}

impl<C> fmt::Debug for HttpModel<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpModel").field("target", &self.0.target).finish_non_exhaustive()
    }
}
