use std::future::pending;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use agent_loop::{UiChunk, UiReducer};
use ai_provider::ProviderOptions;
use tokio::time::Instant;

use super::*;
use crate::reader::world::{World, active, row, seal, shown, start, text, turn, write};
use crate::reader::{Attach, TopicReader};
use crate::record::TopicState;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Does {
    Well,
    Fail,
    Panic,
    Hang,
}

/// Notes what it hears, and does as it is told.
struct Ear {
    id: &'static str,
    phase: Phase,
    does: Does,
    alive: AtomicBool,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Ear {
    fn new(id: &'static str, phase: Phase, does: Does, heard: &Arc<Mutex<Vec<String>>>) -> Arc<Self> {
        Arc::new(Self { id, phase, does, alive: true.into(), heard: Arc::clone(heard) })
    }

    fn note(&self, what: &str) {
        self.heard.lock().unwrap().push(format!("{} {what}", self.id));
    }
}

#[async_trait]
impl Listener for Ear {
    fn id(&self) -> &str {
        self.id
    }

    fn phase(&self) -> Phase {
        self.phase
    }

    fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Relaxed)
    }

    fn on_item(&self, item: &ReaderItem) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.note(item.chunk().map_or("?", UiChunk::kind));
        match self.does {
            Does::Fail => Err("no".into()),
            Does::Panic => panic!("on an item"),
            Does::Well | Does::Hang => Ok(()),
        }
    }

    async fn on_terminal(&self, _: &ReaderItem) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.note("end");
        match self.does {
            Does::Well => Ok(()),
            Does::Fail => Err("no".into()),
            Does::Panic => panic!("at the end"),
            Does::Hang => pending().await,
        }
    }
}

/// A row of one text, over; and a reader of it.
async fn told(chunks: impl IntoIterator<Item = UiChunk>) -> TopicReader {
    let mut world = World::new();
    world.publish(TopicState::Streaming, turn(1), vec![active(1, "r")]).await;
    let mut writer = world.create(1, row("r")).await;
    write(&mut writer, chunks);
    seal(&mut writer, "r", None, true).await;
    world.attach(Attach::new()).await.unwrap()
}

const LIMIT: Duration = Duration::from_secs(2);

/// [SM-160] [SM-161]
#[tokio::test(start_paused = true)]
async fn a_listener_that_fails_panics_or_hangs_hurts_no_other() {
    let heard = Arc::default();
    let listeners = Listeners::new();
    for (id, does) in
        [("fails", Does::Fail), ("panics", Does::Panic), ("hangs", Does::Hang), ("well", Does::Well)]
    {
        listeners.insert(Ear::new(id, Phase::Normal, does, &heard));
    }
    let mut failures = Vec::new();
    let begun = Instant::now();
    let reader = told([start("r"), UiChunk::StartStep]).await;
    listen(reader, &listeners, LIMIT, |failure| failures.push(failure.to_string())).await.unwrap();
    assert_eq!(begun.elapsed(), LIMIT);
    let heard = std::mem::take(&mut *heard.lock().unwrap());
    let of = |id: &str| heard.iter().filter_map(|line| line.strip_prefix(id)).collect::<String>();
    for id in ["fails", "hangs", "well"] {
        assert_eq!(of(id), " start start-step end", "{id}");
    }
    // A panic may have left it in any state.
    assert_eq!(of("panics"), " start");
    assert_eq!(
        failures,
        [
            "the listener `fails` failed: no",
            "the listener `panics` panicked",
            "the listener `fails` failed: no",
            "the listener `fails` failed: no",
            "the listener `hangs` took too long",
        ]
    );
}

/// [SM-162]
#[tokio::test(start_paused = true)]
async fn an_end_is_told_phase_by_phase() {
    for (does, told_of, left_out) in [
        (Does::Well, "store show tidy", ""),
        (Does::Fail, "store tidy", "show"),
        (Does::Panic, "store tidy", "show"),
        (Does::Hang, "store tidy", "show"),
    ] {
        let heard = Arc::default();
        let listeners: [Arc<dyn Listener>; 3] = [
            Ear::new("tidy", Phase::Cleanup, Does::Well, &heard),
            Ear::new("show", Phase::Normal, Does::Well, &heard),
            Ear::new("store", Phase::Persistence, does, &heard),
        ];
        let end = told([]).await.next().await.unwrap().unwrap();
        let failures = run_terminal(&listeners, &end, LIMIT).await;
        let order: Vec<_> = heard.lock().unwrap().iter().map(|line| line.replace(" end", "")).collect();
        assert_eq!(order.join(" "), told_of);
        assert!(left_out.is_empty() || !order.contains(&left_out.to_owned()));
        assert_eq!(failures.len(), usize::from(does != Does::Well));
    }
}

