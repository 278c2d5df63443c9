//! What is no answer.

use std::error::Error;
use std::time::Duration;

use ai_http::{class_of_status, is_retryable_status};
use ai_provider::{ErrorClass, Hint, ModelError};
use bytes::Bytes;
use http::StatusCode;

use super::answers::ends_once;
use super::boundaries::{event_ends, shown};
use super::lab::{Answer, Ask, Ending, Lab, Run};
use super::report::Findings;
use super::sample::Sample;

const PAGE: &str = "<!doctype html><html><body><h1>Bad Gateway</h1></body></html>";

/// Bodies that say nothing of their own about an error.
const SILENT: &[&str] = &["", PAGE, "null", "[]", "{}", "{\"error\":null}", "{\"err", "\"\"", "Bad Gateway"];

const STATUSES: &[u16] =
    &[400, 401, 402, 403, 404, 405, 408, 409, 413, 415, 418, 422, 429, 500, 502, 503, 504, 529];

pub(super) async fn errors(lab: &Lab, samples: &[Sample], found: &mut Findings) {
    for sample in samples.iter().filter(|sample| sample.is_error_status()) {
        found.on(&sample.name);
        let run = lab.run(&Answer::of(sample), &Ask::new(&sample.request), found).await;
        let Some(error) = &run.error else {
            found.fail(format!("an error status must be an error, but it {}", run.ended()));
            continue;
        };
        keeps_status(error, sample.status, found);
        let never = matches!(
            error.class(),
            ErrorClass::Quota | ErrorClass::Auth | ErrorClass::ContextTooLong | ErrorClass::InvalidRequest
        );
        found.expect(!(never && error.retryable()), || {
            format!("the same target may not be tried again after an error of class `{}`", error.class())
        });
    }
    found.on("");
    let Some(ask) = samples.first().map(|sample| Ask::new(&sample.request)) else { return };
    let bodies = SILENT.iter().map(|body| Bytes::from_static(body.as_bytes()));
    for body in bodies.chain([Bytes::from_static(b"\xff\xfe\x00{")]) {
        for status in STATUSES {
            let answer = Answer::new(*status, "application/json", body.clone());
            let run = lab.run(&answer, &ask, found).await;
            ends_once(&run, found);
            let Some(error) = &run.error else {
                found.fail(format!(
                    "status {status} with the body {body:?} must be an error, but {}",
                    run.ended()
                ));
                continue;
            };
            keeps_status(error, *status, found);
            let Ok(code) = StatusCode::from_u16(*status) else { continue };
            let (class, retryable) = (class_of_status(code), is_retryable_status(code));
            let alike =
                |class| matches!(class, ErrorClass::Server | ErrorClass::Overloaded | ErrorClass::Timeout);
            let same = error.class() == class || (alike(class) && alike(error.class()));
            let message = || {
                format!(
                    "status {status} with the body {body:?} alone must be of class `{class}`, but {}",
                    run.ended()
                )
            };
            found.expect(same, message);
            found.expect(error.retryable() == retryable, || {
                let verdict = if retryable { "may" } else { "may not" };
                format!(
                    "after status {status} with the body {body:?} the same target {verdict} be tried again"
                )
            });
        }
    }
    let limited = Answer::new(429, "application/json", "{}").header("retry-after", "2");
    let run = lab.run(&limited, &ask, found).await;
    let hint = run.error.as_ref().and_then(ModelError::hint);
    found.expect(hint == Some(Hint::After(Duration::from_secs(2))), || {
        format!("`retry-after: 2` must be the error's hint, but that is {hint:?}")
    });
}

fn keeps_status(error: &ModelError, status: u16, found: &mut Findings) {
    let kept = error.status();
    found.expect(kept == Some(status), || {
        format!("the error of status {status} has the status {kept:?}: {error}")
    });
}

pub(super) async fn nonsense(lab: &Lab, samples: &[Sample], found: &mut Findings) {
    let streams = samples.iter().filter(|sample| sample.is_sse());
    for sample in streams.clone().take(1) {
        let bodies = [
            "",
            "\n\n\n",
            ": ping\n\n: ping\n\n",
            "retry: 3000\n\nid: 7\n\n",
            "data: [DONE]\n\n",
            "data: nonsense\n\n",
            "data: {\"a\n\n",
            PAGE,
            "nonsense",
        ];
        is_no_answer(lab, sample, &bodies, found).await;
    }
    for sample in samples.iter().filter(|sample| !sample.is_stream() && !sample.is_error_status()).take(1) {
        is_no_answer(lab, sample, &["", "null", "[]", "{}", "\"\"", "7", "nonsense", "{\"a", PAGE], found)
            .await;
    }
    for sample in streams.filter(|sample| sample.finishes()) {
        found.on(&sample.name);
        garbage(lab, sample, found).await;
    }
}

