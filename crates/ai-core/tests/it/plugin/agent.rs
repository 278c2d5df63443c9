use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ai_core::plugin::{CallParams, Plugin, Plugins, RequestContext};
use ai_core::{
    Approvals, ErrorKind, LoopControl, LoopEvent, OnError, PluginError, RunEnd, RunOptions, StepFailure,
    StepOverrides, StepView, ToolLoop, ToolSet, create_agent,
};
use ai_provider::{
    CancellationToken, ErrorClass, LanguageModel, Message, ModelError, StreamPart, TargetId, UnifiedFinish,
};
use ai_testkit::{Script, ScriptedModel};
use async_trait::async_trait;
use futures_util::StreamExt;

use super::recorder::{Fault, Log, hooks, plugins, recorder, registry, seen};
use crate::support::{echo, run};

fn reply() -> Script {
    Script::new().text("ab").usage(4, 2).finish(UnifiedFinish::Stop)
}

fn call() -> Script {
    Script::new().tool_call("c", "echo", r#"{"text":"hey"}"#).usage(1, 1).finish(UnifiedFinish::ToolCalls)
}

async fn agent(model: &ScriptedModel, log: &Log, list: &Plugins) -> ToolLoop {
    create_agent(&registry(model, log), "one:m").with_plugins(list).await.unwrap()
}

fn texts(events: &[LoopEvent]) -> String {
    let texts = events.iter().filter_map(|event| match event {
        LoopEvent::Part(StreamPart::TextDelta { delta, .. }) => Some(delta.as_str()),
        _ => None,
    });
    texts.collect()
}

/// [AC-150]
#[tokio::test]
async fn an_agent_is_made_in_six_phases() {
    let (log, model) = (Log::default(), ScriptedModel::new().repeat(reply()));
    let registry = registry(&model, &log);
    let list = plugins([recorder("x", &log)]);
    let (inner, noted) = (model.clone(), log.clone());
    let agent = create_agent(&registry, "one:m")
        .with_plugins(&list)
        .wrap_model(move |found| async move {
            noted.note("wrap");
            let mut answer = found.stream(super::recorder::ask(), Default::default());
            while answer.next().await.is_some() {}
            assert_eq!(found.target().model, "m");
            Ok(Arc::new(inner.with_target(TargetId::new("w", "wrapped", "memory"))) as Arc<dyn LanguageModel>)
        })
        .await
        .unwrap();
    let phases = [
        "x configure_context",
        "x asked for one:m",
        "x resolve_model",
        "provider asked for m",
        "wrap",
        "x middleware",
    ];
    assert_eq!(log.all(), phases, "the wrapper comes last, and gets the model in its middleware");
    assert_eq!(agent.model().target().model, "wrapped");
    let (events, _) = run(&agent, RunOptions::default()).await;
    assert_eq!(log.count("x middleware"), 1, "what the wrapper returns is used as it is");
    assert_eq!(texts(&events), "ab<x", "in the plugins' stream");

    let refused = ModelError::new(ErrorClass::Unsupported, "no");
    let error = create_agent(&registry, "one:m").wrap_model(|_| async { Err(refused) }).await.unwrap_err();
    assert_eq!(error.model_error().unwrap().message(), "no");
    let list = plugins([recorder("x", &log).with("configure_context", Fault::Fail)]);
    let error = create_agent(&registry, "one:m").with_plugins(&list).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Plugin);
}

