//! The conversation as models speak it, of runs that were cut anywhere.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use ai_core::{Decision, StepOverrides};
use ai_provider::{
    AssistantMessage, AssistantPart, CancellationToken, ErrorClass, Id, LanguageModel, Message, ModelError,
    Origin, ProviderMetadata, ProviderOptions, StreamPart, TargetId, ToolCall, ToolOutput, ToolPart,
    ToolResult, UnifiedFinish,
};
use ai_testkit::{Script, ScriptedModel};
use futures_util::StreamExt;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

use super::support::{agent, ask, tool_loop};
use crate::{
    Agent, AgentEvent, AgentStream, Hooks, Interrupted, Missing, Transcript, TranscriptView, UiProtocol,
    Unresolved,
};

fn question() -> Arc<Message> {
    Arc::new(Message::user("Go."))
}

/// Why models would refuse these messages, if they would: each call of this side has one result, in the message right
/// behind it, and there is no other result.
fn refused(messages: &[Arc<Message>]) -> Option<String> {
    let mut open: HashMap<Id, usize> = HashMap::new();
    for (at, message) in messages.iter().enumerate() {
        if let Message::Tool(tool) = &**message {
            for part in &tool.parts {
                if let ToolPart::ToolResult(result) = part {
                    let made = open.remove(&result.tool_call_id);
                    if made != Some(at - 1) {
                        return Some(format!("{at}: a result of `{}` answers nothing", result.tool_call_id));
                    }
                }
            }
        }
        if let Some(call) = open.keys().next() {
            return Some(format!("{at}: call `{call}` has no result"));
        }
        if let Message::Assistant(answer) = &**message {
            let calls = answer.tool_calls().filter(|call| !call.provider_executed);
            open.extend(calls.map(|call| (call.id.clone(), at)));
            let inputs = answer.tool_calls().map(|call| call.input.as_str());
            if let Some(half) = inputs.into_iter().find(|input| *input == HALF) {
                return Some(format!("{at}: half an input became a call: {half}"));
            }
        }
    }
    (!open.is_empty()).then(|| "the last calls have no result".to_owned())
}

const HALF: &str = "{\"text\":\"ha";

fn shared(transcript: &Transcript) -> Vec<Arc<Message>> {
    transcript.messages.iter().map(|entry| Arc::clone(&entry.message)).collect()
}

async fn events(stream: AgentStream) -> Vec<AgentEvent> {
    stream.collect().await
}

fn view(events: &[AgentEvent]) -> Transcript {
    let mut view = TranscriptView::new([question()]);
    events.iter().for_each(|event| view.push(event));
    view.transcript()
}

fn server_call(id: &str) -> StreamPart {
    StreamPart::ToolCall(Box::new(ToolCall { provider_executed: true, ..ToolCall::new(id, "search", "{}") }))
}

fn half_input(id: &str) -> [StreamPart; 2] {
    let start = StreamPart::ToolInputStart {
        id: id.into(),
        tool_name: "echo".to_owned(),
        provider_executed: false,
        dynamic: false,
        title: None,
    };
    [start, StreamPart::ToolInputDelta { id: id.into(), delta: HALF.to_owned() }]
}

fn broken() -> ModelError {
    ModelError::new(ErrorClass::Transport, "reset")
}