async fn is_no_answer(lab: &Lab, sample: &Sample, bodies: &[&'static str], found: &mut Findings) {
    found.on(&sample.name);
    for body in bodies {
        let answer = Answer::new(200, &sample.content_type, *body);
        let run = lab.run(&answer, &Ask::new(&sample.request), found).await;
        ends_once(&run, found);
        found.expect(run.error.is_some(), || {
            format!(
                "the body {body:?} in its place is no answer and must be an error, but the stream {}",
                run.ended()
            )
        });
    }
}

/// A line that is no JSON, after each event.
async fn garbage(lab: &Lab, sample: &Sample, found: &mut Findings) {
    let ask = Ask::new(&sample.request);
    for (number, at) in std::iter::once(0).chain(event_ends(&sample.body)).enumerate() {
        let over = lab.run(&Answer::of(sample).until(at), &ask, found).await.finished();
        if over || at == sample.body.len() {
            return;
        }
        let (before, behind) = (sample.body.slice(..at), sample.body.slice(at..));
        let body = [&before[..], b"data: {\"cut\": tru\n\n", &behind[..]].concat();
        let run = lab.run(&Answer::new(200, &sample.content_type, body), &ask, found).await;
        ends_once(&run, found);
        let place = shown(&sample.body, at);
        let Some(error) = run.error.as_ref().filter(|error| error.class() == ErrorClass::Protocol) else {
            found.fail(format!("with an event that is no JSON put in at {place}\n  it must be a protocol error, but the stream {}", run.ended()));
            continue;
        };
        found.expect(error.message().contains(&(number + 1).to_string()), || {
            format!("an event that is no JSON is put in at {place}\n  the error must name its number, {}: {error}", number + 1)
        });
    }
}

pub(super) async fn secrets(lab: &Lab, samples: &[Sample], found: &mut Findings) {
    let key = lab.key().to_owned();
    for sample in samples {
        found.on(&sample.name);
        let run = lab.run(&Answer::of(sample), &Ask::new(&sample.request).echoed(), found).await;
        tells_nothing(lab, &run, "it is served as it is", found);
    }
    found.on("");
    let Some(sample) = samples.first() else { return };
    let ask = Ask::new(&sample.request).echoed();
    let echoes = [
        format!(
            "{{\"error\":{{\"message\":\"Incorrect API key provided: {key}.\",\"code\":\"invalid_api_key\"}}}}"
        ),
        format!("{{\"message\":\"bad key {key}\"}}"),
        format!("[{{\"error\":\"{key}\"}}]"),
        format!("{{\"{key}\":true}}"),
        format!("<html>{key}</html>"),
        format!("no such key: {key}"),
        format!("data: {{\"error\":{{\"message\":\"{key}\"}}}}\n\n"),
        format!("data: {key}\n\n"),
        format!(
            "event: error\ndata: {{\"type\":\"error\",\"error\":{{\"type\":\"{key}\",\"message\":\"{key}\"}}}}\n\n"
        ),
    ];
    for body in echoes {
        for status in [200, 400, 401, 403, 429, 500] {
            for content_type in ["application/json", "text/event-stream", "text/html"] {
                let answer = Answer::new(status, content_type, body.clone()).header("x-request-id", &key);
                let run = lab.run(&answer, &ask, found).await;
                tells_nothing(
                    lab,
                    &run,
                    &format!("status {status}, {content_type} echoes it as {body:?}"),
                    found,
                );
            }
        }
    }
    let broken = Answer::of(sample).until(sample.body.len() / 2).ending(Ending::Broken);
    let run = lab.run(&broken, &ask, found).await;
    tells_nothing(lab, &run, "the body breaks off", found);
}

/// The key is in no text, and in the request only as a header that hides it.
fn tells_nothing(lab: &Lab, run: &Run, when: &str, found: &mut Findings) {
    let mut texts = vec![("the parts", format!("{:?}", run.parts))];
    if let Some(error) = &run.error {
        texts.push(("the error", format!("{error} {error:?} {:?} {:?}", error.record(), error.excerpt())));
        let mut cause = error.source();
        while let Some(error) = cause {
            texts.push(("a cause of the error", format!("{error} {error:?}")));
            cause = error.source();
        }
    }
    for call in &run.calls {
        texts.push(("the URL", call.url.clone()));
        texts.push(("the body of the request", String::from_utf8_lossy(&call.body).into_owned()));
        texts.push((
            "the `Debug` text of the request: its header is not marked sensitive",
            format!("{call:?}"),
        ));
    }
    for (place, text) in texts {
        if lab.gives_away(&text) {
            let hidden = text.replace(lab.key(), "KEY");
            let hidden: String = hidden.chars().take(300).collect();
            found.fail(format!("the key is in {place}, when {when}\n  {hidden}"));
        }
    }
}
