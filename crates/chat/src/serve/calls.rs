//! Calls of a stored message that wait for a client.

use agent_loop::{UiChunk, UiPart, UiToolState};
use ai_provider::Id;
use stream_manager::port::Conversation;
use stream_manager::record::{InputBody, Row, RowId, RowStatus};

/// A call that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) id: Id,
    pub(super) wanted: Wanted,
}

/// What it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Yes or no.
    Decision,
    /// What came of it.
    Result,
}

/// The calls of a row that wait, without those that were answered and whose answers wait for the others.
pub(super) fn open_calls(conversation: &Conversation, row: &Row) -> Vec<Call> {
    let Some(ui) = row.content.ui.known().filter(|_| waits(row)) else { return Vec::new() };
    let answered = |call: &Id| {
        conversation.inputs.iter().filter(|stored| stored.is_queued()).any(|stored| {
            match stored.input.body.known() {
                Some(
                    InputBody::Approval { row: of, call_id, .. }
                    | InputBody::ToolResult { row: of, call_id, .. },
                ) => *of == row.id && call_id == call,
                _ => false,
            }
        })
    };
    let calls = ui.parts.iter().filter_map(|part| match part {
        UiPart::Tool(tool) if tool.provider_executed != Some(true) => {
            let wanted = match tool.state {
                UiToolState::ApprovalRequested => Wanted::Decision,
                UiToolState::InputAvailable => Wanted::Result,
                _ => return None,
            };
            Some(Call { id: tool.tool_call_id.clone(), wanted })
        }
        _ => None,
    });
    calls.filter(|call| !answered(&call.id)).collect()
}

/// Whether a row has this call, open or not.
pub(super) fn has_call(row: &Row, call: &str) -> bool {
    let parts = row.content.ui.known().into_iter().flat_map(|ui| &ui.parts);
    parts.into_iter().any(|part| matches!(part, UiPart::Tool(tool) if tool.tool_call_id.as_str() == call))
}

/// Whether something of a row may wait: it is neither being written nor over.
fn waits(row: &Row) -> bool {
    match row.status.known() {
        Some(RowStatus::Open) => false,
        Some(RowStatus::AwaitingApproval) => true,
        _ => row.content.run.is_some(),
    }
}

/// The beginning of a message that is there already.
pub(super) fn says(row: &RowId) -> UiChunk {
    UiChunk::Start { message_id: Some(row.to_string()), message_metadata: None }
}
