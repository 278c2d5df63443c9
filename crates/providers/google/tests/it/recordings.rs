//! Recorded answers of the real server, through the whole path of a call.

use std::time::Duration;

use ai_provider::{Delivery, Hint, StreamPart};
use ai_testkit::recordings::{Expected, Outcome, RecordedDelivery, compare, expected, require};
use ai_testkit::{Cut, MemoryReply};
use bytes::Bytes;
use http::StatusCode;

use crate::support::{decoded, run, signature, tool_calls};

fn rows() -> Option<Vec<(Expected, Bytes)>> {
    let folder = require()?;
    let rows = expected(&folder).unwrap().into_iter().filter(|row| row.api == "google-generate-content");
    let rows: Vec<_> =
        rows.map(|row| (row.body(&folder).unwrap(), row)).map(|(body, row)| (row, body)).collect();
    assert!(rows.len() >= 6, "{} rows", rows.len());
    Some(rows)
}

fn delivery(row: &Expected) -> Delivery {
    match row.delivery {
        RecordedDelivery::Whole => Delivery::Whole,
        _ => Delivery::Stream,
    }
}

/// [GG-1]
#[tokio::test]
async fn every_recording_gives_what_its_row_says() {
    let Some(rows) = rows() else { return };
    for (row, body) in rows {
        let reply = MemoryReply::new(StatusCode::from_u16(row.status).unwrap(), body);
        let (parts, error) = run(delivery(&row), reply).await;
        let found = compare(&row, &Outcome::from_parts(&parts, error.as_ref()));
        assert!(found.is_empty(), "{}: {found:#?}", row.file);
    }
}

/// [GG-1]
#[tokio::test]
async fn recorded_signatures_and_hints_are_where_the_notes_say() {
    let Some(rows) = rows() else { return };
    for (row, body) in rows {
        let reply = MemoryReply::new(StatusCode::from_u16(row.status).unwrap(), body);
        let (parts, error) = run(delivery(&row), reply).await;
        let in_text = parts.iter().filter(
            |part| matches!(part, StreamPart::TextDelta { metadata, .. } if signature(metadata).is_some()),
        );
        let signed: Vec<_> =
            tool_calls(&parts).iter().map(|call| signature(&call.metadata).is_some()).collect();
        let (in_text, hint) = (in_text.count(), error.and_then(|error| error.hint()));
        match row.file.rsplit('/').next().unwrap() {
            "google-text.chunks.txt" | "google-reasoning-gemini3.chunks.txt" => assert_eq!(in_text, 1),
            "google-tool-call.chunks.txt" => assert_eq!(signed, [true]),
            "google-stream-tool-call-arguments.chunks.txt" => assert_eq!(signed, [true, false]),
            "google-stream-no-args-tool-call.chunks.txt" => assert_eq!(signed, [true, false, false, false]),
            "google-429-retry-info.json" => {
                assert_eq!(hint, Some(Hint::After(Duration::from_millis(34_400))));
            }
            _ => {}
        }
    }
}

/// [GG-2]
#[tokio::test]
async fn no_cutting_of_a_recording_changes_what_comes() {
    let Some(rows) = rows() else { return };
    for (row, body) in rows {
        if row.delivery == RecordedDelivery::ErrorBody {
            continue;
        }
        let decode = |cut| decoded(delivery(&row), body.clone(), cut);
        let whole = decode(Cut::Whole).await;
        let cuts = [Cut::Event, Cut::Every(1)].into_iter().chain((0..100).map(Cut::Random));
        for cut in cuts {
            assert_eq!(decode(cut.clone()).await, whole, "{} cut {cut:?}", row.file);
        }
    }
}
