use ai_provider::JsonObject;
use serde_json::{Value, json};

use super::bounds::{self, DEPTH, VALUES};
use super::keywords::{self, Notes, is_annotation};
use super::merge::merge;
use super::path::Path;
use super::refs::{Definitions, Known, pointer, target};
use super::{Constants, ExtraKeys, Nulls, Refs, SchemaProblem, SchemaRules};

/// One walk over a document.
#[derive(Debug)]
pub(super) struct Walker<'a> {
    document: &'a Value,
    pub(super) rules: &'a SchemaRules,
    definitions: Definitions,
    /// Pointers whose targets are being put in place.
    inlining: Vec<String>,
    /// Pointers whose targets are part of the schema that is being rewritten.
    merged: Vec<String>,
    depth: usize,
    spent: usize,
}

type Rewritten = Result<JsonObject, SchemaProblem>;

impl<'a> Walker<'a> {
    pub(super) fn new(document: &'a Value, rules: &'a SchemaRules) -> Self {
        Self {
            document,
            rules,
            definitions: Definitions::default(),
            inlining: vec![String::new()],
            merged: Vec::new(),
            depth: 0,
            spent: 0,
        }
    }

    pub(super) fn document(mut self) -> Rewritten {
        let document = self.document;
        let mut out = match document {
            // The root itself is looked at, so it must stand there.
            Value::Object(root) if root.contains_key("$ref") && !self.keeps_all_of() => {
                self.deeper(&Path::ROOT, |walker| walker.merged(root, &Path::ROOT))?
            }
            root => self.node(root, &Path::ROOT)?,
        };
        if self.rules.object_root && out.get("type") != Some(&Value::from("object")) {
            return Err(
                Path::ROOT.problem("this API takes only an object here, no union, list or single value")
            );
        }
        let definitions = self.definitions.into_object()?;
        if !definitions.is_empty() {
            out.insert("$defs".into(), Value::Object(definitions));
        }
        Ok(out)
    }

    /// One schema, wherever it stands.
    pub(super) fn node(&mut self, schema: &Value, path: &Path<'_>) -> Rewritten {
        match schema {
            Value::Object(schema) => self.deeper(path, |walker| walker.schema(schema, path)),
            Value::Bool(true) => self.anything(path),
            Value::Bool(false) => Err(path.problem("it allows no value")),
            _ => Err(path.problem("a schema is an object or a boolean")),
        }
    }

    /// Whether this is the root of the document.
    pub(super) fn at_root(&self) -> bool {
        self.depth == 1
    }

    fn deeper(&mut self, path: &Path<'_>, rewrite: impl FnOnce(&mut Self) -> Rewritten) -> Rewritten {
        if self.depth == DEPTH {
            return Err(bounds::too_deep(path));
        }
        self.depth += 1;
        let out = rewrite(self);
        self.depth -= 1;
        out
    }

    pub(super) fn spend(&mut self, size: usize, path: &Path<'_>) -> Result<(), SchemaProblem> {
        self.spent = self.spent.saturating_add(size);
        if self.spent > VALUES {
            return Err(bounds::too_large(path));
        }
        Ok(())
    }

    /// `allOf` cannot stay where each object must be closed: no part would allow what the others name.
    fn keeps_all_of(&self) -> bool {
        self.rules.all_of && self.rules.extra_keys != ExtraKeys::Forbidden
    }

