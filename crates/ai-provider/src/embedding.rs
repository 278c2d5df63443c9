use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::context::CallContext;
use crate::error::ModelError;
use crate::options::ProviderOptions;
use crate::request::HeaderNames;
use crate::target::TargetId;
use crate::usage::Usage;
use crate::warning::Warning;

/// Turns texts into vectors.
#[async_trait]
pub trait EmbeddingModel: Send + Sync + 'static {
    /// What a call goes to.
    fn target(&self) -> &TargetId;

    /// The most values one call may have; no limit if absent.
    fn max_batch(&self) -> Option<usize>;

    /// Whether batches may be sent at the same time.
    fn parallel_batches(&self) -> bool {
        true
    }

    /// Embeds one batch.
    ///
    /// # Errors
    /// `InvalidRequest` for more than [`max_batch`](Self::max_batch) values, else whatever the call met.
    async fn embed(&self, request: EmbeddingRequest, ctx: CallContext) -> Result<Embeddings, ModelError>;
}

impl fmt::Debug for dyn EmbeddingModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddingModel").field("target", self.target()).finish_non_exhaustive()
    }
}

/// Texts to embed.
///
/// ```
/// use ai_provider::EmbeddingRequest;
/// let mut request = EmbeddingRequest::new(["a river", "a mountain"]);
/// request.dimensions = Some(256);
/// assert_eq!(request.values.len(), 2);
/// ```
///
/// `Debug` shows the names of the extra headers without their values, which may be secrets.
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct EmbeddingRequest {
    /// The texts.
    pub values: Vec<String>,
    /// The length of the vectors; the model's own if absent.
    pub dimensions: Option<u32>,
    /// Options for the provider.
    pub options: ProviderOptions,
    /// Further headers; a value of `None` removes one.
    pub extra_headers: Vec<(String, Option<String>)>,
}

impl EmbeddingRequest {
    /// A request for these texts.
    pub fn new(values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { values: values.into_iter().map(Into::into).collect(), ..Self::default() }
    }
}

impl fmt::Debug for EmbeddingRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { values, dimensions, options, extra_headers } = self;
        f.debug_struct("EmbeddingRequest")
            .field("values", values)
            .field("dimensions", dimensions)
            .field("options", options)
            .field("extra_headers", &HeaderNames(extra_headers))
            .finish()
    }
}

/// Vectors, in the order of the texts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Embeddings {
    /// One vector per text.
    pub vectors: Vec<Vec<f32>>,
    /// What it took.
    #[serde(default)]
    pub usage: Usage,
    /// What could not be done as asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}
