//! A conversation that is kept: it outlives the program, and can be gone on with.

mod find;
mod source;

use std::pin::pin;
use std::time::Duration;

use agent_loop::UiChunk;
use ai_provider::ModelError;
use futures_util::TryFutureExt;
use stream_manager::port::{Conversation, Refusal, WhenLive};
use stream_manager::reader::{Attach, AttachError, Cursor, ReaderBody};
use stream_manager::record::{Author, Row, RowStatus, TopicId, TurnId};
use stream_manager::{ManagerError, Send, Settings, StreamManager};
use tokio::signal::ctrl_c;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

pub(crate) use self::find::list;
use self::source::{Books, Source};
use crate::config::Config;
use crate::consent::Questions;
use crate::failure::Failure;
use crate::render::Summary;
use crate::session::Session;
use crate::store::Store;
use crate::view::View;

/// A conversation in the store of the configuration.
#[derive(Debug)]
pub(crate) struct Kept<'a> {
    session: &'a Session,
    manager: StreamManager,
    books: Books,
    topic: TopicId,
    /// Whether something was said to it, and its user does not know its id.
    is_to_tell: bool,
    is_new: bool,
    /// Whether calls of the last answer wait for a decision.
    waits: bool,
    /// Whether the program shall end at once.
    hurries: bool,
}

/// How long the end may take: what is stopped is written down.
const LAST: Duration = Duration::from_secs(10);

/// How long a stop may take: as long as the store may.
const STOP: Duration = Duration::from_secs(30);

/// How long nothing is said of a conversation that another program has.
const SILENCE: Duration = Duration::from_secs(1);

/// For how long a conversation stays that of a program that died: a person waits for it.
const LEASE: Duration = Duration::from_secs(5);

/// How often, and how many times, is looked whether an answer goes on that cannot be read: for 30 s.
const LOOK: (Duration, u32) = (Duration::from_millis(20), 1500);

/// A turn that is read.
struct Reading<'a> {
    turn: TurnId,
    cursor: Option<Cursor>,
    questions: Questions<'a>,
    /// Whether a part of an answer is on the screen.
    said: bool,
    /// How many steps are over.
    steps: usize,
}

impl<'a> Kept<'a> {
    /// Opens the conversation of this id, or a new one, and says of an old one how it stands. What programs that died
    /// left open is ended as interrupted.
    ///
    /// # Errors
    /// If the store cannot be used, or has no such conversation.
    pub(crate) async fn open(
        session: &'a Session,
        config: &Config,
        id: Option<&str>,
        view: &mut View,
    ) -> Result<Self, Failure> {
        let store = Store::lasting(&config.store).await?;
        let topic = match (id, store.conversations()) {
            (Some(id), Some(conversations)) => find::topic(&*conversations, id).await?,
            _ => TopicId::random(),
        };
        let books = Books::default();
        let source = Source::new(session, books.clone());
        let mut settings = Settings::default();
        settings.lease = LEASE;
        let builder = StreamManager::builder(source).with_settings(settings);
        let manager = store.under(builder).build().await.map_err(|error| lost(&error))?;
        let mut kept = Self {
            session,
            manager,
            books,
            topic,
            is_to_tell: false,
            is_new: id.is_none(),
            waits: false,
            hurries: false,
        };
        if id.is_some() {
            kept.manager.recover().await.map_err(|error| lost(&error))?;
            if let Some(conversation) =
                kept.manager.history(&kept.topic).await.map_err(|error| lost(&error))?
            {
                kept.waits = last(&conversation) == Some(RowStatus::AwaitingApproval);
                let note = find::standing(&kept.topic, &conversation);
                view.note(&note).map_err(Failure::of_screen)?;
            }
        }
        Ok(kept)
    }

    /// Leaves the conversation for a new one.
    ///
    /// # Errors
    /// If the id of the one before cannot be shown.
    pub(crate) fn begin_anew(&mut self, view: &mut View) -> Result<(), Failure> {
        self.tell(view)?;
        self.topic = TopicId::random();
        (self.is_new, self.waits) = (true, false);
        Ok(())
    }

