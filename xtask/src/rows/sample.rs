//! A few rows at random, for somebody who wants to read whether the tests prove what the rows say.

use std::fmt::Write as _;

use super::check::{Proved, Report};

/// `count` different rows with their tests; the same seed chooses the same rows of the same tables.
pub(super) fn shown(report: &Report, count: usize, seed: u64) -> String {
    let mut left: Vec<&Proved> = report.rows.values().collect();
    let mut random = SplitMix(seed);
    let mut text = String::new();
    for _ in 0..count.min(left.len()) {
        let proved = left.swap_remove(random.below(left.len()));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} ({}): {}", proved.row.id, proved.row.place, proved.row.cells.join(" | "));
        for test in &proved.tests {
            let _ = writeln!(text, "    {} {}", test.place, test.name);
        }
        if proved.tests.is_empty() {
            text.push_str("    no test\n");
        }
    }
    text
}

/// The SplitMix64 generator: enough for a draw that can be repeated.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 if there is none.
    fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % end).unwrap_or(0)
    }
}
