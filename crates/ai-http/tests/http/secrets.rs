//! What must show nowhere.

use std::cell::Cell;
use std::error::Error as StdError;
use std::fmt::{self, Write};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

use ai_http::{HeaderKey, HttpModel, ReqwestTransport, redact_url};
use ai_provider::{ApiKey, ErrorClass, Keys, LanguageModel, ModelError};
use ai_testkit::{MemoryEnd, MemoryReply, MemoryTransport, WireReply, WireServer};
use http::{HeaderName, StatusCode};
use proptest::prop_assert;
use proptest::test_runner::{Config, TestRunner};
use tracing::field::{Field, Visit};
use tracing::span;

use crate::api::{Api, call, frames, model, target};

const KEY: &str = "sk-CANARY-1234567890";

fn keys() -> Arc<Keys> {
    Arc::new(Keys::one(ApiKey::new(KEY).unwrap().labelled("team")))
}

/// Everything a person could see of an error.
fn all_of(error: &ModelError) -> String {
    let mut text =
        format!("{error} {error:?} {error:#?} {}", serde_json::to_string(&error.record()).unwrap());
    let mut next = error.source();
    while let Some(cause) = next {
        write!(text, " {cause} {cause:?}").unwrap();
        next = cause.source();
    }
    text
}

/// Writes down every event and span of one thread, with all fields. It is the subscriber of the whole process,
/// since one of a thread alone loses events whose place in the code another thread came to first.
#[derive(Clone)]
struct Recorder(Arc<Mutex<String>>, ThreadId);

impl Recorder {
    fn of_this_thread() -> Self {
        Self(Arc::default(), std::thread::current().id())
    }

    fn write(&self, write: impl FnOnce(&mut String)) {
        if std::thread::current().id() == self.1 {
            write(&mut self.0.lock().unwrap());
        }
    }

    fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

impl tracing::Subscriber for Recorder {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        self.write(|text| span.record(&mut Fields(text)));
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        self.write(|text| values.record(&mut Fields(text)));
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        self.write(|text| {
            write!(text, "\n{} ", event.metadata().target()).unwrap();
            event.record(&mut Fields(text));
        });
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// [HT-50]
#[tokio::test(flavor = "current_thread")]
async fn the_key_is_in_no_trace_of_a_call_at_any_level() {
    let recorder = Recorder::of_this_thread();
    tracing::subscriber::set_global_default(recorder.clone()).unwrap();
    let answer = frames(&["{\"text\":\"private words\"}", "{\"finish\":\"stop\"}"]);
    let server = WireServer::start([
        WireReply::sse(answer),
        WireReply::json(StatusCode::UNAUTHORIZED, format!("{{\"error\":{{\"message\":\"bad key {KEY}\"}}}}"))
            .header("x-request-id", &format!("Bearer {KEY}"))
            .header("x-echo", KEY),
    ])
    .unwrap();
    for own_header in [false, true] {
        let url = format!("{}/v1/chat?key={KEY}", server.url().replace("http://", "http://me:CANARY@"));
        let transport = Arc::new(ReqwestTransport::from_client(
            ReqwestTransport::client_builder().no_proxy().build().unwrap(),
        ));
        let mut model = HttpModel::new(Api::at(url), target(), transport).with_keys(keys());
        if own_header {
            model = model.with_authorize(Arc::new(HeaderKey(HeaderName::from_static("x-api-key"))));
        }
        let (_, _, error) = call(&model).await;
        assert_eq!(error.is_some(), own_header);
        error.iter().for_each(|error| assert!(!all_of(error).contains("CANARY"), "{}", all_of(error)));
    }
    let requests = server.requests();
    assert!(
        requests[1].headers.iter().any(|(name, value)| name == "x-api-key" && value == KEY),
        "it was sent"
    );
    let text = recorder.text();
    assert!(
        text.contains("call finished") && text.contains("call failed") && text.contains("team"),
        "{text}"
    );
    assert!(text.contains("ai_http") && text.lines().count() > 6, "{text}");
    for line in text.lines() {
        assert!(!line.contains("CANARY"), "{line}");
        assert!(!line.contains("private words"), "{line}");
    }
}

/// [HT-50] [HT-72]
#[tokio::test]
async fn the_key_is_in_no_error_of_a_call_that_cannot_be_sent() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut urls = vec![format!("http://{free}/v1?key={KEY}"), format!("http://me:{KEY}@{free}/{KEY}/v1")];
    urls.extend([
        format!("ftp://host/?key={KEY}"),
        format!("no url?key={KEY}"),
        format!("http://[::1?token={KEY}"),
    ]);
    for url in urls {
        let transport = Arc::new(ReqwestTransport::from_client(
            ReqwestTransport::client_builder().no_proxy().build().unwrap(),
        ));
        let model = HttpModel::new(Api::at(url.clone()), target(), transport).with_keys(keys());
        let error = call(&model).await.2.unwrap();
        assert!(!all_of(&error).contains("CANARY"), "{url}: {}", all_of(&error));
    }
}

/// [HT-51]
#[tokio::test]
async fn a_key_that_the_server_echoes_is_masked() {
    let echo = format!("Incorrect API key provided: {KEY}.");
    let body = format!("{{\"error\":{{\"message\":\"{echo}\",\"code\":\"{KEY}\"}}}}");
    let event = format!("{{\"error\":{{\"code\":401,\"message\":\"{echo}\"}}}}");
    let end =
        MemoryEnd::Error(ModelError::new(ErrorClass::Transport, format!("broke at {KEY}")).with_source(KEY));
    let replies = [
        MemoryReply::json(StatusCode::UNAUTHORIZED, body).header("x-request-id", KEY),
        MemoryReply::sse(frames(&[&event])),
        MemoryReply::sse(frames(&[&format!("nonsense {KEY}")])),
        MemoryReply::ok(format!("<p>{KEY}</p>")),
        MemoryReply::sse("").ending(end),
        MemoryReply::fail(ModelError::new(ErrorClass::Transport, echo.clone())),
    ];
    for reply in replies {
        let error = call(&model(MemoryTransport::new().reply(reply)).with_keys(keys())).await.2.unwrap();
        let text = all_of(&error);
        assert!(!text.contains("CANARY") && text.contains("***"), "{text}");
    }
}

/// [HT-51]
#[tokio::test]
async fn a_secret_among_the_callers_own_headers_is_masked_too() {
    let body = format!("{{\"error\":{{\"message\":\"no such token {KEY}\"}}}}");
    let reply = MemoryReply::json(StatusCode::FORBIDDEN, body);
    let mut request = crate::api::request();
    request.extra_headers = vec![("x-gateway-token".into(), Some(format!("Token {KEY}")))];
    let model = model(MemoryTransport::new().reply(reply));
    let error = crate::api::call_with(&model, request, Default::default()).await.2.unwrap();
    assert!(!all_of(&error).contains("CANARY"), "{error:?}");
}

/// [HT-50]
#[test]
fn debug_shows_no_key() {
    let transport = ReqwestTransport::from_client(
        ReqwestTransport::client_builder()
            .default_headers([(http::header::AUTHORIZATION, KEY.parse().unwrap())].into_iter().collect())
            .build()
            .unwrap(),
    );
    let model =
        HttpModel::new(Api::at("http://host"), target(), Arc::new(transport.clone())).with_keys(keys());
    let dynamic: &dyn LanguageModel = &model;
    let text = format!("{model:?} {model:#?} {transport:?} {dynamic:?} {:?}", keys());
    assert!(!text.contains("CANARY"), "{text}");
    assert!(text.contains("small") && text.contains("team"), "{text}");
}

/// [HT-50] [HT-46]
#[tokio::test]
async fn a_request_id_that_echoes_a_key_is_masked() {
    for echo in [format!("Bearer {KEY}"), "req-sk-CANARY-12".to_owned()] {
        let reply = MemoryReply::json(StatusCode::BAD_GATEWAY, "{}").header("x-request-id", &echo);
        let error = call(&model(MemoryTransport::new().reply(reply)).with_keys(keys())).await.2.unwrap();
        assert!(!all_of(&error).contains("CANARY"), "{error:?}");
        assert!(error.request_id().unwrap().ends_with("***"), "{error:?}");
    }
}

/// [HT-55] [HT-51]
#[tokio::test]
async fn a_server_that_echoes_the_whole_request_shows_no_secret() {
    let basic = "Basic bWU6UFctQ0FOQVJZ";
    for basic in [basic.to_owned(), basic.to_uppercase(), format!("GET / {basic}=\r\n")] {
        let reply = MemoryReply::new(StatusCode::BAD_REQUEST, format!("bad header: {basic}"));
        let url = "http://me:PW-CANARY@api.test/v1";
        let model = HttpModel::new(Api::at(url), target(), Arc::new(MemoryTransport::new().reply(reply)));
        let error = call(&model).await.2.unwrap();
        assert!(!all_of(&error).to_uppercase().contains("UFCTQ0FO"), "{error:?}");
        assert!(error.message().contains("Basic ***") || error.message().contains("BASIC ***"), "{error:?}");
    }
}

/// The key in one of the ways in which servers write it.
fn spell(key: &str, spelling: u8) -> String {
    key.chars().map(|letter| spell_letter(letter, spelling)).collect()
}

fn spell_letter(letter: char, spelling: u8) -> String {
    match (spelling, letter) {
        (1, '/') => "\\/".into(),
        (2, _) => format!("\\u{:04x}", letter as u32),
        (3, _) if !letter.is_ascii_alphanumeric() => format!("%{:02X}", letter as u32),
        (4, _) if !letter.is_ascii_alphanumeric() => format!("&#x{:X};", letter as u32),
        _ => letter.into(),
    }
}

/// A reply that holds this text behind `before` letters, and says it in its own way.
fn saying(text: &str, before: usize, way: usize) -> MemoryReply {
    let said = format!("{}{text} was refused", "e".repeat(before));
    let message = format!("{{\"error\":{{\"code\":400,\"message\":\"{said}\"}}}}");
    let failed = |body: String| MemoryReply::new(StatusCode::BAD_REQUEST, body);
    match way {
        0 => failed(said),
        1 => failed(format!("<html><p>{said}</p></html>")),
        2 => failed(message),
        3 => failed(format!("{{\"unknown\":[\"{said}\"]}}")),
        // The limit on the bodies of errors cuts it.
        4 => failed(format!("<!--{}--><p>{text}", "e".repeat(65_529 - 8 - before % 30))),
        5 => MemoryReply::ok(format!("<html><p>{said}</p></html>")),
        6 => MemoryReply::ok(message),
        7 => MemoryReply::sse(frames(&[&message])),
        8 => MemoryReply::sse(frames(&[&format!("{{\"{said}\"}}")])),
        _ => MemoryReply::ok(said),
    }
}

/// [HT-54] [HT-55] A random key at a random place of what a server says, in any spelling, in any kind of body.
#[test]
fn no_piece_of_a_key_comes_through_wherever_it_is_cut() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (cases, cut) = (Cell::new(0), Cell::new(0));
    let inputs = ("[A-Za-z0-9+/=_-]{20,60}", 220_usize..310, 0_u8..5, 0_usize..10);
    let mut runner = TestRunner::new(Config::with_cases(1_000));
    let result = runner.run(&inputs, |(key, before, spelling, way)| {
        let spelt = spell(&key, spelling);
        let keys = Arc::new(Keys::one(ApiKey::new(key.clone()).unwrap()));
        let transport = MemoryTransport::new().reply(saying(&spelt, before, way));
        let error = runtime.block_on(call(&model(transport).with_keys(keys))).2.unwrap();
        let text = all_of(&error);
        cases.set(cases.get() + 1);
        cut.set(cut.get() + usize::from(text.contains("***…") || way == 4));
        for piece in key.as_bytes().windows(8).map(|piece| std::str::from_utf8(piece).unwrap()) {
            let spelt = spell(piece, spelling);
            for form in [piece.to_owned(), spelt.replace('\\', "\\\\"), spelt] {
                prop_assert!(!text.contains(&form), "{} in {}", form, text);
            }
        }
        Ok(())
    });
    result.unwrap();
    assert!(cut.get() * 4 > cases.get(), "{} of {} keys were cut", cut.get(), cases.get());
}

/// [HT-52]
#[tokio::test]
async fn the_url_of_an_error_shows_no_secret() {
    let url = format!("http://me:pw@api.test/v1?key={KEY}&alt=sse");
    let transport =
        MemoryTransport::new().reply(MemoryReply::new(StatusCode::NOT_FOUND, format!("no {url}")));
    let model = HttpModel::new(Api::at(url.clone()), target(), Arc::new(transport));
    let error = call(&model).await.2.unwrap();
    assert_eq!(error.url(), Some("http://api.test/v1?key=***&alt=sse"));
    assert_eq!(error.url(), Some(redact_url(&url).as_str()));
    assert!(!all_of(&error).contains("CANARY"), "{error:?}");
}
