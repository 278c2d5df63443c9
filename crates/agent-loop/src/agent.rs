use std::sync::Arc;

use ai_core::{RunOptions, ToolLoop};
use ai_provider::{CancellationToken, Delivery, ErrorRecord, Message, ToolResult};
use uuid::Uuid;

use crate::reply::{AgentError, AgentReply, fold};
use crate::stream::AgentStream;
use crate::ui::{UiProtocol, UiSettings, plain};

/// A [`ToolLoop`] for those who watch it: each call is one pass of the loop, as a stream of chunks for a user
/// interface or as one reply.
///
/// Cheap to clone, and reentrant: runs share nothing. It knows nothing of conversations or storage; what comes
/// in is a history, what comes out are the messages to append to it.
///
/// ```
/// use agent_loop::{Agent, AgentEvent, UiChunk};
/// use ai_core::ToolLoop;
/// use ai_provider::{CancellationToken, LanguageModel, Message};
/// use futures_util::StreamExt;
/// use std::sync::Arc;
///
/// # async fn f(model: Arc<dyn LanguageModel>) {
/// let agent = Agent::new(ToolLoop::new(model).with_instructions("Be brief."));
/// let mut history = vec![Arc::new(Message::user("Name three rivers."))];
///
/// let mut run = agent.stream(history.clone(), CancellationToken::new());
/// while let Some(event) = run.next().await {
///     match event {
///         AgentEvent::Chunk(UiChunk::TextDelta { delta, .. }) => print!("{delta}"),
///         AgentEvent::End(outcome) => println!("\n{outcome}"),
///         _ => {}
///     }
/// }
/// history.extend(run.new_messages());
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Agent {
    tool_loop: ToolLoop,
    ui: Arc<UiSettings>,
}

impl Agent {
    /// An agent that masks errors and shows no provider metadata.
    pub fn new(tool_loop: ToolLoop) -> Self {
        Self { tool_loop, ui: Arc::default() }
    }

    fn change(mut self, change: impl FnOnce(&mut UiSettings)) -> Self {
        change(Arc::make_mut(&mut self.ui));
        self
    }

    /// Sets the level at which chunks are written: that of the oldest client that reads them. Default: 7.
    #[must_use]
    pub fn with_ui_protocol(self, protocol: UiProtocol) -> Self {
        self.change(|ui| ui.protocol = protocol)
    }

    /// Sets the id of the message a run gives. Default: a random UUID for a new message, and none where the
    /// history ends with a message of the assistant or of a tool, so that the client goes on with the message
    /// it has.
    #[must_use]
    pub fn with_message_id(self, id: impl Into<String>) -> Self {
        self.change(|ui| ui.message_id = Some(id.into()))
    }

    /// Sets what the user reads when the run failed. Default: one fixed sentence, since the words of a server
    /// may hold what is not for the user.
    #[must_use]
    pub fn with_error_text(self, text: impl Fn(&ErrorRecord) -> String + Send + Sync + 'static) -> Self {
        self.change(|ui| ui.error_text = Some(Arc::new(text)))
    }

    /// Sets what the user reads when a tool failed. Default: one fixed sentence for tools of this side, and
    /// the provider's own words for those it ran. The model always gets the tool's own words.
    #[must_use]
    pub fn with_tool_error_text(self, text: impl Fn(&ToolResult) -> String + Send + Sync + 'static) -> Self {
        self.change(|ui| ui.tool_error_text = Some(Arc::new(text)))
    }

    /// Shows all errors as they are: for a terminal or a log, not for a public page.
    #[must_use]
    pub fn with_plain_errors(self) -> Self {
        self.with_error_text(ToString::to_string).with_tool_error_text(|result| plain(&result.output))
    }

    /// Sets whether chunks carry what providers attached to their parts. It may hold signatures and encrypted
    /// reasoning. Default: no.
    #[must_use]
    pub fn with_provider_metadata(self, shown: bool) -> Self {
        self.change(|ui| ui.provider_metadata = shown)
    }

    /// The loop beneath.
    pub fn tool_loop(&self) -> &ToolLoop {
        &self.tool_loop
    }

    /// Starts a run on this history. Nothing happens until the stream is polled. Cancelling the token ends the
    /// run cleanly, with what it has; dropping the stream ends it where it stands.
    pub fn stream(
        &self,
        history: impl IntoIterator<Item = impl Into<Arc<Message>>>,
        cancel: CancellationToken,
    ) -> AgentStream {
        let history = history.into_iter().map(Into::into).collect();
        self.start(history, RunOptions::default().with_cancel(cancel))
    }

    pub(crate) fn start(&self, history: Vec<Arc<Message>>, options: RunOptions) -> AgentStream {
        let message_id = self.message_id(&history);
        let run = self.tool_loop.start_shared(history, options);
        AgentStream::new(run, Arc::clone(&self.ui), message_id)
    }

    /// Runs to the end and gives one reply. Answers are asked for in one body each; otherwise it is the run
    /// that [`stream`](Self::stream) gives.
    ///
    /// # Errors
    /// If the run failed, was cancelled, met a limit (steps, repeated calls), or a trusted tool ended it. What
    /// it had done until then is in the error.
    pub async fn generate(
        &self,
        history: impl IntoIterator<Item = impl Into<Arc<Message>>>,
        cancel: CancellationToken,
    ) -> Result<AgentReply, AgentError> {
        let history = history.into_iter().map(Into::into).collect();
        let options = RunOptions::default().with_cancel(cancel).with_delivery(Delivery::Whole);
        let (_handle, events) = self.tool_loop.start_shared(history, options);
        fold(events).await
    }

    fn message_id(&self, history: &[Arc<Message>]) -> Option<String> {
        let goes_on =
            matches!(history.last().map(|last| &**last), Some(Message::Assistant(_) | Message::Tool(_)));
        self.ui.message_id.clone().or_else(|| (!goes_on).then(|| Uuid::new_v4().to_string()))
    }
}
