//! Where bodies are cut, and how a place is shown.

use crate::cut::Cut;

/// Of longer bodies, not every place is tried: a suite that takes minutes is not run.
pub(super) const PLACES: usize = 4_000;

/// With sockets, each place takes a connection.
pub(super) const PLACES_ON_SOCKETS: usize = 64;

/// The places inside a body to cut at: all of them if there are no more than `most`, else some around the ends of
/// events and evenly spread ones.
pub(super) fn places(body: &[u8], most: usize) -> Vec<usize> {
    let most = most.max(2);
    let inside = 1..body.len();
    if inside.len() <= most {
        return inside.collect();
    }
    let ends = event_ends(body);
    let near = ends.iter().flat_map(|end| end.saturating_sub(3)..=end + 2).filter(|at| inside.contains(at));
    let mut places: Vec<usize> = near.take(most / 2).collect();
    places.extend(inside.clone().step_by(inside.len().div_ceil(most / 2)));
    places.sort_unstable();
    places.dedup();
    places
}

/// The ends of the events, or of the lines where there are no blank ones; the end of the body is the last.
pub(super) fn event_ends(body: &[u8]) -> Vec<usize> {
    let ranges = Cut::Event.ranges(body);
    if ranges.len() > 1 {
        return ranges.into_iter().map(|range| range.end).collect();
    }
    let lines = body.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    let mut ends: Vec<usize> = lines.collect();
    if ends.last() != Some(&body.len()) {
        ends.push(body.len());
    }
    ends
}

/// A place in a body, for people: its offset and what stands before and behind it.
pub(super) fn shown(body: &[u8], at: usize) -> String {
    const AROUND: usize = 30;
    let before = body.get(at.saturating_sub(AROUND)..at).unwrap_or_default();
    let behind = body.get(at..body.len().min(at + AROUND)).unwrap_or_default();
    let (before, behind) = (String::from_utf8_lossy(before), String::from_utf8_lossy(behind));
    format!("byte {at} of {}: …{before:?} ✂ {behind:?}…", body.len())
}
