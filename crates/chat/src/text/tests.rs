use proptest::prelude::*;

use super::*;

/// [CH-30]
#[test]
fn what_drives_a_terminal_becomes_visible() {
    let table = [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\u{1b}[2J\u{1b}]0;title\u{7}", "␛[2J␛]0;title␇"),
        ("over\rwrite\r\n", "overwrite\n"),
        ("\u{9b}31m\u{7f}\u{0}", "�31m␡␀"),
        ("abc\u{202e}txt.exe\u{2066}", "abc�txt.exe�"),
        ("naïve 日本 שלום 👩‍👩‍👧 é", "naïve 日本 שלום 👩‍👩‍👧 é"),
    ];
    for (text, shown) in table {
        assert_eq!(visible(text), shown);
    }
    assert_eq!(visible_line("a\nb\tc\u{1b}\u{2028}"), "a⏎b c␛⏎");
}

proptest! {
    /// However the text is cut into pieces, what is shown is the same, and holds nothing that drives.
    ///
    /// [CH-30]
    #[test]
    fn neutralising_knows_no_cuts(pieces in prop::collection::vec("[\\x00-\\x1f\u{7f}-\u{9f}a-z\u{202a}-\u{202e}]{0,6}", 0..8)) {
        let whole = visible(&pieces.concat()).into_owned();
        let cut: String = pieces.iter().map(|piece| visible(piece)).collect();
        prop_assert_eq!(&whole, &cut);
        prop_assert!(!whole.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
    }
}

/// [CH-31]
#[test]
fn shortening_counts_characters_and_marks_the_cut() {
    assert_eq!(shorten("日本語", 3), "日本語");
    assert_eq!(shorten("日本語だ", 3), "日本…");
    assert_eq!(shorten("", 0), "");
}

/// [CH-22]
#[test]
fn only_a_near_name_is_suggested() {
    let known = ["model", "system", "temperature"];
    assert_eq!(nearest("modle", known), Some("model"));
    assert_eq!(nearest("Temprature", known), Some("temperature"));
    assert_eq!(nearest("banana", known), None);
}
