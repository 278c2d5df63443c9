//! Real agents: calls that wait for a person or for the client, in this process and the next.

use std::sync::Arc;
use std::time::Duration;

use agent_loop::Agent;
use ai_core::{Decision, ToolError, ToolLoop, ToolSet, client_tool, tool_fn};
use ai_provider::{Id, Message, ToolOutput};
use ai_testkit::{Script, ScriptedModel};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use stream_manager::memory::{MemoryConversations, MemoryOwnership};
use stream_manager::port::{ConversationStore, Ownership, Refusal};
use stream_manager::record::{Known, RowId, RowStatus, TopicId, TopicState};
use stream_manager::{Send, Settings, StreamManager};

use crate::world::SOON;

#[derive(Deserialize, JsonSchema)]
struct File {
    path: String,
}

struct Chat {
    manager: StreamManager,
    model: Arc<ScriptedModel>,
    topic: TopicId,
}

fn agent(model: &Arc<ScriptedModel>) -> Agent {
    let delete = tool_fn("delete", "Deletes a file.", |file: File, _| async move {
        Ok::<_, ToolError>(format!("{} is gone", file.path))
    })
    .with_approval();
    let place = client_tool("place", "Where the user is.", json!({ "type": "object" }));
    let tools = ToolSet::new().with(delete).unwrap().with(place).unwrap();
    Agent::new(ToolLoop::new(Arc::clone(model) as _).with_tools(tools))
}

impl Chat {
    async fn new(scripts: impl IntoIterator<Item = Script>) -> Self {
        Self::on(scripts, Arc::new(MemoryConversations::new()), Arc::new(MemoryOwnership::new())).await
    }

    async fn on(
        scripts: impl IntoIterator<Item = Script>,
        store: Arc<dyn ConversationStore>,
        ownership: Arc<dyn Ownership>,
    ) -> Self {
        let model = scripts.into_iter().fold(ScriptedModel::new(), ScriptedModel::reply);
        let model = Arc::new(model);
        let builder = StreamManager::builder(agent(&model)).with_settings(Settings::default());
        let manager = builder.with_store(store).with_ownership(ownership).build().await.unwrap();
        Self { manager, model, topic: TopicId::from("chat") }
    }

