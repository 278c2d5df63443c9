use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ai_core::run::ToolStatus;
use ai_provider::{AttemptEvent, ErrorRecord, FinishReason, Id, TargetId, Usage};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::views::missing::Missing;

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AuditEntry {
    /// Names the run: a random UUID, or what the agent's [ids](crate::Agent::with_ids) give.
    pub run: String,
    /// Counts the entries of the run from 1. A gap says that samples were left out.
    pub seq: u64,
    /// When. In JSON: milliseconds since 1970.
    #[serde(serialize_with = "to_millis", deserialize_with = "from_millis")]
    pub at: SystemTime,
    /// In which step; counts from 1. 0 is before the first.
    pub step: u32,
    /// What.
    #[serde(flatten)]
    pub event: AuditEvent,
}

impl AuditEntry {
    /// Whether a record without this entry still tells the truth: only progress in between.
    pub fn is_sample(&self) -> bool {
        matches!(self.event, AuditEvent::CallProgress { .. })
    }
}

/// What happened. Names, ids, sizes and endings are told; content is a [`Digest`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum AuditEvent {
    /// The run begins, or goes on from where it was stored.
    RunStarted,
    /// A step begins.
    StepStarted {
        /// What is asked.
        target: TargetId,
    },
    /// A model call is tried, elsewhere or with another key, or such an attempt is over.
    Attempt {
        /// What is known of it; the words of errors are digests.
        attempt: Box<AttemptEvent>,
    },
    /// The model calls a tool.
    CallMade {
        /// The call.
        call_id: Id,
        /// Which tool.
        tool: String,
        /// With what.
        input: Digest,
        /// Whether the provider runs it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        provider_executed: bool,
    },
    /// A person is asked about a call.
    CallAsked {
        /// The call.
        call_id: Id,
        /// Pairs the question with its answer.
        approval_id: Id,
    },
    /// It is decided whether a call may run.
    CallDecided {
        /// The call.
        call_id: Id,
        /// Who decided.
        by: Decider,
        /// Yes or no.
        approved: bool,
        /// Why, if somebody said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Digest>,
    },
    /// A call begins to run.
    CallStarted {
        /// The call.
        call_id: Id,
        /// Which tool.
        tool: String,
    },
    /// A call has a result so far. A sample.
    CallProgress {
        /// The call.
        call_id: Id,
        /// The result.
        output: Digest,
    },
    /// A call is over, whether or not it ran.
    CallEnded {
        /// The call.
        call_id: Id,
        /// Which tool.
        tool: String,
        /// How; effects that a call of unknown delivery reported are digests.
        status: ToolStatus,
        /// How long it ran, in milliseconds; absent for what the provider runs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
        /// What the model gets.
        output: Digest,
        /// What it took of models itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Box<Usage>>,
    },
    /// The step failed and is tried again; what it has shown is taken back.
    StepReset {
        /// What failed; its words are a digest.
        error: ErrorRecord,
    },
    /// The step is complete.
    StepEnded {
        /// The model that says it answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// The provider's id of the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        response_id: Option<String>,
        /// Why the model stopped.
        finish: FinishReason,
        /// What it took, without the provider's own object.
        usage: Usage,
        /// What the model said.
        parts: Vec<AuditPart>,
        /// How many things could not be done as asked.
        warnings: usize,
    },
    /// The run is over.
    RunEnded {
        /// How, as [`Outcome::as_str`](ai_core::run::Outcome::as_str) says it.
        outcome: String,
        /// What failed; its words are a digest.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorRecord>,
        /// What all steps took, without the provider's own object.
        usage: Usage,
        /// What the model had said in the step that was cut.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unfinished: Vec<AuditPart>,
        /// What was shown and taken back.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        withdrawn: Vec<Withdrawn>,
        /// What is missing.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        missing: Vec<Missing>,
    },
}

/// Who decides about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Decider {
    /// The application: its policy, its tool, or that neither asks.
    Policy,
    /// A person.
    Person,
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AuditPart {
    /// Its kind: `text`, `reasoning`, `tool-call`, `file` and so on.
    pub kind: String,
    /// Its content.
    #[serde(flatten)]
    pub digest: Digest,
}

/// Content as an audit holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Digest {
    /// Its size.
    pub bytes: usize,
    /// The same for the same content under the same [key](super::Audit::with_hash_key), and else of no meaning: the
    /// first 16 hexadecimal digits of SHA-256 over key and content.
    pub hash: String,
    /// The content, where the setting says so: text as it is, everything else as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

/// An answer that was shown and taken back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Withdrawn {
    /// The step it was to be of.
    pub step: u32,
    /// What failed; its words are a digest.
    pub error: ErrorRecord,
    /// What it had said.
    pub parts: Vec<AuditPart>,
}

impl Withdrawn {
    pub(super) fn new(step: u32, error: ErrorRecord, parts: Vec<AuditPart>) -> Self {
        Self { step, error, parts }
    }
}

fn to_millis<S: Serializer>(at: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    serializer.serialize_u64(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn from_millis<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
    let since = Duration::from_millis(u64::deserialize(deserializer)?);
    UNIX_EPOCH.checked_add(since).ok_or_else(|| serde::de::Error::custom("the time is out of range"))
}
