use std::cell::Cell;

use ai_provider::ErrorClass;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;

type Seen = (Option<String>, String, u64);

fn drain(
    framer: &mut dyn Framer,
    seen: &mut Vec<Seen>,
    next: impl for<'a> Fn(&'a mut dyn Framer) -> Result<Option<Event<'a>>, ModelError>,
) -> Result<(), ModelError> {
    while let Some(event) = next(framer)? {
        seen.push((event.name.map(str::to_owned), event.data.to_owned(), event.number));
    }
    Ok(())
}

fn run<'a>(
    limits: &Limits,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Seen>, Option<ErrorClass>, SseFramer) {
    let mut framer = SseFramer::new(limits);
    let mut seen = Vec::new();
    for piece in pieces {
        framer.push(piece);
        if let Err(error) = drain(&mut framer, &mut seen, |framer| framer.next()) {
            return (seen, Some(error.class()), framer);
        }
    }
    let end = drain(&mut framer, &mut seen, |framer| framer.end());
    (seen, end.err().map(|error| error.class()), framer)
}

/// The events of a body that comes in one piece, without their numbers.
fn events(body: impl AsRef<[u8]>) -> Vec<(Option<String>, String)> {
    let (seen, error, _) = run(&Limits::default(), [body.as_ref()]);
    assert_eq!(error, None);
    seen.into_iter().map(|(name, data, _)| (name, data)).collect()
}

fn data(body: impl AsRef<[u8]>) -> Vec<String> {
    events(body).into_iter().map(|(_, data)| data).collect()
}

fn small() -> Limits {
    Limits { line: 1024, event_lines: 10, event_bytes: 4096, ..Limits::default() }
}

/// [HT-01]
#[test]
fn a_character_is_whole_for_every_cut_in_two() {
    let body = "data: {\"content\":\"北🙂é\"}\n\n".as_bytes();
    for at in 0..=body.len() {
        let (first, second) = body.split_at(at);
        let (seen, error, _) = run(&Limits::default(), [first, second]);
        assert_eq!(error, None);
        assert_eq!(seen, [(None, "{\"content\":\"北🙂é\"}".to_owned(), 1)], "cut at {at}");
    }
}

/// [HT-02]
#[test]
fn bytes_that_are_no_text_are_an_error() {
    let cases: [(&[u8], ErrorClass); 5] = [
        (b"data: a\xFFb\n\n", ErrorClass::Protocol),
        (b"data: \xE5\x8C\n\n", ErrorClass::Protocol),
        (b"event: \xFF\ndata: x\n\n", ErrorClass::Protocol),
        (b"data: \xFF\n", ErrorClass::Protocol),
        // Cut inside a character: more would have come.
        (b"data: \xE5\x8C", ErrorClass::Incomplete),
    ];
    for (body, class) in cases {
        let (seen, error, _) = run(&Limits::default(), [body]);
        assert_eq!((seen.len(), error), (0, Some(class)), "{body:?}");
    }
    let (seen, error, _) = run(&Limits::default(), [b"data: good\n\ndata: \xC0\n\n".as_slice()]);
    assert_eq!((seen.len(), error), (1, Some(ErrorClass::Protocol)), "what came before is delivered");
}

/// [HT-03]
#[test]
fn a_block_without_data_gives_no_event() {
    let body =
        "retry: 3000\n\nid: 7\ndata: a\n\n: ping\n\nid: 8\n\nevent: lone\n\ndata:\n\ndata\n\ndata: b\n\n";
    assert_eq!(events(body), [(None, "a".into()), (None, "b".into())]);
    assert_eq!(data(""), [""; 0]);
    assert_eq!(data(": only\n\n: comments\n"), [""; 0]);
    assert_eq!(data("data: x\n: between\ndata: y\nunknown: z\ndatas: w\n\n"), ["x\ny"]);
}

