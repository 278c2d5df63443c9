use ai_core::stream_text;
use ai_provider::{CallContext, CancellationToken, ErrorClass, ModelError, StreamPart, UnifiedFinish};
use ai_testkit::{Script, ScriptedModel};
use futures_util::{FutureExt, StreamExt};
use proptest::prelude::*;

use super::recorder::{Log, ask, hooks, plugins, recorder, registry};

fn reply() -> Script {
    Script::new().text("a b c").usage(4, 2).finish(UnifiedFinish::Stop)
}

/// [AC-141]
#[tokio::test]
async fn a_stream_is_answered_when_it_ends_and_not_when_it_is_opened() {
    let (log, model) = (Log::default(), ScriptedModel::new().reply(reply()));
    let list = plugins([recorder("x", &log)]);
    let mut stream = stream_text(&registry(&model, &log), "one:m", ask()).with_plugins(&list).await.unwrap();
    let opened = [
        "configure_context",
        "on_request_start",
        "resolve_model",
        "transform_params",
        "transform_step",
        "transform_stream",
    ];
    assert_eq!(hooks(&log, "x"), opened);
    while let Some(part) = stream.next().await {
        let ended = log.count("x on_request_end") == 1 && log.of("x on_stream_end ").len() == 1;
        assert_eq!(matches!(part.unwrap(), StreamPart::Finish(_)), ended, "before the finish is handed out");
    }
    assert_eq!(log.of("x result "), ["Some(2)"]);
    assert_eq!(log.of("x on_stream_end "), ["finished Some(2)"]);
    assert_eq!(hooks(&log, "x")[opened.len()..], ["on_request_end", "on_stream_end"]);
    assert!(stream.next().await.is_none());
    drop(stream);
    assert_eq!(log.of("x on_stream_end ").len(), 1);
}

/// [AC-142]
#[tokio::test]
async fn a_stream_that_fails_or_is_cancelled_is_an_error_for_all() {
    let broken = ModelError::new(ErrorClass::Server, "gone");
    for (script, says) in [
        (Script::new().text("a b").error(broken), "server: gone"),
        (Script::new().text("a b"), "incomplete: the stream ended without a finish"),
        (Script::new().text("a b").hang(), "cancelled: the call was cancelled"),
    ] {
        let (log, model) = (Log::default(), ScriptedModel::new().reply(script));
        let (cancel, list) = (CancellationToken::new(), plugins([recorder("x", &log), recorder("y", &log)]));
        let registry = registry(&model, &log);
        let call = stream_text(&registry, "one:m", ask()).with_plugins(&list);
        let mut stream = call.with_context(CallContext::new().with_cancel(cancel.clone())).await.unwrap();
        let mut items = Vec::new();
        loop {
            match stream.next().now_or_never() {
                Some(Some(item)) => items.push(item),
                Some(None) => break,
                None => cancel.cancel(),
            }
        }
        assert_eq!(items.pop().unwrap().unwrap_err().to_string(), says);
        assert!(items.len() >= 4 && items.iter().all(Result::is_ok));
        for name in ["x", "y"] {
            assert_eq!(log.of(&format!("{name} error ")), [says]);
            assert_eq!(log.count(&format!("{name} on_request_end")), 0);
            assert_eq!(log.of(&format!("{name} on_stream_end ")), ["failed"]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// [AC-143]
    #[test]
    fn the_end_of_a_stream_is_said_once_wherever_it_is_dropped(polls in 0_usize..12, fails in any::<bool>(), cancels in 0_usize..24) {
        let script = match fails {
            false => reply(),
            true => Script::new().text("a b c").error(ModelError::new(ErrorClass::Server, "gone")),
        };
        // Start of the answer and of its text, three deltas, end of the text, finish or error.
        let whole = 7;
        let (log, model) = (Log::default(), ScriptedModel::new().reply(script));
        let (cancel, list) = (CancellationToken::new(), plugins([recorder("x", &log)]));
        let registry = registry(&model, &log);
        let call = stream_text(&registry, "one:m", ask()).with_plugins(&list);
        let mut stream = call.with_context(CallContext::new().with_cancel(cancel.clone())).into_future()
            .now_or_never().expect("nothing waits").unwrap();
        let mut given = Vec::new();
        for poll in 0..polls {
            if poll == cancels {
                cancel.cancel();
            }
            match stream.next().now_or_never().expect("nothing waits") {
                Some(item) => given.push(item),
                None => break,
            }
        }
        drop(stream);
        let ended = log.of("x on_stream_end ");
        let expected = match given.last() {
            Some(Ok(StreamPart::Finish(_))) => "finished Some(2)",
            Some(Err(_)) => "failed",
            _ => "dropped",
        };
        prop_assert!(given.len() <= whole);
        prop_assert_eq!(ended, [expected]);
        let told = (log.count("x on_request_end"), log.count("x on_error"));
        prop_assert_eq!(told, (usize::from(expected.starts_with("fin")), usize::from(expected == "failed")));
    }
}

/// [AC-143]
#[tokio::test]
async fn a_request_that_is_dropped_before_it_has_begun_has_no_end() {
    let (log, model) = (Log::default(), ScriptedModel::new().reply(reply()));
    let registry = registry(&model, &log);
    let list = plugins([recorder("x", &log)]);
    drop(stream_text(&registry, "one:m", ask()).with_plugins(&list));
    assert!(log.all().is_empty());
    drop(stream_text(&registry, "one:m", ask()).with_plugins(&list).into_future());
    assert!(log.all().is_empty());
}
