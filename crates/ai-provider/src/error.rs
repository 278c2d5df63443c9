use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

type Source = Arc<dyn StdError + Send + Sync>;

/// What kind of failure a model call met. Retry, fallback and people read this first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ErrorClass {
    /// Too many requests for now.
    RateLimit,
    /// The credit or the plan is used up: waiting does not help, another key may.
    Quota,
    /// The provider has no capacity at the moment.
    Overloaded,
    /// The key is missing, wrong, or may not do this.
    Auth,
    /// No such model or path.
    NotFound,
    /// The request itself is wrong: the same one will fail again.
    InvalidRequest,
    /// The prompt does not fit the model's window.
    ContextTooLong,
    /// The provider refuses to answer this content.
    ContentRefused,
    /// The history holds opaque blocks (signatures, encrypted reasoning) this target no longer accepts.
    StaleReplay,
    /// The server failed (5xx).
    Server,
    /// The connection could not be made, or broke.
    Transport,
    /// A time limit passed.
    Timeout,
    /// The answer breaks the API's own rules.
    Protocol,
    /// The stream ended before its end marker: what came is a part of the answer.
    Incomplete,
    /// The stream ended properly but gave no finish reason.
    MissingFinish,
    /// The answer is whole and holds nothing.
    Empty,
    /// A line, event, body or message is larger than its limit.
    TooLarge,
    /// The model or API cannot do what was asked for explicitly.
    Unsupported,
    /// The caller cancelled.
    Cancelled,
}

