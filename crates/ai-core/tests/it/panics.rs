//! What panics where nobody expects it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ai_core::run::Outcome;
use ai_core::{
    LoopEvent, OnError, RunOptions, StepFailure, ToolError, ToolEvent, ToolLoop, ToolSet, tool_fn,
};
use ai_provider::{
    CallContext, Capabilities, ErrorClass, LanguageModel, Message, ModelStream, Request, TargetId,
};
use ai_testkit::{Script, ScriptedModel};
use async_trait::async_trait;
use futures_util::{FutureExt, StreamExt};

use crate::support::{Settled, Text, calls, check_history, loop_of, run};

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("on its way out");
    }
}

/// [AC-335]
#[tokio::test]
async fn a_tool_that_panics_when_it_is_cut_ends_nothing_but_itself() {
    for cancelled in [true, false] {
        let hangs = tool_fn("hangs", "", |_: Text, _| async move {
            let _bomb = Bomb;
            std::future::pending::<Result<(), ToolError>>().await
        });
        let call = |id| (id, "hangs", r#"{"text":""}"#);
        let model = ScriptedModel::new().reply(calls(&[call("a"), call("b")]));
        let settled = Arc::new(Settled::default());
        let options = RunOptions::default().with_control(settled.clone());
        let (handle, mut events) =
            loop_of(&model, ToolSet::new().with(hangs).unwrap()).start([Message::user("go")], options);
        let mut started = 0;
        while started < 2 {
            started += u32::from(matches!(events.next().await, Some(LoopEvent::Tool(ToolEvent::Started(_)))));
        }
        assert!(events.next().now_or_never().is_none(), "both are at work");
        if cancelled {
            handle.cancel();
            let Some(LoopEvent::End(end)) = events.collect::<Vec<_>>().await.pop() else { panic!("no end") };
            let statuses: Vec<_> = end.steps[0].tools.iter().map(|tool| tool.status.as_str()).collect();
            assert_eq!(statuses, ["delivery-unknown"; 2]);
            check_history(end.snapshot.run().messages()).unwrap();
        } else {
            drop(events);
        }
        assert_eq!(
            (settled.0.load(Ordering::SeqCst), settled.1.lock().unwrap()[0].as_str()),
            (1, "cancelled")
        );
    }
}

/// Panics the first time: at once, or when it is polled.
struct Panics(ScriptedModel, bool, std::sync::atomic::AtomicBool);

impl LanguageModel for Panics {
    fn target(&self) -> &TargetId {
        self.0.target()
    }
    fn capabilities(&self) -> &Capabilities {
        self.0.capabilities()
    }
    fn stream(&self, request: Request, ctx: CallContext) -> ModelStream {
        if self.2.swap(true, Ordering::SeqCst) {
            return self.0.stream(request, ctx);
        }
        assert!(!self.1, "at once");
        Box::pin(self.0.stream(request, ctx).enumerate().map(|(at, part)| {
            assert!(at < 2, "later");
            part
        }))
    }
}

struct Again;

#[async_trait]
impl ai_core::LoopControl for Again {
    async fn on_step_error(&self, _: &StepFailure<'_>) -> OnError {
        OnError::Retry
    }
}

/// [AC-337]
#[tokio::test]
async fn a_model_that_panics_fails_its_step() {
    for at_once in [true, false] {
        let model = || {
            let scripted = ScriptedModel::new().repeat(Script::text_reply("done"));
            ToolLoop::new(Arc::new(Panics(scripted, at_once, false.into())))
        };
        let settled = Arc::new(Settled::default());
        let (_, end) = run(&model(), RunOptions::default().with_control(settled.clone())).await;
        let Outcome::Failed { error, .. } = &end.outcome else { panic!("{:?}", end.outcome) };
        assert_eq!(error.class, ErrorClass::Protocol);
        assert!(
            error.message.contains(if at_once { "panicked: at once" } else { "panicked: later" }),
            "{error}"
        );
        assert_eq!(*settled.1.lock().unwrap(), ["failed"]);
        let (_, end) = run(&model(), RunOptions::default().with_control(Arc::new(Again))).await;
        assert_eq!(end.outcome, Outcome::Finished, "and it can be tried again");
    }
}
