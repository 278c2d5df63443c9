//! How calls are ended from this side, and what a server may not fill.

use std::time::{Duration, Instant};

use ai_http::Limits;
use ai_provider::{CancellationToken, Delivery, ErrorClass, StreamPart};
use futures_util::StreamExt;
use tokio::time::timeout;

use super::answers::{Content, ends_once};
use super::boundaries::event_ends;
use super::lab::{Answer, Ask, Ending, LONG, Lab, real_transport};
use super::report::Findings;
use super::sample::Sample;
use crate::wire::WireServer;

/// Closing takes no round trip; a busy machine is given some time.
const CLOSED_WITHIN: Duration = Duration::from_secs(5);

/// A place inside the body, after an event, at which an answer is surely not over.
fn middle(sample: &Sample) -> usize {
    let ends = event_ends(&sample.body);
    ends.get((ends.len() / 2).saturating_sub(1)).copied().unwrap_or_default()
}

pub(super) async fn drops(lab: &Lab, samples: &[Sample], found: &mut Findings) {
    for sample in samples.iter().filter(|sample| sample.is_stream() && sample.finishes()) {
        found.on(&sample.name);
        for (at, when) in
            [(None, "before the first byte"), (Some(middle(sample)), "in the middle of the answer")]
        {
            let answer = Answer::of(sample).until(at.unwrap_or_default()).ending(Ending::Hang);
            if let Err(why) = dropped(lab, sample, &answer, at.is_some()).await {
                found.fail(format!("the stream is dropped {when}: {why}"));
                // Each failure takes its time, and they are alike.
                return;
            }
        }
    }
}

async fn dropped(lab: &Lab, sample: &Sample, answer: &Answer, read: bool) -> Result<(), String> {
    let server = WireServer::start([answer.on_the_wire()]).map_err(|error| format!("no server: {error}"))?;
    let ask = Ask::new(&sample.request);
    let model = lab.model(server.url(), real_transport()?, &ask).map_err(|error| error.to_string())?;
    let mut stream = model.stream(ask.request.clone(), ask.context.clone());
    if server.wait_requests(1, Duration::from_millis(20)).await || server.connections() > 0 {
        return Err("a request was sent although the stream had not been polled".to_owned());
    }
    let first = async {
        let mut before = Vec::new();
        while let Some(item) = stream.next().await {
            match item {
                // What commits shows that the body is being read.
                Ok(part) if part.commits() => return Ok(()),
                Ok(part) => before.push(part),
                Err(error) => return Err(format!("it fails instead: {error}")),
            }
        }
        Err(format!("it ends instead, after {before:?}"))
    };
    if read {
        // An answer may show nothing so early; then the socket is open all the same.
        if let Ok(Err(why)) = timeout(Duration::from_millis(500), first).await {
            return Err(why);
        }
    } else {
        let polled = timeout(LONG, async {
            tokio::select! {
                biased;
                came = server.wait_requests(1, LONG) => came,
                ended = first => ended.is_ok(),
            }
        });
        if !polled.await.unwrap_or_default() {
            return Err("no request came".to_owned());
        }
    }
    if server.requests().is_empty() {
        return Err("no request came".to_owned());
    }
    drop(stream);
    match server.wait_closed(CLOSED_WITHIN).await {
        true => Ok(()),
        false => Err(format!("its socket is still open after {} s", CLOSED_WITHIN.as_secs())),
    }
}

