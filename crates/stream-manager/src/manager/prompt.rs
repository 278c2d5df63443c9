use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use agent_loop::UiChunk;
use ai_provider::{CancellationToken, Message};
use futures_core::Stream;

use super::StreamManager;
use crate::record::{AttemptId, RowId, TopicId, TurnId};
use crate::source::{InputWaits, OpenError, TurnEvent, TurnRequest, TurnRun};

impl StreamManager {
    /// Asks once, without a conversation: to name a chat, to translate a text. Nothing is stored, nobody else can read
    /// it, and dropping the stream ends it.
    ///
    /// # Errors
    /// If there is no such model.
    pub async fn stream_prompt(
        &self,
        history: Vec<Arc<Message>>,
        model: Option<String>,
    ) -> Result<PromptStream, OpenError> {
        let row = RowId::random();
        let once = 1;
        let cancel = CancellationToken::new();
        let request = TurnRequest {
            topic: TopicId::from(row.as_str()),
            turn: TurnId { epoch: once, number: once },
            attempt: AttemptId { epoch: once, number: once },
            row,
            model,
            history,
            resume: None,
            cancel: cancel.clone(),
            input_waits: InputWaits::default(),
        };
        let run = self.inner.shared.source.open(request).await?;
        Ok(PromptStream { run: Some(run), cancel })
    }
}

/// The chunks of one question. The last is a `finish`, an `error` or an `abort`.
pub struct PromptStream {
    run: Option<TurnRun>,
    cancel: CancellationToken,
}

impl PromptStream {
    /// Ends it cleanly: what is open is closed.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}

impl Stream for PromptStream {
    type Item = UiChunk;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<UiChunk>> {
        while let Some(run) = &mut self.run {
            match std::task::ready!(run.events.as_mut().poll_next(cx)) {
                Some(TurnEvent::Chunk(chunk)) => return Poll::Ready(Some(chunk)),
                Some(TurnEvent::End(_)) | None => self.run = None,
                Some(_) => {}
            }
        }
        Poll::Ready(None)
    }
}

impl fmt::Debug for PromptStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PromptStream").field("over", &self.run.is_none()).finish_non_exhaustive()
    }
}
