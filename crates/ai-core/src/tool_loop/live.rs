use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};

use ai_provider::{Assembled, Assembler, AssistantMessage, ErrorClass, ModelError, StreamPart};
use tracing::Span;

use super::control::LoopControl;
use super::event::{RunEnd, ToolEvent};
use super::handle::Decisions;
use super::tools::Tools;
use crate::run::{Input, Interruption, Outcome, Run, StepRecord, ToolRecord};
use crate::spans::Traced;

/// The run with what is under way: what must be settled exactly once, by `Drop` if need be.
pub(super) struct Live {
    run: Run,
    control: Arc<dyn LoopControl>,
    decisions: Arc<Decisions>,
    answer: Option<Assembler>,
    tools: Option<Tools>,
    error: Option<ModelError>,
    handed_out: usize,
    parked: bool,
    end: Option<RunEnd>,
    traced: Traced,
    span: Span,
}

impl Live {
    pub(super) fn new(run: Run, control: Arc<dyn LoopControl>, decisions: Arc<Decisions>) -> Self {
        Self {
            handed_out: run.steps().len(),
            run,
            control,
            decisions,
            answer: None,
            tools: None,
            error: None,
            parked: false,
            end: None,
            traced: Traced::default(),
            span: Span::none(),
        }
    }

    /// Where the end of the run is to be noted.
    pub(super) fn trace(&mut self, traced: Traced, span: Span) {
        (self.traced, self.span) = (traced, span);
    }

    /// Where the run is noted.
    pub(super) fn span(&self) -> &Span {
        &self.span
    }

    pub(super) fn run(&self) -> &Run {
        &self.run
    }

    /// Feeds the machine. It asked for the input, so a refusal is a fault of the driver: the run is ended
    /// rather than asked for ever.
    pub(super) fn feed(&mut self, input: Input) {
        if let Err(refused) = self.run.feed(input) {
            tracing::error!(%refused, "the run machine refused an input of its driver");
            let error = ModelError::new(ErrorClass::Protocol, format!("the run cannot go on: {refused}"));
            let _ = self.run.feed(Input::Broken(error.record()));
        }
    }

    pub(super) fn begin_answer(&mut self) {
        self.answer = Some(Assembler::default());
    }

    pub(super) fn hear(&mut self, part: &StreamPart) -> Result<(), ModelError> {
        self.answer.get_or_insert_default().push(part)
    }

    pub(super) fn end_answer(&mut self) -> Assembled {
        self.answer.take().unwrap_or_default().finish()
    }

    pub(super) fn abandon_answer(&mut self) {
        self.answer = None;
    }

    /// What the model has said in the answer under way.
    pub(super) fn partial(&self) -> AssistantMessage {
        self.answer.as_ref().map(|answer| answer.snapshot().message).unwrap_or_default()
    }

    pub(super) fn begin_tools(&mut self, tools: Tools) {
        self.tools = Some(tools);
    }

    pub(super) fn poll_tools(&mut self, cx: &mut Context<'_>) -> Poll<Option<ToolEvent>> {
        match &mut self.tools {
            Some(tools) => tools.poll_next(cx),
            None => Poll::Ready(None),
        }
    }

    pub(super) fn next_complete_step(&mut self) -> Option<Arc<StepRecord>> {
        let step = self.run.steps().get(self.handed_out).cloned()?;
        self.handed_out += 1;
        Some(step)
    }

    pub(super) fn failed(&mut self, error: ModelError) {
        self.error = Some(error);
    }

    /// The run ends here without being done: it waits in its stored form.
    pub(super) fn park(&mut self) {
        self.parked = true;
        self.decisions.close();
    }

    /// Drops the tools that run, and gives what is to be said of them.
    pub(super) fn cut_tools(&mut self) -> Vec<ToolRecord> {
        self.tools.take().map(|mut tools| tools.cut()).unwrap_or_default()
    }

    /// Cuts the run. Running tools are dropped, and what is said of them stands in the history.
    pub(super) fn interrupt(&mut self, by: Interruption) {
        for record in self.cut_tools() {
            self.feed(Input::ToolFinished(Box::new(record)));
        }
        let partial = self.partial();
        self.abandon_answer();
        // A run that failed stays failed: the error came first.
        let _ = self.run.feed(Input::Interrupted { by, partial: Some(partial) });
        self.parked &= self.run.outcome().is_none();
    }

    /// Fixes how the run ended. From here on nothing changes it.
    pub(super) fn claim(&mut self) -> RunEnd {
        let end = self.end.get_or_insert_with(|| {
            let outcome = self.run.outcome().cloned().unwrap_or_else(|| Outcome::AwaitingApproval {
                calls: self.run.pending_approvals().into_iter().map(|pending| pending.call).collect(),
            });
            let error = match &outcome {
                Outcome::Failed { error, .. } => {
                    Some(self.error.take().unwrap_or_else(|| ModelError::from(error.clone())))
                }
                _ => None,
            };
            let end = RunEnd {
                outcome,
                error,
                usage: self.run.usage().clone(),
                snapshot: self.run.snapshot(),
                steps: self.run.steps().to_vec(),
                new_messages: self.run.new_messages().to_vec(),
            };
            self.traced.agent_ended(&self.span, &end);
            end
        });
        end.clone()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if self.end.is_none() && !self.parked && self.run.outcome().is_none() {
            self.interrupt(Interruption::Cancelled);
        }
        self.decisions.close();
        let end = self.claim();
        // A panic here may meet another one on its way out, which would end the process.
        if catch_unwind(AssertUnwindSafe(|| self.control.settled(&end))).is_err() {
            tracing::error!("the hook `settled` panicked");
        }
    }
}