/// [AC-151]
#[tokio::test]
async fn parameters_change_once_a_run_and_requests_once_a_step() {
    struct Helper;
    #[async_trait]
    impl Plugin for Helper {
        fn name(&self) -> &str {
            "helper"
        }
        async fn transform_params(
            &self,
            mut params: CallParams,
            _: &RequestContext,
        ) -> Result<CallParams, PluginError> {
            params.set_tool(echo())?;
            params.instructions = Some(format!("{} Use tools.", params.instructions.unwrap_or_default()));
            Ok(params)
        }
    }
    let log = Log::default();
    let model = ScriptedModel::new().reply(call()).reply(call()).reply(reply()).reply(reply());
    let list = plugins([recorder("x", &log)]).with(Helper);
    let agent = agent(&model, &log, &list).await.with_instructions("Be brief.");
    let (events, end) = run(&agent, RunOptions::default()).await;
    assert_eq!(end.outcome.as_str(), "finished");
    assert!(texts(&events).contains("ab"));
    assert_eq!(crate::support::results(&end).len(), 2, "the tool the plugin added was run");
    run(&agent, RunOptions::default()).await;
    let sent = model.requests();
    assert_eq!(sent.len(), 4);
    for (request, step) in sent.iter().zip([1, 2, 3, 1]) {
        let stops = ["params-x".to_owned(), format!("step-{step}-x")];
        assert_eq!(request.settings.stop_sequences, stops, "nothing piles up over steps and runs");
        assert_eq!(*request.messages[0], Message::system("Be brief. Use tools."));
        assert_eq!(request.tools.iter().map(|tool| tool.name()).collect::<Vec<_>>(), ["echo"]);
    }
    assert_eq!((log.count("x transform_params"), log.count("x transform_step")), (2, 4));
    assert!(agent.tools().is_empty(), "the agent itself is as it was");
}

/// [AC-152]
#[tokio::test]
async fn each_run_begins_and_ends_once_in_a_context_of_its_own() {
    struct Counter(Arc<Mutex<Vec<usize>>>);
    #[async_trait]
    impl Plugin for Counter {
        fn name(&self) -> &str {
            "counter"
        }
        async fn configure_context(&self, ctx: &mut RequestContext) -> Result<(), PluginError> {
            ctx.insert("from the agent");
            Ok(())
        }
        async fn transform_step(
            &self,
            request: ai_provider::Request,
            _: u32,
            ctx: &RequestContext,
        ) -> Result<ai_provider::Request, PluginError> {
            ctx.get_or_insert_with(|| AtomicUsize::new(0)).fetch_add(1, Ordering::SeqCst);
            assert_eq!(*ctx.get::<&str>().unwrap(), "from the agent");
            assert_eq!(ctx.parent().unwrap().requested(), ctx.requested());
            assert_ne!(ctx.parent().unwrap().id(), ctx.id());
            assert_eq!(ctx.model().unwrap().target().model, "m");
            Ok(request)
        }
        fn on_stream_end(&self, _: ai_core::plugin::StreamEnd<'_>, ctx: &RequestContext) {
            self.0.lock().unwrap().push(ctx.get::<AtomicUsize>().unwrap().load(Ordering::SeqCst));
        }
    }
    let (log, counts) = (Log::default(), Arc::default());
    let model = ScriptedModel::new().reply(call()).reply(call()).reply(reply()).reply(reply());
    let list = plugins([recorder("x", &log)]).with(Counter(Arc::clone(&counts)));
    let agent = agent(&model, &log, &list).await.with_tools(ToolSet::new().with(echo()).unwrap());
    let both = || run(&agent, RunOptions::default());
    let ((_, a), (_, b)) = tokio::join!(both(), both());
    let mut steps = [a.steps.len(), b.steps.len()];
    steps.sort_unstable();
    let mut counted = counts.lock().unwrap().clone();
    counted.sort_unstable();
    assert_eq!(counted, steps, "each run counts its own steps");
    for hook in ["on_request_start", "on_request_end", "transform_params"] {
        assert_eq!(log.count(&format!("x {hook}")), 2, "{hook}");
    }
    assert_eq!(log.of("x on_stream_end ").len(), 2);
    assert_eq!(log.of("x result "), ["finished", "finished"]);
    assert_eq!((seen(&log).len(), log.count("x configure_context")), (2, 1));
}

