use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// Names a model: `provider:model`, cut at the first colon, so that model ids may hold colons and slashes.
///
/// ```
/// use ai_core::ModelRef;
/// let model: ModelRef = "openrouter:meta/llama-3:free".parse()?;
/// assert_eq!((model.provider(), model.model()), ("openrouter", "meta/llama-3:free"));
/// # Ok::<(), ai_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModelRef {
    provider: String,
    model: String,
}

impl ModelRef {
    /// The provider's name.
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// The model id, as the provider spells it.
    pub fn model(&self) -> &str {
        &self.model
    }
}

impl FromStr for ModelRef {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        let (provider, model) = text
            .split_once(':')
            .ok_or_else(|| Error::model_ref(text, "it has no `:` between provider and model"))?;
        if provider.is_empty() {
            return Err(Error::model_ref(text, "the provider before the `:` is missing"));
        }
        if model.is_empty() {
            return Err(Error::model_ref(text, "the model after the `:` is missing"));
        }
        if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(Error::model_ref(text, "it holds white space or a control character"));
        }
        Ok(Self { provider: provider.to_owned(), model: model.to_owned() })
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.provider, self.model)
    }
}