/// [HT-03]
#[test]
fn the_name_of_a_block_without_data_is_not_kept() {
    let body =
        "event: first\n\ndata: a\n\nevent: x\nevent: second\ndata: b\n\nevent:third\ndata: c\n\ndata: d\n\n";
    let expected: [(Option<String>, String); 4] = [
        (None, "a".into()),
        (Some("second".into()), "b".into()),
        (Some("third".into()), "c".into()),
        (None, "d".into()),
    ];
    assert_eq!(events(body), expected);
}

/// [HT-04]
#[test]
fn all_line_ends_and_colons_mean_the_same() {
    let plain = "event: e\ndata: {\"a\":1,\ndata: \"b\":2}\n\ndata: second\n\n";
    let expected: [(Option<String>, String); 2] =
        [(Some("e".into()), "{\"a\":1,\n\"b\":2}".into()), (None, "second".into())];
    let bodies = [
        plain.to_owned(),
        plain.replace('\n', "\r\n"),
        plain.replace('\n', "\r"),
        plain.replace("\n\n", "\n\r\n"),
        plain.replace("\n\n", "\r\n\r"),
        plain.replace(": ", ":"),
    ];
    for body in bodies {
        assert_eq!(events(&body), expected, "{body:?}");
        let (seen, error, _) = run(&Limits::default(), body.as_bytes().chunks(1));
        assert_eq!((seen.len(), error), (2, None), "{body:?} byte by byte");
    }
}

/// [HT-05]
#[test]
fn an_event_is_there_as_soon_as_its_blank_line_is() {
    for end in ["\n\n", "\r\r", "\r\n\r\n", "\n\r", "\r\n\r"] {
        let mut framer = SseFramer::new(&Limits::default());
        let body = format!("data: now{end}");
        // A CR ends the line by itself, whatever comes behind it.
        let last = if end.ends_with("\r\n") { 2 } else { 1 };
        let (most, last) = body.split_at(body.len() - last);
        framer.push(most.as_bytes());
        assert_eq!(framer.next().unwrap(), None, "{end:?}");
        framer.push(last.as_bytes());
        let event = framer.next().unwrap().map(|event| event.data.to_owned());
        assert_eq!(event.as_deref(), Some("now"), "{end:?}");
        assert_eq!(framer.next().unwrap(), None, "{end:?}");
    }
}

/// [HT-06]
#[test]
fn data_lines_are_joined_and_lose_one_space() {
    assert_eq!(data("data: a\ndata:b\ndata:  c\ndata\ndata:\td\n\n"), ["a\nb\n c\n\n\td"]);
    assert_eq!(data("data:\ndata:\n\n"), ["\n"]);
    assert_eq!(data("data: x \n\n"), ["x "]);
}

/// [HT-06]
#[test]
fn data_lines_are_joined_over_reads_too() {
    let body = "data: one\ndata: two\ndata: three\n\ndata: four\n\n".as_bytes();
    for size in 1..body.len() {
        let (seen, error, _) = run(&Limits::default(), body.chunks(size));
        let data: Vec<_> = seen.iter().map(|(_, data, _)| data.as_str()).collect();
        assert_eq!((data.as_slice(), error), (["one\ntwo\nthree", "four"].as_slice(), None), "{size}");
    }
}

/// [HT-07]
#[test]
fn one_leading_byte_order_mark_is_removed() {
    let body = "\u{feff}event: start\ndata: a\u{feff}b\n\n\u{feff}data: lost\n\ndata: \u{feff}c\n\n";
    for size in 1..body.len() {
        let (seen, error, _) = run(&Limits::default(), body.as_bytes().chunks(size));
        let expected: [Seen; 2] =
            [(Some("start".into()), "a\u{feff}b".into(), 1), (None, "\u{feff}c".into(), 2)];
        assert_eq!((seen.as_slice(), error), (expected.as_slice(), None), "{size}");
    }
    assert_eq!(data("\u{feff}\u{feff}data: a\n\ndata: b\n\n"), ["b"], "a second one is part of the field");
}

