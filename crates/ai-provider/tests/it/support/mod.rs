//! What the tests share: strategies for every type, and property runs that count what they met.

pub(crate) mod answer;
pub(crate) mod strategies;

use std::collections::BTreeMap;

use ai_provider::{Finish, FinishReason, StreamPart, UnifiedFinish, Usage};
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

/// How often a property run met what it is about.
#[derive(Debug, Default)]
pub(crate) struct Met {
    cases: usize,
    counts: BTreeMap<String, usize>,
}

impl Met {
    /// Notes that this case is one of those.
    pub(crate) fn note(&mut self, what: impl Into<String>) {
        *self.counts.entry(what.into()).or_default() += 1;
    }

    /// Fails if fewer than `percent` of all cases were of this kind, or of each of these kinds.
    pub(crate) fn at_least<'a>(&self, percent: usize, what: impl IntoIterator<Item = &'a str>) {
        for what in what {
            self.one_at_least(percent, what);
        }
    }

    fn one_at_least(&self, percent: usize, what: &str) {
        let met = self.counts.get(what).copied().unwrap_or_default();
        assert!(met * 100 >= self.cases * percent, "`{what}` in {met} of {} cases: {self:?}", self.cases);
    }
}

/// Runs a property over `cases` values. A failing value is shrunk and printed.
pub(crate) fn check<S: Strategy>(
    cases: u32,
    strategy: S,
    property: impl Fn(S::Value, &mut Met) -> Result<(), TestCaseError>,
) -> Met {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let met = std::cell::RefCell::new(Met::default());
    let result = TestRunner::new(config).run(&strategy, |value| {
        let mut met = met.borrow_mut();
        met.cases += 1;
        property(value, &mut met)
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    met.into_inner()
}

/// A finish with nothing but a reason.
pub(crate) fn finish(unified: UnifiedFinish) -> StreamPart {
    StreamPart::Finish(Box::new(Finish {
        reason: FinishReason::from(unified),
        usage: Usage::default(),
        metadata: None,
    }))
}
