//! What was tried behind a step, in words: told as soon as something failed.

use ai_provider::{AttemptEvent, AttemptKind};
use retry::Timeline;

/// The attempts of the step at hand.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    timeline: Timeline,
    /// Bytes of the line that were told already.
    told: usize,
    failed: bool,
}

impl Attempts {
    /// Takes an event; what is to be told now: before a wait, and at the end, if not all went well at once.
    pub(crate) fn hear(&mut self, event: &AttemptEvent) -> Option<String> {
        self.timeline.push(event);
        self.failed |= matches!(event.kind, AttemptKind::Failed { .. });
        let line = self.timeline.lines().last()?;
        let more = line.get(self.told..)?.trim_start_matches(" · ").to_owned();
        let settled = matches!(event.kind, AttemptKind::Settled { .. });
        let tells = self.failed && (settled || matches!(event.kind, AttemptKind::Waiting { .. }));
        self.told = if tells { line.len() } else { self.told };
        if settled {
            *self = Self::default();
        }
        tells.then_some(more)
    }
}

#[cfg(test)]
mod tests;
