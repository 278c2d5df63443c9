//! What the program writes about itself.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

/// What is logged, and where. Without `filter`, `-v` and `RUST_LOG` nothing is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TracingConfig {
    /// What is logged: levels by module, such as `info` or `ai_http=debug,retry=trace`. `RUST_LOG` wins, then `-v`.
    pub(crate) filter: Option<String>,
    /// `text`, or `json`: one object per line, as collectors read them. Default: `text`.
    pub(crate) format: LogFormat,
    /// The file to which is added. Default: standard error.
    pub(crate) file: Option<PathBuf>,
    /// Whether the end of each span is logged too, with the time it was busy and idle: runs, steps, calls and tools.
    pub(crate) spans: bool,
}

/// The form of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}
