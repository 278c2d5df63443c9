//! Counts, as Prometheus reads them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

use agent_loop::{LedgerEnd, LedgerEntry, LedgerRow};

/// What was counted since the program began.
#[derive(Debug, Default)]
pub(super) struct Metrics(Mutex<BTreeMap<(&'static str, String), f64>>);

/// What is counted: its name, and what it means.
const COUNTERS: [(&str, &str); 8] = [
    ("chat_attempts_total", "Calls of models, by how they ended."),
    ("chat_cost_total", "What calls cost, in the currency of the prices."),
    ("chat_fallbacks_total", "Calls that went to another model than the one before."),
    ("chat_key_rotations_total", "Calls that went out with another key than the one before."),
    ("chat_responses_total", "Responses, by status."),
    ("chat_retries_total", "Calls that were made again."),
    ("chat_runs_total", "Runs of agents, by how they ended."),
    ("chat_tokens_total", "Tokens, by what they were."),
];

impl Metrics {
    fn add(&self, name: &'static str, labels: &[(&str, &str)], amount: f64) {
        let mut text = String::new();
        for (label, value) in labels {
            let comma = if text.is_empty() { "" } else { "," };
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            // A string takes all that is written.
            let _ = write!(text, "{comma}{label}=\"{value}\"");
        }
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry((name, text)).or_default() += amount;
    }

    /// A run of an agent is over.
    pub(super) fn run(&self, entry: &LedgerEntry) {
        self.add("chat_runs_total", &[("outcome", &entry.outcome)], 1.0);
        let mut rows: Vec<_> = entry.answered.iter().chain(&entry.abandoned).collect();
        rows.sort_by_key(|row| (row.step, row.attempt));
        let mut before: Option<&LedgerRow> = None;
        for row in rows {
            self.call(row, before.filter(|before| before.step == row.step));
            before = Some(row);
        }
    }

    fn call(&self, row: &LedgerRow, before: Option<&LedgerRow>) {
        let target = [("provider", row.target.provider.as_str()), ("model", row.target.model.as_str())];
        let with = |label, value| [target[0], target[1], (label, value)];
        let end = match row.end {
            LedgerEnd::Answered => "answered",
            LedgerEnd::Failed { .. } => "failed",
            _ => "cut",
        };
        self.add("chat_attempts_total", &with("end", end), 1.0);
        if let Some(before) = before {
            self.add("chat_retries_total", &target, 1.0);
            if before.target != row.target {
                self.add("chat_fallbacks_total", &target, 1.0);
            } else if before.key != row.key {
                self.add("chat_key_rotations_total", &target, 1.0);
            }
        }
        if let Some(cost) = row.cost {
            self.add("chat_cost_total", &target, cost);
        }
        let Some(usage) = &row.usage else { return };
        let tokens = [
            ("input", usage.input.total),
            ("cache_read", usage.input.cache_read),
            ("cache_write", usage.input.cache_write),
            ("output", usage.output.total),
            ("reasoning", usage.output.reasoning),
        ];
        for (kind, count) in tokens {
            if let Some(count) = count {
                self.add("chat_tokens_total", &with("kind", kind), count as f64);
            }
        }
    }

    /// A response went out.
    pub(super) fn response(&self, status: u16) {
        self.add("chat_responses_total", &[("status", &status.to_string())], 1.0);
    }

    /// All counts, and these values of the moment: name, meaning, value.
    pub(super) fn text(&self, gauges: &[(&str, &str, usize)]) -> String {
        let mut text = String::new();
        let counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, meaning) in COUNTERS {
            let _ = writeln!(text, "# HELP {name} {meaning}\n# TYPE {name} counter");
            for ((_, labels), value) in
                counted.range((name, String::new())..).take_while(|((of, _), _)| *of == name)
            {
                let _ = writeln!(text, "{name}{{{labels}}} {value}");
            }
        }
        for (name, meaning, value) in gauges {
            let _ = writeln!(text, "# HELP {name} {meaning}\n# TYPE {name} gauge\n{name} {value}");
        }
        text
    }
}