    /// Ends in order: what still runs is stopped and written down. Says under which id the conversation is kept.
    ///
    /// # Errors
    /// If that cannot be shown.
    pub(crate) async fn close(mut self, view: &mut View) -> Result<(), Failure> {
        if self.hurries {
            self.manager.shut_down_now().await;
        } else if !self.manager.shut_down(LAST).await {
            view.note("The end of the conversation could not be written in time.")
                .map_err(Failure::of_screen)?;
        }
        self.tell(view)
    }

    fn tell(&mut self, view: &mut View) -> Result<(), Failure> {
        if !std::mem::take(&mut self.is_to_tell) {
            return Ok(());
        }
        view.note(&format!("The conversation is kept: --continue {} goes on with it.", self.topic))
            .map_err(Failure::of_screen)
    }

    /// Asks, and shows the answer as it comes. Ctrl-C stops the answer, and what came of it is kept; twice, it ends at
    /// once. Gives why there is no whole answer, if there is none.
    ///
    /// # Errors
    /// If the screen cannot be written to.
    pub(crate) async fn answer(
        &mut self,
        question: String,
        view: &mut View,
    ) -> Result<Option<Failure>, Failure> {
        let started = Instant::now();
        self.books.take();
        // A decision that nobody made must not keep the conversation from going on.
        let when_live = if self.waits { WhenLive::Interrupt } else { WhenLive::Reject };
        let turn = match self.send(Send::text(question).when_live(when_live), view).await? {
            Ok(turn) => turn,
            Err(failure) => return Ok(Some(failure)),
        };
        self.waits = false;
        let questions = self.session.consent().questions();
        let mut reading = Reading { turn, cursor: None, questions, said: false, steps: 0 };
        let read = self.read(&mut reading, view).await?;
        view.end().map_err(Failure::of_screen)?;
        let row = match read {
            Ok(row) => row,
            Err(failure) => return Ok(Some(failure)),
        };
        self.waits = row.status.known() == Some(&RowStatus::AwaitingApproval);
        let model = self.session.model();
        let entries = self.books.take();
        if let Some(usage) = row.content.usage.as_ref().filter(|_| reading.steps > 0) {
            let costs: Vec<_> =
                entries.iter().flat_map(|entry| &entry.answered).map(|step| step.cost).collect();
            // A step that waited for a decision is in no books.
            let cost = if costs.len() == reading.steps { costs.into_iter().sum() } else { None };
            let (steps, time) = (reading.steps, started.elapsed());
            let summary = Summary { model: &model, steps, usage, cost, time };
            view.summary(&summary).map_err(Failure::of_screen)?;
        }
        let outcome = entries.last().map_or("finished", |entry| entry.outcome.as_str());
        Ok(ending(&row, outcome, &model, reading.said))
    }

    /// Says it, and gives the turn that answers.
    async fn send(&mut self, send: Send, view: &mut View) -> Result<Result<TurnId, Failure>, Failure> {
        let mut told = false;
        let sent = {
            let mut sending = pin!(self.manager.send(&self.topic, send));
            let (mut interrupt, mut silence) = (pin!(ctrl_c()), pin!(sleep(SILENCE)));
            loop {
                tokio::select! {
                    biased;
                    sent = &mut sending => break sent,
                    _ = &mut interrupt => return Ok(Err(Failure::interrupted(false))),
                    () = &mut silence, if !told => {
                        told = true;
                        view.note("Another program has this conversation, or died a moment ago; waiting for it.")
                            .map_err(Failure::of_screen)?;
                    }
                }
            }
        };
        Ok(match sent {
            Ok(receipt) => {
                if told {
                    self.tell_of_interrupted(receipt.turn, view).await?;
                }
                self.is_to_tell |= self.is_new;
                self.is_new = false;
                receipt.turn.ok_or_else(|| Failure::new("the question was kept, and no answer was begun"))
            }
            Err(error) => Err(not_said(&error)),
        })
    }

