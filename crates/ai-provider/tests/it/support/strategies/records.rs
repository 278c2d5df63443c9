//! Usage, warnings, errors and events.

use std::time::{Duration, UNIX_EPOCH};

use ai_provider::*;
use proptest::option::of;
use proptest::prelude::*;

use super::*;

pub(crate) fn warning() -> impl Strategy<Value = Warning> {
    prop_oneof![
        (text(), of(text())).prop_map(|(feature, details)| Warning::Unsupported { feature, details }),
        (text(), of(text())).prop_map(|(feature, details)| Warning::Compatibility { feature, details }),
        (text(), text()).prop_map(|(setting, message)| Warning::Deprecated { setting, message }),
        text().prop_map(|message| Warning::Other { message }),
    ]
}

/// A count: often unknown, often zero.
fn count() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![Just(None), Just(Some(0)), Just(Some(u64::MAX)), (0..1_000_000_u64).prop_map(Some)]
}

pub(crate) fn usage() -> impl Strategy<Value = Usage> {
    let input =
        (count(), count(), count(), count()).prop_map(|(total, no_cache, cache_read, cache_write)| {
            InputTokens { total, no_cache, cache_read, cache_write }
        });
    let output = (count(), count(), count()).prop_map(|(total, text, reasoning)| OutputTokens {
        total,
        text,
        reasoning,
    });
    (input, output, of(not_null().prop_map(Into::into))).prop_map(|(input, output, raw)| Usage {
        input,
        output,
        raw,
    })
}

pub(crate) fn finish_reason() -> impl Strategy<Value = FinishReason> {
    use UnifiedFinish::*;
    let unified = proptest::sample::select(vec![Stop, Length, ContentFilter, ToolCalls, Error, Other]);
    (unified, of(text())).prop_map(|(unified, raw)| FinishReason { unified, raw })
}

pub(crate) fn response() -> impl Strategy<Value = ResponseMetadata> {
    (of(text()), of(any::<u64>()), of(text()), of(text())).prop_map(|(id, timestamp, asked_model, model)| {
        ResponseMetadata { id, timestamp, asked_model, model }
    })
}

pub(crate) const CLASSES: [ErrorClass; 19] = {
    use ErrorClass::*;
    [
        RateLimit,
        Quota,
        Overloaded,
        Auth,
        NotFound,
        InvalidRequest,
        ContextTooLong,
        ContentRefused,
        StaleReplay,
        Server,
        Transport,
        Timeout,
        Protocol,
        Incomplete,
        MissingFinish,
        Empty,
        TooLarge,
        Unsupported,
        Cancelled,
    ]
};

pub(crate) fn class() -> impl Strategy<Value = ErrorClass> {
    proptest::sample::select(CLASSES.to_vec())
}

pub(crate) fn record() -> impl Strategy<Value = ErrorRecord> {
    (class(), text(), of(any::<u16>()), of(text()), of(text()), any::<bool>(), of(text())).prop_map(
        |(class, message, status, code, request_id, retryable, url)| ErrorRecord {
            class,
            message,
            status,
            code,
            request_id,
            retryable,
            url,
        },
    )
}

pub(crate) fn event() -> impl Strategy<Value = Event> {
    let key = || of(text().prop_map(KeyLabel::from));
    let finish = proptest::sample::select(vec![UnifiedFinish::Stop, UnifiedFinish::ToolCalls]);
    let end = prop_oneof![
        finish.prop_map(|finish| AttemptEnd::Answered { finish }),
        record().prop_map(|error| AttemptEnd::Failed { error }).boxed(),
        Just(AttemptEnd::Cancelled),
    ];
    let source = proptest::sample::select(vec![DelaySource::Backoff, DelaySource::Hint]);
    let kind = prop_oneof![
        Just(AttemptKind::Started),
        (record().boxed(), any::<bool>(), of(any::<Duration>()), of(usage().prop_map(Box::new).boxed()))
            .prop_map(|(error, safe, hint, usage)| AttemptKind::Failed { error, safe, hint, usage }),
        key().prop_map(|from| AttemptKind::Rotated { from }),
        target().prop_map(|from| AttemptKind::FellBack { from }),
        (text(), text()).prop_map(|(name, why)| AttemptKind::Skipped { name, why }),
        (any::<Duration>(), source, 0..u64::from(u32::MAX), of(any::<Duration>())).prop_map(
            |(delay, source, until, remaining)| AttemptKind::Waiting {
                delay,
                source,
                until: UNIX_EPOCH + Duration::from_secs(until),
                remaining,
            }
        ),
        end.prop_map(|end| AttemptKind::Settled { end }),
    ]
    .boxed();
    (of(any::<u32>()), any::<u32>(), target(), key(), text(), kind).prop_map(
        |(step, attempt, target, key, request_id, kind)| {
            Event::Attempt(
                AttemptEvent::new(attempt, target, request_id.as_str().into(), kind)
                    .in_step(step)
                    .with_key(key),
            )
        },
    )
}
