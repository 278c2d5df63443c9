use ai_provider::{ErrorClass, JsonObject, ModelError, ProviderOptions, Request, Settings, merge_json};
use async_trait::async_trait;
use serde_json::Value;

use super::{Middleware, MiddlewareCall};

/// Settings for requests that do not say otherwise: what the caller set wins.
///
/// Provider options and the extra body are merged deep; a header the caller set or removed stays so. What a
/// caller left out cannot be told from what a caller wants at the provider's default, so a default given here
/// is taken back only by another value.
///
/// ```
/// use ai_core::middleware::DefaultSettings;
/// use ai_provider::Settings;
/// let mut settings = Settings::default();
/// settings.temperature = Some(0.2);
/// let defaults = DefaultSettings::new(settings);
/// # let _ = defaults;
/// ```
#[derive(Clone, Debug, Default)]
pub struct DefaultSettings {
    settings: Settings,
    options: ProviderOptions,
    extra_body: JsonObject,
    extra_headers: Vec<(String, Option<String>)>,
}

impl DefaultSettings {
    /// With these settings.
    pub fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Sets options only one provider understands.
    #[must_use]
    pub fn with_options(mut self, options: ProviderOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets what is merged into the body.
    #[must_use]
    pub fn with_extra_body(mut self, extra: JsonObject) -> Self {
        self.extra_body = extra;
        self
    }

    /// Sets further headers; a value of `None` removes one.
    #[must_use]
    pub fn with_extra_headers(mut self, headers: Vec<(String, Option<String>)>) -> Self {
        self.extra_headers = headers;
        self
    }
}

#[async_trait]
impl Middleware for DefaultSettings {
    fn name(&self) -> &str {
        "default-settings"
    }

    async fn transform_request(
        &self,
        mut request: Request,
        _call: &MiddlewareCall<'_>,
    ) -> Result<Request, ModelError> {
        request.settings = under(&self.settings, &request.settings).map_err(|error| {
            ModelError::new(ErrorClass::InvalidRequest, "the settings cannot be merged").with_source(error)
        })?;
        let mut options = self.options.clone();
        options.merge(&request.options);
        request.options = options;
        let mut body = Value::Object(self.extra_body.clone());
        merge_json(&mut body, &Value::Object(std::mem::take(&mut request.extra_body)));
        if let Value::Object(body) = body {
            request.extra_body = body;
        }
        for (name, value) in &self.extra_headers {
            if !request.extra_headers.iter().any(|(theirs, _)| theirs.eq_ignore_ascii_case(name)) {
                request.extra_headers.push((name.clone(), value.clone()));
            }
        }
        Ok(request)
    }
}

/// What is set in `over`, and for the rest what is set in `base`. By way of JSON, where only what is set is
/// written: a setting that is added to the contract needs no change here.
fn under(base: &Settings, over: &Settings) -> Result<Settings, serde_json::Error> {
    let mut merged = serde_json::to_value(base)?;
    merge_json(&mut merged, &serde_json::to_value(over)?);
    serde_json::from_value(merged)
}