/// [HT-08]
#[test]
fn a_last_event_without_its_blank_line_is_delivered() {
    for body in
        ["data: a\n\nevent: e\ndata: z", "data: a\n\nevent: e\ndata: z\n", "data: a\n\nevent: e\ndata: z\r"]
    {
        assert_eq!(events(body), [(None, "a".into()), (Some("e".into()), "z".into())], "{body:?}");
    }
    assert_eq!(data("data: a\n\nevent: e\nid: 1"), ["a"]);
    assert_eq!(data("data: a\n\nda"), ["a"]);
}

/// [HT-08]
#[test]
fn the_end_can_be_asked_for_again() {
    let mut framer = SseFramer::new(&Limits::default());
    framer.push(b"data: last");
    assert_eq!(framer.next().unwrap(), None);
    assert!(framer.end().unwrap().is_some());
    assert_eq!(framer.end().unwrap(), None);
    assert_eq!(framer.end().unwrap(), None);
}

/// [HT-13]
#[test]
fn an_event_beyond_its_limits_is_too_large() {
    let fits = format!("{}\n", "data: x\n".repeat(10));
    assert_eq!(run(&small(), [fits.as_bytes()]).1, None);
    let lines = "data: x\n".repeat(11);
    assert_eq!(run(&small(), [lines.as_bytes()]).1, Some(ErrorClass::TooLarge));

    let kibibyte = format!("data: {}\n", "a".repeat(1018));
    let fits = kibibyte.repeat(4);
    assert_eq!(run(&small(), [fits.as_bytes()]).1, None, "4 x 1018 and 3 line feeds");
    let (seen, error, _) = run(&small(), [kibibyte.repeat(5).as_bytes()]);
    assert_eq!((seen.len(), error), (0, Some(ErrorClass::TooLarge)));
}

/// [HT-13]
#[test]
fn comments_between_data_lines_take_no_memory() {
    let mut framer = SseFramer::new(&small());
    framer.push(b"data: a\n");
    for _ in 0..1_000 {
        framer.push(b": still thinking\n");
        assert_eq!(framer.next().unwrap(), None);
    }
    assert!(framer.lines.capacity() <= 4096, "{}", framer.lines.capacity());
    framer.push(b"\n");
    assert_eq!(framer.next().unwrap().unwrap().data, "a");
}

/// [HT-13]
#[test]
fn fields_of_any_kind_count_as_lines_of_an_event() {
    for field in ["event: x\n", "id: 7\n", "retry: 1\n", "data\n", "id\n"] {
        let fits = format!("{}data: x\n\n", field.repeat(9));
        assert_eq!(run(&small(), [fits.repeat(3).as_bytes()]).1, None, "{field}");
        assert_eq!(run(&small(), [field.repeat(11).as_bytes()]).1, Some(ErrorClass::TooLarge), "{field}");
    }
}

/// [HT-29]
#[test]
fn what_gives_no_event_has_an_end() {
    let limits = Limits { idle_bytes: 1000, ..Limits::default() };
    for quiet in
        [": ping\n\n", "\n", "\r\n", "event: x\n\n", "id: 1\n", "retry: 5\n\n", "other: 1\n", "nonsense\n"]
    {
        let least = quiet.len() - quiet.matches('\r').count();
        let fits = quiet.repeat(1000 / least);
        let body = format!("{fits}data: x\n\n").repeat(3);
        let (seen, error, _) = run(&limits, [body.as_bytes()]);
        assert_eq!((seen.len(), error), (3, None), "an event begins anew: {quiet:?}");
        let mut framer = SseFramer::new(&limits);
        let stopped_at = (1..=100_000).find(|_| {
            framer.push(quiet.as_bytes());
            framer.next().is_err_and(|error| error.class() == ErrorClass::TooLarge)
        });
        assert_eq!(stopped_at, Some(1000 / least + 1), "{quiet:?}");
        assert!(framer.lines.capacity() <= 4096 && framer.foreign.capacity() <= 4096, "{quiet:?}");
    }
}

