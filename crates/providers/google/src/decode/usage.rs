use ai_provider::Usage;
use serde_json::Value;

use super::frame::Counts;

/// What an answer took, as its frames report it: running totals, of which later ones replace earlier ones
/// field by field.
#[derive(Debug, Default)]
pub(super) struct Totals(Option<Counts>);

impl Totals {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(super) fn take(&mut self, new: Counts) {
        let ours = self.0.get_or_insert_default();
        for (ours, new) in [
            (&mut ours.prompt_token_count, new.prompt_token_count),
            (&mut ours.cached_content_token_count, new.cached_content_token_count),
            (&mut ours.candidates_token_count, new.candidates_token_count),
            (&mut ours.thoughts_token_count, new.thoughts_token_count),
        ] {
            ours.0 = new.0.or(ours.0);
        }
    }

    /// The usage by the one meaning every adapter gives the fields. Gemini counts the cache within the prompt,
    /// and reasoning beside the answer; what it leaves out stays unknown. `raw` is the last object.
    pub(super) fn usage(&self, raw: Option<Value>) -> Usage {
        let counts = self.0.unwrap_or_default();
        let mut usage = Usage { raw: raw.map(Into::into), ..Usage::default() };
        usage.input.total = counts.prompt_token_count.0;
        usage.input.cache_read = counts.cached_content_token_count.0;
        usage.input.no_cache = match (usage.input.total, usage.input.cache_read) {
            (Some(total), Some(read)) => Some(total.saturating_sub(read)),
            _ => None,
        };
        usage.output.text = counts.candidates_token_count.0;
        usage.output.reasoning = counts.thoughts_token_count.0;
        usage.output.total = match (usage.output.text, usage.output.reasoning) {
            (Some(text), Some(reasoning)) => Some(text.saturating_add(reasoning)),
            (text, reasoning) => text.or(reasoning),
        };
        usage
    }
}
