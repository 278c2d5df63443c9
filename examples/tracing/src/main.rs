//! What an agent does as spans: `invoke_agent` around a run, `chat` around each model call, `execute_tool` around each
//! tool. The fields are those of the OpenTelemetry conventions for generative AI, so that any exporter for `tracing`
//! (`tracing-opentelemetry`, for example) sends what the usual tools show. Here a small layer of our own prints them.
//!
//! `cargo run -p example-tracing`; no key is needed, the model is scripted.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use ai_core::{Effect, LoopEvent, RunOptions, ToolError, ToolLoop, ToolSet, tool_fn};
use ai_provider::{Message, UnifiedFinish};
use ai_testkit::{Script, ScriptedModel};
use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::Deserialize;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

/// Prints each span when it closes, indented by its depth.
#[derive(Clone, Default)]
struct Exporter(Arc<Mutex<Vec<String>>>);

impl<S: tracing::Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Exporter {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        if let Some(span) = ctx.span(id) {
            let mut fields = Fields::default();
            attributes.record(&mut fields);
            span.extensions_mut().insert(fields);
        }
    }
    fn on_record(&self, id: &Id, values: &Record<'_>, ctx: Context<'_, S>) {
        if let Some(span) = ctx.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            values.record(fields);
        }
    }
    fn on_close(&self, id: Id, ctx: Context<'_, S>) {
        let Some(span) = ctx.span(&id) else { return };
        let Some(Fields(fields)) = span.extensions_mut().remove::<Fields>() else { return };
        let depth = span.scope().count() - 1;
        let name = fields.get("otel.name").cloned().unwrap_or_default();
        println!("{:indent$}{name}", "", indent = depth * 2);
        for (field, value) in fields.iter().filter(|(field, _)| !field.starts_with("otel.")) {
            println!("{:indent$}{field} = {value}", "", indent = depth * 2 + 4);
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{depth} {name}"));
    }
}

#[derive(Deserialize, JsonSchema)]
struct City {
    name: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let exporter = Exporter::default();
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(exporter.clone()))?;

    let weather = tool_fn("weather", "Tells the weather.", |city: City, _| async move {
        Ok::<_, ToolError>(format!("It rains in {}.", city.name))
    })
    .with_effect(Effect::ReadOnly);
    let model = ScriptedModel::new()
        .reply(
            Script::new()
                .tool_call("call_1", "weather", r#"{"name":"Bergen"}"#)
                .usage(50, 12)
                .finish(UnifiedFinish::ToolCalls),
        )
        .reply(Script::new().text("Take an umbrella.").usage(80, 6).finish(UnifiedFinish::Stop));
    // What people and models say is left out unless it is asked for: `with_traced_content` does.
    let agent = ToolLoop::new(Arc::new(model)).with_name("guide").with_tools(ToolSet::new().with(weather)?);
    let (_handle, mut events) = agent.start([Message::user("Bergen?")], RunOptions::default());
    while let Some(event) = events.next().await {
        if let LoopEvent::End(end) = event {
            println!("-- {} --", end.outcome);
        }
    }
    drop(events);

    let spans = exporter.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert_eq!(
        spans,
        ["1 chat model", "1 execute_tool weather", "1 chat model", "0 invoke_agent guide"],
        "spans close from the inside out"
    );
    Ok(())
}
