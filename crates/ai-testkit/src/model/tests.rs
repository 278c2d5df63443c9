#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "tests fail by panicking"
)]

use std::time::Duration;

use ai_provider::{CancellationToken, LanguageModelExt, Message, UnifiedFinish, Warning};
use futures_util::FutureExt;
use tokio::time::{Instant, timeout};

use super::*;
use crate::{collect, fold};

fn ask() -> Request {
    Request::new([Message::user("Hi")])
}

fn model(script: Script) -> ScriptedModel {
    ScriptedModel::new().reply(script)
}

async fn play(script: Script) -> (Vec<StreamPart>, Option<ModelError>) {
    collect(model(script).stream(ask(), CallContext::new())).await
}

#[tokio::test]
async fn a_script_is_played_as_written() {
    let script = Script::new()
        .reasoning("Hm, well")
        .text("Let me look.")
        .tool_call("call_1", "clock", r#"{"zone":"UTC"}"#)
        .text("So.")
        .usage(5, 7)
        .finish(UnifiedFinish::ToolCalls);
    let (parts, error) = play(script).await;
    assert!(error.is_none());
    assert_eq!(parts[0], StreamPart::StreamStart { warnings: vec![] });
    assert_eq!(parts[1], StreamPart::reasoning_start("reasoning-1"));
    assert_eq!(parts[3], StreamPart::reasoning_delta("reasoning-1", "well"));
    assert_eq!(parts[6], StreamPart::text_delta("text-2", "Let "));
    assert!(parts.contains(&StreamPart::ToolInputDelta { id: "call_1".into(), delta: r#""UTC"}"#.into() }));
    assert!(parts.contains(&StreamPart::text_start("text-3")));
    let Some(StreamPart::Finish(finish)) = parts.last() else { panic!("{parts:?}") };
    assert_eq!((finish.usage.input.total, finish.usage.output.total), (Some(5), Some(7)));
    assert_eq!(finish.usage.output.reasoning, None);
}

#[tokio::test]
async fn a_tool_reply_folds_into_its_call() {
    let script = Script::tool_reply("call_1", "clock", "");
    let (answer, error) = fold(model(script).stream(ask(), CallContext::new())).await;
    assert!(error.is_none() && !answer.incomplete);
    let calls: Vec<_> = answer.message.tool_calls().collect();
    assert_eq!((calls[0].id.as_str(), calls[0].input.as_str()), ("call_1", "{}"));
    assert_eq!(answer.usage, ai_provider::Usage::default());
}

#[tokio::test]
async fn the_start_can_be_told_or_left_out() {
    let told = StreamPart::StreamStart { warnings: vec![Warning::Other { message: "odd".into() }] };
    let (parts, _) = play(Script::new().delay(Duration::ZERO).part(told.clone()).text("x")).await;
    assert_eq!(parts[0], told);
    assert!(!parts[1..].iter().any(|part| matches!(part, StreamPart::StreamStart { .. })));
    let refused = || ModelError::new(ErrorClass::Auth, "no");
    let (parts, error) = play(Script::new().error(refused())).await;
    assert_eq!((parts.len(), error.is_some()), (1, true));
    let (parts, error) = play(Script::new().without_start().error(refused())).await;
    assert_eq!((parts.len(), error.is_some()), (0, true));
}

#[tokio::test]
async fn an_end_is_an_end_without_a_finish() {
    for script in [Script::new().text("Hi"), Script::new().text("Hi").end().finish(UnifiedFinish::Stop)] {
        let (answer, error) = fold(model(script).stream(ask(), CallContext::new())).await;
        assert!(error.is_none() && answer.incomplete);
        assert_eq!(answer.message.text(), "Hi");
    }
}

#[tokio::test]
async fn replies_go_in_order_then_the_repeated_one_then_an_error() {
    let model = ScriptedModel::new().reply(Script::text_reply("a")).reply(Script::text_reply("b"));
    let repeating = model.clone();
    for expected in ["a", "b"] {
        assert_eq!(model.generate(ask(), CallContext::new()).await.unwrap().text(), expected);
    }
    let error = model.generate(ask(), CallContext::new()).await.unwrap_err().error;
    assert_eq!(error.message(), "call 3 came to a scripted model with 2 replies");
    assert!(!error.retryable());
    let repeating = repeating.repeat(Script::text_reply("c"));
    for _ in 0..3 {
        assert_eq!(repeating.generate(ask(), CallContext::new()).await.unwrap().text(), "c");
    }
    assert_eq!(model.requests().len(), 6);
}

#[tokio::test]
async fn a_call_begins_with_the_first_poll() {
    let model = ScriptedModel::new().reply(Script::text_reply("a")).reply(Script::text_reply("b"));
    drop(model.stream(ask(), CallContext::new()));
    assert_eq!((model.requests().len(), model.dropped()), (0, 0));
    let mut first = model.stream(Request::new([Message::user("1")]), CallContext::new());
    let mut second = model.stream(Request::new([Message::user("2")]), CallContext::new().with_key_index(3));
    second.next().await;
    first.next().await;
    assert_eq!(model.requests()[0].messages[0], Message::user("2").into());
    assert_eq!(model.contexts()[0].key_index, 3);
    assert_eq!(fold(second).await.0.message.text(), "a");
}

#[tokio::test]
async fn only_what_is_dropped_half_way_counts() {
    let model = ScriptedModel::new().repeat(Script::text_reply("a b c"));
    let begun = || model.stream(ask(), CallContext::new());
    let mut stream = begun();
    assert!(stream.next().await.is_some());
    drop(stream);
    assert_eq!(model.dropped(), 1);
    let mut stream = begun();
    while !matches!(stream.next().await.unwrap().unwrap(), StreamPart::Finish(_)) {}
    drop(stream);
    collect(begun()).await;
    assert_eq!(model.dropped(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stream_dropped_in_a_wait_counts() {
    let model = ScriptedModel::new().repeat(Script::new().hang());
    for dropped in 1..=2 {
        let stream = collect(model.stream(ask(), CallContext::new()));
        assert!(timeout(Duration::from_secs(1), stream).await.is_err());
        assert_eq!(model.dropped(), dropped);
    }
}

#[tokio::test(start_paused = true)]
async fn a_delay_is_tokios_time() {
    let began = Instant::now();
    let (parts, _) = play(Script::new().text("a").delay(Duration::from_secs(60)).text("b")).await;
    assert_eq!(parts.len(), 7);
    assert_eq!(began.elapsed(), Duration::from_secs(60));
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_every_wait_at_once() {
    let gate = CancellationToken::new();
    let waits = [
        Script::new().text("a").delay(Duration::from_secs(3600)),
        Script::new().text("a").hang(),
        Script::new().text("a").wait_for(gate),
    ];
    for script in waits {
        let cancel = CancellationToken::new();
        let ctx = CallContext::new().with_cancel(cancel.clone());
        let began = Instant::now();
        let later = async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            cancel.cancel();
        };
        let model = model(script.finish(UnifiedFinish::Stop));
        let ((parts, error), ()) = futures_util::future::join(collect(model.stream(ask(), ctx)), later).await;
        assert_eq!(parts.len(), 4);
        assert!(error.unwrap().is_cancelled());
        assert_eq!(began.elapsed(), Duration::from_secs(5));
        assert_eq!(model.dropped(), 0);
    }
}

#[tokio::test]
async fn cancelling_stops_the_parts_that_are_ready() {
    let cancel = CancellationToken::new();
    let model = model(Script::text_reply("a b c"));
    let mut stream = model.stream(ask(), CallContext::new().with_cancel(cancel.clone()));
    assert!(stream.next().await.unwrap().is_ok());
    cancel.cancel();
    assert!(stream.next().await.unwrap().unwrap_err().is_cancelled());
    assert!(stream.next().await.is_none());
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn a_call_cancelled_before_it_begins_asks_nothing() {
    let cancel = CancellationToken::new();
    cancel.cancel();
    let model = model(Script::text_reply("a"));
    let (parts, error) = collect(model.stream(ask(), CallContext::new().with_cancel(cancel))).await;
    assert!(parts.is_empty() && error.unwrap().is_cancelled());
    assert!(model.requests().is_empty());
}

#[tokio::test]
async fn a_finish_is_the_last_word_even_if_cancelled_after_it() {
    let cancel = CancellationToken::new();
    let model = model(Script::text_reply("a").hang());
    let mut stream = model.stream(ask(), CallContext::new().with_cancel(cancel.clone()));
    while !matches!(stream.next().await.unwrap().unwrap(), StreamPart::Finish(_)) {}
    cancel.cancel();
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn a_gate_holds_the_model_until_it_is_opened() {
    let gate = CancellationToken::new();
    let script = Script::new().text("a").wait_for(gate.clone()).text("b").finish(UnifiedFinish::Stop);
    let mut stream = model(script).stream(ask(), CallContext::new());
    for _ in 0..4 {
        assert!(stream.next().await.is_some());
    }
    assert!(stream.next().now_or_never().is_none());
    gate.cancel();
    assert_eq!(stream.next().await.unwrap().unwrap(), StreamPart::text_start("text-2"));
}

#[test]
fn the_target_reads_well() {
    let model = ScriptedModel::new();
    assert_eq!(
        (model.target().to_string().as_str(), &*model.target().endpoint),
        ("scripted:model", "memory")
    );
}
