//! Steps that are tried again, and runs that go on later.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ai_core::run::{Outcome, RunSnapshot};
use ai_core::{Approvals, Decision, OnError};
use ai_provider::{
    CancellationToken, ErrorClass, FailedAttempt, GaveUp, Message, ModelError, Request, RetryError,
    StreamPart, TargetId, ToolCall, UserPart,
};
use ai_testkit::{Script, ScriptedModel};
use futures_util::StreamExt;

use super::protocol::check;
use super::support::{Ran, agent, ask, run, tool_loop};
use crate::{Agent, AgentEvent, AgentStream, ErrorContext, Hooks, Timeouts, UiChunk, UiProtocol};

fn broken() -> ModelError {
    ModelError::new(ErrorClass::Transport, "reset")
}

/// Asks for a retry each time, and keeps what it was told.
fn retrying(agent: Agent) -> (Agent, Arc<Mutex<Vec<ErrorContext>>>) {
    let told: Arc<Mutex<Vec<ErrorContext>>> = Arc::default();
    let keep = Arc::clone(&told);
    let hooks = Hooks::new().on_error(move |failed| {
        keep.lock().unwrap().push(failed);
        async { Ok(OnError::Retry) }
    });
    (agent.with_hooks(hooks), told)
}

fn last_text(request: &Request) -> Option<String> {
    match &**request.messages.last()? {
        Message::User(user) => user.parts.iter().find_map(|part| match part {
            UserPart::Text(text) => Some(text.text.clone()),
            _ => None,
        }),
        _ => None,
    }
}

fn count(ran: &Ran, kind: &str) -> usize {
    ran.only(&[kind]).len()
}

