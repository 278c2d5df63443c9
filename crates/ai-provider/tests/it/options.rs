use ai_provider::{JsonObject, ProviderMetadata, ProviderOptions, merge_json};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::strategies::{json, some_metadata};
use crate::support::{Met, check};

/// What merging must give, key by key.
fn expected(base: Option<&Value>, over: Option<&Value>) -> Value {
    match (base, over) {
        (Some(Value::Object(base)), Some(Value::Object(over))) => {
            let keys = base.keys().chain(over.keys());
            let merged: JsonObject =
                keys.map(|key| (key.clone(), expected(base.get(key), over.get(key)))).collect();
            Value::Object(merged)
        }
        (_, Some(over)) => over.clone(),
        (Some(base), None) => base.clone(),
        (None, None) => Value::Null,
    }
}

/// A value of few keys, so that two of them meet in many places.
fn dense() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![json(), (0..3).prop_map(Value::from)];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            1 => proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            3 => proptest::collection::btree_map("[a-c]", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn meets(base: &Value, over: &Value, both: fn(&Value) -> bool) -> bool {
    let below = |base: &JsonObject, over: &JsonObject| {
        over.iter().any(|(key, over)| {
            base.get(key).is_some_and(|base| both(base) && both(over) || meets(base, over, both))
        })
    };
    matches!((base, over), (Value::Object(base), Value::Object(over)) if below(base, over))
}

/// [PV-57, PV-58]
#[test]
fn merging_json_is_deep_for_objects_and_replaces_all_else() {
    let object = || proptest::collection::btree_map("[a-c]", dense(), 1..4);
    let met = check(2_000, (object(), object()), |(base, over), met| {
        let (base, over) = (json!(base), json!(over));
        if meets(&base, &over, Value::is_object) {
            met.note("object over object");
        }
        if meets(&base, &over, Value::is_array) {
            met.note("array over array");
        }
        let (mut merged, untouched) = (base.clone(), over.clone());
        merge_json(&mut merged, &over);
        prop_assert_eq!(&merged, &expected(Some(&base), Some(&over)));
        prop_assert_eq!(&over, &untouched);
        // Nothing is left to do.
        let once = merged.clone();
        merge_json(&mut merged, &over);
        prop_assert_eq!(merged, once);
        Ok(())
    });
    met.at_least(20, ["object over object"]);
    met.at_least(2, ["array over array"]);
}

/// [PV-57]
#[test]
fn merging_by_example() {
    let merged = |mut base: Value, over: Value| {
        merge_json(&mut base, &over);
        base
    };
    assert_eq!(
        merged(json!({ "a": { "x": 1, "y": [1, 2] }, "b": 1 }), json!({ "a": { "y": [3], "z": null } })),
        json!({ "a": { "x": 1, "y": [3], "z": null }, "b": 1 })
    );
    assert_eq!(merged(json!({ "a": { "x": 1 } }), json!({ "a": 5 })), json!({ "a": 5 }));
    assert_eq!(merged(json!({ "a": 5 }), json!({ "a": { "x": 1 } })), json!({ "a": { "x": 1 } }));
    assert_eq!(merged(json!({ "a": { "x": 1 } }), json!({ "a": {} })), json!({ "a": { "x": 1 } }));
    assert_eq!(merged(json!([1, 2]), json!([3])), json!([3]));
}

/// [PV-57]
#[test]
fn the_deepest_json_that_can_be_parsed_can_be_merged() {
    let deep = format!("{}1{}", "{\"a\":".repeat(126), "}".repeat(126));
    let over: Value = serde_json::from_str(&deep).unwrap();
    let mut base = over.clone();
    merge_json(&mut base, &over);
    assert_eq!(base, over);
    assert!(serde_json::from_str::<Value>(&format!("{}1{}", "[".repeat(128), "]".repeat(128))).is_err());
}

/// [PV-58]
#[test]
fn options_merge_per_namespace() {
    let object = || proptest::collection::btree_map("[a-c]", dense(), 0..3);
    let namespaces = || proptest::collection::btree_map("[n-p]", object(), 1..4);
    let options = || namespaces().prop_map(|all| serde_json::from_value(json!(all)).unwrap());
    let met = check(500, (options(), options()), |(base, over), met: &mut Met| {
        let (base, over): (ProviderOptions, ProviderOptions) = (base, over);
        let mut merged = base.clone();
        merged.merge(&over);
        let (base, over) = (json!(base), json!(over));
        prop_assert_eq!(json!(merged), expected(Some(&base), Some(&over)));
        if meets(&base, &over, |_| true) {
            met.note("shared namespace");
        }
        Ok(())
    });
    met.at_least(20, ["shared namespace"]);
}

/// [PV-59]
#[test]
fn options_are_kept_by_namespace_in_order_of_name() {
    let options = ProviderOptions::default()
        .with("openai", "user", json!("u"))
        .with("google", "a", json!(1))
        .with("openai", "store", json!(false))
        .with("openai", "user", json!("v"));
    let names: Vec<_> = options.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["google", "openai"]);
    let openai = options.get("openai").unwrap();
    assert_eq!((openai.len(), &openai["user"], &openai["store"]), (2, &json!("v"), &json!(false)));
    assert!(options.get("OpenAI").is_none() && !options.is_empty());
    assert!(ProviderOptions::default().is_empty());
    assert_eq!(
        serde_json::to_string(&options).unwrap(),
        r#"{"google":{"a":1},"openai":{"store":false,"user":"v"}}"#
    );
}

/// [PV-60]
#[test]
fn merged_metadata_keeps_its_maker_unless_a_new_one_is_named() {
    let met = check(300, (some_metadata(), some_metadata()), |(base, over), met| {
        let mut merged: ProviderMetadata = base.clone();
        merged.merge(&over);
        if base.origin.is_some() && over.origin.is_none() {
            met.note("kept");
        }
        prop_assert_eq!(&merged.origin, if over.origin.is_some() { &over.origin } else { &base.origin });
        let mut values = base.values;
        values.merge(&over.values);
        prop_assert_eq!(merged.values, values);
        Ok(())
    });
    met.at_least(10, ["kept"]);
}
