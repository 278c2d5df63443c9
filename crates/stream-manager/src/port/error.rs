use std::error::Error;
use std::fmt;

/// Why a store, a log or a bus did not do what it was asked.
#[derive(Debug)]
pub struct StoreError {
    kind: StoreErrorKind,
    what: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// The kind of a [`StoreError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// The lease is not the topic's latest any more: somebody else owns it. Nothing was written, and nothing under this
    /// lease ever will be.
    Fenced,
    /// What was asked for does not fit what is stored: an input that is not queued, a row that exists. Nothing was
    /// written.
    Conflict,
    /// The topic, or the row, is not there.
    NotFound,
    /// The store cannot be reached, or does not answer in time. It may have written; doing it again does no harm.
    Unavailable,
    /// There is no room. Nothing was written.
    Full,
    /// What is stored cannot be read.
    Corrupt,
}

impl StoreError {
    /// An error; `what` says what could not be done, without secrets.
    pub fn new(kind: StoreErrorKind, what: impl Into<String>) -> Self {
        Self { kind, what: what.into(), source: None }
    }

    /// Sets what it comes from.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The lease is not the latest.
    pub fn fenced(what: impl Into<String>) -> Self {
        Self::new(StoreErrorKind::Fenced, what)
    }

    /// What kind of error it is.
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// Whether the same may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self.kind, StoreErrorKind::Unavailable | StoreErrorKind::Full)
    }

    /// Whether somebody else owns the topic.
    pub fn is_fenced(&self) -> bool {
        self.kind == StoreErrorKind::Fenced
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.kind {
            StoreErrorKind::Fenced => "the topic has another owner",
            StoreErrorKind::Conflict => "it does not fit what is stored",
            StoreErrorKind::NotFound => "it is not there",
            StoreErrorKind::Unavailable => "the store does not answer",
            StoreErrorKind::Full => "the store is full",
            StoreErrorKind::Corrupt => "what is stored cannot be read",
        };
        write!(f, "{}: {why}", self.what)
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| &**source as &(dyn Error + 'static))
    }
}
