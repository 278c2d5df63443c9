use ai_http::{Client, HttpCall, Notes, merge_field, options_of};
use ai_provider::{
    CallContext, EmbeddingModel, EmbeddingRequest, Embeddings, ErrorClass, JsonObject, ModelError, TargetId,
    Usage,
};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The most texts one call may have: what the API takes.
const MAX_BATCH: usize = 100;

/// Gemini's embeddings, a batch in each call.
pub(crate) struct GoogleEmbedding {
    client: Client,
    target: TargetId,
    url: String,
}

#[derive(Serialize)]
struct Batch {
    requests: Vec<JsonObject>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Answer {
    embeddings: Vec<Vector>,
    usage_metadata: Option<Value>,
}

#[derive(Deserialize)]
struct Vector {
    values: Vec<f32>,
}

impl GoogleEmbedding {
    pub(crate) fn new(client: Client, target: TargetId, url: String) -> Self {
        Self { client, target, url }
    }

    /// One text, with what the options say of all of them.
    fn item(&self, text: &str, request: &EmbeddingRequest, options: &JsonObject) -> JsonObject {
        let model = &self.target.model;
        let model = if model.contains('/') { model.clone() } else { format!("models/{model}") };
        let mut item = JsonObject::new();
        item.insert("model".into(), model.into());
        item.insert("content".into(), json!({ "parts": [{ "text": text }] }));
        if let Some(dimensions) = request.dimensions {
            item.insert("outputDimensionality".into(), dimensions.into());
        }
        for (key, value) in options {
            merge_field(&mut item, key, value);
        }
        item
    }
}

#[async_trait]
impl EmbeddingModel for GoogleEmbedding {
    fn target(&self) -> &TargetId {
        &self.target
    }

    fn max_batch(&self) -> Option<usize> {
        Some(MAX_BATCH)
    }

    async fn embed(&self, request: EmbeddingRequest, ctx: CallContext) -> Result<Embeddings, ModelError> {
        let count = request.values.len();
        if count == 0 {
            return Ok(Embeddings::default());
        }
        if count > MAX_BATCH {
            let message = format!("{count} texts are more than the {MAX_BATCH} that one call may have");
            return Err(ModelError::new(ErrorClass::InvalidRequest, message));
        }
        let options = options_of(&request.options, &["google", &self.target.provider]);
        let mut notes = Notes::default();
        if request.dimensions.is_some() && options.contains_key("outputDimensionality") {
            notes.compatibility("dimensions", "the option `outputDimensionality` takes their place");
        }
        let requests = request.values.iter().map(|text| self.item(text, &request, &options)).collect();
        let mut call = HttpCall::post_json(&self.url, &Batch { requests })?;
        call.apply_extra(&request.extra_headers)?;
        let answer: Answer = self.client.fetch_json(&self.target, call, ctx).await?;
        let vectors: Vec<_> = answer.embeddings.into_iter().map(|vector| vector.values).collect();
        if vectors.len() != count {
            let message = format!("{count} texts were sent, and {} vectors came back", vectors.len());
            return Err(ModelError::new(ErrorClass::Protocol, message));
        }
        let mut usage = Usage::default();
        if let Some(raw) = answer.usage_metadata {
            usage.input.total = raw.get("promptTokenCount").and_then(Value::as_u64);
            usage.raw = Some(raw.into());
        }
        Ok(Embeddings { vectors, usage, warnings: notes.into_warnings() })
    }
}
