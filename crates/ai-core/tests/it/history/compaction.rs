use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ai_core::history::{Compaction, estimate_tokens};
use ai_core::run::Outcome;
use ai_core::{RunEnd, RunOptions, ToolLoop, ToolSet};
use ai_provider::{
    AssistantPart, ErrorClass, Message, ModelError, TextPart, ToolCall, ToolOutput, ToolResult, UnifiedFinish,
};
use ai_testkit::{Script, ScriptedModel};
use futures_util::StreamExt;
use proptest::prelude::*;

use super::{any_history, assistant, history};
use crate::middleware::block_on;
use crate::support::{check_history, echo};

/// Says what it was given, in a word.
fn counting(window: u64, asked: &Arc<AtomicUsize>) -> Compaction {
    let asked = Arc::clone(asked);
    Compaction::new(window, move |old| {
        let number = asked.fetch_add(1, Ordering::SeqCst) + 1;
        async move { Ok(format!("summary {number} of {} messages", old.len())) }
    })
}

fn call(at: usize, input: u64, output: u64) -> Script {
    Script::new()
        .tool_call(format!("call{at}"), "echo", r#"{"text":"x"}"#)
        .usage(input, output)
        .finish(UnifiedFinish::ToolCalls)
}

async fn run(
    replies: Vec<Script>,
    history: Vec<Arc<Message>>,
    compaction: Compaction,
) -> (RunEnd, ScriptedModel) {
    let model = replies.into_iter().fold(ScriptedModel::new(), ScriptedModel::reply);
    let model = model.reply(Script::text_reply("done"));
    let agent = ToolLoop::new(Arc::new(model.clone())).with_tools(ToolSet::new().with(echo()).unwrap());
    let options = RunOptions::default().with_control(Arc::new(compaction));
    let mut events = agent.start_shared(history, options).1;
    loop {
        if let Some(ai_core::LoopEvent::End(end)) = events.next().await {
            return (*end, model);
        }
    }
}

fn texts(messages: &[Arc<Message>]) -> Vec<String> {
    let text = |message: &Arc<Message>| match &**message {
        Message::System(message) => message.text.clone(),
        Message::Assistant(message) if message.tool_calls().count() > 0 => "calls".to_owned(),
        Message::Assistant(message) => message.text(),
        Message::User(message) => match &message.parts[0] {
            ai_provider::UserPart::Text(part) => part.text.clone(),
            other => format!("{other:?}"),
        },
        _ => "results".to_owned(),
    };
    messages.iter().map(text).collect()
}

const SUMMARY: &str = "A summary of the conversation so far:\n\n";

/// [AC-287]
#[tokio::test]
async fn it_is_done_past_the_threshold_by_what_was_reported() {
    for (input, output, expected) in [(80_000, 0, 1), (70_000, 15_000, 1), (79_000, 900, 0), (5, 5, 0)] {
        let asked = Arc::default();
        run(vec![call(1, input, output)], history("u"), counting(100_000, &asked)).await;
        assert_eq!(asked.load(Ordering::SeqCst), expected, "{input} + {output}");
    }
    let asked = Arc::default();
    let unreported =
        Script::new().tool_call("call1", "echo", r#"{"text":"x"}"#).finish(UnifiedFinish::ToolCalls);
    run(vec![unreported], history("u"), counting(100_000, &asked)).await;
    assert_eq!(asked.load(Ordering::SeqCst), 0, "tiny text, and nothing reported");

    let big = Script::new()
        .tool_call("call1", "echo", &serde_json::json!({ "text": "a".repeat(60_000) }).to_string())
        .usage(70_000, 0)
        .finish(UnifiedFinish::ToolCalls);
    let asked = Arc::default();
    run(vec![big], history("u"), counting(100_000, &asked)).await;
    assert_eq!(asked.load(Ordering::SeqCst), 1, "70,000 and a result of 15,000");

    let mut long = history("uau");
    long[1] = Arc::new(Message::assistant("word ".repeat(80_000)));
    let asked = Arc::default();
    let (_, model) = run(vec![], long, counting(100_000, &asked)).await;
    assert_eq!(texts(&model.requests()[0].messages)[0], format!("{SUMMARY}summary 1 of 2 messages"));
}

/// [AC-288]
#[tokio::test]
async fn instructions_stay_and_the_last_turns_do() {
    let of = |letters: &str, keep| {
        let compaction = counting(100, &Arc::default()).with_keep(keep);
        let messages = history(letters);
        async move { compaction.compact(&messages).await.unwrap().map(|history| texts(&history)) }
    };
    let summary = |of: usize| format!("{SUMMARY}summary 1 of {of} messages");
    assert_eq!(of("sua2ua", 0).await.unwrap(), ["system 0".to_owned(), summary(5), "assistant 5".to_owned()]);
    let turn = estimate_tokens(&history("2"));
    let two = of("sua2", turn + 1).await.unwrap();
    assert_eq!(two, ["system 0".to_owned(), summary(2), "calls".to_owned(), "results".to_owned()]);
    assert_eq!(of("sua2ua", u64::MAX).await, None, "all of it fits");
    for nothing in ["", "s", "ss", "u", "s2"] {
        assert_eq!(of(nothing, 0).await, None, "{nothing}");
    }
    let instructions = of("suasua", 0).await.unwrap();
    assert_eq!(
        instructions,
        ["system 0".to_owned(), "system 3".to_owned(), summary(3), "assistant 5".to_owned()]
    );
}

/// [AC-288]
#[test]
fn no_call_is_parted_from_its_result() {
    let (cases, compacted) = (Cell::new(0), Cell::new(0));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(500));
    runner
        .run(&(any_history(), 0u64..150), |(messages, keep)| {
            cases.set(cases.get() + 1);
            let compaction = counting(100, &Arc::default()).with_keep(keep);
            if let Some(after) = block_on(compaction.compact(&messages)).unwrap() {
                compacted.set(compacted.get() + 1);
                prop_assert_eq!(check_history(&after), Ok(()));
                let at = after
                    .iter()
                    .position(|message| texts(std::slice::from_ref(message))[0].starts_with(SUMMARY))
                    .unwrap();
                let kept = &after[at + 1..];
                prop_assert!(!kept.is_empty());
                prop_assert_eq!(kept, &messages[messages.len() - kept.len()..], "the end, as it was");
                let turns = kept.iter().filter(|message| !matches!(***message, Message::Tool(_))).count();
                prop_assert!(turns == 1 || estimate_tokens(kept) <= keep);
            }
            Ok(())
        })
        .unwrap();
    assert!(compacted.get() * 3 > cases.get(), "{} of {}", compacted.get(), cases.get());
}

/// [AC-288]
#[tokio::test]
async fn a_result_that_comes_late_keeps_its_call() {
    let deferred = ToolCall { provider_executed: true, ..ToolCall::new("late", "f", "{}") };
    let messages = [
        Message::user("1"),
        assistant(vec![AssistantPart::ToolCall(deferred)]),
        Message::user("2"),
        assistant(vec![
            AssistantPart::ToolResult(ToolResult::new("late", "f", ToolOutput::Text("x".to_owned()))),
            AssistantPart::Text(TextPart::new("there")),
        ]),
    ];
    let messages: Vec<_> = messages.into_iter().map(Arc::new).collect();
    let after = counting(100, &Arc::default()).with_keep(0).compact(&messages).await.unwrap().unwrap();
    assert_eq!(after[1..], messages[1..], "from the call on");
}

/// [AC-289]
#[tokio::test]
async fn it_is_done_once_each_time_the_threshold_is_passed() {
    let asked: Arc<AtomicUsize> = Arc::default();
    // Over the threshold and staying there, then below it, then over it again.
    let inputs = [90, 91, 92, 40, 50, 95, 96];
    let replies = inputs.iter().enumerate().map(|(at, input)| call(at, *input, 0)).collect();
    let compaction = counting(1_000_000, &asked).with_threshold(60).with_keep(0);
    let (end, model) = run(replies, history("u"), compaction).await;
    assert_eq!(end.outcome, Outcome::Finished);
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    let requests = model.requests();
    let summaries = requests.iter().map(|request| {
        texts(&request.messages).iter().filter(|text| text.starts_with(SUMMARY)).cloned().collect::<Vec<_>>()
    });
    let summaries: Vec<_> = summaries.map(|summaries| summaries.join("|")).collect();
    let (first, second) = (format!("{SUMMARY}summary 1 of 1 messages"), format!("{SUMMARY}summary 2"));
    assert_eq!(summaries[0], "");
    assert!(summaries[1..6].iter().all(|summary| *summary == first), "the new history stays: {summaries:?}");
    assert!(summaries[6..].iter().all(|summary| summary.starts_with(&second)), "{summaries:?}");
    for request in model.requests() {
        check_history(&request.messages).unwrap();
    }
    assert_eq!(end.new_messages.len(), 15, "what the run added is whole");
}

/// [AC-290]
#[tokio::test]
async fn a_summary_that_fails_changes_nothing_and_is_tried_three_times() {
    for empty in [true, false] {
        let asked: Arc<AtomicUsize> = Arc::default();
        let count = Arc::clone(&asked);
        let compaction = Compaction::new(100, move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            async move {
                if empty { Ok(" ".to_owned()) } else { Err(ModelError::new(ErrorClass::Server, "boom")) }
            }
        });
        let replies = (0..6).map(|at| call(at, 90, 0)).collect();
        let (end, model) = run(replies, history("u"), compaction).await;
        assert_eq!((end.outcome, asked.load(Ordering::SeqCst)), (Outcome::Finished, 3));
        assert_eq!(model.requests().last().unwrap().messages.len(), 13);
    }
    let failing = Compaction::new(100, |_| async { Err(ModelError::new(ErrorClass::Server, "boom")) });
    let error = failing.with_keep(0).compact(&history("uau")).await.unwrap_err();
    assert_eq!(error.message(), "boom");
}

