use serde_json::Value;

/// The schema of a tool's input, ready to check inputs with.
///
/// Checked are the types of values, and that required fields are there, at any depth. With the feature
/// `schema-validation` all of JSON Schema holds; a schema that cannot be compiled is checked as without it.
/// References to other documents are never followed.
///
/// ```
/// use ai_core::InputSchema;
/// use serde_json::json;
/// let schema = InputSchema::new(json!({
///     "type": "object", "required": ["city"], "properties": {"city": {"type": "string"}},
/// }));
/// assert!(schema.check(&json!({"city": "Oslo"})).is_ok());
/// assert!(schema.check(&json!({"city": 5})).unwrap_err().contains("`city`"));
/// ```
#[derive(Debug)]
pub struct InputSchema {
    schema: Value,
    #[cfg(feature = "schema-validation")]
    validator: Option<jsonschema::Validator>,
}

/// More mistakes than that are not worth a reader's time; the model tries again anyway.
const MOST: usize = 5;

/// How deep values are looked at. Beyond it nothing is refused.
const DEPTH: usize = 32;

impl InputSchema {
    /// A schema.
    pub fn new(schema: Value) -> Self {
        Self {
            #[cfg(feature = "schema-validation")]
            validator: compile(&schema),
            schema,
        }
    }

    /// Whether this is an input.
    ///
    /// # Errors
    /// What is wrong with it and where, in words that a model can act on.
    pub fn check(&self, input: &Value) -> Result<(), String> {
        #[cfg(feature = "schema-validation")]
        if let Some(validator) = &self.validator {
            let problems = validator.iter_errors(input).take(MOST).map(|error| {
                let path: Vec<_> = error.instance_path().iter().map(|at| at.to_string()).collect();
                if path.is_empty() {
                    error.to_string()
                } else {
                    format!("{}: {error}", place(&path.join(".")))
                }
            });
            return verdict(problems.collect());
        }
        check_types(input, &self.schema)
    }
}

pub(super) fn check_types(input: &Value, schema: &Value) -> Result<(), String> {
    let mut problems = Vec::new();
    look(input, schema, &mut String::new(), 0, &mut problems);
    verdict(problems)
}

fn verdict(problems: Vec<String>) -> Result<(), String> {
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

#[cfg(feature = "schema-validation")]
fn compile(schema: &Value) -> Option<jsonschema::Validator> {
    jsonschema::validator_for(schema)
        .inspect_err(|error| {
            tracing::warn!(%error, "the input schema of a tool cannot be compiled; its inputs are checked for types alone");
        })
        .ok()
}

fn look(value: &Value, schema: &Value, path: &mut String, depth: usize, problems: &mut Vec<String>) {
    if depth > DEPTH || problems.len() >= MOST {
        return;
    }
    let expected: Vec<_> = match schema.get("type") {
        Some(Value::String(name)) => vec![name.as_str()],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !expected.is_empty() && !expected.iter().any(|name| is(value, name)) {
        let found = crate::run::kind(value);
        return problems.push(format!("{} must be {}, not {found}", place(path), expected.join(" or ")));
    }
    match value {
        Value::Object(fields) => {
            let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            for name in required.filter_map(Value::as_str).filter(|name| !fields.contains_key(*name)) {
                if problems.len() < MOST {
                    problems.push(at(path, name, |path| format!("{} is missing", place(path))));
                }
            }
            for (name, schema) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
                if let Some(field) = fields.get(name) {
                    at(path, name, |path| look(field, schema, path, depth + 1, problems));
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema @ Value::Object(_)) = schema.get("items") {
                for (index, item) in items.iter().enumerate() {
                    at(path, &index.to_string(), |path| look(item, schema, path, depth + 1, problems));
                }
            }
        }
        _ => {}
    }
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        // A word that is no type of JSON Schema says nothing.
        _ => true,
    }
}

fn at<T>(path: &mut String, name: &str, look: impl FnOnce(&mut String) -> T) -> T {
    let length = path.len();
    if length > 0 {
        path.push('.');
    }
    path.push_str(name);
    let found = look(path);
    path.truncate(length);
    found
}

fn place(path: &str) -> String {
    if path.is_empty() { "the input".to_owned() } else { format!("`{path}`") }
}
