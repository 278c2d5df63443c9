//! The conformance suite of the kit, run on every adapter of ours.

use serde_json::Value;

mod anthropic_messages;
mod google_generate_content;
mod openai_chat;
mod openai_responses;

/// What one dialect, or one model, may do otherwise than another: what is asked, and how an answer goes back. How
/// bodies are cut and read is proved on the codec.
const VARIES: [&str; 6] = ["outcome", "prompt", "requests", "prefix", "replay", "names"];

/// Events with their type as their name.
fn events(frames: &[Value]) -> String {
    let named = |frame: &Value| format!("event: {}\ndata: {frame}\n\n", frame["type"].as_str().unwrap());
    frames.iter().map(named).collect()
}
