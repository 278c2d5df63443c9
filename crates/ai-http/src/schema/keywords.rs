use ai_provider::JsonObject;
use serde_json::Value;

use super::bounds::size_of;
use super::{Leftover, SchemaRules};

/// What is said about a schema without restricting its values.
const ANNOTATIONS: &[&str] = &[
    "$anchor",
    "$comment",
    "$defs",
    "$dynamicAnchor",
    "$id",
    "$schema",
    "$vocabulary",
    "contentEncoding",
    "contentMediaType",
    "default",
    "definitions",
    "deprecated",
    "description",
    "discriminator",
    "example",
    "examples",
    "externalDocs",
    "nullable",
    "propertyOrdering",
    "readOnly",
    "title",
    "writeOnly",
    "xml",
];

/// Restrictions that can be told to the model in words.
const RESTRICTIONS: &[&str] = &[
    "contains",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "if",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "pattern",
    "propertyNames",
    "then",
    "uniqueItems",
];

/// What the walker itself writes.
const STRUCTURE: &[&str] = &[
    "$defs",
    "$ref",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "definitions",
    "description",
    "enum",
    "items",
    "nullable",
    "oneOf",
    "patternProperties",
    "prefixItems",
    "properties",
    "required",
    "type",
    "unevaluatedProperties",
];

/// What holds schemas that are walked.
const SCHEMAS: &[&str] = &[
    "$defs",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "definitions",
    "items",
    "oneOf",
    "patternProperties",
    "prefixItems",
    "properties",
    "unevaluatedProperties",
];

pub(super) fn is_annotation(keyword: &str) -> bool {
    ANNOTATIONS.contains(&keyword) || keyword.starts_with("x-")
}

/// How much of a schema is copied, apart from the schemas in it.
pub(super) fn own_size(schema: &JsonObject) -> usize {
    let own = schema.iter().filter(|(key, _)| !SCHEMAS.contains(&key.as_str()));
    own.map(|(_, value)| size_of(value)).sum::<usize>() + 1
}

/// Whether a keyword says anything about values of a type.
pub(super) fn concerns(keyword: &str, kind: &str) -> bool {
    let of = match keyword {
        "additionalProperties"
        | "dependentRequired"
        | "dependentSchemas"
        | "maxProperties"
        | "minProperties"
        | "patternProperties"
        | "properties"
        | "propertyNames"
        | "required"
        | "unevaluatedProperties" => &["object"][..],
        "additionalItems" | "contains" | "items" | "maxContains" | "maxItems" | "minContains"
        | "minItems" | "prefixItems" | "unevaluatedItems" | "uniqueItems" => &["array"][..],
        "format" | "maxLength" | "minLength" | "pattern" => &["string"][..],
        "exclusiveMaximum" | "exclusiveMinimum" | "maximum" | "minimum" | "multipleOf" => {
            &["number", "integer"][..]
        }
        _ => return true,
    };
    of.contains(&kind)
}

/// Keywords that are taken go to `out`, others to `notes` or nowhere.
pub(super) fn rest(schema: &JsonObject, rules: &SchemaRules, out: &mut JsonObject, notes: &mut Notes) {
    for (keyword, value) in schema {
        let keyword = keyword.as_str();
        if STRUCTURE.contains(&keyword) {
            continue;
        }
        let known = rules.keywords.is_none_or(|known| known.contains(&keyword));
        let taken = known && (keyword != "format" || format_is_taken(value, rules));
        if taken {
            out.insert(keyword.to_owned(), value.clone());
        } else if is_told(keyword, value) {
            notes.add(keyword, value);
        }
    }
}

fn is_told(keyword: &str, value: &Value) -> bool {
    match keyword {
        "default" => true,
        "format" => !is_format_of_numbers(value),
        _ => RESTRICTIONS.contains(&keyword),
    }
}

fn format_is_taken(format: &Value, rules: &SchemaRules) -> bool {
    rules.formats.is_none_or(|known| format.as_str().is_some_and(|format| known.contains(&format)))
}

/// The width of a number says nothing to a model that its bounds do not say.
fn is_format_of_numbers(format: &Value) -> bool {
    let format = format.as_str().unwrap_or_default();
    ["int", "uint", "float", "double"].iter().any(|kind| format.starts_with(kind))
}

/// What goes to the description because there is no keyword for it.
#[derive(Debug, Default)]
pub(super) struct Notes(Vec<String>);

impl Notes {
    pub(super) fn add(&mut self, keyword: &str, value: &Value) {
        self.0.push(format!("{keyword}: {value}"));
    }

    /// Writes the description of a schema: its own, and the notes.
    pub(super) fn describe(self, own: Option<&Value>, rules: &SchemaRules, out: &mut JsonObject) {
        let own = own.and_then(Value::as_str).filter(|own| !own.trim().is_empty());
        let notes = match rules.leftover {
            Leftover::Described => self.0.join("; "),
            Leftover::Dropped => String::new(),
        };
        let text = match (own, notes.is_empty()) {
            (None, true) => return,
            (None, false) => notes,
            (Some(own), true) => own.to_owned(),
            (Some(own), false) => format!("{own}\n({notes})"),
        };
        out.insert("description".into(), text.into());
    }
}
