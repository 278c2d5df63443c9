use std::sync::Arc;

use ai_provider::*;
use async_trait::async_trait;

use crate::support::finish;

/// A provider that has nothing but a name.
struct Bare;

impl Provider for Bare {
    fn name(&self) -> &str {
        "bare"
    }
}

/// [PV-84]
#[tokio::test]
async fn what_a_provider_does_not_make_is_unsupported() {
    let bare: Arc<dyn Provider> = Arc::new(Bare);
    let errors = [
        (bare.language_model("big").unwrap_err(), "bare has no language models, so it cannot make `big`"),
        (bare.embedding_model("vec").unwrap_err(), "bare has no embedding models, so it cannot make `vec`"),
        (bare.list_models().await.unwrap_err(), "bare has no list of models"),
    ];
    for (error, words) in errors {
        assert_eq!((error.class(), error.message()), (ErrorClass::Unsupported, words));
        assert!(!error.retryable());
    }
}

struct Minimal(TargetId, Capabilities);

impl LanguageModel for Minimal {
    fn target(&self) -> &TargetId {
        &self.0
    }

    fn capabilities(&self) -> &Capabilities {
        &self.1
    }

    fn stream(&self, _: Request, _: CallContext) -> ModelStream {
        Box::pin(futures_util::stream::iter([Ok(finish(UnifiedFinish::Stop))]))
    }
}

struct Vectors(TargetId);

#[async_trait]
impl EmbeddingModel for Vectors {
    fn target(&self) -> &TargetId {
        &self.0
    }

    fn max_batch(&self) -> Option<usize> {
        None
    }

    async fn embed(&self, request: EmbeddingRequest, _: CallContext) -> Result<Embeddings, ModelError> {
        let vectors = request.values.iter().map(|value| vec![value.len() as f32]).collect();
        Ok(Embeddings { vectors, ..Embeddings::default() })
    }
}

/// [PV-85]
#[tokio::test]
async fn a_model_that_says_nothing_of_keys_and_batches_has_the_defaults() {
    let model = Minimal(TargetId::new("p", "m", "e"), Capabilities::default());
    assert!(model.keys().is_empty());
    let vectors = Vectors(TargetId::new("p", "v", "e"));
    assert!(vectors.parallel_batches());
    let embedded = vectors.embed(EmbeddingRequest::new(["a", "bcd"]), CallContext::new()).await.unwrap();
    assert_eq!(embedded.vectors, [[1.0], [3.0]]);
}

/// [PV-86]
#[test]
fn shared_models_print_as_what_they_are() {
    let target = TargetId::new("p", "m", "e");
    let model: Arc<dyn LanguageModel> = Arc::new(Minimal(target.clone(), Capabilities::default()));
    let shown = format!("{model:?}");
    assert!(shown.starts_with("LanguageModel") && shown.contains("\"m\""), "{shown}");
    let vectors: Arc<dyn EmbeddingModel> = Arc::new(Vectors(target));
    assert!(format!("{vectors:?}").starts_with("EmbeddingModel"));
    let provider: Arc<dyn Provider> = Arc::new(Bare);
    assert!(format!("{provider:?}").contains("bare"));
}
