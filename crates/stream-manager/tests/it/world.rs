//! A manager and what a test looks at.

use std::time::Duration;

use stream_manager::port::Conversation;
use stream_manager::record::{Fate, InputId, Known, RowStatus, TopicId, TopicState};
use stream_manager::{Builder, Receipt, Send, Settings, StreamManager};

use crate::turns::{ScriptedSource, Turns, said, scripted};

pub(crate) struct World {
    pub(crate) manager: StreamManager,
    pub(crate) turns: Turns,
    pub(crate) topic: TopicId,
}

pub(crate) const SOON: Duration = Duration::from_secs(60);

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(|builder| builder, |source| source).await
    }

    pub(crate) async fn with(
        build: impl FnOnce(Builder) -> Builder,
        source: impl FnOnce(ScriptedSource) -> ScriptedSource,
    ) -> Self {
        let (scripted, turns) = scripted();
        let builder = StreamManager::builder(source(scripted));
        let manager = build(builder).build().await.expect("it is built");
        Self { manager, turns, topic: TopicId::from("chat") }
    }

    pub(crate) async fn settings(change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings::default();
        change(&mut settings);
        Self::with(|builder| builder.with_settings(settings), |source| source).await
    }

    pub(crate) async fn send(&self, id: &str) -> Receipt {
        self.manager.send(&self.topic, Send::text(id).with_id(id)).await.expect("it is taken")
    }

    pub(crate) async fn state(&self) -> TopicState {
        self.manager.status(&self.topic).await.expect("the bus answers").state
    }

    /// Waits until the topic stands like this.
    pub(crate) async fn until(&self, state: TopicState) {
        let wait = async {
            while self.state().await != state {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        if tokio::time::timeout(SOON, wait).await.is_err() {
            panic!("the topic never came to {state:?}: {:?}", self.manager.inspect(&self.topic).await);
        }
    }

    pub(crate) async fn conversation(&self) -> Conversation {
        self.manager.history(&self.topic).await.expect("the store answers").unwrap_or_default()
    }

    /// The rows, each as `status: what the model gets of it`.
    pub(crate) async fn rows(&self) -> Vec<String> {
        let rows = self.conversation().await.rows;
        rows.iter()
            .map(|row| {
                let status = row.status.known().map_or("?", |status: &RowStatus| status.as_str());
                let messages: Vec<_> =
                    row.content.messages.iter().map(|message| said(&message.message)).collect();
                format!("{status}: {}", messages.join(" | "))
            })
            .collect()
    }

    pub(crate) async fn fate(&self, id: &str) -> Fate {
        let stored = self.manager.input(&self.topic, &InputId::from(id)).await.expect("the store answers");
        match stored.expect("it was accepted").fate {
            Known::Is(fate) => fate,
            Known::Other(other) => panic!("{other}"),
        }
    }
}
