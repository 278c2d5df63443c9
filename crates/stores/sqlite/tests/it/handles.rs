use std::process::{Command, Stdio};
use std::time::Duration;

use stream_manager::port::{Acquired, ConversationStore, Ownership};
use stream_manager::record::TopicId;
use stream_store_sqlite::{SqliteSettings, SqliteStore};

use crate::kit::{begin, end, file, lease, open, said};

/// The file that a child of these tests writes to, and its name.
const FILE: &str = "STORE_TEST_FILE";
const NAME: &str = "STORE_TEST_NAME";
/// So many inputs each writer sends.
const INPUTS: u64 = 100;

async fn send(store: &SqliteStore, name: &str) {
    for number in 0..INPUTS {
        store.accept(&"t".into(), &said(&format!("{name}-{number}"), "Hello.")).await.unwrap();
        store.accept(&"t".into(), &said(&format!("shared-{number}"), "Hello.")).await.unwrap();
    }
}

/// What several writers have sent is there, each input once, in the order of their numbers.
async fn assert_all(store: &SqliteStore, writers: u64) {
    let inputs = store.inbox(&"t".into()).await.unwrap();
    let numbers: Vec<u64> = inputs.iter().map(|input| input.seq).collect();
    assert_eq!(numbers, (1..=(writers + 1) * INPUTS).collect::<Vec<_>>());
}

/// [ST-10]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn several_handles_of_one_process_write_one_file() {
    let (_folder, path) = file();
    let opened = (0..4).map(|_| SqliteStore::open(path.clone(), SqliteSettings::default()));
    let stores = futures_util::future::try_join_all(opened).await.unwrap();
    let mut writers = tokio::task::JoinSet::new();
    for (number, store) in stores.iter().cloned().enumerate() {
        writers.spawn(async move { send(&store, &format!("w{number}")).await });
    }
    while let Some(done) = writers.join_next().await {
        done.unwrap();
    }
    for store in &stores {
        assert_all(store, 4).await;
    }
}

/// [ST-10]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn several_processes_write_one_file_and_one_of_them_holds_a_lease() {
    let (_folder, path) = file();
    let children: Vec<_> = (0..3)
        .map(|number| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "handles::a_process_of_several", "--nocapture"])
                .env(FILE, &path)
                .env(NAME, format!("p{number}"))
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let mut held = 0;
    for child in children {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}");
        held += text.matches("holds the lease").count();
    }
    assert_eq!(held, 1);
    assert_all(&open(&path).await, 3).await;
}

/// [ST-10] What each of several processes does; nothing, where it is not told of a file.
#[tokio::test]
async fn a_process_of_several() {
    let (Ok(path), Ok(name)) = (std::env::var(FILE), std::env::var(NAME)) else { return };
    let store = SqliteStore::open(path, SqliteSettings::default()).await.unwrap();
    let node = name.as_str().into();
    if let Acquired::Held(_) = store.acquire(&"t".into(), &node, Duration::from_secs(600)).await.unwrap() {
        println!("holds the lease");
    }
    send(&store, &name).await;
}

/// [ST-11]
#[tokio::test]
async fn a_call_whose_caller_goes_is_made_whole_or_not_at_all() {
    let (_folder, path) = file();
    let store = open(&path).await;
    let topic = TopicId::from("t");
    for number in 0..80 {
        let input = said(&format!("left-{}-{number}", number % 4), "Hello.");
        let mut call = store.accept(&topic, &input);
        // Not begun, begun, and seen to its end or nearly so.
        for _ in 0..number % 4 {
            if futures_util::FutureExt::now_or_never(&mut call).is_some() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(call);
        store.accept(&topic, &said(&format!("kept-{number}"), "Hello.")).await.unwrap();
    }
    let inputs = store.inbox(&topic).await.unwrap();
    let numbers: Vec<u64> = inputs.iter().map(|input| input.seq).collect();
    assert_eq!(numbers, (1..=inputs.len() as u64).collect::<Vec<_>>());
    let count = |prefix: &str| inputs.iter().filter(|it| it.input.id.as_str().starts_with(prefix)).count();
    assert_eq!((count("kept-"), count("left-0-")), (80, 0), "a call that did not begin is not made");
}

/// [ST-11]
#[tokio::test]
async fn a_call_that_waits_for_its_turn_is_left_out_when_its_caller_goes() {
    let (_folder, path) = file();
    let store = open(&path).await;
    let topic = TopicId::from("t");
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let inputs: Vec<_> = (0..10).map(|number| said(&format!("i-{number}"), "Hello.")).collect();
    let mut calls: Vec<_> = inputs.iter().map(|input| store.accept(&topic, input)).collect();
    for call in &mut calls {
        assert!(futures_util::FutureExt::now_or_never(call).is_none());
    }
    let last = calls.pop().unwrap();
    drop(calls);
    other.execute_batch("ROLLBACK").unwrap();
    last.await.unwrap();
    let names: Vec<_> =
        store.inbox(&topic).await.unwrap().into_iter().map(|it| it.input.id.to_string()).collect();
    // One may have had its turn by then, and waited for the other program.
    assert!(names.len() <= 2 && names.last().is_some_and(|name| name == "i-9"), "{names:?}");
}

/// [ST-13]
#[tokio::test]
async fn a_call_that_nobody_looks_at_holds_up_no_other() {
    let (_folder, path) = file();
    let store = open(&path).await;
    let topic = TopicId::from("t");
    let inputs: Vec<_> = (0..20).map(|number| said(&format!("i-{number}"), "Hello.")).collect();
    let mut calls: Vec<_> = inputs.iter().map(|input| store.accept(&topic, input)).collect();
    let mut reads: Vec<_> = (0..20).map(|_| store.history(&topic)).collect();
    for call in &mut calls {
        assert!(futures_util::FutureExt::now_or_never(call).is_none());
    }
    for read in &mut reads {
        let _ = futures_util::FutureExt::now_or_never(read);
    }
    let last =
        tokio::time::timeout(Duration::from_secs(60), store.accept(&topic, &said("last", "Hello."))).await;
    assert_eq!(last.expect("it is made").unwrap().seq, 21, "in the order in which they came");
    let found = tokio::time::timeout(Duration::from_secs(60), store.inbox(&topic)).await;
    assert_eq!(found.expect("it is read").unwrap().len(), 21);
    for (number, call) in (1..).zip(calls) {
        assert_eq!(call.await.unwrap().seq, number);
    }
}

/// [ST-12]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_see_one_state_while_others_write() {
    let (_folder, path) = file();
    let store = open(&path).await;
    let writer = store.clone();
    let writing = tokio::spawn(async move {
        for number in 0..150 {
            let id = format!("i-{number}");
            begin(&writer, "t", &id).await;
            writer.settle(&lease("t", 1), &end(&id, "text")).await.unwrap();
        }
    });
    let (mut reads, mut in_between) = (0, 0);
    while !writing.is_finished() {
        let Some(found) = store.history(&"t".into()).await.unwrap() else { continue };
        let queued = found.inputs.iter().filter(|input| input.is_queued()).count();
        assert_eq!(found.rows.len() + queued, found.inputs.len(), "an input is consumed with its row");
        reads += 1;
        in_between += usize::from(queued > 0 || found.rows.len() < 150);
    }
    writing.await.unwrap();
    assert!(reads > 10 && in_between > 5, "{reads} reads, {in_between} in between");
}
