use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ai_provider::{FinishReason, Id, Message, StreamPart, ToolCall, ToolOutput, ToolPart, ToolResult, Usage};
use futures_core::Stream;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::{Mistake, ObjectError};
use super::fit::{from_text, from_value, object_text};
use super::mode::Asking;
use super::partial::{first_object, partial_json};
use super::schema::MEMBER;
use super::{GenerateObject, Object};
use crate::run::{Outcome, StepRecord, ToolStatus};
use crate::tool_loop::{LoopEvent, LoopStream, RunEnd, RunHandle, RunOptions, StopWhen};

/// What happens on the way to an object.
#[derive(Debug)]
#[non_exhaustive]
pub enum ObjectEvent<T> {
    /// The object so far; see [`partial_json`]. Each contains the one before, unless a
    /// [`Retry`](Self::Retry) or the next step of a run lies between them. Of a large object not every delta
    /// gives one.
    Partial(Value),
    /// An answer did not fit, and is asked for again.
    Retry(Mistake),
    /// Anything that happens in the run.
    Run(Box<LoopEvent>),
    /// The object. Nothing follows.
    Done(Box<Object<T>>),
}

/// An object as it grows: ends with [`ObjectEvent::Done`] or with an error. Dropping it cancels the run.
pub struct ObjectStream<T> {
    asking: Asking,
    wrapped: bool,
    options: RunOptions,
    history: Vec<Arc<Message>>,
    run: Option<(RunHandle, LoopStream)>,
    draft: Draft,
    ready: VecDeque<Result<ObjectEvent<T>, ObjectError>>,
    retries: u32,
    left: u32,
    usage: Usage,
    new_messages: Vec<Arc<Message>>,
    over: bool,
}

impl<T> Unpin for ObjectStream<T> {}

