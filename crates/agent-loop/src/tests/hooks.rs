//! What programs hear of a run, and what they change in it.

use std::future::{Ready, pending};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ai_core::run::Outcome;
use ai_core::{OnError, RunOptions, StepOverrides};
use ai_provider::{
    CancellationToken, ErrorClass, LanguageModel, Message, ModelError, TargetId, ToolChoice, UnifiedFinish,
};
use ai_testkit::{Script, ScriptedModel};
use futures_util::{FutureExt, StreamExt};

use super::support::{agent, ask, run, run_with, tool_loop};
use crate::{Agent, Feature, HookError, Hooks, PrepareStep, UiChunk, compose_hooks};

/// What happened, in order.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn add(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    /// Hooks that write down all that happens.
    pub(crate) fn hooks(&self, who: &'static str) -> Hooks {
        let note = |what: &'static str| {
            let log = self.clone();
            move |more: String| log.add(format!("{who} {what}{more}"))
        };
        let (start, prepare, step) = (note("start"), note("prepare "), note("step "));
        let (tool_start, tool_end) = (note("tool-start "), note("tool-end "));
        let (finish, abort, error, settled) =
            (note("finish"), note("abort"), note("error "), note("settled "));
        Hooks::new()
            .on_start(move |_| {
                start(String::new());
                async { Ok(()) }
            })
            .prepare_step(move |view| {
                prepare(view.step.to_string());
                async { Ok(StepOverrides::default()) }
            })
            .on_step_finish(move |done| {
                step(done.record.step.to_string());
                async { Ok(()) }
            })
            .on_tool_execution_start(move |tool| {
                tool_start(tool.call.id.to_string());
                async { Ok(()) }
            })
            .on_tool_execution_end(move |tool| {
                tool_end(format!("{} {}", tool.start.call.id, tool.record.status.as_str()));
                async { Ok(()) }
            })
            .on_finish(move |_| {
                finish(String::new());
                async { Ok(()) }
            })
            .on_abort(move |_| {
                abort(String::new());
                async { Ok(()) }
            })
            .on_error(move |failed| {
                error(failed.failure.key.to_string());
                async { Ok(OnError::Abort) }
            })
            .on_settled(move |end, _| settled(end.outcome.as_str().to_owned()))
    }
}

fn two_steps() -> ScriptedModel {
    ScriptedModel::new()
        .reply(Script::tool_reply("a", "clock", "{}"))
        .reply(Script::text_reply("It is noon."))
}

fn failing() -> ScriptedModel {
    ScriptedModel::new().repeat(Script::new().text("It").error(ModelError::new(ErrorClass::Server, "down")))
}

/// [AL-100] [AL-101]
#[tokio::test]
async fn handlers_run_one_after_the_other_in_order() {
    let log = Log::default();
    let slow = {
        let log = log.clone();
        Hooks::new().on_start(move |_| {
            let log = log.clone();
            async move {
                tokio::task::yield_now().await;
                log.add("slow start");
                Ok(())
            }
        })
    };
    let feature = Feature::new("f").with_hooks(log.hooks("feature"));
    let agent = agent(&two_steps()).with_hooks(slow).with_hooks(log.hooks("part")).with_feature(feature);
    agent.on(log.hooks("observer"));
    run(ask(&agent)).await;
    let heard = log.take();
    let by = |who: &str| -> Vec<String> {
        heard.iter().filter_map(|line| line.strip_prefix(who)).map(|line| line.trim().to_owned()).collect()
    };
    let all =
        ["start", "prepare 1", "tool-start a", "tool-end a ok", "step 1", "prepare 2", "step 2", "finish"];
    let all = [&all[..], &["settled finished"]].concat();
    assert_eq!(by("observer"), all);
    assert_eq!(by("part"), all);
    assert_eq!(by("feature"), all);
    assert_eq!(heard[..4], ["observer start", "slow start", "part start", "feature start"]);
    for (at, who) in ["observer", "part", "feature"].into_iter().enumerate() {
        assert_eq!(heard[heard.len() - 3 + at], format!("{who} settled finished"));
    }
}

/// [AL-106]
#[test]
fn hooks_fold_into_one_set() {
    assert!(compose_hooks([]).is_empty());
    assert!(compose_hooks([Hooks::new(), Hooks::new()]).is_empty());
    let one = || Hooks::new().on_finish(|_| async { Ok(()) });
    let two = compose_hooks([one(), Hooks::new(), one()]);
    assert!(!two.is_empty());
    let shown = format!("{two:?}");
    assert!(shown.contains("on_finish: 2") && shown.contains("on_start: 0"), "{shown}");
}

