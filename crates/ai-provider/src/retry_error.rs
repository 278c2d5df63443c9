use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use crate::error::ModelError;
use crate::keys::KeyLabel;
use crate::target::TargetId;

/// Every attempt behind a model call that failed for good: the `source()` of the [`ModelError`] a retry layer
/// returns, whose class and verdict are those of the last attempt.
///
/// A type of this crate, so that the tool loop knows such an error without the retry crate: what was tried again
/// already is not tried again once more.
///
/// ```
/// use ai_provider::{ErrorClass, FailedAttempt, GaveUp, ModelError, RetryError, TargetId};
/// let error = ModelError::new(ErrorClass::Overloaded, "busy").with_status(529);
/// let target = TargetId::new("openai", "gpt-5", "https://api.openai.com/v1");
/// let attempt = FailedAttempt { attempt: 1, target, key: None, error: error.clone() };
/// let retry = RetryError::new(vec![attempt], Vec::new(), GaveUp::Exhausted);
/// let error = error.with_source(retry);
/// assert_eq!(RetryError::of(&error).map(|retry| retry.attempts().len()), Some(1));
/// ```
#[derive(Clone, Debug)]
pub struct RetryError {
    attempts: Vec<FailedAttempt>,
    skipped: Vec<SkippedTarget>,
    gave_up: GaveUp,
}

/// One attempt.
#[derive(Clone, Debug)]
pub struct FailedAttempt {
    /// Counts all attempts of the call from 1.
    pub attempt: u32,
    /// What was called.
    pub target: TargetId,
    /// With which key.
    pub key: Option<KeyLabel>,
    /// How it failed.
    pub error: ModelError,
}

/// A target that was passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedTarget {
    /// Its name.
    pub name: String,
    /// Why.
    pub why: String,
}

/// Why nothing more was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GaveUp {
    /// The failure is not of a kind that another attempt mends.
    Hopeless,
    /// All retries, keys and targets are used up.
    Exhausted,
    /// The wait before the next attempt is longer than the policy allows.
    WaitTooLong {
        /// The wait.
        wait: Duration,
    },
    /// There is not enough time left for another attempt.
    OutOfTime {
        /// What was left.
        remaining: Duration,
    },
}

impl RetryError {
    /// Of these attempts, in their order.
    pub fn new(attempts: Vec<FailedAttempt>, skipped: Vec<SkippedTarget>, gave_up: GaveUp) -> Self {
        Self { attempts, skipped, gave_up }
    }

    /// The one in the source chain of this error.
    pub fn of<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(found) = error.downcast_ref() {
                return Some(found);
            }
            next = error.source();
        }
        None
    }

    /// All attempts, the first one first.
    pub fn attempts(&self) -> &[FailedAttempt] {
        &self.attempts
    }

    /// How the first attempt failed.
    pub fn first(&self) -> Option<&ModelError> {
        self.attempts.first().map(|attempt| &attempt.error)
    }

    /// How the last attempt failed.
    pub fn last(&self) -> Option<&ModelError> {
        self.attempts.last().map(|attempt| &attempt.error)
    }

    /// The targets that were passed over.
    pub fn skipped(&self) -> &[SkippedTarget] {
        &self.skipped
    }

    /// Why nothing more was tried.
    pub fn gave_up(&self) -> &GaveUp {
        &self.gave_up
    }
}

impl fmt::Display for RetryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.attempts.len();
        write!(f, "{count} attempt{} failed, {}", if count == 1 { "" } else { "s" }, self.gave_up)?;
        for attempt in &self.attempts {
            write!(f, "\n  {}. {}", attempt.attempt, attempt.target)?;
            if let Some(key) = &attempt.key {
                write!(f, " [{key}]")?;
            }
            write!(f, ": {}", attempt.error)?;
        }
        for SkippedTarget { name, why } in &self.skipped {
            write!(f, "\n  -  {name} passed over: {why}")?;
        }
        Ok(())
    }
}

impl fmt::Display for GaveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hopeless => f.write_str("and another would not mend it"),
            Self::Exhausted => f.write_str("and nothing is left to try"),
            Self::WaitTooLong { wait } => write!(f, "and the next would have to wait {wait:?}"),
            Self::OutOfTime { remaining } => write!(f, "and {remaining:?} are too short for another"),
        }
    }
}

impl StdError for RetryError {
    /// How the last attempt failed.
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.last().map(|error| error as &(dyn StdError + 'static))
    }
}
