use ai_http::Notes;
use ai_provider::{Delivery, JsonObject, ModelError};
use serde_json::{Value, json};

use super::reasoning::{self, Thought};
use super::tools::Choice;
use super::{Scope, put_over, settings};
use crate::models::Known;

/// All of the body but tools, instructions and messages: settings, the caller's options over them, and the extra
/// body over those.
pub(super) fn head(
    scope: Scope<'_>,
    mut options: JsonObject,
    choice: &Choice,
    format: Option<Value>,
    notes: &mut Notes,
) -> Result<JsonObject, ModelError> {
    let request = scope.request;
    let mut head = JsonObject::new();
    head.insert("model".into(), scope.info.target.model.as_str().into());
    if scope.info.delivery == Delivery::Stream {
        head.insert("stream".into(), true.into());
    }
    if let Some(effort) = options.remove("effort") {
        put_over(&mut options, &output_config("effort", effort), "providerOptions", notes);
    }
    let limit = settings::limit(scope, notes);
    let said = options.contains_key("thinking") || request.extra_body.contains_key("thinking");
    let thought = reasoning::thought(scope, limit, choice.forces, said, notes);
    settings::sampling(scope, thought.is_on(&options, &request.extra_body), &mut head, notes)?;
    if !request.settings.stop_sequences.is_empty() {
        settings::stop_sequences(scope, &mut head, notes);
    }
    let Thought { thinking, effort } = thought;
    if let Some(thinking) = thinking {
        head.insert("thinking".into(), thinking);
    }
    if let Some(effort) = effort {
        put_over(&mut head, &output_config("effort", effort.into()), "reasoning", notes);
    }
    if let Some(format) = format {
        put_over(&mut head, &output_config("format", format), "responseFormat", notes);
    }
    if let Some(choice) = &choice.wire {
        head.insert("tool_choice".into(), choice.clone());
    }
    put_over(&mut head, &options, "providerOptions", notes);
    put_over(&mut head, &request.extra_body, "extraBody", notes);
    finish_thinking(scope, limit, &mut head, notes);
    scope.betas.borrow_mut().of_fields(&head);
    if let Some(beta) = scope.model.effort_beta
        && head.get("output_config").is_some_and(|config| config.get("effort").is_some())
    {
        scope.beta(beta);
    }
    Ok(head)
}

fn output_config(field: &str, value: Value) -> JsonObject {
    JsonObject::from_iter([("output_config".to_owned(), json!({ field: value }))])
}

/// The limit of the answer leaves room for a budget of thinking, which the API counts among its tokens.
fn finish_thinking(scope: Scope<'_>, limit: u64, head: &mut JsonObject, notes: &mut Notes) {
    let mut budget = 0;
    if let Some(Value::Object(thinking)) = head.get_mut("thinking")
        && thinking.get("type").is_some_and(|kind| kind == "enabled")
    {
        let least = || Value::from(reasoning::LEAST_BUDGET);
        budget = thinking.entry("budget_tokens").or_insert_with(least).as_u64().unwrap_or_default();
    }
    if head.contains_key("max_tokens") {
        return;
    }
    let wanted = limit.saturating_add(budget);
    let most = settings::most(scope);
    let sent = most.map_or(wanted, |most| wanted.min(most));
    if sent < wanted && scope.request.settings.max_output_tokens.is_some() {
        notes.compatibility(
            "maxOutputTokens",
            format!(
                "{wanted} tokens, thinking included, are more than this model gives: {sent} are asked for"
            ),
        );
    }
    if scope.model.known == Known::Newer
        && scope.request.settings.max_output_tokens.is_none()
        && most.is_none()
    {
        let message = format!("the limit of this model is not known: {sent} tokens are asked for");
        notes.compatibility("maxOutputTokens", message);
    }
    head.insert("max_tokens".into(), sent.into());
}
