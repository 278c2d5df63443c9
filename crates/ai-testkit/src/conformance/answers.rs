//! A sample gives what is said of it, however it is cut.

use ai_provider::StreamPart;

use super::boundaries::shown;
use super::lab::{Answer, Ask, Lab, Run};
use super::report::Findings;
use super::sample::Sample;
use crate::cut::Cut;
use crate::order::check_order;

/// Seeds of random cuts.
const SEEDS: u64 = 100;

pub(super) async fn outcome(lab: &Lab, samples: &[Sample], found: &mut Findings) {
    for sample in samples {
        found.on(&sample.name);
        let run = lab.run(&Answer::of(sample), &Ask::new(&sample.request), found).await;
        ends_once(&run, found);
        match (sample.fails, &run.error) {
            (Some(class), Some(error)) => {
                found.expect(error.class() == class, || {
                    format!("should fail as `{class}`, but {}", run.ended())
                });
            }
            (Some(class), None) => found.fail(format!("should fail as `{class}`, but {}", run.ended())),
            (None, _) => drop(found.expect(run.finished(), || format!("should finish, but {}", run.ended()))),
        }
        if let Some(text) = &sample.text {
            let came = Content::of(&run.parts).text;
            found.expect(came == *text, || format!("its text should be {text:?}, but is {came:?}"));
        }
        if let (Some(unified), Some(StreamPart::Finish(finish))) = (sample.finish, run.parts.last()) {
            let came = &finish.reason;
            let message = || format!("should finish as `{}`, but finishes as {came:?}", unified.as_str());
            found.expect(came.unified == unified, message);
        }
    }
}

/// What holds for every stream: it begins with its start, is in order, and one thing ends it.
pub(super) fn ends_once(run: &Run, found: &mut Findings) {
    if let Some(fault) = &run.fault {
        found.fail(format!("the stream {fault}"));
        return;
    }
    let parts = &run.parts;
    if let Err(why) = check_order(parts) {
        found.fail(format!("the parts are out of order: {why}"));
    }
    found.expect(run.behind == 0, || format!("{} items come behind the end of the stream", run.behind));
    let finishes = parts.iter().filter(|part| matches!(part, StreamPart::Finish(_))).count();
    let ends = finishes + usize::from(run.error.is_some());
    found.expect(ends == 1, || format!("one finish or one error must end the stream, but {ends} do"));
}

pub(super) async fn cuts(lab: &Lab, samples: &[Sample], found: &mut Findings) {
    for sample in samples {
        found.on(&sample.name);
        let ask = Ask::new(&sample.request);
        let whole = lab.run(&Answer::of(sample), &ask, found).await;
        let two_pieces = lab.places(&sample.body).into_iter().map(|at| Cut::At(vec![at]));
        let cuts = [Cut::Event, Cut::Every(1), Cut::Every(7)].into_iter();
        for cut in cuts.chain((0..SEEDS).map(Cut::Random)).chain(two_pieces) {
            let run = lab.run(&Answer::of(sample).cut(cut.clone()), &ask, found).await;
            if !run.same(&whole) {
                let place = match &cut {
                    Cut::At(at) => shown(&sample.body, at.first().copied().unwrap_or_default()),
                    cut => format!("{cut:?}"),
                };
                found.fail(format!("cut at {place}\n  {}", difference(&whole, &run)));
            }
        }
    }
}

/// Where a run first differs from that of the body in one piece.
fn difference(whole: &Run, run: &Run) -> String {
    let common = whole.parts.iter().zip(&run.parts).take_while(|(whole, part)| whole == part).count();
    match (whole.parts.get(common), run.parts.get(common)) {
        (None, None) => format!("the body in one piece {}, the pieces: {}", whole.ended(), run.ended()),
        (expected, came) => {
            let shown =
                |part: Option<&StreamPart>| part.map_or("nothing".to_owned(), |part| format!("{part:?}"));
            format!("part {common} should be {}, but is {}", shown(expected), shown(came))
        }
    }
}

/// What a stream says, whatever parts it is said in.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Content {
    pub(super) text: String,
    reasoning: String,
    /// Calls, results, sources, files: what comes whole.
    items: Vec<StreamPart>,
}

impl Content {
    pub(super) fn of(parts: &[StreamPart]) -> Self {
        let mut content = Self::default();
        for part in parts {
            match part {
                StreamPart::TextDelta { delta, .. } => content.text.push_str(delta),
                StreamPart::ReasoningDelta { delta, .. } => content.reasoning.push_str(delta),
                StreamPart::ToolCall(_)
                | StreamPart::ToolResult(_)
                | StreamPart::ToolApprovalRequest(_)
                | StreamPart::Source(_)
                | StreamPart::File(_)
                | StreamPart::ReasoningFile(_)
                | StreamPart::Custom(_) => content.items.push(part.clone()),
                _ => {}
            }
        }
        content
    }

    /// What of it is not the beginning of the other's.
    pub(super) fn beyond(&self, whole: &Self) -> Option<String> {
        if !whole.text.starts_with(&self.text) {
            return Some(format!("the text {:?}, where the whole answer's is {:?}", self.text, whole.text));
        }
        if !whole.reasoning.starts_with(&self.reasoning) {
            let (ours, theirs) = (&self.reasoning, &whole.reasoning);
            return Some(format!("the reasoning {ours:?}, where the whole answer's is {theirs:?}"));
        }
        let common = self.items.iter().zip(&whole.items).take_while(|(ours, theirs)| ours == theirs).count();
        self.items.get(common).map(|item| format!("{item:?}, which the whole answer has not in this place"))
    }
}
