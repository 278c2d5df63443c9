use std::collections::HashSet;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ai_provider::{
    AssistantPart, CallContext, Id, LanguageModel, LanguageModelExt, Message, ModelError, Request, ToolPart,
    Usage,
};
use async_trait::async_trait;

use super::tokens::{context_tokens, estimate_tokens};
use super::transcript::transcript;
use crate::tool_loop::{LoopControl, StepOverrides, StepView};

type Summary = Pin<Box<dyn Future<Output = Result<String, ModelError>> + Send>>;
type Summarise = dyn Fn(Vec<Arc<Message>>) -> Summary + Send + Sync;

/// Replaces the older part of a history by a summary when the window is nearly full, between the steps of a run.
///
/// Past the threshold (80 % of the window) the history becomes: its instructions as they are, a summary as a
/// message of the user, and the last turns, as many as fit into a fifth of the window and at least one. A turn is a
/// message with the results of its calls, so no call is parted from its result. The new history stays: it is that
/// of the run from there on.
///
/// It happens once each time the threshold is passed: if the history is too long even then, it is left to grow. A
/// summary that fails or is empty changes nothing and is tried again at the next step, three times at most.
///
/// One value serves one run. It is a [`LoopControl`] by itself; one with more to do calls
/// [`prepare_step`](Self::prepare_step).
///
/// ```
/// use ai_core::RunOptions;
/// use ai_core::history::Compaction;
/// use ai_provider::LanguageModel;
/// use std::sync::Arc;
///
/// fn options(summariser: Arc<dyn LanguageModel>) -> RunOptions {
///     RunOptions::default().with_control(Arc::new(Compaction::by_model(200_000, summariser)))
/// }
/// ```
pub struct Compaction {
    threshold: u64,
    keep: u64,
    summarise: Box<Summarise>,
    usage: Arc<Mutex<Usage>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Done for this crossing of the threshold.
    done: bool,
    failures: u32,
}

/// How often a summary may fail before the run goes on without.
const TRIES: u32 = 3;

const INSTRUCTIONS: &str = "\
You summarise conversations between a user and an assistant with tools, so that the assistant can go on from your \
summary alone. Write down, in this order:

1. What the user wants, in the user's own words where they matter, with every later change of it.
2. What has been done and decided, and why.
3. Facts that are needed further on: names, paths, numbers, identifiers, exact wording, results of tools.
4. What is open, and what the next step was going to be.

Leave out greetings, repetitions and what has been superseded. Answer with the summary and nothing else.";

impl Compaction {
    /// With a summary of the application's making. `window`: the tokens that prompt and answer may have together.
    pub fn new<F, Fut>(window: u64, summarise: F) -> Self
    where
        F: Fn(Vec<Arc<Message>>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, ModelError>> + Send + 'static,
    {
        Self {
            threshold: window / 5 * 4,
            keep: window / 5,
            summarise: Box::new(move |old| Box::pin(summarise(old))),
            usage: Arc::default(),
            state: Mutex::default(),
        }
    }

    /// With a summary by a model, which reads the old part as text. Its own window should be no smaller than
    /// `window`. The summary may have a quarter of the window, at least 4,096 and at most 16,384 tokens.
    pub fn by_model(window: u64, model: Arc<dyn LanguageModel>) -> Self {
        let usage: Arc<Mutex<Usage>> = Arc::default();
        let spent = Arc::clone(&usage);
        let mut compaction =
            Self::new(window, move |old| summary_by(Arc::clone(&model), old, window, Arc::clone(&spent)));
        compaction.usage = usage;
        compaction
    }

    /// Sets from how many tokens on.
    #[must_use]
    pub fn with_threshold(mut self, tokens: u64) -> Self {
        self.threshold = tokens;
        self
    }

    /// Sets how many tokens the last turns may have that stay as they are.
    #[must_use]
    pub fn with_keep(mut self, tokens: u64) -> Self {
        self.keep = tokens;
        self
    }

    /// What the summarising model took. Not part of the usage of the run.
    pub fn usage(&self) -> Usage {
        lock(&self.usage).clone()
    }

    /// The history from here on, if it is to change: as [`StepOverrides::history`].
    pub async fn prepare_step(&self, step: &StepView<'_>) -> StepOverrides {
        let mut overrides = StepOverrides::default();
        let last = step.steps().last().map(|step| &step.usage);
        let tokens = context_tokens(step.messages(), last);
        if self.is_due(tokens) {
            // The turns to keep are estimated; what was reported says how good the estimate is.
            let estimated = estimate_tokens(step.messages());
            let keep = u128::from(self.keep) * u128::from(estimated) / u128::from(tokens.max(1));
            let keep = u64::try_from(keep).unwrap_or(u64::MAX);
            overrides.history = self.try_compact(step.messages(), keep).await;
        }
        overrides
    }

    /// A history with a summary in place of its older part; `None` if there is nothing to summarise, or the summary
    /// is empty.
    ///
    /// # Errors
    /// If the summary fails.
    pub async fn compact(&self, messages: &[Arc<Message>]) -> Result<Option<Vec<Arc<Message>>>, ModelError> {
        let Some(split) = Split::of(messages, self.keep) else { return Ok(None) };
        let summary = (self.summarise)(split.old.clone()).await?;
        Ok(split.around(&summary))
    }

    fn is_due(&self, tokens: u64) -> bool {
        let mut state = lock(&self.state);
        if tokens <= self.threshold {
            *state = State::default();
        }
        tokens > self.threshold && !state.done
    }

    async fn try_compact(&self, messages: &[Arc<Message>], keep: u64) -> Option<Vec<Arc<Message>>> {
        let split = Split::of(messages, keep)?;
        let summary = (self.summarise)(split.old.clone()).await;
        let history = match &summary {
            Ok(summary) => split.around(summary),
            Err(_) => None,
        };
        let mut state = lock(&self.state);
        if history.is_none() {
            let problem =
                summary.err().map_or_else(|| "the summary is empty".to_owned(), |error| error.to_string());
            tracing::warn!(problem, "the history was not compacted");
            state.failures += 1;
        }
        state.done = history.is_some() || state.failures >= TRIES;
        history
    }
}

#[async_trait]
impl LoopControl for Compaction {
    async fn prepare_step(&self, step: &StepView<'_>) -> StepOverrides {
        Self::prepare_step(self, step).await
    }
}

impl fmt::Debug for Compaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compaction")
            .field("threshold", &self.threshold)
            .field("keep", &self.keep)
            .finish_non_exhaustive()
    }
}

