//! What goes out.

use ai_provider::{ErrorClass, Message, Request, StreamPart};
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};

use super::kinds;
use super::lab::{Answer, Ask, Lab, Run};
use super::report::Findings;
use super::sample::Sample;

/// The answer that requests get: what matters is what was asked.
fn some_answer(samples: &[Sample]) -> Option<Answer> {
    samples.first().map(Answer::of)
}

pub(super) async fn requests(lab: &Lab, samples: &[Sample], found: &mut Findings) {
    let Some(answer) = some_answer(samples) else { return };
    for kind in kinds::all() {
        let name = &kind.name;
        let run = lab.run(&answer, &Ask::new(&kind.request), found).await;
        if let Some(fault) = &run.fault {
            found.fail(format!("a request with {name} {fault}"));
            continue;
        }
        if !written(&run) {
            refused(&kind, &run, found);
            continue;
        }
        let again = lab.run(&answer, &Ask::new(&kind.request), found).await;
        let body = |run: &Run| run.calls.first().map(|call| call.body.clone());
        found.expect(body(&run) == body(&again), || {
            format!("a request with {name} is not written the same twice")
        });
        for call in &run.calls {
            let is_json = call.headers.get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
            match serde_json::from_slice::<Value>(&call.body) {
                Ok(body) => {
                    if let Some(place) = blank(&body, String::new()) {
                        found.fail(format!(
                            "a request with {name} has a blank text at {place}, which servers refuse"
                        ));
                    }
                }
                Err(error) => {
                    found.expect(!is_json, || format!("a request with {name} is no JSON: {error}"));
                }
            }
        }
    }
}

/// Whether the request was written and sent.
pub(super) fn written(run: &Run) -> bool {
    matches!(run.parts.first(), Some(StreamPart::StreamStart { .. })) || !run.calls.is_empty()
}

fn refused(kind: &kinds::Kind, run: &Run, found: &mut Findings) {
    let class = run.error.as_ref().map(ai_provider::ModelError::class);
    let allowed = matches!(class, Some(ErrorClass::Unsupported | ErrorClass::InvalidRequest));
    let name = &kind.name;
    if !kind.may_refuse {
        found.fail(format!(
            "a request with {name} must be sent, with a warning if need be, but the stream {}",
            run.ended()
        ));
    } else if !allowed {
        found.fail(format!(
            "a request with {name} may be refused as unsupported or invalid, but the stream {}",
            run.ended()
        ));
    }
}

/// Where a text of the conversation is blank.
fn blank(value: &Value, at: String) -> Option<String> {
    match value {
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let place = format!("{at}/{name}");
            let is_blank = value.as_str().is_some_and(|text| text.trim().is_empty());
            match name.as_str() {
                "text" | "content" if is_blank => Some(place),
                // What the model or a tool said is theirs.
                "input" | "arguments" | "args" | "parameters" | "schema" => None,
                _ => blank(value, place),
            }
        }),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(number, item)| blank(item, format!("{at}/{number}")))
        }
        _ => None,
    }
}

/// Ids that people, or those who attack them, may come up with.
const NAMES: &[&str] = &[
    "../../admin",
    "..",
    "a/b?x=1#y",
    "a\r\nx-evil: 1",
    "m\u{0}",
    "",
    "  ",
    "名前",
    "a b",
    "%2e%2e%2fadmin",
    "m:generate",
    "http://evil.example/",
    "//evil.example/m",
    "m&key=1",
    "\\..\\m",
];

pub(super) async fn names(lab: &Lab, samples: &[Sample], found: &mut Findings) {
    let Some(answer) = some_answer(samples) else { return };
    let plain = Ask::new(&Request::new([Message::user("Hi")]));
    let usual = lab.run(&answer, &plain, found).await;
    if !written(&usual) {
        found.fail(format!("a plain request must be sent, but the stream {}", usual.ended()));
        return;
    }
    for name in NAMES {
        let run = lab.run(&answer, &Ask { model: Some((*name).to_owned()), ..plain.clone() }, found).await;
        if let Some(fault) = &run.fault {
            found.fail(format!("the model {name:?} {fault}"));
        }
        for (call, usual) in run.calls.iter().zip(&usual.calls) {
            let (ours, theirs) = (skeleton(&call.url), skeleton(&usual.url));
            found.expect(ours == theirs, || {
                format!("the model {name:?} changes the URL {} to {}", usual.url, call.url)
            });
            let headers = |call: &ai_http::HttpCall| {
                call.headers.keys().map(|it| it.as_str().to_owned()).collect::<Vec<_>>()
            };
            found.expect(headers(call) == headers(usual), || {
                format!("the model {name:?} changes the headers: {call:?}")
            });
        }
    }
    let with_header = |name: &str, value: &str| {
        let mut ask = plain.clone();
        ask.request.extra_headers = vec![(name.to_owned(), Some(value.to_owned()))];
        ask
    };
    for (name, value) in [
        ("x-a\r\nx-evil", "1"),
        ("x-a", "1\r\nx-evil: 1"),
        ("x-a", "1\n"),
        ("x a", "1"),
        ("", "1"),
        ("x-a", "\u{0}"),
    ] {
        let run = lab.run(&answer, &with_header(name, value), found).await;
        let evil = run.calls.iter().any(|call| call.headers.contains_key("x-evil"));
        let class = run.error.as_ref().map(ai_provider::ModelError::class);
        let holds = !evil && (class == Some(ErrorClass::InvalidRequest) || value.trim() == "1");
        found.expect(holds, || {
            format!(
                "the header {name:?}: {value:?} must be refused as invalid, but the stream {}",
                run.ended()
            )
        });
    }
    arrives(lab, &answer, &with_header("x-conformance", "here"), found).await;
}

/// Whether extra headers and fields are in the request.
async fn arrives(lab: &Lab, answer: &Answer, with_header: &Ask, found: &mut Findings) {
    let mut ask = with_header.clone();
    ask.request = ask.request.with_extra("x_conformance", json!({"deep": [1]}));
    let run = lab.run(answer, &ask, found).await;
    let Some(call) = run.calls.first() else {
        // Over sockets nobody looks at the request.
        return;
    };
    let header = call.headers.get("x-conformance").and_then(|value| value.to_str().ok());
    found.expect(header == Some("here"), || format!("an extra header does not arrive: {call:?}"));
    let body: Value = serde_json::from_slice(&call.body).unwrap_or_default();
    let field = body.get("x_conformance");
    found.expect(field == Some(&json!({"deep": [1]})), || {
        format!("an extra field of the body does not arrive: {body}")
    });
}

/// What the name of a model may not change in a URL: scheme, host, how many segments, and which query.
fn skeleton(url: &str) -> (String, usize, String) {
    let (url, query) = url.split_once('?').unwrap_or((url, ""));
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    (format!("{scheme}://{host}"), path.split('/').count(), query.to_owned())
}