    /// Says so if the answer before this turn was ended for a program that died.
    async fn tell_of_interrupted(&self, turn: Option<TurnId>, view: &mut View) -> Result<(), Failure> {
        let conversation = self.manager.history(&self.topic).await.ok().flatten();
        let rows = conversation.into_iter().flat_map(|conversation| conversation.rows);
        let before = rows.filter(|row| row.author == Author::Assistant && Some(row.turn) != turn).last();
        match before.and_then(|row| row.status.known().copied()) {
            Some(RowStatus::Interrupted) => {
                view.note("The answer before was interrupted.").map_err(Failure::of_screen)
            }
            _ => Ok(()),
        }
    }

    /// Reads the turn until it is over, and asks for decisions in between. Gives the row of the answer.
    async fn read(
        &mut self,
        reading: &mut Reading<'_>,
        view: &mut View,
    ) -> Result<Result<Row, Failure>, Failure> {
        let mut looks = 0;
        loop {
            looks = match self.follow(reading, view).await {
                Ok(Followed::Some) => 0,
                Ok(Followed::Nothing) => looks + 1,
                Ok(Followed::Twice) => {
                    self.hurries = true;
                    return Ok(Err(Failure::interrupted(reading.said)));
                }
                Err(Broken::Screen(failure)) => return Err(failure),
                Err(Broken::Store(failure)) => return Ok(Err(failure)),
            };
            let row = match self.row(reading.turn).await {
                Ok(row) => row,
                Err(failure) => return Ok(Err(failure)),
            };
            match row.status.known() {
                Some(RowStatus::AwaitingApproval) if reading.questions.any() => {
                    if let Err(error) = self.decide(&row, reading).await {
                        return Ok(Err(lost(&error)));
                    }
                    looks = 0;
                }
                Some(RowStatus::Open | RowStatus::AwaitingApproval) if looks < LOOK.1 => sleep(LOOK.0).await,
                _ => return Ok(Ok(row)),
            }
        }
    }

    /// Shows what can be read of the turn now.
    async fn follow(&self, reading: &mut Reading<'_>, view: &mut View) -> Result<Followed, Broken> {
        let mut wants = Attach::new().with_turn(reading.turn);
        if let Some(cursor) = reading.cursor {
            wants = wants.with_cursor(cursor);
        }
        let mut reader = match self.manager.attach(&self.topic, wants).await {
            Ok(reader) => reader,
            Err(AttachError::NotFound) => return Ok(Followed::Nothing),
            Err(error) => return Err(Broken::Store(lost(&error))),
        };
        let mut followed = Followed::Nothing;
        let mut interrupt = pin!(ctrl_c());
        let mut ticks = interval(Duration::from_millis(100));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let item = tokio::select! {
                biased;
                _ = &mut interrupt => {
                    interrupt.set(ctrl_c());
                    tokio::select! {
                        stopped = self.stop(reading.turn) => stopped.map_err(|error| Broken::Store(lost(&error)))?,
                        _ = &mut interrupt => return Ok(Followed::Twice),
                    }
                    interrupt.set(ctrl_c());
                    continue;
                }
                item = reader.next() => item,
                _ = ticks.tick(), if view.waits() => {
                    view.tick();
                    continue;
                }
            };
            let Some(item) = item else { return Ok(followed) };
            let item = item.map_err(|error| Broken::Store(lost(&error)))?;
            followed = Followed::Some;
            reading.cursor = Some(Cursor { attempt: item.attempt, seq: item.last });
            if matches!(item.body, ReaderBody::Rebase(_)) {
                view.note("A part of the answer is not shown here; the conversation has it.")
                    .map_err(|error| Broken::Screen(Failure::of_screen(error)))?;
            }
            if let Some(chunk) = item.chunk() {
                self.show(chunk, reading, view).map_err(|error| Broken::Screen(Failure::of_screen(error)))?;
            }
        }
    }

    fn show(&self, chunk: &UiChunk, reading: &mut Reading<'_>, view: &mut View) -> std::io::Result<()> {
        reading.said |= matches!(chunk, UiChunk::TextDelta { .. });
        reading.steps += usize::from(matches!(chunk, UiChunk::FinishStep));
        view.chunk(chunk)?;
        if reading.questions.hear(chunk) {
            view.pause();
        }
        if matches!(chunk, UiChunk::StartStep) {
            view.wait(&self.session.model());
        }
        Ok(())
    }

    /// Has the calls decided that wait. The answer goes on with the last decision, or is stopped.
    async fn decide(&self, row: &Row, reading: &mut Reading<'_>) -> Result<(), ManagerError> {
        while reading.questions.any() {
            let Some((call, decision)) = reading.questions.answered().await else {
                return self.stop(reading.turn).await;
            };
            self.manager.approve(&self.topic, &row.id, &call, decision).await?;
        }
        for _ in 0..LOOK.1 {
            let status = self.manager.status(&self.topic).await?;
            let attempts = status.attempts.iter().filter(|active| active.row == row.id);
            if let Some(next) = attempts.map(|active| active.attempt).find(|next| Some(*next) > row.attempt) {
                reading.cursor = Some(Cursor { attempt: next, seq: 0 });
                break;
            }
            sleep(LOOK.0).await;
        }
        Ok(())
    }

    /// Stops the turn; one that is over needs no stop.
    async fn stop(&self, turn: TurnId) -> Result<(), ManagerError> {
        match self.manager.stop(&self.topic, turn, STOP).await {
            Err(ManagerError::Refused(Refusal::NotLive | Refusal::StaleTurn)) => Ok(()),
            stopped => stopped.map(|_| ()),
        }
    }

    /// The answer of a turn, as it is written down.
    async fn row(&self, turn: TurnId) -> Result<Row, Failure> {
        let conversation = self.manager.history(&self.topic).map_err(|error| lost(&error)).await?;
        let rows = conversation.into_iter().flat_map(|conversation| conversation.rows);
        let mut answers = rows.filter(|row| row.turn == turn && row.author == Author::Assistant);
        answers.next_back().ok_or_else(|| Failure::new("the conversation was deleted"))
    }
}

