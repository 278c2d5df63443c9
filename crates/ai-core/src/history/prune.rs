use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ai_provider::{AssistantMessage, AssistantPart, Id, Message, ToolMessage, ToolPart};

/// How far back something is dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reach {
    /// Nothing is.
    #[default]
    Nothing,
    /// All is.
    Everything,
    /// Everything but in the last so many messages.
    BeforeLast(usize),
    /// Everything before the last message of the user: what the model works on now stays whole.
    BeforeLastTurn,
}

impl Reach {
    /// The first message in which nothing is dropped.
    fn end(self, messages: &[Arc<Message>]) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Everything => messages.len(),
            Self::BeforeLast(count) => messages.len().saturating_sub(count),
            Self::BeforeLastTurn => {
                messages.iter().rposition(|message| matches!(**message, Message::User(_))).unwrap_or(0)
            }
        }
    }
}

/// What [`prune`] drops. Nothing unless set.
///
/// Some APIs demand the reasoning that led to a call as long as its turn goes on, so
/// [`BeforeLastTurn`](Reach::BeforeLastTurn) is safe everywhere and the other two are not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prune {
    reasoning: Reach,
    tool_calls: Reach,
    tools: Option<Vec<String>>,
}

impl Prune {
    /// Drops nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Drops reasoning.
    #[must_use]
    pub fn reasoning(mut self, reach: Reach) -> Self {
        self.reasoning = reach;
        self
    }

    /// Drops calls of tools with their results and approvals. A call of which anything stands behind the reach
    /// stays.
    #[must_use]
    pub fn tool_calls(mut self, reach: Reach) -> Self {
        self.tool_calls = reach;
        self
    }

    /// Drops the calls of these tools only.
    #[must_use]
    pub fn of_tools<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.tools = Some(names.into_iter().map(Into::into).collect());
        self
    }

    fn concerns(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(|name| name == tool))
    }
}

/// A history without what is of no use any more. Messages that lose nothing are shared with the original; those
/// that say nothing afterwards are left out.
///
/// ```
/// use ai_core::history::{Prune, Reach, prune};
/// # let messages = Vec::new();
/// let shorter = prune(&messages, &Prune::new().reasoning(Reach::BeforeLastTurn));
/// ```
pub fn prune(messages: &[Arc<Message>], rules: &Prune) -> Vec<Arc<Message>> {
    let dropped = dropped_calls(messages, rules);
    let reasoning = rules.reasoning.end(messages);
    let pruned = messages.iter().enumerate().filter_map(|(at, message)| match &**message {
        Message::Assistant(assistant) => {
            let keep = |part: &AssistantPart| match part {
                AssistantPart::Reasoning(_) | AssistantPart::ReasoningFile(_) => at >= reasoning,
                AssistantPart::ToolCall(call) => !dropped.calls.contains(&call.id),
                AssistantPart::ToolResult(result) => !dropped.calls.contains(&result.tool_call_id),
                AssistantPart::ToolApprovalRequest(request) => !dropped.calls.contains(&request.tool_call_id),
                _ => true,
            };
            if assistant.parts.iter().all(keep) {
                return Some(Arc::clone(message));
            }
            let parts = assistant.parts.iter().filter(|part| keep(part)).cloned().collect();
            let left = AssistantMessage { parts, options: assistant.options.clone() };
            (!left.is_empty()).then(|| Arc::new(Message::Assistant(left)))
        }
        Message::Tool(tool) => {
            let keep = |part: &ToolPart| match part {
                ToolPart::ToolResult(result) => !dropped.calls.contains(&result.tool_call_id),
                ToolPart::ToolApprovalResponse(answer) => !dropped.approvals.contains(&answer.approval_id),
                _ => true,
            };
            if tool.parts.iter().all(keep) {
                return Some(Arc::clone(message));
            }
            let parts: Vec<_> = tool.parts.iter().filter(|part| keep(part)).cloned().collect();
            let left = ToolMessage { parts, options: tool.options.clone() };
            (!left.parts.is_empty()).then(|| Arc::new(Message::Tool(left)))
        }
        _ => Some(Arc::clone(message)),
    });
    pruned.collect()
}

#[derive(Default)]
struct Dropped {
    calls: HashSet<Id>,
    approvals: HashSet<Id>,
}

/// The calls of which nothing stands behind the reach.
fn dropped_calls(messages: &[Arc<Message>], rules: &Prune) -> Dropped {
    let end = rules.tool_calls.end(messages);
    let mut dropped = Dropped::default();
    let mut asked: HashMap<&Id, &Id> = HashMap::new();
    for (at, message) in messages.iter().enumerate() {
        match &**message {
            Message::Assistant(message) => {
                for part in &message.parts {
                    match part {
                        AssistantPart::ToolCall(call) if at < end && rules.concerns(&call.name) => {
                            dropped.calls.insert(call.id.clone());
                        }
                        AssistantPart::ToolCall(call) => {
                            dropped.calls.remove(&call.id);
                        }
                        AssistantPart::ToolResult(result) if at >= end => {
                            dropped.calls.remove(&result.tool_call_id);
                        }
                        AssistantPart::ToolApprovalRequest(request) => {
                            asked.insert(&request.approval_id, &request.tool_call_id);
                            if at >= end {
                                dropped.calls.remove(&request.tool_call_id);
                            }
                        }
                        _ => {}
                    }
                }
            }
            Message::Tool(message) if at >= end => {
                for part in &message.parts {
                    let call = match part {
                        ToolPart::ToolResult(result) => Some(&result.tool_call_id),
                        ToolPart::ToolApprovalResponse(answer) => asked.get(&answer.approval_id).copied(),
                        _ => None,
                    };
                    if let Some(call) = call {
                        dropped.calls.remove(call);
                    }
                }
            }
            _ => {}
        }
    }
    let approvals = asked.into_iter().filter(|(_, call)| dropped.calls.contains(*call));
    dropped.approvals = approvals.map(|(approval, _)| approval.clone()).collect();
    dropped
}
