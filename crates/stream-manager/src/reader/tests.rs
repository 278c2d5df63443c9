use agent_loop::{SSE_DONE, SseReader, UiChunk, UiMessage, UiProtocol, UiReducer};
use futures_util::FutureExt;

use super::world::{
    World, active, attempt, finish, is_silent, rest, row, seal, shown, start, text, turn, write,
};
use super::*;
use crate::memory::{MemoryLog, MemoryStatus};
use crate::port::Lease;
use crate::record::{ActiveAttempt, NodeId, RowStatus, Terminal, TopicState};

/// A row in two attempts: all its chunks, and what it shows.
async fn two_attempts(world: &mut World) -> UiMessage {
    let mut first = world.create(1, row("r")).await;
    write(&mut first, [start("r"), UiChunk::StartStep].into_iter().chain(text("one")));
    let mut second = world.create(2, first.message()).await;
    write(&mut first, [finish()]);
    seal(&mut first, "r", Some(2), false).await;
    write(&mut second, [start("r"), UiChunk::StartStep].into_iter().chain(text("two")).chain([finish()]));
    let message = second.message();
    seal(&mut second, "r", None, true).await;
    let both = ActiveAttempt { earlier: vec![attempt(1)], ..active(2, "r") };
    world.publish(TopicState::Done, turn(1), vec![both]).await;
    message
}

/// [SM-140] [SM-141]
#[tokio::test]
async fn a_row_is_read_from_attempt_to_attempt_from_any_place() {
    let mut world = World::new();
    let message = two_attempts(&mut world).await;
    let mut reader = world.attach(Attach::new().with_turn(turn(1))).await.unwrap();
    let all = rest(&mut reader).await;
    assert_eq!(shown(&all, "r"), message);
    let places: Vec<_> = all.iter().map(|item| item.cursor().to_string()).collect();
    let numbers = |attempt: u64, last: u64| (1..=last).map(move |seq| format!("1.{attempt}:{seq}"));
    assert_eq!(places, numbers(1, 7).chain(numbers(2, 7)).collect::<Vec<_>>());
    for (at, item) in all.iter().enumerate() {
        let mut reader = world.attach(Attach::new().with_cursor(item.cursor())).await.unwrap();
        assert_eq!(rest(&mut reader).await, all[at + 1..], "behind {}", item.cursor());
    }
    // Beyond the end.
    let beyond = Cursor { attempt: attempt(2), seq: 99 };
    let items = rest(&mut world.attach(Attach::new().with_cursor(beyond)).await.unwrap()).await;
    assert_eq!(items.len(), 2);
    assert!(matches!(&items[0].body, ReaderBody::Rebase(snapshot) if snapshot.through == 6));
    assert!(items[1].terminal().is_some());
    assert_eq!(shown(&items, "r"), message);
    // From all there is, whose beginning is forgotten.
    world.log.forget(&"t".into(), attempt(1)).await.unwrap();
    for wants in [Attach::new().with_turn(turn(1)), Attach::new().with_turn(turn(1)).with_snapshot()] {
        let items = rest(&mut world.attach(wants).await.unwrap()).await;
        assert!(matches!(items[0].body, ReaderBody::Rebase(_)));
        assert_eq!(shown(&items, "r"), message);
    }
}

/// [SM-142]
#[tokio::test]
async fn what_cannot_be_read_is_not_found() {
    let mut world = World::new();
    let is_gone = |got: Result<TopicReader, AttachError>| matches!(got, Err(AttachError::NotFound));
    assert!(is_gone(world.attach(Attach::new()).await));
    let gone = Cursor { attempt: attempt(9), seq: 1 };
    assert!(is_gone(world.attach(Attach::new().with_cursor(gone)).await));
    two_attempts(&mut world).await;
    // Over: the history has it all. Who had begun to read it reads on.
    assert!(is_gone(world.attach(Attach::new()).await));
    assert!(is_gone(world.attach(Attach::new().with_cursor(gone)).await));
    assert!(is_gone(world.attach(Attach::new().with_turn(turn(1)).with_row("other".into())).await));
    assert!(world.attach(Attach::new().with_cursor(Cursor { attempt: attempt(1), seq: 0 })).await.is_ok());
    world.publish(TopicState::Streaming, turn(2), vec![active(3, "s")]).await;
    assert!(is_gone(world.attach(Attach::new().with_turn(turn(1))).await));
}

