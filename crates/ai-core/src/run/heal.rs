use std::collections::HashMap;
use std::sync::Arc;

use ai_provider::{Id, Message, ToolCall, ToolMessage, ToolOutput, ToolPart, ToolResult};

use super::step::INTERRUPTED;

/// A history that providers accept: behind each message with calls stands one message with a result for each of
/// them, in their order. What is missing becomes an error, what answers no call is left out, and what is in order
/// is shared as it is.
pub(super) fn heal(messages: Vec<Arc<Message>>) -> Vec<Arc<Message>> {
    let mut healed = Vec::with_capacity(messages.len());
    let mut messages = messages.into_iter().peekable();
    while let Some(message) = messages.next() {
        let mut answers = Vec::new();
        if matches!(&*message, Message::Tool(_)) {
            answers.push(Arc::clone(&message));
        } else {
            healed.push(Arc::clone(&message));
        }
        while let Some(next) = messages.next_if(|next| matches!(&**next, Message::Tool(_))) {
            answers.push(next);
        }
        let calls: Vec<_> = match &*message {
            Message::Assistant(message) => {
                message.tool_calls().filter(|call| !call.provider_executed).collect()
            }
            _ => Vec::new(),
        };
        healed.extend(answered(&calls, answers));
    }
    healed
}

/// Whether [`heal`] would change nothing.
pub(super) fn is_sound(messages: &[Arc<Message>]) -> bool {
    let healed = heal(messages.to_vec());
    healed.len() == messages.len()
        && healed.iter().zip(messages).all(|(healed, given)| Arc::ptr_eq(healed, given))
}

fn answered(calls: &[&ToolCall], answers: Vec<Arc<Message>>) -> Option<Arc<Message>> {
    let parts = || {
        answers.iter().flat_map(|message| match &**message {
            Message::Tool(message) => message.parts.as_slice(),
            _ => &[],
        })
    };
    let results = parts().filter_map(|part| match part {
        ToolPart::ToolResult(result) => Some(&result.tool_call_id),
        _ => None,
    });
    if results.eq(calls.iter().map(|call| &call.id)) && answers.len() <= 1 {
        return answers.into_iter().next();
    }
    let mut known: HashMap<&Id, &ToolResult> = HashMap::new();
    for part in parts() {
        if let ToolPart::ToolResult(result) = part {
            known.entry(&result.tool_call_id).or_insert(result);
        }
    }
    let results = calls.iter().map(|call| match known.get(&call.id) {
        Some(result) => (*result).clone(),
        None => ToolResult::new(
            call.id.clone(),
            call.name.as_str(),
            ToolOutput::ErrorText(INTERRUPTED.to_owned()),
        ),
    });
    let rest = parts().filter(|part| !matches!(part, ToolPart::ToolResult(_))).cloned();
    let parts: Vec<_> = results.map(ToolPart::ToolResult).chain(rest).collect();
    let options = answers.iter().find_map(|message| match &**message {
        Message::Tool(message) => Some(message.options.clone()),
        _ => None,
    });
    (!parts.is_empty())
        .then(|| Arc::new(Message::Tool(ToolMessage { parts, options: options.unwrap_or_default() })))
}
