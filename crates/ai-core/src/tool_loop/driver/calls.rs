use std::collections::HashSet;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::Poll;

use ai_provider::{ToolCall, ToolOutput, ToolResult};
use futures_util::FutureExt;

use super::super::event::{LoopEvent, ToolEvent};
use super::super::policy::ApprovalPolicy;
use super::super::tools::{Job, Tools};
use super::{Driver, LoopCo, guarded};
use crate::run::{ApprovalVerdict, Input, Interruption, Next, ToolRecord, ToolStatus};
use crate::tool::{InvalidCall, ToolContext};

/// The calls' part of a step.
impl Driver {
    /// Offers calls that cannot be run for repair. A repair that fails or panics has made nothing.
    pub(super) async fn repair(&mut self, calls: Vec<(ToolCall, String)>) -> Result<(), Interruption> {
        let mut repaired = Vec::with_capacity(calls.len());
        for (call, problem) in calls {
            let id = call.id.clone();
            let made = match &self.config.repair {
                Some(repair) => {
                    let invalid = InvalidCall {
                        tool: self.step.tool(&call.name).map(|tool| tool.definition.clone()),
                        active_tools: self
                            .step
                            .tools
                            .names()
                            .filter(|name| self.step.is_active(name))
                            .map(str::to_owned)
                            .collect(),
                        messages: self.live.run().shared_messages(),
                        call,
                        problem,
                    };
                    let repair = AssertUnwindSafe(|| repair.repair(invalid));
                    let repairing = async { std::panic::catch_unwind(repair).ok()?.await };
                    self.interrupt.race(guarded(repairing)).await?
                }
                None => None,
            };
            repaired.push((id, made.filter(|call| self.problem(call).is_none())));
        }
        self.live.feed(Input::Repaired(repaired));
        Ok(())
    }

    pub(super) async fn decide(&mut self, co: &LoopCo, calls: Vec<ToolCall>) -> Result<(), Interruption> {
        let mut verdicts = Vec::with_capacity(calls.len());
        for job in self.jobs(calls) {
            let verdict = match job {
                Ok(job) => {
                    let id = job.call.id.clone();
                    let policy = self.config.approval_policy.clone();
                    let asked = AssertUnwindSafe(verdict(policy, job)).catch_unwind();
                    let verdict = self.interrupt.race(asked).await?.unwrap_or_else(|_| {
                        ApprovalVerdict::Denied { reason: Some("the approval policy failed".to_owned()) }
                    });
                    (id, verdict)
                }
                // What cannot run needs no consent; running it gives the error.
                Err(record) => (record.result.tool_call_id, ApprovalVerdict::Approved),
            };
            verdicts.push(verdict);
        }
        let asked: HashSet<_> = verdicts
            .iter()
            .filter(|(_, verdict)| matches!(verdict, ApprovalVerdict::AskUser { .. }))
            .map(|(id, _)| id.clone())
            .collect();
        for id in &asked {
            self.decisions.ask(id.clone());
        }
        self.live.feed(Input::Decided(verdicts));
        for pending in self.live.run().pending_approvals() {
            if asked.contains(&pending.call.id) {
                co.give(LoopEvent::Tool(ToolEvent::ApprovalRequested(pending))).await;
            }
        }
        Ok(())
    }

