//! Rows against tests.

use std::collections::BTreeMap;

use super::mentions::{Mentions, Test};
use super::table::{Row, Table};
use super::{Problem, RowId};

/// A test that claims to prove more than this proves nothing in particular.
const ROWS_PER_TEST: usize = 3;

/// What the comparison found.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) rows: BTreeMap<RowId, Proved>,
    pub(super) problems: Vec<Problem>,
}

/// A row and the tests that name it.
#[derive(Debug)]
pub(super) struct Proved {
    pub(super) row: Row,
    pub(super) tests: Vec<Test>,
}

pub(super) fn check(tables: Vec<Table>, mentions: Mentions) -> Report {
    let mut rows: BTreeMap<RowId, Proved> = BTreeMap::new();
    let mut problems = mentions.problems;
    for table in tables {
        problems.extend(table.problems);
        for row in table.rows {
            match rows.get(&row.id) {
                Some(first) => {
                    let text = format!("{} is already in use at {}", row.id, first.row.place);
                    problems.push(Problem::new(&row.place, text));
                }
                None => {
                    rows.insert(row.id, Proved { row, tests: Vec::new() });
                }
            }
        }
    }
    for test in mentions.tests {
        if test.rows.len() > ROWS_PER_TEST {
            let text = format!("`{}` names {} rows; {ROWS_PER_TEST} at most", test.name, test.rows.len());
            problems.push(Problem::new(&test.place, text));
        }
        for id in &test.rows {
            match rows.get_mut(id) {
                None => {
                    problems.push(Problem::new(
                        &test.place,
                        format!("`{}` names {id}, which no table has", test.name),
                    ));
                }
                Some(_) if test.ignored => {
                    problems.push(Problem::new(
                        &test.place,
                        format!("`{}` is ignored and cannot prove {id}", test.name),
                    ));
                }
                Some(proved) => proved.tests.push(test.clone()),
            }
        }
    }
    for proved in rows.values().filter(|proved| proved.tests.is_empty()) {
        problems.push(Problem::new(&proved.row.place, format!("{} has no test", proved.row.id)));
    }
    problems.sort();
    Report { rows, problems }
}