/// [AL-102]
#[tokio::test(start_paused = true)]
async fn a_handler_that_fails_loses_only_its_own_word() {
    let log = Log::default();
    let bad = || {
        Hooks::new()
            .on_start(|_| async { Err("no disk".into()) })
            .on_start(|_| pending())
            .on_start(|_| -> Ready<Result<(), HookError>> { panic!("{}", super::support::SECRET) })
            .prepare_step(|_| async { Err("no".into()) })
            .prepare_step(|_| async { panic!("{}", super::support::SECRET) })
            .prepare_step(|_| pending())
            .on_step_finish(|_| pending())
            .on_tool_execution_start(|_| async { Err("no".into()) })
            .on_tool_execution_end(|_| -> Ready<Result<(), HookError>> {
                panic!("{}", super::support::SECRET)
            })
            .on_finish(|_| pending())
            .on_settled(|_, _| panic!("{}", super::support::SECRET))
    };
    let words = |text: &'static str| {
        Hooks::new().prepare_step(move |view: PrepareStep| async move {
            let mut said = StepOverrides::default();
            said.messages = Some([view.messages, vec![Arc::new(Message::user(text))]].concat());
            Ok(said)
        })
    };
    let model = two_steps();
    let agent = agent(&model)
        .with_hooks(words("a"))
        .with_hooks(bad())
        .with_hooks(words("b"))
        .with_hooks(log.hooks("good"))
        .with_hook_timeout(Duration::from_secs(2));
    let started = tokio::time::Instant::now();
    let ran = run(ask(&agent)).await;
    assert_eq!(ran.outcome, Outcome::Finished);
    assert_eq!(ran.only(&["tool-output-available"]).len(), 1);
    let heard = log.take();
    assert_eq!(heard.first().unwrap(), "good start");
    assert_eq!(heard.last().unwrap(), "good settled finished");
    assert_eq!(heard.len(), 9, "{heard:?}");
    let texts: Vec<_> = model.requests()[0].messages.iter().map(|message| Message::clone(message)).collect();
    assert_eq!(texts, [Message::user("Go."), Message::user("a"), Message::user("b")]);
    // on_start, two times prepare_step, two times on_step_finish and on_finish hang, each for its limit.
    assert_eq!(started.elapsed().as_secs(), 12);
}

/// [AL-103]
#[tokio::test]
async fn messages_go_from_handler_to_handler_and_nothing_else_does() {
    let other = ScriptedModel::new()
        .with_target(TargetId::new("other", "model", ""))
        .reply(Script::text_reply("From another."));
    let model = ScriptedModel::new().repeat(Script::text_reply("From the first."));
    let seen = Log::default();
    let first = {
        let other: Arc<dyn LanguageModel> = Arc::new(other.clone());
        Hooks::new().prepare_step(move |view| {
            let mut said = StepOverrides::default();
            said.messages = Some([view.messages, vec![Message::user("a").into()]].concat());
            said.model = Some(Arc::clone(&other));
            said.system = Some("first".to_owned());
            said.tool_choice = Some(ToolChoice::None);
            async { Ok(said) }
        })
    };
    let second = {
        let seen = seen.clone();
        Hooks::new().prepare_step(move |view| {
            seen.add(format!("{} {}", view.messages.len(), view.model.target().provider));
            let mut said = StepOverrides::default();
            said.system = Some("last".to_owned());
            async { Ok(said) }
        })
    };
    let ran = run(ask(&agent(&model).with_hooks(first).with_hooks(second))).await;
    assert_eq!(ran.outcome, Outcome::Finished);
    assert!(model.requests().is_empty(), "the first handler's model was not kept");
    let request = &other.requests()[0];
    assert_eq!(request.tool_choice, ToolChoice::None);
    let messages: Vec<_> = request.messages.iter().map(|message| Message::clone(message)).collect();
    assert_eq!(messages, [Message::system("last"), Message::user("Go."), Message::user("a")]);
    assert_eq!(seen.take(), [format!("2 {}", model.target().provider)], "the model is the run's own");
}

/// [AL-103]
#[tokio::test]
async fn a_replaced_history_is_what_later_handlers_see_and_what_stays() {
    let model = two_steps();
    let early = Hooks::new().prepare_step(|view| async move {
        let mut said = StepOverrides::default();
        said.messages = (view.step == 1).then(|| vec![Message::user("gone").into()]);
        Ok(said)
    });
    let replace = Hooks::new().prepare_step(|view| async move {
        let mut said = StepOverrides::default();
        if view.step == 1 {
            said.history = Some(vec![Message::user("Short.").into()]);
        }
        Ok(said)
    });
    let add = Hooks::new().prepare_step(|view| async move {
        let mut said = StepOverrides::default();
        said.messages = Some([view.messages, vec![Message::user("now").into()]].concat());
        Ok(said)
    });
    run(ask(&agent(&model).with_hooks(compose_hooks([early, replace, add])))).await;
    let requests = model.requests();
    let texts =
        |at: usize| requests[at].messages.iter().map(|message| Message::clone(message)).collect::<Vec<_>>();
    assert_eq!(texts(0), [Message::user("Short."), Message::user("now")]);
    assert_eq!(texts(1)[0], Message::user("Short."));
    assert_eq!(texts(1).last(), Some(&Message::user("now")));
    assert_eq!(texts(1).len(), 4, "what a handler adds holds for one step");
}

