use super::chunk::UiChunk;

/// What ends a stream of chunks: `data: [DONE]` and a blank line.
pub const SSE_DONE: &[u8] = b"data: [DONE]\n\n";

/// Appends a chunk as a server-sent event: `data: `, its JSON in one line, a blank line.
///
/// Nothing is allocated beyond the buffer: clear it and use it again.
///
/// ```
/// use agent_loop::{UiChunk, encode_sse};
/// let mut buffer = Vec::new();
/// encode_sse(&UiChunk::StartStep, &mut buffer);
/// assert_eq!(buffer, b"data: {\"type\":\"start-step\"}\n\n");
/// ```
pub fn encode_sse(chunk: &UiChunk, buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(b"data: ");
    let written = serde_json::to_writer(&mut *buffer, chunk);
    // A chunk holds text, booleans and JSON values, all of which can be written, and a buffer takes them.
    debug_assert!(written.is_ok(), "{written:?}");
    buffer.extend_from_slice(b"\n\n");
}

#[cfg(test)]
mod tests;