/// What came of reading.
enum Followed {
    Some,
    Nothing,
    /// The user wants the program to end at once.
    Twice,
}

enum Broken {
    Screen(Failure),
    Store(Failure),
}

/// How the last answer stands.
fn last(conversation: &Conversation) -> Option<RowStatus> {
    conversation.shown().last().and_then(|row| row.status.known().copied())
}

fn lost(error: &dyn std::error::Error) -> Failure {
    Failure::new(format!("the conversations cannot be used: {error}"))
}

fn not_said(error: &ManagerError) -> Failure {
    match error {
        ManagerError::NoOwner | ManagerError::Refused(Refusal::TopicBusy) => {
            Failure::new("another program is writing in this conversation")
                .with_advice("End that program, or wait until its answer is complete.")
        }
        ManagerError::NotStarted(_) => {
            Failure::new("the question is kept, and its answer could not be begun")
        }
        error => lost(error),
    }
}

/// Why an answer is not whole, by the row it is kept in and the word for how its run ended.
fn ending(row: &Row, outcome: &str, model: &str, said: bool) -> Option<Failure> {
    let failure = match (row.status.known(), &row.content.error) {
        (Some(RowStatus::Stopped), _) => return Some(Failure::interrupted(said)),
        (Some(RowStatus::Failed), Some(error)) => Failure::of_model(&ModelError::from(error.clone()), model),
        (Some(RowStatus::Complete), _) if outcome == "finished" => return None,
        (_, _) if outcome == "truncated" => Failure::new("the answer was cut at a length limit"),
        (_, _) if outcome == "refused" => Failure::new("the provider withholds the answer"),
        (_, _) if outcome == "step-cap" => {
            Failure::new("the model wanted to go on after the most steps it may take")
                .with_advice("Allow more with --max-steps, or ask for less at a time.")
        }
        (Some(RowStatus::Interrupted | RowStatus::Open), _) => Failure::new("the answer broke off"),
        _ => Failure::new(format!("the run ended early: {outcome}")),
    };
    Some(failure)
}