async fn summary_by(
    model: Arc<dyn LanguageModel>,
    old: Vec<Arc<Message>>,
    window: u64,
    spent: Arc<Mutex<Usage>>,
) -> Result<String, ModelError> {
    // Two characters for each token of the window: half of it, by the usual four.
    let most = usize::try_from(window.saturating_mul(2)).unwrap_or(usize::MAX);
    let mut request = Request::new([
        Message::system(INSTRUCTIONS),
        Message::user(format!("The conversation:\n\n{}", transcript(&old, most))),
    ]);
    request.settings.max_output_tokens = Some((window / 4).clamp(4_096, 16_384).min(window.max(1)));
    let answer = model.generate(request, CallContext::new()).await?;
    lock(&spent).add(&answer.usage);
    Ok(answer.text())
}

/// A history in three.
struct Split {
    instructions: Vec<Arc<Message>>,
    old: Vec<Arc<Message>>,
    recent: Vec<Arc<Message>>,
}

impl Split {
    /// `None` if nothing is old.
    fn of(messages: &[Arc<Message>], keep: u64) -> Option<Self> {
        let (old, recent) = messages.split_at_checked(first_to_keep(messages, keep))?;
        let (instructions, old): (Vec<_>, Vec<_>) =
            old.iter().cloned().partition(|message| matches!(**message, Message::System(_)));
        (!old.is_empty()).then(|| Self { instructions, old, recent: recent.to_vec() })
    }

    fn around(self, summary: &str) -> Option<Vec<Arc<Message>>> {
        if summary.trim().is_empty() {
            return None;
        }
        let text = format!("A summary of the conversation so far:\n\n{}", summary.trim());
        let mut history = self.instructions;
        history.push(Arc::new(Message::user(text)));
        history.extend(self.recent);
        Some(history)
    }
}

/// The first message of the last turns that fit, at least one, and that no result leans back over.
fn first_to_keep(messages: &[Arc<Message>], keep: u64) -> usize {
    let mut first = messages.len();
    let mut spent = 0u64;
    while let Some(begin) = begin_of_turn(messages, first) {
        let turn = messages.get(begin..first).unwrap_or_default();
        spent = spent.saturating_add(estimate_tokens(turn));
        if spent > keep && first < messages.len() {
            break;
        }
        first = begin;
    }
    // Results may come later than right after their calls: those of deferred calls of the provider.
    while let Some(earlier) = leans_back(messages, first) {
        first = earlier;
    }
    first
}

/// Where the turn begins that ends before `end`: results, and the message before them. None before instructions.
fn begin_of_turn(messages: &[Arc<Message>], end: usize) -> Option<usize> {
    let turn = messages.get(..end)?;
    let begin = turn.iter().rposition(|message| !matches!(**message, Message::Tool(_)))?;
    let is_system = turn.get(begin).is_some_and(|message| matches!(**message, Message::System(_)));
    (!is_system).then_some(begin)
}

/// The last message before `first` with a call that is answered from `first` on, and not made there.
fn leans_back(messages: &[Arc<Message>], first: usize) -> Option<usize> {
    let (old, recent) = messages.split_at_checked(first)?;
    let mut made: HashSet<&Id> = HashSet::new();
    let mut open: HashSet<&Id> = HashSet::new();
    for message in recent {
        let results: Vec<&Id> = match &**message {
            Message::Assistant(message) => {
                made.extend(message.tool_calls().map(|call| &call.id));
                let results = message.parts.iter().filter_map(|part| match part {
                    AssistantPart::ToolResult(result) => Some(&result.tool_call_id),
                    AssistantPart::ToolApprovalRequest(request) => Some(&request.tool_call_id),
                    _ => None,
                });
                results.collect()
            }
            Message::Tool(message) => {
                let results = message.parts.iter().filter_map(|part| match part {
                    ToolPart::ToolResult(result) => Some(&result.tool_call_id),
                    _ => None,
                });
                results.collect()
            }
            _ => Vec::new(),
        };
        open.extend(results.into_iter().filter(|id| !made.contains(id)));
    }
    old.iter().rposition(|message| match &**message {
        Message::Assistant(message) => message.tool_calls().any(|call| open.contains(&call.id)),
        _ => false,
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
