//! What a run takes: for the one who watches, and for the books.

use std::sync::{Arc, Mutex};

use ai_core::OnError;
use ai_provider::{
    AttemptEnd, AttemptEvent, AttemptKind, CallContext, CancellationToken, Capabilities, ErrorClass, Event,
    Finish, FinishReason, KeyLabel, LanguageModel, ModelError, ModelStream, Request, StreamPart, TargetId,
    UnifiedFinish, Usage,
};
use ai_testkit::{Script, ScriptedModel};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use super::support::{Ran, agent, ask, run};
use crate::{Agent, AgentEvent, Hooks, LedgerEnd, LedgerEntry, LedgerRow, Prices, UiChunk};

fn metadata(ran: &Ran) -> Vec<Value> {
    ran.only(&["message-metadata"]).into_iter().map(|chunk| chunk["messageMetadata"].clone()).collect()
}

fn usage(input: Option<u64>, output: Option<u64>) -> Usage {
    let mut usage = Usage::default();
    usage.input.total = input;
    usage.output.total = output;
    usage
}

fn finish(reason: UnifiedFinish, usage: Usage) -> StreamPart {
    StreamPart::Finish(Box::new(Finish { reason: FinishReason::from(reason), usage, metadata: None }))
}

fn step(reason: UnifiedFinish, usage: Usage) -> Script {
    let script = match reason {
        UnifiedFinish::ToolCalls => Script::new().tool_call("a", "clock", "{}"),
        _ => Script::new().text("Well."),
    };
    script.part(finish(reason, usage)).end()
}

async fn shown(first: Usage, second: Usage, agent: impl Fn(Agent) -> Agent) -> Vec<Value> {
    let model = ScriptedModel::new()
        .reply(step(UnifiedFinish::ToolCalls, first))
        .reply(step(UnifiedFinish::Stop, second));
    metadata(&run(ask(&agent(super::support::agent(&model).with_usage_metadata(true)))).await)
}

/// [AL-129] [AL-131]
#[tokio::test]
async fn each_step_shows_all_that_was_taken_so_far() {
    let got = shown(usage(Some(3), Some(5)), usage(Some(2), Some(4)), |agent| agent).await;
    assert_eq!(
        got,
        [
            json!({"usage": {"inputTokens": 3, "outputTokens": 5, "totalTokens": 8}, "contextTokens": 8}),
            json!({"usage": {"inputTokens": 5, "outputTokens": 9, "totalTokens": 14}, "contextTokens": 6}),
        ]
    );
    let mut first = usage(Some(10), Some(4));
    first.input.no_cache = Some(3);
    first.input.cache_read = Some(5);
    first.input.cache_write = Some(2);
    first.output.reasoning = Some(10);
    let mut second = usage(None, Some(4));
    second.output.reasoning = Some(15);
    let got = shown(first, second, |agent| agent).await;
    assert_eq!(
        got[0]["usage"]["inputTokenDetails"],
        json!({"noCacheTokens": 3, "cacheReadTokens": 5, "cacheWriteTokens": 2})
    );
    assert_eq!(got[0]["usage"]["outputTokenDetails"], json!({"reasoningTokens": 10}));
    assert_eq!(got[1]["usage"]["outputTokenDetails"], json!({"reasoningTokens": 25}));
    assert_eq!(got[1].get("contextTokens"), None, "the output alone says nothing of the context");
}

/// [AL-129]
#[tokio::test]
async fn a_step_that_does_not_say_shows_nothing_and_no_run_does_unless_asked() {
    let got = shown(Usage::default(), usage(Some(2), Some(4)), |agent| agent).await;
    assert_eq!(got.len(), 1);
    let got =
        shown(usage(Some(3), Some(5)), usage(Some(2), Some(4)), |agent| agent.with_usage_metadata(false))
            .await;
    assert!(got.is_empty());
}

/// [AL-129]
#[tokio::test]
async fn runs_side_by_side_count_apart() {
    let steps = || {
        let model = ScriptedModel::new();
        let two = model.reply(step(UnifiedFinish::ToolCalls, usage(Some(3), Some(5))));
        two.reply(step(UnifiedFinish::ToolCalls, usage(Some(3), Some(5))))
            .repeat(step(UnifiedFinish::Stop, usage(Some(2), Some(4))))
    };
    let agent = agent(&steps()).with_usage_metadata(true);
    let mut runs = [ask(&agent), ask(&agent)];
    let mut shown = [Vec::new(), Vec::new()];
    let mut going = true;
    while std::mem::take(&mut going) {
        for (run, shown) in runs.iter_mut().zip(&mut shown) {
            let next = run.next().await;
            going |= next.is_some();
            if let Some(AgentEvent::Chunk(UiChunk::MessageMetadata { message_metadata })) = next {
                shown.push(message_metadata["usage"]["totalTokens"].clone());
            }
        }
    }
    assert_eq!(shown, [[8, 14], [8, 14]]);
    let third = run(ask(&agent)).await;
    assert_eq!(metadata(&third)[0]["usage"]["totalTokens"], 6);
}

