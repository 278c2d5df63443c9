use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ai_provider::*;

/// [PV-70]
#[test]
fn a_bare_call_has_nothing_but_a_fresh_request_id() {
    let (a, b) = (CallContext::new(), CallContext::default());
    assert_ne!(a.request_id, b.request_id);
    assert_eq!(a.request_id.as_str().len(), 36, "a UUID");
    assert!(a.request_id.as_str().bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-'));
    assert!(!a.cancel.is_cancelled() && a.deadline.is_none() && a.key_index == 0);
}

/// [PV-70]
#[test]
fn clones_are_the_same_call() {
    let ctx = CallContext::new();
    let key = ScopeKey::new();
    let clone = ctx.clone();
    assert_eq!(ctx.request_id, clone.request_id);
    ctx.scope.get_or_insert(&key, || 7_u32);
    assert_eq!(*clone.scope.get_or_insert(&key, || 0_u32), 7);
    clone.cancel.cancel();
    assert!(ctx.cancel.is_cancelled());
}

/// [PV-71]
#[test]
fn each_setter_sets_what_it_says() {
    let (cancel, scope, key) = (CancellationToken::new(), RunScope::new(), ScopeKey::new());
    let deadline = Instant::now() + Duration::from_secs(1);
    scope.get_or_insert(&key, || "shared");
    let ctx = CallContext::new()
        .with_cancel(cancel.clone())
        .with_deadline(deadline)
        .with_key_index(3)
        .with_request_id("req_1")
        .with_scope(scope);
    cancel.cancel();
    assert!(ctx.cancel.is_cancelled());
    assert_eq!((ctx.deadline, ctx.key_index), (Some(deadline), 3));
    assert_eq!(ctx.request_id.to_string(), "req_1");
    assert_eq!(*ctx.scope.get_or_insert(&key, || "own"), "shared");
    assert_eq!(ctx.with_deadline(None).deadline, None);
}

/// [PV-72]
#[test]
fn a_scope_makes_a_value_once_and_its_clones_share_it() {
    let (scope, key) = (RunScope::new(), ScopeKey::new());
    let made = AtomicUsize::new(0);
    let make = || made.fetch_add(1, Ordering::Relaxed);
    let first = scope.get_or_insert(&key, make);
    let again = scope.clone().get_or_insert(&key.clone(), make);
    assert!(Arc::ptr_eq(&first, &again));
    assert_eq!(made.load(Ordering::Relaxed), 1);
    let other_run = RunScope::new().get_or_insert(&key, make);
    assert!(!Arc::ptr_eq(&first, &other_run));
}

/// [PV-73]
#[test]
fn two_keys_of_one_type_do_not_share_and_two_types_of_one_key_do_not_clash() {
    let (scope, a, b) = (RunScope::new(), ScopeKey::new(), ScopeKey::new());
    scope.get_or_insert(&a, || 1_u32);
    scope.get_or_insert(&b, || 2_u32);
    scope.get_or_insert(&a, || "text");
    assert_eq!(*scope.get_or_insert(&a, || 0_u32), 1);
    assert_eq!(*scope.get_or_insert(&b, || 0_u32), 2);
    assert_eq!(*scope.get_or_insert(&a, || ""), "text");
}

/// [PV-73]
#[test]
fn a_new_key_never_finds_the_value_of_a_dropped_one() {
    let scope = RunScope::new();
    for round in 0..1_000 {
        let key = ScopeKey::new();
        assert_eq!(*scope.get_or_insert(&key, || round), round);
    }
}

/// [PV-72]
#[test]
fn threads_that_ask_at_once_get_one_value() {
    for _ in 0..50 {
        let (scope, key, made) = (RunScope::new(), ScopeKey::new(), AtomicUsize::new(0));
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    let value = scope.get_or_insert(&key, || made.fetch_add(1, Ordering::SeqCst) + 10);
                    assert_eq!(*value, 10);
                });
            }
        });
        assert_eq!(made.into_inner(), 1);
    }
}

/// [PV-74]
#[test]
fn a_panic_while_making_a_value_does_not_break_the_scope() {
    let (scope, key) = (RunScope::new(), ScopeKey::new());
    let broken = catch_unwind(AssertUnwindSafe(|| scope.get_or_insert::<u32>(&key, || panic!("in a test"))));
    assert!(broken.is_err());
    assert_eq!(*scope.get_or_insert(&key, || 5_u32), 5);
}

fn event(attempt: u32) -> Event {
    Event::Attempt(AttemptEvent::new(attempt, TargetId::new("p", "m", "e"), "r".into(), AttemptKind::Started))
}

/// [PV-75]
#[test]
fn events_reach_the_sink_in_order_from_every_clone() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let ctx = CallContext::new().with_events(Arc::new(move |event| sink.lock().unwrap().push(event)));
    ctx.emit(event(1));
    ctx.clone().with_key_index(1).emit(event(2));
    ctx.emit(event(3));
    assert_eq!(*seen.lock().unwrap(), [event(1), event(2), event(3)]);
}

/// [PV-75]
#[test]
fn without_a_sink_events_are_dropped() {
    CallContext::new().emit(event(1));
    let seen = Arc::new(AtomicUsize::new(0));
    let sink = Arc::clone(&seen);
    let heard = CallContext::new().with_events(Arc::new(move |_| {
        sink.fetch_add(1, Ordering::Relaxed);
    }));
    CallContext::new().emit(event(1));
    assert_eq!(seen.load(Ordering::Relaxed), 0, "a sink belongs to its own context");
    heard.emit(event(1));
    assert_eq!(seen.load(Ordering::Relaxed), 1);
}
