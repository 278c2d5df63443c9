use std::any::Any;
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use super::terminal::TerminalFailure;

/// Why a tool failed.
///
/// Takes any error by `?`; for that it is not itself a [`std::error::Error`]. The model reads its text, so it
/// should say what to do better.
///
/// ```
/// use ai_core::ToolError;
/// fn parse(text: &str) -> Result<u32, ToolError> {
///     Ok(text.parse::<u32>()?)
/// }
/// assert_eq!(parse("x").unwrap_err().to_string(), "invalid digit found in string");
/// ```
pub struct ToolError(Kind);

enum Kind {
    Failed(String),
    InvalidInput(String),
    Source(Box<dyn StdError + Send + Sync>),
    Terminal(TerminalFailure),
    TimedOut(Duration),
    Panicked(String),
}

impl ToolError {
    /// A failure in words.
    pub fn new(message: impl Into<String>) -> Self {
        Self(Kind::Failed(message.into()))
    }

    /// The input is not what the tool takes.
    pub fn invalid_input(message: impl Into<String>) -> Self {
        Self(Kind::InvalidInput(message.into()))
    }

    pub(super) fn terminal(failure: TerminalFailure) -> Self {
        Self(Kind::Terminal(failure))
    }

    /// It took longer than this.
    pub fn timed_out(limit: Duration) -> Self {
        Self(Kind::TimedOut(limit))
    }

    pub(crate) fn panicked(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().copied().map(str::to_owned);
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        Self(Kind::Panicked(text.unwrap_or_else(|| "no message".to_owned())))
    }

    /// Whether the tool took too long.
    pub fn is_timeout(&self) -> bool {
        matches!(self.0, Kind::TimedOut(_))
    }

    /// Whether the tool panicked.
    pub fn is_panic(&self) -> bool {
        matches!(self.0, Kind::Panicked(_))
    }

    /// Whether the input was not what the tool takes.
    pub fn is_invalid_input(&self) -> bool {
        matches!(self.0, Kind::InvalidInput(_))
    }

    /// The failure that ends the run, if it is one.
    pub fn terminal_failure(&self) -> Option<&TerminalFailure> {
        match &self.0 {
            Kind::Terminal(failure) => Some(failure),
            _ => None,
        }
    }

    /// The error beneath.
    pub fn source(&self) -> Option<&(dyn StdError + Send + Sync + 'static)> {
        match &self.0 {
            Kind::Source(error) => Some(&**error),
            _ => None,
        }
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self(Kind::Source(Box::new(error)))
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Failed(message) | Kind::InvalidInput(message) => f.write_str(message),
            Kind::TimedOut(limit) => write!(f, "the tool gave no result within {} s", limit.as_secs_f64()),
            Kind::Panicked(text) => write!(f, "the tool panicked: {text}"),
            Kind::Terminal(failure) => f.write_str(&failure.record().message),
            Kind::Source(error) => {
                write!(f, "{error}")?;
                let mut source = error.source();
                while let Some(error) = source {
                    write!(f, ": {error}")?;
                    source = error.source();
                }
                Ok(())
            }
        }
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ToolError({self})")
    }
}
