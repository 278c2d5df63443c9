use std::collections::BTreeSet;

use ai_provider::*;
use proptest::prelude::*;

use super::{call, fold, input_delta, input_end, input_start, whole};
use crate::support::answer::{Answer, answer};
use crate::support::{check, finish};

/// What a part is about, if it belongs to a block of text, reasoning or tool input.
fn block(part: &StreamPart) -> Option<(&'static str, &Id)> {
    match part {
        StreamPart::TextStart { id, .. } => Some(("text", id)),
        StreamPart::ReasoningStart { id, .. } => Some(("reasoning", id)),
        StreamPart::ToolInputStart { id, .. } => Some(("input", id)),
        _ => None,
    }
}

fn parts_of(kind: &str, id: &Id) -> [StreamPart; 3] {
    match kind {
        "text" => [
            StreamPart::text_start(id.clone()),
            StreamPart::text_delta(id.clone(), "x"),
            StreamPart::text_end(id.clone()),
        ],
        "reasoning" => [
            StreamPart::reasoning_start(id.clone()),
            StreamPart::reasoning_delta(id.clone(), "x"),
            StreamPart::reasoning_end(id.clone()),
        ],
        _ => [input_start(id), input_delta(id, "x"), input_end(id)],
    }
}

/// Every part that breaks a rule after this beginning, with the rule's name.
fn offences(before: &[StreamPart]) -> Vec<(&'static str, StreamPart)> {
    let mut offences = Vec::new();
    if matches!(before.last(), Some(StreamPart::Finish(_))) {
        offences.push(("after finish", StreamPart::text_start("new")));
        offences.push(("after finish", finish(UnifiedFinish::Stop)));
        offences.push(("after finish", StreamPart::Raw { raw_value: 1.into() }));
        return offences;
    }
    for kind in ["text", "reasoning", "input"] {
        let [_, delta, end] = parts_of(kind, &"never".into());
        offences.extend([("never started", delta), ("never started", end)]);
    }
    for part in before {
        if let StreamPart::ToolCall(call) = part {
            offences.push(("call twice", StreamPart::ToolCall(call.clone())));
            offences.push(("started twice", input_start(&call.id)));
        }
        let Some((kind, id)) = block(part) else { continue };
        let [start, delta, end] = parts_of(kind, id);
        offences.push(("started twice", start));
        if before.contains(&end) {
            offences.extend([("after end", delta), ("after end", end)]);
        } else if kind == "input" {
            offences.push(("call before input end", call(id, "{}")));
        }
    }
    if !before.is_empty() {
        offences.push(("late start", StreamPart::StreamStart { warnings: vec![] }));
    }
    offences
}

/// [PV-37, PV-38, PV-39]
#[test]
fn any_part_out_of_order_is_a_protocol_error_that_keeps_what_came_before() {
    // First a rule, then one of the ways to break it, so that each rule has its share.
    let strategy = (answer(), any::<[proptest::sample::Index; 3]>());
    let met = check(2_000, strategy, |(Answer { parts, .. }, [at, rule, way]), met| {
        let before = &parts[..at.index(parts.len()) + 1];
        let offences = offences(before);
        let rules: Vec<_> =
            offences.iter().map(|(rule, _)| *rule).collect::<BTreeSet<_>>().into_iter().collect();
        let rule = rules[rule.index(rules.len())];
        let ways: Vec<_> = offences.iter().filter(|(broken, _)| *broken == rule).collect();
        let (_, offence) = ways[way.index(ways.len())];
        met.note(rule);

        let mut assembler = Assembler::default();
        before.iter().for_each(|part| assembler.push(part).unwrap());
        let error = assembler.push(offence).unwrap_err();
        prop_assert_eq!(error.class(), ErrorClass::Protocol, "{}: {:?}", rule, offence);
        prop_assert!(!error.retryable());
        prop_assert_eq!(assembler.snapshot(), whole(before), "{}", rule);

        // Nothing more is taken: the rest of the answer would hide the gap.
        for part in &parts[before.len()..] {
            prop_assert_eq!(assembler.push(part).unwrap_err().class(), ErrorClass::Protocol);
        }
        prop_assert_eq!(assembler.finish(), whole(before));
        Ok(())
    });
    met.at_least(
        2,
        [
            "after finish",
            "never started",
            "call twice",
            "started twice",
            "after end",
            "call before input end",
            "late start",
        ],
    );
}

