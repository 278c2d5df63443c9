//! The conformance suite of the kit, run on every adapter of ours.

use serde_json::Value;

mod anthropic_messages;
mod google_generate_content;
mod openai_chat;
mod openai_responses;

/// Events with their type as their name.
fn events(frames: &[Value]) -> String {
    let named = |frame: &Value| format!("event: {}\ndata: {frame}\n\n", frame["type"].as_str().unwrap());
    frames.iter().map(named).collect()
}
