#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

use std::cell::Cell;
use std::collections::HashSet;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::*;

fn names(tools: &[&str]) -> Vec<String> {
    tool_names("srv", tools.iter().copied())
}

/// [MC-2]
#[test]
fn names_keep_their_form_unless_two_would_be_the_same_or_one_is_too_long() {
    assert_eq!(names(&["read_file", "a-b"]), ["srv__read_file", "srv__a-b"]);
    assert_eq!(names(&["browser.click", "größe"]), ["srv__browser_click", "srv__gr__e"]);
    // The one that is legal keeps its name, in whatever place it stands.
    let mixed = names(&["a.b", "a_b", "a/b"]);
    assert_eq!(mixed[1], "srv__a_b");
    assert!(mixed[0].starts_with("srv__a_b_") && mixed[2].starts_with("srv__a_b_"), "{mixed:?}");
    assert_eq!(names(&["a/b", "a.b", "a_b"]), [&*mixed[2], &*mixed[0], &*mixed[1]]);
    // The end of a long name is what tells it apart.
    let (one, two) = ("x".repeat(80) + "1", "x".repeat(80) + "2");
    let long = names(&[&one, &two]);
    assert!(long[0] != long[1] && long.iter().all(|name| name.len() == 64), "{long:?}");
    // It is the same in each version: approvals and prompts hold it.
    assert_eq!(names(&["a.b", "a/b"]), ["srv__a_b_108bf50c", "srv__a_b_3a8e75c1"]);
}

/// [MC-3]
#[test]
fn a_servers_name_ends_where_its_tools_begin() {
    for good in ["a", "files", "my-files", "a_b", "A1", &"x".repeat(30)] {
        assert!(is_server_name(good), "{good}");
    }
    for bad in ["", "1a", "_a", "a_", "a__b", "a b", "ä", "a\n", "a.b", &"x".repeat(31)] {
        assert!(!is_server_name(bad), "{bad}");
    }
}

fn tool() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c._/ -]{0,3}", "[a-z_]{50,128}", any::<String>(), Just("line\nline".to_owned()),]
}

/// [MC-1]
#[test]
fn any_names_become_different_names_that_all_providers_take() {
    let (cases, hashed) = (Cell::new(0), Cell::new(0));
    let given = ("[a-z][a-z0-9-]{0,29}", prop::collection::hash_set(tool(), 0..40));
    let check = |(server, tools): (String, HashSet<String>)| {
        let tools: Vec<String> = tools.into_iter().collect();
        let named = tool_names(&server, tools.iter().map(String::as_str));
        prop_assert_eq!(named.len(), tools.len());
        prop_assert_eq!(named.iter().collect::<HashSet<_>>().len(), named.len());
        for name in &named {
            prop_assert!((1..=64).contains(&name.len()), "{}", name);
            prop_assert!(name.chars().all(is_legal) && name.starts_with(|c: char| c.is_ascii_alphabetic()));
            prop_assert_eq!(name.split_once("__").map(|(server, _)| server), Some(&*server));
        }
        // Another order gives each tool the same name.
        let reversed = tool_names(&server, tools.iter().rev().map(String::as_str));
        prop_assert!(named.iter().eq(reversed.iter().rev()));
        let plain: HashSet<String> = tools.iter().map(|tool| format!("{server}__{}", clean(tool))).collect();
        cases.set(cases.get() + 1);
        hashed.set(hashed.get() + u32::from(plain.len() < tools.len()));
        Ok(())
    };
    TestRunner::default().run(&given, check).unwrap();
    assert!(hashed.get() * 2 > cases.get(), "{} of {} lists have names that meet", hashed.get(), cases.get());
}
