use proptest::prelude::*;

use super::super::samples::chunks;
use super::super::sse::{SSE_DONE, encode_sse};
use super::*;

/// All there is, with the end marker.
fn stream(chunks: &[UiChunk]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for chunk in chunks {
        encode_sse(chunk, &mut bytes);
    }
    bytes.extend_from_slice(SSE_DONE);
    bytes
}

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<UiChunk>, Result<(), UiReadError>) {
    let mut reader = SseReader::new(UiProtocol::Latest);
    let mut chunks = Vec::new();
    for piece in pieces {
        if let Err(error) = reader.push(piece, &mut chunks) {
            return (chunks, Err(error));
        }
    }
    (chunks, reader.end())
}

/// [AL-204]
#[test]
fn every_chunk_reads_back_from_bytes_cut_in_two_anywhere() {
    let chunks = chunks();
    let bytes = stream(&chunks);
    for at in 0..=bytes.len() {
        let (head, tail) = bytes.split_at(at);
        assert_eq!(read([head, tail]), (chunks.clone(), Ok(())), "cut at {at}");
    }
    assert_eq!(read(bytes.chunks(1)), (chunks, Ok(())));
}

proptest! {
    /// [AL-204]
    #[test]
    fn text_of_any_kind_reads_back_from_any_pieces(
        texts in proptest::collection::vec(any::<String>(), 1..6),
        line_end in prop::sample::select(vec!["\n", "\r\n", "\r"]),
        sizes in proptest::collection::vec(1usize..50, 1..8),
    ) {
        let delta = |delta: &String| UiChunk::TextDelta { id: "1".into(), delta: delta.clone(), provider_metadata: None };
        let chunks: Vec<_> = texts.iter().map(delta).collect();
        let text = String::from_utf8(stream(&chunks)).unwrap().replace('\n', line_end);
        let (mut rest, mut pieces, mut sizes) = (text.as_bytes(), Vec::new(), sizes.iter().cycle());
        while !rest.is_empty() {
            let (piece, tail) = rest.split_at(rest.len().min(*sizes.next().unwrap()));
            pieces.push(piece);
            rest = tail;
        }
        prop_assert_eq!(read(pieces), (chunks, Ok(())));
    }

    /// [AL-205]
    #[test]
    fn any_bytes_at_all_give_chunks_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let whole = read([bytes.as_slice()]);
        prop_assert_eq!(read(bytes.chunks(1)), whole);
    }
}

/// [AL-204] [AL-205]
#[test]
fn what_else_servers_send() {
    let step = [UiChunk::StartStep];
    let all = "\u{feff}: hello\n\nevent: x\nid: 1\nretry: 5\ndata:{\"type\":\ndata: \"start-step\"}\ndatas: 1\n\n\
               data: [DONE]\n\nafterwards";
    // An event of two lines: a line end of two bytes must not count as a blank line.
    for line_end in ["\n", "\r\n", "\r"] {
        let all = all.replace('\n', line_end);
        assert_eq!(read([all.as_bytes()]), (step.to_vec(), Ok(())), "{line_end:?}");
        assert_eq!(read(all.as_bytes().chunks(1)), (step.to_vec(), Ok(())), "{line_end:?}");
    }
    // The mark stands at the beginning alone.
    let late = read(["\n\u{feff}data: {}\n\ndata: [DONE]\n\n".as_bytes()]);
    assert_eq!(late, (Vec::new(), Ok(())));
    // A line without a colon is a field without a value.
    assert!(matches!(read([b"data\n\n".as_slice()]).1, Err(UiReadError::NotJson { .. })));
    // Without its blank line an event is none.
    let cut = read([b"data: {\"type\":\"start-step\"}\n".as_slice()]);
    assert_eq!(cut, (Vec::new(), Err(UiReadError::Incomplete)));
    assert_eq!(read([b"data: [DONE]\n".as_slice()]).1, Err(UiReadError::Incomplete));
    assert_eq!(read([]).1, Err(UiReadError::Incomplete));
    assert_eq!(read([b"data: \xFF\n\n".as_slice()]).1, Err(UiReadError::NotText));
}

/// [AL-205]
#[test]
fn after_a_fault_nothing_is_read() {
    let mut reader = SseReader::new(UiProtocol::V7);
    let mut chunks = Vec::new();
    let good = b"data: {\"type\":\"start-step\"}\n\n".as_slice();
    let error = reader.push(&[good, b"data: {\n\n", good].concat(), &mut chunks).unwrap_err();
    assert_eq!(chunks, [UiChunk::StartStep]);
    assert_eq!(reader.push(good, &mut chunks), Err(error.clone()));
    assert_eq!((reader.end(), chunks.len(), reader.is_done()), (Err(error), 1, false));
}

/// [AL-206]
#[test]
fn an_event_has_a_limit() {
    let bytes = stream(&[UiChunk::StartStep]);
    let longest = "data: {\"type\":\"start-step\"}".len();
    let mut chunks = Vec::new();
    SseReader::new(UiProtocol::V7).with_limit(longest).push(&bytes, &mut chunks).unwrap();
    let limit = longest - 1;
    let small = SseReader::new(UiProtocol::V7).with_limit(limit).push(&bytes, &mut chunks);
    assert_eq!((small, chunks.len()), (Err(UiReadError::TooLarge { limit }), 1));
    // Many short lines of one event count together, comments do not.
    let mut reader = SseReader::new(UiProtocol::V7).with_limit(64);
    for _ in 0..100 {
        reader.push(b": a comment\n", &mut chunks).unwrap();
    }
    let many = (0..100).find_map(|_| reader.push(b"data: 1\n", &mut chunks).err());
    assert_eq!(many, Some(UiReadError::TooLarge { limit: 64 }));
    let endless = SseReader::new(UiProtocol::V7).push(&vec![b'x'; EVENT_LIMIT + 1], &mut chunks);
    assert_eq!(endless, Err(UiReadError::TooLarge { limit: EVENT_LIMIT }));
}
