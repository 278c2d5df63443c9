//! One plugin for single calls and for agents: it counts what each request took, however it ends, and keeps names out of
//! what models say. A second one, of the SDK, gives the model the search of whichever provider it is of.
//!
//! `cargo run -p example-plugin`; no key is needed, the model is scripted.

use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ai_core::plugin::{Plugin, Plugins, ProviderTools, RequestContext, StreamEnd};
use ai_core::{
    LoopEvent, NoSettings, PluginError, ProviderExtension, Registry, RunOptions, ToolCapability, ToolPatch,
    create_agent, generate_text, stream_text,
};
use ai_provider::{
    LanguageModel, Message, ModelError, ModelStream, Provider, Request, StreamPart, UnifiedFinish,
};
use ai_testkit::{Script, ScriptedModel};
use futures_util::StreamExt;

/// The bill: a line for each request that began.
#[derive(Clone, Default)]
struct Meter(Arc<Mutex<Vec<String>>>);

impl Meter {
    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the meter keeps in the context of one request.
#[derive(Default)]
struct Steps(AtomicU64);

#[async_trait::async_trait]
impl Plugin for Meter {
    fn name(&self) -> &str {
        "meter"
    }

    async fn transform_step(
        &self,
        request: Request,
        _step: u32,
        ctx: &RequestContext,
    ) -> Result<Request, PluginError> {
        ctx.get_or_insert_with(Steps::default).0.fetch_add(1, Ordering::Relaxed);
        Ok(request)
    }

    fn transform_stream(&self, stream: ModelStream, _ctx: &Arc<RequestContext>) -> ModelStream {
        Box::pin(stream.map(|item| {
            item.map(|part| match part {
                StreamPart::TextDelta { id, delta, metadata } => {
                    StreamPart::TextDelta { id, delta: delta.replace("Ada", "A."), metadata }
                }
                other => other,
            })
        }))
    }

    // Called exactly once for each request that began: finished, failed or dropped.
    fn on_stream_end(&self, end: StreamEnd<'_>, ctx: &RequestContext) {
        let steps = ctx.get::<Steps>().map_or(0, |steps| steps.0.load(Ordering::Relaxed));
        let line = match end {
            StreamEnd::Finished { usage } => {
                format!("steps: {steps}, tokens: {}", usage.total().unwrap_or(0))
            }
            StreamEnd::Failed(error) => format!("steps: {steps}, then {error}"),
            _ => format!("steps: {steps}, nobody listened to the end"),
        };
        self.lock().push(format!("{:?}: {line}", ctx.operation()));
    }
}

/// A provider with one scripted model.
struct Scripted(ScriptedModel);

impl Provider for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn language_model(&self, _id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        Ok(Arc::new(self.0.clone()))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let answer = Script::new().text("It was Ada Lovelace.").usage(10, 4).finish(UnifiedFinish::Stop);
    let model = ScriptedModel::new().repeat(answer);
    let provider = model.clone();
    let extension = ProviderExtension::new("scripted", move |NoSettings {}| {
        let model = provider.clone();
        async move { Ok(Scripted(model)) }
    })
    .tool(ToolCapability::WebSearch, ToolPatch::tool("scripted.web_search", "web_search"));
    let registry = Registry::new().with_extension(extension)?;

    let meter = Meter::default();
    let search = ProviderTools::new(ToolCapability::WebSearch);
    let plugins = Plugins::new().with(meter.clone()).with(search);
    let ask = || Request::new([Message::user("Who was it?")]);

    let whole = generate_text(&registry, "scripted:m", ask()).with_plugins(&plugins).await?;
    println!("whole: {}", whole.text());

    let mut stream = stream_text(&registry, "scripted:m", ask()).with_plugins(&plugins).await?;
    let _first = stream.next().await;
    drop(stream);

    let agent = create_agent(&registry, "scripted:m").with_plugins(&plugins).await?;
    let (_handle, mut events) = agent.start([Message::user("Who was it?")], RunOptions::default());
    let mut said = String::new();
    while let Some(event) = events.next().await {
        if let LoopEvent::Part(StreamPart::TextDelta { delta, .. }) = event {
            said.push_str(&delta);
        }
    }
    println!("agent: {said}");

    let bill = meter.lock().clone();
    bill.iter().for_each(|line| println!("bill: {line}"));

    assert_eq!((whole.text().as_str(), said.as_str()), ("It was A. Lovelace.", "It was A. Lovelace."));
    assert_eq!(
        bill,
        [
            "Text: steps: 1, tokens: 14",
            "Stream: steps: 1, nobody listened to the end",
            "Agent: steps: 1, tokens: 14"
        ]
    );
    assert!(
        model.requests().iter().all(|request| request.tools.len() == 1),
        "each request offers the search"
    );
    Ok(())
}
