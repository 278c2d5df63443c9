//! The whole stack: adapter, tool loop, agent, chunks, bytes for a browser.

use agent_loop::{Agent, SSE_DONE, UiChunk, encode_sse};
use ai_core::{Effect, ToolError, ToolLoop, ToolSet, tool_fn};
use ai_provider::{CancellationToken, Message};
use bench_peer::{Job, PROMPT, Peer, Result, SYSTEM, TOOL_DESCRIPTION, TOOL_NAME, Tally};
use futures::StreamExt;
use peer_ours::{Chat, model};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EchoArgs {
    /// What to give back
    text: String,
}

struct Stack(Agent);

impl Peer for Stack {
    const NAME: &'static str = "ours-stack";

    fn new(job: &Job) -> Result<Self> {
        let mut tools = ToolSet::new();
        if job.uses_tools() {
            let echo =
                tool_fn(TOOL_NAME, TOOL_DESCRIPTION, |args: EchoArgs, _| async move { Ok::<_, ToolError>(args.text) });
            tools = tools.with(echo.with_effect(Effect::ReadOnly))?;
        }
        let steps = u32::try_from(job.expected.steps)?;
        let tool_loop = ToolLoop::new(model::<Chat>(job)?).with_instructions(SYSTEM).with_tools(tools);
        Ok(Self(Agent::new(tool_loop.with_step_cap(steps))))
    }

    async fn run(&self, job: &Job, tally: &mut Tally) -> Result<()> {
        let mut chunks = self.0.stream([Message::user(PROMPT)], CancellationToken::new()).chunks();
        let mut buffer = Vec::new();
        let mut bytes = 0;
        while let Some(chunk) = chunks.next().await {
            match &chunk {
                UiChunk::TextDelta { delta, .. } => tally.text(delta),
                UiChunk::ToolOutputAvailable { .. } => tally.tool_call(),
                UiChunk::FinishStep => tally.step(),
                UiChunk::Error { error_text } => return Err(error_text.clone().into()),
                _ => {}
            }
            buffer.clear();
            encode_sse(&chunk, &mut buffer);
            bytes += buffer.len();
        }
        bytes += SSE_DONE.len();
        if bytes < job.expected.deltas * 4 {
            return Err(format!("{bytes} bytes are too few").into());
        }
        Ok(())
    }
}

fn main() {
    bench_peer::main::<Stack>();
}
