//! What a server offers, made into what is used of it.

use std::collections::HashSet;
use std::ops::ControlFlow;

use ai_core::Effect;
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value};

use crate::name::tool_names;
use crate::settings::{Approval, McpServer};
use crate::text::{line, visible};

/// The most tools a server may list, used or not: what is behind is not even looked at.
const MOST_OFFERED: usize = 10_000;

/// The longest name of a tool, in bytes: twice what any provider takes, for names that are cut.
const LONGEST_NAME: usize = 128;

/// Bytes of a description that are used: it goes into every request.
const LONGEST_DESCRIPTION: usize = 8 << 10;

/// Tools that are left out and told one by one; the others are counted.
const MOST_REFUSED: usize = 100;

/// A tool of a server that is not used, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefusedTool {
    /// Its name at the server, made fit to be shown.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// A tool that is used.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Listed {
    /// What the model calls it.
    pub(crate) name: String,
    /// What the server calls it.
    pub(crate) remote: String,
    pub(crate) description: String,
    pub(crate) schema: Value,
    pub(crate) effect: Effect,
    pub(crate) asks: bool,
}

/// What is used of a server, and what is not.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Listing {
    pub(crate) tools: Vec<Listed>,
    pub(crate) refused: Vec<RefusedTool>,
    /// How many more were refused than are told one by one.
    pub(crate) more_refused: usize,
}

/// Takes the tools of a server one by one, so that a long list never stands in memory as a whole.
#[derive(Debug)]
pub(crate) struct Collector<'a> {
    settings: &'a McpServer,
    seen: HashSet<String>,
    offered: usize,
    listing: Listing,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(settings: &'a McpServer) -> Self {
        Self { settings, seen: HashSet::new(), offered: 0, listing: Listing::default() }
    }

    /// Takes one tool as the server wrote it; says when enough were offered.
    pub(crate) fn offer(&mut self, tool: Value) -> ControlFlow<()> {
        self.offered += 1;
        if self.offered > MOST_OFFERED {
            self.refuse("…", format!("the server lists more than {MOST_OFFERED} tools"));
            return ControlFlow::Break(());
        }
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        if let Err(reason) = self.take(&name, tool) {
            self.refuse(&name, reason);
        }
        ControlFlow::Continue(())
    }

    fn take(&mut self, name: &str, tool: Value) -> Result<(), String> {
        if name.is_empty() {
            return Err("it has no name".to_owned());
        }
        if name.len() > LONGEST_NAME {
            return Err(format!("its name is longer than {LONGEST_NAME} bytes"));
        }
        if !self.seen.insert(name.to_owned()) {
            return Err("the server lists another tool of this name".to_owned());
        }
        if self.settings.enabled.as_ref().is_some_and(|enabled| !enabled.iter().any(|on| on == name)) {
            // Left out by the application, which is nothing to report.
            return Ok(());
        }
        if self.listing.tools.len() >= self.settings.limits.tools {
            return Err(format!("more than {} tools are used of this server", self.settings.limits.tools));
        }
        let tool: Tool = serde_json::from_value(tool).map_err(|error| {
            format!("it is not described as the protocol says: {}", line(&error.to_string(), 200))
        })?;
        let schema = schema(&tool.input_schema, self.settings.limits.schema_bytes)?;
        let effect = self.effect(name, tool.annotations.as_ref());
        let asks = match self.settings.approval {
            Approval::Always => true,
            Approval::Never => false,
            Approval::Effects => effect != Effect::ReadOnly,
        };
        let described = tool.description.as_deref().filter(|text| !text.trim().is_empty());
        let title =
            || tool.title.as_deref().or(tool.annotations.as_ref().and_then(|hints| hints.title.as_deref()));
        self.listing.tools.push(Listed {
            name: String::new(),
            remote: name.to_owned(),
            description: visible(described.or_else(title).unwrap_or_default(), LONGEST_DESCRIPTION),
            schema,
            effect,
            asks,
        });
        Ok(())
    }

    fn effect(&self, name: &str, hints: Option<&ToolAnnotations>) -> Effect {
        if self.settings.read_only.iter().any(|known| known == name) {
            return Effect::ReadOnly;
        }
        match hints.filter(|_| self.settings.trust_hints) {
            Some(hints) if hints.read_only_hint == Some(true) => Effect::ReadOnly,
            Some(hints) if hints.idempotent_hint == Some(true) => Effect::Idempotent,
            _ => Effect::SideEffect,
        }
    }

    fn refuse(&mut self, name: &str, reason: String) {
        if self.listing.refused.len() < MOST_REFUSED {
            self.listing.refused.push(RefusedTool { name: line(name, LONGEST_NAME), reason });
        } else {
            self.listing.more_refused += 1;
        }
    }

    /// All were offered.
    pub(crate) fn finish(mut self, server: &str) -> Listing {
        let named = self.settings.enabled.iter().flatten().chain(&self.settings.read_only);
        let missing: Vec<String> = named.filter(|name| !self.seen.contains(*name)).cloned().collect();
        for name in missing {
            self.refuse(&name, "the settings name it, and the server has no such tool".to_owned());
        }
        let names = tool_names(server, self.listing.tools.iter().map(|tool| tool.remote.as_str()));
        for (tool, name) in self.listing.tools.iter_mut().zip(names) {
            tool.name = name;
        }
        self.listing
    }
}

/// A schema every provider takes: of an object, not too large, and a schema at all. One that is not would have the
/// provider refuse every request it stands in, whatever tool that is about.
fn schema(given: &Map<String, Value>, most: usize) -> Result<Value, String> {
    let mut schema = given.clone();
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "object" => {}
        None => {
            schema.insert("type".to_owned(), "object".into());
        }
        Some(_) => return Err("its input is no object".to_owned()),
    }
    // Some APIs refuse an object without it.
    schema.entry("properties").or_insert_with(|| Map::new().into());
    let schema = Value::Object(schema);
    if serde_json::to_string(&schema).map_or(usize::MAX, |text| text.len()) > most {
        return Err(format!("its schema is larger than {most} bytes"));
    }
    match jsonschema::validator_for(&schema) {
        Ok(_) => Ok(schema),
        Err(error) => Err(format!("its schema is no JSON Schema: {}", line(&error.to_string(), 200))),
    }
}

#[cfg(test)]
mod tests;
