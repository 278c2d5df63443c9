use std::sync::Arc;
use std::sync::Mutex;

use ai_core::run::{Outcome, StepRecord, ToolStatus, Verdict};
use ai_core::{LoopControl, LoopEvent, OnError, RunOptions, StepFailure, StepOverrides, StepView, ToolSet};
use ai_provider::{
    AttemptEvent, AttemptKind, CallContext, Capabilities, ErrorClass, Event, LanguageModel, Message,
    ModelError, ModelStream, Request, StreamPart, TargetId, ToolChoice,
};
use ai_testkit::{Script, ScriptedModel};
use async_trait::async_trait;

use crate::support::{calls, echo, loop_of, run};

#[derive(Default)]
struct Seam {
    overrides: Mutex<Vec<StepOverrides>>,
    on_error: OnError,
    stop_at: Option<u32>,
    log: Mutex<Vec<String>>,
}

#[async_trait]
impl LoopControl for Seam {
    async fn prepare_step(&self, step: &StepView<'_>) -> StepOverrides {
        self.log.lock().unwrap().push(format!("prepare {} after {}", step.step(), step.steps().len()));
        let mut overrides = self.overrides.lock().unwrap();
        if overrides.is_empty() { StepOverrides::default() } else { overrides.remove(0) }
    }
    async fn on_step_end(&self, step: &Arc<StepRecord>) {
        self.log.lock().unwrap().push(format!("end {}", step.step));
    }
    async fn stop_when(&self, step: &StepView<'_>) -> Vec<Verdict> {
        self.log.lock().unwrap().push(format!("stop? {}", step.step()));
        (self.stop_at == Some(step.step())).then_some(Verdict::SteerYield).into_iter().collect()
    }
    async fn on_step_error(&self, failure: &StepFailure<'_>) -> OnError {
        self.log.lock().unwrap().push(format!(
            "error {} {} may_retry={} said={:?}",
            failure.step,
            failure.error.class(),
            failure.may_retry,
            failure.partial.text()
        ));
        self.on_error
    }
}

fn with(overrides: impl FnOnce(&mut StepOverrides)) -> Mutex<Vec<StepOverrides>> {
    let mut first = StepOverrides::default();
    overrides(&mut first);
    Mutex::new(vec![first])
}

