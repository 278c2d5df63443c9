//! The models that answer, by their names.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use agent_loop::UiChunk;
use ai_core::Approvals;
use ai_mcp::McpServers;
use async_trait::async_trait;
use futures_util::Stream;
use serde_json::{Value, json};
use stream_manager::{OpenError, TurnEvent, TurnRequest, TurnRun, TurnSource};
use tokio::time::Instant;

use super::metrics::Metrics;
use crate::assemble::Assembly;
use crate::config::{Approval, Config};
use crate::failure::{Failure, sentence};
use crate::setup::{Chosen, DEFAULT_OPENAI_MODEL, Flags, merge};
use crate::view::View;

/// The name of the model inside the program.
const DEMO: &str = "demo";

/// The models of a configuration, with their tools, limits and prices.
#[derive(Clone, Debug)]
pub(super) struct Models(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    default: String,
    models: BTreeMap<String, Assembly>,
    servers: McpServers,
    metrics: Arc<Metrics>,
    running: Arc<AtomicUsize>,
}

impl Models {
    /// Puts them together. No request is made.
    ///
    /// # Errors
    /// If the default model cannot be used. Another that cannot is left out, and a note says so.
    pub(super) async fn of(
        flags: &Flags,
        config: &Config,
        allow: bool,
        servers: McpServers,
        metrics: Arc<Metrics>,
        view: &mut View,
    ) -> Result<Self, Failure> {
        let key = std::env::var_os("OPENAI_API_KEY").is_some_and(|key| !key.is_empty());
        let named = flags.model.clone().or_else(|| config.default_model.clone());
        let (chosen, assembly) = assembly(flags, config, key, allow).await?;
        let default = match (chosen, named) {
            (Chosen::AsDemo, _) => DEMO.to_owned(),
            (Chosen::ByKey, _) => DEFAULT_OPENAI_MODEL.to_owned(),
            (Chosen::ByName, name) => name.unwrap_or_default().trim().to_owned(),
        };
        let mut models = BTreeMap::from([(default.clone(), assembly)]);
        // Where a server is, is said of the default model alone.
        let of_all = Flags { base_url: None, dialect: None, api_key_env: Vec::new(), ..flags.clone() };
        for name in config.models.keys().filter(|name| **name != default) {
            let flags = Flags { model: Some(name.clone()), ..of_all.clone() };
            match self::assembly(&flags, config, key, allow).await {
                Ok((_, assembly)) => drop(models.insert(name.clone(), assembly)),
                Err(failure) => view
                    .note(&format!("The model {name} is left out: {}.", failure.message))
                    .map_err(Failure::of_screen)?,
            }
        }
        Ok(Self(Arc::new(Inner { default, models, servers, metrics, running: Arc::default() })))
    }

    /// How many answers are being written.
    pub(super) fn running(&self) -> usize {
        self.0.running.load(Ordering::Relaxed)
    }

    /// Whether there is a model of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.models.contains_key(name)
    }

    /// What can be asked for.
    pub(super) fn list(&self) -> Value {
        let models = self.0.models.iter().map(|(name, assembly)| {
            let (target, can) = (assembly.target(), assembly.capabilities());
            json!({
                "id": name,
                "provider": target.provider,
                "model": target.model,
                "tools": can.tools,
                "reasoning": can.reasoning,
                "images": can.input.image,
            })
        });
        json!({ "default": self.0.default, "models": models.collect::<Vec<_>>() })
    }
}

async fn assembly(
    flags: &Flags,
    config: &Config,
    key: bool,
    allow: bool,
) -> Result<(Chosen, Assembly), Failure> {
    let mut setup = merge(flags, config, key).map_err(|error| Failure::usage(error.to_string()))?;
    if allow {
        setup.approval.default.get_or_insert(Approval::Allow);
    }
    let chosen = setup.chosen;
    Ok((chosen, Assembly::of(setup, Approvals::EndRun).await?))
}

#[async_trait]
impl TurnSource for Models {
    async fn open(&self, request: TurnRequest) -> Result<TurnRun, OpenError> {
        let inner = &self.0;
        let name = request.model.clone().unwrap_or_else(|| inner.default.clone());
        let Some(assembly) = inner.models.get(&name) else { return Err(OpenError::NoSuchModel(name)) };
        let tools = inner.servers.add_to(assembly.tools().clone());
        let metrics = Arc::clone(&inner.metrics);
        let agent = assembly
            .agent(tools)
            .with_error_text(|error| sentence(error.class).to_owned())
            .with_usage_metadata(true)
            .with_ledger(move |entry| metrics.run(&entry));
        let run = agent.open(request).await?;
        inner.running.fetch_add(1, Ordering::Relaxed);
        let running = Running(Arc::clone(&inner.running));
        Ok(TurnRun::new(Told { events: run.events, model: name, began: None, held: None, _running: running }))
    }
}

/// An answer that is being written.
struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The events of a run, with the model and the time in the metadata of its message.
struct Told {
    events: Pin<Box<dyn Stream<Item = TurnEvent> + Send>>,
    model: String,
    began: Option<Instant>,
    /// The end of the message, behind what is said of its time.
    held: Option<TurnEvent>,
    _running: Running,
}

impl Stream for Told {
    type Item = TurnEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<TurnEvent>> {
        let began = *self.began.get_or_insert_with(Instant::now);
        if let Some(held) = self.held.take() {
            return Poll::Ready(Some(held));
        }
        let mut event = ready!(self.events.as_mut().poll_next(cx));
        match &mut event {
            Some(TurnEvent::Chunk(UiChunk::Start { message_metadata, .. })) => {
                if let Value::Object(fields) = message_metadata.get_or_insert_with(|| json!({})) {
                    fields.insert("model".to_owned(), self.model.as_str().into());
                }
            }
            Some(TurnEvent::Chunk(
                UiChunk::Finish { .. } | UiChunk::Abort { .. } | UiChunk::Error { .. },
            )) => {
                let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
                let time = UiChunk::MessageMetadata { message_metadata: json!({ "durationMs": took }) };
                self.held = event.replace(TurnEvent::Chunk(time));
            }
            _ => {}
        }
        Poll::Ready(event)
    }
}
