use std::fmt;
use std::sync::Arc;

use ai_http::{Limits, Transport};
use ai_provider::ApiKey;

/// What a model under test is built with.
#[derive(Clone)]
#[non_exhaustive]
pub struct Site {
    /// The base URL, without a slash at the end.
    pub url: String,
    /// The id of the model.
    pub model: String,
    /// The key. It must be sent, and seen nowhere else.
    pub key: ApiKey,
    /// The way to the server.
    pub transport: Arc<dyn Transport>,
    /// How much of an answer may be held in memory; small in the check of limits.
    pub limits: Limits,
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site").field("url", &self.url).field("model", &self.model).finish_non_exhaustive()
    }
}
