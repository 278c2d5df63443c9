//! Files at URLs, for models that cannot fetch them.

use std::fmt;
use std::sync::Arc;

use ai_provider::{ModelError, ScopeKey};
use async_trait::async_trait;
use bytes::Bytes;

use crate::redact::redact_url;

mod address;
mod data_url;
mod http;
mod stage;

#[cfg(test)]
mod tests;

pub use http::HttpDownload;
pub(crate) use stage::at_hand;

/// Gets a file at a URL before the request is written, for a model whose API cannot: which ones those are is told
/// by [`Codec::must_download`](crate::Codec::must_download).
///
/// A URL may come from anyone who can write into a conversation, a web page that a tool read among them. An
/// implementation decides where it goes on their behalf; see [`HttpDownload`] for what the default one refuses.
///
/// ```
/// use ai_http::{Download, Downloaded};
/// use ai_provider::{ErrorClass, ModelError};
///
/// #[derive(Debug)]
/// struct FromStore;
///
/// #[async_trait::async_trait]
/// impl Download for FromStore {
///     async fn download(&self, url: &str) -> Result<Downloaded, ModelError> {
///         match url.strip_prefix("store://") {
///             Some(name) => Ok(Downloaded { media_type: None, data: name.as_bytes().to_vec().into() }),
///             None => Err(ModelError::new(ErrorClass::InvalidRequest, "only store:// is served")),
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait Download: Send + Sync + fmt::Debug + 'static {
    /// Gets the file. It is called once per URL and run; dropping the future ends it.
    ///
    /// # Errors
    /// Whatever stands in the way; `InvalidRequest` if another try is useless.
    async fn download(&self, url: &str) -> Result<Downloaded, ModelError>;
}

/// A file that was downloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Downloaded {
    /// What the server calls it, such as `image/png`; absent if it does not say.
    pub media_type: Option<String>,
    /// Its content.
    pub data: Bytes,
}

/// How the models of a provider get files. They share what was got in a run.
#[derive(Clone, Debug)]
pub(crate) struct Downloads {
    by: Arc<dyn Download>,
    key: ScopeKey,
}

impl Downloads {
    pub(crate) fn new(by: Arc<dyn Download>) -> Self {
        Self { by, key: ScopeKey::new() }
    }
}

/// A URL as it may be shown: without secrets, and short.
fn shown(url: &str) -> String {
    const CHARACTERS: usize = 300;
    let url = redact_url(url);
    match url.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("{}…", url.get(..end).unwrap_or_default()),
        None => url,
    }
}
