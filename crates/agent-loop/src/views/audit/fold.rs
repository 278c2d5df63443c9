use std::collections::{HashMap, HashSet};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use ai_core::run::{Outcome, PendingApproval, StepRecord, ToolRecord, ToolStatus};
use ai_core::{LoopEvent, RunEnd, ToolEvent};
use ai_provider::{AttemptEvent, Id, StreamPart, ToolApprovalResponse, ToolCall, ToolResult};
use tokio::time::Instant;
use uuid::Uuid;

use super::entry::{AuditEntry, AuditEvent, Decider, Withdrawn};
use super::redact::Redaction;
use crate::views::missing::Gaps;

type Sink = Arc<dyn Fn(AuditEntry) + Send + Sync>;

/// Who is told what happens in the runs of an agent, and how much of it: see [`Agent::with_audit`].
///
/// Told are names, ids, sizes, times, decisions, usage and endings. Content, that is what users, models, tools and servers
/// say, is left out unless asked for: in its place stand its size and a hash, under which equal content can be found
/// and nothing can be read.
///
/// [`Agent::with_audit`]: crate::Agent::with_audit
#[derive(Clone)]
pub struct Audit {
    sink: Sink,
    redaction: Redaction,
}

impl Audit {
    /// An audit without content, told to `sink` as it happens. It must not block, nor touch the run: it is called
    /// while the run is polled, and while it is dropped. An [`AuditQueue`](super::AuditQueue) takes what is told to where
    /// time does not matter.
    pub fn new(sink: impl Fn(AuditEntry) + Send + Sync + 'static) -> Self {
        let key = [Uuid::new_v4(), Uuid::new_v4()].iter().flat_map(|id| *id.as_bytes()).collect();
        Self { sink: Arc::new(sink), redaction: Redaction { content: false, key } }
    }

    /// Sets whether content is told. Default: no, it may be personal, and it may be large.
    #[must_use]
    pub fn with_content(mut self, content: bool) -> Self {
        self.redaction.content = content;
        self
    }

    /// Sets the key of the hashes, so that those of several processes can be compared. Default: a random one. Who has
    /// it can find out short content by trying.
    #[must_use]
    pub fn with_hash_key(mut self, key: impl Into<Vec<u8>>) -> Self {
        self.redaction.key = key.into();
        self
    }

    /// Begins with a run that has this many steps behind it, and calls that wait for a person.
    pub(crate) fn begin(&self, run: String, steps: u32, waiting: &[PendingApproval]) -> Auditing {
        let asked = waiting.iter().map(|pending| (pending.approval_id.clone(), pending.call.id.clone()));
        let mut gaps = Gaps::behind(steps);
        for PendingApproval { call, .. } in waiting {
            gaps.call(&call.id, &call.name, call.provider_executed);
        }
        Auditing(Arc::new(Mutex::new(Fold {
            audit: self.clone(),
            run,
            seq: 0,
            began: None,
            gaps,
            steps,
            asked: asked.collect(),
            decided: HashSet::new(),
            told: HashSet::new(),
            ended: false,
        })))
    }
}

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audit").field("content", &self.redaction.content).finish_non_exhaustive()
    }
}

/// The audit of one run.
#[derive(Clone)]
pub(crate) struct Auditing(Arc<Mutex<Fold>>);

impl Auditing {
    pub(crate) fn hear(&self, event: &LoopEvent) {
        self.lock().hear(event);
    }

    pub(crate) fn attempt(&self, event: &AttemptEvent) {
        self.lock().attempt(event);
    }

    /// The run is over, whether or not anybody heard of its end.
    pub(crate) fn settled(&self, end: &RunEnd) {
        self.lock().end(end);
    }

    fn lock(&self) -> MutexGuard<'_, Fold> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Fold {
    audit: Audit,
    run: String,
    seq: u64,
    began: Option<(SystemTime, Instant)>,
    gaps: Gaps,
    /// How many steps were told.
    steps: u32,
    /// Questions that are open: about which call.
    asked: HashMap<Id, Id>,
    /// Calls about which somebody has decided.
    decided: HashSet<Id>,
    /// Calls whose end was told.
    told: HashSet<Id>,
    ended: bool,
}

