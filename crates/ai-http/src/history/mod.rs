//! What servers want of a history: every call answered, every id and name of a form they take.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use ai_provider::{AssistantPart, Message, ToolCall, ToolPart, ToolResult};
use serde::de::IgnoredAny;

use crate::notes::Notes;
use ids::WireIds;

pub use ids::CallIds;

mod ids;

/// The calls of a history with their results, wherever in it those stand: servers want each call answered
/// right behind it, and none without its call.
///
/// ```
/// use std::sync::Arc;
/// use ai_http::{CallIds, Notes, Pairing};
/// use ai_provider::{AssistantMessage, AssistantPart, Message, ToolCall};
/// let call = AssistantPart::ToolCall(ToolCall::new("call_1", "clock", "{}"));
/// let asked = Message::Assistant(AssistantMessage { parts: vec![call], ..Default::default() });
/// let (history, mut notes) = (vec![Arc::new(asked)], Notes::default());
/// let pairing = Pairing::of(&history, CallIds::Any, &mut notes);
/// let [paired] = pairing.of_message(0) else { panic!() };
/// assert!(paired.wire_id == "call_1" && paired.result.is_none());
/// assert_eq!(notes.into_warnings().len(), 1);
/// ```
#[derive(Debug)]
pub struct Pairing<'a> {
    /// With the position of the assistant message, in the order of the history.
    calls: Vec<(usize, Vec<Paired<'a>>)>,
}

/// A call that the client runs, with what came of it.
#[derive(Debug)]
pub struct Paired<'a> {
    /// The call.
    pub call: &'a ToolCall,
    /// The id it goes out under: its own where the API takes it and no earlier call has it.
    pub wire_id: Cow<'a, str>,
    /// Its result; absent where the history has none: aborted, crashed, or handed over and never answered.
    pub result: Option<&'a ToolResult>,
}

impl<'a> Pairing<'a> {
    /// Pairs a history. What had to be healed becomes a warning: results that are missing, results without a
    /// call, ids that were replaced.
    pub fn of(messages: &'a [Arc<Message>], form: CallIds, notes: &mut Notes) -> Self {
        let asking = messages.iter().filter(|message| matches!(***message, Message::Assistant(_))).count();
        let mut ids = WireIds::new(form, asking);
        let mut calls: Vec<(usize, Vec<Paired<'a>>)> = Vec::with_capacity(asking);
        // Ids may come again in a later turn: a result belongs to the latest call before it.
        let mut open: HashMap<&str, Vec<(usize, usize)>> = HashMap::with_capacity(asking);
        let (mut orphans, mut missing, mut renamed) = (0_usize, 0_usize, 0_usize);
        for (at, message) in messages.iter().enumerate() {
            match &**message {
                Message::Assistant(message) => {
                    let mut here = Vec::new();
                    for part in &message.parts {
                        let AssistantPart::ToolCall(call) = part else { continue };
                        if call.provider_executed {
                            continue;
                        }
                        let wire_id = ids.assign(&call.id);
                        renamed += usize::from(*wire_id != *call.id);
                        open.entry(&call.id).or_default().push((calls.len(), here.len()));
                        here.push(Paired { call, wire_id, result: None });
                    }
                    if !here.is_empty() {
                        calls.push((at, here));
                    }
                }
                Message::Tool(message) => {
                    for part in &message.parts {
                        let ToolPart::ToolResult(result) = part else { continue };
                        if result.preliminary || result.provider_executed {
                            continue;
                        }
                        match take(&mut open, &result.tool_call_id)
                            .and_then(|(nth, place)| calls.get_mut(nth)?.1.get_mut(place))
                        {
                            Some(paired) => paired.result = Some(result),
                            None => orphans += 1,
                        }
                    }
                }
                _ => {}
            }
        }
        missing += calls.iter().flat_map(|(_, calls)| calls).filter(|paired| paired.result.is_none()).count();
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

    /// The calls of the assistant message at this position of the history, in their order.
    pub fn of_message(&self, at: usize) -> &[Paired<'a>] {
        let found = self.calls.binary_search_by_key(&at, |(at, _)| *at);
        found.ok().and_then(|nth| self.calls.get(nth)).map_or(&[], |(_, calls)| calls)
    }
}

/// Of several open calls with one id in the same message, the first; of different messages, the latest.
fn take(open: &mut HashMap<&str, Vec<(usize, usize)>>, id: &str) -> Option<(usize, usize)> {
    let places = open.get_mut(id)?;
    let latest = places.last()?.0;
    let first = places.iter().position(|(message, _)| *message == latest)?;
    Some(places.remove(first))
}

/// The name of a tool in the form all servers take: ASCII letters, digits, `_` and `-`, 64 at most. Servers refuse
/// the whole history for a name a model made up.
pub fn legal_tool_name(name: &str) -> Cow<'_, str> {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.len() <= 64 && name.chars().all(legal) {
        return Cow::Borrowed(name);
    }
    let replaced: String = name.chars().take(64).map(|c| if legal(c) { c } else { '_' }).collect();
    if replaced.is_empty() { Cow::Borrowed("unknown") } else { Cow::Owned(replaced) }
}

/// Whether the input of a call is a JSON object, which is all that servers take back.
pub fn is_json_object(input: &str) -> bool {
    input.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(input).is_ok()
}