/// [AL-255]
#[tokio::test]
async fn a_run_that_is_complete_is_the_history_and_what_it_added() {
    let script = Script::new()
        .reasoning("Hm.")
        .tool_call("a", "echo", r#"{"text":"hi"}"#)
        .tool_call("b", "fails", "{}")
        .tool_call("c", "echo", "{\"text\":")
        .usage(1, 1)
        .finish(UnifiedFinish::ToolCalls);
    let model = ScriptedModel::new()
        .reply(script)
        .reply(Script::new().text("Done.").usage(1, 1).finish(UnifiedFinish::Stop));
    let mut stream = ask(&agent(&model));
    let mut view = TranscriptView::new([question()]);
    while let Some(event) = stream.next().await {
        view.push(&event);
    }
    let transcript = view.transcript();
    let whole: Vec<_> = [question()].into_iter().chain(stream.new_messages()).collect();
    assert_eq!(shared(&transcript), whole);
    assert_eq!((transcript.is_incomplete(), &transcript.missing[..]), (false, &[][..]));
    assert_eq!(transcript.history(Interrupted::LeaveOut), whole);
    assert_eq!(refused(&whole), None);
}

/// One step after another, each with its own way to go on.
#[derive(Clone, Debug)]
struct Case {
    answers: Vec<(Vec<u8>, bool)>,
    cut: usize,
}

fn script((moves, fails): &(Vec<u8>, bool), answer: usize) -> Script {
    let mut script = Script::new();
    for (at, one) in moves.iter().enumerate() {
        let id = format!("c{answer}-{at}");
        script = match one % 7 {
            0 => script.text("Some words. "),
            1 => script.reasoning("Hm."),
            2 => script.tool_call(id, "echo", r#"{"text":"hi"}"#),
            3 => script.tool_call(id, "fails", "{}"),
            4 => script.tool_call(id, "echo", "{\"text\":"),
            5 => script.part(server_call(&id)),
            _ if *fails => script.parts(half_input(&id)),
            _ => script.tool_call(id, "progress", "{}"),
        };
    }
    if *fails { script.error(broken()) } else { script.usage(1, 1).finish(UnifiedFinish::ToolCalls) }
}

/// [AL-256]
#[test]
fn a_transcript_is_complete_wherever_its_stream_is_cut() {
    const CASES: u32 = 1500;
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (cut_calls, cut_inputs, whole) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let answers =
        prop::collection::vec((prop::collection::vec(any::<u8>(), 1..6), prop::bool::weighted(0.3)), 1..4);
    let cases = (answers, 0..60_usize).prop_map(|(answers, cut)| Case { answers, cut });
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(CASES) });
    let tried = runner.run(&cases, |case| {
        let scripts = case.answers.iter().enumerate().map(|(at, answer)| script(answer, at));
        let model = scripts.fold(ScriptedModel::new(), ScriptedModel::reply).repeat(Script::text_reply("The end."));
        let events = runtime.block_on(events(ask(&agent(&model))));
        let cut = case.cut.min(events.len());
        let transcript = view(&events[..cut]);
        let messages = shared(&transcript);
        prop_assert_eq!(refused(&messages), None, "{:#?}", transcript);
        for how in [Interrupted::LeaveOut, Interrupted::Mark] {
            prop_assert_eq!(refused(&transcript.history(how)), None, "{:?} {:#?}", how, transcript);
        }
        let ended = cut == events.len();
        prop_assert_eq!(transcript.missing.contains(&Missing::Ending), !ended);
        // What is complete is there as it will be in the end, and stays when more comes.
        let complete = transcript.messages.iter().take_while(|entry| !entry.incomplete).count();
        prop_assert!(transcript.messages[complete..].iter().all(|entry| entry.incomplete));
        let last = view(&events);
        prop_assert_eq!(&messages[..complete], &shared(&last)[..complete]);
        let result = |state| {
            move |missing: &Missing| matches!(missing, Missing::Result { state: is, .. } if *is == state)
        };
        let has = |wanted: &dyn Fn(&Missing) -> bool| transcript.missing.iter().any(wanted);
        cut_calls.set(cut_calls.get() + u32::from(has(&result(Unresolved::Unknown)) || has(&result(Unresolved::NotRun))));
        cut_inputs.set(cut_inputs.get() + u32::from(has(&|missing| matches!(missing, Missing::Input { .. }))));
        whole.set(whole.get() + u32::from(ended && !transcript.is_incomplete()));
        Ok(())
    });
    tried.unwrap();
    for (what, count) in
        [("a call without a result", cut_calls), ("half an input", cut_inputs), ("no cut", whole)]
    {
        assert!(count.get() * 20 > CASES, "only {} of {CASES} cases have {what}", count.get());
    }
}

async fn broken_answer() -> Transcript {
    let script = Script::new()
        .reasoning("Thought.")
        .text("Half")
        .tool_call("a", "clock", "{}")
        .part(server_call("s"))
        .parts(half_input("i"))
        .error(broken());
    view(&events(ask(&agent(&ScriptedModel::new().reply(script)))).await)
}

/// [AL-257] [AL-260]
#[tokio::test]
async fn what_is_missing_stands_in_the_transcript_and_in_its_json() {
    let transcript = broken_answer().await;
    let json = serde_json::to_value(&transcript).unwrap();
    assert_eq!(
        json["missing"],
        json!([
            {"type": "rest-of-answer", "step": 1},
            {"type": "usage", "step": 1},
            {"type": "result", "step": 1, "callId": "a", "tool": "clock", "state": "not-run"},
            {"type": "result", "step": 1, "callId": "s", "tool": "search", "state": "unknown"},
            {"type": "input", "step": 1, "callId": "i", "tool": "echo"},
        ])
    );
    let messages = json["messages"].as_array().unwrap();
    let frame: Vec<_> =
        messages.iter().map(|message| (&message["role"], message.get("incomplete"))).collect();
    let yes = json!(true);
    assert_eq!(
        frame,
        [(&json!("user"), None), (&json!("assistant"), Some(&yes)), (&json!("tool"), Some(&yes))]
    );
    assert_eq!(messages[1]["parts"].as_array().unwrap().len(), 4, "{}", messages[1]);
    assert_eq!(messages[2]["parts"][0]["output"]["type"], "error-text");
    let again: Transcript = serde_json::from_value(json).unwrap();
    assert_eq!(again, transcript);
}

