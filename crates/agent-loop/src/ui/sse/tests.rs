use ai_provider::Id;
use proptest::prelude::*;

use super::super::chunk::UiChunk;
use super::*;

fn delta(text: &str) -> UiChunk {
    UiChunk::TextDelta { id: Id::from("1"), delta: text.to_owned(), provider_metadata: None }
}

/// [AL-5]
#[test]
fn a_chunk_is_one_event() {
    let mut buffer = b"kept".to_vec();
    encode_sse(&delta("a\r\nb\u{2028}c"), &mut buffer);
    let text = "keptdata: {\"type\":\"text-delta\",\"id\":\"1\",\"delta\":\"a\\r\\nb\u{2028}c\"}\n\n";
    assert_eq!(String::from_utf8(buffer).unwrap(), text);
    assert_eq!(SSE_DONE, b"data: [DONE]\n\n");
}

/// [AL-6]
#[test]
fn a_buffer_with_room_is_used_as_it_is() {
    let mut buffer = Vec::with_capacity(256);
    let at = buffer.as_ptr();
    for text in ["short", "somewhat longer", ""] {
        buffer.clear();
        encode_sse(&delta(text), &mut buffer);
        assert!(buffer.ends_with(b"\n\n"));
    }
    assert_eq!((buffer.as_ptr(), buffer.capacity()), (at, 256));
}

proptest! {
    /// [AL-5]
    #[test]
    fn any_text_is_one_line_and_reads_back(id in any::<String>(), text in any::<String>(), kind in 0..4) {
        let (id, delta, provider_metadata) = (Id::from(id), text, None);
        let chunk = match kind {
            0 => UiChunk::TextDelta { id, delta, provider_metadata },
            1 => UiChunk::ReasoningDelta { id, delta, provider_metadata },
            2 => UiChunk::ToolInputDelta { tool_call_id: id, input_text_delta: delta },
            _ => UiChunk::ToolOutputError {
                tool_call_id: id,
                error_text: delta,
                provider_executed: None,
                dynamic: Some(true),
                tool_metadata: None,
                provider_metadata,
            },
        };
        let mut buffer = Vec::new();
        encode_sse(&chunk, &mut buffer);
        let event = std::str::from_utf8(&buffer).unwrap();
        let json = event.strip_prefix("data: ").and_then(|rest| rest.strip_suffix("\n\n")).unwrap();
        prop_assert!(!json.contains(['\r', '\n']));
        prop_assert_eq!(json, serde_json::to_string(&chunk).unwrap());
        prop_assert_eq!(serde_json::from_str::<UiChunk>(json).unwrap(), chunk);
    }
}
