use ai_provider::ErrorClass;

use super::*;

fn run<'a>(limits: &Limits, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<String>, Option<ErrorClass>) {
    let mut framer = LinesFramer::new(limits);
    let mut seen = Vec::new();
    let mut numbers = 0;
    let mut take = |event: Event<'_>| {
        numbers += 1;
        assert_eq!((event.name, event.number), (None, numbers));
        seen.push(event.data.to_owned());
    };
    let result = (|| {
        for piece in pieces {
            framer.push(piece);
            while let Some(event) = framer.next()? {
                take(event);
            }
        }
        while let Some(event) = framer.end()? {
            take(event);
        }
        Ok::<_, ModelError>(())
    })();
    (seen, result.err().map(|error| error.class()))
}

/// [HT-14]
#[test]
fn each_line_that_is_not_blank_is_an_event() {
    let body = "{\"a\":1}\n\n  {\"b\":\"é\"}\r\n \r{\"c\":3}\r{\"d\":4}".as_bytes();
    for size in 1..=body.len() {
        let (seen, error) = run(&Limits::default(), body.chunks(size));
        assert_eq!(seen, ["{\"a\":1}", "{\"b\":\"é\"}", "{\"c\":3}", "{\"d\":4}"], "{size}");
        assert_eq!(error, None);
    }
    assert_eq!(run(&Limits::default(), [b" \n\r\n".as_slice()]), (vec![], None));
}

/// [HT-14] [HT-12] [HT-02]
#[test]
fn a_bad_line_is_an_error() {
    let limits = Limits { line: 8, ..Limits::default() };
    assert_eq!(
        run(&limits, [b"12345678\n123456789\n".as_slice()]),
        (vec!["12345678".into()], Some(ErrorClass::TooLarge))
    );
    assert_eq!(run(&limits, [b"1234".as_slice(), b"56789"]), (vec![], Some(ErrorClass::TooLarge)));
    assert_eq!(run(&limits, [b"a\xFF\n".as_slice()]).1, Some(ErrorClass::Protocol));
    assert_eq!(run(&limits, [b"a\xE5".as_slice()]).1, Some(ErrorClass::Incomplete));
}

/// [HT-29]
#[test]
fn blank_lines_have_an_end() {
    let limits = Limits { idle_bytes: 100, ..Limits::default() };
    let fits = format!("{}{{}}\n", "   \n".repeat(25));
    assert_eq!(run(&limits, [fits.repeat(3).as_bytes()]), (vec!["{}".to_owned(); 3], None));
    assert_eq!(run(&limits, ["\n".repeat(101).as_bytes()]).1, Some(ErrorClass::TooLarge));
}

/// [HT-12]
#[test]
fn a_buffer_grows_to_its_limit_and_not_beyond() {
    let limit = 600 * 1024;
    let mut bytes = Vec::new();
    for _ in 0..600 {
        grow(&mut bytes, 1024, limit);
        bytes.extend_from_slice(&[0; 1024]);
    }
    assert!(bytes.capacity() <= limit + SLACK, "{}", bytes.capacity());
}
