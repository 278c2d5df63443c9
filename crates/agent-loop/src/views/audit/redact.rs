use ai_core::run::ToolStatus;
use ai_provider::{
    AssistantMessage, AssistantPart, AttemptEnd, AttemptEvent, AttemptKind, ErrorRecord, FilePart,
    ToolOutput, Usage,
};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::entry::{AuditPart, Digest};

/// What an audit may tell.
#[derive(Clone)]
pub(super) struct Redaction {
    pub(super) content: bool,
    /// Without it a short text could be guessed from its hash.
    pub(super) key: Vec<u8>,
}

impl Redaction {
    pub(super) fn text(&self, text: &str) -> Digest {
        let mut hash = Sha256::new_with_prefix(&self.key);
        hash.update(text);
        let hash = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Digest { bytes: text.len(), hash, content: self.content.then(|| text.to_owned()) }
    }

    fn json(&self, value: &impl Serialize) -> Digest {
        self.text(&serde_json::to_string(value).unwrap_or_default())
    }

    fn words(&self, words: &mut String) {
        if !self.content {
            let digest = self.text(words);
            *words = format!("{} bytes, {}", digest.bytes, digest.hash);
        }
    }

    pub(super) fn error(&self, error: &ErrorRecord) -> ErrorRecord {
        let mut error = error.clone();
        self.words(&mut error.message);
        error
    }

    pub(super) fn attempt(&self, event: &AttemptEvent) -> AttemptEvent {
        let mut event = event.clone();
        match &mut event.kind {
            AttemptKind::Failed { error, usage, .. } => {
                self.words(&mut error.message);
                if let Some(usage) = usage {
                    **usage = self.usage(usage);
                }
            }
            AttemptKind::Settled { end: AttemptEnd::Failed { error } } => self.words(&mut error.message),
            AttemptKind::Skipped { why, .. } => self.words(why),
            _ => {}
        }
        event
    }

    pub(super) fn status(&self, status: &ToolStatus) -> ToolStatus {
        let mut status = status.clone();
        if let ToolStatus::DeliveryUnknown(unknown) = &mut status {
            unknown.known_effects.iter_mut().for_each(|effect| self.words(effect));
        }
        status
    }

    pub(super) fn usage(&self, usage: &Usage) -> Usage {
        Usage { raw: usage.raw.clone().filter(|_| self.content), ..usage.clone() }
    }

    pub(super) fn output(&self, output: &ToolOutput) -> Digest {
        match output {
            ToolOutput::Text(text) | ToolOutput::ErrorText(text) => self.text(text),
            ToolOutput::Json(value) | ToolOutput::ErrorJson(value) => self.json(value),
            other => self.json(other),
        }
    }

    pub(super) fn parts(&self, message: &AssistantMessage) -> Vec<AuditPart> {
        message.parts.iter().map(|part| self.part(part)).collect()
    }

    fn part(&self, part: &AssistantPart) -> AuditPart {
        let file = |file: &FilePart| self.json(&file.data);
        let (kind, digest) = match part {
            AssistantPart::Text(part) => ("text", self.text(&part.text)),
            AssistantPart::Reasoning(part) => ("reasoning", self.text(&part.text)),
            AssistantPart::File(part) => ("file", file(part)),
            AssistantPart::ReasoningFile(part) => ("reasoning-file", file(part)),
            AssistantPart::ToolCall(call) => ("tool-call", self.text(&call.input)),
            AssistantPart::ToolResult(result) => ("tool-result", self.output(&result.output)),
            AssistantPart::Source(source) => ("source", self.json(source)),
            AssistantPart::ToolApprovalRequest(request) => ("tool-approval-request", self.json(request)),
            AssistantPart::Custom(custom) => ("custom", self.text(&custom.kind)),
            other => ("other", self.json(other)),
        };
        AuditPart { kind: kind.to_owned(), digest }
    }
}

#[cfg(test)]
mod tests;