/// [HT-19]
#[test]
fn a_body_that_is_no_stream_says_what_it_says() {
    let said = |body: &str| {
        let mut framer = SseFramer::new(&Limits::default());
        framer.push(body.as_bytes());
        while framer.next().unwrap().is_some() {}
        framer.end().map(|event| event.is_some()).map_err(|error| {
            assert_eq!(error.class(), ErrorClass::Protocol);
            let excerpt = error.excerpt().unwrap().to_owned();
            assert!(error.message().ends_with(&excerpt), "{error}");
            excerpt
        })
    };
    let proxy = "upstream connect error or disconnect/reset before headers";
    assert_eq!(said(proxy), Err(proxy.to_owned()));
    assert_eq!(said("\"quota exceeded\""), Err("\"quota exceeded\"".to_owned()));
    assert_eq!(said(": hi\n\nid: 1\n\nerror: no\r\nretry later\n"), Err("error: no retry later".to_owned()));
    assert_eq!(said(&"word\n".repeat(100_000)).unwrap_err().chars().count(), 301);
    assert_eq!(said("notice\n\ndata: x"), Ok(true), "a line of another kind before an event is passed over");
    for cut in
        ["", " ", "\u{feff}", ": cut", "d", "dat", "data", "data:", "ev", "event: x", "i", "retr", "retry: 1"]
    {
        assert!(matches!(said(cut), Ok(false)), "{cut:?} may be a stream that was cut");
    }
    assert_eq!(said("dat\n"), Err("dat".to_owned()), "a whole line is what it is");
}

/// [HT-12]
#[test]
fn a_line_without_end_stops_at_the_limit() {
    let limits = Limits { line: 1200 * 1024, ..Limits::default() };
    let mut framer = SseFramer::new(&limits);
    let chunk = [b'a'; 16 * 1024];
    framer.push(b"data: ");
    // 256 MiB are on offer.
    let stopped_at = (1..=16 * 1024).find(|_| {
        framer.push(&chunk);
        framer.next().is_err_and(|error| error.class() == ErrorClass::TooLarge)
    });
    assert_eq!(stopped_at, Some(75), "in the chunk that passes the limit");
    let held = framer.lines.capacity();
    assert!(held <= limits.line + 2 * 64 * 1024, "{held} bytes are held");
}

/// [HT-11]
#[test]
fn the_work_is_linear_in_the_bytes() {
    let mib = 1024 * 1024;
    let long = format!("data: {}\n\n", "a".repeat(16 * mib));
    let many = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"}}]}\n\n".repeat(20_000);
    let lines = format!("{}\n", "data: 0123456789\n".repeat(60_000));
    let bodies =
        [(&long, vec![16 * 1024, long.len()]), (&many, vec![7, 1024, many.len()]), (&lines, vec![5, 1024])];
    for (body, sizes) in bodies {
        for size in sizes {
            let (seen, error, framer) = run(&Limits::default(), body.as_bytes().chunks(size));
            assert_eq!((seen.is_empty(), error), (false, None));
            let work = framer.lines.work;
            // Each byte is copied in, searched, and moved once at most.
            assert!(work <= 3 * body.len() + 1024, "{work} for {} bytes in pieces of {size}", body.len());
        }
    }
}

/// What the standard says, over the whole text at once.
fn by_the_book(body: &str) -> Vec<(Option<String>, String)> {
    let text = body.strip_prefix('\u{feff}').unwrap_or(body).replace("\r\n", "\n").replace('\r', "\n");
    let (mut found, mut name, mut data): (Vec<_>, String, Option<String>) = Default::default();
    for line in text.split('\n').chain([""]) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" if line.is_empty() => {
                if let Some(data) = data.take().filter(|data| !data.is_empty()) {
                    found.push((Some(name.clone()).filter(|name| !name.is_empty()), data));
                }
                name.clear();
            }
            "event" => name = value.to_owned(),
            "data" => data = Some(data.map_or_else(|| value.to_owned(), |data| data + "\n" + value)),
            _ => {}
        }
    }
    found
}

