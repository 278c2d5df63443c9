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
}

impl Default for RunConfig {
    fn default() -> Self {
        Self { step_cap: 20, step_retries: 1 }
    }
}
