mod cache;
mod compaction;
mod prune;
mod tokens;

use std::sync::Arc;

use ai_provider::{
    AssistantMessage, AssistantPart, Message, ReasoningPart, TextPart, ToolCall, ToolOutput, ToolResult,
};
use proptest::prelude::*;

/// Messages from letters: `s` system, `u` user, `a` assistant, `r` assistant with reasoning, and a digit for an
/// assistant with so many calls, whose results follow.
pub fn history(letters: &str) -> Vec<Arc<Message>> {
    let mut messages = Vec::new();
    for (at, letter) in letters.chars().enumerate() {
        match letter {
            's' => messages.push(Message::system(format!("system {at}"))),
            'u' => messages.push(Message::user(format!("user {at}"))),
            'a' => messages.push(Message::assistant(format!("assistant {at}"))),
            'r' => {
                let reasoning = AssistantPart::Reasoning(ReasoningPart::new(format!("reasoning {at}")));
                let text = AssistantPart::Text(TextPart::new(format!("assistant {at}")));
                messages.push(assistant(vec![reasoning, text]));
            }
            digit => {
                let ids: Vec<_> =
                    (0..digit.to_digit(10).unwrap()).map(|call| format!("c{at}.{call}")).collect();
                let calls =
                    ids.iter().map(|id| AssistantPart::ToolCall(ToolCall::new(&**id, tool(id), "{}")));
                messages.push(assistant(calls.collect()));
                let results = ids
                    .iter()
                    .map(|id| ToolResult::new(&**id, tool(id), ToolOutput::Text(format!("of {id}"))));
                messages.push(Message::tool(results));
            }
        }
    }
    messages.into_iter().map(Arc::new).collect()
}

/// Calls alternate between two tools.
fn tool(id: &str) -> &'static str {
    if id.ends_with(['0', '2', '4']) { "f" } else { "g" }
}

pub fn assistant(parts: Vec<AssistantPart>) -> Message {
    Message::Assistant(AssistantMessage { parts, options: Default::default() })
}

/// Histories that providers accept.
pub fn any_history() -> impl Strategy<Value = Vec<Arc<Message>>> {
    let letter = prop::sample::select(vec!['u', 'a', 'r', '1', '2', '3', 'u', '1']);
    (any::<bool>(), prop::collection::vec(letter, 0..14)).prop_map(|(system, letters)| {
        let letters: String = letters.into_iter().collect();
        history(&format!("{}{letters}", if system { "s" } else { "" }))
    })
}
