//! The built-in tools. Safe by construction: nothing here can write, reach the network, or leave the root
//! folder; each is a function of its arguments and of one thing handed in (a clock, a folder).

pub(crate) mod calculator;
pub(crate) mod files;
pub(crate) mod time;

use std::sync::Arc;
use std::time::Duration;

use ai_core::{Effect, Error, ToolError, ToolSet, tool_fn, tool_fn_blocking};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;

use self::calculator::{CalculatorArgs, calculate};
use self::files::{ListArgs, ReadArgs, Root};
use self::time::{TimeArgs, current_time};

/// The built-in tools by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum ToolName {
    CurrentTime,
    Calculator,
    ReadFile,
    ListFiles,
}

impl ToolName {
    pub(crate) const ALL: [Self; 4] = [Self::CurrentTime, Self::Calculator, Self::ReadFile, Self::ListFiles];

    /// The name the model calls it by.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::CurrentTime => "current_time",
            Self::Calculator => "calculator",
            Self::ReadFile => "read_file",
            Self::ListFiles => "list_files",
        }
    }

    /// Whether it takes a root folder.
    pub(crate) fn needs_root(self) -> bool {
        matches!(self, Self::ReadFile | Self::ListFiles)
    }
}

/// How long a file tool may take: a folder on a network that is gone does not answer at all.
const FILE_TIMEOUT: Duration = Duration::from_secs(20);

/// The tools of these names. Without a root there are none that need one.
///
/// # Errors
/// If a name is there twice.
pub(crate) fn tool_set(names: &[ToolName], root: Option<Root>) -> Result<ToolSet, Error> {
    let root = root.map(Arc::new);
    names.iter().try_fold(ToolSet::new(), |tools, name| add(tools, *name, root.clone()))
}

fn add(tools: ToolSet, name: ToolName, root: Option<Arc<Root>>) -> Result<ToolSet, Error> {
    let (id, root) = (name.as_str(), root.filter(|_| name.needs_root()));
    match (name, root) {
        (ToolName::CurrentTime, _) => {
            let about = "Tells the current date and time, in the user's time zone or in another one.";
            let tool = tool_fn(id, about, |args: TimeArgs, _| async move {
                let local = TimeZone::try_system().unwrap_or(TimeZone::UTC);
                current_time(&args, Timestamp::now(), local).map_err(ToolError::from)
            });
            tools.with(tool.with_effect(Effect::ReadOnly))
        }
        (ToolName::Calculator, _) => {
            let about = "Works out an arithmetic expression exactly. Use it for every calculation.";
            let tool = tool_fn(id, about, |args: CalculatorArgs, _| async move {
                calculate(&args.expression).map_err(ToolError::from)
            });
            tools.with(tool.with_effect(Effect::ReadOnly))
        }
        (ToolName::ReadFile, Some(root)) => {
            let about = "Reads a text file under the root folder.";
            let tool = tool_fn_blocking(id, about, move |args: ReadArgs, _| Ok(root.read(&args)?));
            tools.with(tool.with_effect(Effect::ReadOnly).with_timeout(FILE_TIMEOUT))
        }
        (ToolName::ListFiles, Some(root)) => {
            let about =
                "Lists a folder under the root folder, one entry per line; the names of folders end in /.";
            let tool = tool_fn_blocking(id, about, move |args: ListArgs, _| Ok(root.list(&args)?));
            tools.with(tool.with_effect(Effect::ReadOnly).with_timeout(FILE_TIMEOUT))
        }
        (ToolName::ReadFile | ToolName::ListFiles, None) => Ok(tools),
    }
}
