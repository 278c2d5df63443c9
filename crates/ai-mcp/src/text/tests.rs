use proptest::prelude::*;

use super::*;

/// [MC-8]
#[test]
fn what_nobody_sees_is_taken_out() {
    assert_eq!(visible("Reads.\u{1b}[31m\u{0}\n\tMore.\r", 100), "Reads.[31m\n\tMore.");
    assert_eq!(visible("a\u{200b}b\u{202e}c\u{e0041}d\u{feff}e\u{2066}f", 100), "abcdef");
    assert_eq!(line(" a\n b\t\u{2028}c ", 100), "a b c");
    assert_eq!(visible("äöü", 3), "ä…");
}

proptest! {
    /// [MC-8]
    #[test]
    fn cuts_fall_between_characters(text in any::<String>(), limit in 0usize..40) {
        let (begin, was_cut) = cut(&text, limit);
        prop_assert!(text.starts_with(begin) && begin.len() <= limit);
        prop_assert_eq!(was_cut, begin.len() < text.len());
        prop_assert!(!was_cut || begin.len() + 4 > limit, "no more is cut than must be");
    }
}
