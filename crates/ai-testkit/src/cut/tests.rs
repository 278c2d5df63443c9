#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "tests fail by panicking"
)]

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;

fn pieces(cut: &Cut, body: &'static [u8]) -> Vec<Bytes> {
    cut.cut(&Bytes::from_static(body))
}

#[test]
fn each_kind_cuts_where_it_says() {
    let body = b"data: a\n\ndata: b\n\n";
    assert_eq!(pieces(&Cut::Whole, body), [&body[..]]);
    assert_eq!(pieces(&Cut::Event, body), ["data: a\n\n", "data: b\n\n"]);
    assert_eq!(pieces(&Cut::Every(8), body), ["data: a\n", "\ndata: b", "\n\n"]);
    assert_eq!(pieces(&Cut::At(vec![99, 9, 4, 9, 0]), body), ["data", ": a\n\n", "data: b\n\n"]);
    assert_eq!(pieces(&Cut::Every(0), b"abc"), ["a", "b", "c"]);
}

#[test]
fn an_event_ends_at_a_blank_line_of_any_kind() {
    assert_eq!(pieces(&Cut::Event, b"a\r\n\r\nb"), ["a\r\n\r\n", "b"]);
    assert_eq!(pieces(&Cut::Event, b"a\r\rb"), ["a\r\r", "b"]);
    assert_eq!(pieces(&Cut::Event, b"a\n\r\nb"), ["a\n\r\n", "b"]);
    assert_eq!(pieces(&Cut::Event, b"a\r\nb"), ["a\r\nb"]);
    assert_eq!(pieces(&Cut::Event, b"\na"), ["\n", "a"]);
    assert_eq!(pieces(&Cut::Event, b"a\n\n\n"), ["a\n\n", "\n"]);
}

#[test]
fn an_empty_body_has_no_pieces() {
    for cut in [Cut::Whole, Cut::Event, Cut::Every(3), Cut::Random(1), Cut::At(vec![0])] {
        assert!(pieces(&cut, b"").is_empty(), "{cut:?}");
    }
}

#[test]
fn a_seed_gives_the_same_pieces_for_ever() {
    let body = [b'x'; 1000];
    let lengths: Vec<_> = Cut::Random(7).ranges(&body).iter().map(ExactSizeIterator::len).collect();
    assert_eq!(lengths, LENGTHS_OF_SEED_7);
    assert_ne!(Cut::Random(7).ranges(&body), Cut::Random(8).ranges(&body));
}

const LENGTHS_OF_SEED_7: [usize; 42] = [
    29, 4, 2, 63, 2, 5, 49, 57, 72, 25, 78, 32, 1, 4, 30, 1, 1, 2, 1, 92, 2, 1, 3, 127, 41, 3, 3, 4, 40, 3,
    27, 1, 2, 2, 55, 38, 6, 2, 1, 12, 7, 70,
];

#[test]
fn random_pieces_are_of_all_sizes() {
    let body = vec![b'x'; 1 << 20];
    let lengths: Vec<_> = Cut::Random(1).ranges(&body).iter().map(ExactSizeIterator::len).collect();
    assert!(lengths.iter().filter(|len| **len == 1).count() * 20 > lengths.len());
    assert!(lengths.iter().filter(|len| **len > 1024).count() * 100 > lengths.len());
    assert!(lengths.iter().all(|len| *len <= 4096));
}

fn cuts() -> impl Strategy<Value = Cut> {
    prop_oneof![
        Just(Cut::Whole),
        Just(Cut::Event),
        (0_usize..40).prop_map(Cut::Every),
        any::<u64>().prop_map(Cut::Random),
        prop::collection::vec(0_usize..300, 0..8).prop_map(Cut::At),
    ]
}

#[test]
fn pieces_are_the_body_again() {
    let byte = prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()];
    let cases = (prop::collection::vec(byte, 0..256), cuts());
    let cut_up = Cell::new(0);
    let outcome = TestRunner::new(Config::with_cases(1000)).run(&cases, |(body, cut)| {
        let body = Bytes::from(body);
        let pieces = cut.cut(&body);
        cut_up.set(cut_up.get() + u32::from(pieces.len() > 1));
        prop_assert_eq!(pieces.concat(), &body[..]);
        prop_assert!(pieces.iter().all(|piece| !piece.is_empty()));
        if let Cut::Random(_) = cut {
            prop_assert!(pieces.iter().all(|piece| piece.len() <= (body.len() / 4).clamp(1, 4096)));
        }
        Ok(())
    });
    outcome.unwrap();
    assert!(cut_up.get() > 600, "{cut_up:?}");
}
