use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ai_provider::{FunctionTool, JsonObject, ProviderTool, ToolDefinition};
use serde_json::Value;

use super::client::ProviderRun;
use super::{Concurrency, Effect, Tool};
use crate::error::Error;
use crate::run::ToolFacts;

/// The tools of an agent, in the order in which the model sees them. Cheap to clone.
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
pub struct ToolSet(Arc<Inner>);

#[derive(Clone, Debug, Default)]
struct Inner {
    entries: Vec<Entry>,
    at: HashMap<String, usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) trusted: bool,
    /// What the tool says of itself, asked once: a step must not fail for it.
    pub(crate) facts: ToolFacts,
    pub(crate) definition: ToolDefinition,
    pub(crate) effect: Effect,
    pub(crate) timeout: Option<Duration>,
    pub(crate) concurrency: Concurrency,
    pub(crate) dynamic: bool,
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
        let definition = ToolDefinition::Function(tool.definition());
        self.add(tool, definition, |_| {})
    }

    /// Adds a tool that may end the run: see [`ToolContext::terminal_permit`](super::ToolContext).
    ///
    /// # Errors
    /// As [`with`](Self::with).
    pub fn trusted(self, tool: impl Tool) -> Result<Self, Error> {
        let definition = ToolDefinition::Function(tool.definition());
        self.add(Arc::new(tool), definition, |entry| entry.trusted = true)
    }

    /// Adds a tool the provider knows by its own id and runs itself. If it leaves calls of it to this side, they
    /// are handed over to the caller.
    ///
    /// # Errors
    /// As [`with`](Self::with).
    pub fn with_provider(self, tool: ProviderTool) -> Result<Self, Error> {
        self.add(Arc::new(provider_run(&tool)), ToolDefinition::Provider(tool), |_| {})
    }

    /// Adds a tool the provider runs, whose result may come in a later step than that of its call: while one is
    /// missing the run goes on.
    ///
    /// # Errors
    /// As [`with`](Self::with).
    pub fn with_deferred_provider(self, tool: ProviderTool) -> Result<Self, Error> {
        let run = Arc::new(provider_run(&tool));
        self.add(run, ToolDefinition::Provider(tool), |entry| entry.facts.deferred = true)
    }

    /// Adds a tool the provider knows by its own id and this side runs (a shell, a computer). The model sees
    /// `definition` instead of the tool's own.
    ///
    /// # Errors
    /// As [`with`](Self::with).
    pub fn with_provider_defined(self, definition: ProviderTool, tool: impl Tool) -> Result<Self, Error> {
        self.add(Arc::new(tool), ToolDefinition::Provider(definition), |_| {})
    }

    fn add(
        mut self,
        tool: Arc<dyn Tool>,
        definition: ToolDefinition,
        change: impl FnOnce(&mut Entry),
    ) -> Result<Self, Error> {
        let name = definition.name().to_owned();
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > 64 || !name.chars().all(legal) {
            return Err(Error::tool_name(name));
        }
        if self.get(&name).is_some() {
            return Err(Error::duplicate_tool(name));
        }
        self.push(name, tool, definition, change);
        Ok(self)
    }

    fn push(
        &mut self,
        name: String,
        tool: Arc<dyn Tool>,
        definition: ToolDefinition,
        change: impl FnOnce(&mut Entry),
    ) {
        let facts = ToolFacts {
            name: name.clone(),
            executable: tool.is_executable(),
            approval: tool.needs_approval(),
            deferred: false,
        };
        let mut entry = Entry {
            trusted: false,
            facts,
            definition,
            effect: tool.effect(),
            timeout: tool.timeout(),
            concurrency: tool.concurrency(),
            dynamic: tool.is_dynamic(),
            tool,
        };
        change(&mut entry);
        let inner = Arc::make_mut(&mut self.0);
        inner.at.insert(name, inner.entries.len());
        inner.entries.push(entry);
    }

    /// This set without the tool of this name.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        if self.get(name).is_some() {
            let inner = Arc::make_mut(&mut self.0);
            inner.entries.retain(|entry| entry.facts.name != name);
            let names = inner.entries.iter().map(|entry| entry.facts.name.clone());
            inner.at = names.enumerate().map(|(at, name)| (name, at)).collect();
        }
        self
    }

    /// The tools of a request, which nobody runs on this side. Their names are the caller's own affair.
    pub(crate) fn of_definitions(definitions: &[ToolDefinition]) -> Self {
        let mut set = Self::new();
        for definition in definitions {
            let elsewhere = FunctionTool::new(definition.name(), "", empty());
            set.push(
                definition.name().to_owned(),
                Arc::new(ProviderRun(elsewhere)),
                definition.clone(),
                |_| {},
            );
        }
        set
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.entries.iter().map(|entry| entry.facts.name.as_str())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.entries.is_empty()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Entry> {
        self.0.entries.get(*self.0.at.get(name)?)
    }

    /// What the model sees.
    pub(crate) fn definitions(&self) -> Arc<[ToolDefinition]> {
        self.0.entries.iter().map(|entry| entry.definition.clone()).collect()
    }

    /// What the run needs to know, of the tools with these names.
    pub(crate) fn facts(&self, active: impl Fn(&str) -> bool) -> Vec<ToolFacts> {
        let facts = self.0.entries.iter().map(|entry| &entry.facts);
        facts.filter(|facts| active(&facts.name)).cloned().collect()
    }
}

fn provider_run(tool: &ProviderTool) -> ProviderRun {
    ProviderRun(FunctionTool::new(&*tool.name, "", empty()))
}

fn empty() -> Value {
    Value::Object(JsonObject::new())
}
