use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;

/// Schemas as people and generators write them, and now and then one that is wrong.
fn schemas() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({ "type": "string" })),
        Just(json!({ "type": "string", "minLength": 1, "description": "D" })),
        Just(json!({ "type": ["integer", "null"], "minimum": 0, "format": "int32" })),
        Just(json!({ "enum": ["x", "y"] })),
        Just(json!({ "const": 1 })),
        Just(json!({ "type": "boolean", "default": true })),
        Just(json!({ "$ref": "#/$defs/A" })),
        Just(json!({ "$ref": "#/$defs/B", "description": "of B" })),
        Just(json!({ "$ref": "#" })),
        Just(json!({ "type": "object" })),
        Just(json!(true)),
        Just(json!({ "$ref": "#/$defs/None" })),
    ];
    let names = || prop_oneof![Just("p".to_owned()), Just("q".to_owned()), Just("a/b".to_owned())];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            4 => (btree_map(names(), inner.clone(), 0..3), any::<bool>()).prop_map(|(properties, all)| {
                let required: Vec<_> = properties.keys().filter(|_| all).cloned().collect();
                json!({ "type": "object", "properties": properties, "required": required })
            }),
            2 => inner.clone().prop_map(|items| json!({ "type": "array", "items": items })),
            2 => vec(inner.clone(), 1..3).prop_map(|branches| json!({ "anyOf": branches })),
            1 => vec(inner.clone(), 1..3).prop_map(|branches| json!({ "oneOf": branches, "title": "T" })),
            1 => vec(inner.clone(), 1..3).prop_map(|parts| json!({ "allOf": parts })),
            1 => vec(inner.clone(), 1..3).prop_map(|places| json!({ "type": "array", "prefixItems": places })),
            1 => inner.prop_map(|values| json!({ "type": "object", "additionalProperties": values })),
        ]
    })
}

/// [HT-117]
#[test]
fn what_comes_out_is_taken_or_a_problem_with_a_place() {
    let documents = (btree_map("[pq]", schemas(), 1..3), schemas(), schemas());
    let mut taken = [0; 3];
    let mut refused = [0; 3];
    let cases = 600;
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let counts = std::cell::RefCell::new((&mut taken, &mut refused));
    let result = runner.run(&documents, |(properties, a, b)| {
        let document = json!({ "type": "object", "properties": properties, "$defs": { "A": a, "B": b } });
        for (at, rules) in [&OPENAI, &GEMINI, &ANTHROPIC].into_iter().enumerate() {
            let mut counts = counts.borrow_mut();
            match adapt(&document, rules) {
                Ok(schema) => {
                    assert_taken(&schema, rules);
                    // What the API takes stays as it is.
                    prop_assert_eq!(
                        adapt(&schema, rules).map(|again| again["required"].clone()),
                        Ok(schema["required"].clone())
                    );
                    counts.0[at] += 1;
                }
                Err(problem) => {
                    prop_assert!(problem.path.starts_with('#') && !problem.why.is_empty());
                    counts.1[at] += 1;
                }
            }
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    for (taken, refused) in taken.into_iter().zip(refused) {
        assert!(taken * 20 > cases && refused * 20 > cases, "{taken} taken, {refused} refused");
    }
}
