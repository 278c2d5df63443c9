use std::collections::VecDeque;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ai_provider::{
    CallContext, Capabilities, ErrorClass, KeyLabel, LanguageModel, ModelError, ModelStream, Request,
    StreamPart, TargetId,
};
use futures_util::{StreamExt, stream};

use crate::script::{Script, Step};

/// A language model that plays scripts and remembers what it was asked.
///
/// A call begins when its stream is polled for the first time: only then it takes its script and is recorded.
/// Its target is `scripted:model`, its capabilities are the default ones. Clones share scripts and records.
///
/// The token of the call is honoured before each part and during each wait: the stream then ends with a
/// `Cancelled` error.
///
/// ```
/// use ai_provider::{CallContext, LanguageModel, LanguageModelExt, Message, Request};
/// use ai_testkit::{Script, ScriptedModel};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), ai_provider::GenerateError> {
/// let model = ScriptedModel::new()
///     .reply(Script::tool_reply("call_1", "clock", "{}"))
///     .reply(Script::text_reply("It is noon."));
///
/// let ask = || Request::new([Message::user("What time is it?")]);
/// let first = model.generate(ask(), CallContext::new()).await?;
/// assert_eq!(first.message.tool_calls().count(), 1);
/// assert_eq!(model.generate(ask(), CallContext::new()).await?.text(), "It is noon.");
///
/// let error = model.generate(ask(), CallContext::new()).await.unwrap_err().error;
/// assert_eq!(error.message(), "call 3 came to a scripted model with 2 replies");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct ScriptedModel {
    target: TargetId,
    capabilities: Capabilities,
    keys: Vec<KeyLabel>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    replies: VecDeque<Script>,
    given: usize,
    repeat: Option<Script>,
    requests: Vec<Request>,
    contexts: Vec<CallContext>,
    dropped: usize,
}

impl ScriptedModel {
    /// A model without replies.
    pub fn new() -> Self {
        Self {
            target: TargetId::new("scripted", "model", "memory"),
            capabilities: Capabilities::default(),
            keys: Vec::new(),
            state: Arc::default(),
        }
    }

    /// Sets what it says it is.
    #[must_use]
    pub fn with_target(mut self, target: TargetId) -> Self {
        self.target = target;
        self
    }

    /// Sets what it says it can do.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Sets the names of the keys it says it has; [`contexts`](Self::contexts) show which one a call used.
    #[must_use]
    pub fn with_keys(mut self, keys: impl IntoIterator<Item = KeyLabel>) -> Self {
        self.keys = keys.into_iter().collect();
        self
    }

    /// Adds the answer to the next call that has none. A call beyond the last answer fails with
    /// `InvalidRequest`, which nobody tries again.
    #[must_use]
    pub fn reply(self, script: Script) -> Self {
        let mut state = self.lock();
        state.replies.push_back(script);
        state.given += 1;
        drop(state);
        self
    }

    /// Sets the answer to every call beyond those that have one of their own.
    #[must_use]
    pub fn repeat(self, script: Script) -> Self {
        self.lock().repeat = Some(script);
        self
    }

    /// The requests of all calls that began, in the order in which they began.
    pub fn requests(&self) -> Vec<Request> {
        self.lock().requests.clone()
    }

    /// The contexts of all calls that began. Clones: they keep each call's event sink alive.
    pub fn contexts(&self) -> Vec<CallContext> {
        self.lock().contexts.clone()
    }

    /// How many streams were dropped after they began and before a finish, an error or their end.
    pub fn dropped(&self) -> usize {
        self.lock().dropped
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Default for ScriptedModel {
    fn default() -> Self {
        Self::new()
    }
}

impl LanguageModel for ScriptedModel {
    fn target(&self) -> &TargetId {
        &self.target
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn keys(&self) -> &[KeyLabel] {
        &self.keys
    }

    fn stream(&self, request: Request, ctx: CallContext) -> ModelStream {
        let play = Play { ctx, state: Arc::clone(&self.state), at: At::Idle(Box::new(request)) };
        let items = stream::unfold(play, |mut play| async move { Some((play.next().await?, play)) });
        // An unfold panics when it is polled after its end.
        Box::pin(items.fuse())
    }
}

/// One call being played.
struct Play {
    ctx: CallContext,
    state: Arc<Mutex<State>>,
    at: At,
}

enum At {
    /// Nobody has polled yet.
    Idle(Box<Request>),
    /// Steps are left.
    Playing(VecDeque<Step>),
    /// The finish was given; what is left comes after it.
    Finished(VecDeque<Step>),
    /// Nothing is left.
    Over,
}

impl Play {
    async fn next(&mut self) -> Option<Result<StreamPart, ModelError>> {
        loop {
            if self.ctx.cancel.is_cancelled() {
                return self.cancelled();
            }
            let steps = match &mut self.at {
                At::Idle(request) => {
                    self.at = At::Playing(begin(&self.state, std::mem::take(request), &self.ctx));
                    continue;
                }
                At::Playing(steps) | At::Finished(steps) => steps,
                At::Over => return None,
            };
            let cancel = self.ctx.cancel.clone();
            let waited = match steps.pop_front().unwrap_or(Step::End) {
                Step::Part(part @ StreamPart::Finish(_)) => {
                    self.at = At::Finished(std::mem::take(steps));
                    return Some(Ok(part));
                }
                Step::Part(part) => return Some(Ok(part)),
                Step::Error(error) => {
                    self.at = At::Over;
                    return Some(Err(error));
                }
                Step::End => {
                    self.at = At::Over;
                    return None;
                }
                Step::Delay(time) => cancel.run_until_cancelled(tokio::time::sleep(time)).await,
                Step::WaitFor(gate) => cancel.run_until_cancelled(gate.cancelled()).await,
                Step::Hang => cancel.run_until_cancelled(pending()).await,
            };
            if waited.is_none() {
                return self.cancelled();
            }
        }
    }

    /// The one error of a cancelled call; nothing if its answer was whole already.
    fn cancelled(&mut self) -> Option<Result<StreamPart, ModelError>> {
        match std::mem::replace(&mut self.at, At::Over) {
            At::Idle(_) | At::Playing(_) => Some(Err(ModelError::cancelled())),
            At::Finished(_) | At::Over => None,
        }
    }
}

impl Drop for Play {
    fn drop(&mut self) {
        if matches!(self.at, At::Playing(_)) {
            lock(&self.state).dropped += 1;
        }
    }
}

/// Records a call and takes its steps.
fn begin(state: &Mutex<State>, request: Request, ctx: &CallContext) -> VecDeque<Step> {
    let mut state = lock(state);
    state.requests.push(request);
    state.contexts.push(ctx.clone());
    let script = state.replies.pop_front().or_else(|| state.repeat.clone());
    let script = script.unwrap_or_else(|| {
        let (call, replies) = (state.requests.len(), state.given);
        Script::new().without_start().error(ModelError::new(
            ErrorClass::InvalidRequest,
            format!("call {call} came to a scripted model with {replies} replies"),
        ))
    });
    script.into_steps()
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
