use std::cell::Cell;
use std::time::Duration;

use ai_core::middleware::{DefaultSettings, Smooth, wrap};
use ai_provider::{
    CallContext, CancellationToken, ErrorClass, Message, ModelError, Request, StreamPart, ToolCall,
    UnifiedFinish,
};
use ai_testkit::{Script, ScriptedModel};
use futures_util::StreamExt;
use proptest::prelude::*;
use std::sync::Arc;
use tokio::time::Instant;

use super::{around, block_on, cut, shape, text_block};

const MS: Duration = Duration::from_millis(1);

/// All items, with when they came.
async fn timed(
    smooth: Smooth,
    script: Script,
    ctx: CallContext,
) -> Vec<(u128, Result<StreamPart, ModelError>)> {
    let model = around(&ScriptedModel::new().reply(script), smooth);
    let begun = Instant::now();
    let mut stream = model.stream(Request::new([Message::user("go")]), ctx);
    let mut items = Vec::new();
    while let Some(item) = stream.next().await {
        items.push((begun.elapsed().as_millis(), item));
    }
    items
}

fn texts(items: &[(u128, Result<StreamPart, ModelError>)]) -> Vec<(u128, String)> {
    let texts = items.iter().filter_map(|(at, item)| match item {
        Ok(StreamPart::TextDelta { delta, .. } | StreamPart::ReasoningDelta { delta, .. }) => {
            Some((*at, delta.clone()))
        }
        _ => None,
    });
    texts.collect()
}

fn open(deltas: &[&str]) -> Script {
    let deltas = deltas.iter().map(|delta| StreamPart::text_delta("0", *delta));
    Script::new().part(StreamPart::text_start("0")).parts(deltas)
}

fn at(times: &[(u128, &str)]) -> Vec<(u128, String)> {
    times.iter().map(|(at, text)| (*at, (*text).to_owned())).collect()
}

/// [AC-245]
#[tokio::test(start_paused = true)]
async fn words_and_lines_come_apart_by_the_pause() {
    let script = open(&["One two", " three\nfo", "ur "]).delay(MS * 200).part(StreamPart::text_end("0"));
    let items = timed(Smooth::words(), script.clone().finish(UnifiedFinish::Stop), CallContext::new()).await;
    assert_eq!(texts(&items), at(&[(0, "One "), (10, "two "), (20, "three\n"), (30, "four ")]));
    let by_line = Smooth::lines().with_delay(MS * 50);
    let items = timed(by_line, script.finish(UnifiedFinish::Stop), CallContext::new()).await;
    assert_eq!(texts(&items), at(&[(0, "One two three\n"), (200, "four ")]));
    let script = open(&["你好 ok"]).delay(MS * 100).part(StreamPart::text_end("0"));
    let items = timed(Smooth::words(), script.finish(UnifiedFinish::Stop), CallContext::new()).await;
    assert_eq!(texts(&items), at(&[(0, "你"), (10, "好"), (100, " ok")]));
}

/// [AC-246]
#[tokio::test(start_paused = true)]
async fn no_text_waits_longer_than_the_lag() {
    let words: String = (0..200).map(|word| format!("w{word} ")).collect();
    let script =
        open(&[&words]).delay(MS * 1_000).part(StreamPart::text_end("0")).finish(UnifiedFinish::Stop);
    let items = timed(Smooth::words().with_longest_lag(MS * 100), script, CallContext::new()).await;
    let texts = texts(&items);
    assert_eq!(texts.len(), 200);
    assert_eq!(texts.last().unwrap().0, 100);
    assert_eq!(texts[5].0, 50, "the pauses are kept as long as the lag allows");

    let script = open(&["unfinish"]).delay(MS * 900).parts([StreamPart::text_delta("0", "ed ")]);
    let script = script.part(StreamPart::text_end("0")).finish(UnifiedFinish::Stop);
    let items = timed(Smooth::words(), script, CallContext::new()).await;
    assert_eq!(super::smooth::texts(&items), at(&[(250, "unfinish"), (900, "ed ")]));

    let script = open(&[&"word ".repeat(40_000)]).hang();
    let items = tokio::time::timeout(MS, async {
        let model = around(&ScriptedModel::new().reply(script), Smooth::words());
        let mut stream = model.stream(Request::new([Message::user("go")]), CallContext::new());
        let mut bytes = 0;
        while bytes < 130_000 {
            if let Some(Ok(StreamPart::TextDelta { delta, .. })) = stream.next().await {
                bytes += delta.len();
            }
        }
    });
    items.await.expect("what is more than can be held comes at once");
}

