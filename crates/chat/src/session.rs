//! A model with its tools, and one answer of it on the screen.

use std::collections::HashSet;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use agent_loop::{AgentEvent, AgentStream, UiChunk};
use ai_core::{Approvals, RunOptions};
use ai_mcp::McpServers;
use ai_provider::{CancellationToken, ErrorClass, Message};
use futures_util::StreamExt;
use tokio::signal::ctrl_c;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use crate::assemble::Assembly;
use crate::attempts::Attempts;
use crate::cli::Options;
use crate::config::Config;
use crate::consent::Consent;
use crate::failure::Failure;
use crate::mcp;
use crate::render::Summary;
use crate::setup::{Chosen, DEFAULT_OPENAI_MODEL, merge};
use crate::view::View;

/// What the program was set up to do, ready to answer.
#[derive(Debug)]
pub(crate) struct Session {
    assembly: Assembly,
    chosen: Chosen,
    servers: McpServers,
    consent: Consent,
}

/// What came of a question.
#[derive(Debug)]
pub(crate) struct Answer {
    /// What is to be added to the history.
    pub(crate) messages: Vec<Arc<Message>>,
    /// Why there is no whole answer, if there is none.
    pub(crate) failure: Option<Failure>,
    /// Whether the request itself was wrong: the same question would be refused again.
    pub(crate) refused: bool,
}

impl Answer {
    fn broken(failure: Failure) -> Self {
        Self { messages: Vec::new(), failure: Some(failure), refused: false }
    }
}

impl Session {
    /// Puts flags, file and environment together, and connects to MCP servers. No request to a model is made.
    ///
    /// # Errors
    /// If anything of it cannot be used, or what is to be said of it cannot be shown.
    pub(crate) async fn open(
        options: &Options,
        config: &Config,
        approvals: Approvals,
        view: &mut View,
    ) -> Result<Self, Failure> {
        let key = std::env::var_os("OPENAI_API_KEY").is_some_and(|key| !key.is_empty());
        let setup =
            merge(&options.flags(), config, key).map_err(|error| Failure::usage(error.to_string()))?;
        let (chosen, consent) = (setup.chosen, Consent::new(options.yes));
        let assembly = Assembly::of(setup, approvals).await?;
        let servers = mcp::connect(config).await?;
        for missing in mcp::missing(&servers) {
            view.note(&missing).map_err(Failure::of_screen)?;
        }
        Ok(Self { assembly, chosen, servers, consent })
    }

    /// Ends the MCP servers. Those that take their time are killed when the program ends.
    pub(crate) async fn close(&self) {
        let _ = timeout(Duration::from_secs(1), self.servers.close()).await;
    }

    /// The agent, with the tools that servers have now, and what makes its steps see those that come.
    fn run(&self, history: &[Arc<Message>], cancel: &CancellationToken) -> AgentStream {
        let (own, mut options) = (self.assembly.tools(), RunOptions::default().with_cancel(cancel.clone()));
        let mut tools = own.clone();
        if !self.servers.is_empty() {
            options = options.with_control(self.servers.follow(own.clone()));
            tools = self.servers.add_to(tools);
        }
        self.assembly.agent(tools).stream_with(history.iter().cloned(), options)
    }

    /// Says which model answers, where the user did not choose it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn introduce(&self, view: &mut View) -> io::Result<()> {
        match self.chosen {
            Chosen::ByName => Ok(()),
            Chosen::ByKey => {
                view.note(&format!("{DEFAULT_OPENAI_MODEL} answers, since OPENAI_API_KEY is set; --model chooses another."))
            }
            Chosen::AsDemo => view.note(
                "This is a demo: a few rules answer, no language model. To set a real one: --model PROVIDER:MODEL, or \
                 OPENAI_API_KEY; see chat --help.",
            ),
        }
    }

    /// The parts of its agent.
    pub(crate) fn assembly(&self) -> &Assembly {
        &self.assembly
    }

    /// The MCP servers.
    pub(crate) fn servers(&self) -> &McpServers {
        &self.servers
    }

    /// Whether tools with effects may run.
    pub(crate) fn consent(&self) -> &Consent {
        &self.consent
    }

    /// What answers first, as `PROVIDER:MODEL`.
    pub(crate) fn model(&self) -> String {
        self.assembly.target().to_string()
    }

    /// Answers the last question of the history on the screen. Ctrl-C ends the answer and keeps what came; twice,
    /// it ends at once.
    ///
    /// # Errors
    /// If the screen cannot be written to.
    pub(crate) async fn answer(&self, history: &[Arc<Message>], view: &mut View) -> io::Result<Answer> {
        let (started, model) = (Instant::now(), self.model());
        let cancel = CancellationToken::new();
        let mut run = self.run(history, &cancel);
        let mut questions = self.consent.questions();
        let mut interrupt = pin!(ctrl_c());
        let mut ticks = interval(Duration::from_millis(100));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut said, mut warned, mut attempts) = (false, HashSet::new(), Attempts::default());
        loop {
            let event = tokio::select! {
                biased;
                _ = &mut interrupt => {
                    if cancel.is_cancelled() {
                        view.end()?;
                        return Ok(Answer::broken(Failure::interrupted(said)));
                    }
                    cancel.cancel();
                    interrupt.set(ctrl_c());
                    continue;
                }
                answered = questions.answered() => {
                    if let Some((call, decision)) = answered {
                        // A run that is over needs no decision.
                        let _ = run.handle().decide(&call, decision);
                    } else {
                        cancel.cancel();
                    }
                    continue;
                }
                event = run.next() => event,
                _ = ticks.tick(), if view.waits() => {
                    view.tick();
                    continue;
                }
            };
            match event {
                Some(AgentEvent::Chunk(chunk)) => {
                    said |= matches!(chunk, UiChunk::TextDelta { .. });
                    if let (UiChunk::Error { .. }, Some(end)) = (&chunk, run.run_end()) {
                        view.outcome(&end.outcome)?;
                    }
                    view.chunk(&chunk)?;
                    if questions.hear(&chunk) {
                        view.pause();
                    }
                    if matches!(chunk, UiChunk::StartStep) {
                        view.wait(&model);
                    }
                }
                Some(AgentEvent::Step(step, _)) => {
                    view.step(&step)?;
                    for warning in step.warnings.iter().map(ToString::to_string) {
                        if warned.insert(warning.clone()) {
                            view.note(&format!("note: {warning}"))?;
                        }
                    }
                }
                Some(AgentEvent::Attempt(attempt)) => {
                    view.attempt(&attempt)?;
                    if let Some(told) = attempts.hear(&attempt) {
                        view.note(&told)?;
                        view.wait(&model);
                    }
                }
                Some(_) => {}
                None => break,
            }
        }
        view.end()?;
        let Some(end) = run.run_end() else {
            return Ok(Answer::broken(Failure::new("the run broke off")));
        };
        if !end.steps.is_empty() {
            let (steps, time) = (end.steps.len(), started.elapsed());
            let costs = end.steps.iter().map(|step| self.assembly.cost(&step.target, &step.usage));
            let cost = costs.sum();
            view.summary(&Summary { model: &model, steps, usage: &end.usage, cost, time })?;
        }
        Ok(Answer {
            messages: end.new_messages.clone(),
            failure: Failure::of_run(end, &model, said),
            refused: end.error.as_ref().is_some_and(|error| refuses_the_request(error.class())),
        })
    }
}

/// What no waiting mends: the same request gets the same answer.
fn refuses_the_request(class: ErrorClass) -> bool {
    matches!(class, ErrorClass::InvalidRequest | ErrorClass::ContextTooLong | ErrorClass::ContentRefused)
}
