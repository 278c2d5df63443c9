use std::error::Error;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::machine::{Run, SCHEMA};

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

    /// Reads a run that was stored as JSON.
    ///
    /// # Errors
    /// See [`StoredRunError`]. A run that was read can go on.
    pub fn from_json(stored: &[u8]) -> Result<Self, StoredRunError> {
        #[derive(Deserialize)]
        struct Version {
            schema: u32,
        }
        match serde_json::from_slice(stored) {
            Ok(Version { schema }) if schema > SCHEMA => Err(StoredRunError::LaterSchema { schema }),
            Ok(_) => serde_json::from_slice(stored).map_err(|error| damaged(&error)),
            Err(error) if error.is_data() => Err(damaged(&error)),
            Err(error) => Err(StoredRunError::NotJson { problem: error.to_string() }),
        }
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

/// How errors begin that a reader of JSON passes on.
pub(super) const DAMAGED: &str = "the stored run is damaged: ";

fn damaged(error: &serde_json::Error) -> StoredRunError {
    let said = error.to_string();
    let problem = said.strip_prefix(DAMAGED).unwrap_or(&said).to_owned();
    StoredRunError::Damaged { problem }
}

/// Why a stored run cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoredRunError {
    /// It is no JSON, or was cut.
    NotJson {
        /// What is wrong, and where.
        problem: String,
    },
    /// A later version of this library stored it.
    LaterSchema {
        /// Its schema.
        schema: u32,
    },
    /// It is none of what a run can be: something is missing, of a wrong type, or does not fit the rest.
    Damaged {
        /// What is wrong, and where.
        problem: String,
    },
}

impl fmt::Display for StoredRunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson { problem } => write!(f, "the stored run is no JSON: {problem}"),
            Self::LaterSchema { schema } => {
                write!(f, "the stored run has schema {schema}; this program reads schemas up to {SCHEMA}")
            }
            Self::Damaged { problem } => write!(f, "{DAMAGED}{problem}"),
        }
    }
}

impl Error for StoredRunError {}