/// [AL-112] [AL-113]
#[tokio::test]
async fn a_step_that_broke_off_is_made_again_and_nothing_else_is() {
    let model = ScriptedModel::new()
        .reply(Script::tool_reply("a", "echo", r#"{"text": "once"}"#))
        .reply(Script::new().text("It was").error(broken()))
        .reply(Script::text_reply("It was once."));
    let (agent, told) = retrying(agent(&model));
    let ran = run(ask(&agent)).await;
    assert_eq!(ran.outcome, Outcome::Finished);
    assert_eq!((count(&ran, "tool-output-available"), count(&ran, "reset-step"), ran.steps), (1, 1, 2));
    let told = told.lock().unwrap();
    assert_eq!((told.len(), told[0].step, told[0].may_retry), (1, 2, true));
    assert_eq!(told[0].partial.text(), "It was");

    let end = ran.stream.run_end().unwrap();
    let failed = end.snapshot.run().failed_steps();
    assert_eq!((failed.len(), failed[0].step, failed[0].partial.text().as_str()), (1, 2, "It was"));
    assert_eq!(*end.new_messages[2], Message::assistant("It was once."));
    assert_eq!(end.new_messages.len(), 3, "what broke off is no part of the history");

    let requests = model.requests();
    let (before, after) = (&requests[1].messages, &requests[2].messages);
    assert_eq!(&after[..before.len()], &before[..], "the note stands at the tail");
    assert_eq!(after.len(), before.len() + 1);
    assert_eq!(requests[1].tools, requests[2].tools);
    assert!(
        last_text(&requests[2]).unwrap().starts_with("Note from the program: your answer to this broke off")
    );
}

/// [AL-113]
#[tokio::test]
async fn a_step_that_said_nothing_is_made_again_without_a_word() {
    let model = ScriptedModel::new().reply(Script::new().error(broken())).reply(Script::text_reply("Well."));
    let (agent, _) = retrying(agent(&model));
    let reply = agent.generate("Go.", CancellationToken::new()).await.unwrap();
    let requests = model.requests();
    assert_eq!(requests[0].messages, requests[1].messages);
    assert_eq!((reply.text.as_str(), reply.failed_steps().len()), ("Well.", 1));
    assert_eq!(reply.failed_steps()[0].error.class, ErrorClass::Transport);
}

fn given_up() -> ModelError {
    let attempt =
        FailedAttempt { attempt: 1, target: TargetId::new("p", "m", ""), key: None, error: broken() };
    broken().with_source(RetryError::new(vec![attempt], Vec::new(), GaveUp::Exhausted))
}

/// [AL-114]
#[tokio::test]
async fn a_step_is_not_made_again_where_it_could_do_something_twice() {
    let search = ToolCall { provider_executed: true, ..ToolCall::new("s", "search", "{}") };
    let searched = Script::new().part(StreamPart::ToolCall(Box::new(search)));
    let refused = [
        ("behind a retrying model", Script::new().error(given_up()), UiProtocol::V7),
        ("behind one that broke off", Script::new().text("It").error(given_up()), UiProtocol::V7),
        ("after a tool of the provider's", searched.error(broken()), UiProtocol::V7),
        ("where a client cannot take back", Script::new().text("It").error(broken()), UiProtocol::V6),
    ];
    for (what, script, protocol) in refused {
        let model = ScriptedModel::new().repeat(script);
        let (agent, told) = retrying(agent(&model).with_ui_protocol(protocol));
        let ran = run(ask(&agent)).await;
        assert_eq!((ran.outcome.as_str(), model.requests().len()), ("failed", 1), "{what}");
        assert!(matches!(ran.last(), UiChunk::Error { .. }));
        let told = told.lock().unwrap();
        assert_eq!((told.len(), told[0].may_retry), (1, false), "{what}");
    }
    let model = ScriptedModel::new().repeat(Script::new().error(broken()));
    let (agent, told) = retrying(agent(&model).with_ui_protocol(UiProtocol::V5));
    run(ask(&agent)).await;
    assert_eq!(model.requests().len(), 2, "nothing was shown that a client had to take back");
    let may: Vec<_> = told.lock().unwrap().iter().map(|failed| failed.may_retry).collect();
    assert_eq!(may, [true, false], "the bound is one retry");
}

/// A run that does not begin with its first step.
struct Later {
    chunks: Vec<UiChunk>,
    outcome: Outcome,
    steps: Vec<u32>,
    stream: AgentStream,
}

impl Later {
    fn kinds(&self) -> Vec<&str> {
        self.chunks.iter().map(UiChunk::kind).collect()
    }
}

async fn go_on(mut stream: AgentStream) -> Later {
    let (mut chunks, mut steps, mut outcome) = (Vec::new(), Vec::new(), None);
    while let Some(event) = stream.next().await {
        match event {
            AgentEvent::Chunk(chunk) => chunks.push(chunk),
            AgentEvent::Step(record, _) => steps.push(record.step),
            AgentEvent::End(end) => outcome = Some(end),
            AgentEvent::Attempt(_) => {}
        }
    }
    Later { chunks, steps, outcome: outcome.unwrap(), stream }
}

async fn stored_after_first_step(agent: &Agent) -> RunSnapshot {
    let mut running = ask(agent);
    loop {
        if let Some(AgentEvent::Step(_, snapshot)) = running.next().await {
            let stored = serde_json::to_vec(&snapshot).unwrap();
            return RunSnapshot::from_json(&stored).unwrap();
        }
    }
}

/// [AL-116]
#[tokio::test]
async fn a_stored_run_goes_on_behind_its_last_step() {
    let model = ScriptedModel::new()
        .reply(Script::tool_reply("a", "echo", r#"{"text": "once"}"#))
        .repeat(Script::text_reply("It was once."));
    let agent = Agent::new(tool_loop(&model));
    let stored = stored_after_first_step(&agent).await;
    let before = model.requests().len();
    let ran = go_on(agent.resume(stored, CancellationToken::new())).await;
    assert_eq!((ran.outcome.as_str(), &ran.steps[..]), ("finished", &[2][..]));
    assert!(!ran.kinds().contains(&"tool-output-available"), "no tool runs again");
    let start = UiChunk::Start { message_id: None, message_metadata: None };
    assert_eq!(ran.chunks[0], start, "the client goes on with the message it has");
    assert_eq!(check(&ran.chunks), Ok(()));
    assert_eq!(model.requests().len(), before + 1);
    assert_eq!(ran.stream.new_messages().len(), 3, "what the stored run had added is there too");
}

/// [AL-116] [AL-113]
#[tokio::test]
async fn a_run_that_failed_goes_on_where_it_broke_off() {
    let model = ScriptedModel::new()
        .reply(Script::tool_reply("a", "echo", r#"{"text": "once"}"#))
        .reply(Script::new().text("It was").error(broken()))
        .repeat(Script::text_reply("It was once."));
    let agent = Agent::new(tool_loop(&model));
    let error = agent.generate("Go.", CancellationToken::new()).await.unwrap_err();
    let stored = error.partial().run.clone().unwrap();
    let ran = go_on(agent.resume(stored, CancellationToken::new())).await;
    assert_eq!((ran.outcome.as_str(), &ran.steps[..]), ("finished", &[2][..]));
    assert!(!ran.kinds().contains(&"tool-output-available"), "no tool runs again");
    let run_end = ran.stream.run_end().unwrap();
    assert_eq!(run_end.snapshot.run().failed_steps()[0].partial.text(), "It was");
    assert!(last_text(&model.requests()[2]).unwrap().contains("broke off"));

    let again = go_on(agent.resume(run_end.snapshot.clone(), CancellationToken::new())).await;
    assert_eq!((again.kinds(), model.requests().len()), (vec!["start", "finish"], 3), "it is over");
}

/// [AL-116]
#[tokio::test]
async fn a_run_that_was_cancelled_goes_on() {
    let cancel = CancellationToken::new();
    let model = ScriptedModel::new()
        .reply(Script::tool_reply("a", "hangs", "{}"))
        .repeat(Script::text_reply("I did not see its result."));
    let agent = Agent::new(tool_loop(&model));
    let cancels = {
        let cancel = cancel.clone();
        Hooks::new().on_tool_execution_start(move |_| {
            cancel.cancel();
            async { Ok(()) }
        })
    };
    let running = run(agent.clone().with_hooks(cancels).stream([Message::user("Go.")], cancel)).await;
    assert_eq!((running.outcome.as_str(), running.steps), ("cancelled", 1));
    let running = running.stream;
    let stored = running.run_end().unwrap().snapshot.clone();
    let ran = go_on(agent.resume(stored, CancellationToken::new())).await;
    assert_eq!((ran.outcome.as_str(), &ran.steps[..]), ("finished", &[2][..]));
    assert_eq!(model.requests().len(), 2);
}

/// [AL-117]
#[tokio::test]
async fn an_approval_is_answered_in_the_message_that_asked() {
    let model =
        ScriptedModel::new().reply(Script::tool_reply("a", "asks", "{}")).repeat(Script::text_reply("Done."));
    let agent = Agent::new(tool_loop(&model));
    let waiting = run(ask(&agent)).await;
    assert_eq!(waiting.outcome.as_str(), "awaiting-approval");
    let stored = waiting.stream.run_end().unwrap().snapshot.clone();
    let running = agent.resume(stored, CancellationToken::new());
    running.handle().decide(&"a".into(), Decision::approve()).unwrap();
    let ran = go_on(running).await;
    assert_eq!(
        ran.kinds(),
        [
            "start",
            "tool-approval-response",
            "tool-output-available",
            "start-step",
            "text-start",
            "text-delta",
            "text-end",
            "finish-step",
            "finish"
        ]
    );
    assert_eq!(ran.chunks[0], UiChunk::Start { message_id: None, message_metadata: None });
}

/// [AL-273]
#[tokio::test(start_paused = true)]
async fn the_time_in_which_a_person_decides_keeps_no_step_from_being_tried_again() {
    let model = ScriptedModel::new()
        .reply(Script::tool_reply("a", "asks", "{}"))
        .reply(Script::new().text("It").error(broken()))
        .reply(Script::text_reply("It is done."));
    let agent = Agent::new(tool_loop(&model).with_approvals(Approvals::InPlace))
        .with_timeouts(Timeouts::new().with_total(Duration::from_secs(60)));
    let (agent, told) = retrying(agent);
    let mut running = ask(&agent);
    let handle = running.handle().clone();
    let decide = async {
        tokio::time::sleep(Duration::from_secs(100)).await;
        handle.decide(&"a".into(), Decision::approve()).unwrap();
    };
    let read = async { while running.next().await.is_some() {} };
    futures_util::future::join(decide, read).await;
    assert_eq!(running.run_end().unwrap().outcome, Outcome::Finished);
    assert_eq!((told.lock().unwrap().len(), model.requests().len()), (1, 3));
}

/// [AL-273]
#[tokio::test(start_paused = true)]
async fn a_failure_is_told_once_however_the_run_is_cut_meanwhile() {
    let model = ScriptedModel::new().repeat(Script::new().text("It").error(broken()));
    for late in [false, true] {
        let told: Arc<Mutex<u32>> = Arc::default();
        let (keep, cancel) = (Arc::clone(&told), CancellationToken::new());
        let cut = cancel.clone();
        let hooks = Hooks::new().on_error(move |_| {
            *keep.lock().unwrap() += 1;
            let cut = cut.clone();
            async move {
                match late {
                    true => tokio::time::sleep(Duration::from_secs(2)).await,
                    false => cut.cancel(),
                }
                Ok(OnError::Retry)
            }
        });
        let limits = Timeouts::new().with_total(Duration::from_secs(1));
        let agent = agent(&model).with_hooks(hooks).with_timeouts(limits);
        let ran = run(agent.stream([Message::user("Go.")], cancel)).await;
        assert!(matches!(ran.outcome, Outcome::Failed { .. }), "{late}: {:?}", ran.outcome);
        assert_eq!(*told.lock().unwrap(), 1, "{late}");
    }
    assert_eq!(model.requests().len(), 2, "none was tried again");
}
