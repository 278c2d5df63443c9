//! Recorded streams of every API: what the framer makes of them does not depend on how the network cut them.

use ai_http::{Framer, Limits, SseFramer};
use ai_testkit::Cut;
use ai_testkit::recordings::{self, RecordedDelivery};
use bytes::Bytes;

/// The events of a body that comes in these pieces: name and data.
fn events(body: &Bytes, cut: &Cut) -> Vec<(Option<String>, String)> {
    let mut framer = SseFramer::new(&Limits::default());
    let mut events = Vec::new();
    for piece in cut.cut(body) {
        framer.push(&piece);
        while let Some(event) = framer.next().unwrap() {
            events.push((event.name.map(str::to_owned), event.data.to_owned()));
        }
    }
    while let Some(event) = framer.end().unwrap() {
        events.push((event.name.map(str::to_owned), event.data.to_owned()));
    }
    events
}

/// [HT-10]
#[test]
fn no_cutting_of_a_recorded_stream_changes_its_events() {
    let Some(folder) = recordings::require() else { return };
    let (mut streams, mut seen) = (0, 0);
    for row in recordings::expected(&folder).unwrap() {
        if row.delivery != RecordedDelivery::Stream {
            continue;
        }
        streams += 1;
        let body = row.body(&folder).unwrap();
        let whole = events(&body, &Cut::Whole);
        seen += whole.len();
        for cut in [Cut::Event, Cut::Every(1)].into_iter().chain((0..200).map(Cut::Random)) {
            assert_eq!(events(&body, &cut), whole, "{} cut {cut:?}", row.file);
        }
        for (_, data) in whole.iter().filter(|(_, data)| data != "[DONE]") {
            serde_json::from_str::<serde_json::Value>(data)
                .unwrap_or_else(|error| panic!("{}: {error}", row.file));
        }
    }
    assert!(streams >= 40 && seen > 2000, "{streams} streams, {seen} events");
}
