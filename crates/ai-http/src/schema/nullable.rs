use ai_provider::JsonObject;
use serde_json::{Value, json};

use super::Nulls;

/// Whether a rewritten schema takes null, as far as it says so itself.
pub(super) fn is_nullable(schema: &JsonObject) -> bool {
    let has_null = |types: &Value| {
        types == "null" || types.as_array().is_some_and(|types| types.contains(&json!("null")))
    };
    let by_type = schema.get("type").is_some_and(has_null);
    let by_union = ["anyOf", "oneOf"].iter().any(|union| {
        let branches = schema.get(*union).and_then(Value::as_array);
        branches.is_some_and(|branches| branches.iter().filter_map(Value::as_object).any(is_nullable))
    });
    schema.get("nullable") == Some(&Value::Bool(true)) || by_type || by_union
}

/// A rewritten schema that takes null too.
pub(super) fn nullable(mut schema: JsonObject, nulls: Nulls) -> JsonObject {
    if is_nullable(&schema) {
        return schema;
    }
    if nulls == Nulls::Nullable {
        schema.insert("nullable".into(), true.into());
        return schema;
    }
    if let Some(branches) =
        ["anyOf", "oneOf"].into_iter().find(|key| schema.get(*key).is_some_and(Value::is_array))
    {
        if let Some(Value::Array(branches)) = schema.get_mut(branches) {
            branches.push(json!({ "type": "null" }));
        }
        return schema;
    }
    let fixed = schema.contains_key("$ref") || schema.contains_key("const") || schema.contains_key("allOf");
    let types = match schema.get("type") {
        Some(Value::String(kind)) if !fixed => vec![Value::from(kind.as_str())],
        Some(Value::Array(kinds)) if !fixed => kinds.clone(),
        None if !fixed => Vec::new(),
        _ => {
            let description = schema.remove("description");
            let mut either = JsonObject::new();
            either.insert("anyOf".into(), json!([schema, { "type": "null" }]));
            either.extend(description.map(|text| ("description".to_owned(), text)));
            return either;
        }
    };
    // Without a type, any value is taken that the rest allows.
    if !types.is_empty() {
        let types = types.into_iter().chain([Value::from("null")]).collect();
        schema.insert("type".into(), Value::Array(types));
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.push(Value::Null);
    }
    schema
}