/// [AC-247]
#[tokio::test(start_paused = true)]
async fn everything_else_releases_what_is_held() {
    let call = StreamPart::ToolCall(Box::new(ToolCall::new("c", "f", "{}")));
    let slow = Smooth::words().with_delay(MS * 100);
    let script = open(&["a b c"]).part(call.clone()).parts([StreamPart::text_delta("0", "d e")]);
    let script = script.part(StreamPart::text_end("0")).finish(UnifiedFinish::Stop);
    let items = timed(slow, script, CallContext::new()).await;
    assert!(items.iter().all(|(at, _)| *at == 0), "{items:?}");
    let parts: Vec<_> = items.into_iter().map(|(_, item)| item.unwrap()).collect();
    assert!(parts.iter().position(|part| *part == call).unwrap() == 5, "after `a `, `b `, `c`: {parts:?}");
    assert_eq!(shape(&parts), ["T:a b cd e", "C:f:{}"]);

    let script = open(&["a b c"]).error(ModelError::new(ErrorClass::Transport, "reset"));
    let items = timed(slow, script, CallContext::new()).await;
    assert_eq!(texts(&items), at(&[(0, "a "), (0, "b "), (0, "c")]));
    assert!(items.last().unwrap().1.is_err());
    let items = timed(slow, open(&["a b c"]).end(), CallContext::new()).await;
    assert_eq!(texts(&items).len(), 3);
}

/// [AC-248]
#[tokio::test(start_paused = true)]
async fn a_cancel_and_a_deadline_release_what_is_held() {
    let slow = || Smooth::words().with_delay(MS * 1_000).with_longest_lag(Duration::from_secs(60));
    let cancel = CancellationToken::new();
    let ctx = CallContext::new().with_cancel(cancel.clone());
    let model = around(&ScriptedModel::new().reply(open(&["a b c"]).hang()), slow());
    let mut stream = model.stream(Request::new([Message::user("go")]), ctx);
    for _ in 0..3 {
        stream.next().await.unwrap().unwrap();
    }
    cancel.cancel();
    let rest: Vec<_> = stream.collect().await;
    let begun = Instant::now();
    let rest: Vec<_> = rest.into_iter().map(|item| (begun.elapsed().as_millis(), item)).collect();
    assert_eq!(texts(&rest), at(&[(0, "b "), (0, "c")]));
    assert_eq!(rest.last().unwrap().1.as_ref().unwrap_err().class(), ErrorClass::Cancelled);

    let begun = Instant::now();
    let ctx = CallContext::new().with_deadline((begun + MS * 300).into_std());
    let script = open(&["a b c"]).delay(Duration::from_secs(600)).finish(UnifiedFinish::Stop);
    let items = timed(slow(), script, ctx).await;
    assert_eq!(texts(&items), at(&[(0, "a "), (300, "b "), (300, "c")]));
    assert_eq!(items.last().unwrap().1.as_ref().unwrap_err().class(), ErrorClass::Timeout);
}

/// [AC-249]
#[test]
fn smoothing_changes_cuts_and_nothing_else() {
    let piece = prop::sample::select(vec!["word", " ", "\n", "  ", "你", "x,y", "é"]);
    let text = prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat());
    let (cases, pieces) = (Cell::new(0), Cell::new(0));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(400));
    let inputs = (text, prop::collection::vec(0usize..60, 0..10), any::<bool>());
    runner
        .run(&inputs, |(text, places, words)| {
            cases.set(cases.get() + 1);
            let smooth = if words { Smooth::words() } else { Smooth::lines() };
            let deltas = cut(&text, &places);
            let script = text_block(deltas.iter().map(String::as_str)).finish(UnifiedFinish::Stop);
            let items = block_on(timed(smooth, script, CallContext::new()));
            let parts: Vec<_> = items.into_iter().map(|(_, item)| item.unwrap()).collect();
            prop_assert_eq!(shape(&parts), [format!("T:{text}")]);
            let deltas = parts.iter().filter(|part| matches!(part, StreamPart::TextDelta { .. })).count();
            pieces.set(pieces.get() + usize::from(deltas > 1));
            Ok(())
        })
        .unwrap();
    assert!(pieces.get() * 3 > cases.get());
}

/// [AC-249]
#[tokio::test(start_paused = true)]
async fn it_works_between_others() {
    let model =
        ScriptedModel::new().reply(Script::new().reasoning("a b").text("c d").finish(UnifiedFinish::Stop));
    let list: [Arc<dyn ai_core::Middleware>; 2] =
        [Arc::new(Smooth::words()), Arc::new(DefaultSettings::default())];
    let wrapped = wrap(Arc::new(model), list);
    let parts: Vec<_> = wrapped
        .stream(Request::new([Message::user("go")]), CallContext::new())
        .map(Result::unwrap)
        .collect()
        .await;
    assert_eq!(shape(&parts), ["R:a b", "T:c d"]);
}
