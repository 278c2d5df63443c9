//! The one driver of a [`Run`](crate::run::Run).

mod agent_tool;
mod attempts;
mod co;
mod control;
mod driver;
mod event;
mod handle;
mod ids;
mod interrupt;
mod live;
mod options;
mod output;
mod policy;
mod stop;
mod tool_run;
mod tools;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ai_provider::{
    JsonObject, LanguageModel, Message, ProviderOptions, Request, ResponseFormat, Settings, SystemMessage,
    ToolCall, ToolChoice,
};
use futures_core::Stream;

pub use agent_tool::{AgentTool, agent_tool};
pub use control::{LoopControl, NoControl, OnError, StepFailure, StepOverrides, StepView};
pub use event::{LoopEvent, RunEnd, StepReset, StepStart, ToolEvent};
pub use handle::{DecideError, Decision, RunHandle};
pub use options::{Approvals, RequestIds, RunOptions};
pub use stop::StopWhen;

use crate::plugin::{AgentPlugins, CallParams};
use crate::run::{ApprovalVerdict, LoopGuard, Run, RunConfig};
use crate::spans::Traced;
use crate::tool::{InvalidCall, Repair, ToolContext, ToolSet};
use driver::{Driver, DriverStream};
use policy::ApprovalPolicy;
use tools::ToolPolicy;

/// A model and its tools, run in a loop until the model is done or something ends it.
///
/// Cheap to clone, and reentrant: runs share nothing.
///
/// ```
/// use ai_core::{LoopEvent, RunOptions, ToolLoop};
/// use ai_provider::{LanguageModel, Message, StreamPart};
/// use futures_util::StreamExt;
/// use std::sync::Arc;
///
/// # async fn f(model: Arc<dyn LanguageModel>) {
/// let agent = ToolLoop::new(model).with_instructions("Be brief.");
/// let (_handle, mut events) = agent.start([Message::user("Hi")], RunOptions::default());
/// while let Some(event) = events.next().await {
///     match event {
///         LoopEvent::Part(StreamPart::TextDelta { delta, .. }) => print!("{delta}"),
///         LoopEvent::End(end) => println!("{}", end.outcome),
///         _ => {}
///     }
/// }
/// # }
/// ```
#[derive(Clone)]
pub struct ToolLoop(Arc<Config>);

#[derive(Clone)]
struct Config {
    model: Arc<dyn LanguageModel>,
    system: Option<Arc<Message>>,
    tools: ToolSet,
    request: Request,
    run: RunConfig,
    approvals: Approvals,
    policy: ToolPolicy,
    repair: Option<Repair>,
    approval_policy: Option<ApprovalPolicy>,
    stop: Vec<StopWhen>,
    name: Option<String>,
    traced: Traced,
    plugins: Option<AgentPlugins>,
}

impl ToolLoop {
    /// A loop without tools.
    pub fn new(model: Arc<dyn LanguageModel>) -> Self {
        Self(Arc::new(Config {
            model,
            system: None,
            tools: ToolSet::new(),
            request: Request::default(),
            run: RunConfig::default(),
            approvals: Approvals::EndRun,
            policy: ToolPolicy { timeout: None, concurrency: 32, output_bytes: 16 << 20 },
            repair: None,
            approval_policy: None,
            stop: Vec::new(),
            name: None,
            traced: Traced::default(),
            plugins: None,
        }))
    }