/// [PV-37]
#[test]
fn each_rule_has_its_own_words() {
    let text = [StreamPart::text_start("t"), StreamPart::text_end("t")];
    let cases = [
        (vec![StreamPart::text_delta("t", "x")], "block `t` was never started"),
        (vec![StreamPart::reasoning_start("t"), StreamPart::text_end("t")], "block `t` was never started"),
        (vec![text[0].clone(), text[0].clone()], "block `t` was started twice"),
        (vec![text[0].clone(), text[1].clone(), text[0].clone()], "block `t` was started twice"),
        (
            vec![text[0].clone(), text[1].clone(), StreamPart::text_delta("t", "")],
            "block `t` goes on after its end",
        ),
        (vec![text[0].clone(), text[1].clone(), text[1].clone()], "block `t` goes on after its end"),
        (vec![input_start("c"), call("c", "{}")], "call `c` came before the end of its input"),
        (vec![call("c", "{}"), call("c", "{}")], "call `c` came twice"),
        (vec![input_start("c"), input_end("c"), call("c", "{}"), call("c", "{}")], "call `c` came twice"),
        (vec![call("c", "{}"), input_start("c")], "block `c` was started twice"),
        (vec![call("c", "{}"), input_delta("c", "x")], "block `c` goes on after its end"),
        (
            vec![text[0].clone(), StreamPart::StreamStart { warnings: vec![] }],
            "the start of the stream was not its first part",
        ),
        (vec![finish(UnifiedFinish::Stop); 2], "a part came after the finish"),
    ];
    for (parts, words) in cases {
        let (_, error) = fold(&parts);
        let error = error.unwrap_or_else(|| panic!("no error: {parts:?}"));
        assert_eq!((error.class(), error.message()), (ErrorClass::Protocol, words));
    }
}

/// [PV-39]
#[test]
fn after_an_error_nothing_is_taken() {
    let mut assembler = Assembler::default();
    assembler.push(&StreamPart::text_start("0")).unwrap();
    assembler.push(&StreamPart::text_delta("0", "one ")).unwrap();
    assert!(assembler.push(&StreamPart::text_delta("1", "two ")).is_err());
    for part in [StreamPart::text_delta("0", "three"), finish(UnifiedFinish::Stop)] {
        let error = assembler.push(&part).unwrap_err();
        assert_eq!(error.message(), "a part came after an error");
    }
    let assembled = assembler.finish();
    assert_eq!(assembled.message.text(), "one ");
    assert!(assembled.incomplete && assembled.finish.is_none());
}

/// [PV-40]
#[test]
fn a_stream_may_do_without_its_start() {
    assert!(!whole(&[finish(UnifiedFinish::Stop)]).incomplete);
    let started = whole(&[StreamPart::StreamStart { warnings: vec![] }, finish(UnifiedFinish::Stop)]);
    assert!(!started.incomplete);
}

/// [PV-41]
#[test]
fn empty_deltas_and_empty_blocks_are_in_order() {
    let assembled = whole(&[
        StreamPart::text_start("0"),
        StreamPart::text_delta("0", ""),
        StreamPart::text_end("0"),
        StreamPart::reasoning_start("0"),
        StreamPart::reasoning_end("0"),
        input_start("c"),
        input_end("c"),
        call("c", ""),
    ]);
    let expected = [
        AssistantPart::Text(TextPart::default()),
        AssistantPart::Reasoning(ReasoningPart::default()),
        AssistantPart::ToolCall(ToolCall::new("c", "tool", "{}")),
    ];
    assert_eq!(assembled.message.parts, expected);
}