fn two_steps() -> ScriptedModel {
    ScriptedModel::new().reply(calls(&[("a", "echo", r#"{"text":"x"}"#)])).reply(Script::text_reply("done"))
}

fn texts(request: &Request) -> Vec<String> {
    request.messages.iter().map(|message| serde_json::to_string(&**message).unwrap()).collect()
}

/// [AC-39]
#[tokio::test]
async fn messages_of_a_step_hold_for_that_step_and_a_history_stays() {
    let other = vec![Arc::new(Message::user("other"))];
    let model = two_steps();
    let seam = Arc::new(Seam { overrides: with(|o| o.messages = Some(other.clone())), ..Seam::default() });
    let agent = loop_of(&model, ToolSet::new().with(echo()).unwrap());
    run(&agent, RunOptions::default().with_control(seam)).await;
    assert!(texts(&model.requests()[0])[0].contains("other"));
    assert!(texts(&model.requests()[1])[0].contains("go"));

    let model = two_steps();
    let seam = Arc::new(Seam { overrides: with(|o| o.history = Some(other.clone())), ..Seam::default() });
    let agent = loop_of(&model, ToolSet::new().with(echo()).unwrap());
    run(&agent, RunOptions::default().with_control(seam)).await;
    assert!(texts(&model.requests()[0])[0].contains("other"));
    assert!(texts(&model.requests()[1])[0].contains("other"));
    assert_eq!(model.requests()[1].messages.len(), 3);
}

/// [AC-39]
#[tokio::test]
async fn a_step_can_have_another_model_other_instructions_and_another_choice() {
    let (model, special) =
        (two_steps(), ScriptedModel::new().reply(calls(&[("z", "echo", r#"{"text":"x"}"#)])));
    let given = Arc::new(special.clone()) as Arc<dyn LanguageModel>;
    let overrides = with(|o| {
        o.model = Some(given);
        o.system = Some("Only now.".to_owned());
        o.tool_choice = Some(ToolChoice::Required);
    });
    let seam = Arc::new(Seam { overrides, ..Seam::default() });
    let agent = loop_of(&model, ToolSet::new().with(echo()).unwrap()).with_instructions("Always.");
    run(&agent, RunOptions::default().with_control(seam)).await;
    let (first, second) = (&special.requests()[0], &model.requests()[0]);
    assert_eq!(first.tool_choice, ToolChoice::Required);
    assert!(texts(first)[0].contains("Only now."));
    assert_eq!(second.tool_choice, ToolChoice::Auto);
    assert!(texts(second)[0].contains("Always."));
}

/// [AC-39] [AC-13]
#[tokio::test]
async fn an_inactive_tool_is_neither_shown_nor_run() {
    let model = two_steps();
    let overrides = with(|o| o.active_tools = Some(Vec::new()));
    let agent = loop_of(&model, ToolSet::new().with(echo()).unwrap());
    let seam = Arc::new(Seam { overrides, ..Seam::default() });
    let (_, end) = run(&agent, RunOptions::default().with_control(seam)).await;
    assert!(model.requests()[0].tools.is_empty());
    assert_eq!(model.requests()[1].tools.len(), 1);
    assert_eq!(end.steps[0].tools[0].status, ToolStatus::Unknown);
}

/// [AC-38]
#[tokio::test]
async fn a_step_tried_again_takes_back_what_it_has_shown() {
    let error = || ModelError::new(ErrorClass::Transport, "reset");
    let model = ScriptedModel::new()
        .reply(Script::new().text("Here is").error(error()))
        .reply(Script::text_reply("Here is the plan."));
    let seam = Arc::new(Seam { on_error: OnError::Retry, ..Seam::default() });
    let (events, end) =
        run(&loop_of(&model, ToolSet::new()), RunOptions::default().with_control(seam.clone())).await;
    assert_eq!(end.outcome, Outcome::Finished);
    assert_eq!(end.steps.len(), 1);
    assert_eq!(*end.new_messages[0], Message::assistant("Here is the plan."));
    let resets =
        events.iter().filter(|event| matches!(event, LoopEvent::StepReset(reset) if reset.step == 1));
    assert_eq!(resets.count(), 1);
    assert_ne!(model.contexts()[0].request_id, model.contexts()[1].request_id);
    assert!(
        seam.log.lock().unwrap().contains(&"error 1 transport may_retry=true said=\"Here is\"".to_owned())
    );

    let model = ScriptedModel::new().repeat(Script::new().error(error()));
    let seam = Arc::new(Seam { on_error: OnError::Retry, ..Seam::default() });
    let (_, end) = run(&loop_of(&model, ToolSet::new()), RunOptions::default().with_control(seam)).await;
    assert!(matches!(end.outcome, Outcome::Failed { .. }));
    assert_eq!(model.requests().len(), 2, "the bound is one retry");
}

/// [AC-20] [AC-50]
#[tokio::test]
async fn the_seam_is_asked_in_order() {
    let model = two_steps();
    let agent = loop_of(&model, ToolSet::new().with(echo()).unwrap());
    let seam = Arc::new(Seam::default());
    run(&agent, RunOptions::default().with_control(seam.clone())).await;
    assert_eq!(
        *seam.log.lock().unwrap(),
        ["prepare 1 after 0", "end 1", "stop? 1", "prepare 2 after 1", "end 2"]
    );

    let seam = Arc::new(Seam { stop_at: Some(1), ..Seam::default() });
    let agent = loop_of(&two_steps(), ToolSet::new().with(echo()).unwrap());
    let (_, end) = run(&agent, RunOptions::default().with_control(seam)).await;
    assert_eq!(end.outcome, Outcome::SteerYield);
}

/// [AC-28]
#[tokio::test]
async fn block_ids_are_unique_over_the_steps_of_a_run() {
    let model = ScriptedModel::new()
        .reply(
            Script::new()
                .text("one")
                .tool_call("a", "echo", r#"{"text":"x"}"#)
                .finish(ai_provider::UnifiedFinish::ToolCalls),
        )
        .reply(
            Script::new()
                .text("two")
                .tool_call("b", "echo", r#"{"text":"x"}"#)
                .finish(ai_provider::UnifiedFinish::ToolCalls),
        )
        .reply(Script::text_reply("three"));
    let (events, _) =
        run(&loop_of(&model, ToolSet::new().with(echo()).unwrap()), RunOptions::default()).await;
    let mut started = Vec::new();
    for event in &events {
        match event {
            LoopEvent::Part(StreamPart::TextStart { id, .. }) => {
                assert!(!started.contains(id), "{id} is used twice");
                started.push(id.clone());
            }
            LoopEvent::Part(StreamPart::TextDelta { id, .. } | StreamPart::TextEnd { id, .. }) => {
                assert_eq!(started.last(), Some(id));
            }
            _ => {}
        }
    }
    assert_eq!(started.len(), 3);
}

/// [AC-31] [AC-46]
#[tokio::test]
async fn each_request_extends_the_one_before() {
    let model = two_steps();
    let agent = loop_of(&model, ToolSet::new().with(echo()).unwrap()).with_instructions("Be brief.");
    let (_, end) = run(&agent, RunOptions::default()).await;
    let requests = model.requests();
    assert!(texts(&requests[0])[0].contains("Be brief."));
    assert_eq!(texts(&requests[1])[..2], texts(&requests[0])[..]);
    assert_eq!(requests[0].tools, requests[1].tools);
    assert!(end.new_messages.iter().all(|message| !matches!(&**message, Message::System(_))));
    let contexts = model.contexts();
    assert_ne!(contexts[0].request_id, contexts[1].request_id);
}

/// [AC-40]
#[tokio::test]
async fn attempt_events_come_in_their_place() {
    struct Emits {
        target: TargetId,
        capabilities: Capabilities,
        inner: ScriptedModel,
    }
    impl LanguageModel for Emits {
        fn target(&self) -> &TargetId {
            &self.target
        }
        fn capabilities(&self) -> &Capabilities {
            &self.capabilities
        }
        fn stream(&self, request: Request, ctx: CallContext) -> ModelStream {
            let target = self.target.clone();
            let emitting = ctx.clone();
            let mut inner = self.inner.stream(request, ctx);
            let mut count = 0;
            Box::pin(futures_util::stream::poll_fn(move |cx| {
                let item = inner.as_mut().poll_next(cx);
                count += 1;
                let id = emitting.request_id.clone();
                let event = AttemptEvent::new(count, target.clone(), id, AttemptKind::Started);
                emitting.emit(Event::Attempt(event.in_step(emitting.step)));
                item
            }))
        }
    }
    let model = Emits {
        target: TargetId::new("e", "m", "x"),
        capabilities: Capabilities::default(),
        inner: ScriptedModel::new().reply(Script::text_reply("one two")),
    };
    let agent = ai_core::ToolLoop::new(Arc::new(model));
    let (events, _) = run(&agent, RunOptions::default()).await;
    let kinds: String = events
        .iter()
        .filter_map(|event| match event {
            LoopEvent::Attempt(_) => Some('a'),
            LoopEvent::Part(_) => Some('p'),
            _ => None,
        })
        .collect();
    assert_eq!(
        kinds, "apapapapapapa",
        "each event before the part whose poll sent it, the last before the end"
    );
}

/// Panics in each of its hooks.
struct Panics(std::sync::atomic::AtomicUsize);

#[async_trait]
impl LoopControl for Panics {
    async fn prepare_step(&self, _: &StepView<'_>) -> StepOverrides {
        panic!("prepare_step")
    }
    fn around_tool(&self, _: &ai_provider::ToolCall, _: ai_core::ToolStream) -> ai_core::ToolStream {
        panic!("around_tool")
    }
    async fn on_step_end(&self, _: &Arc<StepRecord>) {
        panic!("on_step_end")
    }
    async fn stop_when(&self, _: &StepView<'_>) -> Vec<Verdict> {
        panic!("stop_when")
    }
    async fn on_step_error(&self, _: &StepFailure<'_>) -> OnError {
        panic!("on_step_error")
    }
    async fn on_end(&self, _: &ai_core::RunEnd) {
        panic!("on_end")
    }
    fn settled(&self, _: &ai_core::RunEnd) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        panic!("settled")
    }
}

/// [AC-56] [AC-33]
#[tokio::test]
async fn a_hook_that_panics_has_said_nothing() {
    let control = Arc::new(Panics(0.into()));
    let agent = loop_of(&two_steps(), ToolSet::new().with(echo()).unwrap());
    let (_, end) = run(&agent, RunOptions::default().with_control(control.clone())).await;
    assert_eq!(end.outcome, Outcome::Finished);
    assert_eq!(end.steps[0].tools[0].status, ToolStatus::Panicked, "only the call the hook was around");
    assert_eq!(control.0.load(std::sync::atomic::Ordering::SeqCst), 1);

    let model = ScriptedModel::new().reply(Script::new().error(ModelError::new(ErrorClass::Server, "boom")));
    let control = Arc::new(Panics(0.into()));
    let (_, end) = run(&loop_of(&model, ToolSet::new()), RunOptions::default().with_control(control)).await;
    assert!(matches!(end.outcome, Outcome::Failed { .. }));
}

/// [AC-57]
#[tokio::test(start_paused = true)]
async fn a_hook_hears_of_a_step_that_a_cancel_closes_and_of_the_end_but_cannot_hold_them() {
    #[derive(Default)]
    struct Stores {
        hangs: bool,
        steps: Mutex<Vec<u32>>,
        ends: Mutex<usize>,
    }
    #[async_trait]
    impl LoopControl for Stores {
        async fn on_step_end(&self, step: &Arc<StepRecord>) {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            self.steps.lock().unwrap().push(step.step);
        }
        async fn on_end(&self, _: &ai_core::RunEnd) {
            *self.ends.lock().unwrap() += 1;
            if self.hangs {
                std::future::pending::<()>().await;
            }
        }
    }
    for hangs in [false, true] {
        let control = Arc::new(Stores { hangs, ..Stores::default() });
        let cancel = ai_provider::CancellationToken::new();
        let agent = loop_of(&two_steps(), ToolSet::new().with(echo()).unwrap());
        let options = RunOptions::default().with_cancel(cancel.clone()).with_control(control.clone());
        let (_handle, mut events) = agent.start([Message::user("go")], options);
        let started = tokio::time::Instant::now();
        let mut end = None;
        while let Some(event) = futures_util::StreamExt::next(&mut events).await {
            match event {
                LoopEvent::Tool(ai_core::ToolEvent::Started(_)) => cancel.cancel(),
                LoopEvent::End(ended) => end = Some(ended),
                _ => {}
            }
        }
        assert_eq!(end.unwrap().outcome, Outcome::Cancelled { partial: None });
        assert_eq!(*control.steps.lock().unwrap(), [1]);
        assert_eq!(*control.ends.lock().unwrap(), 1);
        assert!(started.elapsed() < std::time::Duration::from_secs(10), "{:?}", started.elapsed());
    }
}

/// [AC-28]
#[tokio::test]
async fn ids_are_unique_whatever_the_model_calls_its_blocks() {
    let block = |script: Script, id: &str| {
        script.parts([StreamPart::text_start(id), StreamPart::text_delta(id, "x"), StreamPart::text_end(id)])
    };
    let step = |ids: &[&str], call: &str| {
        let script = ids.iter().fold(Script::new(), |script, id| block(script, id));
        script.tool_call(call, "echo", r#"{"text":"x"}"#).finish(ai_provider::UnifiedFinish::ToolCalls)
    };
    let model = ScriptedModel::new()
        .reply(step(&["0", "0-2"], "c"))
        .reply(step(&["0", "0-3", "0-2"], "c-2"))
        .reply(step(&["0", "0-2", "0-3"], "c"))
        .reply(Script::text_reply("done"));
    let agent = loop_of(&model, ToolSet::new().with(echo()).unwrap());
    let history = vec![
        Message::user("go"),
        Message::Assistant(ai_provider::AssistantMessage {
            parts: vec![ai_provider::AssistantPart::ToolCall(ai_provider::ToolCall::new("c", "echo", "{}"))],
            ..Default::default()
        }),
        Message::tool([ai_provider::ToolResult::new("c", "echo", ai_provider::ToolOutput::Text("x".into()))]),
    ];
    let (_handle, events) = agent.start(history, RunOptions::default());
    let events: Vec<_> = futures_util::StreamExt::collect::<Vec<_>>(events).await;
    let mut seen = std::collections::HashSet::new();
    let mut calls = std::collections::HashSet::from(["c".to_owned()]);
    for event in &events {
        match event {
            LoopEvent::Part(StreamPart::TextStart { id, .. }) => assert!(seen.insert(id.clone()), "{id}"),
            LoopEvent::Part(StreamPart::ToolCall(call)) => {
                assert!(calls.insert(call.id.to_string()), "{}", call.id)
            }
            _ => {}
        }
    }
    assert_eq!((seen.len(), calls.len()), (9, 4));
    crate::support::check_history(&model.requests()[3].messages).unwrap();
}

/// [AC-58]
#[tokio::test]
async fn an_id_used_twice_in_one_answer_is_the_servers_fault() {
    let model = ScriptedModel::new()
        .reply(Script::new().part(StreamPart::text_start("0")).part(StreamPart::text_start("0")));
    let (_, end) = run(&loop_of(&model, ToolSet::new()), RunOptions::default()).await;
    assert_eq!(end.error.unwrap().class(), ErrorClass::Protocol);
}

/// [AC-41]
#[tokio::test]
async fn a_timeout_beyond_the_clock_is_no_limit() {
    let options = RunOptions::default().with_timeout(std::time::Duration::MAX);
    let (_, end) =
        run(&loop_of(&ScriptedModel::new().reply(Script::text_reply("hi")), ToolSet::new()), options).await;
    assert_eq!(end.outcome, Outcome::Finished);
}