impl<T: DeserializeOwned + Send + 'static> ObjectStream<T> {
    pub(super) fn new(of: GenerateObject<T>) -> Self {
        let wrapped = of.schema.wrapped;
        let check = move |input: &Value| match from_value::<T>(input.clone(), wrapped) {
            Ok(_) => Ok(()),
            Err(mistake) => Err(mistake.to_string()),
        };
        let asking = Asking::new(of.agent, of.mode, &of.schema, Box::new(check));
        let mut options = of.options;
        if let (Some(active), Some(tool)) = (&mut options.active_tools, &asking.tool) {
            active.push(tool.clone());
        }
        Self {
            asking,
            wrapped,
            options,
            history: of.messages,
            run: None,
            draft: Draft { shown: true, ..Draft::default() },
            ready: VecDeque::new(),
            retries: 0,
            left: of.retries,
            usage: Usage::default(),
            new_messages: Vec::new(),
            over: false,
        }
    }

    /// For a consumer that waits for the whole: what is not shown costs nothing.
    pub(super) fn without_partials(mut self) -> Self {
        self.draft.shown = false;
        self
    }

    /// The handle of the run under way, to decide about calls that wait for it. Before the first poll, and between
    /// an answer that did not fit and the next, there is none.
    pub fn handle(&self) -> Option<&RunHandle> {
        self.run.as_ref().map(|(handle, _)| handle)
    }

    fn start(&self) -> (RunHandle, LoopStream) {
        let mut agent = self.asking.agent.clone();
        if let Some(tool) = self.asking.tool.clone() {
            let left = usize::try_from(self.left).unwrap_or(usize::MAX);
            agent = agent.with_stop(StopWhen::custom("the object does not fit", move |run| {
                run.run().steps().iter().filter(|step| misfit(step, &tool).is_some()).count() > left
            }));
        }
        agent.start_shared(self.history.clone(), self.options.clone())
    }

    fn hear(&mut self, event: LoopEvent) {
        match &event {
            LoopEvent::StepStart(_) | LoopEvent::StepReset(_) => self.draft.begin(),
            LoopEvent::Part(part) => self.draft.hear(part, self.asking.tool.as_deref()),
            LoopEvent::StepEnd(step, snapshot) => {
                // Beside an answer that is taken, one that does not fit is not asked for again.
                if snapshot.run().outcome().is_none()
                    && let Some(tool) = &self.asking.tool
                    && let Some(call) = misfit(step, tool)
                    && self.left > 0
                {
                    self.left -= 1;
                    self.retries += 1;
                    let mistake = self.mistake(&call.input);
                    self.ready.push_back(Ok(ObjectEvent::Run(Box::new(event))));
                    self.ready.push_back(Ok(ObjectEvent::Retry(mistake)));
                    return;
                }
            }
            LoopEvent::End(end) => {
                let end = (**end).clone();
                self.ready.push_back(Ok(ObjectEvent::Run(Box::new(event))));
                self.judge(end);
                return;
            }
            _ => {}
        }
        self.ready.push_back(Ok(ObjectEvent::Run(Box::new(event))));
        if let Some(mut value) = self.draft.grown() {
            let value = if self.wrapped { value.get_mut(MEMBER).map(Value::take) } else { Some(value) };
            self.ready.extend(value.map(|value| Ok(ObjectEvent::Partial(value))));
        }
    }

    fn mistake(&self, text: &str) -> Mistake {
        match from_text::<T>(text, self.wrapped) {
            Err(mistake) => mistake,
            Ok(_) => Mistake { path: None, message: "it does not fit the schema".to_owned() },
        }
    }

    /// A run is over: is there an object?
    fn judge(&mut self, end: RunEnd) {
        self.run = None;
        self.usage.add(&end.usage);
        self.new_messages.extend(end.new_messages.iter().cloned());
        let last = end.steps.last();
        let finish = last.map(|step| step.finish.clone());
        let written = last.map(|step| step.message.text()).filter(|text| !text.trim().is_empty());
        let tool = self.asking.tool.as_deref();
        let given = last.zip(tool).and_then(|(step, tool)| misfit(step, tool)).map(|call| call.input.clone());
        let error = match (&end.outcome, finish.clone(), given) {
            (Outcome::HandedOver { calls }, Some(finish), _) => {
                match calls.iter().find(|call| Some(call.name.as_str()) == tool) {
                    Some(call) => {
                        self.answer(calls, &call.id);
                        match from_text(&call.input, self.wrapped) {
                            Ok(value) => return self.done(value, call.input.clone(), finish),
                            Err(mistake) => ObjectError::invalid(mistake, call.input.clone(), end.outcome),
                        }
                    }
                    None => ObjectError::ended(written, end.outcome),
                }
            }
            (Outcome::Finished | Outcome::StepCap { .. } | Outcome::LoopGuard { .. }, _, Some(given)) => {
                ObjectError::invalid(self.mistake(&given), given, end.outcome)
            }
            (Outcome::Finished, Some(finish), None) => {
                let text = written.unwrap_or_default();
                match from_text(object_text(&text), self.wrapped) {
                    Ok(value) => return self.done(value, text, finish),
                    Err(mistake) if self.left > 0 => return self.ask_again(mistake, &end),
                    Err(mistake) => ObjectError::invalid(mistake, text, end.outcome),
                }
            }
            (Outcome::Truncated { incomplete_calls }, ..) => {
                let half = incomplete_calls.iter().find(|call| Some(call.name.as_str()) == tool);
                let whole =
                    last.and_then(|step| step.message.tool_calls().find(|c| Some(c.name.as_str()) == tool));
                let text =
                    half.map(|call| call.input.clone()).or_else(|| whole.map(|call| call.input.clone()));
                ObjectError::truncated(text.or(written).unwrap_or_default(), end.outcome)
            }
            _ => ObjectError::ended(written, end.outcome),
        };
        self.over = true;
        self.ready.push_back(Err(error.with(self.usage.clone(), finish, end.error)));
    }

    fn done(&mut self, value: T, text: String, finish: FinishReason) {
        self.over = true;
        let object = Object {
            value,
            text,
            usage: std::mem::take(&mut self.usage),
            finish,
            new_messages: std::mem::take(&mut self.new_messages),
            retries: self.retries,
        };
        self.ready.push_back(Ok(ObjectEvent::Done(Box::new(object))));
    }

    /// Goes on behind an answer in words that does not fit.
    fn ask_again(&mut self, mistake: Mistake, end: &RunEnd) {
        self.left -= 1;
        self.retries += 1;
        let how = match &self.asking.tool {
            Some(tool) => format!("Call the tool `{tool}` with the whole object."),
            None => "Answer again with the whole object, as JSON and nothing else.".to_owned(),
        };
        let text = format!("That is not the object that was asked for: {mistake}. {how}");
        let message = Arc::new(Message::user(text));
        self.history = end.snapshot.run().messages().to_vec();
        self.history.push(Arc::clone(&message));
        self.new_messages.push(message);
        self.ready.push_back(Ok(ObjectEvent::Retry(mistake)));
    }

    /// Gives the calls that were handed over results, so that the history can go on.
    fn answer(&mut self, calls: &[ToolCall], taken: &Id) {
        let mut results = Vec::new();
        if let Some(last) = self.new_messages.last()
            && let Message::Tool(message) = &**last
        {
            results.extend(message.parts.iter().cloned());
            self.new_messages.pop();
        }
        results.extend(calls.iter().map(|call| {
            let text = if call.id == *taken { "Taken." } else { "Not run: the answer was given beside it." };
            ToolPart::ToolResult(ToolResult::new(
                call.id.clone(),
                &*call.name,
                ToolOutput::Text(text.to_owned()),
            ))
        }));
        let order: Vec<Id> = match self.new_messages.last().map(|message| &**message) {
            Some(Message::Assistant(message)) => message.tool_calls().map(|call| call.id.clone()).collect(),
            _ => Vec::new(),
        };
        results.sort_by_key(|part| match part {
            ToolPart::ToolResult(result) => order.iter().position(|id| *id == result.tool_call_id),
            _ => None,
        });
        let mut message = Message::tool([]);
        if let Message::Tool(tool) = &mut message {
            tool.parts = results;
        }
        self.new_messages.push(Arc::new(message));
    }
}

