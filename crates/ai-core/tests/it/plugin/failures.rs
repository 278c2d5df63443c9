use std::error::Error as _;
use std::time::Duration;

use ai_core::{ErrorKind, PluginError, generate_text, stream_text};
use ai_provider::{CallContext, CancellationToken, ErrorClass, ModelError, UnifiedFinish};
use ai_testkit::{Script, ScriptedModel};
use futures_util::{FutureExt, StreamExt};

use super::recorder::{Fault, Log, ask, plugins, recorder, registry};

fn reply() -> Script {
    Script::new().text("ab").usage(4, 2).finish(UnifiedFinish::Stop)
}

const OBSERVERS: [&str; 3] = ["on_request_start", "on_request_end", "on_error"];
const TRANSFORMS: [&str; 5] =
    ["configure_context", "resolve_model", "transform_params", "transform_step", "transform_result"];

/// [AC-139]
#[tokio::test]
async fn observers_change_neither_result_nor_error() {
    for (hook, fault) in OBSERVERS.iter().flat_map(|hook| [(*hook, Fault::Fail), (*hook, Fault::Panic)]) {
        let log = Log::default();
        let broken = ModelError::new(ErrorClass::Server, "gone");
        let model = ScriptedModel::new()
            .reply(reply())
            .reply(Script::new().error(broken.clone()))
            .reply(reply())
            .reply(Script::new().error(broken));
        let registry = registry(&model, &log);
        let list = plugins([recorder("a", &log).with(hook, fault), recorder("b", &log)]);
        let answer = generate_text(&registry, "one:m", ask()).with_plugins(&list).await.unwrap();
        assert_eq!(answer.text(), "ab<a<b", "{hook}");
        let error = generate_text(&registry, "one:m", ask()).with_plugins(&list).await.unwrap_err();
        assert_eq!(error.model_error().unwrap().message(), "gone", "{hook}");
        for ends in [true, false] {
            let stream = stream_text(&registry, "one:m", ask()).with_plugins(&list).await.unwrap();
            let items: Vec<_> = stream.collect().await;
            assert_eq!(items.last().unwrap().is_ok(), ends, "{hook}");
        }
        assert_eq!(
            log.count(&format!("a {hook}")),
            log.count(&format!("b {hook}")),
            "the others hear it too"
        );
        assert!(log.count(&format!("b {hook}")) >= 2);
    }
    let log = Log::default();
    let model = ScriptedModel::new().reply(reply());
    let list = plugins([recorder("a", &log).with("on_stream_end", Fault::Panic), recorder("b", &log)]);
    generate_text(&registry(&model, &log), "one:m", ask()).with_plugins(&list).await.unwrap();
    assert_eq!(log.of("b on_stream_end ").len(), 1);
}

/// [AC-139]
#[tokio::test]
async fn observers_are_asked_at_the_same_time() {
    let log = Log::default();
    let model = ScriptedModel::new().reply(reply());
    let list = plugins([recorder("a", &log).with("on_request_start", Fault::Hang), recorder("b", &log)]);
    let registry = registry(&model, &log);
    let mut call = Box::pin(async { generate_text(&registry, "one:m", ask()).with_plugins(&list).await });
    assert!(call.as_mut().now_or_never().is_none());
    assert_eq!(log.count("b on_request_start"), 1, "although the one before it hangs");
    drop(call);
    assert_eq!(
        (log.of("a on_stream_end "), log.of("b on_stream_end ")),
        (vec!["dropped".to_owned()], vec!["dropped".to_owned()])
    );
}

/// [AC-140]
#[tokio::test]
async fn a_hook_that_takes_part_in_the_result_ends_the_request_when_it_fails() {
    for (hook, fault) in TRANSFORMS.iter().flat_map(|hook| [(*hook, Fault::Fail), (*hook, Fault::Panic)]) {
        let log = Log::default();
        let model = ScriptedModel::new().repeat(reply());
        let list = [recorder("a", &log), recorder("b", &log).with(hook, fault), recorder("c", &log)];
        let call = generate_text(&registry(&model, &log), "one:m", ask()).with_plugins(&plugins(list)).await;
        let error = call.unwrap_err();
        assert_eq!((error.kind(), error.plugin_hook()), (ErrorKind::Plugin, Some(("b", hook))));
        let said = match fault {
            Fault::Panic => format!("it panicked: {hook} is broken"),
            _ => format!("{hook} will not"),
        };
        assert_eq!(error.source().unwrap().to_string(), said);
        assert_eq!(log.count(&format!("c {hook}")), 0, "nobody behind it is asked");
        assert_eq!(model.requests().len(), usize::from(hook == "transform_result"));
        for name in ["a", "b", "c"] {
            assert_eq!(log.count(&format!("{name} on_error")), 1, "{hook}: all hear of it");
            assert_eq!(log.count(&format!("{name} on_request_end")), 0);
            let ended = usize::from(hook != "configure_context");
            assert_eq!(log.of(&format!("{name} on_stream_end ")), vec!["failed"; ended], "{hook}");
        }
    }
}