/// [AC-153]
#[tokio::test]
async fn every_step_goes_through_the_plugins_stream() {
    struct Other(ScriptedModel);
    #[async_trait]
    impl LoopControl for Other {
        async fn prepare_step(&self, step: &StepView<'_>) -> StepOverrides {
            let mut overrides = StepOverrides::default();
            if step.step() == 2 {
                overrides.model = Some(Arc::new(self.0.clone()));
            }
            overrides
        }
    }
    let (log, other) = (Log::default(), ScriptedModel::new().reply(reply()));
    let said =
        Script::new().text("one").tool_call("c", "echo", r#"{"text":"t"}"#).finish(UnifiedFinish::ToolCalls);
    let model = ScriptedModel::new().reply(said);
    let list = plugins([recorder("x", &log), recorder("y", &log)]);
    let agent = agent(&model, &log, &list).await.with_tools(ToolSet::new().with(echo()).unwrap());
    let (events, end) = run(&agent, RunOptions::default().with_control(Arc::new(Other(other.clone())))).await;
    assert_eq!(texts(&events), "one<x<yab<x<y", "another model's too");
    assert_eq!((end.steps.len(), other.requests().len(), log.count("y transform_stream")), (2, 1, 2));
    let history = format!("{:?}", end.new_messages);
    assert!(history.contains("ab<x<y"), "what was shown is what is kept");
}

/// [AC-154]
#[tokio::test]
async fn how_a_run_ends_is_said_as_it_is() {
    let broken = || Script::new().text("a").error(ModelError::new(ErrorClass::Server, "gone"));
    // Polls before the token is cancelled and before the stream is dropped.
    for (script, cancel_at, drop_at, outcome, told) in [
        (reply(), None, None, "finished Some(2)", "on_request_end"),
        (broken(), None, None, "failed", "on_error"),
        (reply(), Some(3), None, "failed", "on_error"),
        (Script::new().hang(), Some(1), None, "failed", "on_error"),
        (reply(), None, Some(3), "dropped", ""),
        (reply(), None, Some(1), "dropped", ""),
        (reply(), None, Some(0), "", ""),
    ] {
        let (log, model) = (Log::default(), ScriptedModel::new().reply(script));
        let agent = agent(&model, &log, &plugins([recorder("x", &log)])).await;
        let cancel = CancellationToken::new();
        let (_handle, mut events) =
            agent.start([Message::user("go")], RunOptions::default().with_cancel(cancel.clone()));
        for poll in 0.. {
            if cancel_at == Some(poll) {
                cancel.cancel();
            }
            if drop_at == Some(poll) || events.next().await.is_none() {
                break;
            }
        }
        drop(events);
        let expected: Vec<_> =
            [outcome].into_iter().filter(|end| !end.is_empty()).map(str::to_owned).collect();
        assert_eq!(log.of("x on_stream_end "), expected, "{cancel_at:?} {drop_at:?}");
        for hook in ["on_request_end", "on_error"] {
            assert_eq!(
                log.count(&format!("x {hook}")),
                usize::from(hook == told),
                "{cancel_at:?} {drop_at:?}"
            );
        }
        if !outcome.is_empty() {
            assert_eq!(hooks(&log, "x").last().unwrap(), "on_stream_end", "it comes last");
        }
    }

    let log = Log::default();
    let model = ScriptedModel::new().reply(call()).reply(reply());
    let tools = ToolSet::new().with(echo().with_approval()).unwrap();
    let agent = agent(&model, &log, &plugins([recorder("x", &log)])).await;
    let agent = agent.with_tools(tools).with_approvals(Approvals::EndRun);
    run(&agent, RunOptions::default()).await;
    assert_eq!(log.of("x result "), ["awaiting-approval"]);
}

/// [AC-155]
#[tokio::test]
async fn a_plugin_that_fails_in_a_run_fails_it() {
    struct Again(AtomicUsize);
    #[async_trait]
    impl LoopControl for Again {
        async fn on_step_error(&self, _: &StepFailure<'_>) -> OnError {
            self.0.fetch_add(1, Ordering::SeqCst);
            OnError::Retry
        }
    }
    for (hook, asked) in [("transform_params", 0), ("transform_step", 2)] {
        let (log, model) = (Log::default(), ScriptedModel::new().repeat(reply()));
        let list = plugins([recorder("x", &log).with(hook, Fault::Fail), recorder("y", &log)]);
        let agent = agent(&model, &log, &list).await;
        let control = Arc::new(Again(AtomicUsize::new(0)));
        let (_, end) = run(&agent, RunOptions::default().with_control(Arc::clone(&control) as _)).await;
        assert_eq!(end.outcome.as_str(), "failed", "{hook}");
        let error = end.error.unwrap();
        assert!(
            error.message().contains(&format!("the plugin `x` failed in {hook}: {hook} will not")),
            "{error}"
        );
        assert!(model.requests().is_empty());
        assert_eq!(control.0.load(Ordering::SeqCst), asked, "a step can be tried again, a run cannot");
        assert_eq!((log.count("y on_error"), log.of("y on_stream_end ")), (1, vec!["failed".to_owned()]));
        assert_eq!(end.new_messages.len(), 0);
    }
}

/// [AC-155]
#[tokio::test(start_paused = true)]
async fn a_cancel_ends_a_run_whose_plugin_hangs() {
    for hook in ["on_request_start", "transform_params", "transform_step"] {
        let (log, model) = (Log::default(), ScriptedModel::new().repeat(reply()));
        let agent = agent(&model, &log, &plugins([recorder("x", &log).with(hook, Fault::Hang)])).await;
        let cancel = CancellationToken::new();
        let stopping = async {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            cancel.cancel();
        };
        let options = RunOptions::default().with_cancel(cancel.clone());
        let ((_, end), ()) = tokio::join!(run(&agent, options), stopping);
        assert_eq!((end.outcome.as_str(), model.requests().len()), ("cancelled", 0), "{hook}");
        assert_eq!((log.count("x on_error"), log.of("x on_stream_end ")), (1, vec!["failed".to_owned()]));
    }
}

/// [AC-156]
#[tokio::test]
async fn the_callers_control_works_inside_the_plugins() {
    struct Own(Log, bool);
    #[async_trait]
    impl LoopControl for Own {
        async fn prepare_step(&self, _: &StepView<'_>) -> StepOverrides {
            self.0.note("own prepare");
            StepOverrides::default()
        }
        fn around_tool(&self, _: &ai_provider::ToolCall, run: ai_core::ToolStream) -> ai_core::ToolStream {
            self.0.note("own tool");
            run
        }
        async fn on_step_end(&self, _: &Arc<ai_core::run::StepRecord>) {
            self.0.note("own step end");
        }
        async fn stop_when(&self, _: &StepView<'_>) -> Vec<ai_core::run::Verdict> {
            self.0.note("own stop");
            Vec::new()
        }
        async fn on_end(&self, _: &RunEnd) {
            self.0.note("own end");
            assert!(!self.1, "the control is broken");
        }
        fn settled(&self, _: &RunEnd) {
            self.0.note("own settled");
            assert!(!self.1, "the control is broken");
        }
    }
    for broken in [false, true] {
        let log = Log::default();
        let model = ScriptedModel::new().reply(call()).reply(reply());
        let agent = agent(&model, &log, &plugins([recorder("x", &log)])).await;
        let agent = agent.with_tools(ToolSet::new().with(echo()).unwrap());
        let (_, end) =
            run(&agent, RunOptions::default().with_control(Arc::new(Own(log.clone(), broken)))).await;
        assert_eq!(end.outcome.as_str(), "finished");
        let own = ["prepare", "tool", "step end", "stop", "prepare", "step end", "end", "settled"];
        assert_eq!(log.of("own "), own);
        let ends: Vec<_> = log
            .all()
            .into_iter()
            .filter(|l| {
                l.starts_with("own end")
                    || l.starts_with("own settled")
                    || l.contains(" on_request_end")
                    || l.contains("on_stream_end")
            })
            .collect();
        let expected = ["own end", "x on_request_end", "own settled", "x on_stream_end finished Some(3)"];
        assert_eq!(ends, expected, "the plugins hear behind it, even if it fails");
    }
}
