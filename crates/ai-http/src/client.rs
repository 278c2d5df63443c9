use std::fmt;
use std::sync::Arc;

use ai_provider::{
    ApiKey, CallContext, Capabilities, KeyLabel, KeySource, Keys, LanguageModel, ModelError, TargetId,
};
use http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;

use crate::auth::{Authorize, Bearer};
use crate::call::HttpCall;
use crate::codec::Codec;
use crate::document::{self, DocumentCodec, ReadError, Slot};
use crate::download::{Download, Downloads};
use crate::limits::{Limits, Timeouts};
use crate::model::HttpModel;
use crate::reqwest_transport::ReqwestTransport;
use crate::transport::Transport;

/// How the calls of a provider get out, the same for all of its models: transport, keys, limits, headers.
///
/// ```
/// use ai_http::{Client, HttpCall};
/// use ai_provider::{ApiKey, CallContext, ModelError, TargetId};
///
/// # async fn f() -> Result<(), ModelError> {
/// let client = Client::builder().api_key(ApiKey::new("sk-1")?).header("x-team", "blue").build()?;
/// let target = TargetId::new("acme", "", "https://api.acme.example/v1");
/// let call = HttpCall::get("https://api.acme.example/v1/models");
/// let list: serde_json::Value = client.fetch_json(&target, call, CallContext::new()).await?;
/// # let _ = list; Ok(()) }
/// ```
#[derive(Clone)]
pub struct Client {
    transport: Arc<dyn Transport>,
    keys: Arc<dyn KeySource>,
    authorize: Arc<dyn Authorize>,
    timeouts: Timeouts,
    limits: Limits,
    headers: HeaderMap,
    downloads: Option<Downloads>,
    read_error: ReadError,
}

impl Client {
    /// Begins with no key, no further header and the defaults of everything else.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// A model around this codec.
    pub fn model<C: Codec>(&self, codec: C, target: TargetId, capabilities: Capabilities) -> HttpModel<C> {
        HttpModel::new(codec, target, Arc::clone(&self.transport))
            .with_keys(Arc::clone(&self.keys))
            .with_authorize(Arc::clone(&self.authorize))
            .with_capabilities(capabilities)
            .with_timeouts(self.timeouts)
            .with_limits(self.limits)
            .with_headers(self.headers.clone())
            .with_downloads(self.downloads.clone())
    }

    /// Sends a call that is answered by one JSON document (a list of models, embeddings) and reads it. Key,
    /// timers, limits, cancellation and errors are those of a model's call; `target` stands in logs and errors.
    ///
    /// # Errors
    /// Whatever the call meets; `Protocol` if the document is of another form.
    pub async fn fetch_json<T: DeserializeOwned + Send + 'static>(
        &self,
        target: &TargetId,
        call: HttpCall,
        ctx: CallContext,
    ) -> Result<T, ModelError> {
        self.fetch_with(target, call, &[], ctx).await
    }

    /// As [`fetch_json`](Self::fetch_json), with headers of the request's own: they replace or, where the value is
    /// `None`, remove those of client and key.
    ///
    /// # Errors
    /// As [`fetch_json`](Self::fetch_json); `InvalidRequest` for a header that is not legal.
    pub async fn fetch_with<T: DeserializeOwned + Send + 'static>(
        &self,
        target: &TargetId,
        call: HttpCall,
        headers: &[(String, Option<String>)],
        ctx: CallContext,
    ) -> Result<T, ModelError> {
        let slot = Slot::new();
        let codec = DocumentCodec { call, read_error: self.read_error, slot: slot.clone() };
        let model = self.model(codec, target.clone(), Capabilities::default());
        let mut request = document::request();
        request.extra_headers = headers.to_vec();
        document::read(model.stream(request, ctx), &slot).await
    }

    /// The labels of the keys.
    pub fn keys(&self) -> &[KeyLabel] {
        self.keys.labels()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("keys", &self.keys.labels()).finish_non_exhaustive()
    }
}

/// Sets up a [`Client`]. Nothing is checked before [`build`](Self::build).
///
/// A provider's own builder holds one and offers its setters by [`client_setters!`](crate::client_setters).
#[derive(Default)]
pub struct ClientBuilder {
    keys: Option<Arc<dyn KeySource>>,
    authorize: Option<Arc<dyn Authorize>>,
    transport: Option<Arc<dyn Transport>>,
    timeouts: Timeouts,
    limits: Limits,
    headers: Vec<(String, Option<String>)>,
    download: Option<Arc<dyn Download>>,
    read_error: Option<ReadError>,
}

impl ClientBuilder {
    /// Sets where keys come from. Default: none.
    #[must_use]
    pub fn keys(mut self, keys: Arc<dyn KeySource>) -> Self {
        self.keys = Some(keys);
        self
    }

    /// Sets the one key.
    #[must_use]
    pub fn api_key(self, key: ApiKey) -> Self {
        self.keys(Arc::new(Keys::one(key)))
    }

    /// Sets how a call shows its key. Default: as [`authorize_or`](Self::authorize_or) says, else [`Bearer`].
    #[must_use]
    pub fn authorize(mut self, authorize: Arc<dyn Authorize>) -> Self {
        self.authorize = Some(authorize);
        self
    }

