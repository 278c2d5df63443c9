use ai_provider::{JsonObject, ModelError};
use serde_json::Value;

use super::invalid;

pub(crate) const HEADER: &str = "anthropic-beta";

pub(super) const FILES: &str = "files-api-2025-04-14";
pub(super) const LATE_SYSTEM: &str = "mid-conversation-system-2026-04-07";
pub(super) const FALLBACKS: &str = "server-side-fallback-2026-06-01";
const MCP: &str = "mcp-client-2025-04-04";
pub(super) const MCP_TOOLSETS: &str = "mcp-client-2025-11-20";

/// What is not generally available, by the place in the body where it is used.
const BY_FIELD: &[(&str, &[&str])] = &[
    ("/mcp_servers", &[MCP]),
    ("/container/skills", &["code-execution-2025-08-25", "skills-2025-10-02", FILES]),
    ("/context_management", &["context-management-2025-06-27"]),
    ("/output_config/task_budget", &["task-budgets-2026-03-13"]),
    ("/fallbacks", &[FALLBACKS]),
    ("/speed", &["fast-mode-2026-02-01"]),
];

/// The types of context edits that need more.
const BY_EDIT: &[(&str, &str)] = &[("compact_20260112", "compact-2026-01-12")];

/// The betas a request asks for, each once, in the order in which they came up.
#[derive(Debug, Default)]
pub(super) struct Betas {
    /// Those of the caller.
    given: Vec<String>,
    needed: Vec<String>,
}

impl Betas {
    pub(super) fn new(given: &[String]) -> Self {
        Self { given: given.to_vec(), needed: Vec::new() }
    }

    pub(super) fn add(&mut self, beta: &str) {
        if !self.needed.iter().any(|known| known == beta) {
            self.needed.push(beta.to_owned());
        }
    }

    /// Those among the options of a request: a list, or a text with commas.
    pub(super) fn take(&mut self, options: &mut JsonObject) -> Result<(), ModelError> {
        let Some(betas) = options.remove("betas") else { return Ok(()) };
        let texts: Vec<&str> = match &betas {
            Value::String(text) => text.split(',').collect(),
            Value::Array(list) if list.iter().all(Value::is_string) => {
                list.iter().filter_map(Value::as_str).collect()
            }
            _ => return Err(invalid("the option `betas` is no list of texts")),
        };
        self.given.extend(texts.into_iter().map(str::to_owned));
        Ok(())
    }

    /// Those of the fields of a body.
    pub(super) fn of_fields(&mut self, head: &JsonObject) {
        let at = |pointer: &str| {
            let mut path = pointer.split('/').skip(1);
            let field = head.get(path.next()?)?;
            path.try_fold(field, |value, name| value.get(name)).filter(|value| !value.is_null())
        };
        for (pointer, betas) in BY_FIELD {
            if at(pointer).is_some() {
                betas.iter().for_each(|beta| self.add(beta));
            }
        }
        let edits = at("/context_management/edits").and_then(Value::as_array).into_iter().flatten();
        for kind in edits.filter_map(|edit| edit.get("type")?.as_str()) {
            for (edit, beta) in BY_EDIT {
                if kind == *edit {
                    self.add(beta);
                }
            }
        }
    }

    /// The value of the header; empty if there are none.
    pub(super) fn header(&mut self) -> String {
        // Two versions of one thing are refused.
        if self.needed.iter().any(|beta| beta == MCP_TOOLSETS) {
            self.needed.retain(|beta| beta != MCP);
        }
        let mut all: Vec<&str> = Vec::new();
        for beta in self.given.iter().chain(&self.needed) {
            let beta = beta.trim();
            if !beta.is_empty() && !all.contains(&beta) {
                all.push(beta);
            }
        }
        all.join(",")
    }
}