/// [SM-143]
#[tokio::test]
async fn models_side_by_side_are_merged_and_late_ones_join() {
    let mut world = World::new();
    world.publish(TopicState::Pending, turn(1), vec![active(1, "a"), active(2, "b")]).await;
    let mut a = world.create(1, row("a")).await;
    let mut reader = world.attach(Attach::new()).await.unwrap();
    write(&mut a, text("from a"));
    let mut items = Vec::new();
    for _ in 0..3 {
        items.push(reader.next().await.unwrap().unwrap());
    }
    // The log of the second model comes later than its place.
    assert!(is_silent(&mut reader));
    let mut b = world.create(2, row("b")).await;
    let model = ActiveAttempt { model: Some("big".to_owned()), ..active(3, "c") };
    let mut c = world.create(3, row("c")).await;
    world.publish(TopicState::Streaming, turn(1), vec![active(1, "a"), active(2, "b"), model]).await;
    write(&mut b, text("from b"));
    write(&mut c, text("from c"));
    seal(&mut a, "a", None, false).await;
    seal(&mut c, "c", None, false).await;
    assert!(!is_silent(&mut world.attach(Attach::new()).await.unwrap()));
    while items.len() < 11 {
        items.push(reader.next().await.unwrap().unwrap());
    }
    assert!(is_silent(&mut reader));
    seal(&mut b, "b", None, true).await;
    items.extend(rest(&mut reader).await);
    for (id, what) in [("a", "from a"), ("b", "from b"), ("c", "from c")] {
        let mut expected = UiReducer::new(id);
        text(what).into_iter().for_each(|chunk| expected.push(chunk).unwrap());
        assert_eq!(shown(&items, id), expected.into_message());
        assert_eq!(
            items.iter().filter(|item| item.row.as_str() == id && item.terminal().is_some()).count(),
            1
        );
    }
    assert!(items.iter().all(|item| item.model.as_deref() == (item.row.as_str() == "c").then_some("big")));
}

/// [SM-152]
#[tokio::test]
async fn models_that_have_much_to_say_are_heard_by_turns() {
    let mut world = World::new();
    world.publish(TopicState::Streaming, turn(1), vec![active(1, "a"), active(2, "b")]).await;
    for (number, id) in [(1, "a"), (2, "b")] {
        let mut writer = world.create(number, row(id)).await;
        write(&mut writer, text(id));
        seal(&mut writer, id, None, number == 2).await;
    }
    let items = rest(&mut world.attach(Attach::new()).await.unwrap()).await;
    let rows: Vec<_> = items.iter().map(|item| item.row.as_str()).collect();
    assert_eq!(rows, ["a", "b"].repeat(4));
}

