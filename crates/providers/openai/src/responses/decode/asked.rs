use std::collections::HashMap;

use ai_provider::{AssistantPart, Id, Message, Request, ToolDefinition};

use crate::responses::dialect::ResponsesDialect;

/// What an answer is read by: what was asked.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// The names the caller gave to tools of the server: tool of the server, name.
    names: Vec<(String, String)>,
    /// A tool of the caller's own has the name under which models bundle calls.
    bundle_is_a_tool: bool,
    /// Calls that waited for consent: the request for it, the call.
    approvals: HashMap<String, Id>,
}

/// The names under which models bundle calls, though no tool is called that.
const BUNDLES: [&str; 2] = ["parallel", "multi_tool_use.parallel"];

impl Asked {
    pub(crate) fn of(request: &Request, dialect: &ResponsesDialect, provider: &str) -> Self {
        let mut asked = Self::default();
        for tool in request.tools.iter() {
            asked.bundle_is_a_tool |= BUNDLES.contains(&tool.name());
            let ToolDefinition::Provider(tool) = tool else { continue };
            let Some((namespace, name)) = tool.id.split_once('.') else { continue };
            if namespace == provider || dialect.knows_namespace(namespace) {
                asked.names.push((canonical(name).to_owned(), tool.name.clone()));
            }
        }
        for message in &request.messages {
            let Message::Assistant(message) = &**message else { continue };
            for part in &message.parts {
                if let AssistantPart::ToolApprovalRequest(request) = part {
                    asked.approvals.insert(request.approval_id.to_string(), request.tool_call_id.clone());
                }
            }
        }
        asked
    }

    /// The caller's name for a tool of the server.
    pub(super) fn name<'a>(&'a self, tool: &'a str) -> &'a str {
        self.names.iter().find(|(known, _)| known == tool).map_or(tool, |(_, name)| name)
    }

    pub(super) fn is_bundle(&self, name: &str) -> bool {
        !self.bundle_is_a_tool && BUNDLES.contains(&name)
    }

    /// The call that waited for this consent.
    pub(super) fn approved_call(&self, approval: &str) -> Option<&Id> {
        self.approvals.get(approval)
    }
}

/// Tools that came under several names over time.
fn canonical(tool: &str) -> &str {
    match tool {
        "web_search_preview" => "web_search",
        "computer" | "computer_use_preview" => "computer_use",
        other => other,
    }
}
