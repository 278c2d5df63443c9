use std::sync::Arc;
use std::time::Duration;

use agent_loop::UiMessage;
use ai_core::Decision;
use ai_provider::{Id, Message, ToolOutput, UserMessage};
use tokio::sync::oneshot;

use super::{ManagerError, StreamManager};
use crate::actor::Mail;
use crate::history;
use crate::inspect::Inspection;
use crate::port::{Command, Conversation, Page, Reply, StoreError, TopicSummary, WhenLive};
use crate::record::{
    Fate, Input, InputBody, InputId, Known, Queue, RowId, StoredInput, TopicId, TopicStatus, TurnId,
};

/// How long a verb may take: as long as a store may, and some for the way.
const LIMIT: Duration = Duration::from_secs(30);

/// Something to say to a topic.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Send {
    id: InputId,
    message: Arc<Message>,
    models: Vec<String>,
    parent: Option<RowId>,
    when_live: WhenLive,
    turn: Option<TurnId>,
}

impl Send {
    /// A message of the user, with a random id.
    pub fn new(message: UserMessage) -> Self {
        Self {
            id: InputId::random(),
            message: Arc::new(Message::User(message)),
            models: Vec::new(),
            parent: None,
            when_live: WhenLive::Steer,
            turn: None,
        }
    }

    /// Text of the user, with a random id.
    pub fn text(text: impl Into<String>) -> Self {
        match Message::user(text) {
            Message::User(message) => Self::new(message),
            _ => Self::new(UserMessage::default()),
        }
    }

    /// Sets the id: of the input, and of the user's row. The same id sent again counts once.
    pub fn with_id(mut self, id: impl Into<InputId>) -> Self {
        self.id = id.into();
        self
    }

    /// Sets which models shall answer, side by side.
    pub fn with_models<M: Into<String>>(mut self, models: impl IntoIterator<Item = M>) -> Self {
        self.models = models.into_iter().map(Into::into).collect();
        self
    }

    /// Sets which row it follows. Default: the end of the conversation.
    pub fn with_parent(mut self, parent: impl Into<RowId>) -> Self {
        self.parent = Some(parent.into());
        self
    }

    /// Sets what happens if a turn is live. Default: it is said to that turn.
    pub fn when_live(mut self, when_live: WhenLive) -> Self {
        self.when_live = when_live;
        self
    }

    /// Refuses it unless this turn is the live one: so that what was meant for one turn is not said to another.
    pub fn for_turn(mut self, turn: TurnId) -> Self {
        self.turn = Some(turn);
        self
    }
}

/// An input is written down. What becomes of it is told by [`StreamManager::events`], in the stream of its topic as a
/// transient `data-input` chunk, and by [`StreamManager::input`] at any time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receipt {
    /// The input.
    pub id: InputId,
    /// Its place among the inputs of its topic.
    pub seq: u64,
    /// The turn it started, or is for. Absent where it waits for one to come.
    pub turn: Option<TurnId>,
    /// Whether the same input was accepted before. The first one counts.
    pub duplicate: bool,
}

impl StreamManager {
    /// Says something to a topic: starts a turn, or does with a live one what the message says. Returns once the message
    /// and, if it starts a turn, the rows of that turn are durable.
    ///
    /// # Errors
    /// If it is refused, the turn could not be started, or a store does not answer.
    pub async fn send(&self, topic: &TopicId, send: Send) -> Result<Receipt, ManagerError> {
        let queue = if send.when_live == WhenLive::Steer { Queue::Steer } else { Queue::FollowUp };
        let body = InputBody::Message { message: send.message, queue, parent: send.parent };
        let input = Input::new(send.id, body).with_models(send.models);
        self.submit(topic, input, send.when_live, send.turn).await
    }

