//! Plugins whose streams misbehave, and what plugins add to runs that are stored.

use std::sync::Arc;
use std::time::Duration;

use ai_core::plugin::{CallParams, Plugin, RequestContext};
use ai_core::run::{Outcome, RunSnapshot, ToolStatus};
use ai_core::{Decision, LoopEvent, PluginError, RunOptions, create_agent, generate_text, stream_text};
use ai_provider::{CallContext, CancellationToken, ErrorClass, ModelError, ModelStream};
use ai_testkit::{Script, ScriptedModel};
use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use tokio::time::Instant;

use super::recorder::{Log, ask, plugins, recorder, registry};
use crate::support::{calls, echo, run};

enum Streams {
    Hangs,
    Panics,
}

#[async_trait]
impl Plugin for Streams {
    fn name(&self) -> &str {
        "streams"
    }
    fn transform_stream(&self, stream: ModelStream, _ctx: &Arc<RequestContext>) -> ModelStream {
        match self {
            Self::Hangs => Box::pin(stream.take(2).chain(stream::pending())),
            Self::Panics => Box::pin(stream.enumerate().map(|(at, part)| {
                assert!(at < 2, "private trouble");
                part
            })),
        }
    }
}

/// What a whole answer and a stream end with, and what the plugins heard.
async fn ends(streams: Streams, ctx: impl Fn() -> CallContext) -> [ModelError; 2] {
    let (log, model) = (Log::default(), ScriptedModel::new().repeat(Script::text_reply("some words")));
    let registry = registry(&model, &log);
    let list = plugins([recorder("x", &log)]).with(streams);
    let whole = generate_text(&registry, "one:m", ask()).with_plugins(&list).with_context(ctx());
    let whole = whole.await.unwrap_err();
    let parts = stream_text(&registry, "one:m", ask()).with_plugins(&list).with_context(ctx()).await.unwrap();
    let mut items: Vec<_> = parts.collect().await;
    assert_eq!(items.len(), 3, "two parts and the error");
    assert_eq!(log.of("x on_stream_end "), ["failed", "failed"]);
    [whole.model_error().unwrap().clone(), items.pop().unwrap().unwrap_err()]
}

/// [AC-158]
#[tokio::test(start_paused = true)]
async fn a_stream_of_a_plugin_that_never_ends_is_ended_by_cancel_and_deadline() {
    let began = Instant::now();
    let errors = ends(Streams::Hangs, || {
        CallContext::new().with_deadline((Instant::now() + Duration::from_secs(5)).into_std())
    });
    for error in errors.await {
        assert!(error.is_timeout() && !error.retryable(), "{error}");
    }
    assert_eq!(began.elapsed().as_secs(), 10);
    let errors = ends(Streams::Hangs, || {
        let cancel = CancellationToken::new();
        let later = cancel.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            later.cancel();
        });
        CallContext::new().with_cancel(cancel)
    });
    for error in errors.await {
        assert!(error.is_cancelled(), "{error}");
    }
}

/// [AC-158]
#[tokio::test]
async fn a_stream_of_a_plugin_that_panics_is_an_error() {
    for error in ends(Streams::Panics, CallContext::new).await {
        assert_eq!(error.class(), ErrorClass::Protocol);
        assert!(error.message().contains("panicked: private trouble"), "{error}");
    }
}

struct Adds;

#[async_trait]
impl Plugin for Adds {
    fn name(&self) -> &str {
        "adds"
    }
    async fn transform_params(
        &self,
        mut params: CallParams,
        _ctx: &RequestContext,
    ) -> Result<CallParams, PluginError> {
        params.set_tool(echo().with_approval())?;
        Ok(params)
    }
}

/// [AC-157]
#[tokio::test]
async fn a_stored_run_goes_on_with_the_tools_its_plugins_add() {
    let log = Log::default();
    let model = ScriptedModel::new()
        .reply(calls(&[("a", "echo", r#"{"text":"x"}"#)]))
        .reply(Script::text_reply("done"));
    let list = plugins([]).with(Adds);
    let agent = create_agent(&registry(&model, &log), "one:m").with_plugins(&list).await.unwrap();
    let (_, end) = run(&agent, RunOptions::default()).await;
    assert!(matches!(end.outcome, Outcome::AwaitingApproval { .. }));
    let stored = serde_json::to_vec(&end.snapshot).unwrap();
    let (handle, events) =
        agent.resume(RunSnapshot::from_json(&stored).unwrap().into_run(), RunOptions::default());
    handle.decide(&"a".into(), Decision::approve()).unwrap();
    let Some(LoopEvent::End(end)) = events.collect::<Vec<_>>().await.pop() else { panic!("no end") };
    assert_eq!(end.outcome, Outcome::Finished);
    assert_eq!(end.steps[0].tools[0].status, ToolStatus::Ok);
}
