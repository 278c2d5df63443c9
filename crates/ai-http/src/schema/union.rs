use ai_provider::JsonObject;
use serde_json::Value;

use super::keywords::{Notes, is_annotation};
use super::path::Path;
use super::walk::{Walker, annotations};
use super::{Nulls, SchemaProblem, bounds, keywords};

impl Walker<'_> {
    /// `anyOf` and `oneOf`. What stands beside them holds for each branch, so it goes into each.
    pub(super) fn union(
        &mut self,
        schema: &JsonObject,
        path: &Path<'_>,
    ) -> Result<JsonObject, SchemaProblem> {
        let keyword = match (schema.get("anyOf"), schema.get("oneOf")) {
            (Some(_), Some(_)) => return Err(path.problem("`anyOf` and `oneOf` at once")),
            (Some(_), None) => "anyOf",
            _ => "oneOf",
        };
        let Some(Value::Array(branches)) = schema.get(keyword) else {
            return Err(path.problem(format!("`{keyword}` is no list")));
        };
        let mut shared = schema.clone();
        shared.remove(keyword);
        let by_flag = self.rules.nulls == Nulls::Nullable;
        let given_null = shared.remove("nullable") == Some(Value::Bool(true));
        let null = by_flag && (given_null || branches.iter().any(is_null));
        let branches: Vec<_> =
            branches.iter().enumerate().filter(|(_, branch)| !(by_flag && is_null(branch))).collect();
        let mut out = match branches.as_slice() {
            [] if null => return Ok([("type".to_owned(), "null".into())].into_iter().collect()),
            [] => return Err(path.problem(format!("`{keyword}` has no branches"))),
            [(index, branch)] => {
                let whole = with(shared, branch);
                self.node(&whole, &path.key(keyword).index(*index))?
            }
            several => {
                let mut out = JsonObject::new();
                let mut notes = Notes::default();
                keywords::rest(&annotations(&shared), self.rules, &mut out, &mut notes);
                notes.describe(shared.get("description"), self.rules, &mut out);
                shared.retain(|key, _| !is_annotation(key));
                let mut rewritten = Vec::with_capacity(several.len());
                for (index, branch) in several {
                    let path = path.key(keyword);
                    let path = path.index(*index);
                    let branch = if shared.is_empty() {
                        self.node(branch, &path)?
                    } else {
                        self.spend(bounds::size(&shared), &path)?;
                        self.node(&with(shared.clone(), branch), &path)?
                    };
                    rewritten.push(Value::Object(branch));
                }
                let keyword = if self.rules.one_of { keyword } else { "anyOf" };
                out.insert(keyword.into(), Value::Array(rewritten));
                out
            }
        };
        if null {
            out.insert("nullable".into(), true.into());
        } else if given_null {
            out = super::nullable::nullable(out, self.rules.nulls);
        }
        Ok(out)
    }
}

/// A branch with what is said beside the union.
fn with(mut shared: JsonObject, branch: &Value) -> Value {
    if shared.is_empty() {
        return branch.clone();
    }
    let mut parts = match shared.remove("allOf") {
        Some(Value::Array(parts)) => parts,
        _ => Vec::new(),
    };
    parts.push(branch.clone());
    shared.insert("allOf".into(), Value::Array(parts));
    Value::Object(shared)
}

fn is_null(branch: &Value) -> bool {
    let null = |schema: &JsonObject| schema.get("type").is_some_and(|kind| kind == "null");
    branch.as_object().is_some_and(|schema| null(schema) || schema.get("const") == Some(&Value::Null))
}