impl Fold {
    fn tell(&mut self, event: AuditEvent) {
        if self.began.is_none() {
            self.entry(self.steps, AuditEvent::RunStarted);
        }
        self.entry(self.gaps.step(), event);
    }

    fn entry(&mut self, step: u32, event: AuditEvent) {
        let (wall, clock) = *self.began.get_or_insert_with(|| (SystemTime::now(), Instant::now()));
        self.seq += 1;
        let (run, seq, at) = (self.run.clone(), self.seq, wall + clock.elapsed());
        let entry = AuditEntry { run, seq, at, step, event };
        if catch_unwind(AssertUnwindSafe(|| (self.audit.sink)(entry))).is_err() {
            tracing::error!("the audit panicked");
        }
    }

    fn hear(&mut self, event: &LoopEvent) {
        match event {
            LoopEvent::StepStart(start) => {
                self.gaps.step_start(start.step);
                self.tell(AuditEvent::StepStarted { target: start.target.clone() });
            }
            LoopEvent::Part(part) => self.part(part),
            LoopEvent::Tool(event) => self.tool(event),
            LoopEvent::StepReset(reset) => {
                self.gaps.reset();
                let error = self.audit.redaction.error(&reset.error);
                self.tell(AuditEvent::StepReset { error });
            }
            LoopEvent::StepEnd(record, _) => self.step(record),
            LoopEvent::End(end) => self.end(end),
            _ => {}
        }
    }

    fn part(&mut self, part: &StreamPart) {
        match part {
            StreamPart::TextDelta { delta, .. } | StreamPart::ReasoningDelta { delta, .. }
                if delta.is_empty() => {}
            StreamPart::TextDelta { .. } | StreamPart::ReasoningDelta { .. } => self.gaps.said(),
            StreamPart::ToolInputStart { id, tool_name, .. } => self.gaps.input(id, tool_name),
            StreamPart::ToolCall(call) => self.call(call),
            StreamPart::ToolResult(result) if result.preliminary => self.progress(result),
            StreamPart::ToolResult(result) => {
                self.gaps.done(&result.tool_call_id);
                let failed = result.output.is_error();
                self.tell(AuditEvent::CallEnded {
                    call_id: result.tool_call_id.clone(),
                    tool: result.tool_name.clone(),
                    status: if failed { ToolStatus::Failed } else { ToolStatus::Ok },
                    duration_ms: None,
                    output: self.audit.redaction.output(&result.output),
                    usage: None,
                });
            }
            StreamPart::ToolApprovalRequest(request) => {
                self.ask(request.tool_call_id.clone(), request.approval_id.clone());
            }
            StreamPart::Source(_)
            | StreamPart::File(_)
            | StreamPart::ReasoningFile(_)
            | StreamPart::Custom(_) => self.gaps.said(),
            _ => {}
        }
    }

    fn call(&mut self, call: &ToolCall) {
        self.gaps.call(&call.id, &call.name, call.provider_executed);
        self.tell(AuditEvent::CallMade {
            call_id: call.id.clone(),
            tool: call.name.clone(),
            input: self.audit.redaction.text(&call.input),
            provider_executed: call.provider_executed,
        });
    }

    fn progress(&mut self, result: &ToolResult) {
        let output = self.audit.redaction.output(&result.output);
        self.tell(AuditEvent::CallProgress { call_id: result.tool_call_id.clone(), output });
    }

