use std::sync::{Arc, Mutex};

use ai_provider::UnifiedFinish;
use ai_testkit::{Script, ScriptedModel};
use futures_util::StreamExt;
use serde_json::Value;
use tokio::time::sleep;

use super::*;
use crate::tests::support::{agent, ask};

const SECOND: Duration = Duration::from_secs(1);

/// Answers after some seconds; reads for at most this many seconds.
async fn notices(settings: ProgressNotices, seconds: u32) -> Vec<(u64, Value)> {
    let model = ScriptedModel::new().reply(Script::new().hang());
    let mut chunks = ask(&agent(&model)).chunks().with_progress(settings);
    let start = Instant::now();
    let mut told = Vec::new();
    while let Ok(Some(chunk)) = tokio::time::timeout_at(start + SECOND * seconds, chunks.next()).await {
        if let UiChunk::Data(data) = chunk {
            assert_eq!((data.name.as_str(), data.transient), ("progress", Some(true)));
            told.push((start.elapsed().as_secs(), data.data));
        }
    }
    told
}

/// [AL-219]
#[tokio::test(start_paused = true)]
async fn silence_is_told_three_times() {
    let wanted = [(10, "waiting"), (30, "slow"), (60, "stalled")];
    let wanted = wanted.map(|(at, state)| (at, json!({"state": state, "seconds": at})));
    // Nothing else comes, however long it takes: the run is not ended.
    assert_eq!(notices(ProgressNotices::default(), 3600).await, wanted);
}

/// [AL-219]
#[tokio::test(start_paused = true)]
async fn notices_are_set_and_turned_off() {
    let none = ProgressNotices::default().with_waiting(None).with_slow(None).with_stalled(None);
    assert_eq!(notices(none, 3600).await, []);
    let settings = none.with_slow(SECOND * 5);
    assert_eq!(notices(settings, 3600).await, [(5, json!({"state": "slow", "seconds": 5}))]);
    // In any order; of two at once the graver.
    let odd = none.with_waiting(SECOND * 8).with_slow(SECOND * 2).with_stalled(SECOND * 8);
    let states: Vec<_> =
        notices(odd, 3600).await.into_iter().map(|(at, told)| (at, told["state"].clone())).collect();
    assert_eq!(states, [(2, json!("slow")), (8, json!("stalled"))]);
}

/// [AL-220]
#[tokio::test(start_paused = true)]
async fn output_ends_the_silence_and_the_reader_s_own_time_is_none() {
    let (sender, receiver) = futures_util::stream::unfold(0, |step| async move {
        sleep(SECOND * 8).await;
        (step < 4).then_some((UiChunk::StartStep, step + 1))
    })
    .boxed()
    .into_future()
    .await;
    assert_eq!(sender, Some(UiChunk::StartStep));
    let mut chunks = ProgressChunks::new(receiver, ProgressNotices::default());
    let mut seen = Vec::new();
    while let Some(chunk) = chunks.next().await {
        seen.push(chunk);
        // Far longer than any notice.
        sleep(SECOND * 500).await;
    }
    // Each silence was of 8 s.
    assert_eq!(seen, [UiChunk::StartStep, UiChunk::StartStep, UiChunk::StartStep]);
}

/// [AL-220]
#[tokio::test(start_paused = true)]
async fn transient_data_is_no_output_and_an_open_question_is_no_silence() {
    let data = UiChunk::Data(DataChunk {
        name: "attempt".to_owned(),
        id: None,
        data: Value::Null,
        transient: Some(true),
    });
    let asks: UiChunk =
        serde_json::from_str(r#"{"type":"tool-approval-request","approvalId":"a","toolCallId":"c"}"#)
            .unwrap();
    let stream = |first: UiChunk| {
        futures_util::stream::iter([(8, first), (8, UiChunk::FinishStep), (11, UiChunk::FinishStep)])
            .then(|(seconds, chunk)| async move {
                sleep(SECOND * seconds).await;
                chunk
            })
            .boxed()
    };
    let kinds = |first: UiChunk| async move {
        let chunks: Vec<_> = ProgressChunks::new(stream(first), ProgressNotices::default()).collect().await;
        chunks.iter().map(|chunk| chunk.kind()).collect::<Vec<_>>()
    };
    // 8 s and 8 s make one silence of 16 s.
    assert_eq!(kinds(data).await, ["data-", "data-", "finish-step", "data-", "finish-step"]);
    assert_eq!(kinds(asks).await, ["tool-approval-request", "finish-step", "data-", "finish-step"]);
    let asked = futures_util::stream::iter([serde_json::from_str::<UiChunk>(
        r#"{"type":"tool-approval-request","approvalId":"a","toolCallId":"c"}"#,
    )
    .unwrap()])
    .chain(futures_util::stream::pending());
    let mut asked = ProgressChunks::new(asked.boxed(), ProgressNotices::default());
    assert_eq!(asked.next().await.unwrap().kind(), "tool-approval-request");
    assert!(tokio::time::timeout(SECOND * 3600, asked.next()).await.is_err());
}

/// [AL-269]
#[tokio::test(start_paused = true)]
async fn notices_can_be_heard_instead() {
    let script = Script::new().delay(SECOND * 35).text("Hi.").delay(SECOND * 11).finish(UnifiedFinish::Stop);
    let model = ScriptedModel::new().reply(script);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&heard);
    let start = Instant::now();
    let hear = move |notice: ProgressNotice| {
        keep.lock().unwrap().push((start.elapsed().as_secs(), notice.state, notice.silence.as_secs()));
    };
    let chunks: Vec<_> =
        ask(&agent(&model)).chunks().with_progress_heard(ProgressNotices::default(), hear).collect().await;
    assert_eq!(*heard.lock().unwrap(), [(10, "waiting", 10), (30, "slow", 30), (45, "waiting", 10)]);
    assert!(chunks.iter().all(|chunk| !matches!(chunk, UiChunk::Data(_))), "the client is told nothing");
    assert_eq!(chunks.last().map(UiChunk::kind), Some("finish"));
}

/// [AL-276]
#[tokio::test(start_paused = true)]
async fn a_notice_farther_off_than_the_clock_goes_never_comes() {
    let never = ProgressNotices::default().with_slow(Duration::MAX).with_stalled(Duration::MAX);
    assert_eq!(notices(never, 3600).await, [(10, json!({"state": "waiting", "seconds": 10}))]);
}

/// [AL-272]
#[tokio::test(start_paused = true)]
async fn a_panic_of_who_hears_notices_takes_nothing_from_the_run() {
    let script = Script::new().delay(SECOND * 35).text("Hi.").finish(UnifiedFinish::Stop);
    let model = ScriptedModel::new().reply(script);
    let heard = Arc::new(Mutex::new(0));
    let keep = Arc::clone(&heard);
    let hear = move |_| {
        *keep.lock().unwrap_or_else(std::sync::PoisonError::into_inner) += 1;
        panic!("not now")
    };
    let chunks: Vec<_> =
        ask(&agent(&model)).chunks().with_progress_heard(ProgressNotices::default(), hear).collect().await;
    assert_eq!((*heard.lock().unwrap(), chunks.last().map(UiChunk::kind)), (2, Some("finish")));
}
