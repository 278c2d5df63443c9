use std::collections::BTreeMap;
use std::fmt;

/// Of each check and sample, so many failures are told in full: the first says the most.
const TOLD: usize = 3;

/// What the suite found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The checks that ran.
    pub checks: Vec<&'static str>,
    /// How many calls were made.
    pub calls: usize,
    /// What does not hold.
    pub failures: Vec<Failure>,
    /// How many more failures there were of a check and a sample, beyond those told.
    pub more: BTreeMap<(String, String), usize>,
}

/// Something that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// The check.
    pub check: String,
    /// The sample; empty where the check needs none.
    pub sample: String,
    /// What was done, what was expected and what came.
    pub message: String,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, calls) = (self.failures.len(), self.calls);
        writeln!(f, "{count} failures of conformance in {} checks and {calls} calls", self.checks.len())?;
        for failure in &self.failures {
            let Failure { check, sample, message } = failure;
            let of = if sample.is_empty() { String::new() } else { format!(" of sample {sample:?}") };
            writeln!(f, "\n`{check}`{of}: {message}")?;
            if let Some(more) = self.more.get(&(check.clone(), sample.clone()))
                && self.failures.iter().rfind(|it| it.check == *check && it.sample == *sample)
                    == Some(failure)
            {
                writeln!(f, "  … and {more} more like it")?;
            }
            writeln!(f, "  alone: Conformance::… .only({check:?}, {sample:?}).check()")?;
        }
        Ok(())
    }
}

/// Collects failures.
#[derive(Debug)]
pub(super) struct Findings {
    report: Report,
    check: String,
    sample: String,
}

impl Findings {
    /// Begins, with a failure for each of these names that is none of a check.
    pub(super) fn new(checks: &[String]) -> Self {
        let mut found = Self { report: Report::default(), check: String::new(), sample: String::new() };
        found.begin("outcome", "");
        for unknown in checks.iter().filter(|check| !CHECKS.contains(&check.as_str())) {
            found.fail(format!("no check is called {unknown:?}; there are {}", CHECKS.join(", ")));
        }
        found
    }

    pub(super) fn ran(&mut self, check: &'static str) {
        self.report.checks.push(check);
        self.begin(check, "");
    }

    /// What follows belongs to this check and sample.
    pub(super) fn begin(&mut self, check: &str, sample: &str) {
        check.clone_into(&mut self.check);
        sample.clone_into(&mut self.sample);
    }

    /// What follows belongs to this sample.
    pub(super) fn on(&mut self, sample: &str) {
        sample.clone_into(&mut self.sample);
    }

    pub(super) fn called(&mut self) {
        self.report.calls += 1;
    }

    pub(super) fn fail(&mut self, message: String) {
        let (check, sample) = (self.check.clone(), self.sample.clone());
        let told = self.report.failures.iter().filter(|it| it.check == check && it.sample == sample);
        if told.count() < TOLD {
            self.report.failures.push(Failure { check, sample, message });
        } else {
            *self.report.more.entry((check, sample)).or_default() += 1;
        }
    }

    /// Fails unless it holds; returns whether it does.
    pub(super) fn expect(&mut self, holds: bool, message: impl FnOnce() -> String) -> bool {
        if !holds {
            self.fail(message());
        }
        holds
    }

    pub(super) fn report(self) -> Report {
        self.report
    }
}

const CHECKS: &[&str] = &[
    "outcome",
    "cuts",
    "truncation",
    "prompt",
    "drop",
    "cancel",
    "limits",
    "errors",
    "nonsense",
    "secrets",
    "requests",
    "prefix",
    "replay",
    "names",
];
