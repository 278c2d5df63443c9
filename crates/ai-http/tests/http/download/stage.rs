use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ai_provider::{CallContext, CancellationToken, StreamPart};
use ai_testkit::collect;
use async_trait::async_trait;
use base64::Engine as _;
use serde_json::json;
use tokio::sync::Barrier;

use super::*;

/// Serves files by URL, and counts.
#[derive(Debug, Default)]
struct Shelf {
    files: HashMap<&'static str, Downloaded>,
    asked: Mutex<Vec<String>>,
}

impl Shelf {
    fn of(files: &[(&'static str, Downloaded)]) -> Arc<Self> {
        Arc::new(Self { files: files.iter().cloned().collect(), asked: Mutex::default() })
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl Download for Shelf {
    async fn download(&self, url: &str) -> Result<Downloaded, ModelError> {
        self.asked.lock().unwrap().push(url.to_owned());
        self.files
            .get(url)
            .cloned()
            .ok_or_else(|| ModelError::new(ErrorClass::Transport, format!("{url} is gone")))
    }
}

fn base64(data: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(data)
}

async fn outcome(
    model: &impl LanguageModel,
    messages: impl IntoIterator<Item = Message>,
) -> (Vec<String>, Option<ModelError>) {
    in_run(model, messages, CallContext::new()).await
}

/// The warnings, and the error.
async fn in_run(
    model: &impl LanguageModel,
    messages: impl IntoIterator<Item = Message>,
    ctx: CallContext,
) -> (Vec<String>, Option<ModelError>) {
    let (parts, error) = collect(model.stream(Request::new(messages), ctx)).await;
    let warnings = parts.into_iter().find_map(|part| match part {
        StreamPart::StreamStart { warnings } => Some(warnings.iter().map(ToString::to_string).collect()),
        _ => None,
    });
    (warnings.unwrap_or_default(), error)
}

/// [HT-140]
#[tokio::test]
async fn what_the_model_cannot_fetch_is_at_hand_when_the_request_is_written() {
    let shelf = Shelf::of(&[
        ("https://a/p.png", file("", PNG)),
        ("https://a/d.pdf", file("application/pdf", b"%PDF-1")),
    ]);
    let transport = answering();
    let model = viewer(&transport, Some(shelf.clone()));
    let user = from_user([
        at("image/*", "https://a/p.png"),
        at("video/mp4", "https://a/v.mp4"),
        at("application/pdf", "https://a/d.pdf"),
    ]);
    let messages = [Message::system("s"), user.clone(), from_tool([at("image/png", "https://a/p.png")])];
    let shared: Vec<_> = messages.into_iter().map(Arc::new).collect();
    let (parts, error) =
        collect(model.stream(Request::from_shared(shared.clone()), CallContext::new())).await;
    assert!(error.is_none() && !parts.is_empty(), "{error:?}");
    let wire = written(&transport, 0);
    let image = json!({ "type": "bytes", "data": base64(PNG) });
    assert_eq!(wire[1]["parts"][0]["data"], image);
    assert_eq!(wire[1]["parts"][0]["mediaType"], "image/png");
    assert_eq!(wire[1]["parts"][1]["data"], json!({ "type": "url", "url": "https://a/v.mp4" }));
    assert_eq!(wire[1]["parts"][2]["data"]["data"], base64(b"%PDF-1"));
    assert!(wire[2].to_string().contains(&base64(PNG)));
    assert_eq!(shelf.asked(), ["https://a/p.png", "https://a/d.pdf"], "each once");
    assert_eq!(*shared[1], user, "the caller's own message stays");
}

/// [HT-141]
#[tokio::test]
async fn without_a_download_a_users_file_is_an_error_and_a_tools_is_for_the_codec() {
    let transport = answering();
    let model = viewer(&transport, None);
    let (_, error) =
        outcome(&model, [from_user([at("image/png", "https://a/p.png?api_key=geheim-1234")])]).await;
    let error = error.unwrap();
    assert_eq!(class(&error), (ErrorClass::Unsupported, false));
    assert!(error.message().contains("test:small cannot fetch the file at https://a/p.png"), "{error}");
    assert!(!error.to_string().contains("geheim"), "{error}");
    let long = format!("https://a/{}", "é".repeat(1_000_000));
    let (_, error) = outcome(&model, [from_user([at("image/png", &long)])]).await;
    assert!(error.unwrap().message().chars().count() < 500);
    assert_eq!(transport.calls().len(), 0);

    let (warnings, error) = outcome(&model, [from_tool([at("image/png", "https://a/p.png")])]).await;
    assert_eq!((warnings, error.is_none()), (vec!["written".to_owned()], true));
    assert!(written(&transport, 0).to_string().contains("https://a/p.png"));
    // What the server fetches itself needs none.
    assert!(outcome(&model, [from_user([at("video/mp4", "https://a/v")])]).await.1.is_none());
}

/// [HT-142]
#[tokio::test]
async fn a_failed_download_fails_a_users_file_and_warns_of_a_tools() {
    let transport = answering();
    let model = viewer(&transport, Some(Shelf::of(&[])));
    let (_, error) = outcome(&model, [from_user([at("image/png", "https://a/p.png")])]).await;
    assert_eq!(class(&error.unwrap()), (ErrorClass::Transport, true));
    let tool = from_tool([at("image/png", "https://a/p.png")]);
    let (warnings, error) = outcome(&model, [tool.clone()]).await;
    assert!(error.is_none());
    assert_eq!(warnings, ["https://a/p.png is gone", "written"]);
    assert!(written(&transport, 0).to_string().contains("https://a/p.png"));
    // A user who gives the same address makes it a demand.
    let (_, error) = outcome(&model, [tool, from_user([at("image/png", "https://a/p.png")])]).await;
    assert!(error.is_some());
}

/// [HT-143]
#[tokio::test]
async fn a_file_is_got_once_in_a_run_and_anew_in_the_next() {
    let shelf = Shelf::of(&[("https://a/p.png", file("", PNG))]);
    let transport = answering();
    let client = Client::builder().transport(Arc::new(transport)).download(shelf.clone()).build().unwrap();
    let models = [0, 1].map(|_| client.model(Viewer, target(), Default::default()));
    let run = CallContext::new();
    for model in &models {
        let messages = [from_user([at("image/png", "https://a/p.png")])];
        assert!(in_run(model, messages, run.clone()).await.1.is_none());
    }
    assert_eq!(shelf.asked().len(), 1, "both models of the provider, in one run");
    outcome(&models[0], [from_user([at("image/png", "https://a/p.png")])]).await;
    assert_eq!(shelf.asked().len(), 2);
}

/// [HT-144]
#[tokio::test]
async fn the_media_type_is_that_of_the_bytes_then_the_callers_then_the_servers() {
    for (declared, downloaded, expected) in [
        ("image/jpeg", file("image/jpeg", PNG), Ok("image/png")),
        ("image", file("text/html", PNG), Ok("image/png")),
        ("image/*", file("image/avif", b"x"), Ok("image/avif")),
        ("image/svg+xml", file("", b"x"), Ok("image/svg+xml")),
        ("image/svg+xml", file("text/plain", b"x"), Ok("image/svg+xml")),
        ("", file("", b"%PDF-1.7"), Ok("application/pdf")),
        ("*/*", file("audio/wav", b"x"), Ok("audio/wav")),
        ("application/pdf", file("application/octet-stream", b"x"), Ok("application/pdf")),
        ("text/csv", file("text/html", b"x"), Ok("text/csv")),
        ("audio", file("", b"x"), Ok("audio")),
        ("image/png", file("text/html", b"<html>"), Err("web page, not image/png")),
        ("application/pdf", file("text/html", b"<html>"), Err("web page, not application/pdf")),
        ("image/*", file("audio/wav", b"x"), Err("audio/wav, not image/*")),
        ("", file("application/octet-stream", b"x"), Err("not known")),
    ] {
        let transport = answering();
        let model = viewer(&transport, Some(Shelf::of(&[("https://a/f", downloaded)])));
        let (_, error) = outcome(&model, [from_user([at(declared, "https://a/f")])]).await;
        match (expected, error) {
            (Ok(media_type), None) => {
                assert_eq!(written(&transport, 0)[0]["parts"][0]["mediaType"], media_type)
            }
            (Err(words), Some(error)) => {
                assert_eq!(class(&error), (ErrorClass::InvalidRequest, false), "{declared}");
                assert!(error.message().contains(words), "{error}");
            }
            (_, error) => panic!("{declared}: {error:?}"),
        }
    }
    let transport = answering();
    let model = viewer(&transport, Some(Shelf::of(&[("https://a/f", file("text/html", b"x"))])));
    let (warnings, error) = outcome(&model, [from_tool([at("image/png", "https://a/f")])]).await;
    assert!(error.is_none() && warnings[0].contains("web page"), "{warnings:?}");
}

/// [HT-145]
#[tokio::test]
async fn a_data_url_needs_no_download() {
    let transport = answering();
    let model = viewer(&transport, None);
    let url = format!("data:image/png;base64,{}", base64(PNG));
    assert!(outcome(&model, [from_user([at("image", &url)])]).await.1.is_none());
    let part = &written(&transport, 0)[0]["parts"][0];
    assert_eq!((&part["mediaType"], &part["data"]["data"]), (&json!("image/png"), &json!(base64(PNG))));
    let (_, error) = outcome(&model, [from_user([at("image", "data:image/png;base64,!")])]).await;
    assert_eq!(class(&error.unwrap()), (ErrorClass::InvalidRequest, false));
}

/// Serves files of 40 MiB, some at a time.
#[derive(Debug)]
struct Heavy {
    at_once: AtomicUsize,
    most: AtomicUsize,
    gate: Barrier,
}

#[async_trait]
impl Download for Heavy {
    async fn download(&self, _: &str) -> Result<Downloaded, ModelError> {
        let now = self.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        self.gate.wait().await;
        self.at_once.fetch_sub(1, Ordering::SeqCst);
        Ok(Downloaded { media_type: None, data: vec![0; 20 * 1024 * 1024].into() })
    }
}

/// [HT-146]
#[tokio::test]
async fn files_come_four_at_a_time_and_have_a_limit_together() {
    let heavy = |people| {
        Arc::new(Heavy {
            at_once: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            gate: Barrier::new(people),
        })
    };
    let transport = answering();
    let four = heavy(4);
    let model = viewer(&transport, Some(four.clone()));
    let files = |count: usize| from_user((0..count).map(|n| at("audio/wav", &format!("https://a/{n}"))));
    let (_, error) = outcome(&model, [files(8)]).await;
    assert_eq!(error.map(|error| error.class()), Some(ErrorClass::TooLarge));
    assert_eq!((four.most.load(Ordering::SeqCst), transport.calls().len()), (4, 0));
    assert!(outcome(&viewer(&transport, Some(heavy(1))), [files(1)]).await.1.is_none());
}

/// Never comes.
#[derive(Debug)]
struct Stuck;

#[async_trait]
impl Download for Stuck {
    async fn download(&self, _: &str) -> Result<Downloaded, ModelError> {
        std::future::pending().await
    }
}

/// [HT-147]
#[tokio::test(start_paused = true)]
async fn cancel_and_deadline_end_a_download() {
    let transport = answering();
    let model = viewer(&transport, Some(Arc::new(Stuck)));
    let messages = || [from_user([at("image/png", "https://a/p.png")])];
    let cancel = CancellationToken::new();
    let ctx = CallContext::new().with_cancel(cancel.clone());
    let run = in_run(&model, messages(), ctx);
    let (outcome, ()) = tokio::join!(run, async { cancel.cancel() });
    assert_eq!(outcome.1.map(|error| error.class()), Some(ErrorClass::Cancelled));
    let deadline = (tokio::time::Instant::now() + Duration::from_secs(5)).into_std();
    let (_, error) = in_run(&model, messages(), CallContext::new().with_deadline(deadline)).await;
    assert_eq!(error.map(|error| error.class()), Some(ErrorClass::Timeout));
    assert_eq!(transport.calls().len(), 0);
}
