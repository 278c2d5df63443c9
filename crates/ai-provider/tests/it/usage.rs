use std::sync::Arc;

use ai_provider::{InputTokens, OutputTokens, Usage};
use proptest::prelude::*;
use serde_json::json;

use crate::support::check;
use crate::support::strategies::usage;

fn counts(usage: &Usage) -> [Option<u64>; 7] {
    let InputTokens { total, no_cache, cache_read, cache_write } = usage.input;
    let OutputTokens { total: out, text, reasoning } = usage.output;
    [total, no_cache, cache_read, cache_write, out, text, reasoning]
}

fn sum(a: &Usage, b: &Usage) -> Usage {
    let mut sum = a.clone();
    sum.add(b);
    sum
}

/// [PV-14, PV-15]
#[test]
fn usage_adds_up_field_by_field() {
    let met = check(500, (usage(), usage()), |(a, b), met| {
        let sum = sum(&a, &b);
        for ((a, b), sum) in counts(&a).into_iter().zip(counts(&b)).zip(counts(&sum)) {
            match (a, b) {
                (Some(a), Some(b)) => {
                    prop_assert_eq!(
                        u128::from(sum.unwrap()),
                        (u128::from(a) + u128::from(b)).min(u64::MAX.into())
                    );
                    met.note(if a.checked_add(b).is_none() { "too large" } else { "both known" });
                }
                (None, None) => prop_assert_eq!(sum, None),
                (one, other) => {
                    prop_assert_eq!(sum, one.or(other));
                    met.note("one known");
                }
            }
        }
        prop_assert_eq!(&sum.raw, if b.raw.is_some() { &b.raw } else { &a.raw });
        Ok(())
    });
    met.at_least(20, ["too large", "both known", "one known"]);
}

/// [PV-14]
#[test]
fn the_order_of_adding_does_not_matter() {
    check(300, (usage(), usage(), usage()), |(a, b, c), _| {
        prop_assert_eq!(counts(&sum(&a, &b)), counts(&sum(&b, &a)));
        prop_assert_eq!(counts(&sum(&sum(&a, &b), &c)), counts(&sum(&a, &sum(&b, &c))));
        prop_assert_eq!(sum(&a, &Usage::default()), a);
        Ok(())
    });
}

/// [PV-15]
#[test]
fn the_raw_usage_of_the_latest_call_is_kept() {
    let raw = |value| Usage { raw: Some(Arc::new(value)), ..Usage::default() };
    let mut total = raw(json!({ "n": 1 }));
    total.add(&Usage::default());
    assert_eq!(total.raw.as_deref(), Some(&json!({ "n": 1 })));
    total.add(&raw(json!({ "m": 2 })));
    assert_eq!(
        total.raw.as_deref(),
        Some(&json!({ "m": 2 })),
        "replaced, not merged: the two are different calls"
    );
}

/// [PV-16]
#[test]
fn the_total_is_unknown_only_where_both_sides_are() {
    let total = |input, output| {
        let mut usage = Usage::default();
        (usage.input.total, usage.output.total) = (input, output);
        usage.total()
    };
    assert_eq!(total(None, None), None);
    assert_eq!(total(Some(3), None), Some(3));
    assert_eq!(total(None, Some(0)), Some(0));
    assert_eq!(total(Some(3), Some(4)), Some(7));
    assert_eq!(total(Some(u64::MAX), Some(1)), Some(u64::MAX));
    let mut details = Usage::default();
    (details.input.cache_read, details.output.reasoning) = (Some(5), Some(6));
    assert_eq!(details.total(), None, "details do not make a total");
}
