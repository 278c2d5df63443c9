use super::chunk::UiChunk;

/// What ends a stream of chunks: `data: [DONE]` and a blank line.
pub const SSE_DONE: &[u8] = b"data: [DONE]\n\n";

/// The headers of a response whose body is such a stream. Clients look for the version; the last one keeps proxies
/// from holding the stream back.
pub const SSE_HEADERS: [(&str, &str); 5] = [
    ("content-type", "text/event-stream"),
    ("cache-control", "no-cache"),
    ("connection", "keep-alive"),
    ("x-vercel-ai-ui-message-stream", "v1"),
    ("x-accel-buffering", "no"),
];

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
    // Nearly all chunks are bare deltas. All around their two texts is known beforehand.
    let written = match chunk {
        UiChunk::TextDelta { id, delta, provider_metadata: None } => {
            encode_delta(r#"data: {"type":"text-delta","id":"#, id, r#","delta":"#, delta, buffer)
        }
        UiChunk::ReasoningDelta { id, delta, provider_metadata: None } => {
            encode_delta(r#"data: {"type":"reasoning-delta","id":"#, id, r#","delta":"#, delta, buffer)
        }
        UiChunk::ToolInputDelta { tool_call_id: id, input_text_delta: delta } => {
            let head = r#"data: {"type":"tool-input-delta","toolCallId":"#;
            encode_delta(head, id, r#","inputTextDelta":"#, delta, buffer)
        }
        chunk => {
            buffer.extend_from_slice(b"data: ");
            serde_json::to_writer(&mut *buffer, chunk)
        }
    };
    // A chunk holds text, booleans and JSON values, all of which can be written, and a buffer takes them.
    debug_assert!(written.is_ok(), "{written:?}");
    buffer.extend_from_slice(b"\n\n");
}

fn encode_delta(
    head: &str,
    id: &str,
    middle: &str,
    delta: &str,
    buffer: &mut Vec<u8>,
) -> serde_json::Result<()> {
    buffer.extend_from_slice(head.as_bytes());
    serde_json::to_writer(&mut *buffer, id)?;
    buffer.extend_from_slice(middle.as_bytes());
    serde_json::to_writer(&mut *buffer, delta)?;
    buffer.push(b'}');
    Ok(())
}

#[cfg(test)]
mod tests;
