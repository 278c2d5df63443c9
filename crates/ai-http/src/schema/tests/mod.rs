mod anthropic;
mod gemini;
mod hostile;
mod openai;
mod plain;
mod random;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::*;

/// What OpenAI takes where it holds a model to the letter of a schema.
const OPENAI: SchemaRules = SchemaRules {
    object_root: true,
    typed: true,
    all_required: true,
    extra_keys: ExtraKeys::Forbidden,
    maps: Maps::Refused,
    one_of: false,
    all_of: false,
    tuples: false,
    keywords: Some(&[
        "title",
        "pattern",
        "format",
        "minimum",
        "maximum",
        "multipleOf",
        "minItems",
        "maxItems",
    ]),
    formats: Some(&["date-time", "date", "time", "email", "uuid"]),
    ..SchemaRules::PLAIN
};

/// What `Schema` of the Gemini API has.
const GEMINI: SchemaRules = SchemaRules {
    refs: Refs::Inline,
    recursion: false,
    typed: true,
    extra_keys: ExtraKeys::Unsaid,
    maps: Maps::Described,
    one_of: false,
    all_of: false,
    nulls: Nulls::Nullable,
    constants: Constants::StringEnum,
    tuples: false,
    keywords: Some(&["title", "format", "minimum", "maximum", "minItems", "maxItems", "pattern"]),
    formats: Some(&["date-time", "enum", "float", "double", "int32", "int64"]),
    leftover: Leftover::Dropped,
    ..SchemaRules::PLAIN
};

/// What Messages takes where it holds a model to the letter of a schema.
const ANTHROPIC: SchemaRules = SchemaRules {
    recursion: false,
    extra_keys: ExtraKeys::Forbidden,
    maps: Maps::Refused,
    one_of: false,
    all_of: false,
    tuples: false,
    keywords: Some(&["title", "format", "default"]),
    formats: Some(&["date-time", "date", "time", "email", "uri", "uuid"]),
    ..SchemaRules::PLAIN
};

/// A place in a town.
#[derive(Deserialize, Serialize, JsonSchema)]
struct Address {
    /// With the number.
    street: String,
    zip: Option<String>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
enum Level {
    Low,
    High,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(tag = "kind")]
enum Shape {
    Circle {
        radius: f64,
    },
    /// A road.
    Way(Address),
    Nothing,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Order {
    /// Who pays.
    name: String,
    count: u8,
    note: Option<String>,
    level: Level,
    maybe_level: Option<Level>,
    /// Where it goes.
    to: Address,
    back: Option<Address>,
    shapes: Vec<Shape>,
    #[serde(default = "seven")]
    days: u32,
}

fn seven() -> u32 {
    7
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Tree {
    value: i64,
    children: Vec<Tree>,
    parent: Option<Box<Tree>>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Forest {
    first: Tree,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Labelled {
    inner: Labels,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Labels {
    labels: BTreeMap<String, u32>,
}

fn of<T: JsonSchema>() -> Value {
    schemars::schema_for!(T).to_value()
}

fn object(name: &str, schema: Value) -> Value {
    json!({ "type": "object", "properties": { name: schema }, "required": [name] })
}

/// The rewritten schema of one required property.
fn property(schema: Value, rules: &SchemaRules) -> Result<Value, SchemaProblem> {
    adapt(&object("a", schema), rules).map(|schema| schema["properties"]["a"].clone())
}

fn problem(schema: &Value, rules: &SchemaRules) -> (String, String) {
    let problem = adapt(schema, rules).expect_err("no problem");
    (problem.path, problem.why)
}

/// Every schema in a rewritten schema.
fn each(schema: &Value, see: &mut impl FnMut(&serde_json::Map<String, Value>)) {
    let schema = schema.as_object().unwrap();
    see(schema);
    for keyword in ["properties", "$defs"] {
        let inner = schema.get(keyword).and_then(Value::as_object);
        inner.into_iter().flat_map(|map| map.values()).for_each(|inner| each(inner, see));
    }
    for keyword in ["anyOf", "allOf", "oneOf", "prefixItems"] {
        let inner = schema.get(keyword).and_then(Value::as_array);
        inner.into_iter().flatten().for_each(|inner| each(inner, see));
    }
    for keyword in ["items", "additionalProperties"] {
        schema.get(keyword).filter(|inner| inner.is_object()).into_iter().for_each(|inner| each(inner, see));
    }
}

/// Panics if a schema is not one the API of the rules takes.
fn assert_taken(schema: &Value, rules: &SchemaRules) {
    let root = schema;
    if rules.object_root {
        assert_eq!(root["type"], "object", "{root}");
    }
    let common = ["type", "properties", "required", "items", "anyOf", "enum", "description", "title"];
    each(root, &mut |schema| {
        for keyword in schema.keys().map(String::as_str) {
            let taken = common.contains(&keyword)
                || rules.keywords.is_none_or(|known| known.contains(&keyword))
                || (keyword == "const" && rules.constants == Constants::AsGiven)
                || (["$ref", "$defs"].contains(&keyword) && rules.refs == Refs::Keep)
                || (keyword == "additionalProperties" && rules.extra_keys != ExtraKeys::Unsaid)
                || (keyword == "nullable" && rules.nulls == Nulls::Nullable);
            assert!(taken, "{keyword} in {root}");
        }
        if let Some(reference) = schema.get("$ref") {
            let pointer = reference.as_str().unwrap().strip_prefix('#').unwrap();
            assert!(root.pointer(pointer).is_some(), "{pointer} in {root}");
            assert_eq!(schema.len(), 1, "{schema:?}");
        }
        if rules.typed {
            let said =
                ["type", "anyOf", "$ref"].iter().filter(|keyword| schema.contains_key(**keyword)).count();
            assert!(said >= 1, "{schema:?} in {root}");
        }
        if rules.nulls == Nulls::Nullable {
            assert!(schema.get("type").is_none_or(Value::is_string), "{schema:?}");
        }
        if schema.contains_key("properties") {
            let mut names: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
            if rules.extra_keys == ExtraKeys::Forbidden {
                assert_eq!(schema.get("additionalProperties"), Some(&json!(false)), "{schema:?}");
            }
            if rules.all_required {
                let mut required: Vec<_> = schema["required"].as_array().unwrap().iter().collect();
                names.sort();
                required.sort_by_key(|name| name.to_string());
                assert_eq!(json!(required), json!(names));
            }
        }
    });
}