/// Whether a body holds a line that the standard has no meaning for.
fn is_foreign(body: &str) -> bool {
    let mut lines = body.strip_prefix('\u{feff}').unwrap_or(body).split(['\n', '\r']);
    lines.any(|line| !matches!(line.split(':').next(), Some("" | "data" | "event" | "id" | "retry")))
}

/// [HT-10] [HT-19] Random bodies out of the grammar's pieces, cut at random and byte by byte.
#[test]
fn any_cutting_gives_what_the_standard_says() {
    let end = prop_oneof![4 => Just("\n"), 2 => Just("\r\n"), 2 => Just("\r")];
    let content = prop_oneof![
        6 => "(data|data:|data: |data:  )[a-c{}:é🙂]{0,6}",
        2 => "event: ?[a-z]{0,4}",
        2 => "(id|retry|other|error): [0-9]{0,3}",
        1 => ":[ a-z]{0,5}",
        5 => Just(String::new()),
    ];
    let line = (content, end).prop_map(|(content, end)| content + end);
    let lines = prop_oneof![4 => proptest::collection::vec(line.clone(), 0..24), 1 => proptest::collection::vec(line, 1..4)];
    let body = (any::<bool>(), lines, "(data: tail)?").prop_map(|(mark, lines, tail)| {
        format!("{}{}{tail}", if mark { "\u{feff}" } else { "" }, lines.concat())
    });
    let cuts = proptest::collection::vec(any::<prop::sample::Index>(), 0..8);
    let (cases, rich, foreign) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let config = Config { cases: 2_000, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&(body, cuts), |(body, cuts)| {
            let expected = by_the_book(&body);
            let no_stream = expected.is_empty() && is_foreign(&body);
            let failure = no_stream.then_some(ErrorClass::Protocol);
            let bytes = body.as_bytes();
            let mut at: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            at.extend([0, bytes.len()]);
            at.sort_unstable();
            let pieces = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
            let cut_here = run(&Limits::default(), pieces);
            let bytewise = run(&Limits::default(), bytes.chunks(1));
            for (seen, error, _) in [cut_here, bytewise] {
                prop_assert_eq!(error, failure);
                let numbers: Vec<u64> = seen.iter().map(|event: &Seen| event.2).collect();
                prop_assert!(numbers.iter().copied().eq(1..=numbers.len() as u64));
                let seen: Vec<_> = seen.into_iter().map(|(name, data, _)| (name, data)).collect();
                prop_assert_eq!(&seen, &expected);
            }
            cases.set(cases.get() + 1);
            foreign.set(foreign.get() + usize::from(no_stream));
            rich.set(rich.get() + usize::from(expected.len() >= 2));
            Ok(())
        })
        .unwrap();
    assert!(rich.get() * 4 >= cases.get(), "{} of {} bodies had two events", rich.get(), cases.get());
    assert!(foreign.get() * 50 >= cases.get(), "{} of {} were no stream", foreign.get(), cases.get());
}

proptest! {
    #![proptest_config(Config { cases: 2_000, failure_persistence: None, ..Config::default() })]

    /// [HT-10] Bytes of any kind: no panic, and cutting changes neither the events nor the error.
    #[test]
    fn any_bytes_are_read_alike_however_cut(
        body in proptest::collection::vec(prop_oneof![
            Just(b'\n'), Just(b'\r'), Just(b':'), Just(b' '), Just(b'd'), Just(0xEF), Just(0xBB), Just(0xBF), any::<u8>(),
        ], 0..200),
        size in 1_usize..16,
    ) {
        let body = [b"data: ".as_slice(), &body, b"\n\n"].concat();
        let (whole, failed, _) = run(&small(), [body.as_slice()]);
        let (cut, failed_too, _) = run(&small(), body.chunks(size));
        prop_assert_eq!(whole, cut);
        prop_assert_eq!(failed, failed_too);
    }
}