/// [SM-144]
#[tokio::test]
async fn a_reader_that_follows_goes_on_with_the_next_turn() {
    let mut world = World::new();
    let mut reader = world.attach(Attach::new().following()).await.unwrap();
    assert!(is_silent(&mut reader));
    let mut items = Vec::new();
    for n in 1..4 {
        let mut writer = world.create(n, row("r")).await;
        world.publish(TopicState::Streaming, turn(n), vec![active(n, "r")]).await;
        write(&mut writer, text("x"));
        seal(&mut writer, "r", None, true).await;
        for _ in 0..4 {
            items.push(reader.next().await.unwrap().unwrap());
        }
        world.publish(TopicState::Done, turn(n), vec![active(n, "r")]).await;
        assert!(is_silent(&mut reader));
    }
    let turns: Vec<_> = items.iter().map(|item| item.turn.number).collect();
    assert_eq!(turns, [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
    // The same turn goes on once a question is answered.
    let mut writer = world.create(4, row("r")).await;
    let again = ActiveAttempt { earlier: vec![attempt(3)], ..active(4, "r") };
    world.publish(TopicState::Streaming, turn(3), vec![again]).await;
    write(&mut writer, text("y"));
    let item = reader.next().await.unwrap().unwrap();
    assert_eq!((item.turn, item.cursor().to_string().as_str()), (turn(3), "1.4:1"));
}

/// [SM-145]
#[tokio::test(start_paused = true)]
async fn a_row_that_nobody_ends_is_lost_after_a_while() {
    for is_sealed in [false, true] {
        let mut world = World::new();
        world.publish(TopicState::Streaming, turn(1), vec![active(1, "r")]).await;
        let mut writer = world.create(1, row("r")).await;
        writer.append(start("r"));
        let mut reader = world.attach(Attach::new().with_patience(Duration::from_secs(5))).await.unwrap();
        drop(writer);
        reader.next().await.unwrap().unwrap();
        let begun = tokio::time::Instant::now();
        if is_sealed {
            assert!(is_silent(&mut reader));
            let lease = Lease::new("t".into(), NodeId::from("m"), 2);
            let end = Terminal::new("r".into(), RowStatus::Interrupted, None, true);
            world.log.seal_orphan(&lease, attempt(1), end.clone()).await.unwrap();
            assert_eq!(reader.next().await.unwrap().unwrap().terminal(), Some(&end));
            assert_eq!(begun.elapsed(), Duration::ZERO);
        } else {
            assert_eq!(reader.next().await.unwrap().unwrap().body, ReaderBody::Lost);
            assert_eq!(begun.elapsed(), Duration::from_secs(5));
            world.publish(TopicState::Failed, turn(1), Vec::new()).await;
        }
        assert!(reader.next().await.is_none());
    }
}

/// [SM-146]
#[test]
fn cursors_have_one_text_each() {
    for text in ["1.2:3", "0.0:0", "18446744073709551615.1:18446744073709551615"] {
        assert_eq!(text.parse::<Cursor>().unwrap().to_string(), text);
    }
    for text in [
        "",
        ":",
        "1:2",
        "1.2",
        "1.2:",
        "1.2:x",
        "1.2:-1",
        "1.2:+1",
        "1.2: 1",
        "01.2:1",
        "1.2:18446744073709551616",
    ] {
        assert_eq!(text.parse::<Cursor>(), Err(CursorError), "{text}");
    }
    assert_eq!("1.2:03".parse::<Cursor>(), Err(CursorError));
}

async fn body(world: &World, wants: Attach, settings: SseSettings) -> String {
    let mut body = SseBody::new(world.attach(wants).await.unwrap(), settings);
    let mut bytes = Vec::new();
    while let Some(piece) = body.next().await {
        bytes.extend(piece.unwrap());
    }
    String::from_utf8(bytes).unwrap()
}

fn read_body(body: &str, protocol: UiProtocol) -> (Vec<UiChunk>, bool) {
    let (mut reader, mut chunks) = (SseReader::new(protocol), Vec::new());
    reader.push(body.as_bytes(), &mut chunks).unwrap();
    (chunks, reader.end().is_ok())
}

/// [SM-147] [SM-148]
#[tokio::test]
async fn a_body_is_one_message_of_all_attempts() {
    let mut world = World::new();
    let message = two_attempts(&mut world).await;
    let wants = Attach::new().with_turn(turn(1));
    for protocol in UiProtocol::ALL {
        let body = body(&world, wants.clone(), SseSettings::new().with_protocol(protocol)).await;
        let (chunks, is_whole) = read_body(&body, protocol);
        let kinds: Vec<_> = chunks.iter().map(UiChunk::kind).collect();
        let step = ["start-step", "text-start", "text-delta", "text-end"];
        assert_eq!(kinds, [&["start"][..], &step, &step, &["finish"]].concat());
        assert!(is_whole);
        let mut reducer = UiReducer::new("");
        chunks.into_iter().for_each(|chunk| reducer.push(chunk).unwrap());
        assert_eq!(*reducer.message(), message);
        let ids: Vec<_> = body.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
        assert_eq!(
            ids,
            ["1.1:1", "1.1:2", "1.1:3", "1.1:4", "1.1:5", "1.2:2", "1.2:3", "1.2:4", "1.2:5", "1.2:7"]
        );
        for (at, id) in ids.iter().enumerate() {
            let behind = Attach::new().with_cursor(id.parse().unwrap());
            let tail = super::tests::body(&world, behind, SseSettings::new().with_protocol(protocol)).await;
            let (mut rest, is_whole) = read_body(&tail, protocol);
            assert!(is_whole);
            rest.retain(|chunk| !matches!(chunk, UiChunk::Start { .. }));
            assert_eq!(rest.len(), ids.len() - at - 1, "behind {id}: {tail}");
        }
    }
    let bare = body(&world, wants.clone(), SseSettings::new().without_ids()).await;
    assert!(bare.lines().all(|line| line.is_empty() || line.starts_with("data: ")));
    assert!(bare.as_bytes().ends_with(SSE_DONE));
    // Who comes from a place that is gone reads it anew, and is told so.
    let beyond = Attach::new().with_cursor(Cursor { attempt: attempt(2), seq: 99 });
    let anew = body(&world, beyond, SseSettings::new()).await;
    assert!(anew.starts_with("event: rebase\ndata: {\"type\":\"start\",\"messageId\":\"r\"}"), "{anew}");
    let ids: Vec<_> = anew.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
    assert_eq!(ids, ["1.2:7"]);
    assert!(read_body(&anew, UiProtocol::V7).1);
}

/// [SM-149]
#[tokio::test(start_paused = true)]
async fn a_silent_body_has_heartbeats_and_an_orphan_an_end() {
    let mut world = World::new();
    world.publish(TopicState::Streaming, turn(1), vec![active(1, "r")]).await;
    let mut writer = world.create(1, row("r")).await;
    write(&mut writer, [start("r")]);
    let reader = world.attach(Attach::new()).await.unwrap();
    let mut body = SseBody::new(reader, SseSettings::new().with_heartbeat(Duration::from_secs(3)));
    assert!(body.next().await.unwrap().unwrap().starts_with(b"id: 1.1:1\ndata: "));
    let begun = tokio::time::Instant::now();
    for _ in 0..2 {
        assert_eq!(body.next().await.unwrap().unwrap(), b":\n\n");
    }
    assert_eq!(begun.elapsed(), Duration::from_secs(6));
    for (status, kind) in
        [(RowStatus::Interrupted, "error"), (RowStatus::Stopped, "abort"), (RowStatus::Complete, "finish")]
    {
        let mut encoder_world = World::new();
        encoder_world.publish(TopicState::Streaming, turn(1), vec![active(1, "r")]).await;
        let mut writer = encoder_world.create(1, row("r")).await;
        writer.append(start("r"));
        writer.seal(Terminal::new("r".into(), status, None, true)).await.unwrap();
        let text = super::tests::body(&encoder_world, Attach::new(), SseSettings::new()).await;
        let (chunks, is_whole) = read_body(&text, UiProtocol::V7);
        assert_eq!(chunks.iter().map(UiChunk::kind).collect::<Vec<_>>(), ["start", kind]);
        assert!(is_whole);
    }
}

/// [SM-150]
#[tokio::test]
async fn a_body_that_fell_behind_ends_without_the_mark() {
    let mut world = World::with_log(MemoryLog::new().with_max_entries(4));
    world.publish(TopicState::Streaming, turn(1), vec![active(1, "r")]).await;
    let mut writer = world.create(1, row("r")).await;
    write(&mut writer, [start("r"), UiChunk::StartStep]);
    let reader = world.attach(Attach::new()).await.unwrap();
    let mut body = SseBody::new(reader, SseSettings::new());
    let first = String::from_utf8(body.next().await.unwrap().unwrap()).unwrap();
    write(&mut writer, text("one").into_iter().chain(text("two")));
    seal(&mut writer, "r", None, true).await;
    assert!(body.next().await.is_none());
    assert!(!read_body(&first, UiProtocol::V7).1);
    let cursor = first.lines().filter_map(|line| line.strip_prefix("id: ")).next_back().unwrap();
    let wants = Attach::new().with_cursor(cursor.parse().unwrap());
    let again = super::tests::body(&world, wants, SseSettings::new()).await;
    assert!(again.starts_with("event: rebase\n"));
    assert!(read_body(&again, UiProtocol::V7).1);
}

/// [SM-151]
#[tokio::test]
async fn one_topic_is_watched_without_the_others() {
    let bus = MemoryStatus::new();
    let told =
        |topic: &str, revision: u64| TopicStatus { revision, epoch: 1, ..TopicStatus::idle(topic.into()) };
    bus.publish(told("t", 1)).await.unwrap();
    let mut seen = bus.watch_topic(&"t".into()).await.unwrap();
    let mut later = bus.watch_topic(&"later".into()).await.unwrap();
    assert_eq!(seen.next().await.unwrap().revision, 1);
    for revision in 1..4 {
        bus.publish(told("other", revision)).await.unwrap();
    }
    assert!(seen.next().now_or_never().is_none());
    for revision in [3, 2, 5] {
        bus.publish(told("t", revision)).await.unwrap();
    }
    assert_eq!(seen.next().await.unwrap().revision, 5);
    bus.forget(&"later".into()).await.unwrap();
    bus.publish(told("later", 1)).await.unwrap();
    assert_eq!(later.next().await.unwrap().topic.as_str(), "later");
}
