//! What holds for each run: tools, consent, time.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::values::Time;
use crate::tools::ToolName;

/// The built-in tools.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ToolsConfig {
    /// Which are on: of `current_time`, `calculator`, `read_file`, `list_files`. Default: all that can be.
    pub(crate) enable: Option<Vec<ToolName>>,
    /// The folder that `read_file` and `list_files` see. Default: none, and these tools are not there.
    pub(crate) root: Option<PathBuf>,
    /// The most steps of one answer, from 1 to 1000: a step is a call of the model, with the tools it calls. Default:
    /// 20.
    pub(crate) max_steps: Option<NonZeroU32>,
    /// How many tools of a step run at once. Default: 32.
    pub(crate) concurrency: Option<NonZeroU32>,
    /// The most bytes of what one tool gives the model. Default: 16 MiB.
    pub(crate) max_output_bytes: Option<NonZeroU32>,
    /// The largest file that `read_file` reads, in bytes, 16 MiB at most. Default: 256 KiB.
    pub(crate) max_file_bytes: Option<NonZeroU32>,
}

/// Which calls of tools may run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ApprovalConfig {
    /// For tools that are not named: `allow`, `ask` or `deny`. Default: as each tool has it; the built-in ones, which
    /// only read, run without a question.
    pub(crate) default: Option<Approval>,
    /// For tools by name: `allow`, `ask` or `deny`.
    pub(crate) tools: BTreeMap<String, Approval>,
}

/// What becomes of a call of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum Approval {
    /// It runs.
    Allow,
    /// A person decides.
    Ask,
    /// It does not run, and the model is told so.
    Deny,
}

/// How long things may take. Without a limit of its own, each may take as long as it does; what the connection to a
/// provider waits for is limited in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TimeoutsConfig {
    /// One answer, with all its steps; the time in which a person decides does not count.
    pub(crate) total: Option<Time>,
    /// One step: a call of the model, with the tools it calls.
    pub(crate) step: Option<Time>,
    /// From the request of a step to its first output, all attempts included.
    pub(crate) first_output: Option<Time>,
    /// Between two outputs of a step.
    pub(crate) between_outputs: Option<Time>,
    /// One tool that has no limit of its own.
    pub(crate) tool: Option<Time>,
}