/// [AL-104]
#[tokio::test]
async fn one_handler_that_asks_for_a_retry_is_enough() {
    let says = |word: OnError| Hooks::new().on_error(move |_| async move { Ok(word) });
    let fails = || Hooks::new().on_error(|_| async { Err("no".into()) });
    for (retries, calls) in [(true, 2), (false, 1)] {
        let log = Log::default();
        let model = failing();
        let word = if retries { OnError::Retry } else { OnError::Abort };
        let parts = [says(OnError::Abort), says(word), fails(), log.hooks("last")];
        let ran = run(ask(&agent(&model).with_hooks(compose_hooks(parts)))).await;
        assert_eq!(ran.outcome.as_str(), "failed");
        assert_eq!(model.requests().len(), calls);
        let told = log.take().iter().filter(|line| *line == "last error model.server").count();
        assert_eq!(told, calls, "each failure is told once");
    }
}

/// [AL-105]
#[tokio::test]
async fn an_observer_that_is_disposed_hears_its_run_to_the_end_and_no_other() {
    let log = Log::default();
    let agent = agent(&ScriptedModel::new().repeat(Script::text_reply("Well.")));
    let observer = agent.clone().on(log.hooks("one"));
    let other = agent.on(log.hooks("two"));
    let mut running = ask(&agent);
    running.next().await;
    observer.dispose();
    observer.dispose();
    while running.next().await.is_some() {}
    drop(running);
    assert!(log.take().contains(&"one finish".to_owned()));
    run(ask(&agent)).await;
    let heard = log.take();
    assert!(heard.iter().all(|line| line.starts_with("two")) && !heard.is_empty(), "{heard:?}");
    drop(other);
    run(ask(&agent)).await;
    assert!(!log.take().is_empty(), "dropping an observer changes nothing");
}

/// [AL-107]
#[tokio::test]
async fn each_end_is_told_to_one_hook() {
    let ends = [
        (Script::text_reply("Well."), "finish"),
        (Script::new().text("Half").finish(UnifiedFinish::Length), "finish"),
        (Script::tool_reply("a", "client", "{}"), "finish"),
        (Script::tool_reply("a", "asks", "{}"), "finish"),
        (Script::new().error(ModelError::new(ErrorClass::Auth, "no key")), "error model.auth"),
        (Script::new().reasoning("Hm.").finish(UnifiedFinish::Stop), "error model.empty"),
        (
            Script::new().text("Well.").error(ModelError::new(ErrorClass::MissingFinish, "")),
            "error model.missing-finish",
        ),
        (Script::tool_reply("a", "stops", "{}"), "error run.tool-terminal"),
        (Script::tool_reply("a", "clock", "{}"), "error run.step-cap"),
    ];
    for (script, wanted) in ends {
        let log = Log::default();
        let model = ScriptedModel::new().repeat(script);
        let agent = Agent::new(tool_loop(&model).with_step_cap(1)).with_hooks(log.hooks("h"));
        let ran = run(ask(&agent)).await;
        let ends: Vec<_> = log.take().into_iter().filter(|line| !line.contains("settled")).collect();
        let ended: Vec<_> = ends
            .iter()
            .filter(|line| ["finish", "abort", "error"].iter().any(|end| line.contains(end)))
            .collect();
        assert_eq!(ended, [&format!("h {wanted}")], "{:?}", ran.outcome);
        let key = ran.stream.failure().map(|failure| format!("error {}", failure.key));
        assert_eq!(key.as_deref().unwrap_or("finish"), wanted);
    }
}

/// [AL-107] [AL-109]
#[tokio::test]
async fn a_cancel_before_any_poll_leaves_one_end() {
    let mut seen = [0; 3];
    for poll in 0..60 {
        for model in
            [two_steps(), failing(), ScriptedModel::new().repeat(Script::tool_reply("a", "echo", "{}"))]
        {
            let log = Log::default();
            let agent = Agent::new(tool_loop(&model).with_step_cap(3)).with_hooks(log.hooks("h"));
            let cancel = CancellationToken::new();
            let stream = agent.stream([Message::user("Go.")], cancel.clone());
            let ran = run_with(stream, |at| {
                if at == poll {
                    cancel.cancel();
                }
            })
            .await;
            let heard = log.take();
            assert_eq!(heard[0], "h start");
            let count =
                |what: &str| heard.iter().filter(|line| line.starts_with(&format!("h {what}"))).count();
            let ends = [count("finish"), count("abort"), count("error")];
            let wanted = match ran.last() {
                UiChunk::Finish { .. } => [1, 0, 0],
                UiChunk::Abort { .. } => [0, 1, 0],
                _ => [0, 0, 1],
            };
            assert_eq!(ends, wanted, "cancelled before poll {poll}: {heard:?}");
            assert_eq!(count("settled"), 1);
            assert_eq!(count("tool-start"), count("tool-end"), "{heard:?}");
            seen.iter_mut().zip(ends).for_each(|(seen, end)| *seen += end);
        }
    }
    assert!(seen.iter().all(|count| *count > 20), "{seen:?}");
}

