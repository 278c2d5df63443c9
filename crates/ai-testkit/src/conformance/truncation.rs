//! Bodies that end too early, and what is there before they go on.

use ai_provider::StreamPart;

use super::answers::{Content, ends_once};
use super::boundaries::{event_ends, shown};
use super::lab::{Answer, Ask, Ending, Lab};
use super::report::Findings;
use super::sample::Sample;

/// An answer of so many events has something to show before its last one.
const MANY_EVENTS: usize = 4;

pub(super) async fn truncation(lab: &Lab, samples: &[Sample], found: &mut Findings) {
    for sample in samples {
        found.on(&sample.name);
        let ask = Ask::new(&sample.request);
        let whole = lab.run(&Answer::of(sample), &ask, found).await;
        let content = Content::of(&whole.parts);
        let status = whole.error.as_ref().and_then(ai_provider::ModelError::status);
        for (number, at) in std::iter::once(0).chain(lab.places(&sample.body)).enumerate() {
            // A connection that breaks is told by the transport: a few places show that the decoder agrees.
            let endings =
                [Ending::Clean, Ending::Broken].into_iter().take(if number % 8 == 0 { 2 } else { 1 });
            for ending in endings {
                let run = lab.run(&Answer::of(sample).until(at).ending(ending), &ask, found).await;
                let place = || {
                    let how = if ending == Ending::Clean { "ends" } else { "breaks off" };
                    format!("the body {how} at {}", shown(&sample.body, at))
                };
                ends_once(&run, found);
                let came = Content::of(&run.parts);
                if run.finished() && (came != content || !whole.finished()) {
                    found.fail(format!(
                        "{}\n  it must be an error: content is missing, but it finishes with {came:?} instead of \
                         {content:?}",
                        place()
                    ));
                }
                if let Some(more) = came.beyond(&content) {
                    found.fail(format!(
                        "{}\n  what came before the end must be kept, but it gives {more}",
                        place()
                    ));
                }
                let kept = run.error.as_ref().and_then(ai_provider::ModelError::status);
                if sample.is_error_status() && kept != status {
                    found.fail(format!("{}\n  the status {status:?} is lost: {}", place(), run.ended()));
                }
            }
        }
    }
}

/// While the connection is open: what the events so far give is there.
pub(super) async fn prompt(lab: &Lab, samples: &[Sample], found: &mut Findings) {
    if lab.uses_sockets() {
        // What is there "now" cannot be told over a socket.
        return;
    }
    for sample in samples.iter().filter(|sample| sample.is_stream()) {
        found.on(&sample.name);
        let ask = Ask::new(&sample.request);
        let whole = lab.run(&Answer::of(sample), &ask, found).await;
        let ends = event_ends(&sample.body);
        let (mut shown_before_end, mut events) = (false, 0);
        for at in &ends {
            let answer = Answer::of(sample).until(*at);
            let open = lab.run_open(&answer, &ask, found).await;
            let closed = lab.run(&answer, &ask, found).await;
            let (open_content, closed_content) = (Content::of(&open.parts), Content::of(&closed.parts));
            if let Some(more) = open_content.beyond(&closed_content) {
                found.fail(format!(
                    "the server stops at {}\n  what has been shown must stay when the body then ends, but the open \
                     stream gives {more}",
                    shown(&sample.body, *at)
                ));
            }
            if open.error.is_some() || open.finished() || closed.finished() {
                break;
            }
            events += 1;
            shown_before_end |= open.parts.iter().any(StreamPart::commits);
        }
        let content =
            whole.parts.iter().any(StreamPart::commits) && Content::of(&whole.parts) != Content::default();
        if whole.finished() && content && events + 1 >= MANY_EVENTS && !shown_before_end {
            found.fail(format!(
                "{events} events come before the last one, and nothing of the answer is given before it"
            ));
        }
    }
}
