use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use ai_http::{HttpCall, Limits, ReqwestTransport, Transport};
use ai_provider::{
    ApiKey, CallContext, ErrorClass, LanguageModel, ModelError, ModelStream, Request, StreamPart,
};
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use http::StatusCode;

use super::boundaries::{PLACES, PLACES_ON_SOCKETS, places};
use super::report::Findings;
use super::sample::Sample;
use super::site::Site;
use crate::cut::Cut;
use crate::memory::{MemoryEnd, MemoryReply, MemoryTransport};
use crate::wire::{WireEnd, WireFraming, WireReply, WireServer};

/// Far more than a call to this machine takes, also on a busy one.
pub(super) const LONG: Duration = Duration::from_secs(20);

/// The base URL of models that never reach a socket.
const MEMORY: &str = "http://conformance.localhost/base";

/// What no text may hold.
const CANARY: &str = "CANARY-4f1c8e2b7a90";

/// The key where nobody echoes it: masking a long one in thousands of errors is most of the work.
const SHORT_KEY: &str = "sk-cut";

pub(super) type Build = Box<dyn Fn(&Site) -> Result<Arc<dyn LanguageModel>, ModelError> + Send + Sync>;

/// Builds models and makes them answer.
pub(super) struct Lab {
    build: Build,
    sockets: bool,
    server: OnceLock<Result<WireServer, String>>,
    model: String,
    key: String,
    places: usize,
}

/// What a server answers.
#[derive(Clone)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Bytes,
    pub(super) cut: Cut,
    pub(super) ending: Ending,
}

/// How its body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Clean,
    Broken,
    Hang,
}

impl Answer {
    pub(super) fn new(status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            body: body.into(),
            cut: Cut::Whole,
            ending: Ending::Clean,
        }
    }

    pub(super) fn of(sample: &Sample) -> Self {
        Self::new(sample.status, &sample.content_type, sample.body.clone())
    }

    pub(super) fn cut(self, cut: Cut) -> Self {
        Self { cut, ..self }
    }

    pub(super) fn ending(self, ending: Ending) -> Self {
        Self { ending, ..self }
    }

    pub(super) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The first so many bytes of it.
    pub(super) fn until(mut self, at: usize) -> Self {
        self.body.truncate(at);
        self
    }

    fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn in_memory(&self) -> MemoryReply {
        let end = match self.ending {
            Ending::Clean => MemoryEnd::Clean,
            Ending::Broken => {
                MemoryEnd::Error(ModelError::new(ErrorClass::Transport, "the connection broke"))
            }
            Ending::Hang => MemoryEnd::Hang,
        };
        let reply = MemoryReply::new(self.status(), self.body.clone()).cut(self.cut.clone()).ending(end);
        self.headers.iter().fold(reply, |reply, (name, value)| reply.header(name, value))
    }

    pub(super) fn on_the_wire(&self) -> WireReply {
        let end = match self.ending {
            Ending::Clean => WireEnd::Clean,
            Ending::Broken => WireEnd::CloseAfter(usize::MAX),
            Ending::Hang => WireEnd::HangAfter(usize::MAX),
        };
        let reply = WireReply::new(self.status(), self.body.clone())
            .framing(WireFraming::Chunked)
            .cut(self.cut.clone())
            .ending(end);
        self.headers.iter().fold(reply, |reply, (name, value)| reply.header(name, value))
    }
}

/// What came of a call.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) parts: Vec<StreamPart>,
    pub(super) error: Option<ModelError>,
    /// What came behind the end.
    pub(super) behind: usize,
    /// Why it was given up, if it was: it hung, or panicked.
    pub(super) fault: Option<String>,
    /// The requests that were made, if they went through the transport.
    pub(super) calls: Vec<HttpCall>,
}

impl Run {
    pub(super) fn finished(&self) -> bool {
        self.error.is_none()
            && self.fault.is_none()
            && matches!(self.parts.last(), Some(StreamPart::Finish(_)))
    }

    /// How it ended, in words.
    pub(super) fn ended(&self) -> String {
        match (&self.fault, &self.error) {
            (Some(fault), _) => fault.clone(),
            (None, Some(error)) => format!("fails with `{error}`"),
            (None, None) if self.finished() => "finishes".to_owned(),
            (None, None) => "ends without a finish or an error".to_owned(),
        }
    }

    /// The same, in a form in which two runs can be compared.
    pub(super) fn same(&self, other: &Self) -> bool {
        let record = |run: &Self| run.error.as_ref().map(ModelError::record);
        self.parts == other.parts && record(self) == record(other) && self.fault == other.fault
    }
}

impl Lab {
    pub(super) fn new(build: Build) -> Self {
        let key = format!("sk-conformance-{CANARY}");
        Self {
            build,
            sockets: false,
            server: OnceLock::new(),
            model: "model".to_owned(),
            key,
            places: PLACES,
        }
    }

    pub(super) fn over_sockets(&mut self) {
        self.sockets = true;
        self.places = PLACES_ON_SOCKETS;
    }

    pub(super) fn cut_at(&mut self, places: usize) {
        self.places = places;
    }

    /// Where to cut a body.
    pub(super) fn places(&self, body: &[u8]) -> Vec<usize> {
        places(body, self.places)
    }

