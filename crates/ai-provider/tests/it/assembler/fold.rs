use ai_provider::*;
use proptest::prelude::*;
use serde_json::json;

use super::{call, input_delta, input_end, input_start, whole};
use crate::support::answer::answer;
use crate::support::strategies::{custom, file, finish_reason, metadata, response, source, usage, warning};
use crate::support::{check, finish};

/// [PV-21, PV-22]
#[test]
fn blocks_fold_by_id_however_they_interleave() {
    let met = check(1_000, answer(), |answer, met| {
        let assembled = whole(&answer.parts);
        prop_assert_eq!(&assembled.message.parts, &answer.message);
        prop_assert!(!assembled.incomplete && assembled.incomplete_calls.is_empty());
        if answer.interleaved {
            met.note("interleaved");
        }
        let shared = |part: &StreamPart| matches!(part, StreamPart::ReasoningStart { id, .. } if *id == "0");
        let text = |part: &StreamPart| matches!(part, StreamPart::TextStart { id, .. } if *id == "0");
        if answer.parts.iter().any(shared) && answer.parts.iter().any(text) {
            met.note("one id in two kinds");
        }
        Ok(())
    });
    met.at_least(50, ["interleaved"]);
    met.at_least(20, ["one id in two kinds"]);
}

/// [PV-21]
#[test]
fn interleaved_blocks_stand_in_the_order_in_which_they_began() {
    let assembled = whole(&[
        StreamPart::reasoning_start("0"),
        StreamPart::text_start("0"),
        input_start("c"),
        StreamPart::text_delta("0", "Hel"),
        input_delta("c", "{\"a\""),
        StreamPart::reasoning_delta("0", "H"),
        StreamPart::text_delta("0", "lo"),
        StreamPart::text_end("0"),
        input_delta("c", ":1}"),
        StreamPart::reasoning_delta("0", "m"),
        call("d", "{}"),
        input_end("c"),
        call("c", "{\"a\":1}"),
        StreamPart::reasoning_end("0"),
        finish(UnifiedFinish::ToolCalls),
    ]);
    let expected = [
        AssistantPart::Reasoning(ReasoningPart::new("Hm")),
        AssistantPart::Text(TextPart::new("Hello")),
        AssistantPart::ToolCall(ToolCall::new("c", "tool", "{\"a\":1}")),
        AssistantPart::ToolCall(ToolCall::new("d", "tool", "{}")),
    ];
    assert_eq!(assembled.message.parts, expected);
    assert_eq!(assembled.message.text(), "Hello");
    let calls: Vec<_> = assembled.message.tool_calls().map(|call| call.id.as_str()).collect();
    assert_eq!(calls, ["c", "d"]);
}

/// [PV-23]
#[test]
fn the_call_itself_decides_not_its_streamed_input() {
    let authoritative = ToolCall { name: "other".into(), ..ToolCall::new("c", "tool", r#"{"n":1}"#) };
    let assembled = whole(&[
        input_start("c"),
        input_delta("c", r#"{ "n": 1 }"#),
        input_end("c"),
        StreamPart::ToolCall(Box::new(authoritative.clone())),
    ]);
    assert_eq!(assembled.message.parts, [AssistantPart::ToolCall(authoritative)]);
    assert!(assembled.incomplete_calls.is_empty());
}

/// [PV-24]
#[test]
fn whole_parts_are_kept_as_they_are() {
    let met = check(200, (file(), source(), custom()), |(file, source, custom), met| {
        let assembled = whole(&[
            StreamPart::File(Box::new(file.clone())),
            StreamPart::Source(Box::new(source.clone())),
            StreamPart::ReasoningFile(Box::new(file.clone())),
            StreamPart::Custom(custom.clone()),
        ]);
        if file.metadata.is_some() && custom.metadata.is_some() {
            met.note("with metadata");
        }
        let expected = [
            AssistantPart::File(file.clone()),
            AssistantPart::Source(source),
            AssistantPart::ReasoningFile(file),
            AssistantPart::Custom(custom),
        ];
        prop_assert_eq!(assembled.message.parts, expected);
        Ok(())
    });
    met.at_least(5, ["with metadata"]);
    let asked = ToolApprovalRequest { approval_id: "a".into(), tool_call_id: "c".into() };
    let assembled = whole(&[call("c", "{}"), StreamPart::ToolApprovalRequest(asked.clone())]);
    assert_eq!(assembled.message.parts[1], AssistantPart::ToolApprovalRequest(asked));
}

/// [PV-25]
#[test]
fn of_the_results_of_a_call_the_final_one_is_kept() {
    let result = |text: &str, preliminary| {
        let output = ToolOutput::Text(text.into());
        ToolResult { preliminary, provider_executed: true, ..ToolResult::new("c", "tool", output) }
    };
    let assembled = whole(&[
        call("c", "{}"),
        StreamPart::ToolResult(Box::new(result("1 %", true))),
        StreamPart::ToolResult(Box::new(result("50 %", true))),
        StreamPart::ToolResult(Box::new(result("done", false))),
    ]);
    assert_eq!(assembled.message.parts[1..], [AssistantPart::ToolResult(result("done", false))]);
    let cut = whole(&[call("c", "{}"), StreamPart::ToolResult(Box::new(result("1 %", true)))]);
    assert_eq!(cut.message.parts.len(), 1);
}

/// [PV-26]
#[test]
fn what_is_not_content_stands_beside_the_message() {
    let strategy = (proptest::collection::vec(warning(), 0..3), finish_reason(), usage(), metadata());
    check(200, strategy, |(warnings, reason, usage, metadata), _| {
        let finish = Finish { reason: reason.clone(), usage: usage.clone(), metadata: metadata.clone() };
        let assembled = whole(&[
            StreamPart::StreamStart { warnings: warnings.clone() },
            StreamPart::Raw { raw_value: json!({ "frame": 1 }) },
            StreamPart::Finish(Box::new(finish)),
        ]);
        prop_assert!(assembled.message.parts.is_empty() && !assembled.incomplete);
        prop_assert_eq!(assembled.warnings, warnings);
        prop_assert_eq!(assembled.finish, Some(reason));
        prop_assert_eq!((assembled.usage, assembled.metadata), (usage, metadata));
        Ok(())
    });
}

/// [PV-27]
#[test]
fn later_response_metadata_completes_the_earlier() {
    let met = check(300, (response(), response()), |(first, second), met| {
        let assembled = whole(&[
            StreamPart::ResponseMetadata(Box::new(first.clone())),
            StreamPart::ResponseMetadata(Box::new(second.clone())),
        ]);
        if first.id.is_some() && second.id.is_none() {
            met.note("known, then absent");
        }
        let expected = ResponseMetadata {
            id: second.id.or(first.id),
            timestamp: second.timestamp.or(first.timestamp),
            asked_model: second.asked_model.or(first.asked_model),
            model: second.model.or(first.model),
        };
        prop_assert_eq!(assembled.response, expected);
        Ok(())
    });
    met.at_least(10, ["known, then absent"]);
}