    async fn until(&self, state: TopicState) {
        let wait = async {
            while self.manager.status(&self.topic).await.unwrap().state != state {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let waited = tokio::time::timeout(SOON, wait).await;
        assert!(waited.is_ok(), "never {state:?}: {:?}", self.manager.inspect(&self.topic).await);
    }

    async fn answer_row(&self) -> stream_manager::record::Row {
        self.manager.history(&self.topic).await.unwrap().unwrap().rows.pop().unwrap()
    }

    async fn approve(&self, row: &RowId, call: &str, decision: Decision) -> Result<bool, Option<Refusal>> {
        let approved = self.manager.approve(&self.topic, row, &Id::from(call), decision).await;
        approved.map(|receipt| receipt.duplicate).map_err(|error| error.refusal())
    }
}

fn asks() -> Script {
    Script::new()
        .text("I clean up.")
        .tool_call("1", "delete", r#"{"path":"a"}"#)
        .tool_call("2", "delete", r#"{"path":"b"}"#)
        .finish(ai_provider::UnifiedFinish::ToolCalls)
}

fn tool_results(messages: &[Arc<Message>]) -> usize {
    messages.iter().filter(|message| matches!(&***message, Message::Tool(_))).count()
}

/// [SM-220]
#[tokio::test(start_paused = true)]
async fn a_turn_goes_on_in_its_row_once_all_its_calls_are_decided() {
    let chat = Chat::new([asks(), Script::text_reply("All clean.")]).await;
    chat.manager.send(&chat.topic, Send::text("Clean up.")).await.unwrap();
    chat.until(TopicState::AwaitingApproval).await;
    let row = chat.answer_row().await;
    assert_eq!(row.status, Known::Is(RowStatus::AwaitingApproval));

    assert_eq!(chat.approve(&row.id, "1", Decision::approve()).await, Ok(false));
    assert_eq!(chat.approve(&row.id, "1", Decision::approve()).await, Ok(true), "the same again is fine");
    let otherwise = chat.approve(&row.id, "1", Decision::deny("no")).await;
    assert_eq!(otherwise, Err(Some(Refusal::AlreadyDecided)));
    let unknown = chat.approve(&row.id, "9", Decision::approve()).await;
    assert_eq!(unknown, Err(Some(Refusal::NoSuchCall)));
    assert_eq!(chat.model.requests().len(), 1, "a half decided turn waits");

    assert_eq!(chat.approve(&row.id, "2", Decision::deny("keep it")).await, Ok(false));
    chat.until(TopicState::Done).await;
    let done = chat.answer_row().await;
    assert_eq!(done.id, row.id);
    assert_eq!(done.status, Known::Is(RowStatus::Complete));
    assert!(done.content.run.is_none());
    let messages: Vec<_> = done.content.messages.iter().map(|message| Arc::clone(&message.message)).collect();
    assert_eq!(tool_results(&messages), 1);
    assert_eq!(messages.len(), 3, "answer, results, answer: {messages:?}");
    let late = chat.approve(&row.id, "2", Decision::approve()).await;
    assert_eq!(late, Err(Some(Refusal::NoSuchCall)));
    assert!(chat.manager.shut_down(SOON).await);
}

/// [SM-221]
#[tokio::test(start_paused = true)]
async fn a_decision_is_kept_over_the_end_of_the_process() {
    let store = Arc::new(MemoryConversations::new());
    let ownership = Arc::new(MemoryOwnership::new());
    let first = Chat::on([asks()], store.clone(), ownership.clone()).await;
    first.manager.send(&first.topic, Send::text("Clean up.")).await.unwrap();
    first.until(TopicState::AwaitingApproval).await;
    let row = first.answer_row().await.id;
    first.approve(&row, "1", Decision::approve()).await.unwrap();
    assert!(first.manager.shut_down(SOON).await);

    let second = Chat::on([Script::text_reply("Done.")], store, ownership).await;
    second.approve(&row, "2", Decision::approve()).await.unwrap();
    second.until(TopicState::Done).await;
    assert_eq!(second.answer_row().await.content.messages.len(), 3);
    assert_eq!(second.model.requests().len(), 1);
}

/// [SM-222]
#[tokio::test(start_paused = true)]
async fn what_is_said_while_a_person_decides_waits_and_a_stop_ends_the_wait() {
    let chat = Chat::new([asks(), Script::text_reply("Fine.")]).await;
    let turn = chat.manager.send(&chat.topic, Send::text("Clean up.")).await.unwrap().turn.unwrap();
    chat.until(TopicState::AwaitingApproval).await;
    let receipt = chat.manager.send(&chat.topic, Send::text("Wait!").with_id("w")).await.unwrap();
    assert_eq!(receipt.turn, None);
    assert_eq!(chat.model.requests().len(), 1);
    let returned = chat.manager.stop(&chat.topic, turn, SOON).await.unwrap();
    assert_eq!(returned.len(), 1);
    assert_eq!(chat.answer_row().await.status, Known::Is(RowStatus::Stopped));
    chat.manager.send(&chat.topic, Send::text("Go on.")).await.unwrap();
    chat.until(TopicState::Done).await;
    assert!(chat.manager.shut_down(SOON).await);
}

/// [SM-223]
#[tokio::test(start_paused = true)]
async fn a_row_that_nobody_decides_about_is_stopped_after_a_while() {
    let chat = Chat::new([asks()]).await;
    chat.manager.send(&chat.topic, Send::text("Clean up.")).await.unwrap();
    chat.until(TopicState::AwaitingApproval).await;
    tokio::time::sleep(Duration::from_secs(2 * 60 * 60 - 60)).await;
    chat.until(TopicState::AwaitingApproval).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    chat.until(TopicState::Stopped).await;
    assert_eq!(chat.answer_row().await.status, Known::Is(RowStatus::Stopped));
}

fn place() -> Script {
    Script::tool_reply("p", "place", "{}")
}

/// [SM-224]
#[tokio::test(start_paused = true)]
async fn results_of_the_client_go_into_the_row_that_waits_for_them() {
    let chat = Chat::new([place(), Script::text_reply("You are in Rome.")]).await;
    chat.manager.send(&chat.topic, Send::text("Where am I?")).await.unwrap();
    chat.until(TopicState::AwaitingApproval).await;
    let row = chat.answer_row().await.id;
    let output = || ToolOutput::Text("Rome".to_owned());
    let wrong = chat.manager.tool_result(&chat.topic, &row, &Id::from("q"), output()).await;
    assert_eq!(wrong.unwrap_err().refusal(), Some(Refusal::NoSuchCall));
    let approved = chat.approve(&row, "p", Decision::approve()).await;
    assert_eq!(approved, Err(Some(Refusal::NoSuchCall)), "it asks for a result, not for consent");
    chat.manager.tool_result(&chat.topic, &row, &Id::from("p"), output()).await.unwrap();
    chat.until(TopicState::Done).await;
    let row = chat.answer_row().await;
    assert_eq!(row.content.messages.len(), 3);
    assert!(chat.manager.shut_down(SOON).await);
}

/// [SM-225]
#[tokio::test(start_paused = true)]
async fn a_message_instead_of_the_clients_result_is_answered_at_once() {
    let chat = Chat::new([place(), Script::text_reply("Never mind.")]).await;
    chat.manager.send(&chat.topic, Send::text("Where am I?")).await.unwrap();
    chat.until(TopicState::AwaitingApproval).await;
    chat.manager.send(&chat.topic, Send::text("Forget it.")).await.unwrap();
    chat.until(TopicState::Done).await;
    let rows = chat.manager.history(&chat.topic).await.unwrap().unwrap().rows;
    let statuses: Vec<_> = rows.iter().map(|row| row.status.known().unwrap().as_str()).collect();
    assert_eq!(statuses, ["complete", "complete", "complete", "complete"]);
    let healed = &chat.model.requests()[1];
    assert_eq!(tool_results(&healed.messages), 1, "the open call has a result for the model");
}

/// Agents of which one call to open in a while fails.
struct Failing {
    agent: Agent,
    fails: Arc<std::sync::atomic::AtomicBool>,
}

#[async_trait::async_trait]
impl stream_manager::TurnSource for Failing {
    async fn open(
        &self,
        request: stream_manager::TurnRequest,
    ) -> Result<stream_manager::TurnRun, stream_manager::OpenError> {
        if self.fails.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(stream_manager::OpenError::Other("not now".into()));
        }
        self.agent.open(request).await
    }
}

/// [SM-303]
#[tokio::test(start_paused = true)]
async fn a_decision_that_went_back_is_given_again() {
    let model = [asks(), Script::text_reply("All clean.")]
        .into_iter()
        .fold(ScriptedModel::new(), ScriptedModel::reply);
    let model = Arc::new(model);
    let fails = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let source = Failing { agent: agent(&model), fails: Arc::clone(&fails) };
    let manager = StreamManager::builder(source).build().await.unwrap();
    let chat = Chat { manager, model, topic: TopicId::from("chat") };
    chat.manager.send(&chat.topic, Send::text("Clean up.")).await.unwrap();
    chat.until(TopicState::AwaitingApproval).await;
    let row = chat.answer_row().await.id;
    fails.store(true, std::sync::atomic::Ordering::Relaxed);
    for call in ["1", "2"] {
        assert_eq!(chat.approve(&row, call, Decision::approve()).await, Ok(false));
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    chat.until(TopicState::AwaitingApproval).await;
    fails.store(false, std::sync::atomic::Ordering::Relaxed);
    for call in ["1", "2"] {
        assert_eq!(chat.approve(&row, call, Decision::approve()).await, Ok(false), "it counts");
    }
    chat.until(TopicState::Done).await;
    assert_eq!(chat.answer_row().await.id, row);
}
