#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

use std::cell::Cell;

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;

use super::{Joiner, replaced, with_stand_ins};

/// Text as a server in the habit of escaping writes it.
fn escaped(units: &[u16]) -> String {
    let escape = |unit: &u16| match u8::try_from(*unit) {
        Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        _ => format!("\\u{unit:04x}"),
    };
    units.iter().map(escape).collect()
}

fn text_of(json: &str) -> Option<String> {
    serde_json::from_str::<Value>(json).ok()?["content"].as_str().map(str::to_owned)
}

/// [OA-27]
#[test]
fn only_halves_in_fields_that_may_be_cut_are_marked() {
    for json in [
        r#"{"content":"\ud83d\ude00 \\ud83d \" \u00e9"}"#,
        r#"{"name":"\ud83d"}"#,
        r#"{"content":{"name":"\ude00"},"\ud83d":1}"#,
        r#"{"content":"\ud83d"#,
        r#"{"content":"\ud8"}"#,
        r#"{"content":"\u+d83"}"#,
        "{\"content\":\"\\ud83d\u{10F83D}\"}",
        r#"{"content":"\ud83d \uDBFE\udc3d"}"#,
        "",
    ] {
        assert_eq!(with_stand_ins(json), None, "{json}");
    }
    for (json, left) in [
        (r#"{"content" : "a\ud83d"}"#, "a\u{FFFD}"),
        (r#"{"content":"\uDE00b"}"#, "\u{FFFD}b"),
        (r#"{"content":"\ud83d\ud83d\ude00\\\ude00"}"#, "\u{FFFD}😀\\\u{FFFD}"),
        (r#"{"x":"\\","content":"\"\ud83d\u0041"}"#, "\"\u{FFFD}A"),
    ] {
        let marked = text_of(&with_stand_ins(json).unwrap()).unwrap();
        let mut joiner = Joiner::default();
        let (mut text, _) = joiner.join(&marked, true);
        text.extend(joiner.end());
        assert_eq!(text, left, "{json}");
        assert_eq!(text_of(&replaced(json).unwrap()).unwrap(), left, "{json}");
    }
}

/// [OA-27]
#[test]
fn halves_are_put_together_and_lost_ones_shown() {
    let unit = prop_oneof![
        1 => Just(vec![0x41]),
        // Pairs often: what a cut may go through is what this is about.
        4 => Just(vec![0xD83D, 0xDE00]),
        1 => (0xD800_u16..0xDBFE).prop_map(|first| vec![first]),
        1 => (0xDC00_u16..0xE000).prop_map(|second| vec![second]),
        1 => any::<u16>().prop_map(|unit| vec![unit]),
    ];
    let text = prop::collection::vec(unit, 0..8).prop_map(|units| units.concat());
    let cuts = prop::collection::vec(any::<Index>(), 0..6);
    let (inside, alone) = (Cell::new(0), Cell::new(0));
    TestRunner::new(Config { cases: 2_048, failure_persistence: None, ..Config::default() })
        .run(&(text, cuts), |(units, cuts)| {
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(units.len() + 1)).collect();
            cuts.extend([0, units.len()]);
            cuts.sort_unstable();
            let mut joiner = Joiner::default();
            let mut text = String::new();
            let mut joined = false;
            for piece in cuts.windows(2) {
                let json = format!(r#"{{"content":"{}"}}"#, escaped(&units[piece[0]..piece[1]]));
                let marked = with_stand_ins(&json);
                // Where stand-ins are in use there is nothing to mark with.
                prop_assume!(marked.is_some() || text_of(&json).is_some());
                let piece = text_of(marked.as_ref().unwrap_or(&json)).unwrap();
                let held = joiner.holds();
                let (piece, lost) = joiner.join(&piece, marked.is_some());
                joined |= held && !piece.is_empty() && !lost;
                text += &piece;
            }
            text.extend(joiner.end());
            prop_assert_eq!(&text, &String::from_utf16_lossy(&units));
            inside.set(inside.get() + usize::from(joined));
            alone.set(alone.get() + usize::from(text.contains(char::REPLACEMENT_CHARACTER)));
            Ok(())
        })
        .unwrap();
    let counts = (inside.get(), alone.get());
    assert!(counts.0 > 200 && counts.1 > 500, "{counts:?}");
}
