use ai_provider::ErrorClass;

use super::*;

fn run(limit: usize, pieces: &[&[u8]]) -> Result<Option<String>, ErrorClass> {
    let mut framer = WholeFramer::new(&Limits { body: limit, ..Limits::default() });
    for piece in pieces {
        framer.push(piece);
        assert_eq!(framer.next().map_err(|error| error.class())?, None);
    }
    let data = framer.end().map_err(|error| error.class())?.map(|event| {
        assert_eq!((event.name, event.number), (None, 1));
        event.data.to_owned()
    });
    assert_eq!(framer.end().unwrap(), None);
    Ok(data)
}

/// [HT-15]
#[test]
fn the_body_is_one_event() {
    let body = "\u{feff}\n {\"é\":\n1} \r\n".as_bytes();
    let pieces: Vec<_> = body.chunks(1).collect();
    assert_eq!(run(100, &[body]), Ok(Some("{\"é\":\n1}".into())));
    assert_eq!(run(100, &pieces), Ok(Some("{\"é\":\n1}".into())));
    for blank in [b"".as_slice(), b" \n", b"\xEF\xBB\xBF\n"] {
        assert_eq!(run(100, &[blank]), Ok(None), "{blank:?}");
    }
}

/// [HT-15] [HT-02]
#[test]
fn a_body_beyond_its_limit_or_that_is_no_text_is_an_error() {
    assert_eq!(run(4, &[b"1234"]), Ok(Some("1234".into())));
    assert_eq!(run(4, &[b"123", b"45"]), Err(ErrorClass::TooLarge));
    assert_eq!(run(100, &[b"{\xFF}"]), Err(ErrorClass::Protocol));
    assert_eq!(run(100, &[b"{\"\xE5\x8C"]), Err(ErrorClass::Incomplete));
}

/// [HT-15]
#[test]
fn no_more_than_the_limit_is_held() {
    let mut framer = WholeFramer::new(&Limits { body: 1000, ..Limits::default() });
    for _ in 0..1000 {
        framer.push(&[b' '; 4096]);
    }
    assert_eq!(framer.next().unwrap_err().class(), ErrorClass::TooLarge);
    assert_eq!(framer.bytes.len(), 1001);
}
