//! Recorded answers of real servers.

use ai_provider::Delivery;
use ai_testkit::recordings::{Expected, Outcome, RecordedDelivery, compare, expected, require};
use ai_testkit::{Cut, MemoryReply};
use bytes::Bytes;
use http::StatusCode;

use crate::support::{decoded, run};

fn rows() -> Option<Vec<(Expected, Bytes)>> {
    let folder = require()?;
    let rows = expected(&folder).unwrap().into_iter().filter(|row| row.api == "anthropic-messages");
    let rows: Vec<_> =
        rows.map(|row| (row.body(&folder).unwrap(), row)).map(|(body, row)| (row, body)).collect();
    assert!(rows.len() >= 9, "{} rows", rows.len());
    Some(rows)
}

fn delivery(row: &Expected) -> Delivery {
    match row.delivery {
        RecordedDelivery::Whole => Delivery::Whole,
        _ => Delivery::Stream,
    }
}

/// [AN-1]
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

/// [AN-2]
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
