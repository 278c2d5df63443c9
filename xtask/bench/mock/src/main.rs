//! A mock LLM provider on 127.0.0.1. The model names the scenario; see `scenario.rs`.
//!
//!     mock [--port 0] [--batch 16] [--max-seconds 3600]
//!
//! It prints the port it listens on as its first line, and stops by itself
//! after `--max-seconds`.

mod render;
mod scenario;
mod wires;

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use http_body_util::{BodyExt, Either, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpSocket;
use tokio::time::{Instant, sleep, sleep_until};

use render::Dialect;
use scenario::{Reply, Request, Scenario};

const MAX_BODY: usize = 64 << 20;

type Frames = Arc<[Bytes]>;
type Events = Pin<Box<dyn Stream<Item = Result<Frame<Bytes>, Infallible>> + Send>>;
type Reaction = Response<Either<Full<Bytes>, StreamBody<Events>>>;

/// What a rendered reply depends on: model, dialect, reply, events per write.
type RenderKey = (String, Dialect, Reply, usize);

struct Mock {
    /// Events per TCP write, except under `/w1`, where it is one.
    batch: usize,
    rendered: Mutex<HashMap<RenderKey, Frames>>,
    /// Requests that `fail-N` has turned away, by API key and model.
    refused: Mutex<HashMap<(String, String), usize>>,
    /// Requests answered, for `GET /stats`.
    requests: Mutex<u64>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let (mut port, mut batch, mut max_seconds) = (0, 16, 3600);
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        let value: u64 = args.next().and_then(|v| v.parse().ok()).expect("each flag takes a number");
        match flag.as_str() {
            "--port" => port = value as u16,
            "--batch" => batch = value.max(1) as usize,
            "--max-seconds" => max_seconds = value,
            _ => panic!("unknown flag {flag}"),
        }
    }

    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::LOCALHOST, port).into())?;
    let listener = socket.listen(4096)?;
    println!("{}", listener.local_addr()?.port());

    let mock =
        Arc::new(Mock { batch, rendered: Mutex::default(), refused: Mutex::default(), requests: Mutex::default() });
    let serve = async {
        loop {
            let (tcp, _) = listener.accept().await?;
            tcp.set_nodelay(true)?;
            let mock = mock.clone();
            tokio::spawn(async move {
                let service = service_fn(move |request| {
                    let mock = mock.clone();
                    async move { Ok::<_, Infallible>(mock.react(request).await) }
                });
                // A client that hangs up early is its own business.
                let _ = http1::Builder::new().serve_connection(TokioIo::new(tcp), service).await;
            });
        }
    };
    tokio::select! {
        stopped = serve => stopped,
        () = sleep(Duration::from_secs(max_seconds)) => Ok(()),
    }
}

