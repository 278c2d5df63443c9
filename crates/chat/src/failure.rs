//! What goes wrong, in words: what happened, where, and what to do about it.

#[cfg(test)]
mod tests;

use std::io;
use std::time::Duration;

use ai_core::RunEnd;
use ai_core::run::Outcome;
use ai_provider::{ErrorClass, Hint, ModelError};
use jiff::{SignedDuration, ZonedDateTime};

/// The program failed. Holds no secret: keys never enter an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) advice: Option<String>,
    pub(crate) code: u8,
}

/// The exit code of a failure.
pub(crate) const FAILED: u8 = 1;

/// The exit code of a command that makes no sense, as clap has it.
pub(crate) const USAGE: u8 = 2;

/// The exit code of a program that was interrupted: 128 and the number of the signal.
pub(crate) const INTERRUPTED: u8 = 130;

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), advice: None, code: FAILED }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { code: USAGE, ..Self::new(message) }
    }

    pub(crate) fn with_advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// The screen cannot be written to. A reader who has read enough is no failure to speak of.
    pub(crate) fn of_screen(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self { code: 0, ..Self::new("the reader of the output went away") },
            _ => Self::new(format!("the output cannot be written: {error}")),
        }
    }

    /// The user ended it.
    pub(crate) fn interrupted(said: bool) -> Self {
        let message = if said { "interrupted: the answer above is incomplete" } else { "interrupted" };
        Self { code: INTERRUPTED, ..Self::new(message) }
    }

    /// What a run that ended badly means to the user; absent if it ended well. `said` says whether a part of an
    /// answer is on the screen.
    pub(crate) fn of_run(end: &RunEnd, model: &str, said: bool) -> Option<Self> {
        let failure = match &end.outcome {
            Outcome::Finished => return None,
            Outcome::Truncated { .. } => Self::new("the answer was cut at a length limit")
                .with_advice("The limit is the model's own, or max_output_tokens in the configuration file."),
            Outcome::Cancelled { .. } => return Some(Self::interrupted(said)),
            Outcome::Failed { error, .. } => match &end.error {
                Some(error) => Self::of_model(error, model),
                None => Self::new(error.to_string()),
            },
            Outcome::StepCap { cap } => Self::new(format!("the model wanted to go on after {cap} steps"))
                .with_advice("Allow more with --max-steps, or ask for less at a time."),
            Outcome::LoopGuard { .. } => Self::new(end.outcome.to_string()),
            Outcome::ToolTerminal(record) => Self::new(record.message.clone()),
            Outcome::Refused { finish } => {
                let word = finish.raw.as_deref().unwrap_or("content-filter");
                Self::new(format!("the provider withholds the answer ({word})"))
            }
            other => Self::new(format!("the run ended early: {}", other.as_str())),
        };
        Some(if said { failure.add("The answer above is incomplete.") } else { failure })
    }

    /// What the failure of a model means to the user. It says where: at a URL, or from the model of this name.
    pub(crate) fn of_model(error: &ModelError, model: &str) -> Self {
        let status = error.status().map(|status| format!("HTTP {status}"));
        let codes: Vec<_> = status.into_iter().chain(error.code().map(str::to_owned)).collect();
        let codes = if codes.is_empty() { String::new() } else { format!(" ({})", codes.join(", ")) };
        let place = error.url().map_or_else(|| format!(" from {model}"), |url| format!(" at {url}"));
        let message = format!("{}{codes}{place}: {}", sentence(error.class()), error.message());
        let failure = Self::new(message);
        match advice(error) {
            Some(advice) => failure.with_advice(advice),
            None => failure,
        }
    }

    fn add(mut self, sentence: &str) -> Self {
        let advice =
            self.advice.take().map_or_else(|| sentence.to_owned(), |advice| format!("{sentence} {advice}"));
        self.with_advice(advice)
    }
}

pub(crate) fn sentence(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::RateLimit => "the server takes no more requests for now",
        ErrorClass::Quota => "the credit or plan of the account is used up",
        ErrorClass::Overloaded => "the server has no capacity at the moment",
        ErrorClass::Auth => "the server does not accept the API key",
        ErrorClass::NotFound => "the server knows no such model or address",
        ErrorClass::InvalidRequest => "the request is not accepted",
        ErrorClass::ContextTooLong => "the conversation is too long for the model",
        ErrorClass::ContentRefused => "the provider refuses to answer this",
        ErrorClass::StaleReplay => "the server no longer accepts a part of the history",
        ErrorClass::Server => "the server failed",
        ErrorClass::Transport => "the connection failed",
        ErrorClass::Timeout => "the server took too long",
        ErrorClass::Protocol => "the server's answer cannot be understood",
        ErrorClass::Incomplete => "the answer broke off",
        ErrorClass::MissingFinish => "the answer ended without saying why",
        ErrorClass::Empty => "the answer is empty",
        ErrorClass::TooLarge => "the answer is too large",
        ErrorClass::Unsupported => "this model cannot do that",
        _ => "the call failed",
    }
}

fn advice(error: &ModelError) -> Option<String> {
    let fixed = match error.class() {
        ErrorClass::RateLimit | ErrorClass::Overloaded => {
            return Some(match error.hint() {
                Some(Hint::After(wait)) => try_again(wait, &ZonedDateTime::now()),
                _ => "Try again later.".to_owned(),
            });
        }
        ErrorClass::Quota => "Add credit, or choose another key with --api-key-env.",
        ErrorClass::Auth => "Check the key, and that it belongs to this server (--api-key-env, --base-url).",
        ErrorClass::NotFound => "Check the name of the model (--model) and the address (--base-url).",
        ErrorClass::ContextTooLong => "Start a new conversation, or say it in fewer words.",
        ErrorClass::Transport | ErrorClass::Protocol => {
            "The address is set with --base-url or in the configuration file."
        }
        ErrorClass::Timeout | ErrorClass::Server | ErrorClass::Incomplete => "Try again.",
        _ => return None,
    };
    Some(fixed.to_owned())
}

/// When to try again, in the unit a person would use: a wait over two days is a date.
fn try_again(wait: Duration, now: &ZonedDateTime) -> String {
    let seconds = wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0));
    let minutes = seconds.div_ceil(60);
    match (seconds, minutes) {
        (..=120, _) => format!("Try again in {seconds} s."),
        (_, ..=120) => format!("Try again in {minutes} min."),
        (_, ..=2_880) => match (minutes / 60, minutes % 60) {
            (hours, 0) => format!("Try again in {hours} h."),
            (hours, minutes) => format!("Try again in {hours} h {minutes} min."),
        },
        _ => match SignedDuration::try_from(wait).ok().and_then(|wait| now.checked_add(wait).ok()) {
            Some(then) => format!("Try again after {}.", then.strftime("%A %Y-%m-%d %H:%M")),
            None => "Try again later: the server names a time beyond the calendar.".to_owned(),
        },
    }
}
