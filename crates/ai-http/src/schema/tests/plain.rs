use super::*;

/// [HT-116]
#[test]
fn without_rules_a_schema_stays_as_it_is() {
    for schema in
        [of::<Order>(), of::<Tree>(), of::<Forest>(), of::<Labelled>(), of::<Shape>(), of::<(u8, String)>()]
    {
        let same = adapt(&schema, &SchemaRules::PLAIN).unwrap();
        let mut seen = 0;
        each(&same, &mut |_| seen += 1);
        let mut given = 0;
        each(&schema, &mut |_| given += 1);
        // `$ref` beside an annotation is wrapped, which is one schema more.
        assert!(seen >= given, "{schema} {same}");
    }
    for schema in [
        of::<Labelled>(),
        object("a", json!({ "allOf": [{ "type": "string" }, { "minLength": 1 }] })),
        object("a", json!({ "type": "array", "prefixItems": [{ "type": "string" }], "items": false })),
        object(
            "a",
            json!({ "type": "object", "patternProperties": { "^x": { "const": 1 } }, "additionalProperties": false }),
        ),
        object("a", json!({ "oneOf": [{ "type": "string" }, {}], "title": "T", "examples": [1] })),
        json!({ "not": { "type": "string" } }),
    ] {
        assert_eq!(adapt(&schema, &SchemaRules::PLAIN).unwrap(), schema);
    }
}
