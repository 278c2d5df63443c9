//! A plugin that notes which of its hooks are called, and fails in those it is told to.

use std::collections::HashMap;
use std::future::pending;
use std::sync::{Arc, Mutex};

use ai_core::middleware::{Middleware, MiddlewareCall};
use ai_core::plugin::{CallParams, Plugin, Plugins, RequestContext, RequestResult, Stage, StreamEnd};
use ai_core::{Error, ModelRef, PluginError, Registry};
use ai_provider::{
    EmbeddingRequest, Embeddings, Generation, LanguageModel, Message, ModelError, ModelStream, Provider,
    Request, StreamPart, TargetId,
};
use ai_testkit::ScriptedModel;
use async_trait::async_trait;
use futures_util::StreamExt;

/// What happened, in order.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    pub fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// Those that begin so, without that beginning.
    pub fn of(&self, start: &str) -> Vec<String> {
        self.all().iter().filter_map(|line| line.strip_prefix(start)).map(str::to_owned).collect()
    }

    pub fn count(&self, what: &str) -> usize {
        self.all().iter().filter(|line| *line == what).count()
    }
}

#[derive(Clone, Copy)]
pub enum Fault {
    Fail,
    Panic,
    Hang,
}

#[derive(Clone)]
pub struct Recorder {
    pub name: &'static str,
    pub stage: Stage,
    pub log: Log,
    pub faults: HashMap<&'static str, Fault>,
    pub resolves: Option<Arc<dyn LanguageModel>>,
}

pub fn recorder(name: &'static str, log: &Log) -> Recorder {
    Recorder { name, stage: Stage::Normal, log: log.clone(), faults: HashMap::new(), resolves: None }
}

impl Recorder {
    pub fn at(mut self, stage: Stage) -> Self {
        self.stage = stage;
        self
    }

    pub fn with(mut self, hook: &'static str, fault: Fault) -> Self {
        self.faults.insert(hook, fault);
        self
    }

    async fn hook(&self, hook: &'static str) -> Result<(), PluginError> {
        self.log.note(format!("{} {hook}", self.name));
        match self.faults.get(hook) {
            None => Ok(()),
            Some(Fault::Fail) => Err(format!("{hook} will not").into()),
            Some(Fault::Panic) => panic!("{hook} is broken"),
            Some(Fault::Hang) => pending().await,
        }
    }
}

/// Kept in the context by the first recorder, read by all.
pub struct Mark(pub String);

#[async_trait]
impl Plugin for Recorder {
    fn name(&self) -> &str {
        self.name
    }

    fn stage(&self) -> Stage {
        self.stage
    }

    async fn configure_context(&self, ctx: &mut RequestContext) -> Result<(), PluginError> {
        ctx.push_middleware(Marking(self.name, self.log.clone()));
        ctx.insert(Mark(ctx.id().to_string()));
        self.hook("configure_context").await
    }

    async fn on_request_start(&self, ctx: &RequestContext) -> Result<(), PluginError> {
        self.log.note(format!("{} sees {}", self.name, ctx.id()));
        self.hook("on_request_start").await
    }

    async fn resolve_model(
        &self,
        model: &ModelRef,
        _ctx: &RequestContext,
    ) -> Result<Option<Arc<dyn LanguageModel>>, PluginError> {
        self.log.note(format!("{} asked for {model}", self.name));
        self.hook("resolve_model").await?;
        Ok(self.resolves.clone())
    }

    async fn transform_params(
        &self,
        mut params: CallParams,
        ctx: &RequestContext,
    ) -> Result<CallParams, PluginError> {
        self.log.note(format!("{} sees {}", self.name, ctx.id()));
        self.hook("transform_params").await?;
        params.settings.stop_sequences.push(format!("params-{}", self.name));
        Ok(params)
    }

    async fn transform_step(
        &self,
        mut request: Request,
        step: u32,
        _ctx: &RequestContext,
    ) -> Result<Request, PluginError> {
        self.hook("transform_step").await?;
        request.settings.stop_sequences.push(format!("step-{step}-{}", self.name));
        Ok(request)
    }

    fn transform_stream(&self, stream: ModelStream, _ctx: &Arc<RequestContext>) -> ModelStream {
        self.log.note(format!("{} transform_stream", self.name));
        assert!(!self.faults.contains_key("transform_stream"), "transform_stream is broken");
        let name = self.name;
        Box::pin(stream.map(move |item| {
            item.map(|mut part| {
                if let StreamPart::TextDelta { delta, .. } = &mut part {
                    delta.push_str(&format!("<{name}"));
                }
                part
            })
        }))
    }

