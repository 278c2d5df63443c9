use serde::{Deserialize, Serialize};

/// The limits of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct RunConfig {
    /// The most steps; at least 1. Default 20: enough for real work, and an end to a model that only calls.
    pub step_cap: u32,
    /// How often a failed step may be tried again in the whole run. Default 1.
    pub step_retries: u32,
    /// Whether the cap is soft: the model gets one more step, without tools, to say what it has. Default no.
    pub closing_step: bool,
    /// What is done about a model that repeats itself. Default nothing.
    pub loop_guard: LoopGuard,
}

impl Default for RunConfig {
    fn default() -> Self {
        Self { step_cap: 20, step_retries: 1, closing_step: false, loop_guard: LoopGuard::default() }
    }
}

/// What is done about a model that makes the same call in step after step.
///
/// The same call is the same tool with an equal input, as JSON, in steps that follow one another; how often it
/// stands in one step does not matter, nor what it gave. Off by default: a tool that is asked for news again and
/// again is in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct LoopGuard {
    /// From so many steps on, the model is told so in its next request. Never if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warn: Option<u32>,
    /// After so many steps the run ends as [`Outcome::LoopGuard`](super::Outcome::LoopGuard). Never if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<u32>,
}

impl LoopGuard {
    /// Warns from `warn` steps on and stops after `stop`.
    pub fn new(warn: impl Into<Option<u32>>, stop: impl Into<Option<u32>>) -> Self {
        Self { warn: warn.into(), stop: stop.into() }
    }
}