    /// Says something to the live turn: it goes on with it after its current step, in the same message. Without a live
    /// turn it starts one.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn steer(&self, topic: &TopicId, send: Send) -> Result<Receipt, ManagerError> {
        self.send(topic, send.when_live(WhenLive::Steer)).await
    }

    /// Says something for a turn of its own, once the live one is over.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn follow_up(&self, topic: &TopicId, send: Send) -> Result<Receipt, ManagerError> {
        self.send(topic, send.when_live(WhenLive::FollowUp)).await
    }

    /// Has a row of the assistant, or of the user, answered anew. What followed the row stays in the store and is left
    /// out of the history. In a live turn it takes the place of an answer that is over.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn regenerate(
        &self,
        topic: &TopicId,
        row: &RowId,
        models: Vec<String>,
    ) -> Result<Receipt, ManagerError> {
        let body = InputBody::Regenerate { row: row.clone() };
        let input = Input::new(InputId::random(), body).with_models(models);
        self.submit(topic, input, WhenLive::Reject, None).await
    }

    /// Has a further model answer beside a row.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn append(
        &self,
        topic: &TopicId,
        beside: &RowId,
        model: impl Into<String>,
    ) -> Result<Receipt, ManagerError> {
        let body = InputBody::Append { beside: beside.clone() };
        let input = Input::new(InputId::random(), body).with_models([model]);
        self.submit(topic, input, WhenLive::Reject, None).await
    }

    /// Decides about a call that waits. The turn goes on once all calls of it are decided.
    ///
    /// # Errors
    /// If no such call waits, it was decided otherwise, or a store does not answer.
    pub async fn approve(
        &self,
        topic: &TopicId,
        row: &RowId,
        call: &Id,
        decision: Decision,
    ) -> Result<Receipt, ManagerError> {
        let body = InputBody::Approval {
            row: row.clone(),
            call_id: call.clone(),
            approved: decision.approved,
            reason: decision.reason,
        };
        // One name for one decision, so that a repeated one is the same input.
        let word = if decision.approved { "yes" } else { "no" };
        self.answer(topic, format!("decision:{row}:{}:{word}", call.as_str()), body).await
    }

    /// Gives the result of a call that the client ran. The turn goes on once all of them are there.
    ///
    /// # Errors
    /// If no such call waits, it has another result, or a store does not answer.
    pub async fn tool_result(
        &self,
        topic: &TopicId,
        row: &RowId,
        call: &Id,
        output: ToolOutput,
    ) -> Result<Receipt, ManagerError> {
        let body = InputBody::ToolResult { row: row.clone(), call_id: call.clone(), output };
        self.answer(topic, format!("result:{row}:{}", call.as_str()), body).await
    }

    /// Answers a call that waits. An answer that went back, as the row could not go on with it, is given anew under
    /// another name: under its own it would count as given.
    async fn answer(&self, topic: &TopicId, id: String, body: InputBody) -> Result<Receipt, ManagerError> {
        let receipt = self.submit(topic, Input::new(id, body.clone()), WhenLive::Reject, None).await?;
        if receipt.duplicate {
            let known = self.input(topic, &receipt.id).await?;
            if known.is_some_and(|known| matches!(known.fate, Known::Is(Fate::Returned { .. }))) {
                let anew = Input::new(InputId::random(), body);
                return self.submit(topic, anew, WhenLive::Reject, None).await;
            }
        }
        Ok(receipt)
    }

    async fn submit(
        &self,
        topic: &TopicId,
        input: Input,
        when_live: WhenLive,
        turn: Option<TurnId>,
    ) -> Result<Receipt, ManagerError> {
        let id = input.id.clone();
        match self.call(topic, Command::Submit { input, when_live, turn }, LIMIT).await? {
            Reply::Accepted { seq, turn, duplicate } => Ok(Receipt { id, seq, turn, duplicate }),
            reply => Err(not_done(reply)),
        }
    }

    /// Stops a turn. Nothing it still says is shown. Returns once that is durable, with what was waiting to be said to
    /// it; after `limit` the stop goes on, and the error says [`NoOwner`](ManagerError::NoOwner).
    ///
    /// # Errors
    /// If the turn is not the live one, or was not stopped in time.
    pub async fn stop(
        &self,
        topic: &TopicId,
        turn: TurnId,
        limit: Duration,
    ) -> Result<Vec<Input>, ManagerError> {
        match self.call(topic, Command::Stop { turn }, limit).await? {
            Reply::Stopped { returned } => Ok(returned),
            reply => Err(not_done(reply)),
        }
    }

    /// Stops one of several answers of a turn.
    ///
    /// # Errors
    /// If the row is not being written.
    pub async fn stop_row(&self, topic: &TopicId, row: &RowId) -> Result<(), ManagerError> {
        self.done(topic, Command::StopRow { row: row.clone() }).await
    }

    /// Takes an input back that waits.
    ///
    /// # Errors
    /// If it does not wait.
    pub async fn withdraw(&self, topic: &TopicId, input: &InputId) -> Result<(), ManagerError> {
        self.done(topic, Command::Withdraw { input: input.clone() }).await
    }

    /// Deletes a topic: a live turn is stopped first.
    ///
    /// # Errors
    /// If a store does not answer.
    pub async fn delete(&self, topic: &TopicId) -> Result<(), ManagerError> {
        self.done(topic, Command::Delete).await
    }

    async fn done(&self, topic: &TopicId, command: Command) -> Result<(), ManagerError> {
        match self.call(topic, command, LIMIT).await? {
            Reply::Done | Reply::Stopped { .. } => Ok(()),
            reply => Err(not_done(reply)),
        }
    }

    /// How a topic stands, from any node. One that nothing is known of is idle.
    ///
    /// # Errors
    /// If the bus does not answer.
    pub async fn status(&self, topic: &TopicId) -> Result<TopicStatus, ManagerError> {
        let status = self.inner.shared.bus.status(topic).await?;
        Ok(status.unwrap_or_else(|| TopicStatus::idle(topic.clone())))
    }

    /// How a topic stands on this node, in detail. `None` if it has no task here.
    pub async fn inspect(&self, topic: &TopicId) -> Option<Inspection> {
        let (ask, answer) = oneshot::channel();
        self.inner.registry.get(topic)?.send(Mail::Inspect(ask)).await.ok()?;
        answer.await.ok()
    }

    /// What has become of an input.
    ///
    /// # Errors
    /// If the store does not answer.
    pub async fn input(&self, topic: &TopicId, id: &InputId) -> Result<Option<StoredInput>, StoreError> {
        self.inner.shared.store.input(topic, id).await
    }

    /// A conversation, as it is stored. `None` if it is not there.
    ///
    /// # Errors
    /// If the store does not answer.
    pub async fn history(&self, topic: &TopicId) -> Result<Option<Conversation>, StoreError> {
        self.inner.shared.store.history(topic).await
    }

    /// What a user interface shows of a conversation, ready for `useChat`: the messages that lead to its end, with the
    /// answers of other models beside them. A message that
    /// is being written is not among them, since its stream has all of it; nor is a cut answer without anything to show,
    /// nor one that was answered anew. `None` if the topic is not there.
    ///
    /// # Errors
    /// If the store does not answer.
    pub async fn messages(&self, topic: &TopicId) -> Result<Option<Vec<UiMessage>>, StoreError> {
        Ok(self.history(topic).await?.map(|conversation| history::messages(&conversation)))
    }

    /// The topics, the latest written first.
    ///
    /// # Errors
    /// If the store does not answer.
    pub async fn list(&self, page: &Page) -> Result<Vec<TopicSummary>, StoreError> {
        self.inner.shared.store.list(page).await
    }

    /// Takes over the topics whose owner died: ends what it left open as interrupted, and does with what waits as the
    /// settings say. Topics that another node owns are left alone. Called once when a process starts; returns how many
    /// topics were looked after.
    ///
    /// # Errors
    /// If a store does not answer.
    pub async fn recover(&self) -> Result<usize, ManagerError> {
        let shared = &self.inner.shared;
        let mut topics: Vec<_> =
            shared.store.orphans().await?.into_iter().map(|orphan| orphan.topic).collect();
        topics.extend(shared.store.waiting().await?);
        topics.sort_unstable();
        topics.dedup();
        let mut taken = 0;
        for topic in topics {
            if shared.ownership.owner(&topic).await?.is_none_or(|owner| owner == shared.node) {
                let status = shared.commands.call(&shared.node, &topic, Command::Status, LIMIT).await?;
                taken += usize::from(matches!(status, Reply::Status { .. }));
            }
        }
        Ok(taken)
    }
}

fn not_done(reply: Reply) -> ManagerError {
    match reply {
        Reply::Refused { why } => ManagerError::Refused(why),
        Reply::NotStarted { why } => ManagerError::NotStarted(why),
        _ => ManagerError::NoOwner,
    }
}
