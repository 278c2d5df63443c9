use std::sync::Mutex;

use agent_loop::UiChunk;
use proptest::prelude::*;

use super::*;
use crate::reader::Attach;
use crate::reader::world::{World, active, row, seal, start, text, turn, write};
use crate::record::{Terminal, TopicState};

/// A room that refuses so many calls.
#[derive(Default)]
struct Room {
    messages: Mutex<Vec<Option<String>>>,
    calls: Mutex<Vec<Instant>>,
    refuses: Mutex<usize>,
}

impl Room {
    fn call(&self) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.calls.lock().unwrap().push(Instant::now());
        let mut refuses = self.refuses.lock().unwrap();
        if *refuses > 0 {
            *refuses -= 1;
            return Err("slow down".into());
        }
        Ok(())
    }

    fn shown(&self) -> Vec<String> {
        self.messages.lock().unwrap().iter().flatten().cloned().collect()
    }
}

#[async_trait]
impl Channel for Room {
    async fn send(&self, text: &str) -> Result<String, Box<dyn Error + Send + Sync>> {
        self.call()?;
        let mut messages = self.messages.lock().unwrap();
        messages.push(Some(text.to_owned()));
        Ok((messages.len() - 1).to_string())
    }

    async fn edit(&self, message: &str, text: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.call()?;
        self.messages.lock().unwrap()[message.parse::<usize>().unwrap()] = Some(text.to_owned());
        Ok(())
    }

    async fn delete(&self, message: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.call()?;
        self.messages.lock().unwrap()[message.parse::<usize>().unwrap()] = None;
        Ok(())
    }
}

/// [SM-170]
#[tokio::test(start_paused = true)]
async fn a_whole_answer_comes_at_its_end_in_pieces_that_fit() {
    let mut world = World::new();
    world.publish(TopicState::Streaming, turn(1), vec![active(1, "r")]).await;
    let mut writer = world.create(1, row("r")).await;
    write(&mut writer, text("one two three").into_iter().chain(text(" four ")));
    seal(&mut writer, "r", None, true).await;
    let room = Room::default();
    let reader = world.attach(Attach::new()).await.unwrap();
    speak(reader, &room, ChannelSettings::new().with_max_chars(8)).await.unwrap();
    assert_eq!(room.shown(), ["one two", "three", "four"]);
    assert_eq!(room.calls.lock().unwrap().len(), 3);
}

/// [SM-171]
#[tokio::test(start_paused = true)]
async fn an_answer_is_edited_as_it_grows_but_not_too_often() {
    let mut world = World::new();
    world.publish(TopicState::Streaming, turn(1), vec![active(1, "r")]).await;
    let mut writer = world.create(1, row("r")).await;
    let room = Room { refuses: Mutex::new(1), ..Room::default() };
    let reader = world.attach(Attach::new()).await.unwrap();
    let settings = ChannelSettings::new().with_edits_every(Duration::from_secs(1)).with_max_chars(30);
    let writing = async {
        write(&mut writer, [start("r"), UiChunk::StartStep, text("")[0].clone()]);
        for n in 0..50 {
            let delta = format!("{n} ");
            write(&mut writer, [UiChunk::TextDelta { id: "".into(), delta, provider_metadata: None }]);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        // The step is taken back: what was said is gone, also from the room.
        write(&mut writer, [UiChunk::ResetStep].into_iter().chain(text("short")));
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(room.shown(), ["short"]);
        let end = Terminal::new("r".into(), RowStatus::Failed, None, true);
        writer.seal(end).await.unwrap();
    };
    let (spoken, ()) = tokio::join!(speak(reader, &room, settings), writing);
    spoken.unwrap();
    assert_eq!(room.shown(), ["short\n\n(The answer was", "interrupted.)"]);
    let calls = room.calls.lock().unwrap();
    let mut times = calls.clone();
    times.dedup();
    assert!((6..=9).contains(&times.len()), "{}", times.len());
    assert!(times.windows(2).take(5).all(|pair| pair[1] - pair[0] >= Duration::from_secs(1)));
}

/// [SM-172]
#[tokio::test(start_paused = true)]
async fn an_end_that_the_channel_does_not_take_is_an_error() {
    for (refuses, is_told) in [(1, true), (2, false)] {
        let mut world = World::new();
        world.publish(TopicState::Streaming, turn(1), vec![active(1, "r")]).await;
        let mut writer = world.create(1, row("r")).await;
        write(&mut writer, text("Hi."));
        seal(&mut writer, "r", None, true).await;
        let room = Room { refuses: Mutex::new(refuses), ..Room::default() };
        let reader = world.attach(Attach::new()).await.unwrap();
        assert_eq!(speak(reader, &room, ChannelSettings::new()).await.is_ok(), is_told);
        assert_eq!(room.shown().len(), usize::from(is_told));
    }
}

proptest! {
    /// [SM-173]
    #[test]
    fn pieces_fit_hold_all_words_and_stay(text in "[a-z\u{e9}\u{1f600} \n]{0,80}", more in "[a-z ]{0,20}", most in 1..20_usize) {
        let pieces = split(&text, most);
        prop_assert!(pieces.iter().all(|piece| !piece.is_empty() && piece.chars().count() <= most));
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        prop_assert_eq!(bare(&pieces.concat()), bare(&text));
        let grown = text.clone() + &more;
        let full = pieces.len().saturating_sub(1);
        prop_assert_eq!(&split(&grown, most)[..full], &pieces[..full]);
    }
}
