#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::time::{Duration, SystemTime};

use ai_provider::{AttemptEnd, DelaySource, ErrorClass, ModelError, TargetId, UnifiedFinish};

use super::*;

fn event(attempt: u32, kind: AttemptKind) -> AttemptEvent {
    AttemptEvent::new(attempt, TargetId::new("p", "m", "e"), "r".into(), kind).in_step(1)
}

fn settled() -> AttemptKind {
    AttemptKind::Settled { end: AttemptEnd::Answered { finish: UnifiedFinish::Stop } }
}

/// [CH-61]
#[test]
fn what_went_well_at_once_is_not_told_and_the_rest_before_each_wait_and_at_the_end() {
    let mut attempts = Attempts::default();
    assert_eq!(attempts.hear(&event(1, AttemptKind::Started)), None);
    assert_eq!(attempts.hear(&event(1, settled())), None);

    let error = ModelError::new(ErrorClass::RateLimit, "slow down").with_status(429).record();
    let failed = AttemptKind::Failed { error, safe: true, hint: None, usage: None };
    let waiting = AttemptKind::Waiting {
        delay: Duration::from_secs(2),
        source: DelaySource::Backoff,
        until: SystemTime::UNIX_EPOCH,
        remaining: None,
    };
    assert_eq!(attempts.hear(&event(1, AttemptKind::Started)), None);
    assert_eq!(attempts.hear(&event(1, failed)), None);
    let told = attempts.hear(&event(2, waiting)).unwrap();
    assert_eq!(told, "step 1 attempt 1 started · 429, safe · waiting 2 s");
    assert_eq!(attempts.hear(&event(2, AttemptKind::Started)), None);
    assert_eq!(attempts.hear(&event(2, settled())).unwrap(), "attempt 2 started · finished stop");
    assert_eq!(attempts.hear(&event(1, AttemptKind::Started)), None);
}