/// [AC-140]
#[tokio::test]
async fn a_stream_that_a_plugin_cannot_change_fails() {
    let log = Log::default();
    let model = ScriptedModel::new().repeat(reply());
    let list = plugins([recorder("a", &log).with("transform_stream", Fault::Panic), recorder("b", &log)]);
    let stream = stream_text(&registry(&model, &log), "one:m", ask()).with_plugins(&list).await.unwrap();
    let items: Vec<_> = stream.collect().await;
    assert_eq!(items.len(), 1);
    let error = items[0].as_ref().unwrap_err();
    assert!(error.message().contains("the plugin `a` failed in transform_stream"), "{error}");
    assert_eq!((log.count("b on_error"), log.of("b on_stream_end ")), (1, vec!["failed".to_owned()]));
}

/// [AC-140]
#[tokio::test]
async fn an_error_of_a_model_passes_through_a_plugin_with_its_class() {
    struct Passing;
    #[async_trait::async_trait]
    impl ai_core::Plugin for Passing {
        fn name(&self) -> &str {
            "passing"
        }
        async fn transform_step(
            &self,
            _: ai_provider::Request,
            _: u32,
            _: &ai_core::plugin::RequestContext,
        ) -> Result<ai_provider::Request, PluginError> {
            Err(ModelError::new(ErrorClass::Overloaded, "busy").into())
        }
    }
    let (log, model) = (Log::default(), ScriptedModel::new());
    let list = ai_core::Plugins::new().with(Passing);
    let error = generate_text(&registry(&model, &log), "one:m", ask()).with_plugins(&list).await.unwrap_err();
    assert_eq!(error.model_error().unwrap().class(), ErrorClass::Overloaded);
    let error = ModelError::from(error);
    assert!(error.retryable() && error.class() == ErrorClass::Overloaded, "{error:?}");
    assert!(error.message().contains("`passing`"), "{error}");
}

/// [AC-144]
#[tokio::test(start_paused = true)]
async fn a_cancel_or_the_deadline_ends_a_hook_that_hangs() {
    for hook in
        ["configure_context", "on_request_start", "resolve_model", "transform_params", "transform_step"]
    {
        let log = Log::default();
        let model = ScriptedModel::new().repeat(reply());
        let (registry, cancel) = (registry(&model, &log), CancellationToken::new());
        let list = plugins([recorder("a", &log).with(hook, Fault::Hang)]);
        let call = || generate_text(&registry, "one:m", ask()).with_plugins(&list);
        let stopping = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            cancel.cancel();
        };
        let cancelled = call().with_context(CallContext::new().with_cancel(cancel.clone()));
        let (cancelled, ()) = tokio::join!(cancelled.into_future(), stopping);
        assert!(cancelled.unwrap_err().model_error().unwrap().is_cancelled(), "{hook}");

        let deadline = tokio::time::Instant::now() + Duration::from_secs(3);
        let late = call().with_context(CallContext::new().with_deadline(deadline.into_std()));
        assert!(late.await.unwrap_err().model_error().unwrap().is_timeout(), "{hook}");
        assert!(model.requests().is_empty());
        let told = if hook == "configure_context" { 0 } else { 2 };
        assert_eq!((log.count("a on_error"), log.of("a on_stream_end ").len()), (told, told), "{hook}");
    }
}

/// [AC-144]
#[tokio::test(start_paused = true)]
async fn an_observer_that_hangs_holds_a_cancelled_request_for_five_seconds() {
    for text in [true, false] {
        let log = Log::default();
        let model = ScriptedModel::new().repeat(reply());
        let (registry, cancel) = (registry(&model, &log), CancellationToken::new());
        let list = plugins([recorder("a", &log).with("on_request_end", Fault::Hang)]);
        let ctx = CallContext::new().with_cancel(cancel.clone());
        let began = tokio::time::Instant::now();
        let stopping = async {
            tokio::time::sleep(Duration::from_secs(60)).await;
            cancel.cancel();
        };
        let asking = async {
            if text {
                let call = generate_text(&registry, "one:m", ask()).with_plugins(&list).with_context(ctx);
                return call.await.unwrap().text();
            }
            let call = stream_text(&registry, "one:m", ask()).with_plugins(&list).with_context(ctx);
            let items: Vec<_> = call.await.unwrap().collect().await;
            assert!(items.last().unwrap().is_ok(), "what it had it gives");
            "ab<a".to_owned()
        };
        let (text, ()) = tokio::join!(asking, stopping);
        assert_eq!((text.as_str(), began.elapsed().as_secs()), ("ab<a", 65));
        assert_eq!(log.of("a on_stream_end "), ["finished Some(2)"]);
    }
}
