use super::check::{Report, check};
use super::mentions::Mentions;
use super::sample;
use super::table::Table;
use super::{RowId, counts};

const RETRY: &str = "\
# retry

| row | given | expected |
|---|---|---|
| RT-1 | a 500 | the same target again |
| **RT-2** | a 401 | the next key, `a \\| b` |
";

/// The report on one retry table and one file of tests.
fn report(table: &str, source: &str) -> Report {
    reports(&[("docs/behaviour/retry.md", table)], source)
}

fn reports(tables: &[(&str, &str)], source: &str) -> Report {
    let mut mentions = Mentions::default();
    mentions.scan("crates/retry/tests/rows.rs", source);
    check(tables.iter().map(|(file, text)| Table::parse(file, text)).collect(), mentions)
}

fn problems(report: &Report) -> Vec<String> {
    report.problems.iter().map(ToString::to_string).collect()
}

/// A file of tests that proves both rows.
const BOTH: &str = "
/// Goes on with the same target. [RT-1]
#[test]
fn a() {}

#[tokio::test(start_paused = true)]
/// [RT-2]
async fn b() {}
";

#[test]
fn all_is_well_when_each_row_has_a_test() {
    let report = report(RETRY, BOTH);
    assert_eq!(problems(&report), [""; 0]);
    let names: Vec<_> = report.rows.values().map(|proved| proved.tests[0].name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let counts = counts(&report);
    let count = &counts["docs/behaviour/retry.md"];
    assert_eq!((count.rows, count.proved, count.tests), (2, 2, 2));
}

#[test]
fn cells_keep_their_escaped_bars() {
    let report = report(RETRY, BOTH);
    assert_eq!(report.rows[&RowId::parse("RT-2").unwrap()].row.cells, ["a 401", "the next key, `a | b`"]);
}

#[test]
fn a_row_without_a_test_is_told_with_its_line() {
    let report = report(RETRY, "/// [RT-1]\n#[test]\nfn a() {}\n");
    assert_eq!(problems(&report), ["docs/behaviour/retry.md:6: RT-2 has no test"]);
}

#[test]
fn a_test_may_not_name_a_row_that_no_table_has() {
    let report = report(RETRY, &format!("{BOTH}\n/// [RT-3]\n#[test]\nfn c() {{}}"));
    assert_eq!(problems(&report), ["crates/retry/tests/rows.rs:12: `c` names RT-3, which no table has"]);
}

#[test]
fn three_rows_for_one_test_and_no_more() {
    let table = "| RT-1 | a |\n| RT-2 | b |\n| RT-3 | c |\n| RT-4 | d |\n";
    let four = report(table, "/// [RT-1] [RT-2]\n///\n/// [RT-3, RT-4]\n#[test]\nfn a() {}\n");
    assert_eq!(problems(&four), ["crates/retry/tests/rows.rs:5: `a` names 4 rows; 3 at most"]);
    let three = report(
        "| RT-1 | a |\n| RT-2 | b |\n| RT-3 | c |\n",
        "/// [RT-1] [RT-2, RT-3] [RT-1]\n#[test] fn a() {}",
    );
    assert_eq!(problems(&three), [""; 0]);
}

#[test]
fn a_name_is_used_once_however_it_is_written() {
    let report = report("| RT-1 | a |\n\n| RT-01 | b |\n", "/// [RT-1]\n#[test]\nfn a() {}\n");
    assert_eq!(
        problems(&report),
        ["docs/behaviour/retry.md:3: RT-1 is already in use at docs/behaviour/retry.md:1"]
    );
}

#[test]
fn a_row_stays_in_the_file_of_its_crate() {
    let table = "| RT-1 | a |\n| HT-2 | b |\n| XX-3 | c |\n";
    let report = report(table, "/// [RT-1] [HT-2] [XX-3]\n#[test]\nfn a() {}\n");
    assert_eq!(
        problems(&report),
        [
            "docs/behaviour/retry.md:2: HT-2 does not belong to this file, but to ai-http.md",
            "docs/behaviour/retry.md:3: XX-3 does not belong to this file; XX is nobody's prefix",
        ]
    );
}

#[test]
fn a_table_of_nobody_is_refused() {
    let report = reports(&[("docs/behaviour/misc.md", "| RT-1 | a |\n")], "/// [RT-1]\n#[test]\nfn a() {}\n");
    assert_eq!(problems(&report), ["docs/behaviour/misc.md:1: no prefix belongs to a table called `misc`"]);
}

#[test]
fn mistyped_empty_and_missing_rows_are_told() {
    let table = "| RT-1 | a |\n| RT2 | b |\n| rt-3 | c |\n| RT-4 | |\n| RT-5a | e |\n";
    let typed = report(table, "/// [RT-1] [RT-4]\n#[test]\nfn a() {}\n");
    assert_eq!(
        problems(&typed),
        [
            "docs/behaviour/retry.md:2: `RT2` is no row name; write it like RT-12",
            "docs/behaviour/retry.md:3: `rt-3` is no row name; write it like RT-12",
            "docs/behaviour/retry.md:4: RT-4 says nothing",
            "docs/behaviour/retry.md:5: `RT-5a` is no row name; write it like RT-12",
        ]
    );
    assert_eq!(problems(&report("# retry\n", "")), ["docs/behaviour/retry.md:1: no row in this file"]);
}

#[test]
fn other_tables_and_code_blocks_are_no_rows() {
    let table = "| RT-1 | a |\n\n| status | retry |\n|---|---|\n| 429 | yes |\n| h2 | no |\n\n```\n| RT-9 | x |\n```\n";
    assert_eq!(problems(&report(table, "/// [RT-1]\n#[test]\nfn a() {}\n")), [""; 0]);
}

#[test]
fn rows_named_anywhere_but_on_a_test_are_dangling() {
    let source = "\
//! About [RT-1].

/// [RT-1]
fn helper() {}

/// [RT-1]
struct S {
    /// [RT-1]
    field: u8,
}

/// [RT-1]
mod m {}

fn body() {
    //! [RT-1]
    /// [RT-1]
}
";
    let report = report(RETRY, &format!("{source}{BOTH}"));
    let line = |line: usize, on: &str| {
        format!("crates/retry/tests/rows.rs:{line}: RT-1 is named in a doc comment on {on}")
    };
    assert_eq!(
        problems(&report),
        [
            line(1, "a module's comment"),
            line(3, "`helper`, which is no test"),
            line(6, "something that is no function"),
            line(8, "something that is no function"),
            line(12, "something that is no function"),
            line(16, "a module's comment"),
            line(17, "nothing"),
        ]
    );
}

#[test]
fn strings_and_plain_comments_name_nothing() {
    let source = r####"
        // [RT-7]
        /* [RT-7] */
        const A: &str = "
            /// [RT-7]
            #[test]
            fn x() {}
        ";
        const B: &str = r#"/// [RT-7]"#;
        fn lifetime<'a>(x: &'a str) -> char { '"' }
    "####;
    assert_eq!(problems(&report(RETRY, &format!("{source}{BOTH}"))), [""; 0]);
}