/// [AL-130]
#[tokio::test]
async fn costs_add_up_step_by_step() {
    let mut first = usage(Some(1), Some(1));
    first.raw = Some(json!({"cost": 0.25}).into());
    let mut second = first.clone();
    second.raw = Some(json!({"cost": 0.5}).into());
    let told = |agent: Agent| agent.with_costs(|_, usage| usage.raw.as_ref()?.get("cost")?.as_f64());
    let got = shown(first.clone(), second, told).await;
    assert_eq!((got[0]["cost"].as_f64(), got[1]["cost"].as_f64()), (Some(0.25), Some(0.75)));
    let got = shown(first.clone(), first.clone(), |agent| agent.with_costs(|_, _| Some(f64::NAN))).await;
    assert_eq!(got[0].get("cost"), None, "a cost that is no number is none");
    let got = shown(first.clone(), first, |agent| agent).await;
    assert_eq!(got[1].get("cost"), None);
}

/// [AL-130]
#[test]
fn prices() {
    let prices = Prices::new(3.0, 15.0).with_cache_read(0.3).with_cache_write(3.75);
    let mut used = usage(Some(1_000_000), Some(100_000));
    assert_eq!(prices.cost(&used), Some(4.5));
    used.input.cache_read = Some(600_000);
    used.input.cache_write = Some(200_000);
    let cost = prices.cost(&used).unwrap();
    assert!((cost - (0.6 + 0.18 + 0.75 + 1.5)).abs() < 1e-9, "{cost}");
    used.input.cache_read = Some(9_000_000);
    assert!((prices.cost(&used).unwrap() - 1.8).abs() < 1e-9, "more cached than read is not believed");
    assert_eq!(prices.cost(&usage(None, Some(1))), None, "nothing is guessed");
}

type Entries = Arc<Mutex<Vec<LedgerEntry>>>;

fn kept(agent: Agent) -> (Agent, Entries) {
    let entries = Entries::default();
    let keep = Arc::clone(&entries);
    (agent.with_ledger(move |entry| keep.lock().unwrap().push(entry)), entries)
}

fn rows(rows: &[LedgerRow]) -> Vec<(u32, u32, &str, Option<u64>)> {
    let end = |end: &LedgerEnd| match end {
        LedgerEnd::Answered => "answered",
        LedgerEnd::Failed { .. } => "failed",
        LedgerEnd::Cut => "cut",
    };
    let row =
        |row: &LedgerRow| (row.step, row.attempt, end(&row.end), row.usage.as_ref().and_then(Usage::total));
    rows.iter().map(row).collect()
}

/// [AL-133]
#[tokio::test]
async fn a_model_that_reports_no_attempts_has_a_row_for_each_call() {
    let broken = ModelError::new(ErrorClass::Server, "down");
    let model = ScriptedModel::new()
        .with_keys(["team".into()])
        .reply(step(UnifiedFinish::ToolCalls, usage(Some(3), Some(5))))
        .reply(Script::new().text("It").error(broken.clone()))
        .reply(Script::new().text("It").error(broken));
    let retry = Hooks::new().on_error(|_| async { Ok(OnError::Retry) });
    let agent = agent(&model).with_hooks(retry).with_costs(|_, usage| Prices::new(1e6, 1e6).cost(usage));
    let (agent, entries) = kept(agent);
    run(ask(&agent)).await;
    let entries = entries.lock().unwrap();
    assert_eq!((entries.len(), entries[0].outcome.as_str()), (1, "failed"));
    assert_eq!(rows(&entries[0].answered), [(1, 1, "answered", Some(8))]);
    assert_eq!(rows(&entries[0].abandoned), [(2, 1, "failed", None), (2, 1, "failed", None)]);
    let row = &entries[0].answered[0];
    assert_eq!((row.cost, row.key.as_ref()), (Some(8.0), Some(&KeyLabel::from("team"))));
    let stored = serde_json::to_string(&entries[0]).unwrap();
    assert_eq!(serde_json::from_str::<LedgerEntry>(&stored).unwrap(), entries[0]);
}

