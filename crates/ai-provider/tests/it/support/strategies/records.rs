//! Usage, warnings, errors and events.

use std::time::Duration;

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
    (input, output, of(not_null())).prop_map(|(input, output, raw)| Usage { input, output, raw })
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
    let end = prop_oneof![
        Just(AttemptEnd::Answered),
        record().prop_map(|error| AttemptEnd::Failed { error }),
        Just(AttemptEnd::Cancelled),
    ];
    let source = proptest::sample::select(vec![DelaySource::None, DelaySource::Backoff, DelaySource::Hint]);
    let notice = (any::<u32>(), target(), key(), record(), any::<Duration>(), source, of(any::<Duration>()))
        .prop_map(|(attempt, target, key, cause, delay, delay_source, remaining)| RetryNotice {
            attempt,
            target,
            key,
            cause,
            delay,
            delay_source,
            remaining,
        });
    prop_oneof![
        (any::<u32>(), target(), key(), text()).prop_map(|(attempt, target, key, request_id)| {
            AttemptEvent::Started { attempt, target, key, request_id: request_id.into() }
        }),
        notice.prop_map(|notice| AttemptEvent::Retrying(Box::new(notice))),
        (any::<u32>(), target(), end).prop_map(|(attempts, target, end)| AttemptEvent::Settled {
            attempts,
            target,
            end
        }),
    ]
    .prop_map(Event::Attempt)
}
