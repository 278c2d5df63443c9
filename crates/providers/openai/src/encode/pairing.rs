use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use ai_provider::{AssistantPart, Message, ToolCall, ToolPart, ToolResult};

use super::Scope;
use super::ids::WireIds;
use super::notes::Notes;

/// The calls of a history with their results, wherever in it those stand: servers want each call answered
/// right behind it.
#[derive(Debug)]
pub(super) struct Pairing<'a> {
    /// By the position of the assistant message.
    calls: HashMap<usize, Vec<Paired<'a>>>,
}

#[derive(Debug)]
pub(super) struct Paired<'a> {
    pub(super) call: &'a ToolCall,
    pub(super) wire_id: Cow<'a, str>,
    /// Absent where the history has none: aborted, crashed, or handed over and never answered.
    pub(super) result: Option<&'a ToolResult>,
}

impl<'a> Pairing<'a> {
    pub(super) fn of(scope: Scope<'a>, messages: &'a [Arc<Message>], notes: &mut Notes) -> Self {
        let mut ids = WireIds::new(scope.dialect.call_ids);
        let mut calls: HashMap<usize, Vec<Paired<'a>>> = HashMap::new();
        // Ids may come again in a later turn: a result belongs to the latest call before it.
        let mut open: HashMap<&str, Vec<(usize, usize)>> = HashMap::new();
        let (mut orphans, mut missing, mut renamed) = (0_usize, 0_usize, 0_usize);
        for (at, message) in messages.iter().enumerate() {
            match &**message {
                Message::Assistant(message) => {
                    for part in &message.parts {
                        let AssistantPart::ToolCall(call) = part else { continue };
                        if call.provider_executed {
                            continue;
                        }
                        let wire_id = ids.assign(&call.id);
                        renamed += usize::from(*wire_id != *call.id);
                        let paired = calls.entry(at).or_default();
                        open.entry(&call.id).or_default().push((at, paired.len()));
                        paired.push(Paired { call, wire_id, result: None });
                    }
                }
                Message::Tool(message) => {
                    for part in &message.parts {
                        let ToolPart::ToolResult(result) = part else { continue };
                        if result.preliminary || result.provider_executed {
                            continue;
                        }
                        match take(&mut open, &result.tool_call_id)
                            .and_then(|(at, nth)| calls.get_mut(&at)?.get_mut(nth))
                        {
                            Some(paired) => paired.result = Some(result),
                            None => orphans += 1,
                        }
                    }
                }
                _ => {}
            }
        }
        missing += calls.values().flatten().filter(|paired| paired.result.is_none()).count();
        if missing > 0 {
            notes.compatibility(
                "messages",
                format!("{missing} tool calls had no result: an error was filled in"),
            );
        }
        if orphans > 0 {
            notes
                .compatibility("messages", format!("{orphans} tool results had no call: they were left out"));
        }
        if renamed > 0 {
            notes.compatibility("messages", format!("{renamed} ids of tool calls were replaced: empty, used before, or of a form this API refuses"));
        }
        Self { calls }
    }

    pub(super) fn of_message(&self, at: usize) -> &[Paired<'a>] {
        self.calls.get(&at).map_or(&[], Vec::as_slice)
    }
}

/// Of several open calls with one id in the same message, the first; of different messages, the latest.
fn take(open: &mut HashMap<&str, Vec<(usize, usize)>>, id: &str) -> Option<(usize, usize)> {
    let places = open.get_mut(id)?;
    let latest = places.last()?.0;
    let first = places.iter().position(|(at, _)| *at == latest)?;
    Some(places.remove(first))
}
