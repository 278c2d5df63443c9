//! A model that knows neither reasoning nor tools, and writes both as text, behaves like one that knows them: by
//! middleware around it. The last one is our own.
//!
//! `cargo run -p example-middleware`; no key is needed, the model is scripted.

use std::error::Error;
use std::sync::Arc;

use ai_core::middleware::{
    ExtractReasoning, Middleware, MiddlewareCall, Next, PartTransform, Parts, PromptTools, Smooth,
    transform_parts, wrap,
};
use ai_core::run::Outcome;
use ai_core::{Effect, LoopEvent, RunOptions, ToolError, ToolEvent, ToolLoop, ToolSet, tool_fn};
use ai_provider::{CallContext, LanguageModel, Message, ModelError, ModelStream, Request, StreamPart};
use ai_testkit::{Script, ScriptedModel};
use async_trait::async_trait;
use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::Deserialize;

/// Asks for short answers, and takes names out of what the model says.
struct Discreet {
    names: Vec<String>,
}

#[async_trait]
impl Middleware for Discreet {
    fn name(&self) -> &str {
        "discreet"
    }

    async fn transform_request(
        &self,
        mut request: Request,
        _call: &MiddlewareCall<'_>,
    ) -> Result<Request, ModelError> {
        request.settings.max_output_tokens.get_or_insert(500);
        Ok(request)
    }

    fn wrap_stream(&self, next: Next, request: Request, ctx: CallContext) -> ModelStream {
        transform_parts(next.stream(request, ctx), Masked { names: self.names.clone() })
    }
}

/// Works on each delta by itself: behind [`Smooth`], a delta is a whole word.
struct Masked {
    names: Vec<String>,
}

impl PartTransform for Masked {
    fn part(&mut self, mut part: StreamPart, out: &mut Parts) -> Result<(), ModelError> {
        if let StreamPart::TextDelta { delta, .. } = &mut part {
            for name in &self.names {
                *delta = delta.replace(name.as_str(), "***");
            }
        }
        out.push(part);
        Ok(())
    }
}

#[derive(Deserialize, JsonSchema)]
struct City {
    /// The city's name.
    name: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // What such a model writes, tags and all.
    let scripted = ScriptedModel::new()
        .reply(Script::text_reply(
            "<think>The weather tool knows.</think>I look it up.\n<tool_use>\n<name>weather</name>\n\
             <arguments>{\"name\": \"Oslo\"}</arguments>\n</tool_use>",
        ))
        .reply(Script::text_reply("It is sunny in Oslo, says Ann."));

    // The first is the outermost: it sees the answer last.
    let middleware: [Arc<dyn Middleware>; 4] = [
        Arc::new(Discreet { names: vec!["Ann".to_owned()] }),
        Arc::new(Smooth::words()),
        Arc::new(PromptTools::new()),
        Arc::new(ExtractReasoning::new("think")),
    ];
    let model: Arc<dyn LanguageModel> = wrap(Arc::new(scripted.clone()), middleware);

    let weather = tool_fn("weather", "Tells the weather of a city.", |city: City, _| async move {
        Ok::<_, ToolError>(format!("Sunny in {}.", city.name))
    });
    let tools = ToolSet::new().with(weather.with_effect(Effect::ReadOnly))?;
    let agent = ToolLoop::new(model).with_tools(tools);

    let (mut reasoning, mut text, mut outcome) = (String::new(), String::new(), None);
    let (_handle, mut events) = agent.start([Message::user("How is Oslo?")], RunOptions::default());
    while let Some(event) = events.next().await {
        match event {
            LoopEvent::Part(StreamPart::ReasoningDelta { delta, .. }) => reasoning.push_str(&delta),
            LoopEvent::Part(StreamPart::TextDelta { delta, .. }) => text.push_str(&delta),
            LoopEvent::Tool(ToolEvent::Started(call)) => println!("tool:      {} {}", call.name, call.input),
            LoopEvent::End(end) => outcome = Some(end.outcome),
            _ => {}
        }
    }
    println!("reasoning: {reasoning}\ntext:      {text}");

    assert_eq!(outcome, Some(Outcome::Finished));
    assert_eq!(reasoning, "The weather tool knows.");
    assert_eq!(text, "I look it up.It is sunny in Oslo, says ***.");
    let requests = scripted.requests();
    assert!(requests.iter().all(|request| request.tools.is_empty()), "the model was sent no tools");
    assert!(requests.iter().all(|request| request.settings.max_output_tokens == Some(500)));
    Ok(())
}
