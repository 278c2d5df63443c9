use ai_provider::*;

use super::{call, input_end, input_start, whole};

fn text(text: &str) -> Vec<StreamPart> {
    vec![StreamPart::text_start("0"), StreamPart::text_delta("0", text), StreamPart::text_end("0")]
}

fn file() -> FilePart {
    FilePart::new("image/png", FileData::bytes(vec![1]))
}

/// [PV-35]
#[test]
fn blank_text_reasoning_and_sources_are_no_answer() {
    let source = Source::Url { id: "s".into(), url: "u".into(), title: None, metadata: None };
    let reasoning = vec![
        StreamPart::reasoning_start("0"),
        StreamPart::reasoning_delta("0", "Let me think."),
        StreamPart::reasoning_end("0"),
    ];
    let empty = [
        vec![],
        vec![StreamPart::text_start("0")],
        text(""),
        text(" \n\t\u{a0}\u{3000}"),
        reasoning.clone(),
        vec![StreamPart::Source(Box::new(source.clone()))],
        vec![StreamPart::ReasoningFile(Box::new(file()))],
        [text(" "), reasoning, vec![StreamPart::Source(Box::new(source))]].concat(),
    ];
    for parts in empty {
        let assembled = whole(&parts);
        assert!(assembled.is_empty() && assembled.message.is_empty(), "{parts:?}");
    }
}

/// [PV-36]
#[test]
fn everything_else_is_an_answer() {
    let custom = CustomPart { kind: "x.y".into(), options: Default::default(), metadata: None };
    let asked = ToolApprovalRequest { approval_id: "a".into(), tool_call_id: "c".into() };
    let result = ToolResult::new("c", "tool", ToolOutput::Text(String::new()));
    let full = [
        text("."),
        text("\u{200b}"),
        vec![call("c", "{}")],
        vec![StreamPart::File(Box::new(file()))],
        vec![StreamPart::Custom(custom)],
        vec![StreamPart::ToolResult(Box::new(result))],
        vec![StreamPart::ToolApprovalRequest(asked)],
    ];
    for parts in full {
        let assembled = whole(&parts);
        assert!(!assembled.is_empty() && !assembled.message.is_empty(), "{parts:?}");
    }
}

/// [PV-36]
#[test]
fn a_call_that_was_begun_is_something_though_the_message_is_empty() {
    let assembled = whole(&[input_start("c"), input_end("c")]);
    assert!(!assembled.is_empty() && assembled.message.is_empty());
}
