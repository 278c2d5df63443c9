use std::error::Error as StdError;
use std::fmt;

use ai_provider::{FinishReason, ModelError, Usage};

use crate::run::Outcome;

/// There is no object.
///
/// Carries what there is instead: what the model wrote, why it stopped, and what it all took.
#[derive(Clone, Debug)]
pub struct ObjectError(Box<Inner>);

/// The kinds of [`ObjectError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObjectErrorKind {
    /// What the model wrote does not fit the type, also when asked again.
    Invalid,
    /// The answer was cut at its length limit.
    Truncated,
    /// The run ended otherwise: see [`ObjectError::outcome`].
    Ended,
}

#[derive(Clone, Debug)]
struct Inner {
    kind: ObjectErrorKind,
    mistake: Option<Mistake>,
    text: Option<String>,
    usage: Usage,
    finish: Option<FinishReason>,
    outcome: Outcome,
    error: Option<ModelError>,
}

/// Where and how an answer does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mistake {
    /// The way to it, for example `steps[2].minutes`; absent for what is no JSON, or wrong as a whole.
    pub path: Option<String>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "at `{path}`: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl ObjectError {
    pub(super) fn invalid(mistake: Mistake, text: String, outcome: Outcome) -> Self {
        Self::new(ObjectErrorKind::Invalid, Some(mistake), Some(text), outcome)
    }

    pub(super) fn truncated(text: String, outcome: Outcome) -> Self {
        Self::new(ObjectErrorKind::Truncated, None, Some(text), outcome)
    }

    pub(super) fn ended(text: Option<String>, outcome: Outcome) -> Self {
        Self::new(ObjectErrorKind::Ended, None, text, outcome)
    }

    /// A run that stops without its end: it panicked.
    pub(super) fn without_end() -> Self {
        Self::ended(None, Outcome::Cancelled { partial: None })
    }

    fn new(kind: ObjectErrorKind, mistake: Option<Mistake>, text: Option<String>, outcome: Outcome) -> Self {
        let usage = Usage::default();
        Self(Box::new(Inner { kind, mistake, text, usage, finish: None, outcome, error: None }))
    }

    pub(super) fn with(
        mut self,
        usage: Usage,
        finish: Option<FinishReason>,
        error: Option<ModelError>,
    ) -> Self {
        (self.0.usage, self.0.finish, self.0.error) = (usage, finish, error);
        self
    }

    /// What kind it is.
    pub fn kind(&self) -> ObjectErrorKind {
        self.0.kind
    }

    /// Where and how the last answer does not fit, if it is of that kind.
    pub fn mistake(&self) -> Option<&Mistake> {
        self.0.mistake.as_ref()
    }

    /// What the model wrote in place of the object, the last time.
    pub fn text(&self) -> Option<&str> {
        self.0.text.as_deref()
    }

    /// What all answers took.
    pub fn usage(&self) -> &Usage {
        &self.0.usage
    }

    /// Why the model stopped, the last time.
    pub fn finish(&self) -> Option<&FinishReason> {
        self.0.finish.as_ref()
    }

    /// How the last run ended.
    pub fn outcome(&self) -> &Outcome {
        &self.0.outcome
    }

    /// The error of the model, if it failed.
    pub fn model_error(&self) -> Option<&ModelError> {
        self.0.error.as_ref()
    }
}

impl fmt::Display for ObjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.0.kind, &self.0.mistake) {
            (ObjectErrorKind::Truncated, _) => {
                f.write_str("the answer was cut at its length limit before the object was whole")
            }
            (_, Some(mistake)) => write!(f, "the answer is not the object that was asked for: {mistake}"),
            _ => write!(f, "the run ended without an object: {}", self.0.outcome),
        }
    }
}

impl StdError for ObjectError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.error.as_ref().map(|error| error as _)
    }
}
