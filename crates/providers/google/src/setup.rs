use std::fmt;

use ai_http::HttpCall;
use ai_provider::{Capabilities, JsonObject, ModelError};
use http::HeaderMap;
use serde_json::Value;

/// What differs for one model from what its provider says of all: what it can do, fields of its body, headers.
///
/// ```
/// use ai_google::{Google, ModelSetup};
/// use ai_provider::Capabilities;
/// use serde_json::json;
/// let mut capabilities = Capabilities::default();
/// capabilities.input.image = true;
/// let setup = ModelSetup::new().capabilities(capabilities).extra_body("serviceTier", json!("flex"));
/// let google = Google::builder().model("gemini-2.5-flash", setup).build()?;
/// # let _ = google; Ok::<(), ai_provider::ModelError>(())
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct ModelSetup {
    pub(crate) capabilities: Option<Capabilities>,
    pub(crate) extra_body: JsonObject,
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

    /// The headers, which must be legal.
    pub(crate) fn header_map(&self) -> Result<HeaderMap, ModelError> {
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
