use std::fmt;

/// What the suite for stores found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct StoreReport {
    /// The checks that ran.
    pub checks: Vec<&'static str>,
    /// What does not hold: at most one thing of each check, since what follows a fault says little.
    pub failures: Vec<StoreFailure>,
}

/// Something that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreFailure {
    /// The check.
    pub check: String,
    /// What was done, what was expected and what came.
    pub message: String,
}

impl StoreReport {
    pub(super) fn fail(&mut self, check: &str, message: String) {
        self.failures.push(StoreFailure { check: check.to_owned(), message });
    }
}

impl fmt::Display for StoreReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} of {} checks do not hold", self.failures.len(), self.checks.len())?;
        for StoreFailure { check, message } in &self.failures {
            writeln!(f, "\n`{check}`: {message}")?;
            writeln!(f, "  alone: StoreConformance::… .only([{check:?}]).check()")?;
        }
        Ok(())
    }
}
