use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ai_core::run::{Answer, Input, Prepared, Run, RunConfig, ToolFacts};
use ai_core::{
    Effect, FnTool, LoopControl, LoopEvent, RunEnd, RunOptions, ToolError, ToolEvent, ToolLoop, ToolSet,
    tool_fn,
};
use ai_provider::{
    Assembler, AssistantPart, LanguageModel, Message, StreamPart, TargetId, ToolPart, UnifiedFinish,
};
use ai_testkit::{Script, ScriptedModel};
use async_trait::async_trait;
use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Text {
    pub text: String,
}

pub fn echo() -> FnTool<Text> {
    tool_fn("echo", "Repeats.", |args: Text, _| async move { Ok::<_, ToolError>(args.text) })
        .with_effect(Effect::ReadOnly)
}

pub fn loop_of(model: &ScriptedModel, tools: ToolSet) -> ToolLoop {
    ToolLoop::new(Arc::new(model.clone()) as Arc<dyn LanguageModel>).with_tools(tools)
}

pub async fn run(agent: &ToolLoop, options: RunOptions) -> (Vec<LoopEvent>, RunEnd) {
    let (_handle, stream) = agent.start([Message::user("go")], options);
    let mut events: Vec<_> = stream.collect().await;
    match events.pop() {
        Some(LoopEvent::End(end)) => (events, *end),
        other => panic!("the last event is {other:?}"),
    }
}

/// Several calls in one answer: id, tool, input.
pub fn calls(calls: &[(&str, &str, &str)]) -> Script {
    let script =
        calls.iter().fold(Script::new(), |script, (id, name, input)| script.tool_call(*id, name, input));
    script.usage(10, 5).finish(UnifiedFinish::ToolCalls)
}

pub fn results(end: &RunEnd) -> Vec<(String, String)> {
    let tools = end.steps.iter().flat_map(|step| &step.tools);
    tools
        .map(|tool| {
            (
                tool.result.tool_call_id.to_string(),
                serde_json::to_string(&tool.result.output).expect("plain data"),
            )
        })
        .collect()
}

pub fn finished(events: &[LoopEvent]) -> Vec<String> {
    let ended = events.iter().filter_map(|event| match event {
        LoopEvent::Tool(ToolEvent::Finished(record)) => Some(record.result.tool_call_id.to_string()),
        _ => None,
    });
    ended.collect()
}

/// Counts how often a run was settled, and how.
#[derive(Default)]
pub struct Settled(pub AtomicUsize, pub Mutex<Vec<String>>);

#[async_trait]
impl LoopControl for Settled {
    fn settled(&self, end: &RunEnd) {
        self.0.fetch_add(1, Ordering::SeqCst);
        self.1.lock().unwrap().push(end.outcome.as_str().to_owned());
    }
}

pub fn fact(name: &str) -> ToolFacts {
    ToolFacts { name: name.to_owned(), executable: true, approval: false, deferred: false }
}

pub fn prepared(tools: Vec<ToolFacts>) -> Input {
    let mut prepared = Prepared::default();
    prepared.tools = tools;
    Input::Prepared(prepared)
}

pub fn new_run() -> Run {
    Run::new([Message::user("go")], RunConfig::default())
}

/// An answer made of a script's parts.
pub fn answer(parts: &[StreamPart]) -> Input {
    let mut assembler = Assembler::default();
    for part in parts {
        assembler.push(part).unwrap();
    }
    Input::Answered(Box::new(Answer::new(TargetId::new("scripted", "model", "memory"), assembler.finish())))
}

/// What makes a history one that providers accept: each call of this side is answered once, right after its
/// message, in order.
pub fn check_history(messages: &[Arc<Message>]) -> Result<(), String> {
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        match &**message {
            Message::Assistant(message) => {
                if !open.is_empty() {
                    return Err(format!("calls without results: {open:?}"));
                }
                open =
                    message.tool_calls().filter(|c| !c.provider_executed).map(|c| c.id.to_string()).collect();
                if message.parts.iter().any(|part| matches!(part, AssistantPart::ToolResult(_))) {
                    return Err("a result of this side in an assistant message".to_owned());
                }
            }
            Message::Tool(message) => {
                let answered: Vec<_> = message
                    .parts
                    .iter()
                    .filter_map(|part| match part {
                        ToolPart::ToolResult(result) => Some(result.tool_call_id.to_string()),
                        // It goes to the provider, and answers no call of this side.
                        ToolPart::ToolApprovalResponse(_) => None,
                        other => Some(format!("{other:?}")),
                    })
                    .collect();
                if answered != open {
                    return Err(format!("called {open:?}, answered {answered:?}"));
                }
                open.clear();
            }
            _ if !open.is_empty() => return Err(format!("calls without results: {open:?}")),
            _ => {}
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("calls without results at the end: {open:?}")) }
}
