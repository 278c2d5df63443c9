//! Bodies are cut into the same events however they come.

use ai_http::{Framer, LinesFramer, SseFramer, WholeFramer};
use ai_provider::ErrorClass;
use ai_testkit::Cut;
use bytes::Bytes;

use super::{Seen, limits, seed_of};

/// Name, data and number of an event.
type Owned = (Option<String>, String, u64);

/// Every framer over a body.
pub fn framer(data: &[u8]) -> Seen {
    let body = Bytes::copy_from_slice(data);
    let framers: [fn() -> Box<dyn Framer>; 3] = [
        || Box::new(SseFramer::new(&limits())),
        || Box::new(LinesFramer::new(&limits())),
        || Box::new(WholeFramer::new(&limits())),
    ];
    let mut seen = Seen::default();
    for framer in framers {
        let whole = events(framer(), &body, &Cut::Whole);
        for cut in [Cut::Every(1), Cut::Random(seed_of(data))] {
            assert_eq!(events(framer(), &body, &cut), whole, "{cut:?}");
        }
        let numbers = whole.0.iter().map(|(_, _, number)| *number);
        assert!(numbers.eq(1..=whole.0.len() as u64), "events are counted from 1");
        seen.finished |= whole.1.is_none() && !whole.0.is_empty();
        seen.class = seen.class.or(whole.1);
    }
    seen
}

fn events(mut framer: Box<dyn Framer>, body: &Bytes, cut: &Cut) -> (Vec<Owned>, Option<ErrorClass>) {
    let mut events = Vec::new();
    let mut take = |event: ai_http::Event<'_>| {
        events.push((event.name.map(str::to_owned), event.data.to_owned(), event.number));
    };
    for piece in cut.cut(body) {
        framer.push(&piece);
        loop {
            match framer.next() {
                Ok(Some(event)) => take(event),
                Ok(None) => break,
                Err(error) => return (events, Some(error.class())),
            }
        }
    }
    loop {
        match framer.end() {
            Ok(Some(event)) => take(event),
            Ok(None) => return (events, None),
            Err(error) => return (events, Some(error.class())),
        }
    }
}
