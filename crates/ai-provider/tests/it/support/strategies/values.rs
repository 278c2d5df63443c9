//! Texts, numbers, JSON, and what is attached to parts.

use ai_provider::{Account, Id, JsonObject, Origin, ProviderMetadata, ProviderOptions, TargetId};
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Any text, often with what JSON must escape.
pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,12}",
        "[a-z]{1,8}",
        Just(String::new()),
        Just(" \u{0}\u{1f}\"\\\u{7f}\u{2028}\u{feff}\u{1f600}\n".to_owned()),
    ]
}

pub(crate) fn id() -> impl Strategy<Value = Id> {
    prop_oneof!["[a-z0-9_]{1,8}", text()].prop_map(Id::from)
}

pub(crate) fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL | proptest::num::f64::ZERO,
        0.0..2.0
    ]
}

pub(crate) fn json() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        number().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(text(), inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
    .boxed()
}

/// JSON in an optional field: `null` there means that the field is absent.
pub(crate) fn not_null() -> impl Strategy<Value = Value> {
    json().prop_map(|value| if value.is_null() { json!(0) } else { value })
}

pub(crate) fn object() -> impl Strategy<Value = JsonObject> {
    btree_map(text(), json(), 0..3).prop_map(|map| map.into_iter().collect())
}

/// Namespaces without options among them, which only parsed options have.
pub(crate) fn options() -> BoxedStrategy<ProviderOptions> {
    btree_map(prop_oneof![Just("openai".to_owned()), Just("google".to_owned()), text()], object(), 0..3)
        .prop_map(|map| serde_json::from_value(json!(map)).unwrap())
        .boxed()
}

pub(crate) fn target() -> impl Strategy<Value = TargetId> {
    (text(), text(), text()).prop_map(|(provider, model, endpoint)| TargetId::new(provider, model, endpoint))
}

pub(crate) fn origin() -> impl Strategy<Value = Origin> {
    (target(), of(text()))
        .prop_map(|(target, account)| Origin { target, account: account.map(Account::from) })
}

pub(crate) fn metadata() -> BoxedStrategy<Option<Box<ProviderMetadata>>> {
    of(some_metadata().prop_map(Box::new)).boxed()
}

pub(crate) fn some_metadata() -> BoxedStrategy<ProviderMetadata> {
    (of(origin()), options()).prop_map(|(origin, values)| ProviderMetadata { origin, values }).boxed()
}
