//! A terminal failure cannot be made by anyone without a permit.
use ai_core::{TerminalFailure, TerminalPermit};

fn main() {
    let _ = TerminalFailure(todo!());
    let _ = TerminalFailure::default();
    let _: TerminalFailure = serde_json::from_str("{}").unwrap();
    let _ = TerminalPermit { call_id: "a".into(), tool: String::new() };
}
