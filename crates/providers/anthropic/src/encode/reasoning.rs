use ai_http::Notes;
use ai_provider::{JsonObject, ReasoningEffort};
use serde_json::{Value, json};

use super::Scope;
use crate::models::Thinking;

/// The least budget the API takes.
pub(super) const LEAST_BUDGET: u64 = 1_024;

/// What the neutral effort says in this API's words.
#[derive(Debug, Default)]
pub(super) struct Thought {
    pub(super) thinking: Option<Value>,
    pub(super) effort: Option<&'static str>,
}

impl Thought {
    /// Whether the model will think, by whoever said so last.
    pub(super) fn is_on(&self, options: &JsonObject, extra_body: &JsonObject) -> bool {
        let said = [extra_body.get("thinking"), options.get("thinking"), self.thinking.as_ref()];
        let kind = said.into_iter().flatten().find_map(|thinking| thinking.get("type")?.as_str());
        matches!(kind, Some("enabled" | "adaptive"))
    }
}

/// The effort in the model's terms: a budget of tokens, a word, or a switch. What is `said` in the API's own terms
/// wins. Thinking cannot be had together with a forced call: the call was asked for by name.
pub(super) fn thought(scope: Scope<'_>, limit: u64, forced: bool, said: bool, notes: &mut Notes) -> Thought {
    let level = scope.request.settings.reasoning;
    let Some(name) = level.as_str() else { return Thought::default() };
    if said {
        notes.unsupported("reasoning", "`thinking` of the options or the extra body says it already");
        return Thought::default();
    }
    let off = level == ReasoningEffort::None;
    let model = scope.model.thinking;
    if forced && !off && model != Thinking::Never {
        notes.unsupported("reasoning", "a model that is forced to call a tool cannot think before it");
        return Thought::default();
    }
    match model {
        Thinking::Never if off => Thought::default(),
        Thinking::Never => {
            notes.unsupported("reasoning", format!("{} does not think", scope.info.target.model));
            Thought::default()
        }
        Thinking::Always if off => {
            notes.unsupported("reasoning", format!("{} always thinks", scope.info.target.model));
            Thought::default()
        }
        _ if off => Thought { thinking: Some(json!({ "type": "disabled" })), effort: None },
        Thinking::Budget => {
            // Something must be left of what the model can give.
            let maximum = super::settings::most(scope).map_or(u64::MAX, |most| most.saturating_sub(1));
            let budget = level.budget(limit, LEAST_BUDGET, maximum);
            Thought {
                thinking: budget.map(|budget| json!({ "type": "enabled", "budget_tokens": budget })),
                effort: None,
            }
        }
        Thinking::Adaptive | Thinking::Always => {
            let efforts = scope.model.efforts;
            let word = match name {
                "minimal" => "low",
                "xhigh" if !efforts.contains(&"xhigh") => "max",
                same => same,
            };
            if word != name {
                notes.compatibility("reasoning", format!("`{name}` is sent as `{word}`"));
            }
            let effort = efforts.iter().find(|known| **known == word).copied();
            Thought { thinking: Some(json!({ "type": "adaptive" })), effort }
        }
    }
}
