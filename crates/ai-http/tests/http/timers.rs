//! Time, on a paused clock.

use std::time::Duration;

use ai_http::Timeouts;
use ai_provider::{CallContext, ErrorClass, LanguageModel, StreamPart};
use ai_testkit::{Cut, MemoryEnd, MemoryReply, MemoryTransport};
use futures_util::{FutureExt, StreamExt};
use tokio::time::{Instant, advance, sleep};

use crate::api::{brief, call, call_with, frames, model, request};

const SECOND: Duration = Duration::from_secs(1);

fn timeouts() -> Timeouts {
    let mut timeouts = Timeouts::default();
    timeouts.first_byte = Some(20 * SECOND);
    timeouts.idle = Some(10 * SECOND);
    timeouts
}

fn answer() -> MemoryReply {
    MemoryReply::sse(frames(&["{\"text\":\"a\"}", "{\"text\":\"b\"}", "{\"finish\":\"stop\"}"]))
        .cut(Cut::Event)
}

fn silent() -> MemoryReply {
    MemoryReply::sse(frames(&["{\"text\":\"a\"}"])).ending(MemoryEnd::Hang)
}

fn one(reply: MemoryReply) -> MemoryTransport {
    MemoryTransport::new().reply(reply)
}

/// [HT-30]
#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_times_out() {
    let start = Instant::now();
    let transport = one(answer().head_delay(21 * SECOND));
    let outcome = call(&model(transport.clone()).with_timeouts(timeouts())).await;
    assert_eq!(brief(&outcome), ("", None, Some(ErrorClass::Timeout)));
    assert!(outcome.2.unwrap().retryable());
    assert_eq!(start.elapsed(), 20 * SECOND);
    assert_eq!(transport.dropped(), 1, "the call is given up");

    let outcome = call(&model(one(answer().head_delay(19 * SECOND))).with_timeouts(timeouts())).await;
    assert_eq!(brief(&outcome), ("ab", Some("stop"), None));
}

/// [HT-31]
#[tokio::test(start_paused = true)]
async fn a_server_that_falls_silent_times_out() {
    let start = Instant::now();
    let transport = one(silent());
    let outcome = call(&model(transport.clone()).with_timeouts(timeouts())).await;
    assert_eq!(brief(&outcome), ("a", None, Some(ErrorClass::Timeout)));
    assert!(outcome.2.unwrap().retryable());
    assert_eq!((start.elapsed(), transport.dropped()), (10 * SECOND, 1));
}

/// [HT-31]
#[tokio::test(start_paused = true)]
async fn the_consumers_own_time_does_not_count() {
    let slow_server = answer().body_delay(9 * SECOND).chunk_delay(9 * SECOND);
    let mut stream = model(one(slow_server)).with_timeouts(timeouts()).stream(request(), CallContext::new());
    let mut text = String::new();
    while let Some(item) = stream.next().await {
        if let StreamPart::TextDelta { delta, .. } = item.unwrap() {
            text.push_str(&delta);
        }
        sleep(3600 * SECOND).await;
    }
    assert_eq!(text, "ab");
}

/// [HT-31]
#[tokio::test(start_paused = true)]
async fn time_between_polls_does_not_count() {
    let mut stream = model(one(silent())).with_timeouts(timeouts()).stream(request(), CallContext::new());
    for _ in 0..3 {
        stream.next().await.unwrap().unwrap();
    }
    for _ in 0..5 {
        assert!(stream.next().now_or_never().is_none());
        advance(600 * SECOND).await;
    }
    assert!(stream.next().now_or_never().is_none(), "nobody was waiting");
    let start = Instant::now();
    assert_eq!(stream.next().await.unwrap().unwrap_err().class(), ErrorClass::Timeout);
    assert!(start.elapsed() <= 10 * SECOND);
}

/// [HT-34]
#[tokio::test(start_paused = true)]
async fn a_long_answer_has_no_time_limit() {
    let words = vec!["{\"text\":\"a\"}"; 2_000];
    let body = frames(&words) + &frames(&["{\"finish\":\"stop\"}"]);
    let start = Instant::now();
    let reply = MemoryReply::sse(body).cut(Cut::Event).chunk_delay(9 * SECOND);
    let outcome = call(&model(one(reply)).with_timeouts(timeouts())).await;
    assert_eq!((outcome.0.len(), outcome.1.as_deref()), (2_000, Some("stop")));
    assert!(start.elapsed() > 4 * 3600 * SECOND);
}

/// [HT-34]
#[tokio::test(start_paused = true)]
async fn keep_alives_keep_a_call_alive() {
    let body = ": ping\n\n".repeat(1000) + &frames(&["{\"text\":\"a\",\"finish\":\"stop\"}"]);
    let reply = MemoryReply::sse(body).cut(Cut::Event).chunk_delay(9 * SECOND);
    assert_eq!(brief(&call(&model(one(reply)).with_timeouts(timeouts())).await), ("a", Some("stop"), None));
}

