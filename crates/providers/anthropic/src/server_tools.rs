//! Tools the provider knows by name. What they are called here and on the wire, as data.

use std::collections::BTreeMap;

use ai_provider::ToolDefinition;

/// A tool of the provider: its type on the wire, its name there, and the beta that has to be asked for.
#[derive(Debug)]
pub(crate) struct ServerTool {
    /// The part of its id behind the dot.
    id: &'static str,
    /// The type; the same as the id where empty.
    kind: &'static str,
    /// The name; none for a set of tools.
    pub(crate) name: Option<&'static str>,
    pub(crate) beta: Option<&'static str>,
}

const fn tool(
    id: &'static str,
    kind: &'static str,
    name: &'static str,
    beta: Option<&'static str>,
) -> ServerTool {
    ServerTool { id, kind, name: Some(name), beta }
}

const COMPUTER_2024: Option<&str> = Some("computer-use-2024-10-22");
const COMPUTER_2025: Option<&str> = Some("computer-use-2025-01-24");
const FILTERING: Option<&str> = Some("code-execution-web-tools-2026-02-09");
const TOOL_SEARCH: Option<&str> = Some("advanced-tool-use-2025-11-20");

static TABLE: &[ServerTool] = &[
    tool("advisor_20260301", "", "advisor", Some("advisor-tool-2026-03-01")),
    tool("bash_20241022", "", "bash", COMPUTER_2024),
    tool("bash_20250124", "", "bash", COMPUTER_2025),
    tool("code_execution_20250522", "", "code_execution", Some("code-execution-2025-05-22")),
    tool("code_execution_20250825", "", "code_execution", Some("code-execution-2025-08-25")),
    tool("code_execution_20260120", "", "code_execution", None),
    tool("computer_20241022", "", "computer", COMPUTER_2024),
    tool("computer_20250124", "", "computer", COMPUTER_2025),
    tool("computer_20251124", "", "computer", Some("computer-use-2025-11-24")),
    tool("memory_20250818", "", "memory", Some("context-management-2025-06-27")),
    tool("text_editor_20241022", "", "str_replace_editor", COMPUTER_2024),
    tool("text_editor_20250124", "", "str_replace_editor", COMPUTER_2025),
    tool("text_editor_20250429", "", "str_replace_based_edit_tool", COMPUTER_2025),
    tool("text_editor_20250728", "", "str_replace_based_edit_tool", None),
    tool("tool_search_bm25_20251119", "tool_search_tool_bm25_20251119", "tool_search_tool_bm25", TOOL_SEARCH),
    tool(
        "tool_search_regex_20251119",
        "tool_search_tool_regex_20251119",
        "tool_search_tool_regex",
        TOOL_SEARCH,
    ),
    tool("web_fetch_20250910", "", "web_fetch", Some("web-fetch-2025-09-10")),
    tool("web_fetch_20260209", "", "web_fetch", FILTERING),
    tool("web_search_20250305", "", "web_search", None),
    tool("web_search_20260209", "", "web_search", FILTERING),
    ServerTool { id: "mcp_toolset", kind: "", name: None, beta: Some("mcp-client-2025-11-20") },
];

impl ServerTool {
    /// The tool of an id such as `anthropic.web_search_20250305`.
    pub(crate) fn by_id(id: &str) -> Option<&'static Self> {
        let name = id.strip_prefix("anthropic.")?;
        TABLE.iter().find(|tool| tool.id == name)
    }

    pub(crate) fn kind(&self) -> &'static str {
        if self.kind.is_empty() { self.id } else { self.kind }
    }
}

/// The names under which this side knows tools of the provider, where those differ.
#[derive(Debug, Default)]
pub(crate) struct WireNames(BTreeMap<&'static str, String>);

impl WireNames {
    pub(crate) fn of(tools: &[ToolDefinition]) -> Self {
        let named = tools.iter().filter_map(|tool| match tool {
            ToolDefinition::Provider(tool) => {
                let wire = ServerTool::by_id(&tool.id)?.name?;
                (wire != tool.name).then(|| (wire, tool.name.clone()))
            }
            _ => None,
        });
        Self(named.collect())
    }

    /// What this side calls a tool.
    pub(crate) fn ours<'a>(&'a self, wire: &'a str) -> &'a str {
        self.0.get(wire).map_or(wire, String::as_str)
    }

    /// What the API calls a tool.
    pub(crate) fn wire<'a>(&self, ours: &'a str) -> &'a str {
        self.0.iter().find(|(_, name)| *name == ours).map_or(ours, |(wire, _)| *wire)
    }
}

/// The tools code execution consists of on the wire, and the one name they have here.
const FOLDED: [&str; 2] = ["bash_code_execution", "text_editor_code_execution"];
const CODE_EXECUTION: &str = "code_execution";

/// The name of a tool that is several on the wire, and which of them this is.
pub(crate) fn folded(wire: &str) -> Option<(&'static str, &'static str)> {
    FOLDED.iter().find(|name| **name == wire).map(|name| (CODE_EXECUTION, *name))
}

/// How the input of such a tool begins: with the name of the inner one.
pub(crate) fn inner_field(inner: &str) -> String {
    format!(r#"{{"type":"{inner}""#)
}
