//! Models that write down when they are called and with which key.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ai_provider::{
    AttemptEnd, AttemptEvent, AttemptKind, CallContext, Capabilities, ErrorClass, Event, Hint, KeyLabel,
    LanguageModel, Message, ModelError, ModelStream, Request, StreamPart, TargetId,
};
use ai_testkit::{Script, ScriptedModel, collect};
use retry::RetryPolicy;
use tokio::time::Instant;

/// What happens in one test: models by name, and every call to one of them.
#[derive(Clone)]
pub(crate) struct Stage {
    start: Instant,
    calls: Arc<Mutex<Vec<Called>>>,
    events: Arc<Mutex<Vec<AttemptEvent>>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Called {
    /// The name of the key if the model has several, else that of the model.
    pub(crate) name: String,
    pub(crate) at: Duration,
    pub(crate) request_id: String,
    pub(crate) request: Request,
}

struct Watched {
    name: String,
    inner: ScriptedModel,
    stage: Stage,
}

impl LanguageModel for Watched {
    fn target(&self) -> &TargetId {
        self.inner.target()
    }

    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }

    fn keys(&self) -> &[KeyLabel] {
        self.inner.keys()
    }

    fn stream(&self, request: Request, ctx: CallContext) -> ModelStream {
        let key = self.inner.keys().get(ctx.key_index);
        self.stage.calls.lock().unwrap().push(Called {
            name: key.map_or(self.name.as_str(), KeyLabel::as_str).to_owned(),
            at: self.stage.start.elapsed(),
            request_id: ctx.request_id.to_string(),
            request: request.clone(),
        });
        self.inner.stream(request, ctx)
    }
}

pub(crate) fn target(name: &str) -> TargetId {
    TargetId::new("test", name, format!("https://{name}.test"))
}

/// What a model has that can take anything.
pub(crate) fn capable() -> Capabilities {
    let mut all = Capabilities::default();
    all.structured_output = ai_provider::StructuredOutput::JsonSchema;
    all.reasoning = true;
    all
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self { start: Instant::now(), calls: Arc::default(), events: Arc::default() }
    }

    /// A model with these answers, the last of them for ever.
    pub(crate) fn model(
        &self,
        name: &str,
        replies: impl IntoIterator<Item = Script>,
    ) -> Arc<dyn LanguageModel> {
        self.keyed(name, &[], replies)
    }

    pub(crate) fn keyed(
        &self,
        name: &str,
        keys: &[&str],
        replies: impl IntoIterator<Item = Script>,
    ) -> Arc<dyn LanguageModel> {
        self.with_capabilities(name, keys, capable(), replies)
    }

    pub(crate) fn with_capabilities(
        &self,
        name: &str,
        keys: &[&str],
        capabilities: Capabilities,
        replies: impl IntoIterator<Item = Script>,
    ) -> Arc<dyn LanguageModel> {
        let mut inner = ScriptedModel::new().with_target(target(name)).with_capabilities(capabilities);
        inner = inner.with_keys(keys.iter().map(|key| KeyLabel::from(*key)));
        let replies: Vec<_> = replies.into_iter().collect();
        let last = replies.last().cloned();
        inner = replies.into_iter().fold(inner, ScriptedModel::reply);
        if let Some(last) = last {
            inner = inner.repeat(last);
        }
        Arc::new(Watched { name: name.to_owned(), inner, stage: self.clone() })
    }

    pub(crate) fn context(&self) -> CallContext {
        let events = Arc::clone(&self.events);
        CallContext::new().with_request_id("r").with_events(Arc::new(move |event| {
            let Event::Attempt(attempt) = event else { panic!("no other event is known") };
            events.lock().unwrap().push(attempt);
        }))
    }

    pub(crate) fn calls(&self) -> Vec<Called> {
        self.calls.lock().unwrap().clone()
    }

    /// The names of what was called, in order.
    pub(crate) fn order(&self) -> String {
        self.calls().iter().map(|call| call.name.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// The waits between the calls, in seconds.
    pub(crate) fn waits(&self) -> Vec<f64> {
        let calls = self.calls();
        calls.windows(2).map(|pair| (pair[1].at - pair[0].at).as_secs_f64()).collect()
    }

    pub(crate) fn events(&self) -> Vec<AttemptEvent> {
        self.events.lock().unwrap().clone()
    }

    /// How the settled events say the calls ended.
    pub(crate) fn ends(&self) -> Vec<AttemptEnd> {
        let ends = self.events().into_iter().filter_map(|event| match event.kind {
            AttemptKind::Settled { end } => Some(end),
            _ => None,
        });
        ends.collect()
    }

    pub(crate) async fn call(&self, model: &dyn LanguageModel) -> Outcome {
        self.call_with(model, request(), self.context()).await
    }

    pub(crate) async fn call_with(
        &self,
        model: &dyn LanguageModel,
        request: Request,
        ctx: CallContext,
    ) -> Outcome {
        let (parts, error) = collect(model.stream(request, ctx)).await;
        Outcome { parts, error }
    }
}

#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) parts: Vec<StreamPart>,
    pub(crate) error: Option<ModelError>,
}

impl Outcome {
    pub(crate) fn text(&self) -> String {
        let deltas = self.parts.iter().filter_map(|part| match part {
            StreamPart::TextDelta { delta, .. } => Some(delta.as_str()),
            _ => None,
        });
        deltas.collect()
    }

    /// The text of an answer that came whole.
    pub(crate) fn answer(&self) -> String {
        assert!(self.error.is_none(), "{:?}", self.error);
        assert!(matches!(self.parts.last(), Some(StreamPart::Finish(_))), "{:?}", self.parts);
        self.text()
    }

    pub(crate) fn failure(&self) -> &ModelError {
        self.error.as_ref().unwrap_or_else(|| panic!("no error: {:?}", self.parts))
    }
}

pub(crate) fn request() -> Request {
    Request::new([Message::user("Hi")])
}

/// The policy of the examples: base 1 s, factor 2, no jitter.
pub(crate) fn policy(retries: u32) -> RetryPolicy {
    RetryPolicy::new().with_retries(retries).with_jitter(false)
}

pub(crate) fn ok(text: &str) -> Script {
    Script::text_reply(text)
}

pub(crate) fn error(status: u16) -> ModelError {
    let class = match status {
        401 | 403 => ErrorClass::Auth,
        402 => ErrorClass::Quota,
        404 => ErrorClass::NotFound,
        429 => ErrorClass::RateLimit,
        503 | 529 => ErrorClass::Overloaded,
        500.. => ErrorClass::Server,
        _ => ErrorClass::InvalidRequest,
    };
    ModelError::new(class, format!("status {status}")).with_status(status)
}

pub(crate) fn fails(status: u16) -> Script {
    fails_with(error(status))
}

pub(crate) fn fails_with(error: ModelError) -> Script {
    Script::new().error(error)
}

pub(crate) fn hinted(status: u16, seconds: f64) -> Script {
    fails_with(error(status).with_hint(Hint::After(Duration::from_secs_f64(seconds))))
}

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
