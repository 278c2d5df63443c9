use ai_core::RunEnd;
use ai_core::run::Outcome;
use ai_provider::{AttemptEnd, AttemptEvent, AttemptKind, ErrorRecord, KeyLabel, RequestId, TargetId, Usage};
use serde::{Deserialize, Serialize};

use super::Costs;

/// What a run took of models: one row for each attempt to call one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LedgerEntry {
    /// How the run ended, as [`Outcome::as_str`] says it.
    pub outcome: String,
    /// The attempts whose answers are steps of the run, in order.
    pub answered: Vec<LedgerRow>,
    /// The attempts whose answers, if any, are not: they failed, were cut, or were withdrawn. They may have been
    /// billed all the same.
    pub abandoned: Vec<LedgerRow>,
}

/// One attempt to call a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LedgerRow {
    /// The step; counts from 1.
    pub step: u32,
    /// Counts the attempts of a step's call from 1. A step that is tried again makes another call.
    pub attempt: u32,
    /// What was called.
    pub target: TargetId,
    /// With which key, if that is known: the model reports it, or has one only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyLabel>,
    /// The id the request carried, if attempts are reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// How it ended.
    pub end: LedgerEnd,
    /// What it used, as far as the provider said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What that cost, where prices are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum LedgerEnd {
    /// With the answer of the step.
    Answered,
    /// With an error.
    Failed {
        /// The error; absent where its report was lost.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorRecord>,
    },
    /// By the end of the run, before the answer was complete.
    Cut,
}

/// What is known of the model calls of a run while it goes on.
#[derive(Debug, Default)]
pub(crate) struct Book {
    calls: Vec<Call>,
}

/// One call of the step's model, with the attempts beneath it.
#[derive(Debug)]
struct Call {
    step: u32,
    target: TargetId,
    key: Option<KeyLabel>,
    attempts: Vec<Attempt>,
    /// The error it ended with.
    error: Option<ErrorRecord>,
}

#[derive(Debug)]
struct Attempt {
    event: AttemptEvent,
    error: Option<ErrorRecord>,
    usage: Option<Usage>,
}

impl Book {
    /// A model is called, which may try several times.
    pub(crate) fn called(&mut self, step: u32, target: TargetId, key: Option<KeyLabel>) {
        self.calls.push(Call { step, target, key, attempts: Vec::new(), error: None });
    }

    pub(crate) fn attempt(&mut self, event: &AttemptEvent) {
        let Some(call) = self.calls.last_mut() else { return };
        match &event.kind {
            AttemptKind::Started => {
                call.attempts.push(Attempt { event: event.clone(), error: None, usage: None });
            }
            AttemptKind::Failed { error, usage, .. } => {
                let Some(attempt) = call.attempts.last_mut() else { return };
                attempt.error = Some(error.clone());
                attempt.usage = usage.as_deref().cloned();
            }
            AttemptKind::Settled { end: AttemptEnd::Failed { error } } => {
                let Some(attempt) = call.attempts.last_mut() else { return };
                attempt.error.get_or_insert_with(|| error.clone());
            }
            _ => {}
        }
    }

    /// The call that was made last gave no step.
    pub(crate) fn failed(&mut self, error: &ErrorRecord) {
        if let Some(call) = self.calls.last_mut() {
            call.error = Some(error.clone());
        }
    }

    pub(crate) fn close(&mut self, end: &RunEnd, costs: &Costs) -> LedgerEntry {
        let mut entry = LedgerEntry { outcome: end.outcome.as_str().to_owned(), ..LedgerEntry::default() };
        let mut calls = std::mem::take(&mut self.calls).into_iter().peekable();
        while let Some(mut call) = calls.next() {
            let last_of_step = calls.peek().is_none_or(|next| next.step != call.step);
            let record = end.steps.iter().find(|record| record.step == call.step && last_of_step);
            if let (None, None, Outcome::Failed { error, .. }) = (&call.error, calls.peek(), &end.outcome) {
                call.error = Some(error.clone());
            }
            let mut rows = call.rows();
            if let (Some(row), Some(record)) = (rows.last_mut(), record) {
                row.end = LedgerEnd::Answered;
                row.usage = Some(record.usage.clone());
            }
            for mut row in rows {
                row.cost = row.usage.as_ref().and_then(|usage| costs.of(&row.target, usage));
                let list = match row.end {
                    LedgerEnd::Answered => &mut entry.answered,
                    _ => &mut entry.abandoned,
                };
                list.push(row);
            }
        }
        entry
    }
}

impl Call {
    /// A row for each attempt; one for the call itself where none was reported.
    fn rows(self) -> Vec<LedgerRow> {
        let Self { step, target, key, attempts, error } = self;
        let ended = |error: Option<ErrorRecord>| match error {
            Some(error) => LedgerEnd::Failed { error: Some(error) },
            None => LedgerEnd::Cut,
        };
        if attempts.is_empty() {
            let row = LedgerRow {
                step,
                attempt: 1,
                target,
                key,
                request_id: None,
                end: ended(error),
                usage: None,
                cost: None,
            };
            return vec![row];
        }
        let last = attempts.len();
        let rows = attempts.into_iter().zip(1..).map(|(attempt, number): (Attempt, usize)| {
            // An attempt behind which another one follows has failed, whether or not it was said why.
            let end = match attempt.error.or_else(|| error.clone().filter(|_| number == last)) {
                None if number < last => LedgerEnd::Failed { error: None },
                error => ended(error),
            };
            LedgerRow {
                step,
                attempt: attempt.event.attempt,
                target: attempt.event.target,
                key: attempt.event.key,
                request_id: Some(attempt.event.request_id),
                end,
                usage: attempt.usage,
                cost: None,
            }
        });
        rows.collect()
    }
}
