use std::cell::Cell;

use ai_core::output::partial_json;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Whether `less` is a beginning of `more`.
fn begins(less: &Value, more: &Value) -> bool {
    match (less, more) {
        (Value::String(less), Value::String(more)) => more.starts_with(less.as_str()),
        (Value::Array(less), Value::Array(more)) => {
            less.len() <= more.len() && less.iter().zip(more).all(|(less, more)| begins(less, more))
        }
        (Value::Object(less), Value::Object(more)) => {
            less.iter().all(|(key, less)| more.get(key).is_some_and(|more| begins(less, more)))
        }
        (less, more) => less == more,
    }
}

fn text() -> impl Strategy<Value = String> {
    let piece =
        prop::sample::select(vec!["a", "\"", "\\", "é", "😀", "\n", "{", "]", ",", ":", "\u{7}", "𝄞"]);
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9f64).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Writes JSON with escapes for all that is not ASCII, as some servers do.
fn ascii(json: &str) -> String {
    let mut units = [0; 2];
    let escaped = json.chars().map(|c| match c {
        c if c.is_ascii() => c.to_string(),
        c => c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
    });
    escaped.collect()
}

/// [AC-260]
#[test]
fn every_beginning_of_json_says_what_is_sure() {
    let (cases, prefixes, said, grew) = (Cell::new(0), Cell::new(0), Cell::new(0), Cell::new(0));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(200));
    let inputs = (value(), any::<bool>(), any::<bool>());
    runner
        .run(&inputs, |(value, pretty, escaped)| {
            cases.set(cases.get() + 1);
            let text = if pretty { format!("{value:#}") } else { value.to_string() };
            let text = if escaped { ascii(&text) } else { text };
            let mut before: Option<Value> = None;
            for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
                prefixes.set(prefixes.get() + 1);
                let part = partial_json(&text[..end]);
                if let Some(part) = &part {
                    said.set(said.get() + 1);
                    prop_assert!(begins(part, &value), "{} gives {part}", &text[..end]);
                }
                match (&before, &part) {
                    (Some(before), Some(part)) => {
                        prop_assert!(begins(before, part), "{} took back from {before}", &text[..end]);
                        grew.set(grew.get() + usize::from(before != part));
                    }
                    (Some(before), None) => prop_assert!(false, "{} took {before} back", &text[..end]),
                    (None, _) => {}
                }
                before = part;
            }
            if !value.is_number() {
                prop_assert_eq!(partial_json(&text), Some(value.clone()));
            }
            prop_assert_eq!(partial_json(&format!(" {text} ")), Some(value));
            Ok(())
        })
        .unwrap();
    assert!(
        said.get() * 2 > prefixes.get(),
        "{} of {} beginnings said something",
        said.get(),
        prefixes.get()
    );
    assert!(grew.get() > cases.get(), "{} steps of growth in {} cases", grew.get(), cases.get());
}

/// [AC-260]
#[test]
fn strings_grow_and_scalars_are_whole() {
    for (text, expected) in [
        ("", None),
        (" ", None),
        ("{", Some(json!({}))),
        ("[", Some(json!([]))),
        ("\"a", Some(json!("a"))),
        ("\"a\\", Some(json!("a"))),
        ("\"a\\u00e", Some(json!("a"))),
        ("\"\\ud83d", Some(json!(""))),
        ("\"\\ud83d\\ude0", Some(json!(""))),
        ("\"\\ud83d\\ude00", Some(json!("😀"))),
        ("{\"a", Some(json!({}))),
        ("{\"a\"", Some(json!({}))),
        ("{\"a\":", Some(json!({}))),
        ("{\"a\":1", Some(json!({}))),
        ("{\"a\":1,", Some(json!({"a": 1}))),
        ("{\"a\":-1.5e", Some(json!({}))),
        ("{\"a\":-1.5e3 ", Some(json!({"a": -1500.0}))),
        ("{\"a\":tru", Some(json!({}))),
        ("{\"a\":true", Some(json!({"a": true}))),
        ("{\"a\":null", Some(json!({"a": null}))),
        ("{\"a\":[1,{\"b\":\"c", Some(json!({"a": [1, {"b": "c"}]}))),
        ("{\"a\":1} and so on {", Some(json!({"a": 1}))),
    ] {
        assert_eq!(partial_json(text), expected, "{text}");
    }
}

/// [AC-261]
#[test]
fn what_is_no_json_gives_nothing() {
    for text in [
        "a",
        "{a",
        "{1",
        "{\"a\" \"b\"",
        "[1 2",
        "{\"a\":1,}",
        "[,",
        "}",
        "{]",
        "[1}",
        "{\"a\":}",
        "nul ",
        "truex",
        "{\"a\":1.}",
        "{\"a\":01 ",
        "-",
        "{\"a\":\"\\x\"",
        "{\"a\":\"\\ud83d\"",
        "\"\\ud83d\\n",
        ",",
        ":",
    ] {
        assert_eq!(partial_json(text), None, "{text}");
    }
    assert_eq!(partial_json(&"[".repeat(100_000)), None, "too deep to be read");
    assert!(partial_json(&"[".repeat(127)).is_some());
}

/// [AC-261]
#[test]
fn any_text_is_read_without_harm() {
    let piece = prop::sample::select(vec![
        "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "d83d", "true", "nul", "1", "-", ".", "e", " ", "é",
        "x",
    ]);
    let text = prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat());
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(3_000));
    let (said, cases) = (Cell::new(0), Cell::new(0));
    runner
        .run(&text, |text| {
            cases.set(cases.get() + 1);
            let part = partial_json(&text);
            said.set(said.get() + usize::from(part.is_some()));
            // Whoever reads JSON as such reads the same of it.
            if let (Ok(whole), Some(part)) = (serde_json::from_str::<Value>(&text), part) {
                prop_assert_eq!(whole, part);
            }
            Ok(())
        })
        .unwrap();
    assert!(said.get() * 30 > cases.get(), "{} of {}", said.get(), cases.get());
}
