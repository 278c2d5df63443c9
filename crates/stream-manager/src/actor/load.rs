use ai_core::run::{Outcome, RunSnapshot};

use super::effects::{in_time, persist};
use crate::attempt::close_parts;
use crate::core::{Found, ParkedRow};
use crate::port::{Conversation, Lease, Settlement, StoreError};
use crate::record::{AttemptId, Author, Known, Row, RowContent, RowStatus, Terminal, TopicState, TurnId};
use crate::settings::LeftBehind;
use crate::shared::Shared;

/// Reads what the store knows of a topic, and ends what an owner that died has left open: interrupted, with the steps it
/// had finished, and never run again by itself. Returns the attempts too that were ended.
pub(super) async fn load(
    shared: &Shared,
    lease: &Lease,
) -> Result<(Found, Vec<(TurnId, AttemptId)>), StoreError> {
    let history = persist(shared, || shared.store.history(&lease.topic)).await?;
    let mut conversation = history.unwrap_or_default();
    let orphans = conversation.rows.iter_mut().filter(|row| row.status == Known::Is(RowStatus::Open));
    let mut ended = Vec::new();
    for row in orphans {
        let Some(attempt) = row.attempt else { continue };
        let settlement = Settlement {
            row: row.id.clone(),
            attempt,
            status: RowStatus::Interrupted,
            content: closed(row.content.clone()),
            returned: Vec::new(),
        };
        persist(shared, || shared.store.settle(lease, &settlement)).await?;
        let terminal = Terminal::new(row.id.clone(), RowStatus::Interrupted, None, true);
        if let Err(error) = in_time(shared, shared.log.seal_orphan(lease, attempt, terminal)).await {
            tracing::warn!(%error, topic = %lease.topic, "the log of an interrupted answer could not be ended");
        }
        row.status = Known::Is(RowStatus::Interrupted);
        ended.push((row.turn, attempt));
    }
    Ok((found(&conversation, shared.settings.left_behind), ended))
}

/// What a row holds whose task is gone: nothing of it is open any more.
pub(super) fn closed(mut content: RowContent) -> RowContent {
    if let Known::Is(ui) = &mut content.ui {
        close_parts(ui);
    }
    content
}

fn found(conversation: &Conversation, left_behind: LeftBehind) -> Found {
    let answers = || conversation.rows.iter().filter(|row| row.author == Author::Assistant);
    let last_turn = answers().map(|row| row.turn).max();
    let complete = answers().filter(|row| row.status == Known::Is(RowStatus::Complete));
    Found {
        // A row that waits, and was passed over by a later turn, waits no more.
        parked: answers().filter(|row| Some(row.turn) == last_turn).filter_map(parked).collect(),
        queued: conversation.inputs.iter().filter(|stored| stored.is_queued()).cloned().collect(),
        last: last_turn.map(|turn| (turn, state_of(answers().filter(|row| row.turn == turn)))),
        last_completed_at: complete.map(|row| row.updated_at).max(),
        answer: left_behind == LeftBehind::Answer,
    }
}

fn state_of<'a>(rows: impl Iterator<Item = &'a Row> + Clone) -> TopicState {
    let any = |status: RowStatus| rows.clone().any(|row| row.status == Known::Is(status));
    if any(RowStatus::Failed) || any(RowStatus::Interrupted) {
        TopicState::Failed
    } else if any(RowStatus::Stopped) {
        TopicState::Stopped
    } else {
        TopicState::Done
    }
}

/// What a row waits for, read off its stored run.
fn parked(row: &Row) -> Option<ParkedRow> {
    if row.status != Known::Is(RowStatus::AwaitingApproval) {
        return None;
    }
    let stored = serde_json::to_vec(row.content.run.as_ref()?).ok()?;
    let run = RunSnapshot::from_json(&stored).ok()?.into_run();
    let (calls, client): (Vec<_>, _) = match run.outcome() {
        Some(Outcome::HandedOver { calls }) => (calls.iter().map(|call| call.id.clone()).collect(), true),
        _ => (run.pending_approvals().into_iter().map(|pending| pending.call.id).collect(), false),
    };
    Some(ParkedRow {
        row: row.id.clone(),
        turn: row.turn,
        model: row.model.clone(),
        attempt: row.attempt?,
        client,
        calls: calls.into_iter().map(|call| (call, None)).collect(),
    })
}