    fn change(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Sets the instructions: the first message of every request, not part of the history.
    #[must_use]
    pub fn with_instructions(self, text: impl Into<String>) -> Self {
        let text = text.into();
        self.change(|config| config.system = Some(system(text)))
    }

    /// Sets the tools.
    #[must_use]
    pub fn with_tools(self, tools: ToolSet) -> Self {
        self.change(|config| {
            config.request.tools = tools.definitions();
            config.tools = tools;
        })
    }

    /// Sets which tool the model shall call in each step.
    #[must_use]
    pub fn with_tool_choice(self, choice: ToolChoice) -> Self {
        self.change(|config| config.request.tool_choice = choice)
    }

    /// Sets temperature, token limit and the like.
    #[must_use]
    pub fn with_settings(self, settings: Settings) -> Self {
        self.change(|config| config.request.settings = settings)
    }

    /// Sets the form of the answer.
    #[must_use]
    pub fn with_response_format(self, format: ResponseFormat) -> Self {
        self.change(|config| config.request.response_format = format)
    }

    /// Sets options only one provider understands.
    #[must_use]
    pub fn with_options(self, options: ProviderOptions) -> Self {
        self.change(|config| config.request.options = options)
    }

    /// Sets what is merged into the body of every request.
    #[must_use]
    pub fn with_extra_body(self, extra: JsonObject) -> Self {
        self.change(|config| config.request.extra_body = extra)
    }

    /// Sets further headers of every request; a value of `None` removes one.
    #[must_use]
    pub fn with_extra_headers(self, headers: Vec<(String, Option<String>)>) -> Self {
        self.change(|config| config.request.extra_headers = headers)
    }

    /// Sets the most steps; at least 1. Default 20.
    #[must_use]
    pub fn with_step_cap(self, steps: u32) -> Self {
        self.change(|config| config.run.step_cap = steps)
    }

    /// Makes the step cap soft: behind the last step the model gets one more, in which it may call no tool and is
    /// told so. With an answer in it the run is finished; [`Verdict::ClosingStep`](crate::run::Verdict) says that
    /// it came to that.
    #[must_use]
    pub fn with_closing_step(self) -> Self {
        self.change(|config| config.run.closing_step = true)
    }

    /// Sets what is done about a model that makes the same call again and again. Default: nothing.
    #[must_use]
    pub fn with_loop_guard(self, guard: LoopGuard) -> Self {
        self.change(|config| config.run.loop_guard = guard)
    }

    /// Adds a condition under which a run ends.
    #[must_use]
    pub fn with_stop(self, condition: StopWhen) -> Self {
        self.change(|config| config.stop.push(condition))
    }

    /// Sets what makes a call that can be run of one that cannot: of a tool there is none of, or with an input the
    /// tool does not take. What it gives takes the place of the call, in the history too, if it can be run; else
    /// the model reads the error.
    ///
    /// ```
    /// use ai_core::{InvalidCall, ToolLoop};
    /// # fn f(agent: ToolLoop) -> ToolLoop {
    /// agent.with_repair_tool_call(|invalid: InvalidCall| async move {
    ///     let mut call = invalid.call;
    ///     call.name = call.name.to_lowercase();
    ///     Some(call)
    /// })
    /// # }
    /// ```
    #[must_use]
    pub fn with_repair_tool_call<F, Fut>(self, repair: F) -> Self
    where
        F: Fn(InvalidCall) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Option<ToolCall>> + Send + 'static,
    {
        self.change(|config| config.repair = Some(Repair::new(repair)))
    }

    /// Sets the name of the agent in traces.
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        self.change(|config| config.name = Some(name.into()))
    }

    /// Puts what users, models and tools say into the traces, the first 64 Ki characters of each field. Off by
    /// default: it may be personal.
    #[must_use]
    pub fn with_traced_content(self) -> Self {
        self.change(|config| config.traced.content = true)
    }

    /// Sets how often a failed step may be tried again in a run. Default 1; it takes a
    /// [`LoopControl`] that asks for it.
    #[must_use]
    pub fn with_step_retries(self, retries: u32) -> Self {
        self.change(|config| config.run.step_retries = retries)
    }

    /// Sets what happens when a call needs a person's consent.
    #[must_use]
    pub fn with_approvals(self, approvals: Approvals) -> Self {
        self.change(|config| config.approvals = approvals)
    }

