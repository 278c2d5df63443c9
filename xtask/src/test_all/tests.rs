use std::time::Duration;
#[cfg(unix)]
use std::{process::Command, time::Instant};

use super::{Done, Outcome, Word, judge, only, stages, summary};
#[cfg(unix)]
use crate::cargo;

#[test]
fn stages_are_chosen_by_name_and_keep_their_order() {
    let names: Vec<&str> = only("doc, fmt").unwrap().iter().map(|stage| stage.name).collect();
    assert_eq!(names, ["fmt", "doc"]);
    let error = only("fmt,tests").err().unwrap().to_string();
    let all: Vec<&str> = stages::ALL.iter().map(|stage| stage.name).collect();
    assert!(error.starts_with("no stage is called `tests`; there are "), "{error}");
    assert!(error.contains(&all.join(", ")), "{error}");
}

#[test]
fn no_two_stages_share_a_name() {
    for stage in stages::ALL {
        assert_eq!(stages::ALL.iter().filter(|other| other.name == stage.name).count(), 1, "{}", stage.name);
    }
}

#[test]
fn a_skip_fails_where_everything_is_required() {
    let skip = || Ok(Done::Skipped("no folder".to_owned()));
    assert_eq!(judge(skip(), false), (Word::Skipped, "no folder".to_owned()));
    assert_eq!(judge(skip(), true), (Word::Failed, "no folder (REQUIRE_ALL=1)".to_owned()));
    assert_eq!(judge(Ok(Done::PASSED), true), (Word::Passed, String::new()));
    assert_eq!(judge(Err("broken".into()), false), (Word::Failed, "broken".to_owned()));
}

#[test]
fn the_last_line_counts_the_stages() {
    let outcome =
        |stage, word| Outcome { stage, word, time: Duration::from_millis(1500), remark: String::new() };
    let results =
        [outcome("fmt", Word::Passed), outcome("clippy", Word::Failed), outcome("doc", Word::Passed)];
    let text = summary(&results);
    assert_eq!(text.lines().last(), Some("2 passed, 1 failed, 0 skipped"));
    assert!(text.contains("clippy  failed"), "{text}");
    assert!(text.contains("4.5 s"), "{text}");
}

#[cfg(unix)]
#[test]
fn a_child_is_stopped_at_its_limit() {
    let start = Instant::now();
    let error = cargo::run_within(Command::new("sleep").arg("600"), Duration::from_millis(100));
    assert_eq!(error.unwrap_err().to_string(), "`sleep 600` was still running after 0 s");
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[cfg(unix)]
#[test]
fn a_child_that_fails_is_an_error() {
    let limit = Duration::from_secs(60);
    assert!(cargo::run_within(&mut Command::new("true"), limit).is_ok());
    let error = cargo::run_within(&mut Command::new("false"), limit).unwrap_err().to_string();
    assert!(error.starts_with("`false` failed"), "{error}");
    assert!(cargo::run(&mut Command::new("no-such-program-anywhere")).is_err());
}
