use std::collections::{BTreeMap, BTreeSet};

use ai_provider::JsonObject;
use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::SchemaProblem;
use super::path::Path;

/// The JSON pointer of a `$ref` into the same document; empty for the root.
pub(super) fn pointer(reference: &Value, path: &Path<'_>) -> Result<String, SchemaProblem> {
    let Some(reference) = reference.as_str() else {
        return Err(path.problem("`$ref` is no text"));
    };
    let Some(fragment) = reference.strip_prefix('#') else {
        return Err(path.problem(format!("`{reference}` is outside of the schema, and nothing is fetched")));
    };
    let pointer = percent_decode_str(fragment)
        .decode_utf8()
        .map_err(|_| path.problem(format!("`{reference}` is not UTF-8")))?
        .into_owned();
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return Err(path.problem(format!("`{reference}` is no JSON pointer")));
    }
    Ok(pointer)
}

/// What a pointer leads to.
pub(super) fn target<'a>(
    document: &'a Value,
    pointer: &str,
    path: &Path<'_>,
) -> Result<&'a Value, SchemaProblem> {
    document.pointer(pointer).ok_or_else(|| path.problem(format!("`#{pointer}` leads nowhere")))
}

/// The definitions of the result, by the pointer that leads to them in the original.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    by_pointer: BTreeMap<String, Definition>,
    names: BTreeSet<String>,
}

#[derive(Debug)]
struct Definition {
    name: String,
    /// Absent as long as it is being rewritten.
    schema: Option<JsonObject>,
}

/// Whether a definition is known, and how far.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Known {
    No,
    Open(String),
    Done(String),
}

impl Definitions {
    pub(super) fn find(&self, pointer: &str) -> Known {
        match self.by_pointer.get(pointer) {
            None => Known::No,
            Some(Definition { name, schema: None }) => Known::Open(name.clone()),
            Some(Definition { name, .. }) => Known::Done(name.clone()),
        }
    }

    /// Gives a definition its name: the last part of its pointer, in characters every API takes.
    pub(super) fn open(&mut self, pointer: &str) -> String {
        let last = pointer.rsplit('/').next().unwrap_or_default();
        let taken = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
        let base: String = last.chars().map(|letter| if taken(letter) { letter } else { '_' }).collect();
        let base = if base.is_empty() { "schema".to_owned() } else { base };
        let mut name = base.clone();
        let mut number = self.by_pointer.len() + 1;
        while !self.names.insert(name.clone()) {
            name = format!("{base}_{number}");
            number += 1;
        }
        self.by_pointer.insert(pointer.to_owned(), Definition { name: name.clone(), schema: None });
        name
    }

    pub(super) fn close(&mut self, pointer: &str, schema: JsonObject) {
        if let Some(definition) = self.by_pointer.get_mut(pointer) {
            definition.schema = Some(schema);
        }
    }

    /// The definitions by name.
    pub(super) fn into_object(self) -> Result<JsonObject, SchemaProblem> {
        let mut all = JsonObject::new();
        let mut pointers = BTreeMap::new();
        for (pointer, definition) in self.by_pointer {
            let Some(schema) = definition.schema else { continue };
            all.insert(definition.name.clone(), Value::Object(schema));
            pointers.insert(definition.name, pointer);
        }
        for (name, pointer) in pointers {
            if leads_only_to_itself(&all, &name) {
                return Err(Path::At(&pointer).problem(format!("`#{pointer}` leads only to itself")));
            }
        }
        Ok(all)
    }
}

/// Whether a definition that is nothing but a reference comes back to one it passed.
fn leads_only_to_itself(definitions: &JsonObject, name: &str) -> bool {
    let next = |name: &str| {
        let schema = definitions.get(name)?.as_object()?;
        let reference = schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
        (schema.len() == 1).then_some(reference)
    };
    let mut seen = BTreeSet::from([name]);
    let mut at = name;
    while let Some(name) = next(at) {
        let Some((known, _)) = definitions.get_key_value(name) else { return false };
        if !seen.insert(known) {
            return true;
        }
        at = known;
    }
    false
}