    fn schema(&mut self, schema: &JsonObject, path: &Path<'_>) -> Rewritten {
        if let Some(keyword) =
            ["$dynamicRef", "$recursiveRef"].into_iter().find(|key| schema.contains_key(*key))
        {
            return Err(path.problem(format!("`{keyword}` is not followed")));
        }
        self.spend(keywords::own_size(schema), path)?;
        let alone = |keyword: &str| schema.keys().all(|key| key == keyword || is_annotation(key));
        if schema.contains_key("$ref") && alone("$ref") {
            return self.reference(schema, path);
        }
        let parts = schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice);
        if let Some([only]) = parts.filter(|_| alone("allOf") && !self.keeps_all_of()) {
            return self.annotated(schema, only, path);
        }
        if (schema.contains_key("$ref") || schema.contains_key("allOf")) && !self.keeps_all_of() {
            return self.merged(schema, path);
        }
        self.direct(schema, path)
    }

    /// A schema in the place of one that adds nothing but annotations to it.
    fn annotated(&mut self, outer: &JsonObject, inner: &Value, path: &Path<'_>) -> Rewritten {
        let Value::Object(inner) = inner else { return self.node(inner, path) };
        let mut both = annotations(outer);
        if both.is_empty() {
            return self.schema(inner, path);
        }
        self.spend(bounds::size(inner), path)?;
        for (keyword, value) in inner {
            both.entry(keyword.as_str()).or_insert_with(|| value.clone());
        }
        self.deeper(path, |walker| walker.schema(&both, path))
    }

    fn merged(&mut self, schema: &JsonObject, path: &Path<'_>) -> Rewritten {
        let mut seen = Vec::new();
        let whole = self.expand(schema, path, &mut Vec::new(), &mut seen)?;
        let before = self.merged.len();
        self.merged.append(&mut seen);
        let out = self.direct(&whole, path);
        self.merged.truncate(before);
        out
    }

    /// A schema with what it refers to and all parts that hold at once, as one.
    fn expand(
        &mut self,
        schema: &JsonObject,
        path: &Path<'_>,
        chain: &mut Vec<String>,
        seen: &mut Vec<String>,
    ) -> Rewritten {
        self.spend(bounds::size(schema), path)?;
        let mut whole = schema.clone();
        let parts = match whole.remove("allOf") {
            None => Vec::new(),
            Some(Value::Array(parts)) => parts,
            Some(_) => return Err(path.problem("`allOf` is no list")),
        };
        if let Some(reference) = whole.remove("$ref") {
            let pointer = pointer(&reference, path)?;
            if chain.contains(&pointer) || self.merged.contains(&pointer) {
                return Err(path.problem(format!("`#{pointer}` is a part of itself")));
            }
            let inner = target(self.document, &pointer, path)?;
            chain.push(pointer.clone());
            self.join(&mut whole, inner, &Path::At(&pointer), chain, seen)?;
            chain.pop();
            seen.push(pointer);
        }
        for (index, part) in parts.iter().enumerate() {
            self.join(&mut whole, part, &path.key("allOf").index(index), chain, seen)?;
        }
        Ok(whole)
    }

    fn join(
        &mut self,
        whole: &mut JsonObject,
        part: &Value,
        path: &Path<'_>,
        chain: &mut Vec<String>,
        seen: &mut Vec<String>,
    ) -> Result<(), SchemaProblem> {
        match part {
            Value::Object(part) => {
                let part = self.deeper(path, |walker| walker.expand(part, path, chain, seen))?;
                merge(whole, part, path)
            }
            Value::Bool(true) => Ok(()),
            Value::Bool(false) => Err(path.problem("it allows no value")),
            _ => Err(path.problem("a schema is an object or a boolean")),
        }
    }

    fn reference(&mut self, schema: &JsonObject, path: &Path<'_>) -> Rewritten {
        let (pointer, inner) = self.follow(schema, path)?;
        if self.rules.refs == Refs::Inline {
            if self.inlining.contains(&pointer) || self.merged.contains(&pointer) {
                return Err(path.problem(format!("`#{pointer}` contains itself, which this API cannot say")));
            }
            self.inlining.push(pointer.clone());
            let out = self.annotated(schema, inner, &Path::At(&pointer));
            self.inlining.pop();
            return out;
        }
        let name = match self.definitions.find(&pointer) {
            _ if pointer.is_empty() => None,
            Known::Done(name) => Some(name),
            Known::Open(name) if self.rules.recursion => Some(name),
            Known::Open(_) => {
                return Err(path.problem(format!("`#{pointer}` contains itself, which this API cannot say")));
            }
            Known::No => {
                let name = self.definitions.open(&pointer);
                let inner = self.node(inner, &Path::At(&pointer))?;
                self.definitions.close(&pointer, inner);
                Some(name)
            }
        };
        let reference = match name {
            Some(name) => json!({ "$ref": format!("#/$defs/{name}") }),
            None if self.rules.recursion => json!({ "$ref": "#" }),
            None => return Err(path.problem("the schema contains itself, which this API cannot say")),
        };
        let mut out = JsonObject::new();
        let mut notes = Notes::default();
        keywords::rest(schema, self.rules, &mut out, &mut notes);
        notes.describe(schema.get("description"), self.rules, &mut out);
        match reference {
            Value::Object(reference) if out.is_empty() => return Ok(reference),
            // Some APIs take nothing beside `$ref`.
            reference => out.insert("anyOf".into(), json!([reference])),
        };
        Ok(out)
    }

    /// Where a reference leads, past references that are nothing else.
    fn follow(&self, schema: &JsonObject, path: &Path<'_>) -> Result<(String, &'a Value), SchemaProblem> {
        let mut seen: Vec<String> = Vec::new();
        let mut reference = schema.get("$ref").unwrap_or(&Value::Null);
        loop {
            let pointer = pointer(reference, path)?;
            if seen.contains(&pointer) || seen.len() == DEPTH {
                return Err(path.problem(format!("`#{pointer}` leads only to itself")));
            }
            let inner = target(self.document, &pointer, path)?;
            match inner.as_object().and_then(|inner| inner.get("$ref")) {
                Some(next) if inner.as_object().is_some_and(|inner| inner.len() == 1) => reference = next,
                _ => return Ok((pointer, inner)),
            }
            seen.push(pointer);
        }
    }

    /// A schema that says itself what it means.
    fn direct(&mut self, schema: &JsonObject, path: &Path<'_>) -> Rewritten {
        if schema.contains_key("anyOf") || schema.contains_key("oneOf") {
            return self.union(schema, path);
        }
        let kinds = types(schema, path)?;
        let solid: Vec<_> = kinds.iter().copied().filter(|kind| *kind != "null").collect();
        if self.rules.nulls == Nulls::Nullable && solid.len() > 1 {
            return self.union(&split(schema, &kinds), path);
        }
        if kinds.is_empty() && self.rules.typed && !schema.contains_key("enum") {
            return self.anything(path);
        }
        let mut out = JsonObject::new();
        let mut notes = Notes::default();
        if self.rules.typed || schema.contains_key("type") {
            self.write_types(&kinds, &mut out);
        }
        self.write_values(schema, &mut out, &mut notes, path)?;
        let stays = |keyword: &str| {
            ["properties", "required", "additionalProperties", "patternProperties"].contains(&keyword)
        };
        if kinds.contains(&"object") || (kinds.is_empty() && schema.keys().any(|key| stays(key))) {
            self.object(schema, &mut out, &mut notes, path)?;
        }
        if kinds.contains(&"array") {
            self.list(schema, &mut out, &mut notes, path)?;
        }
        if let Some(reference) = schema.get("$ref") {
            let mut alone = JsonObject::new();
            alone.insert("$ref".into(), reference.clone());
            out.append(&mut self.reference(&alone, path)?);
        }
        if let Some(Value::Array(parts)) = schema.get("allOf") {
            let parts = parts
                .iter()
                .enumerate()
                .map(|(index, part)| self.node(part, &path.key("allOf").index(index)).map(Value::Object));
            out.insert("allOf".into(), parts.collect::<Result<_, _>>()?);
        }
        keywords::rest(schema, self.rules, &mut out, &mut notes);
        notes.describe(schema.get("description"), self.rules, &mut out);
        Ok(out)
    }

    fn anything(&self, path: &Path<'_>) -> Rewritten {
        if self.rules.typed {
            return Err(path.problem("it allows any value, but this API needs a type"));
        }
        Ok(JsonObject::new())
    }

    fn write_types(&self, kinds: &[&'static str], out: &mut JsonObject) {
        let (null, solid): (Vec<_>, Vec<_>) = kinds.iter().copied().partition(|kind| *kind == "null");
        let kinds = match (self.rules.nulls, null.is_empty(), solid.is_empty()) {
            (Nulls::Nullable, false, false) => {
                out.insert("nullable".into(), true.into());
                solid.as_slice()
            }
            _ => kinds,
        };
        match kinds {
            [] => {}
            [kind] => drop(out.insert("type".into(), (*kind).into())),
            kinds => drop(out.insert("type".into(), kinds.to_vec().into())),
        }
    }

    fn write_values(
        &self,
        schema: &JsonObject,
        out: &mut JsonObject,
        notes: &mut Notes,
        path: &Path<'_>,
    ) -> Result<(), SchemaProblem> {
        let values = match (schema.get("enum"), schema.get("const")) {
            (None, None) => return Ok(()),
            (Some(Value::Array(values)), None) if !values.is_empty() => values.clone(),
            (Some(Value::Array(values)), Some(only)) if values.contains(only) => vec![only.clone()],
            (None, Some(only)) => vec![only.clone()],
            (Some(_), None) => return Err(path.problem("`enum` is no list of values")),
            (Some(_), Some(_)) => return Err(path.problem("`const` is none of `enum`")),
        };
        match (self.rules.constants, schema.get("const")) {
            (Constants::AsGiven, Some(only)) => drop(out.insert("const".into(), only.clone())),
            (Constants::AsGiven, None) => drop(out.insert("enum".into(), Value::Array(values))),
            (Constants::StringEnum, _) => {
                let values: Vec<_> = values.into_iter().filter(|value| !value.is_null()).collect();
                if values.is_empty() {
                    return Ok(());
                }
                if values.iter().all(Value::is_string) {
                    out.insert("enum".into(), Value::Array(values));
                } else {
                    notes.add("one of", &Value::Array(values));
                }
            }
        }
        Ok(())
    }
}

