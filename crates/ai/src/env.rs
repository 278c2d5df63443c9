use ai_provider::{ApiKey, ErrorClass, KeyLabel, KeySource, Keys, ModelError};
use async_trait::async_trait;

/// The keys in an environment variable: one, or several separated by commas. Read once, when made.
///
/// A variable that is not set, or holds what cannot be a key, is an error when a key is asked for, which names
/// the variable.
#[derive(Debug)]
pub struct EnvKeys {
    variable: String,
    keys: Result<Keys, ModelError>,
}

impl EnvKeys {
    /// The keys in this variable.
    pub fn new(variable: impl Into<String>) -> Self {
        let variable = variable.into();
        let value = std::env::var(&variable);
        Self::from_value(variable, value.ok())
    }

    fn from_value(variable: String, value: Option<String>) -> Self {
        let keys = match value {
            Some(text) => Keys::parse(&text).map_err(|error| {
                let message =
                    format!("the environment variable {variable} holds no usable key: {}", error.message());
                ModelError::new(ErrorClass::Auth, message)
            }),
            None => Err(ModelError::new(
                ErrorClass::Auth,
                format!("no API key: set the environment variable {variable}"),
            )),
        };
        Self { variable, keys }
    }

    /// The name of the variable.
    pub fn variable(&self) -> &str {
        &self.variable
    }
}

#[async_trait]
impl KeySource for EnvKeys {
    fn labels(&self) -> &[KeyLabel] {
        self.keys.as_ref().map(KeySource::labels).unwrap_or_default()
    }

    async fn key(&self, index: usize) -> Result<Option<ApiKey>, ModelError> {
        match &self.keys {
            Ok(keys) => keys.key(index).await,
            Err(error) => Err(error.clone()),
        }
    }
}

#[cfg(test)]
mod tests;