pub(super) async fn cancel(lab: &Lab, samples: &[Sample], found: &mut Findings) {
    for sample in samples.iter().filter(|sample| sample.is_stream() && sample.finishes()) {
        found.on(&sample.name);
        let whole = lab.run(&Answer::of(sample), &Ask::new(&sample.request), found).await;

        let ask = Ask::new(&sample.request);
        ask.context.cancel.cancel();
        let run = lab.run(&Answer::of(sample), &ask, found).await;
        ends_once(&run, found);
        let cancelled = run.error.as_ref().is_some_and(|error| error.class() == ErrorClass::Cancelled);
        found.expect(cancelled, || {
            format!("cancelled before it begins, it must fail as cancelled, but {}", run.ended())
        });
        found.expect(run.calls.is_empty(), || "cancelled before it begins, it sends a request".to_owned());

        let mut ask = Ask::new(&sample.request);
        ask.context.deadline = Some(Instant::now());
        let run = lab.run(&Answer::of(sample), &ask, found).await;
        ends_once(&run, found);
        let late = run.error.as_ref().is_some_and(|error| error.class() == ErrorClass::Timeout);
        found.expect(late, || format!("behind its deadline, it must fail as a timeout, but {}", run.ended()));

        let hanging = Answer::of(sample).until(middle(sample)).ending(Ending::Hang);
        let token = CancellationToken::new();
        let mut ask = Ask::new(&sample.request);
        ask.context.cancel = token.clone();
        let cancelling = async {
            tokio::time::sleep(Duration::from_millis(10)).await;
            token.cancel();
        };
        let (run, ()) = tokio::join!(lab.run(&hanging, &ask, found), cancelling);
        ends_once(&run, found);
        let cancelled = run.error.as_ref().is_some_and(|error| error.class() == ErrorClass::Cancelled);
        found.expect(cancelled, || {
            format!("cancelled in its middle, it must fail as cancelled, but {}", run.ended())
        });
        if let Some(more) = Content::of(&run.parts).beyond(&Content::of(&whole.parts)) {
            found.fail(format!("cancelled in its middle, it must keep what came, but gives {more}"));
        }
    }
}

/// Small, so that a test of them is quick.
fn small() -> Limits {
    let mut limits = Limits::default();
    limits.line = 64 << 10;
    limits.event_bytes = 64 << 10;
    limits.event_lines = 512;
    limits.idle_bytes = 64 << 10;
    limits.body = 64 << 10;
    limits.error_body = 4 << 10;
    limits
}

/// More than every limit, and then nothing: who reads on waits for ever.
const MUCH: usize = 512 << 10;

pub(super) async fn limits(lab: &Lab, samples: &[Sample], found: &mut Findings) {
    if lab.uses_sockets() {
        return;
    }
    let mut hostile = Vec::new();
    if let Some(stream) = samples.iter().find(|sample| sample.is_sse()) {
        let line = "x".repeat(MUCH);
        for (what, body) in [
            ("an endless line", format!("data: {line}")),
            ("a line far too long", format!("data: {line}\n\n")),
            ("endless comments", ": ping\n\n".repeat(MUCH / 8)),
            ("endless blank lines", "\n".repeat(MUCH)),
            ("an event of endless lines", "data: x\n".repeat(MUCH / 8)),
        ] {
            hostile.push((what, 200, stream, body));
        }
    }
    if let Some(whole) =
        samples.iter().find(|it| it.request.delivery == Delivery::Whole && !it.is_error_status())
    {
        hostile.push(("an endless body", 200, whole, format!("{{\"x\":\"{}", "x".repeat(MUCH))));
    }
    if let Some(any) = samples.first() {
        hostile.push(("an endless error body", 500, any, "x".repeat(MUCH)));
    }
    for (what, status, sample, body) in hostile {
        found.on(&sample.name);
        let mut ask = Ask::new(&sample.request);
        ask.limits = Some(small());
        let answer = Answer::new(status, &sample.content_type, body);
        let run = lab.run_open(&answer, &ask, found).await;
        let class = run.error.as_ref().map(ai_provider::ModelError::class);
        let holds = if status == 200 { class == Some(ErrorClass::TooLarge) } else { class.is_some() };
        let ended = if class.is_some() { run.ended() } else { "waits for more".to_owned() };
        found.expect(holds, || {
            format!("{what} must be an error of class too-large at its limit, but the stream {ended}")
        });
        let content = run.parts.iter().any(StreamPart::commits);
        found.expect(!content, || format!("{what} gives content: {:?}", run.parts));
    }
}
