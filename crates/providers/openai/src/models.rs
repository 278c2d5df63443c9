use ai_provider::{ErrorClass, ModelError, ModelInfo};
use serde_json::Value;

/// The models of a list: under `data`, as OpenAI has it, or bare.
pub(crate) fn models(list: &Value) -> Result<Vec<ModelInfo>, ModelError> {
    let list = list.get("data").or_else(|| list.get("models")).unwrap_or(list);
    let Some(list) = list.as_array() else {
        return Err(ModelError::new(ErrorClass::Protocol, "not a list of models: it holds no list"));
    };
    let models = list.iter().filter_map(|model| {
        let text =
            |name: &str| model.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        Some(ModelInfo {
            id: text("id").or_else(|| text("name"))?.to_owned(),
            display_name: text("display_name").map(str::to_owned),
            kind: None,
            capabilities: None,
        })
    });
    Ok(models.collect())
}