impl ErrorClass {
    /// The name used in stored data and printed output, for example `rate-limit`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RateLimit => "rate-limit",
            Self::Quota => "quota",
            Self::Overloaded => "overloaded",
            Self::Auth => "auth",
            Self::NotFound => "not-found",
            Self::InvalidRequest => "invalid-request",
            Self::ContextTooLong => "context-too-long",
            Self::ContentRefused => "content-refused",
            Self::StaleReplay => "stale-replay",
            Self::Server => "server",
            Self::Transport => "transport",
            Self::Timeout => "timeout",
            Self::Protocol => "protocol",
            Self::Incomplete => "incomplete",
            Self::MissingFinish => "missing-finish",
            Self::Empty => "empty",
            Self::TooLarge => "too-large",
            Self::Unsupported => "unsupported",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether the same target may be tried again after such a failure, unless the error says otherwise.
    pub fn retryable_by_default(self) -> bool {
        matches!(
            self,
            Self::RateLimit
                | Self::Overloaded
                | Self::Server
                | Self::Transport
                | Self::Timeout
                | Self::Incomplete
                | Self::MissingFinish
                | Self::Empty
        )
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// When the server says that trying again makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hint {
    /// After this much time. Never zero: a hint of nothing is no hint.
    After(Duration),
    /// At this point of the server's own calendar; resolve it against the response's `Date`.
    At(SystemTime),
}

/// The failure of a model call.
///
/// Opaque: read it through [`class`](Self::class) and the other accessors. It is one pointer wide, cheap to
/// clone, and never holds a secret: adapters mask keys before they build it.
///
/// ```
/// use ai_provider::{ErrorClass, ModelError};
/// let error = ModelError::new(ErrorClass::RateLimit, "slow down").with_status(429);
/// assert!(error.retryable());
/// assert_eq!(error.to_string(), "rate-limit (HTTP 429): slow down");
/// ```
#[derive(Clone)]
pub struct ModelError(Box<Inner>);

#[derive(Clone)]
struct Inner {
    class: ErrorClass,
    message: String,
    status: Option<u16>,
    code: Option<String>,
    request_id: Option<String>,
    retryable: bool,
    hint: Option<Hint>,
    url: Option<String>,
    excerpt: Option<String>,
    source: Option<Source>,
}

impl ModelError {
    /// An error of a class, with a sentence for people. The retry verdict is the class's default.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            class,
            message: message.into(),
            status: None,
            code: None,
            request_id: None,
            retryable: class.retryable_by_default(),
            hint: None,
            url: None,
            excerpt: None,
            source: None,
        }))
    }

    /// The error of a call that its caller cancelled.
    pub fn cancelled() -> Self {
        Self::new(ErrorClass::Cancelled, "the call was cancelled")
    }

    /// Says it in other words.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.0.message = message.into();
        self
    }

    /// Adds the HTTP status, or the status an error inside a 200 stream stands for.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.0.status = Some(status);
        self
    }

    /// Adds the provider's own error code.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.0.code = Some(code.into());
        self
    }

    /// Adds the id under which the provider knows the request.
    #[must_use]
    pub fn with_request_id(mut self, id: impl Into<String>) -> Self {
        self.0.request_id = Some(id.into());
        self
    }

    /// Overrides the verdict of the class.
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.0.retryable = retryable;
        self
    }

    /// Sets the server's hint when to try again. A hint to wait no time at all is none.
    #[must_use]
    pub fn with_hint(mut self, hint: Hint) -> Self {
        self.0.hint = (hint != Hint::After(Duration::ZERO)).then_some(hint);
        self
    }

    /// Adds the final URL. It must hold no secret: no user info, no key in the query.
    #[must_use]
    pub fn with_url(mut self, url: impl Into<String>) -> Self {
        self.0.url = Some(url.into());
        self
    }

    /// Adds a short, masked excerpt of what the server said.
    #[must_use]
    pub fn with_excerpt(mut self, excerpt: impl Into<String>) -> Self {
        self.0.excerpt = Some(excerpt.into());
        self
    }

    /// Adds the error beneath this one.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(Arc::from(source.into()));
        self
    }

    /// The kind of failure.
    pub fn class(&self) -> ErrorClass {
        self.0.class
    }

    /// The sentence, without class, status and URL.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The HTTP status, if there was an answer.
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// The provider's own error code.
    pub fn code(&self) -> Option<&str> {
        self.0.code.as_deref()
    }

    /// The id under which the provider knows the request.
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// Whether the same target may be tried again.
    pub fn retryable(&self) -> bool {
        self.0.retryable
    }

    /// When the server says that trying again makes sense.
    pub fn hint(&self) -> Option<Hint> {
        self.0.hint
    }

    /// The final URL, without secrets.
    pub fn url(&self) -> Option<&str> {
        self.0.url.as_deref()
    }

    /// A short, masked excerpt of what the server said.
    pub fn excerpt(&self) -> Option<&str> {
        self.0.excerpt.as_deref()
    }

    /// Whether the caller cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.class == ErrorClass::Cancelled
    }

    /// Whether a time limit passed.
    pub fn is_timeout(&self) -> bool {
        self.0.class == ErrorClass::Timeout
    }

    /// Whether another key of the same endpoint may do better: auth, rate limit or quota.
    pub fn is_key_related(&self) -> bool {
        matches!(self.0.class, ErrorClass::Auth | ErrorClass::RateLimit | ErrorClass::Quota)
    }

    /// The error as plain data, for storage and events.
    pub fn record(&self) -> ErrorRecord {
        ErrorRecord {
            class: self.0.class,
            message: self.0.message.clone(),
            status: self.0.status,
            code: self.0.code.clone(),
            request_id: self.0.request_id.clone(),
            retryable: self.0.retryable,
            url: self.0.url.clone(),
        }
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.class)?;
        match (self.0.status, &self.0.code) {
            (Some(status), Some(code)) => write!(f, " (HTTP {status}, {code})")?,
            (Some(status), None) => write!(f, " (HTTP {status})")?,
            (None, Some(code)) => write!(f, " ({code})")?,
            (None, None) => {}
        }
        if let Some(url) = &self.0.url {
            write!(f, " from {url}")?;
        }
        write!(f, ": {}", self.0.message)
    }
}

impl fmt::Debug for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelError")
            .field("class", &self.0.class)
            .field("message", &self.0.message)
            .field("status", &self.0.status)
            .field("code", &self.0.code)
            .field("request_id", &self.0.request_id)
            .field("retryable", &self.0.retryable)
            .field("hint", &self.0.hint)
            .field("url", &self.0.url)
            .field("excerpt", &self.0.excerpt)
            .field("source", &self.0.source)
            .finish()
    }
}

impl StdError for ModelError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_ref().map(|source| &**source as &(dyn StdError + 'static))
    }
}

/// A [`ModelError`] as plain data: what is stored and what events carry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorRecord {
    /// The kind of failure.
    pub class: ErrorClass,
    /// The sentence for people.
    pub message: String,
    /// The HTTP status, if there was an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The provider's own error code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The id under which the provider knows the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Whether the same target may be tried again.
    pub retryable: bool,
    /// The final URL, without secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// The error a record was made of, without hint, excerpt and sources.
impl From<ErrorRecord> for ModelError {
    fn from(record: ErrorRecord) -> Self {
        let mut error = Self::new(record.class, record.message).with_retryable(record.retryable);
        error.0.status = record.status;
        error.0.code = record.code;
        error.0.request_id = record.request_id;
        error.0.url = record.url;
        error
    }
}

impl fmt::Display for ErrorRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.class, self.message)
    }
}
