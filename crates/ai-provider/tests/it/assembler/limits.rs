use ai_provider::*;
use serde_json::json;

use super::{call, fold_within, input_delta, input_end, input_start, whole};
use crate::support::finish;

fn limits(bytes: usize, parts: usize) -> AssemblyLimits {
    let mut limits = AssemblyLimits::default();
    (limits.bytes, limits.parts) = (bytes, parts);
    limits
}

/// The least limit of bytes under which these parts pass.
fn weight(parts: &[StreamPart]) -> usize {
    let passes = |bytes: usize| fold_within(limits(bytes, 100), parts).1.is_none();
    let (mut low, mut high) = (0, 1 << 20);
    assert!(passes(high));
    while low < high {
        let middle = (low + high) / 2;
        if passes(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

fn metadata(size: usize) -> Option<Box<ProviderMetadata>> {
    let values = ProviderOptions::default().with("x", "signature", json!("s".repeat(size)));
    Some(Box::new(ProviderMetadata { origin: None, values }))
}

/// [PV-43]
#[test]
fn the_defaults_are_those_of_the_documentation() {
    let limits = AssemblyLimits::default();
    assert_eq!((limits.bytes, limits.parts), (64 * 1024 * 1024, 10_000));
}

/// [PV-43, PV-44]
#[test]
fn the_last_byte_below_the_limit_passes_and_the_next_one_does_not() {
    let parts = [
        StreamPart::text_start("0"),
        StreamPart::text_delta("0", "12345"),
        StreamPart::text_delta("0", "67890"),
    ];
    let least = weight(&parts);
    let (assembled, error) = fold_within(limits(least - 1, 100), &parts);
    let error = error.unwrap();
    assert_eq!(error.class(), ErrorClass::TooLarge);
    assert_eq!(error.message(), format!("the answer has more than {} bytes", least - 1));
    assert!(!error.retryable());
    assert_eq!(assembled.message.text(), "12345", "what came before is kept, and of the rest nothing");
    assert!(assembled.incomplete);
}

/// [PV-43]
#[test]
fn one_part_more_than_the_limit_is_too_many() {
    let starts = [
        StreamPart::text_start("0"),
        StreamPart::reasoning_start("0"),
        input_start("c"),
        call("d", "{}"),
        StreamPart::File(Box::new(FilePart::new("image", FileData::Url { url: "u".into() }))),
    ];
    for (at, part) in starts.iter().enumerate() {
        let parts: Vec<_> = (0..at).map(|n| call(&n.to_string(), "{}")).chain([part.clone()]).collect();
        assert!(fold_within(limits(1_000, at + 1), &parts).1.is_none());
        let (assembled, error) = fold_within(limits(1_000, at), &parts);
        let error = error.unwrap();
        assert_eq!(error.class(), ErrorClass::TooLarge);
        assert_eq!(error.message(), format!("the answer has more than {at} parts"));
        assert_eq!(assembled.message.parts.len(), at);
    }
}

/// [PV-45]
#[test]
fn everything_that_is_held_counts() {
    const SIZE: usize = 5_000;
    let long = || "l".repeat(SIZE);
    let file = |data| FilePart::new("image", data);
    let result = ToolResult::new("c", "tool", ToolOutput::Json(json!([long()])));
    let source = Source::Url { id: "s".into(), url: long(), title: None, metadata: None };
    let custom = CustomPart { kind: "x.y".into(), options: Default::default(), metadata: metadata(SIZE) };
    let ask = ToolApprovalRequest { approval_id: long().into(), tool_call_id: "c".into() };
    let named = StreamPart::ToolInputStart {
        id: "c".into(),
        tool_name: long(),
        provider_executed: false,
        dynamic: false,
        title: None,
    };
    let with_metadata = ToolCall { metadata: metadata(SIZE), ..ToolCall::new("c", "tool", "{}") };
    let named_file = FilePart { filename: Some(long()), ..file(FileData::bytes(vec![1])) };
    let typed_file = FilePart { media_type: long(), ..file(FileData::bytes(vec![1])) };
    let text = |metadata| StreamPart::TextDelta { id: "0".into(), delta: String::new(), metadata };
    let reasoning = |metadata| StreamPart::ReasoningDelta { id: "0".into(), delta: String::new(), metadata };
    let cases: Vec<(&str, Vec<StreamPart>)> = vec![
        ("text", vec![StreamPart::text_start("0"), StreamPart::text_delta("0", long())]),
        ("reasoning", vec![StreamPart::reasoning_start("0"), StreamPart::reasoning_delta("0", long())]),
        ("input", vec![input_start("c"), input_delta("c", &long())]),
        ("id of a block", vec![StreamPart::text_start(long())]),
        ("id of a call", vec![call(&long(), "{}")]),
        ("name of a tool", vec![named]),
        ("name in a call", vec![StreamPart::ToolCall(Box::new(ToolCall::new("c", long(), "{}")))]),
        ("whole call", vec![call("c", &long())]),
        ("call longer than its stream", vec![input_start("c"), input_end("c"), call("c", &long())]),
        ("metadata of a start", vec![StreamPart::TextStart { id: "0".into(), metadata: metadata(SIZE) }]),
        ("metadata of a delta", vec![StreamPart::text_start("0"), text(metadata(SIZE))]),
        ("signature", vec![StreamPart::reasoning_start("0"), reasoning(metadata(SIZE))]),
        (
            "metadata of an end",
            vec![
                StreamPart::text_start("0"),
                StreamPart::TextEnd { id: "0".into(), metadata: metadata(SIZE) },
            ],
        ),
        ("metadata of a call", vec![StreamPart::ToolCall(Box::new(with_metadata))]),
        ("result", vec![StreamPart::ToolResult(Box::new(result))]),
        ("source", vec![StreamPart::Source(Box::new(source))]),
        ("custom", vec![StreamPart::Custom(custom)]),
        ("approval", vec![StreamPart::ToolApprovalRequest(ask)]),
        ("file", vec![StreamPart::File(Box::new(file(FileData::bytes(vec![0; SIZE]))))]),
        ("file as text", vec![StreamPart::File(Box::new(file(FileData::Text { text: long() })))]),
        ("file elsewhere", vec![StreamPart::File(Box::new(file(FileData::Url { url: long() })))]),
        ("name of a file", vec![StreamPart::File(Box::new(named_file))]),
        ("type of a file", vec![StreamPart::File(Box::new(typed_file))]),
        (
            "file of reasoning",
            vec![StreamPart::ReasoningFile(Box::new(file(FileData::bytes(vec![0; SIZE]))))],
        ),
    ];
    for (what, parts) in cases {
        let weight = weight(&parts);
        assert!((SIZE..SIZE + 300).contains(&weight), "{what}: {weight}");
        let (_, error) = fold_within(limits(SIZE - 1, 100), &parts);
        assert_eq!(error.unwrap().class(), ErrorClass::TooLarge, "{what}");
    }
}

/// [PV-46]
#[test]
fn what_is_not_held_does_not_count() {
    let long = "l".repeat(5_000);
    let preliminary =
        ToolResult { preliminary: true, ..ToolResult::new("c", "tool", ToolOutput::Text(long.clone())) };
    let passing = [
        StreamPart::Raw { raw_value: json!(long) },
        StreamPart::ToolResult(Box::new(preliminary)),
        finish(UnifiedFinish::Stop),
    ];
    assert_eq!(weight(&passing), 0);
    assert!(fold_within(limits(0, 0), &passing).1.is_none());

    let input = format!("{{\"a\":\"{long}\"}}");
    let streamed = [input_start("c"), input_delta("c", &input), input_end("c"), call("c", &input)];
    let weight = weight(&streamed);
    assert!(weight < input.len() + 300, "the input counts once, not with its stream: {weight}");
}

/// [PV-44]
#[test]
fn a_refused_call_leaves_its_streamed_input_incomplete() {
    let streamed = [input_start("c"), input_delta("c", "{}"), input_end("c")];
    let parts: Vec<_> = streamed.into_iter().chain([call("c", &"x".repeat(5_000))]).collect();
    let (assembled, error) = fold_within(limits(1_000, 100), &parts);
    assert_eq!(error.unwrap().class(), ErrorClass::TooLarge);
    assert_eq!(assembled.message.tool_calls().count(), 0);
    assert_eq!(assembled, whole(&parts[..3]));
}