/// [AL-108]
#[tokio::test]
async fn a_run_that_was_cancelled_before_calls_no_model() {
    let log = Log::default();
    let model = two_steps();
    let agent = agent(&model).with_hooks(log.hooks("h"));
    let cancel = CancellationToken::new();
    cancel.cancel();
    run(agent.stream([Message::user("Go.")], cancel.clone())).await;
    assert_eq!(log.take(), ["h start", "h abort", "h settled cancelled"]);
    assert!(agent.generate("Go.", cancel).await.unwrap_err().is_cancelled());
    assert_eq!(log.take(), ["h start", "h abort", "h settled cancelled"]);
    assert!(model.requests().is_empty());
}

/// [AL-109]
#[tokio::test]
async fn a_dropped_run_is_settled_once() {
    let log = Log::default();
    let agent = agent(&two_steps()).with_hooks(log.hooks("h"));
    drop(ask(&agent));
    assert_eq!(log.take(), ["h settled cancelled"], "never polled");
    let mut running = ask(&agent);
    while !matches!(running.next().await, Some(crate::AgentEvent::Step(..))) {}
    log.take();
    drop(running);
    assert_eq!(log.take(), ["h settled cancelled"]);
}

/// [AL-115]
#[tokio::test(start_paused = true)]
async fn an_error_in_hand_beats_a_cancel_that_comes_later() {
    let log = Log::default();
    let cancel = CancellationToken::new();
    let cancels = {
        let cancel = cancel.clone();
        Hooks::new().on_error(move |_| {
            let cancel = cancel.clone();
            async move {
                cancel.cancel();
                tokio::time::sleep(Duration::from_secs(1)).await;
                Ok(OnError::Retry)
            }
        })
    };
    let model = failing();
    let agent = agent(&model).with_hooks(cancels).with_hooks(log.hooks("h"));
    let ran = run(agent.stream([Message::user("Go.")], cancel)).await;
    assert_eq!(ran.outcome.as_str(), "failed");
    assert_eq!(model.requests().len(), 1, "a cancelled run makes no further call");
    assert!(matches!(ran.last(), UiChunk::Error { .. }));
    let heard = log.take();
    assert_eq!(heard.iter().filter(|line| line.contains("error")).count(), 1, "{heard:?}");
    assert!(!heard.contains(&"h abort".to_owned()));
}

/// [AL-100]
#[tokio::test]
async fn a_control_of_the_callers_takes_part_beside_the_hooks() {
    let model = two_steps();
    let log = Log::default();
    struct Own(Log);
    #[async_trait::async_trait]
    impl ai_core::LoopControl for Own {
        async fn prepare_step(&self, step: &ai_core::StepView<'_>) -> StepOverrides {
            self.0.add(format!("own prepare {}", step.step()));
            let mut said = StepOverrides::default();
            said.system = Some("own".to_owned());
            said
        }
        async fn on_end(&self, _: &ai_core::RunEnd) {
            self.0.add("own end");
        }
        fn settled(&self, _: &ai_core::RunEnd) {
            self.0.add("own settled");
        }
    }
    let agent = agent(&model).with_hooks(log.hooks("h"));
    let options = RunOptions::default().with_control(Arc::new(Own(log.clone())));
    run(agent.stream_with([Message::user("Go.")], options)).await;
    let heard = log.take();
    let order = ["own prepare 1", "h prepare 1", "h finish", "own end", "h settled finished", "own settled"];
    let at: Vec<_> = order.iter().map(|what| heard.iter().position(|line| line == what).unwrap()).collect();
    assert!(at.is_sorted(), "{heard:?}");
    assert_eq!(*model.requests()[0].messages[0], Message::system("own"));
}

/// [AL-107]
#[test]
fn hooks_need_no_timer_and_no_runtime_while_they_do_not_wait() {
    let log = Log::default();
    let agent = agent(&two_steps()).with_hooks(log.hooks("h"));
    let reply = agent.generate("Go.", CancellationToken::new()).now_or_never().unwrap().unwrap();
    assert_eq!(reply.text, "It is noon.");
    assert!(log.take().contains(&"h finish".to_owned()));
}
