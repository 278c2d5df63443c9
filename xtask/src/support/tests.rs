use super::{Args, columns};

fn args(words: &[&str]) -> Args {
    Args(words.iter().map(|&word| word.to_owned()).collect())
}

#[test]
fn help_is_asked_for_before_a_lone_dash_dash() {
    assert!(args(&["--sample", "3", "-h"]).asks_for_help());
    assert!(!args(&["filter", "--", "--help"]).asks_for_help());
}

#[test]
fn an_option_without_its_value_and_a_stray_word_are_errors() {
    assert_eq!(args(&[]).value_of("--only").unwrap_err().to_string(), "--only needs a value");
    let number = args(&["x"]).number_of::<usize>("--sample").unwrap_err().to_string();
    assert_eq!(number, "--sample x: invalid digit found in string");
    let stray = args(&["now"]).finish("deps").unwrap_err().to_string();
    assert_eq!(stray, "`now` is nothing that deps takes; see `cargo xtask deps --help`");
}

#[test]
fn columns_line_up_and_numbers_go_right() {
    let row = |cells: &[&str]| cells.iter().map(|&cell| cell.to_owned()).collect::<Vec<_>>();
    let table =
        columns(&[row(&["what", "count", "remark"]), row(&["a", "7", ""]), row(&["longer", "120", "x"])]);
    assert_eq!(table, "  what    count  remark\n  a           7\n  longer    120  x\n");
}