/// [AC-291]
#[tokio::test]
async fn a_model_summarises_what_it_reads_as_text() {
    let mut old = history("su1u");
    old[1] = Arc::new(Message::user(format!("begin {} end", "x".repeat(50_000))));
    let summariser =
        ScriptedModel::new().repeat(Script::new().text("short").usage(30, 10).finish(UnifiedFinish::Stop));
    let compaction = Compaction::by_model(20_000, Arc::new(summariser.clone())).with_keep(0);
    let after = compaction.compact(&old).await.unwrap().unwrap();
    assert_eq!(texts(&after), ["system 0".to_owned(), format!("{SUMMARY}short"), "user 3".to_owned()]);
    assert_eq!(compaction.usage().total(), Some(40));
    let request = &summariser.requests()[0];
    assert_eq!(request.settings.max_output_tokens, Some(5_000));
    assert!(request.tools.is_empty() && request.messages.len() == 2);
    let text = &texts(&request.messages)[1];
    for part in ["User: begin xxx", "xxx end", "characters left out", "Call of f: {}", "Result of f: of c2.0"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.len() < 6_000 && !text.contains("system 0"), "{}", text.len());

    for (window, most) in [(1_000, 1_000), (8_000, 4_096), (1_000_000, 16_384)] {
        let compaction = Compaction::by_model(window, Arc::new(summariser.clone())).with_keep(0);
        compaction.compact(&history("uau")).await.unwrap();
        assert_eq!(summariser.requests().last().unwrap().settings.max_output_tokens, Some(most));
    }
    let many: Vec<_> =
        (0..400).map(|at| Arc::new(Message::user(format!("{at} {}", "y".repeat(3_000))))).collect();
    compaction.compact(&many).await.unwrap();
    assert!(texts(&summariser.requests().last().unwrap().messages)[1].len() < 41_000, "within its window");
}

/// [AC-290]
#[tokio::test]
async fn it_ends_with_the_run() {
    let cancel = ai_provider::CancellationToken::new();
    let begun = Arc::new(Mutex::new(false));
    let (token, flag) = (cancel.clone(), Arc::clone(&begun));
    let hanging = Compaction::new(10, move |_| {
        *flag.lock().unwrap() = true;
        token.cancel();
        std::future::pending()
    });
    let model = ScriptedModel::new().reply(Script::text_reply("never"));
    let options = RunOptions::default().with_cancel(cancel).with_control(Arc::new(hanging.with_keep(0)));
    let (_handle, events) = ToolLoop::new(Arc::new(model.clone())).start_shared(history("uaua"), options);
    let events: Vec<_> = events.collect().await;
    let Some(ai_core::LoopEvent::End(end)) = events.last() else { panic!("{events:?}") };
    assert!(matches!(end.outcome, Outcome::Cancelled { .. }));
    assert!(*begun.lock().unwrap() && model.requests().is_empty());
}
