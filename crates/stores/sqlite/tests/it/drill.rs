//! A process with the manager and this store is killed again and again, and the next one goes on.

mod child;
mod marks;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use stream_manager::port::{Conversation, ConversationStore};
use stream_manager::record::{Fate, Known, RowStatus};
use stream_store_sqlite::{SqliteSettings, SqliteStore};

use crate::kit::file;
use marks::{Kind, Mark};

/// So often the process is killed.
const KILLS: usize = 50;

/// What the killed processes said they had done.
#[derive(Default)]
struct Told {
    /// Accepted inputs: topic and id.
    accepted: BTreeSet<(String, String)>,
    /// Steps that were written: topic, row, what they say.
    steps: BTreeSet<(String, String, String)>,
    /// Rows that ended as complete: topic and id.
    complete: BTreeSet<(String, String)>,
    /// How often the last thing that was done before a kill was of this kind.
    gaps: BTreeMap<Kind, usize>,
}

impl Told {
    fn take(&mut self, mark: Mark) {
        let Mark { kind, number: _, topic, id, texts } = mark;
        match kind {
            Kind::Accept => drop(self.accepted.insert((topic, id))),
            Kind::Claim => {}
            Kind::Checkpoint => {
                self.steps.extend(texts.into_iter().map(|text| (topic.clone(), id.clone(), text)));
            }
            Kind::Settle => {
                if texts.first().is_some_and(|status| status == RowStatus::Complete.as_str()) {
                    self.complete.insert((topic.clone(), id.clone()));
                }
                self.steps.extend(texts.into_iter().skip(1).map(|text| (topic.clone(), id.clone(), text)));
            }
        }
    }
}

/// Runs a process and kills it: in the gap behind a thing it did, where it waits, or as soon as it has told of so many.
fn kill_one(path: &Path, round: usize, told: &mut Told) {
    let stop = (round % 3 < 2).then(|| (Kind::ALL[round % 4], 2 + round / 6));
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "drill::child::works_until_it_is_killed", "--nocapture"])
        .env(child::FILE, path)
        .env(child::ROUND, round.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if let Some((kind, count)) = stop {
        child.env(child::STOP, format!("{kind}:{count}"));
    }
    let mut child = child.spawn().unwrap();
    let mut marks = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let (mut last, mut count, mut due) = (None, 0, false);
    let enough = 20 + 10 * (round % 11);
    while let Some(mark) = marks.by_ref().find_map(|line| Mark::read(&line)) {
        count += 1;
        last = Some(mark.kind);
        let stopped = stop == Some((mark.kind, mark.number));
        told.take(mark);
        due = stopped || (stop.is_none() && count == enough);
        if due {
            break;
        }
    }
    assert!(due, "round {round} ended by itself after {count} marks");
    child.kill().unwrap();
    child.wait().unwrap();
    // What it did before it died counts too.
    for mark in marks.filter_map(|line| Mark::read(&line)) {
        last = Some(mark.kind);
        told.take(mark);
    }
    *told.gaps.entry(last.expect("it did something")).or_default() += 1;
}

/// [ST-50]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_accepted_and_no_finished_step_is_lost_by_processes_that_are_killed() {
    let (_folder, path) = file();
    let mut told = Told::default();
    for round in 0..KILLS {
        kill_one(&path, round, &mut told);
    }
    for kind in Kind::ALL {
        let count = told.gaps.get(&kind).copied().unwrap_or_default();
        assert!(count >= 5, "killed {count} times behind {kind}: {:?}", told.gaps);
    }
    assert!(told.accepted.len() >= 500, "{} inputs were accepted", told.accepted.len());
    assert!(told.steps.len() >= 100 && told.complete.len() >= 20, "{} steps", told.steps.len());

    child::recover(&path).await;
    let store = SqliteStore::open(&path, SqliteSettings::default()).await.unwrap();
    assert_eq!(store.orphans().await.unwrap(), [], "no row is open");
    assert_eq!(store.waiting().await.unwrap(), [], "no input waits");
    let topics: BTreeSet<&String> = told.accepted.iter().map(|(topic, _)| topic).collect();
    let (mut consumed, mut returned) = (0, 0);
    for topic in topics {
        let conversation = store.history(&topic.as_str().into()).await.unwrap().expect("a topic is there");
        let numbers: Vec<u64> = conversation.inputs.iter().map(|input| input.seq).collect();
        assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
        for (_, id) in told.accepted.iter().filter(|(of, _)| of == topic) {
            let input = conversation.inputs.iter().find(|input| input.input.id.as_str() == id);
            let fate = &input.unwrap_or_else(|| panic!("input {id} of {topic} is lost")).fate;
            let stands = standing(&conversation, id);
            match fate {
                Known::Is(Fate::Consumed { .. }) => {
                    assert_eq!(stands, 1, "consumed input {id} of {topic} stands once");
                    consumed += 1;
                }
                Known::Is(Fate::Returned { .. }) => {
                    assert_eq!(stands, 0, "returned input {id} of {topic} does not stand");
                    returned += 1;
                }
                other => panic!("input {id} of {topic} is {other:?}"),
            }
        }
        for (_, row, text) in told.steps.iter().filter(|(of, ..)| of == topic) {
            let texts = texts(&conversation, row);
            assert!(texts.contains(text), "step {text:?} of row {row} of {topic} is lost: {texts:?}");
        }
        for (_, id) in told.complete.iter().filter(|(of, _)| of == topic) {
            let row = conversation.rows.iter().find(|row| row.id.as_str() == id);
            let status = &row.unwrap_or_else(|| panic!("row {id} of {topic} is lost")).status;
            assert_eq!(*status, Known::Is(RowStatus::Complete), "row {id} of {topic}");
        }
    }
    assert!(consumed >= 100 && returned >= 10, "{consumed} were consumed, {returned} returned");
}

/// How often an input stands in the conversation: as a row of the user, or in the middle of an answer.
fn standing(conversation: &Conversation, input: &str) -> usize {
    let rows = conversation.rows.iter().filter(|row| row.id.as_str() == input).count();
    let messages = conversation.rows.iter().flat_map(|row| &row.content.messages);
    rows + messages.filter(|message| message.steer.as_ref().is_some_and(|it| it.as_str() == input)).count()
}

fn texts(conversation: &Conversation, row: &str) -> Vec<String> {
    let row = conversation.rows.iter().find(|it| it.id.as_str() == row);
    row.map(|row| marks::texts(&row.content)).unwrap_or_default()
}