pub(super) fn annotations(schema: &JsonObject) -> JsonObject {
    let plain = schema
        .iter()
        .filter(|(key, _)| is_annotation(key) && !["$defs", "definitions"].contains(&key.as_str()));
    plain.map(|(key, value)| (key.clone(), value.clone())).collect()
}

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

/// The types a schema allows, by its word or by what else it says. None if it allows any.
fn types(schema: &JsonObject, path: &Path<'_>) -> Result<Vec<&'static str>, SchemaProblem> {
    let given = match schema.get("type") {
        None => return Ok(inferred(schema)),
        Some(Value::Array(kinds)) if !kinds.is_empty() => kinds.as_slice(),
        Some(kind) => std::slice::from_ref(kind),
    };
    let mut kinds = Vec::new();
    for kind in given {
        let Some(known) = TYPES.into_iter().find(|known| kind == known) else {
            return Err(path.problem(format!("{kind} is no type")));
        };
        if !kinds.contains(&known) {
            kinds.push(known);
        }
    }
    if schema.get("nullable") == Some(&Value::Bool(true)) && !kinds.contains(&"null") {
        kinds.push("null");
    }
    Ok(kinds)
}

fn inferred(schema: &JsonObject) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    let values = schema.get("enum").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for value in values.iter().chain(schema.get("const")) {
        let kind = kind_of(value);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let signs = [
        ("object", &["properties", "required", "additionalProperties", "patternProperties"][..]),
        ("array", &["items", "prefixItems", "minItems", "maxItems"][..]),
        ("string", &["pattern", "minLength", "maxLength"][..]),
        ("number", &["minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"][..]),
    ];
    if kinds.is_empty() {
        let said = signs.iter().filter(|(_, keys)| keys.iter().any(|key| schema.contains_key(*key)));
        kinds.extend(said.map(|(kind, _)| *kind));
    }
    kinds
}

pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A schema of several types as a union of schemas of one.
fn split(schema: &JsonObject, kinds: &[&'static str]) -> JsonObject {
    let of_kind = |kind: &&'static str| {
        let mut branch: JsonObject = schema.clone();
        branch.retain(|key, _| !is_annotation(key) && keywords::concerns(key, kind));
        branch.insert("type".into(), (*kind).into());
        if let Some(Value::Array(values)) = branch.get_mut("enum") {
            values.retain(|value| kind_of(value) == *kind || (*kind == "number" && value.is_number()));
        }
        branch
    };
    let branches = kinds.iter().map(of_kind).filter(|branch| branch.get("enum") != Some(&json!([])));
    let mut union = annotations(schema);
    union.insert("anyOf".into(), branches.map(Value::Object).collect());
    union
}