/// [AL-258]
#[tokio::test]
async fn an_answer_that_was_cut_is_no_fact_of_the_next_turn() {
    let transcript = broken_answer().await;
    assert_eq!(transcript.history(Interrupted::LeaveOut), [question()]);
    assert_eq!(transcript.history(Interrupted::default()), [question()]);
    let marked = transcript.history(Interrupted::Mark);
    assert_eq!(marked.len(), 3);
    let Message::Assistant(answer) = &*marked[1] else { panic!() };
    assert_eq!(
        serde_json::to_value(&answer.parts).unwrap(),
        json!([
            {"type": "text", "text": "Half"},
            {"type": "text", "text": "[This answer was interrupted here. It is not complete.]"},
            {"type": "tool-call", "toolCallId": "a", "toolName": "clock", "input": "{}"},
        ]),
        "no reasoning, and no call at the provider that has no result"
    );
    // Where nothing was said, nothing is marked.
    let silent = Script::new().reasoning("Hm.").error(broken());
    let silent = view(&events(ask(&agent(&ScriptedModel::new().reply(silent)))).await);
    assert!(silent.is_incomplete());
    assert_eq!(silent.history(Interrupted::Mark), [question()]);
}

/// [AL-259]
#[tokio::test]
async fn another_provider_in_the_middle_gets_calls_as_calls_and_reasoning_as_reasoning() {
    let target = |name: &str| TargetId::new(name, "m", name);
    let sealed = |name: &str| {
        let values = ProviderOptions::default().with(name, "signature", json!("SEALED"));
        let origin = Origin { target: target(name), account: None };
        Some(Box::new(ProviderMetadata::minted(origin, values)))
    };
    let first = Script::new()
        .part(StreamPart::ReasoningStart { id: "r".into(), metadata: None })
        .part(StreamPart::ReasoningDelta { id: "r".into(), delta: "THOUGHT".to_owned(), metadata: None })
        .part(StreamPart::ReasoningEnd { id: "r".into(), metadata: sealed("acme") })
        .tool_call("a", "echo", r#"{"text":"hi"}"#)
        .usage(1, 1)
        .finish(UnifiedFinish::ToolCalls);
    let acme = ScriptedModel::new().with_target(target("acme")).reply(first);
    let other = ScriptedModel::new()
        .with_target(target("other"))
        .repeat(Script::new().text("Hi.").usage(1, 1).finish(UnifiedFinish::Stop));
    let switched: Arc<dyn LanguageModel> = Arc::new(other.clone());
    let switch = Hooks::new().prepare_step(move |step| {
        let mut overrides = StepOverrides::default();
        overrides.model = (step.step > 1).then(|| Arc::clone(&switched));
        async move { Ok(overrides) }
    });
    let events = events(ask(&agent(&acme).with_hooks(switch))).await;
    let transcript = view(&events);
    let wanted = |messages: &[Arc<Message>]| {
        let Message::Assistant(AssistantMessage { parts, .. }) = &*messages[1] else { panic!() };
        let [AssistantPart::Reasoning(thought), AssistantPart::ToolCall(call)] = &parts[..] else {
            panic!("{parts:?}")
        };
        assert_eq!((thought.text.as_str(), call.id.as_str()), ("THOUGHT", "a"));
        let origin = thought.metadata.as_ref().and_then(|metadata| metadata.origin.as_ref()).unwrap();
        assert_eq!(origin.target, target("acme"), "whoever reads it can tell that it is not its own");
        assert!(matches!(&*messages[2], Message::Tool(_)));
        assert_eq!(refused(messages), None);
    };
    // The other provider in the same run, and in the next turn, by way of the stored transcript.
    wanted(&other.requests()[0].messages);
    let stored = serde_json::to_string(&transcript).unwrap();
    let stored: Transcript = serde_json::from_str(&stored).unwrap();
    wanted(&stored.history(Interrupted::Mark));
    let texts = stored.messages.iter().filter_map(|entry| match &*entry.message {
        Message::Assistant(answer) => Some(answer.text()),
        _ => None,
    });
    assert_eq!(texts.collect::<String>(), "Hi.");
}

/// [AL-261]
#[tokio::test]
async fn a_run_that_waits_and_goes_on_has_one_transcript() {
    let model = ScriptedModel::new()
        .reply(
            Script::new()
                .text("May I?")
                .tool_call("a", "asks", "{}")
                .usage(1, 1)
                .finish(UnifiedFinish::ToolCalls),
        )
        .repeat(Script::new().text("Done.").usage(1, 1).finish(UnifiedFinish::Stop));
    let agent = Agent::new(tool_loop(&model));
    let mut first = ask(&agent);
    let mut waiting = TranscriptView::new([question()]);
    while let Some(event) = first.next().await {
        waiting.push(&event);
    }
    let waiting = waiting.transcript();
    assert_eq!(refused(&shared(&waiting)), None);
    let state = Unresolved::AwaitsApproval;
    let tool = "asks".to_owned();
    assert_eq!(waiting.missing, [Missing::Result { step: 1, call_id: "a".into(), tool, state }]);
    assert_eq!((waiting.messages.len(), waiting.is_incomplete()), (3, true));

    let stored = first.run_end().unwrap().snapshot.clone();
    let mut view = TranscriptView::resuming(&stored);
    let mut second = agent.resume(stored, CancellationToken::new());
    second.handle().decide(&"a".into(), Decision::approve()).unwrap();
    while let Some(event) = second.next().await {
        view.push(&event);
    }
    let whole = view.transcript();
    let wanted: Vec<_> = [question()].into_iter().chain(second.new_messages()).collect();
    assert_eq!((shared(&whole), whole.is_incomplete(), whole.missing.len()), (wanted, false, 0));
}

/// [AL-261]
#[tokio::test]
async fn a_run_that_goes_on_behind_a_complete_step_has_it_once() {
    let model = ScriptedModel::new()
        .reply(Script::tool_reply("a", "clock", "{}"))
        .reply(Script::new().text("Half").error(broken()))
        .repeat(Script::text_reply("Noon."));
    let agent = Agent::new(tool_loop(&model));
    let mut first = ask(&agent);
    while first.next().await.is_some() {}
    let stored = first.run_end().unwrap().snapshot.clone();
    let mut view = TranscriptView::resuming(&stored);
    let mut second = agent.resume(stored, CancellationToken::new());
    while let Some(event) = second.next().await {
        view.push(&event);
    }
    let wanted: Vec<_> = [question()].into_iter().chain(second.new_messages()).collect();
    assert_eq!((shared(&view.transcript()), wanted.len()), (wanted, 4));
    assert_eq!(view.transcript().missing, [Missing::Usage { step: 2 }], "the steps go on counting");
}

/// [AL-256]
#[tokio::test]
async fn half_a_call_at_the_end_of_a_dropped_stream_is_no_call_at_any_level() {
    let script = || Script::new().text("One moment.").parts(half_input("i")).error(broken());
    for protocol in UiProtocol::ALL {
        let agent = agent(&ScriptedModel::new().repeat(script())).with_ui_protocol(protocol);
        let events = events(ask(&agent)).await;
        for cut in 0..=events.len() {
            let transcript = view(&events[..cut]);
            let calls = transcript.messages.iter().filter_map(|entry| match &*entry.message {
                Message::Assistant(answer) => Some(answer.tool_calls().count()),
                _ => None,
            });
            assert_eq!(calls.sum::<usize>(), 0, "{protocol} {cut}");
        }
    }
}

/// [AL-257]
#[tokio::test(start_paused = true)]
async fn a_call_cut_while_it_ran_has_a_result_that_says_so() {
    let cancel = CancellationToken::new();
    let model = ScriptedModel::new().reply(Script::tool_reply("a", "hangs", "{}"));
    let stream = agent(&model).stream([question()], cancel.clone());
    let cancels = async {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        cancel.cancel();
    };
    let (events, ()) = futures_util::future::join(events(stream), cancels).await;
    let transcript = view(&events);
    let state = Unresolved::DeliveryUnknown;
    let unknown = Missing::Result { step: 1, call_id: "a".into(), tool: "hangs".to_owned(), state };
    assert_eq!(transcript.missing, [Missing::Usage { step: 1 }, unknown]);
    assert!(!transcript.is_incomplete(), "the step is complete: its call was answered");
    let messages = shared(&transcript);
    let Message::Tool(tool) = &**messages.last().unwrap() else { panic!() };
    let [ToolPart::ToolResult(ToolResult { output: ToolOutput::ErrorText(said), .. })] = &tool.parts[..]
    else {
        panic!("{tool:?}")
    };
    assert!(said.contains("unknown"), "{said}");
    // Where the stream was dropped before, nobody knows.
    let asked = events.iter().position(
        |event| matches!(event, AgentEvent::Chunk(chunk) if chunk.kind() == "tool-input-available"),
    );
    let before = view(&events[..=asked.unwrap()]);
    assert!(
        before.missing.iter().any(Missing::needs_check) && before.is_incomplete(),
        "{:?}",
        before.missing
    );
}
