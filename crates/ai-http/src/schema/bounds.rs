use ai_provider::JsonObject;
use serde_json::Value;

use super::SchemaProblem;
use super::path::Path;

/// How deep a schema may nest. It is walked by recursion, and APIs stop far earlier (OpenAI at 10 levels).
pub(super) const DEPTH: usize = 128;

/// How many values a schema may have, once references are followed; 64 bytes of text count as one. OpenAI takes
/// 5,000 properties; references that are put in place can double at each level.
pub(super) const VALUES: usize = 50_000;

/// Measures the document without recursion, before anything recurses into it.
pub(super) fn check(schema: &Value) -> Result<(), SchemaProblem> {
    let mut open = vec![(schema, 0)];
    let mut seen = 0;
    while let Some((value, depth)) = open.pop() {
        seen += 1 + text(value);
        // A schema in a schema is two values deeper: the keyword's and its own.
        if depth > 2 * DEPTH {
            return Err(too_deep(&Path::ROOT));
        }
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(map) => {
                seen += map.keys().map(|key| key.len() / TEXT).sum::<usize>();
                open.extend(map.values().map(|value| (value, depth + 1)));
            }
            _ => {}
        }
        if seen + open.len() > VALUES {
            return Err(too_large(&Path::ROOT));
        }
    }
    Ok(())
}

/// How many values a schema has. It was checked, so it is not deep.
pub(super) fn size(schema: &JsonObject) -> usize {
    schema.iter().map(|(key, value)| key.len() / TEXT + size_of(value)).sum::<usize>() + 1
}

pub(super) fn size_of(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(size_of).sum::<usize>() + 1,
        Value::Object(map) => size(map),
        scalar => 1 + text(scalar),
    }
}

const TEXT: usize = 64;

fn text(value: &Value) -> usize {
    value.as_str().map_or(0, |text| text.len() / TEXT)
}

pub(super) fn too_deep(path: &Path<'_>) -> SchemaProblem {
    path.problem(format!("it nests deeper than {DEPTH} levels"))
}

pub(super) fn too_large(path: &Path<'_>) -> SchemaProblem {
    path.problem(format!("it has more than {VALUES} values"))
}
