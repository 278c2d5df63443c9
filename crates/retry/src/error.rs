use std::fmt;

use ai_provider::{ErrorClass, ModelError};

/// A policy that cannot work, said when it is put to use.
///
/// ```
/// use std::time::Duration;
/// # use std::sync::Arc;
/// # use ai_provider::LanguageModel;
/// # fn f(model: Arc<dyn LanguageModel>) {
/// let policy = retry::RetryPolicy::new().with_base_delay(Duration::ZERO);
/// let error = policy.wrap(model).unwrap_err();
/// assert_eq!(error.field(), "base_delay");
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    field: &'static str,
    message: String,
}

impl PolicyError {
    pub(crate) fn new(field: &'static str, message: impl Into<String>) -> Self {
        Self { field, message: message.into() }
    }

    /// The setting that is wrong, by the name of its setter without `with_`.
    pub fn field(&self) -> &'static str {
        self.field
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the retry policy cannot work: {}: {}", self.field, self.message)
    }
}

impl std::error::Error for PolicyError {}

impl From<PolicyError> for ModelError {
    fn from(error: PolicyError) -> Self {
        Self::new(ErrorClass::InvalidRequest, error.to_string()).with_source(error)
    }
}
