use std::collections::BTreeMap;

use ai_core::output::{ObjectErrorKind, generate_object};
use ai_provider::{ResponseFormat, UnifiedFinish};
use ai_testkit::{Script, ScriptedModel};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{go, native, shared};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Colour {
    Red,
    Green,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Tree {
    Leaf { size: u8 },
    Fork { left: Box<Tree>, right: Box<Tree> },
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Node {
    next: Option<Box<Node>>,
}

/// The value a text gives, with the schema that was asked for.
async fn read<T: DeserializeOwned + JsonSchema + Send + 'static>(text: &str) -> (T, Value, String) {
    let model = native(ScriptedModel::new().reply(Script::text_reply(text)));
    let value = generate_object::<T>(shared(&model), go()).with_retries(0).await.unwrap().value;
    match model.requests()[0].response_format.clone() {
        ResponseFormat::Json { schema: Some(schema), name: Some(name), .. } => (value, schema, name),
        other => panic!("{other:?}"),
    }
}

/// [AC-262]
#[tokio::test]
async fn objects_are_asked_for_as_they_are() {
    let (node, schema, name) = read::<Node>(r#"{"next":{"next":null}}"#).await;
    assert_eq!(node, Node { next: Some(Box::new(Node { next: None })) });
    assert_eq!((&schema["type"], name.as_str()), (&json!("object"), "Node"));
    let (map, schema, name) = read::<BTreeMap<String, u8>>(r#"{"a":1}"#).await;
    assert_eq!((map["a"], &schema["type"]), (1, &json!("object")));
    assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{name}");
}

/// [AC-262]
#[tokio::test]
async fn everything_else_is_a_member_of_one() {
    let (list, schema, name) = read::<Vec<Colour>>(r#"{"value":["red","green"]}"#).await;
    assert_eq!(list, [Colour::Red, Colour::Green]);
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["required"], json!(["value"]));
    assert_eq!(schema["properties"]["value"]["type"], "array");
    let to = schema["properties"]["value"]["items"]["$ref"].as_str().unwrap();
    assert!(schema.pointer(to.strip_prefix('#').unwrap()).is_some(), "{schema:#}");
    assert!(name.len() <= 64 && !name.is_empty());
    assert_eq!(read::<Colour>(r#"{"value":"red"}"#).await.0, Colour::Red);
    assert_eq!(read::<String>(r#"{"value":"x"}"#).await.0, "x");
    assert_eq!(read::<Value>(r#"{"value":[1]}"#).await.0, json!([1]));

    let tree =
        r#"{"value":{"kind":"fork","left":{"kind":"leaf","size":1},"right":{"kind":"leaf","size":2}}}"#;
    let (tree, schema, _) = read::<Tree>(tree).await;
    assert!(matches!(tree, Tree::Fork { .. }));
    let mut references = Vec::new();
    collect(&schema, &mut references);
    assert!(!references.is_empty());
    for to in references {
        let target = schema.pointer(to.strip_prefix('#').unwrap());
        assert!(target.is_some_and(|target| target.get("oneOf").is_some()), "{to} in {schema:#}");
    }
}

fn collect<'a>(schema: &'a Value, references: &mut Vec<&'a str>) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                match value.as_str() {
                    Some(to) if key == "$ref" => references.push(to),
                    _ => collect(value, references),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, references)),
        _ => {}
    }
}

/// [AC-262]
#[tokio::test]
async fn paths_of_members_begin_with_it() {
    for (text, path) in [
        (r#"{"value":["red","blue"]}"#, Some("value[1]")),
        (r#"{"value":1}"#, Some("value")),
        (r#"{"values":[]}"#, None),
        ("[]", None),
        ("red", None),
    ] {
        let model = native(ScriptedModel::new().reply(Script::text_reply(text)));
        let error = generate_object::<Vec<Colour>>(shared(&model), go()).with_retries(0).await.unwrap_err();
        assert_eq!(error.kind(), ObjectErrorKind::Invalid);
        assert_eq!(error.mistake().unwrap().path.as_deref(), path, "{error}");
    }
}

/// [AC-276]
#[tokio::test]
async fn a_schema_can_be_given_at_run_time() {
    let schema = json!({
        "title": "a city!", "description": "Where.", "type": "object", "properties": {"name": {"type": "string"}}
    });
    let model = native(
        ScriptedModel::new().reply(Script::new().text(r#"{"name":"Rome"}"#).finish(UnifiedFinish::Stop)),
    );
    let object = generate_object::<Value>(shared(&model), go()).with_schema(schema).await.unwrap();
    assert_eq!(object.value, json!({"name": "Rome"}));
    let expected = ResponseFormat::Json {
        schema: Some(json!({"type": "object", "properties": {"name": {"type": "string"}}})),
        name: Some("a_city_".to_owned()),
        description: Some("Where.".to_owned()),
    };
    assert_eq!(model.requests()[0].response_format, expected);
}