    async fn transform_result(
        &self,
        mut result: Generation,
        _: &RequestContext,
    ) -> Result<Generation, PluginError> {
        self.hook("transform_result").await?;
        result.usage.input.total = result.usage.input.total.map(|total| total * 10 + 1);
        Ok(result)
    }

    async fn transform_embedding(
        &self,
        mut request: EmbeddingRequest,
        _ctx: &RequestContext,
    ) -> Result<EmbeddingRequest, PluginError> {
        self.hook("transform_embedding").await?;
        request.values.push(self.name.to_owned());
        Ok(request)
    }

    async fn transform_embeddings(
        &self,
        mut embeddings: Embeddings,
        _ctx: &RequestContext,
    ) -> Result<Embeddings, PluginError> {
        self.hook("transform_embeddings").await?;
        embeddings.vectors.pop();
        Ok(embeddings)
    }

    async fn on_request_end(
        &self,
        result: RequestResult<'_>,
        ctx: &RequestContext,
    ) -> Result<(), PluginError> {
        self.log.note(format!("{} sees {}", self.name, ctx.id()));
        let said = match result {
            RequestResult::Text(answer) => answer.text(),
            RequestResult::Stream(finish) => format!("{:?}", finish.usage.output.total),
            RequestResult::Agent(end) => end.outcome.as_str().to_owned(),
            RequestResult::Embedding(embeddings) => embeddings.vectors.len().to_string(),
            _ => "?".to_owned(),
        };
        self.log.note(format!("{} result {said}", self.name));
        self.hook("on_request_end").await
    }

    async fn on_error(&self, error: &Error, ctx: &RequestContext) -> Result<(), PluginError> {
        self.log.note(format!("{} sees {}", self.name, ctx.id()));
        self.log.note(format!("{} error {error}", self.name));
        self.hook("on_error").await
    }

    fn on_stream_end(&self, end: StreamEnd<'_>, _: &RequestContext) {
        let end = match end {
            StreamEnd::Finished { usage } => format!("finished {:?}", usage.output.total),
            StreamEnd::Failed(_) => "failed".to_owned(),
            StreamEnd::Dropped => "dropped".to_owned(),
            _ => "?".to_owned(),
        };
        self.log.note(format!("{} on_stream_end {end}", self.name));
        assert!(!self.faults.contains_key("on_stream_end"), "on_stream_end is broken");
    }
}

/// Middleware that notes its turn.
struct Marking(&'static str, Log);

#[async_trait]
impl Middleware for Marking {
    fn name(&self) -> &str {
        "marking"
    }

    async fn transform_request(
        &self,
        request: Request,
        _: &MiddlewareCall<'_>,
    ) -> Result<Request, ModelError> {
        self.1.note(format!("{} middleware", self.0));
        Ok(request)
    }
}

/// A provider that has one model under every id, and notes that it was asked.
#[derive(Clone)]
pub struct OneModel(pub ScriptedModel, pub Log, pub &'static str);

impl Provider for OneModel {
    fn name(&self) -> &str {
        self.2
    }

    fn language_model(&self, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        self.1.note(format!("provider asked for {id}"));
        Ok(Arc::new(self.0.clone().with_target(TargetId::new(self.2, id, "memory"))))
    }
}

pub fn registry(model: &ScriptedModel, log: &Log) -> Registry {
    Registry::new().with(OneModel(model.clone(), log.clone(), "one")).unwrap()
}

pub fn plugins(list: impl IntoIterator<Item = Recorder>) -> Plugins {
    list.into_iter().map(|plugin| Arc::new(plugin) as Arc<dyn Plugin>).collect()
}

pub fn ask() -> Request {
    Request::new([Message::user("Hi")])
}

/// The ids under which hooks saw their context.
pub fn seen(log: &Log) -> Vec<String> {
    let mut ids: Vec<_> =
        log.all().iter().filter_map(|line| Some(line.split_once(" sees ")?.1.to_owned())).collect();
    ids.sort();
    ids.dedup();
    ids
}

/// The names of the hooks alone.
pub fn hooks(log: &Log, name: &str) -> Vec<String> {
    let hooks = log.of(&format!("{name} ")).into_iter();
    let hooks = hooks.filter(|line| line.starts_with("on_") || line.contains('_') && !line.contains(' '));
    hooks.map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect()
}
