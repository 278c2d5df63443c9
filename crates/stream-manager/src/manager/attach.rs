use futures_core::stream::BoxStream;

use super::{ManagerError, StreamManager};
use crate::reader::{Attach, AttachError, TopicReader};
use crate::record::{TopicId, TopicStatus};

impl StreamManager {
    /// Reads what a topic says, from any node, by any number of readers. Detaching is dropping the reader: it changes
    /// nothing, unless the settings say that a turn without readers is stopped.
    ///
    /// ```
    /// use agent_loop::visible_text;
    /// use stream_manager::reader::Attach;
    /// # async fn f(manager: stream_manager::StreamManager) -> Result<(), Box<dyn std::error::Error>> {
    /// let mut reader = manager.attach(&"chat-1".into(), Attach::new()).await?;
    /// while let Some(item) = reader.next().await {
    ///     if let Some(text) = item?.chunk().and_then(visible_text) {
    ///         print!("{text}");
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`AttachError::NotFound`] if there is nothing to read; else if the bus or the log does not answer.
    pub async fn attach(&self, topic: &TopicId, wants: Attach) -> Result<TopicReader, AttachError> {
        let shared = &self.inner.shared;
        // Counted before it looks, so that a turn is not stopped between the two.
        let reading = self.inner.registry.read(topic);
        let log = shared.log.clone();
        let reader = TopicReader::attach(topic.clone(), log, &*shared.bus, wants).await?;
        Ok(reader.counted(reading))
    }

    /// How all topics stand, and then each change, from any node.
    ///
    /// # Errors
    /// If the bus does not answer.
    pub async fn watch(&self) -> Result<BoxStream<'static, TopicStatus>, ManagerError> {
        Ok(self.inner.shared.bus.watch().await?)
    }
}
