use std::collections::HashSet;

use ai_provider::JsonObject;
use serde_json::{Value, json};

use super::SchemaProblem;
use super::keywords::is_annotation;
use super::path::Path;

/// Makes `base` ask for what `other` asks for too. Annotations of `base` win; a closed part closes the whole, as is
/// meant by those who write it (by the letter, the properties of the other parts could then never be there).
pub(super) fn merge(base: &mut JsonObject, other: JsonObject, path: &Path<'_>) -> Result<(), SchemaProblem> {
    for (keyword, theirs) in other {
        let Some(ours) = base.get_mut(&keyword) else {
            base.insert(keyword, theirs);
            continue;
        };
        if *ours == theirs || is_annotation(&keyword) {
            continue;
        }
        *ours = match both(&keyword, ours, theirs) {
            Some(both) => both,
            None => {
                return Err(path.problem(format!("parts that hold at once differ in `{keyword}`")));
            }
        };
    }
    Ok(())
}

fn both(keyword: &str, ours: &Value, theirs: Value) -> Option<Value> {
    match keyword {
        "properties" | "patternProperties" => properties(ours.as_object()?, theirs),
        "required" => {
            let mut names = ours.as_array()?.clone();
            let new: Vec<_> =
                theirs.as_array()?.iter().filter(|name| !names.contains(name)).cloned().collect();
            names.extend(new);
            Some(Value::Array(names))
        }
        "type" => {
            let kinds: Vec<_> = list(ours).iter().filter_map(|kind| narrower(kind, list(&theirs))).collect();
            match kinds.as_slice() {
                [] => None,
                [kind] => Some(kind.clone()),
                _ => Some(Value::Array(kinds)),
            }
        }
        "additionalProperties" | "unevaluatedProperties" => match (ours, theirs) {
            (Value::Bool(false), _) | (_, Value::Bool(false)) => Some(Value::Bool(false)),
            (Value::Bool(true), other) => Some(other),
            (other, Value::Bool(true)) => Some(other.clone()),
            (ours, theirs) => Some(json!({ "allOf": [ours, theirs] })),
        },
        "items" => Some(json!({ "allOf": [ours, theirs] })),
        "enum" => {
            let theirs = written(theirs.as_array()?);
            let ours = ours.as_array()?.iter();
            let common: Vec<_> = ours.filter(|value| theirs.contains(&value.to_string())).cloned().collect();
            (!common.is_empty()).then_some(Value::Array(common))
        }
        _ if keyword.starts_with("min") || keyword == "exclusiveMinimum" => {
            Some(if theirs.as_f64()? > ours.as_f64()? { theirs } else { ours.clone() })
        }
        _ if keyword.starts_with("max") || keyword == "exclusiveMaximum" => {
            Some(if theirs.as_f64()? < ours.as_f64()? { theirs } else { ours.clone() })
        }
        _ => None,
    }
}

/// Values as texts, to be looked up among many.
fn written(values: &[Value]) -> HashSet<String> {
    values.iter().map(Value::to_string).collect()
}

fn properties(ours: &JsonObject, theirs: Value) -> Option<Value> {
    let Value::Object(theirs) = theirs else { return None };
    let mut all = ours.clone();
    for (name, theirs) in theirs {
        let schema = match all.remove(&name) {
            Some(ours) if ours != theirs => json!({ "allOf": [ours, theirs] }),
            _ => theirs,
        };
        all.insert(name, schema);
    }
    Some(Value::Object(all))
}

fn list(types: &Value) -> &[Value] {
    types.as_array().map_or_else(|| std::slice::from_ref(types), Vec::as_slice)
}

/// The type that is both `kind` and one of `others`.
fn narrower(kind: &Value, others: &[Value]) -> Option<Value> {
    let number_and_integer = [("number", "integer"), ("integer", "number")];
    let holds = |other: &Value| {
        other == kind || number_and_integer.iter().any(|(one, two)| kind == one && other == two)
    };
    let other =
        others.iter().find(|other| *other == kind).or_else(|| others.iter().find(|other| holds(other)))?;
    Some(if kind == "number" { other.clone() } else { kind.clone() })
}
