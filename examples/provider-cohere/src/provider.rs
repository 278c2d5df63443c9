use std::sync::Arc;

use ai_http::{Client, Endpoint};
use ai_provider::{
    Capabilities, ErrorClass, LanguageModel, ModelError, Provider, StructuredOutput, TargetId,
};

use crate::CohereCodec;

/// Cohere.
#[derive(Debug)]
pub struct Cohere {
    endpoint: Endpoint,
    client: Client,
}

impl Cohere {
    /// Cohere at this base URL: `https://api.cohere.com`, or a deployment of one's own.
    ///
    /// # Errors
    /// `InvalidRequest` if it is no usable URL.
    pub fn new(base_url: &str, client: Client) -> Result<Self, ModelError> {
        Ok(Self { endpoint: Endpoint::base(base_url)?, client })
    }
}

impl Provider for Cohere {
    fn name(&self) -> &str {
        "cohere"
    }

    fn language_model(&self, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        if id.trim().is_empty() || id.chars().any(char::is_control) {
            return Err(ModelError::new(ErrorClass::InvalidRequest, format!("{id:?} is no model's id")));
        }
        let mut capabilities = Capabilities::default();
        capabilities.structured_output = StructuredOutput::JsonSchema;
        capabilities.reasoning = id.contains("reasoning");
        capabilities.input.image = id.contains("vision");
        let target = TargetId::new(self.name(), id, self.endpoint.name());
        Ok(Arc::new(self.client.model(CohereCodec::new(&self.endpoint), target, capabilities)))
    }
}
