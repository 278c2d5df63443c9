use proptest::prelude::*;

use super::*;

fn stable(text: &str) -> &str {
    let mut prefix = StablePrefix::default();
    prefix.advance(text);
    &text[..prefix.len()]
}

/// [AL-216]
#[test]
fn what_is_closed_is_stable() {
    for (text, wanted) in [
        ("", ""),
        ("One", ""),
        ("One\n", ""),
        ("One\n\n", "One\n\n"),
        ("One\r\n\r\nTwo", "One\r\n\r\n"),
        ("One\ntwo\n\nThree\n", "One\ntwo\n\n"),
        ("One\n```rust\nfn f() {\n\n}\n", "One\n"),
        ("One\n```rust\n\n```\n", "One\n```rust\n\n```\n"),
        ("````\n```\n\n", ""),
        ("````\n```\n\n`````\nX", "````\n```\n\n`````\n"),
        ("~~~\n```\n\n~~~\n", "~~~\n```\n\n~~~\n"),
        ("```a`b\n\n", "```a`b\n\n"),
        ("- a\n- b\n\n", ""),
        ("- a\n\n  more\n\n- b\n\n", ""),
        ("- a\n\nEnd", ""),
        ("- a\n\nEnd\n", "- a\n\n"),
        ("- a\nlazy\n\nEnd\n", "- a\nlazy\n\n"),
        ("10. a\n\n    ```\n\n    x\n\nEnd\n", "10. a\n\n    ```\n\n    x\n\n"),
        ("- a\n```\n\ncode\n\nmore\n", "- a\n"),
        ("- a\n<!-- \n\nx\n", "- a\n"),
        ("    code\n\n    more\n\n", ""),
        ("    code\n\nEnd\n", "    code\n\n"),
        ("a\n5. b\n\n   ```\ncode\n\nmore\n", "a\n5. b\n\n"),
        ("> quote\n\nEnd", "> quote\n\n"),
        ("<!-- a\n\nb\n", ""),
        ("<!-- a\n\nb -->\n", "<!-- a\n\nb -->\n"),
        ("<PRE>\n\n</pre>\nX", "<PRE>\n\n</pre>\n"),
        ("<div>\n\n", "<div>\n\n"),
    ] {
        assert_eq!(stable(text), wanted, "{text:?}");
    }
}

/// Lines of which documents are made.
fn document() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "", "", "text", "- item", "1. item", "  more", "    code", "```", "````", "~~~", "> quote", "<!--",
        "-->", "# Head", "   ```", "\ttab", "7) x", "-", "é",
    ]);
    proptest::collection::vec(line, 0..24).prop_map(|lines| lines.join("\n"))
}

proptest! {
    /// [AL-215]
    #[test]
    fn the_prefix_grows_alone_and_does_not_depend_on_the_cuts(text in document(), step in 1usize..9) {
        let mut prefix = StablePrefix::default();
        let mut before = 0;
        let ends: Vec<_> = text.char_indices().map(|(at, _)| at).skip(1).step_by(step).collect();
        for end in ends.into_iter().chain([text.len()]) {
            let shown = &text[..end];
            prefix.advance(shown);
            prop_assert!(prefix.len() >= before && shown.is_char_boundary(prefix.len()));
            prop_assert_eq!(stable(shown).len(), prefix.len());
            before = prefix.len();
        }
    }

    /// [AL-216]
    #[test]
    fn what_follows_does_not_reach_into_the_prefix(text in document(), rest in document()) {
        // The stable part alone leaves nothing open: what comes after it is read as if it stood alone.
        let prefix = stable(&text).len();
        let whole = format!("{}\n{rest}", &text[prefix..]);
        let alone = stable(&whole).len();
        prop_assert_eq!(stable(&format!("{}{whole}", &text[..prefix])).len(), prefix + alone);
    }
}

/// [AL-275]
#[test]
fn a_long_line_is_searched_once() {
    let (mut prefix, mut text) = (StablePrefix::default(), String::from("One\n\n"));
    for _ in 0..1_000 {
        text.push_str("word ");
        prefix.advance(&text);
        // What was searched is not looked at again: an end of line put there is not seen.
        assert_eq!((prefix.searched, prefix.len()), (text.len(), 5));
    }
    let hidden = text.replacen("word word ", "word\n\nword", 1);
    prefix.advance(&hidden);
    assert_eq!(prefix.len(), 5);
    text.push_str("end\n\n");
    prefix.advance(&text);
    assert_eq!(prefix.len(), text.len());
}
