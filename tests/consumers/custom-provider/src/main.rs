//! A provider with no server behind it, used by an agent with one tool.

use std::sync::Arc;

use ai_core::{Effect, LoopEvent, Registry, RunOptions, ToolError, ToolSet, create_agent, tool_fn};
use ai_provider::{
    CallContext, Capabilities, Finish, LanguageModel, Message, ModelError, ModelStream, Provider, Request, StreamPart,
    TargetId, ToolCall, UnifiedFinish, Usage,
};
use futures_util::{StreamExt, stream};

/// Calls its one tool, then repeats what the tool said.
struct Parrot {
    target: TargetId,
    capabilities: Capabilities,
}

impl LanguageModel for Parrot {
    fn target(&self) -> &TargetId {
        &self.target
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn stream(&self, request: Request, _ctx: CallContext) -> ModelStream {
        let mut parts = vec![StreamPart::StreamStart { warnings: Vec::new() }];
        let reason = match request.messages.last().map(|message| &**message) {
            Some(Message::Tool(results)) => {
                parts.push(StreamPart::text_start("0"));
                parts.push(StreamPart::text_delta("0", format!("It said: {:?}", results.parts)));
                parts.push(StreamPart::text_end("0"));
                UnifiedFinish::Stop
            }
            _ => {
                parts.push(StreamPart::ToolCall(ToolCall::new("call_1", "shout", r#"{"text":"hello"}"#).into()));
                UnifiedFinish::ToolCalls
            }
        };
        let finish = Finish { reason: reason.into(), usage: Usage::default(), metadata: None };
        parts.push(StreamPart::Finish(finish.into()));
        Box::pin(stream::iter(parts.into_iter().map(Ok)))
    }
}

struct Birds;

impl Provider for Birds {
    fn name(&self) -> &str {
        "birds"
    }

    fn language_model(&self, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        let target = TargetId::new(self.name(), id, "memory");
        Ok(Arc::new(Parrot { target, capabilities: Capabilities::default() }))
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Shout {
    /// What to shout.
    text: String,
}

async fn ask(question: &str) -> Result<String, ai_core::Error> {
    let shout = tool_fn("shout", "Says it louder.", |args: Shout, _| async move {
        Ok::<_, ToolError>(args.text.to_uppercase())
    })
    .with_effect(Effect::ReadOnly);
    let registry = Registry::new().with(Birds)?;
    let agent = create_agent(&registry, "birds:parrot").await?.with_tools(ToolSet::new().with(shout)?);
    let (_handle, mut events) = agent.start([Message::user(question)], RunOptions::default());
    let mut text = String::new();
    while let Some(event) = events.next().await {
        if let LoopEvent::Part(StreamPart::TextDelta { delta, .. }) = event {
            text.push_str(&delta);
        }
    }
    Ok(text)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), ai_core::Error> {
    println!("{}", ask("Hello?").await?);
    Ok(())
}

#[cfg(test)]
mod tests {
    #[tokio::test]
    async fn an_agent_runs_on_a_strangers_provider() {
        let text = super::ask("Hello?").await.unwrap();
        assert!(text.contains("HELLO"), "{text}");
    }
}