/// [SM-163]
#[tokio::test]
async fn listeners_come_and_go_by_name() {
    let heard = Arc::default();
    let listeners = Listeners::new();
    listeners.insert(Ear::new("a", Phase::Normal, Does::Panic, &heard));
    let dead = Ear::new("b", Phase::Normal, Does::Well, &heard);
    listeners.insert(dead.clone());
    listeners.insert(Ear::new("a", Phase::Normal, Does::Well, &heard));
    assert_eq!(listeners.len(), 2);
    dead.alive.store(false, Ordering::Relaxed);
    assert_eq!(listeners.len(), 1);
    listen(told([start("r")]).await, &listeners, LIMIT, |failure| panic!("{failure}")).await.unwrap();
    assert_eq!(*heard.lock().unwrap(), ["a start", "a end"]);
    assert!(listeners.remove("a") && !listeners.remove("a") && listeners.is_empty());
    // Nobody listens: the reader is let go, also of a turn that goes on.
    let mut world = World::new();
    world.publish(TopicState::Streaming, turn(1), vec![active(1, "r")]).await;
    let reader = world.attach(Attach::new()).await.unwrap();
    listen(reader, &listeners, LIMIT, |failure| panic!("{failure}")).await.unwrap();
}

fn delta(id: &str, delta: &str) -> UiChunk {
    UiChunk::TextDelta { id: id.into(), delta: delta.to_owned(), provider_metadata: None }
}

fn signed(id: &str, delta: &str) -> UiChunk {
    let provider_metadata = Some(Box::new(ProviderOptions::default().with("p", "k", serde_json::json!(1))));
    UiChunk::TextDelta { id: id.into(), delta: delta.to_owned(), provider_metadata }
}

async fn coalesced(chunks: Vec<UiChunk>) -> Vec<ReaderItem> {
    let mut reader = Coalesced::new(told(chunks).await);
    let mut items = Vec::new();
    while let Some(item) = reader.next().await {
        items.push(item.unwrap());
    }
    items
}

/// [SM-164] [SM-165]
#[tokio::test(start_paused = true)]
async fn deltas_are_merged_up_to_the_next_of_another_kind() {
    let begin = |id: &str| UiChunk::TextStart { id: id.into(), provider_metadata: None };
    let long = "x".repeat(2_047);
    let chunks = vec![
        begin("0"),
        begin("1"),
        delta("0", "a"),
        delta("0", "b"),
        delta("0", ""),
        delta("1", "c"),
        delta("1", "d"),
        signed("1", "e"),
        delta("1", "f"),
        UiChunk::StartStep,
        delta("0", &long),
        delta("0", "y"),
        delta("0", "zz"),
    ];
    let items = coalesced(chunks.clone()).await;
    let spans: Vec<_> = items.iter().map(|item| (item.first, item.last)).collect();
    let expected = [(1, 1), (2, 2), (3, 5), (6, 7), (8, 8), (9, 9), (10, 10), (11, 12), (13, 13), (14, 14)];
    assert_eq!(spans, expected);
    assert!(items[9].terminal().is_some());
    let mut whole = UiReducer::new("r");
    chunks.into_iter().for_each(|chunk| whole.push(chunk).unwrap());
    assert_eq!(shown(&items, "r"), whole.into_message());
}

/// [SM-164] [SM-166]
#[tokio::test(start_paused = true)]
async fn a_delta_is_held_for_the_window_and_no_longer() {
    let mut world = World::new();
    world.publish(TopicState::Streaming, turn(1), vec![active(1, "r"), active(2, "s")]).await;
    let (mut r, mut s) = (world.create(1, row("r")).await, world.create(2, row("s")).await);
    let mut reader =
        Coalesced::new(world.attach(Attach::new()).await.unwrap()).with_window(Duration::from_millis(40));
    for writer in [&mut r, &mut s] {
        write(writer, [text("t")[0].clone()]);
        assert!(reader.next().await.unwrap().unwrap().chunk().is_some());
    }
    let begun = Instant::now();
    for _ in 0..3 {
        write(&mut r, [delta("t", "r")]);
        write(&mut s, [delta("t", "s")]);
    }
    let mut texts = Vec::new();
    for _ in 0..2 {
        let item = reader.next().await.unwrap().unwrap();
        let Some(UiChunk::TextDelta { delta, .. }) = item.chunk() else { panic!() };
        texts.push((delta.clone(), item.first, item.last));
    }
    // Both models are merged, though their deltas came by turns.
    texts.sort();
    assert_eq!(texts, [("rrr".to_owned(), 2, 4), ("sss".to_owned(), 2, 4)]);
    assert_eq!(begun.elapsed(), Duration::from_millis(40));
}