    fn tool(&mut self, event: &ToolEvent) {
        match event {
            ToolEvent::ApprovalRequested(pending) => {
                self.ask(pending.call.id.clone(), pending.approval_id.clone());
            }
            ToolEvent::ApprovalAnswered(answer) => self.answered(answer),
            ToolEvent::Started(call) => {
                self.gaps.started(&call.id);
                self.by_policy(&call.id, true);
                self.tell(AuditEvent::CallStarted { call_id: call.id.clone(), tool: call.name.clone() });
            }
            ToolEvent::Preliminary(result) => self.progress(result),
            ToolEvent::Finished(record) => self.finished(record),
            _ => {}
        }
    }

    fn ask(&mut self, call_id: Id, approval_id: Id) {
        self.asked.insert(approval_id.clone(), call_id.clone());
        self.tell(AuditEvent::CallAsked { call_id, approval_id });
    }

    fn answered(&mut self, answer: &ToolApprovalResponse) {
        let Some(call_id) = self.asked.remove(&answer.approval_id) else { return };
        self.decided.insert(call_id.clone());
        let reason = answer.reason.as_deref().map(|reason| self.audit.redaction.text(reason));
        let (by, approved) = (Decider::Person, answer.approved);
        self.tell(AuditEvent::CallDecided { call_id, by, approved, reason });
    }

    /// Where no person was asked it was the application that decided.
    fn by_policy(&mut self, call_id: &Id, approved: bool) {
        if self.decided.insert(call_id.clone()) {
            let (call_id, by, reason) = (call_id.clone(), Decider::Policy, None);
            self.tell(AuditEvent::CallDecided { call_id, by, approved, reason });
        }
    }

    fn finished(&mut self, record: &ToolRecord) {
        let call_id = record.result.tool_call_id.clone();
        if !self.told.insert(call_id.clone()) {
            return;
        }
        if record.status == ToolStatus::Denied {
            self.by_policy(&call_id, false);
        }
        self.gaps.ended(&call_id, &record.status);
        let redaction = &self.audit.redaction;
        let event = AuditEvent::CallEnded {
            call_id,
            tool: record.result.tool_name.clone(),
            status: redaction.status(&record.status),
            duration_ms: Some(millis(record.duration)),
            output: redaction.output(&record.result.output),
            usage: record.usage.as_deref().map(|usage| Box::new(redaction.usage(usage))),
        };
        self.tell(event);
    }

    fn step(&mut self, record: &StepRecord) {
        record.tools.iter().for_each(|tool| self.finished(tool));
        self.gaps.step_end(record);
        self.steps = record.step;
        let redaction = &self.audit.redaction;
        let event = AuditEvent::StepEnded {
            model: record.response.model.clone(),
            response_id: record.response.id.clone(),
            finish: record.finish.clone(),
            usage: redaction.usage(&record.usage),
            parts: redaction.parts(&record.message),
            warnings: record.warnings.len(),
        };
        self.tell(event);
    }

    fn end(&mut self, end: &RunEnd) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        // Of a run that was dropped nobody has heard the last.
        let told = self.steps;
        for record in end.steps.iter().filter(|record| record.step > told) {
            self.step(record);
        }
        let redaction = &self.audit.redaction;
        let (error, partial) = match &end.outcome {
            Outcome::Failed { error, partial } => (Some(redaction.error(error)), partial.as_deref()),
            Outcome::Cancelled { partial } => (None, partial.as_deref()),
            _ => (None, None),
        };
        let withdrawn = end.snapshot.run().failed_steps().iter().map(|failed| {
            Withdrawn::new(failed.step, redaction.error(&failed.error), redaction.parts(&failed.partial))
        });
        let event = AuditEvent::RunEnded {
            outcome: end.outcome.as_str().to_owned(),
            error,
            usage: redaction.usage(&end.usage),
            unfinished: partial.map(|partial| redaction.parts(partial)).unwrap_or_default(),
            withdrawn: withdrawn.collect(),
            missing: self.gaps.missing(Some(&end.outcome)),
        };
        self.tell(event);
    }

    fn attempt(&mut self, event: &AttemptEvent) {
        let attempt = Box::new(self.audit.redaction.attempt(event));
        self.tell(AuditEvent::Attempt { attempt });
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