/// [AL-133]
#[tokio::test]
async fn an_answer_that_was_withdrawn_stands_apart_from_the_one_in_its_place() {
    let model = ScriptedModel::new()
        .reply(Script::new().text("It").error(ModelError::new(ErrorClass::Server, "down")))
        .reply(step(UnifiedFinish::Stop, usage(Some(3), Some(5))));
    let retry = Hooks::new().on_error(|_| async { Ok(OnError::Retry) });
    let (agent, entries) = kept(agent(&model).with_hooks(retry));
    run(ask(&agent)).await;
    let entries = entries.lock().unwrap();
    assert_eq!(rows(&entries[0].answered), [(1, 1, "answered", Some(8))]);
    assert_eq!(rows(&entries[0].abandoned), [(1, 1, "failed", None)]);
}

/// [AL-134]
#[tokio::test]
async fn the_books_are_closed_once_also_for_a_run_that_is_dropped() {
    let model = ScriptedModel::new().repeat(Script::new().text("Half").hang());
    let (agent, entries) = kept(agent(&model));
    drop(ask(&agent));
    assert_eq!(
        entries.lock().unwrap().remove(0),
        LedgerEntry { outcome: "cancelled".to_owned(), ..Default::default() }
    );
    let mut running = ask(&agent);
    while !matches!(running.next().await, Some(AgentEvent::Chunk(UiChunk::TextDelta { .. }))) {}
    drop(running);
    let entries = entries.lock().unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!(rows(&entries[0].abandoned), [(1, 1, "cut", None)]);
}

/// A model that reports attempts as a retrying one does, and answers at the last of them.
#[derive(Debug)]
struct Reports {
    target: TargetId,
    capabilities: Capabilities,
}

impl LanguageModel for Reports {
    fn target(&self) -> &TargetId {
        &self.target
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn stream(&self, _: Request, ctx: CallContext) -> ModelStream {
        let event = |attempt, key: &str, kind| {
            let event = AttemptEvent::new(attempt, TargetId::new("p", "m", ""), ctx.request_id.clone(), kind);
            Event::Attempt(event.in_step(ctx.step).with_key(KeyLabel::from(key)))
        };
        let error = ModelError::new(ErrorClass::RateLimit, "slow down").record();
        let used = Some(Box::new(usage(Some(7), None)));
        let answered = AttemptEnd::Answered { finish: UnifiedFinish::Stop };
        for event in [
            event(1, "one", AttemptKind::Started),
            event(1, "one", AttemptKind::Failed { error, safe: true, hint: None, usage: used }),
            event(2, "two", AttemptKind::Rotated { from: Some("one".into()) }),
            event(2, "two", AttemptKind::Started),
            event(2, "two", AttemptKind::Settled { end: answered }),
        ] {
            ctx.emit(event);
        }
        let id = || "t".into();
        let parts = [
            StreamPart::TextStart { id: id(), metadata: None },
            StreamPart::TextDelta { id: id(), delta: "Well.".to_owned(), metadata: None },
            StreamPart::TextEnd { id: id(), metadata: None },
            finish(UnifiedFinish::Stop, usage(Some(3), Some(5))),
        ];
        Box::pin(stream::iter(parts.map(Ok)))
    }
}

/// [AL-133]
#[tokio::test]
async fn each_reported_attempt_has_its_row_with_the_key_it_used() {
    let model = Reports { target: TargetId::new("p", "m", ""), capabilities: Capabilities::default() };
    let (agent, entries) = kept(Agent::new(ai_core::ToolLoop::new(Arc::new(model))));
    agent.generate("Go.", CancellationToken::new()).await.unwrap();
    let entries = entries.lock().unwrap();
    assert_eq!(rows(&entries[0].answered), [(1, 2, "answered", Some(8))]);
    assert_eq!(rows(&entries[0].abandoned), [(1, 1, "failed", Some(7))]);
    let keys = [&entries[0].answered[0], &entries[0].abandoned[0]].map(|row| row.key.clone().unwrap());
    assert_eq!(keys, [KeyLabel::from("two"), KeyLabel::from("one")]);
}

/// [AL-272]
#[tokio::test]
async fn a_panic_of_the_price_list_costs_no_run() {
    let model = ScriptedModel::new()
        .reply(step(UnifiedFinish::Stop, usage(Some(3), Some(5))))
        .repeat(Script::new().text("Half").hang());
    let (agent, entries) = kept(agent(&model).with_usage_metadata(true).with_costs(|_, _| panic!("no list")));
    let ran = run(ask(&agent)).await;
    assert!(matches!(ran.last(), UiChunk::Finish { .. }));
    assert_eq!(metadata(&ran)[0]["usage"]["totalTokens"], 8);
    assert_eq!(metadata(&ran)[0].get("cost"), None, "it is unknown");
    let entries = entries.lock().unwrap();
    assert_eq!((entries.len(), rows(&entries[0].answered)), (1, vec![(1, 1, "answered", Some(8))]));
    assert_eq!(entries[0].answered[0].cost, None);
}