    pub(super) fn model_id(&mut self, id: String) {
        self.model = id;
    }

    pub(super) fn uses_sockets(&self) -> bool {
        self.sockets
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// Whether a text gives the key away.
    pub(super) fn gives_away(&self, text: &str) -> bool {
        text.contains(CANARY)
    }

    /// The model, at this URL and over this transport.
    pub(super) fn model(
        &self,
        url: &str,
        transport: Arc<dyn Transport>,
        ask: &Ask,
    ) -> Result<Arc<dyn LanguageModel>, ModelError> {
        let site = Site {
            url: url.to_owned(),
            model: ask.model.clone().unwrap_or_else(|| self.model.clone()),
            key: ApiKey::new(if ask.echoed { &self.key } else { SHORT_KEY })?,
            transport,
            limits: ask.limits.unwrap_or_default(),
        };
        (self.build)(&site)
    }

    /// Asks, is answered, and reads to the end.
    pub(super) async fn run(&self, answer: &Answer, ask: &Ask, found: &mut Findings) -> Run {
        found.called();
        if self.sockets {
            // One server for all, since its URL may be in what comes.
            let server = self.server.get_or_init(|| WireServer::start([]).map_err(|error| error.to_string()));
            return match server {
                Ok(server) => {
                    server.answer_all(answer.on_the_wire());
                    self.read(server.url(), &no_transport(), ask).await
                }
                Err(why) => Run { fault: Some(format!("finds no server: {why}")), ..Run::default() },
            };
        }
        let transport = MemoryTransport::new().reply(answer.in_memory());
        let mut run = self.read(MEMORY, &(Arc::new(transport.clone()) as Arc<dyn Transport>), ask).await;
        run.calls = transport.calls();
        run
    }

    async fn read(&self, url: &str, transport: &Arc<dyn Transport>, ask: &Ask) -> Run {
        let model = match self.model(url, Arc::clone(transport), ask) {
            Ok(model) => model,
            Err(error) => return Run { error: Some(error), ..Run::default() },
        };
        let reading = AssertUnwindSafe(read_all(model.stream(ask.request.clone(), ask.context.clone())));
        match tokio::time::timeout(LONG, reading.catch_unwind()).await {
            Ok(Ok(run)) => run,
            Ok(Err(_)) => Run { fault: Some("panics".to_owned()), ..Run::default() },
            Err(_) => Run { fault: Some(format!("hangs for {} s", LONG.as_secs())), ..Run::default() },
        }
    }

    /// Asks, and takes what comes while the server has sent this and no more.
    pub(super) async fn run_open(&self, answer: &Answer, ask: &Ask, found: &mut Findings) -> Run {
        found.called();
        let transport = MemoryTransport::new().reply(answer.clone().ending(Ending::Hang).in_memory());
        let mut run = match self.model(MEMORY, Arc::new(transport.clone()), ask) {
            Ok(model) => read_now(model.stream(ask.request.clone(), ask.context.clone())).await,
            Err(error) => Run { error: Some(error), ..Run::default() },
        };
        run.calls = transport.calls();
        run
    }
}

/// What is asked, and how.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) request: Request,
    pub(super) context: CallContext,
    pub(super) model: Option<String>,
    pub(super) limits: Option<Limits>,
    /// Whether the server may echo the key.
    pub(super) echoed: bool,
}

impl Ask {
    pub(super) fn new(request: &Request) -> Self {
        let context = CallContext::new().with_request_id("conformance");
        Self { request: request.clone(), context, model: None, limits: None, echoed: false }
    }

    /// Asked with the key that no text may hold.
    pub(super) fn echoed(self) -> Self {
        Self { echoed: true, ..self }
    }
}

async fn read_all(mut stream: ModelStream) -> Run {
    let mut run = Run::default();
    let mut ended = false;
    while let Some(item) = stream.next().await {
        run.behind += usize::from(ended);
        match item {
            Ok(part) => {
                ended |= matches!(part, StreamPart::Finish(_));
                run.parts.push(part);
            }
            Err(error) => {
                ended = true;
                run.error.get_or_insert(error);
            }
        }
    }
    run
}

/// What is there without waiting for anything.
async fn read_now(mut stream: ModelStream) -> Run {
    let mut run = Run::default();
    let next = |stream: &mut ModelStream, cx: &mut Context<'_>| match Pin::new(stream).poll_next_unpin(cx) {
        Poll::Ready(item) => Poll::Ready(item),
        Poll::Pending => Poll::Ready(None),
    };
    // Otherwise tokio would make a long answer wait for its turn.
    let reading = tokio::task::unconstrained(async {
        while let Some(item) = std::future::poll_fn(|cx| next(&mut stream, cx)).await {
            match item {
                Ok(part) => run.parts.push(part),
                Err(error) => {
                    run.error = Some(error);
                    break;
                }
            }
        }
    });
    reading.await;
    run
}

/// A transport for models that have their own.
fn no_transport() -> Arc<dyn Transport> {
    Arc::new(MemoryTransport::new())
}

/// The real way out, to loopback and past all proxies.
pub(super) fn real_transport() -> Result<Arc<dyn Transport>, String> {
    let client = ReqwestTransport::client_builder().no_proxy().build().map_err(|error| error.to_string())?;
    Ok(Arc::new(ReqwestTransport::from_client(client)))
}
