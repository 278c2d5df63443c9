use std::sync::Arc;
use std::time::Duration;

use ai_core::run::{PendingApproval, RunSnapshot};
use ai_core::{LoopStream, ModelChoice, Registry, RunHandle, RunOptions, ToolLoop};
use ai_provider::{
    CancellationToken, Delivery, ErrorRecord, JsonObject, Message, TargetId, ToolResult, Usage,
};

use crate::assemble::Assembly;
use crate::feature::Feature;
use crate::hooks::Hooks;
use crate::limits::Timeouts;
use crate::observers::{Observer, Observers};
use crate::prompt::Prompt;
use crate::reply::{AgentError, AgentReply, fold};
use crate::setup::{Part, Setup};
use crate::stream::{AgentStream, Events};
use crate::ui::{UiProtocol, UiSettings, plain};
use crate::usage::{Costs, LedgerEntry};
use crate::views::Audit;

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
    setup: Arc<Setup>,
    observers: Observers,
}

impl Agent {
    /// An agent that masks errors and shows no provider metadata.
    pub fn new(tool_loop: ToolLoop) -> Self {
        Self { tool_loop, ui: Arc::default(), setup: Arc::default(), observers: Observers::default() }
    }

    /// Makes an agent of a model by its name, with the features that take part in it: provider, model, plugins,
    /// [`wrap_model`](Assembly::wrap_model), loop, in the order of [`create_agent`](ai_core::create_agent).
    pub fn assemble(registry: &Registry, model: impl Into<ModelChoice>) -> Assembly<'_> {
        Assembly::new(registry, model)
    }

    fn change(mut self, change: impl FnOnce(&mut UiSettings)) -> Self {
        change(Arc::make_mut(&mut self.ui));
        self
    }

    fn set_up(mut self, change: impl FnOnce(&mut Setup)) -> Self {
        change(Arc::make_mut(&mut self.setup));
        self
    }

    /// Sets the id of the message a run gives. Default: a random UUID for a new message, and none where the
    /// history ends with a message of the assistant or of a tool, so that the client goes on with the message
    /// it has.
    #[must_use]
    pub fn with_message_id(self, id: impl Into<String>) -> Self {
        self.change(|ui| ui.message_id = Some(id.into()))
    }

    /// Sets where ids come from that nobody gives: that of the message, that of the run in its [audit](Self::with_audit),
    /// and those of requests, of which adapters make the ids of calls and sources where a server gives none. Default:
    /// random UUIDs. They must not repeat; a generator that is known, such as one that counts, makes the chunks of a run
    /// the same each time it is played.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// # fn f(agent: agent_loop::Agent) -> agent_loop::Agent {
    /// let count = AtomicU64::new(0);
    /// agent.with_ids(move || format!("id-{}", count.fetch_add(1, Ordering::Relaxed)))
    /// # }
    /// ```
    #[must_use]
    pub fn with_ids(self, new_id: impl Fn() -> String + Send + Sync + 'static) -> Self {
        self.change(|ui| ui.ids = Some(Arc::new(new_id)))
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

    /// Sets the level of the chunks: that of the oldest client that reads them. Default: [`UiProtocol::V7`]. Below it
    /// a step that has shown something is not tried again, since no client could take it back.
    #[must_use]
    pub fn with_ui_protocol(self, protocol: UiProtocol) -> Self {
        self.change(|ui| ui.protocol = protocol)
    }

    /// Adds handlers for what happens in each run, behind those it has.
    #[must_use]
    pub fn with_hooks(self, hooks: Hooks) -> Self {
        self.set_up(|setup| setup.parts.push(Part::Hooks(hooks)))
    }

    /// Adds a feature: its hooks behind those the agent has, and its stop conditions. Its plugins take part only in
    /// an agent that was [assembled](Self::assemble) with it.
    #[must_use]
    pub fn with_feature(self, feature: Feature) -> Self {
        self.set_up(|setup| setup.parts.push(Part::Feature(feature)))
    }

    /// Says what the application knows of its runs, for features that do not apply everywhere. An agent is cheap to
    /// clone: give the clone of one conversation its own.
    #[must_use]
    pub fn with_context(self, context: JsonObject) -> Self {
        self.set_up(|setup| setup.context = context)
    }

    /// Sets how long a handler of a hook may take; none is no limit. Default 30 s: the run waits for its handlers,
    /// and one that hangs would hold it for good.
    #[must_use]
    pub fn with_hook_timeout(self, limit: impl Into<Option<Duration>>) -> Self {
        self.set_up(|setup| setup.hook_timeout = limit.into())
    }

    /// Sets how long things may take.
    #[must_use]
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        if let Some(limit) = timeouts.tool {
            self.tool_loop = self.tool_loop.with_tool_timeout(limit);
        }
        self.set_up(|setup| setup.timeouts = timeouts)
    }

    /// Sets whether an image, a sound, a film or a PDF that a model cannot read is replaced by a placeholder that says
    /// so, in what that model gets; the history keeps it. Default: yes. If not, the request goes out as it is, and
    /// most providers refuse it.
    #[must_use]
    pub fn with_media_placeholders(self, replaced: bool) -> Self {
        self.set_up(|setup| setup.media = replaced)
    }

    /// Sets whether each step that says what it took shows what the run has taken so far, as a `message-metadata`
    /// chunk: `{"usage": {…}, "cost", "contextTokens"}`, with the names the AI SDK gives tokens. It is the whole state
    /// each time. `cost` is there if [costs](Self::with_costs) are known, `contextTokens`, what the step's request and
    /// answer had together, if the provider counts what it reads. Default: no, since not every reader shall see it.
    #[must_use]
    pub fn with_usage_metadata(self, shown: bool) -> Self {
        self.set_up(|setup| setup.usage_shown = shown)
    }

    /// Sets what a model call costs, as far as it is known: from [prices](crate::Prices), or what the provider says in
    /// `usage.raw`. What tools take of models is not part of it.
    ///
    /// ```
    /// use agent_loop::Prices;
    /// # fn f(agent: agent_loop::Agent) -> agent_loop::Agent {
    /// agent.with_costs(|target, usage| match target.model.as_str() {
    ///     "gpt-5" => Prices::new(1.25, 10.0).with_cache_read(0.125).cost(usage),
    ///     _ => None,
    /// })
    /// # }
    /// ```
    #[must_use]
    pub fn with_costs(self, cost: impl Fn(&TargetId, &Usage) -> Option<f64> + Send + Sync + 'static) -> Self {
        self.set_up(|setup| setup.costs = Costs::new(cost))
    }

    /// Sets who keeps the books: told once for every run what it took, attempt by attempt, also for one whose stream
    /// is dropped. Must not block: it may be called while something is dropped.
    #[must_use]
    pub fn with_ledger(self, ledger: impl Fn(LedgerEntry) + Send + Sync + 'static) -> Self {
        self.set_up(|setup| setup.ledger = Some(Arc::new(ledger)))
    }

    /// Sets who is told what happens in each run, without what is said in it: calls of models and tools, decisions,
    /// times, sizes, endings, and what is missing. See [`Audit`].
    #[must_use]
    pub fn with_audit(self, audit: Audit) -> Self {
        self.set_up(|setup| setup.audit = Some(audit))
    }

    /// Names the runs of this agent in its [audit](Self::with_audit), in the place of an id that is made: for a clone
    /// that makes one run, which has a name elsewhere.
    #[must_use]
    pub fn with_run_name(self, name: impl Into<String>) -> Self {
        self.change(|ui| ui.run_name = Some(name.into()))
    }

    /// Adds handlers to this agent and all its clones, from their next run on. They come before those it was made
    /// with, in the order in which they were added.
    pub fn on(&self, hooks: Hooks) -> Observer {
        self.observers.add(hooks)
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
        self.stream_with(history, RunOptions::default().with_cancel(cancel))
    }

    /// Starts a run with further options. Its [control](RunOptions::control) takes part beside the hooks: it prepares
    /// a step before they do, and hears of everything else behind them.
    pub fn stream_with(
        &self,
        history: impl IntoIterator<Item = impl Into<Arc<Message>>>,
        options: RunOptions,
    ) -> AgentStream {
        self.start(history.into_iter().map(Into::into).collect(), options)
    }

    pub(crate) fn start(&self, history: Vec<Arc<Message>>, options: RunOptions) -> AgentStream {
        let message_id = self.message_id(&history, false);
        let run = self.begin(0, &[], options, |options| self.tool_loop.start_shared(history, options));
        self.show(run, message_id)
    }

    /// Goes on with a stored run: behind its last complete step, in the middle of the step that waits for approval,
    /// or, if it failed, was cancelled or has spent a budget, where it broke off. No tool runs again. A run that ended
    /// otherwise only says so again.
    ///
    /// The client goes on with the message it has, unless the run had not come to anything yet.
    pub fn resume(&self, stored: RunSnapshot, cancel: CancellationToken) -> AgentStream {
        self.resume_with(stored, RunOptions::default().with_cancel(cancel))
    }

    /// Goes on with a stored run, with further options, as [`stream_with`](Self::stream_with) takes them.
    pub fn resume_with(&self, stored: RunSnapshot, options: RunOptions) -> AgentStream {
        let mut run = stored.into_run();
        run.reopen();
        let begun = !run.steps().is_empty() || !run.pending_approvals().is_empty();
        let message_id = self.message_id(run.messages(), begun);
        let waiting = run.pending_approvals();
        let steps = u32::try_from(run.steps().len()).unwrap_or(u32::MAX);
        let run = self.begin(steps, &waiting, options, |options| self.tool_loop.resume(run, options));
        let stream = self.show(run, message_id);
        let there = waiting.into_iter().filter(|pending| pending.call.provider_executed);
        stream.waiting_for(there.map(|pending| pending.approval_id))
    }

    fn show(&self, run: (RunHandle, Events), message_id: Option<String>) -> AgentStream {
        AgentStream::new(run, Arc::clone(&self.ui), message_id, self.setup.meter())
    }

    /// Begins with a run that has this many steps behind it, and calls that wait for a person.
    fn begin(
        &self,
        steps: u32,
        waiting: &[PendingApproval],
        mut options: RunOptions,
        start: impl FnOnce(RunOptions) -> (RunHandle, LoopStream),
    ) -> (RunHandle, Events) {
        if self.ui.ids.is_some() {
            let ui = Arc::clone(&self.ui);
            options = options.with_request_ids(move || ui.new_id().into());
        }
        let name = || self.ui.run_name.clone().unwrap_or_else(|| self.ui.new_id());
        let auditing = self.setup.audit.as_ref().map(|audit| audit.begin(name(), steps, waiting));
        let (hooks, model) = (self.observers.hooks(), Arc::clone(self.tool_loop.model()));
        let resets = self.ui.protocol.can_reset();
        let options = self.setup.take_part(options, hooks, model, resets, auditing.clone());
        let (handle, events) = start(options);
        (handle, Events::new(events, auditing))
    }

    /// Runs to the end and gives one reply: to a prompt, or to a history. Answers are asked for in one body each;
    /// otherwise it is the run that [`stream`](Self::stream) gives.
    ///
    /// # Errors
    /// If the run failed, was cancelled, met a limit (steps, repeated calls), or a trusted tool ended it. What
    /// it had done until then is in the error.
    pub async fn generate(
        &self,
        prompt: impl Into<Prompt>,
        cancel: CancellationToken,
    ) -> Result<AgentReply, AgentError> {
        let options = RunOptions::default().with_cancel(cancel).with_delivery(Delivery::Whole);
        let Prompt(history) = prompt.into();
        let start = |options| self.tool_loop.start_shared(history, options);
        let (_handle, events) = self.begin(0, &[], options, start);
        fold(events).await
    }

    fn message_id(&self, history: &[Arc<Message>], begun: bool) -> Option<String> {
        let goes_on = begun
            || matches!(history.last().map(|last| &**last), Some(Message::Assistant(_) | Message::Tool(_)));
        self.ui.message_id.clone().or_else(|| (!goes_on).then(|| self.ui.new_id()))
    }
}