/// [HT-34]
#[tokio::test(start_paused = true)]
async fn without_timeouts_a_call_waits() {
    let mut none = Timeouts::default();
    (none.first_byte, none.idle) = (None, None);
    let slow = answer().head_delay(100_000 * SECOND).body_delay(100_000 * SECOND);
    assert_eq!(brief(&call(&model(one(slow)).with_timeouts(none)).await), ("ab", Some("stop"), None));
}

/// A call that hangs at each of its stages, and what has come by then.
fn hanging() -> [(MemoryTransport, &'static str); 4] {
    let error = MemoryReply::new(http::StatusCode::BAD_GATEWAY, "oops").body_delay(3600 * SECOND);
    [
        (one(answer().head_delay(3600 * SECOND)), ""),
        (one(answer().body_delay(3600 * SECOND)), ""),
        (one(answer().chunk_delay(3600 * SECOND)), "a"),
        (one(error), ""),
    ]
}

/// [HT-32]
#[tokio::test(start_paused = true)]
async fn the_deadline_ends_a_call_at_any_stage() {
    for (transport, text) in hanging() {
        let start = Instant::now();
        let ctx = CallContext::new().with_deadline((start + 3 * SECOND).into_std());
        let outcome = call_with(&model(transport.clone()), request(), ctx).await;
        assert_eq!(brief(&outcome), (text, None, Some(ErrorClass::Timeout)));
        assert!(!outcome.2.unwrap().retryable(), "there is no time left for another try");
        assert_eq!((start.elapsed(), transport.dropped()), (3 * SECOND, 1));
    }
}

/// [HT-32]
#[tokio::test(start_paused = true)]
async fn a_deadline_that_has_passed_sends_nothing() {
    let deadline = Instant::now().into_std();
    let transport = one(answer());
    let ctx = CallContext::new().with_deadline(deadline);
    let outcome = call_with(&model(transport.clone()), request(), ctx).await;
    assert_eq!(brief(&outcome), ("", None, Some(ErrorClass::Timeout)));
    assert_eq!(transport.calls().len(), 0);
}

/// [HT-32]
#[tokio::test(start_paused = true)]
async fn nothing_is_decoded_behind_the_deadline() {
    let ctx = CallContext::new().with_deadline((Instant::now() + SECOND).into_std());
    let mut stream = model(one(answer().cut(Cut::Whole))).stream(request(), ctx);
    for _ in 0..3 {
        stream.next().await.unwrap().unwrap();
    }
    advance(SECOND).await;
    assert_eq!(stream.next().await.unwrap().unwrap_err().class(), ErrorClass::Timeout);
}

/// [HT-33]
#[tokio::test(start_paused = true)]
async fn a_cancel_ends_a_call_at_any_stage() {
    for (transport, text) in hanging() {
        let start = Instant::now();
        let ctx = CallContext::new();
        let cancel = ctx.cancel.clone();
        let model = model(transport.clone());
        let cancelled = async {
            sleep(SECOND).await;
            cancel.cancel();
        };
        let (outcome, ()) = tokio::join!(call_with(&model, request(), ctx), cancelled);
        assert_eq!(brief(&outcome), (text, None, Some(ErrorClass::Cancelled)));
        assert_eq!((start.elapsed(), transport.dropped()), (SECOND, 1));
    }
}

/// [HT-33]
#[tokio::test]
async fn a_cancel_between_items_ends_the_call() {
    // Start, block start, "a", "b", block end: cancelled before each of them, and before the finish.
    for taken in 0..=5 {
        let ctx = CallContext::new();
        let transport = one(answer().cut(Cut::Whole));
        let mut stream = model(transport.clone()).stream(request(), ctx.clone());
        for _ in 0..taken {
            stream.next().await.unwrap().unwrap();
        }
        ctx.cancel.cancel();
        assert!(stream.next().await.unwrap().unwrap_err().is_cancelled(), "after {taken} items");
        assert!(stream.next().await.is_none());
        assert_eq!(transport.calls().len(), usize::from(taken > 1), "after {taken} items");
    }
}

/// [HT-35]
#[tokio::test]
async fn a_dropped_stream_drops_the_call() {
    for taken in 0..5 {
        let transport = one(answer().cut(Cut::Whole).ending(MemoryEnd::Hang));
        let mut stream = model(transport.clone()).stream(request(), CallContext::new());
        for _ in 0..taken {
            stream.next().await.unwrap().unwrap();
        }
        drop(stream);
        let sent = usize::from(taken > 1);
        assert_eq!((transport.calls().len(), transport.dropped()), (sent, sent), "after {taken} items");
    }
}