impl Mock {
    async fn react(&self, request: hyper::Request<Incoming>) -> Reaction {
        let path = request.uri().path();
        let (batch, path) = match path.strip_prefix("/w1/") {
            Some(rest) => (1, format!("/{rest}")),
            None => (self.batch, path.to_owned()),
        };
        let dialect = match (request.method(), path.as_str()) {
            (&Method::POST, "/v1/chat/completions") => Dialect::OpenAi,
            (&Method::POST, "/v1/messages") => Dialect::Anthropic,
            (&Method::POST, "/v1/responses") => Dialect::Responses,
            (&Method::POST, path) if gemini_model(path).is_some() => Dialect::Gemini,
            (&Method::GET, "/stats") => {
                let requests = *self.requests.lock().unwrap();
                return json(StatusCode::OK, format!("{{\"requests\":{requests}}}"));
            }
            _ => return error(StatusCode::NOT_FOUND, "no such route"),
        };
        *self.requests.lock().unwrap() += 1;

        let headers = request.headers();
        let key = headers.get(AUTHORIZATION).or_else(|| headers.get("x-api-key"));
        let key = key.map_or_else(String::new, |key| String::from_utf8_lossy(key.as_bytes()).into_owned());
        let Ok(body) = Limited::new(request.into_body(), MAX_BODY).collect().await else {
            return error(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large or broken");
        };
        let body = body.to_bytes();
        let mut request: Request = match serde_json::from_slice(&body) {
            Ok(request) => request,
            Err(reason) => return error(StatusCode::BAD_REQUEST, &reason.to_string()),
        };
        if let Some(model) = gemini_model(&path) {
            (request.model, request.stream) = (model.to_owned().into(), true);
        }
        let Some(scenario) = Scenario::parse(&request.model) else {
            return error(StatusCode::NOT_FOUND, "the model names no scenario");
        };

        if let Scenario::Fail(times) = scenario {
            let mut refused = self.refused.lock().unwrap();
            let refused = refused.entry((key, request.model.to_string())).or_default();
            if *refused < times {
                *refused += 1;
                let mut response = error(StatusCode::TOO_MANY_REQUESTS, "slow down");
                response.headers_mut().insert(RETRY_AFTER, "0".parse().unwrap());
                return response;
            }
        }

        let reply = scenario.reply(request.tool_results());
        if !request.stream {
            return json(StatusCode::OK, render::body(dialect, &request.model, reply));
        }
        let (pace, batch) = match scenario {
            Scenario::Paced { micros, .. } => (Pace::Every(Duration::from_micros(micros)), 1),
            Scenario::Idle(millis) => (Pace::SilenceAfterFirst(Duration::from_millis(millis)), 1),
            _ => (Pace::Flush, batch),
        };
        let frames = self.frames((request.model.into_owned(), dialect, reply, batch));
        let mut response = Response::new(Either::Right(StreamBody::new(stream(frames, pace))));
        response.headers_mut().insert(CONTENT_TYPE, "text/event-stream".parse().unwrap());
        response.headers_mut().insert(CACHE_CONTROL, "no-cache".parse().unwrap());
        response
    }

    /// The bytes of a streamed reply, one element per TCP write; rendered once.
    fn frames(&self, key: RenderKey) -> Frames {
        let mut rendered = self.rendered.lock().unwrap();
        if let Some(frames) = rendered.get(&key) {
            return frames.clone();
        }
        let (model, dialect, reply, batch) = &key;
        let events = render::events(*dialect, model, *reply);
        let frames: Frames = events.chunks(*batch).map(|events| Bytes::from(events.concat())).collect();
        rendered.insert(key, frames.clone());
        frames
    }
}

/// The model of a call to Gemini: it stands in the path.
fn gemini_model(path: &str) -> Option<&str> {
    path.strip_prefix("/v1/models/")?.strip_suffix(":streamGenerateContent")
}

#[derive(Clone, Copy)]
enum Pace {
    /// As fast as the client reads, but each frame in its own TCP write.
    Flush,
    Every(Duration),
    SilenceAfterFirst(Duration),
}

fn stream(frames: Frames, pace: Pace) -> Events {
    let start = Instant::now();
    stream::unfold(0, move |i| {
        let frame = frames.get(i).cloned();
        async move {
            match pace {
                // hyper writes out what it has when the body is not ready.
                Pace::Flush if i > 0 => tokio::task::yield_now().await,
                Pace::Every(gap) => wait_until(start + gap * i as u32, gap).await,
                // Frame 0 opens the message, frame 1 is the first delta.
                Pace::SilenceAfterFirst(silence) if i == 2 => sleep(silence).await,
                _ => tokio::task::yield_now().await,
            }
            Some((Ok(Frame::data(frame?)), i + 1))
        }
    })
    .boxed()
}

/// tokio's timer ticks once a millisecond. Where that is too coarse for the
/// gap, yielding until `due` keeps this core busy but the pace exact.
async fn wait_until(due: Instant, gap: Duration) {
    if gap >= Duration::from_millis(10) {
        return sleep_until(due).await;
    }
    tokio::task::yield_now().await;
    while Instant::now() < due {
        tokio::task::yield_now().await;
    }
}

fn json(status: StatusCode, body: String) -> Reaction {
    let mut response = Response::new(Either::Left(Full::new(Bytes::from(body))));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, "application/json".parse().unwrap());
    response
}

fn error(status: StatusCode, message: &str) -> Reaction {
    let error = serde_json::json!({ "error": { "message": message, "type": "mock_error", "code": status.as_u16() } });
    json(status, error.to_string())
}