    /// Sets who decides about calls before their tools do: `None` leaves a call to its tool. A policy that panics
    /// denies.
    ///
    /// ```
    /// use ai_core::ToolLoop;
    /// use ai_core::run::ApprovalVerdict;
    /// # fn f(agent: ToolLoop) -> ToolLoop {
    /// agent.with_approval_policy(|call, _ctx| async move {
    ///     (call.name == "shell").then(|| ApprovalVerdict::ask(&call.id))
    /// })
    /// # }
    /// ```
    #[must_use]
    pub fn with_approval_policy<F, Fut>(self, decide: F) -> Self
    where
        F: Fn(ToolCall, ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Option<ApprovalVerdict>> + Send + 'static,
    {
        self.change(|config| config.approval_policy = Some(ApprovalPolicy::new(decide)))
    }

    /// Sets how long a tool may run that states no limit of its own. Default: no limit.
    #[must_use]
    pub fn with_tool_timeout(self, limit: Duration) -> Self {
        self.change(|config| config.policy.timeout = Some(limit))
    }

    /// Sets how many tools of a step run at once. Default 32: a model may ask for a thousand.
    #[must_use]
    pub fn with_tool_concurrency(self, limit: usize) -> Self {
        self.change(|config| config.policy.concurrency = limit)
    }

    /// Sets the most bytes a tool's result may have. Default 16 MiB: room for images; text this long fits no
    /// model.
    #[must_use]
    pub fn with_tool_output_limit(self, bytes: usize) -> Self {
        self.change(|config| config.policy.output_bytes = bytes)
    }

    /// Sets the plugins that take part in each run.
    pub(crate) fn with_plugins(self, plugins: AgentPlugins) -> Self {
        self.change(|config| config.plugins = Some(plugins))
    }

    /// Sets another model, used as it is.
    #[must_use]
    pub fn with_model(self, model: Arc<dyn LanguageModel>) -> Self {
        self.change(|config| config.model = model)
    }

    /// The model.
    pub fn model(&self) -> &Arc<dyn LanguageModel> {
        &self.0.model
    }

    /// The tools.
    pub fn tools(&self) -> &ToolSet {
        &self.0.tools
    }

    /// Starts a run on this history. Nothing happens until the stream is polled; dropping it cancels the run.
    pub fn start(
        &self,
        messages: impl IntoIterator<Item = Message>,
        options: RunOptions,
    ) -> (RunHandle, LoopStream) {
        self.resume(Run::new(messages, self.0.run), options)
    }

    /// Starts a run on a history shared with others.
    pub fn start_shared(&self, messages: Vec<Arc<Message>>, options: RunOptions) -> (RunHandle, LoopStream) {
        self.resume(Run::from_shared(messages, self.0.run), options)
    }

    /// Goes on with a stored run. It starts at this loop's model, with an empty scope.
    pub fn resume(&self, run: Run, options: RunOptions) -> (RunHandle, LoopStream) {
        let (handle, decisions) = RunHandle::new(options.cancel.clone());
        let driver = Box::new(Driver::new(Arc::clone(&self.0), run, options, decisions));
        (handle, LoopStream(DriverStream::new(|co| driver.drive(co))))
    }
}

impl fmt::Debug for ToolLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolLoop")
            .field("model", &self.0.model)
            .field("tools", &self.0.tools)
            .field("run", &self.0.run)
            .finish_non_exhaustive()
    }
}

impl Config {
    fn params(&self) -> CallParams {
        let mut params = CallParams::of(&self.request, Some(self.tools.clone()));
        params.instructions = match self.system.as_deref() {
            Some(Message::System(system)) => Some(system.text.clone()),
            _ => None,
        };
        params
    }

    fn with_params(&self, mut params: CallParams) -> Self {
        let mut config = self.clone();
        config.tools = params.tools.clone();
        config.system = params.instructions.take().map(system);
        params.apply(&mut config.request);
        config
    }
}

fn system(text: String) -> Arc<Message> {
    Arc::new(Message::System(SystemMessage { text, options: ProviderOptions::default() }))
}

/// The events of a run; [`LoopEvent::End`] is the last. Dropping it cancels the run.
pub struct LoopStream(DriverStream);

impl Stream for LoopStream {
    type Item = LoopEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<LoopEvent>> {
        Pin::new(&mut self.0).poll_next(cx)
    }
}

impl fmt::Debug for LoopStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoopStream").finish_non_exhaustive()
    }
}
