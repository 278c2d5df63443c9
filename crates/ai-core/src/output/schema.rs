use schemars::JsonSchema;
use serde_json::{Map, Value, json};

/// The member under which a value stands that is no object by itself.
pub(super) const MEMBER: &str = "value";

/// What the model is asked for. APIs take only objects at the root, so everything else becomes a member of one.
#[derive(Clone, Debug)]
pub(super) struct ObjectSchema {
    pub(super) schema: Value,
    pub(super) wrapped: bool,
    pub(super) name: String,
    pub(super) description: Option<String>,
}

impl ObjectSchema {
    pub(super) fn of<T: JsonSchema>() -> Self {
        let settings = schemars::generate::SchemaSettings::draft07();
        let schema = settings.with(|settings| settings.meta_schema = None).into_generator();
        Self::new(schema.into_root_schema_for::<T>().into(), &T::schema_name())
    }

    pub(super) fn new(mut schema: Value, name: &str) -> Self {
        let mut take = |key: &str| match schema.as_object_mut()?.remove(key)? {
            Value::String(text) => Some(text),
            _ => None,
        };
        let name = legal(&take("title").unwrap_or_else(|| name.to_owned()));
        let description = take("description");
        let is_object = schema.get("type") == Some(&json!("object"));
        let schema = if is_object { schema } else { wrap(schema) };
        Self { schema, wrapped: !is_object, name, description }
    }
}

/// A name that every API takes: 1 to 64 letters, digits, `_` and `-`.
fn legal(name: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = name.chars().map(legal).take(64).collect();
    if name.is_empty() { "object".to_owned() } else { name }
}

fn wrap(mut inner: Value) -> Value {
    let mut outer = Map::new();
    outer.insert("type".to_owned(), json!("object"));
    // What references point to stays at the root.
    for key in ["definitions", "$defs"] {
        if let Some(definitions) = inner.as_object_mut().and_then(|inner| inner.remove(key)) {
            outer.insert(key.to_owned(), definitions);
        }
    }
    outer.insert("properties".to_owned(), json!({ MEMBER: inner }));
    outer.insert("required".to_owned(), json!([MEMBER]));
    outer.insert("additionalProperties".to_owned(), json!(false));
    let mut outer = Value::Object(outer);
    redirect(&mut outer);
    outer
}

/// References to the root now mean the member.
fn redirect(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                match value {
                    Value::String(to) if key == "$ref" && to == "#" => *to = format!("#/properties/{MEMBER}"),
                    value => redirect(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redirect),
        _ => {}
    }
}
