use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ai_core::middleware::Logging;
use ai_provider::{CallContext, ErrorClass, Message, ModelError, Request, UnifiedFinish};
use ai_testkit::{Script, ScriptedModel};
use futures_util::StreamExt;
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use super::{around, said};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// What is logged while a model answers.
fn log(logging: Logging, script: Script, polls: usize) -> String {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(lines.clone())
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .without_time()
        .finish();
    tracing::subscriber::with_default(subscriber, || {
        super::block_on(async {
            let model = around(&ScriptedModel::new().reply(script), logging);
            let mut request =
                Request::new([Message::user("the question")]).with_extra("key", json!("sk-secret"));
            request.extra_headers = vec![("x-key".to_owned(), Some("sk-secret".to_owned()))];
            if polls == usize::MAX {
                said(&model, request).await;
            } else {
                let mut stream = model.stream(request, CallContext::new().with_request_id("r"));
                for _ in 0..polls {
                    stream.next().await;
                }
            }
        });
    });
    let bytes = lines.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

fn answer() -> Script {
    Script::new().delay(Duration::from_secs(2)).text("the answer").usage(11, 7).finish(UnifiedFinish::Stop)
}

/// [AC-250]
#[test]
fn a_call_is_logged_without_content() {
    let log = log(Logging::new(), answer(), usize::MAX);
    let lines: Vec<_> = log.lines().collect();
    assert_eq!(lines.len(), 2, "{log}");
    for (line, parts) in [
        (lines[0], &["DEBUG", "ai_core::model: model call started", "model=scripted:model", "request=r"][..]),
        (
            lines[1],
            &[
                "DEBUG",
                "model call finished",
                "finish=\"stop\"",
                "input_tokens=11",
                "output_tokens=7",
                "first_output=Some(2s)",
            ],
        ),
    ] {
        for part in parts {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
    assert!(!log.contains("question") && !log.contains("answer"), "{log}");
}

/// [AC-251]
#[test]
fn content_is_logged_on_request_and_secrets_never() {
    let log = log(Logging::new().with_content(), answer(), usize::MAX);
    assert!(log.contains("the question") && log.contains("the answer"), "{log}");
    assert!(!log.contains("sk-secret"), "{log}");
}

/// [AC-252]
#[test]
fn failures_and_drops_are_logged_once() {
    let failed =
        Script::new().text("so").error(ModelError::new(ErrorClass::Overloaded, "busy").with_status(529));
    let failed = log(Logging::new(), failed, usize::MAX);
    assert_eq!(failed.lines().count(), 2, "{failed}");
    for part in ["WARN", "model call failed", "class=\"overloaded\"", "status=529", "busy"] {
        assert!(failed.contains(part), "{part}: {failed}");
    }
    let cut = log(Logging::new(), Script::new().text("so").end(), usize::MAX);
    assert!(cut.lines().count() == 2 && cut.contains("model call failed"), "{cut}");
    let dropped = log(Logging::new(), answer(), 2);
    assert!(dropped.lines().count() == 2 && dropped.contains("model call dropped"), "{dropped}");
    assert_eq!(log(Logging::new(), answer(), 0), "", "nothing was called");
}