    /// Sets how a call shows its key where the caller does not say: for providers whose default is not
    /// [`Bearer`].
    #[must_use]
    pub fn authorize_or(mut self, default: impl Authorize + 'static) -> Self {
        self.authorize.get_or_insert_with(|| Arc::new(default));
        self
    }

    /// Sets the transport. Default: a reqwest client of its own.
    #[must_use]
    pub fn transport(mut self, transport: Arc<dyn Transport>) -> Self {
        self.transport = Some(transport);
        self
    }

    /// Sets how long to wait for the server.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Sets how much of an answer is held in memory.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Adds a header to every call. Its value is kept out of logs and errors if the name says that it is a secret
    /// (`api-key`, `x-token`, …).
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), Some(value.into())));
        self
    }

    /// Sets how files are got at URLs the models cannot fetch, for example by
    /// [`HttpDownload`](crate::HttpDownload). What was got is shared by the models and steps of a run. Default: not at
    /// all, which is an error where a user gives such a URL.
    #[must_use]
    pub fn download(mut self, download: Arc<dyn Download>) -> Self {
        self.download = Some(download);
        self
    }

    /// Sets how the error responses of [`Client::fetch_json`] are read, for an API that says more in them than all do:
    /// what [`Codec::error`] is for its models. Default: [`error_of_response`](crate::error_of_response).
    #[must_use]
    pub fn read_errors(mut self, read: fn(StatusCode, &HeaderMap, &[u8]) -> ModelError) -> Self {
        self.read_error = Some(read);
        self
    }

    /// The client.
    ///
    /// # Errors
    /// `InvalidRequest` if a header is not legal; whatever the default transport meets.
    pub fn build(self) -> Result<Client, ModelError> {
        // A call stands in, so that these headers are checked like all others.
        let mut call = HttpCall::get("");
        call.apply_extra(&self.headers)?;
        let transport = match self.transport {
            Some(transport) => transport,
            None => Arc::new(ReqwestTransport::new()?),
        };
        Ok(Client {
            transport,
            keys: self.keys.unwrap_or_else(|| Arc::new(Keys::none())),
            authorize: self.authorize.unwrap_or_else(|| Arc::new(Bearer)),
            timeouts: self.timeouts,
            limits: self.limits,
            headers: call.headers,
            downloads: self.download.map(Downloads::new),
            read_error: self.read_error.unwrap_or(document::usual_error),
        })
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder").finish_non_exhaustive()
    }
}

/// The setters of a [`ClientBuilder`] for a provider's builder that holds one in the named field: `keys`, `api_key`,
/// `authorize`, `transport`, `timeouts`, `limits`, `download` and `header`. To be used inside its `impl`.
///
/// ```
/// use ai_http::{ClientBuilder, client_setters};
///
/// /// Sets up the provider.
/// #[derive(Default)]
/// pub struct AcmeBuilder {
///     client: ClientBuilder,
/// }
///
/// impl AcmeBuilder {
///     client_setters!(client);
/// }
///
/// let _ = AcmeBuilder::default().header("x-team", "blue");
/// ```
#[macro_export]
macro_rules! client_setters {
    ($field:ident) => {
        /// Sets where keys come from. Default: none.
        #[must_use]
        pub fn keys(mut self, keys: ::std::sync::Arc<dyn $crate::reexport::KeySource>) -> Self {
            self.$field = self.$field.keys(keys);
            self
        }

        /// Sets the one key.
        #[must_use]
        pub fn api_key(mut self, key: $crate::reexport::ApiKey) -> Self {
            self.$field = self.$field.api_key(key);
            self
        }

        /// Sets how a call shows its key.
        #[must_use]
        pub fn authorize(mut self, authorize: ::std::sync::Arc<dyn $crate::Authorize>) -> Self {
            self.$field = self.$field.authorize(authorize);
            self
        }

        /// Sets the transport. Default: a reqwest client of its own.
        #[must_use]
        pub fn transport(mut self, transport: ::std::sync::Arc<dyn $crate::Transport>) -> Self {
            self.$field = self.$field.transport(transport);
            self
        }

        /// Sets how long to wait for the server.
        #[must_use]
        pub fn timeouts(mut self, timeouts: $crate::Timeouts) -> Self {
            self.$field = self.$field.timeouts(timeouts);
            self
        }

        /// Sets how much of an answer is held in memory.
        #[must_use]
        pub fn limits(mut self, limits: $crate::Limits) -> Self {
            self.$field = self.$field.limits(limits);
            self
        }

        /// Sets how files are got at URLs the models cannot fetch. Default: not at all, which is an error where a
        /// user gives such a URL.
        #[must_use]
        pub fn download(mut self, download: ::std::sync::Arc<dyn $crate::Download>) -> Self {
            self.$field = self.$field.download(download);
            self
        }

        /// Adds a header to every call. Its value is kept out of logs and errors if the name says that it is a
        /// secret (`api-key`, `x-token`, …).
        #[must_use]
        pub fn header(
            mut self,
            name: impl ::core::convert::Into<::std::string::String>,
            value: impl ::core::convert::Into<::std::string::String>,
        ) -> Self {
            self.$field = self.$field.header(name, value);
            self
        }
    };
}
