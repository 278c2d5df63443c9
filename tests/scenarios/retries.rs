//! An agent on a model that tries again by itself: who retries what, and what stands in the books.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_loop::{Agent, ErrorContext, Hooks, LedgerEnd, LedgerEntry};
use ai_core::{OnError, ToolLoop};
use ai_provider::{
    CancellationToken, ErrorClass, KeyLabel, LanguageModel, Message, ModelError, UnifiedFinish,
};
use ai_testkit::{Script, ScriptedModel};
use futures_util::StreamExt;
use retry::RetryPolicy;

fn down() -> ModelError {
    ModelError::new(ErrorClass::Server, "down").with_status(503)
}

struct Ran {
    chunks: Vec<&'static str>,
    told: Vec<ErrorContext>,
    entry: LedgerEntry,
    calls: usize,
}

/// Runs an agent that asks for a retry each time, on a model with one key that is tried twice.
async fn run(model: ScriptedModel) -> Ran {
    let model = model.with_keys([KeyLabel::from("team")]);
    let policy =
        RetryPolicy::new().with_retries(1).with_jitter(false).with_base_delay(Duration::from_millis(1));
    let retrying = policy.wrap(Arc::new(model.clone()) as Arc<dyn LanguageModel>).unwrap();
    let (told, entries): (Arc<Mutex<Vec<_>>>, Arc<Mutex<Vec<_>>>) = Default::default();
    let hooks = {
        let told = Arc::clone(&told);
        Hooks::new().on_error(move |failed| {
            told.lock().unwrap().push(failed);
            async { Ok(OnError::Retry) }
        })
    };
    let ledger = {
        let entries = Arc::clone(&entries);
        move |entry| entries.lock().unwrap().push(entry)
    };
    let agent = Agent::new(ToolLoop::new(retrying)).with_hooks(hooks).with_ledger(ledger);
    let chunks: Vec<_> =
        agent.stream([Message::user("Go.")], CancellationToken::new()).chunks().collect().await;
    let chunks = chunks.iter().map(agent_loop::UiChunk::kind).filter(|kind| !kind.starts_with("data-"));
    let entry = entries.lock().unwrap().remove(0);
    let told = told.lock().unwrap().clone();
    Ran { chunks: chunks.collect(), told, entry, calls: model.requests().len() }
}

/// Before anything was shown the model beneath tries again, and the loop sees nothing of it but its events.
#[tokio::test]
async fn a_failure_before_content_is_the_models_own_affair() {
    let answer = Script::new().text("Well.").usage(3, 5).finish(UnifiedFinish::Stop);
    let ran = run(ScriptedModel::new().reply(Script::new().error(down())).reply(answer)).await;
    assert_eq!((ran.chunks.last(), ran.told.len(), ran.calls), (Some(&"finish"), 0, 2));
    let [answered] = &ran.entry.answered[..] else { panic!("{:?}", ran.entry) };
    let [failed] = &ran.entry.abandoned[..] else { panic!("{:?}", ran.entry) };
    assert_eq!((answered.attempt, answered.key.as_ref()), (2, Some(&KeyLabel::from("team"))));
    assert_eq!(answered.usage.as_ref().and_then(|usage| usage.total()), Some(8));
    assert_eq!((failed.attempt, failed.key.as_ref()), (1, Some(&KeyLabel::from("team"))));
    assert!(matches!(&failed.end, LedgerEnd::Failed { error: Some(error) } if error.status == Some(503)));
}

/// When it has given up, the loop does not begin anew.
#[tokio::test]
async fn what_the_model_has_given_up_the_loop_does_not_try_again() {
    let ran = run(ScriptedModel::new().repeat(Script::new().error(down()))).await;
    assert_eq!((ran.chunks.last(), ran.calls), (Some(&"error"), 2));
    assert_eq!((ran.told.len(), ran.told[0].may_retry), (1, false));
    assert_eq!((ran.entry.answered.len(), ran.entry.abandoned.len()), (0, 2));
}

/// After something was shown the model beneath passes the error on, and the loop takes back what was shown.
#[tokio::test]
async fn a_failure_after_content_is_the_loops() {
    let answer = Script::new().text("Well, yes.").usage(3, 5).finish(UnifiedFinish::Stop);
    let ran = run(ScriptedModel::new().reply(Script::new().text("Well").error(down())).reply(answer)).await;
    assert_eq!((ran.chunks.last(), ran.calls), (Some(&"finish"), 2));
    assert_eq!(ran.chunks.iter().filter(|kind| **kind == "reset-step").count(), 1);
    assert_eq!((ran.told.len(), ran.told[0].may_retry), (1, true));
    assert_eq!((ran.entry.answered.len(), ran.entry.abandoned.len()), (1, 1));
    assert_eq!(ran.entry.abandoned[0].step, ran.entry.answered[0].step);
    assert!(matches!(&ran.entry.abandoned[0].end, LedgerEnd::Failed { error: Some(_) }));
}