    pub(super) async fn call_tools(&mut self, co: &LoopCo, calls: Vec<ToolCall>) -> Result<(), Interruption> {
        let mut jobs = Vec::with_capacity(calls.len());
        for job in self.jobs(calls) {
            match job {
                Ok(job) => jobs.push(job),
                Err(record) => {
                    self.interrupt.last_word(guarded(self.options.control.on_tool_end(&record))).await;
                    self.tool_finished(co, record).await;
                }
            }
        }
        let (control, traced) = (Arc::clone(&self.options.control), self.config.traced);
        self.live.begin_tools(Tools::new(jobs, control, self.config.policy, traced));
        loop {
            let (interrupt, live) = (&mut self.interrupt, &mut self.live);
            let event = poll_fn(|cx| match interrupt.poll(cx) {
                Poll::Ready(by) => Poll::Ready(Err(by)),
                Poll::Pending => live.poll_tools(cx).map(Ok),
            });
            match event.await? {
                Some(ToolEvent::Finished(record)) => {
                    let alone = record.terminal.as_ref().is_some_and(|terminal| terminal.cancel_siblings);
                    self.tool_finished(co, record).await;
                    if alone {
                        self.cut_siblings(co).await;
                        return Ok(());
                    }
                }
                Some(event) => co.give(LoopEvent::Tool(event)).await,
                None => return Ok(()),
            }
        }
    }

    /// Ends the calls that are left: those that run are cut, the others never run.
    async fn cut_siblings(&mut self, co: &LoopCo) {
        let mut records = self.live.cut_tools();
        let cut: HashSet<_> = records.iter().map(|record| record.result.tool_call_id.clone()).collect();
        if let Next::CallTools { calls } = self.live.run().next() {
            let left = calls.into_iter().filter(|call| !cut.contains(&call.id));
            records.extend(left.map(|call| {
                let text = "Not run: another tool of the same answer ended the run.".to_owned();
                let result =
                    ToolResult::new(call.id.clone(), call.name.as_str(), ToolOutput::ErrorText(text));
                ToolRecord::not_run(result, ToolStatus::Skipped)
            }));
        }
        for record in records {
            self.interrupt.last_word(guarded(self.options.control.on_tool_end(&record))).await;
            self.tool_finished(co, Box::new(record)).await;
        }
    }

    async fn tool_finished(&mut self, co: &LoopCo, record: Box<ToolRecord>) {
        self.step.finished.insert(record.result.tool_call_id.clone());
        self.live.feed(Input::ToolFinished(record.clone()));
        co.give(LoopEvent::Tool(ToolEvent::Finished(record))).await;
    }

    /// The calls with their tools; a record for each call whose tool this loop does not have (a stored run may
    /// come from a loop that had it).
    fn jobs(&self, calls: Vec<ToolCall>) -> Vec<Result<Job, Box<ToolRecord>>> {
        let messages = self.live.run().shared_messages();
        let job = |call: ToolCall| match self.step.tools.get(&call.name) {
            Some(entry) => Ok(Job {
                ctx: ToolContext {
                    call_id: call.id.clone(),
                    tool_name: call.name.clone(),
                    target: self.step.model.target().clone(),
                    request_id: self.step.request_id.clone(),
                    messages: Arc::clone(&messages),
                    cancel: self.options.cancel.clone(),
                    deadline: self.interrupt.deadline(),
                    scope: self.options.scope.clone(),
                    trusted: entry.trusted,
                    told: Arc::default(),
                },
                tool: Arc::clone(&entry.tool),
                effect: entry.effect,
                timeout: entry.timeout,
                concurrency: entry.concurrency,
                approval: entry.facts.approval,
                call,
            }),
            None => {
                let text = format!("There is no tool `{}`.", call.name);
                let result = ToolResult::new(call.id, call.name, ToolOutput::ErrorText(text));
                Err(Box::new(ToolRecord::not_run(result, ToolStatus::Unknown)))
            }
        };
        calls.into_iter().map(job).collect()
    }
}

/// What is said of a call: by the policy, else by its tool.
async fn verdict(policy: Option<ApprovalPolicy>, job: Job) -> ApprovalVerdict {
    let Job { call, tool, ctx, approval, .. } = job;
    if let Some(policy) = policy
        && let Some(verdict) = policy.ask(call.clone(), ctx.clone()).await
    {
        return verdict;
    }
    if !approval {
        return ApprovalVerdict::Approved;
    }
    tool.approve(&call.input_json().unwrap_or_default(), &ctx).await
}
