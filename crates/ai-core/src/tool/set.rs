use std::sync::Arc;
use std::time::Duration;

use ai_provider::{FunctionTool, ToolDefinition};

use super::{Effect, Tool};
use crate::error::Error;
use crate::run::ToolFacts;

/// The tools of an agent, in the order in which the model sees them.
///
/// ```
/// use ai_core::{tool_fn, ToolSet};
/// # #[derive(serde::Deserialize, schemars::JsonSchema)] struct NoArgs {}
/// let ping = tool_fn("ping", "Answers.", |_: NoArgs, _| async { Ok("pong") });
/// let tools = ToolSet::new().with(ping)?;
/// assert_eq!(tools.names().collect::<Vec<_>>(), ["ping"]);
/// # Ok::<(), ai_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ToolSet {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) trusted: bool,
    /// What the tool says of itself, asked once: a step must not fail for it.
    pub(crate) facts: ToolFacts,
    pub(crate) definition: FunctionTool,
    pub(crate) effect: Effect,
    pub(crate) timeout: Option<Duration>,
}

impl ToolSet {
    /// No tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// If there is a tool of this name, or the name is not one that providers take: 1 to 64 letters, digits,
    /// `_` and `-` (the rule of OpenAI's API, the narrowest of the built-in ones).
    pub fn with(self, tool: impl Tool) -> Result<Self, Error> {
        self.with_shared(Arc::new(tool))
    }

    /// Adds a tool that others hold too.
    ///
    /// # Errors
    /// As [`with`](Self::with).
    pub fn with_shared(self, tool: Arc<dyn Tool>) -> Result<Self, Error> {
        self.add(tool, false)
    }

    /// Adds a tool that may end the run: see [`ToolContext::terminal_permit`](super::ToolContext).
    ///
    /// # Errors
    /// As [`with`](Self::with).
    pub fn trusted(self, tool: impl Tool) -> Result<Self, Error> {
        self.add(Arc::new(tool), true)
    }

    fn add(mut self, tool: Arc<dyn Tool>, trusted: bool) -> Result<Self, Error> {
        let definition = tool.definition();
        let name = definition.name.clone();
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > 64 || !name.chars().all(legal) {
            return Err(Error::tool_name(name));
        }
        if self.get(&name).is_some() {
            return Err(Error::duplicate_tool(name));
        }
        let facts = ToolFacts { name, executable: tool.is_executable(), approval: tool.needs_approval() };
        let (effect, timeout) = (tool.effect(), tool.timeout());
        self.entries.push(Entry { tool, trusted, facts, definition, effect, timeout });
        Ok(self)
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.facts.name.as_str())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.facts.name == name)
    }

    /// What the model sees.
    pub(crate) fn definitions(&self) -> Arc<[ToolDefinition]> {
        self.entries.iter().map(|entry| ToolDefinition::Function(entry.definition.clone())).collect()
    }

    /// What the run needs to know, of the tools with these names.
    pub(crate) fn facts(&self, active: impl Fn(&str) -> bool) -> Vec<ToolFacts> {
        let facts =
            self.entries.iter().map(|entry| &entry.facts).filter(|facts| active(&facts.name)).cloned();
        facts.collect()
    }
}
