use std::fmt;

use ai_provider::{Capabilities, JsonObject, ModelError};
use http::HeaderMap;
use serde_json::Value;

use crate::call::HttpCall;

/// What differs for one model from what its provider says of all: what it can do, fields of its body, headers.
///
/// ```
/// use ai_http::ModelSetup;
/// use ai_provider::Capabilities;
/// use serde_json::json;
/// let mut capabilities = Capabilities::default();
/// capabilities.input.image = true;
/// let setup = ModelSetup::new().capabilities(capabilities).extra_body("service_tier", json!("flex"));
/// // A provider's builder takes it by the id of the model: `OpenAi::builder().model("my-model", setup)`.
/// # let _ = setup;
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct ModelSetup {
    capabilities: Option<Capabilities>,
    extra_body: JsonObject,
    headers: Vec<(String, Option<String>)>,
}

impl ModelSetup {
    /// Nothing differs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets what the model can do, in place of what is known of it.
    #[must_use]
    pub fn capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = Some(capabilities);
        self
    }

    /// Sets a field of every body, over the provider's and under those of a request.
    #[must_use]
    pub fn extra_body(mut self, field: impl Into<String>, value: Value) -> Self {
        self.extra_body.insert(field.into(), value);
        self
    }

    /// Sets a header of every call, over the provider's and under those of a request.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), Some(value.into())));
        self
    }

    /// What the model can do, where that was said.
    pub fn known_capabilities(&self) -> Option<&Capabilities> {
        self.capabilities.as_ref()
    }

    /// The fields of every body.
    pub fn body(&self) -> &JsonObject {
        &self.extra_body
    }

    /// The headers of every call.
    ///
    /// # Errors
    /// `InvalidRequest` if one is not legal.
    pub fn header_map(&self) -> Result<HeaderMap, ModelError> {
        let mut call = HttpCall::get("");
        call.apply_extra(&self.headers)?;
        Ok(call.headers)
    }
}

impl fmt::Debug for ModelSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("ModelSetup")
            .field("capabilities", &self.capabilities)
            .field("extra_body", &self.extra_body)
            .field("headers", &headers)
            .finish()
    }
}
