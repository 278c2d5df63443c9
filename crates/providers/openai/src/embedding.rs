//! Texts to vectors.

use std::fmt;
use std::sync::Arc;

use ai_http::{Client, Endpoint, HttpCall, merge_field, options_of, redact_url};
use ai_provider::{
    CallContext, EmbeddingModel, EmbeddingRequest, Embeddings, ErrorClass, JsonObject, ModelError, TargetId,
    Usage,
};
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::decode::usage;
use crate::dialect::Dialect;

/// Bytes of a number in a vector that is sent as text.
const NUMBER: usize = size_of::<f32>();

/// An embedding model of OpenAI, or of a server that speaks like it.
pub(crate) struct OpenAiEmbedding {
    pub(crate) dialect: Arc<Dialect>,
    pub(crate) endpoint: Endpoint,
    pub(crate) client: Client,
    pub(crate) target: TargetId,
    pub(crate) extra_body: JsonObject,
}

#[async_trait]
impl EmbeddingModel for OpenAiEmbedding {
    fn target(&self) -> &TargetId {
        &self.target
    }

    fn max_batch(&self) -> Option<usize> {
        self.dialect.embedding_batch
    }

    async fn embed(&self, request: EmbeddingRequest, ctx: CallContext) -> Result<Embeddings, ModelError> {
        let asked = request.values.len();
        if asked == 0 {
            return Ok(Embeddings::default());
        }
        if let Some(most) = self.max_batch().filter(|most| asked > *most) {
            let message = format!("{} takes at most {most} values at once, not {asked}", self.target);
            return Err(ModelError::new(ErrorClass::InvalidRequest, message));
        }
        let url = self.dialect.url(&self.endpoint, "embeddings", &self.target.model)?;
        let call = HttpCall::post_json(&url, &self.body(&request))?;
        let reply: Reply = self.client.fetch_with(&self.target, call, &request.extra_headers, ctx).await?;
        let usage = reply.usage.as_deref().map_or_else(Usage::default, |raw| usage::read(raw.get(), false));
        let vectors = in_order(reply.data, asked)
            .and_then(|vectors| check(vectors, request.dimensions))
            .map_err(|error| error.with_url(redact_url(&url)))?;
        Ok(Embeddings { vectors, usage, warnings: Vec::new() })
    }
}

impl OpenAiEmbedding {
    fn body(&self, request: &EmbeddingRequest) -> JsonObject {
        let mut body = JsonObject::new();
        body.insert("model".into(), self.target.model.as_str().into());
        body.insert("input".into(), request.values.clone().into());
        let format = if self.dialect.embedding_base64 { "base64" } else { "float" };
        body.insert("encoding_format".into(), format.into());
        if let Some(dimensions) = request.dimensions {
            body.insert("dimensions".into(), dimensions.into());
        }
        let names = ["openai", &self.dialect.name, &self.target.provider];
        for (key, value) in self.extra_body.iter().chain(&options_of(&request.options, &names)) {
            merge_field(&mut body, key, value);
        }
        body
    }
}

impl fmt::Debug for OpenAiEmbedding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiEmbedding").field("target", &self.target).finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct Reply {
    data: Vec<Item>,
    #[serde(default)]
    usage: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Item {
    #[serde(default)]
    index: Option<usize>,
    embedding: Vector,
}

/// The vectors in the order of the texts. Without indexes, they came in it.
fn in_order(items: Vec<Item>, asked: usize) -> Result<Vec<Vec<f32>>, ModelError> {
    if items.len() != asked {
        return Err(protocol(format!("{} vectors came for {asked} texts", items.len())));
    }
    if items.iter().all(|item| item.index.is_none()) {
        return Ok(items.into_iter().map(|item| item.embedding.0).collect());
    }
    let mut places: Vec<Option<Vec<f32>>> = items.iter().map(|_| None).collect();
    for item in items {
        let place = item.index.and_then(|index| places.get_mut(index)).filter(|place| place.is_none());
        let Some(place) = place else {
            let index = item.index.map_or_else(|| "none".to_owned(), |index| index.to_string());
            return Err(protocol(format!("the index of a vector is {index}, out of place among {asked}")));
        };
        *place = Some(item.embedding.0);
    }
    Ok(places.into_iter().flatten().collect())
}

/// Vectors that can be compared with one another, of the length that was asked for.
fn check(vectors: Vec<Vec<f32>>, dimensions: Option<u32>) -> Result<Vec<Vec<f32>>, ModelError> {
    let length = vectors.first().map_or(0, Vec::len);
    if length == 0 || vectors.iter().any(|vector| vector.len() != length) {
        return Err(protocol("the vectors are empty or of different lengths"));
    }
    if vectors.iter().flatten().any(|number| !number.is_finite()) {
        return Err(protocol("a vector holds what is no finite number"));
    }
    match dimensions.filter(|asked| usize::try_from(*asked) != Ok(length)) {
        None => Ok(vectors),
        Some(asked) => {
            let message = format!("the model gives vectors of {length} numbers, not of {asked}");
            Err(ModelError::new(ErrorClass::Unsupported, message))
        }
    }
}

fn protocol(message: impl Into<String>) -> ModelError {
    ModelError::new(ErrorClass::Protocol, message)
}

/// A list of numbers, or base64 of their bytes, the lowest first.
struct Vector(Vec<f32>);

impl<'de> Deserialize<'de> for Vector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Numbers;
        impl<'de> Visitor<'de> for Numbers {
            type Value = Vector;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a vector, as numbers or as base64")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vector, A::Error> {
                let mut numbers = Vec::new();
                while let Some(number) = list.next_element()? {
                    numbers.push(number);
                }
                Ok(Vector(numbers))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Vector, E> {
                let bytes = STANDARD.decode(text).map_err(|_| E::custom("a vector is no base64"))?;
                let (numbers, rest) = bytes.as_chunks::<NUMBER>();
                match rest.is_empty() {
                    true => Ok(Vector(numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())),
                    false => Err(E::custom("a vector ends within a number")),
                }
            }
        }
        deserializer.deserialize_any(Numbers)
    }
}