/// The call of the answering tool that was refused in this step.
fn misfit<'a>(step: &'a StepRecord, tool: &str) -> Option<&'a ToolCall> {
    let refused = step
        .tools
        .iter()
        .find(|record| record.result.tool_name == tool && record.status == ToolStatus::InvalidInput)?;
    step.message.tool_calls().find(|call| call.id == refused.result.tool_call_id)
}

impl<T: DeserializeOwned + Send + 'static> Stream for ObjectStream<T> {
    type Item = Result<ObjectEvent<T>, ObjectError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            if let Some(item) = this.ready.pop_front() {
                return Poll::Ready(Some(item));
            }
            if this.over {
                return Poll::Ready(None);
            }
            let (_, run) = match &mut this.run {
                Some(run) => run,
                None => {
                    let run = this.start();
                    this.run.insert(run)
                }
            };
            match Pin::new(run).poll_next(cx) {
                Poll::Ready(Some(event)) => this.hear(event),
                Poll::Ready(None) => {
                    this.over = true;
                    this.ready.push_back(Err(ObjectError::without_end()));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl<T> fmt::Debug for ObjectStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectStream").field("retries", &self.retries).finish_non_exhaustive()
    }
}

/// What the model has written of the object.
#[derive(Debug, Default)]
struct Draft {
    shown: bool,
    text: String,
    /// The call that gives the object.
    call: Option<Id>,
    /// The length from which on it is read again.
    next: usize,
    last: Option<Value>,
}

impl Draft {
    fn begin(&mut self) {
        *self = Self { shown: self.shown, ..Self::default() };
    }

    fn hear(&mut self, part: &StreamPart, tool: Option<&str>) {
        match (part, tool) {
            _ if !self.shown => {}
            (StreamPart::TextDelta { delta, .. }, None) => self.text.push_str(delta),
            (StreamPart::ToolInputStart { id, tool_name, .. }, Some(tool)) if tool_name == tool => {
                self.begin();
                self.call = Some(id.clone());
            }
            (StreamPart::ToolInputDelta { id, delta }, Some(_)) if self.call.as_ref() == Some(id) => {
                self.text.push_str(delta);
            }
            (StreamPart::ToolCall(call), Some(tool)) if call.name == tool => {
                if self.call.as_ref() != Some(&call.id) {
                    self.begin();
                }
                self.text.clone_from(&call.input);
                self.next = 0;
            }
            _ => {}
        }
    }

    /// What there is, if it is more than before. A text is read again only when it has grown by a 64th, so that
    /// the work is linear in its length.
    fn grown(&mut self) -> Option<Value> {
        if self.text.len() <= self.next && self.next > 0 || self.text.is_empty() {
            return None;
        }
        self.next = self.text.len() + self.text.len() / 64;
        let value = partial_json(first_object(&self.text)?)?;
        if self.last.as_ref() == Some(&value) {
            return None;
        }
        self.last = Some(value.clone());
        Some(value)
    }
}
