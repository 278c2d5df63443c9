//! The seeds of the fuzz targets, on the stable compiler: they reach a finish and every error there is.

use std::collections::BTreeSet;

use ai_provider::ErrorClass;

#[path = "../../fuzz/src/lib.rs"]
#[allow(dead_code, reason = "what only libFuzzer calls")]
mod targets;

/// What the seeds of a target reach: whether something whole, and which classes.
fn reached(target: &str) -> (bool, BTreeSet<&'static str>) {
    let seeds = targets::seeds::of(target).unwrap();
    assert!(seeds.len() >= 7, "{target} has {} seeds", seeds.len());
    let mut reached = (false, BTreeSet::new());
    for (name, data) in seeds {
        let seen = targets::seen(target, &data);
        reached.0 |= seen.finished;
        reached.1.extend(seen.class.map(ErrorClass::as_str));
        assert!(seen.finished || seen.class.is_some() || name == "cut", "{target} makes nothing of {name}");
    }
    reached
}

/// Of the other classes, none comes of bytes: the connection, the caller, what was asked, and an answer that is empty
/// for the loop above.
const OF_BYTES: [&str; 15] = [
    "auth",
    "content-refused",
    "context-too-long",
    "incomplete",
    "invalid-request",
    "missing-finish",
    "not-found",
    "overloaded",
    "protocol",
    "quota",
    "rate-limit",
    "server",
    "stale-replay",
    "timeout",
    "too-large",
];

#[test]
fn the_seeds_of_each_decoder_reach_a_finish_and_every_class_of_error() {
    for target in ["chat", "responses", "messages", "gemini"] {
        let (finished, classes) = reached(target);
        assert!(finished, "no seed of {target} reaches a finish");
        let missing: Vec<_> = OF_BYTES.iter().filter(|class| !classes.contains(*class)).collect();
        // Responses and Gemini tell an answer without a reason from a cut one by nothing, and what Gemini refuses is
        // a finish.
        let expected: &[&str] = match target {
            "responses" => &["missing-finish"],
            "gemini" => &["missing-finish", "content-refused"],
            _ => &[],
        };
        assert!(missing.iter().all(|class| expected.contains(class)), "{target} does not reach {missing:?}");
    }
}

#[test]
fn the_seeds_of_the_others_reach_both_ends() {
    for (target, expected) in [
        ("framer", &["protocol", "too-large"][..]),
        ("assembler", &["protocol", "too-large"]),
        ("schema", &["invalid-request"]),
    ] {
        let (finished, classes) = reached(target);
        assert!(finished, "no seed of {target} reaches its end");
        assert!(expected.iter().all(|class| classes.contains(class)), "{target} reaches {classes:?} alone");
    }
    assert_eq!(targets::TARGETS.len(), 7);
}