#[test]
fn tests_are_found_in_modules_and_macros() {
    let source = "
mod tests {
    mod inner {
        /** [RT-1] */
        #[test]
        pub(crate) fn a() {}
    }
}
proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    /// [RT-2]
    #[test]
    fn b(x in 0..9u8, y in any::<bool>()) { prop_assert!(x < 9) }
}
";
    assert_eq!(problems(&report(RETRY, source)), [""; 0]);
}

#[test]
fn a_function_in_proptest_that_never_runs_proves_nothing() {
    let source = format!("{BOTH}\nproptest! {{\n/// [RT-1]\nfn c(x in 0..9u8) {{}}\n}}");
    let text = "crates/retry/tests/rows.rs:11: RT-1 is named in a doc comment on `c`, which is no test";
    assert_eq!(problems(&report(RETRY, &source)), [text]);
}

#[test]
fn an_ignored_test_proves_nothing() {
    let source = "/// [RT-1]\n#[test]\n#[ignore = \"slow\"]\nfn a() {}\n/// [RT-2]\n#[test]\nfn b() {}";
    assert_eq!(
        problems(&report(RETRY, source)),
        [
            "crates/retry/tests/rows.rs:4: `a` is ignored and cannot prove RT-1",
            "docs/behaviour/retry.md:5: RT-1 has no test"
        ]
    );
}

