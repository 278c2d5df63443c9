use std::borrow::Cow;

use ai_core::RunEnd;
use ai_core::run::Outcome;
use ai_provider::{ErrorClass, ErrorRecord, TargetId};
use serde::{Deserialize, Serialize};

use crate::ending::Ending;

/// Why a run gave an `error`, as plain data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Failure {
    /// A stable key for translations: `model.` and the [class](ErrorClass) of the error (`model.empty`,
    /// `model.missing-finish`), `run.step-cap`, `run.loop-guard`, or `run.tool-terminal` unless the tool gave its
    /// own.
    pub key: Cow<'static, str>,
    /// The model of the step that failed, with its provider; absent if the run failed before its first step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetId>,
    /// The kind of failure, if a model call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<ErrorClass>,
    /// What happened, in words. A provider's own words are not meant for users.
    pub message: String,
}

impl Failure {
    pub(crate) fn of_model(error: &ErrorRecord, target: Option<TargetId>) -> Self {
        Self {
            key: format!("model.{}", error.class).into(),
            target,
            class: Some(error.class),
            message: error.message.clone(),
        }
    }

    /// What failed in a run that ended like this, if something did.
    pub(crate) fn of(end: &RunEnd, target: Option<TargetId>) -> Option<Self> {
        Self::of_outcome(&end.outcome, target)
    }

    pub(crate) fn of_outcome(outcome: &Outcome, target: Option<TargetId>) -> Option<Self> {
        if Ending::of(outcome) != Ending::Error {
            return None;
        }
        let key = match outcome {
            Outcome::Failed { error, .. } => return Some(Self::of_model(error, target)),
            Outcome::ToolTerminal(record) => match &record.key {
                Some(key) => Cow::Owned(key.clone()),
                None => Cow::Borrowed("run.tool-terminal"),
            },
            Outcome::LoopGuard { .. } => Cow::Borrowed("run.loop-guard"),
            _ => Cow::Borrowed("run.step-cap"),
        };
        Some(Self { key, target, class: None, message: outcome.to_string() })
    }
}
