use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::machine::Run;

/// A run as it stood at the end of a step. Shares its messages with the run; written out only when it is
/// serialised.
///
/// It is the server's own data: never take one from a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunSnapshot(Arc<Run>);

impl RunSnapshot {
    pub(super) fn new(run: Run) -> Self {
        Self(Arc::new(run))
    }

    /// The run.
    pub fn run(&self) -> &Run {
        &self.0
    }

    /// The run, to go on with it.
    pub fn into_run(self) -> Run {
        Arc::unwrap_or_clone(self.0)
    }
}