#[test]
fn brackets_that_hold_no_row_are_left_alone() {
    let source =
        "/// [`Vec`], [UTF-8], [0], [RT-], [RT-1x], [see](RT-9), [ab-1], [open RT-9\nfn helper() {}\n";
    assert_eq!(problems(&report(RETRY, &format!("{source}{BOTH}"))), [""; 0]);
}

#[test]
fn a_file_that_is_no_rust_is_told() {
    let found = problems(&report(RETRY, &format!("{BOTH}\nfn open( {{\n")));
    assert!(found.iter().any(|text| text.contains("not Rust")), "{found:?}");
}

#[test]
fn a_sample_is_drawn_without_repeating_and_repeats_with_its_seed() {
    let table: String = (1..=50).map(|n| format!("| RT-{n} | sentence {n} |\n")).collect();
    let tests: String = (1..=50).map(|n| format!("/// [RT-{n}]\n#[test]\nfn t{n}() {{}}\n")).collect();
    let report = report(&table, &tests);
    assert_eq!(problems(&report), [""; 0]);

    let some = sample::shown(&report, 5, 7);
    assert_eq!(some, sample::shown(&report, 5, 7));
    assert_ne!(some, sample::shown(&report, 5, 8));
    assert_eq!(some.lines().count(), 10);

    let all = sample::shown(&report, 999, 7);
    for n in 1..=50 {
        let row = format!(
            "RT-{n} (docs/behaviour/retry.md:{n}): sentence {n}\n    crates/retry/tests/rows.rs:{} t{n}\n",
            n * 3
        );
        assert!(all.contains(&row), "{row} is not in\n{all}");
    }
    assert_eq!(all.lines().count(), 100);
}

const SCRIPT: &str = "
// Both at once, in a comment of two lines: [RT-1]
// [RT-2]
test('goes on', async () => {
  // [RT-9] inside of a test is prose.
});
";

fn script_report(script: &str) -> Report {
    let mut mentions = Mentions::default();
    mentions.scan_script("tests/browser/a.test.mjs", script);
    check(vec![Table::parse("docs/behaviour/retry.md", RETRY)], mentions)
}

#[test]
fn tests_for_node_prove_rows_too() {
    let report = script_report(SCRIPT);
    assert_eq!(problems(&report), [""; 0]);
    let test = &report.rows[&RowId::parse("RT-2").unwrap()].tests[0];
    assert_eq!((test.name.as_str(), test.place.line), ("goes on", 4));
}

#[test]
fn tests_for_node_that_do_not_run_prove_nothing_and_comments_on_other_things_are_told() {
    let skipped = script_report(&SCRIPT.replace("test(", "test.skip("));
    assert!(problems(&skipped).iter().any(|text| text.contains("is ignored and cannot prove RT-1")));
    let elsewhere = script_report("// [RT-1]\nconst a = 1;\n// [RT-2]\n\ntest('x', () => {});\n");
    let told = problems(&elsewhere);
    for line in [1, 3] {
        let place = format!("tests/browser/a.test.mjs:{line}: ");
        assert!(told.iter().any(|text| text.starts_with(&place) && text.contains("on no test")), "{told:?}");
    }
}
