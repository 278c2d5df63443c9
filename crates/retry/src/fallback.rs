use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use ai_provider::{JsonObject, LanguageModel, ProviderOptions, Settings};

type Failure = Box<dyn StdError + Send + Sync>;
pub(crate) type Resolved = Result<Option<Arc<dyn LanguageModel>>, Arc<dyn StdError + Send + Sync>>;
pub(crate) type Resolving = Pin<Box<dyn Future<Output = Resolved> + Send>>;

/// A model to fall back to, with what its calls have otherwise.
///
/// Its requests are made of the caller's neutral ones: messages, tools, settings and provider options go to every
/// target (each reads the options of its own namespace). The extra body and extra headers of a request belong to the
/// primary target and do not come here; give a fallback its own.
///
/// ```
/// use ai_provider::{LanguageModel, Settings};
/// use retry::Fallback;
/// use std::sync::Arc;
///
/// # async fn connect() -> Result<Arc<dyn LanguageModel>, std::io::Error> { Err(std::io::Error::other("no such place")) }
/// let mut settings = Settings::default();
/// settings.temperature = Some(0.2);
/// let fallback = Fallback::lazy("backup", || async { Ok::<_, std::io::Error>(Some(connect().await?)) })
///     .with_settings(settings)
///     .with_retries(1);
/// # let _ = fallback;
/// ```
#[derive(Clone)]
pub struct Fallback {
    pub(crate) name: String,
    pub(crate) source: Source,
    pub(crate) retries: u32,
    pub(crate) settings: Settings,
    pub(crate) options: ProviderOptions,
    pub(crate) extra_body: JsonObject,
    pub(crate) extra_headers: Vec<(String, Option<String>)>,
}

#[derive(Clone)]
pub(crate) enum Source {
    Model(Arc<dyn LanguageModel>),
    Lazy(Arc<dyn Fn() -> Resolving + Send + Sync>),
}

impl Fallback {
    /// A model that is there already.
    pub fn to(model: Arc<dyn LanguageModel>) -> Self {
        Self::new(model.target().to_string(), Source::Model(model))
    }

    /// A model that is made only when a failure needs it: resolved once for a run. `Ok(None)` says that it is not
    /// available now; it is asked again on the next failure. An error passes it over, with that reason.
    pub fn lazy<F, Fut, E>(name: impl Into<String>, resolve: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Option<Arc<dyn LanguageModel>>, E>> + Send + 'static,
        E: Into<Failure>,
    {
        let resolve = Arc::new(move || {
            let resolving = resolve();
            Box::pin(async move { resolving.await.map_err(|error| Arc::from(error.into())) }) as Resolving
        });
        Self::new(name.into(), Source::Lazy(resolve))
    }

    fn new(name: String, source: Source) -> Self {
        Self {
            name,
            source,
            retries: 0,
            settings: Settings::default(),
            options: ProviderOptions::default(),
            extra_body: JsonObject::new(),
            extra_headers: Vec::new(),
        }
    }

    /// Sets how often it is tried again itself. Default 0.
    #[must_use]
    pub fn with_retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Sets what its calls have instead of the caller's settings, as far as it is said here.
    #[must_use]
    pub fn with_settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets provider options that are merged over those of the request.
    #[must_use]
    pub fn with_options(mut self, options: ProviderOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets what is merged into the body of its calls.
    #[must_use]
    pub fn with_extra_body(mut self, extra: JsonObject) -> Self {
        self.extra_body = extra;
        self
    }

    /// Sets further headers of its calls; a value of `None` removes one.
    #[must_use]
    pub fn with_extra_headers(mut self, headers: Vec<(String, Option<String>)>) -> Self {
        self.extra_headers = headers;
        self
    }
}

impl fmt::Debug for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fallback")
            .field("name", &self.name)
            .field("retries", &self.retries)
            .finish_non_exhaustive()
    }
}
