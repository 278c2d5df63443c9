//! The rows that tests written for Node name: in a comment of their own lines right above `test('…`.

use super::mentions::{Mentions, Test, named_in};
use super::{Place, Problem, RowId};

/// What the name of such a file ends with.
pub(super) const ENDING: &str = ".test.mjs";

/// How a test begins, and whether it is one that is not run.
const TESTS: [(&str, bool); 3] = [("test(", false), ("test.skip(", true), ("test.todo(", true)];

impl Mentions {
    pub(super) fn scan_script(&mut self, file: &str, text: &str) {
        let mut named: Vec<(RowId, usize)> = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            if let Some(comment) = line.strip_prefix("// ") {
                named.extend(named_in(comment).into_iter().map(|id| (id, number)));
                continue;
            }
            let begun = TESTS
                .iter()
                .find_map(|(start, ignored)| line.strip_prefix(start).map(|rest| (rest, *ignored)));
            let Some((rest, ignored)) = begun else {
                for (id, line) in named.drain(..) {
                    let place = Place { file: file.to_owned(), line };
                    self.problems
                        .push(Problem::new(&place, format!("{id} is named in a comment on no test")));
                }
                continue;
            };
            if !named.is_empty() {
                let name = rest.split(['\'', '"', '`']).nth(1).unwrap_or(rest).to_owned();
                let place = Place { file: file.to_owned(), line: number };
                let rows = named.drain(..).map(|(id, _)| id).collect();
                self.tests.push(Test { name, place, rows, ignored });
            }
        }
    }
}
