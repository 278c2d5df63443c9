use std::collections::BTreeSet;

use super::super::samples::chunks;
use super::*;
use crate::tests::golden::assert_golden;

fn json(chunk: &UiChunk) -> String {
    serde_json::to_string(chunk).unwrap()
}

/// [AL-200] [AL-201]
#[test]
fn every_chunk_at_every_level_has_its_golden_form() {
    for protocol in UiProtocol::ALL {
        let lines: String = chunks()
            .into_iter()
            .filter_map(|chunk| protocol.adapt(chunk))
            .map(|chunk| json(&chunk) + "\n")
            .collect();
        assert_golden(&format!("level-{protocol}.jsonl"), &lines);
        for line in lines.lines() {
            assert_eq!(json(&protocol.decode(line).unwrap()), line, "level {protocol}");
        }
    }
}

/// [AL-200]
#[test]
fn the_table_of_levels() {
    let new_at = |protocol: UiProtocol, older: UiProtocol| -> BTreeSet<&'static str> {
        let known = |protocol: UiProtocol| -> BTreeSet<&'static str> {
            chunks().iter().filter(|chunk| protocol.knows(chunk)).map(UiChunk::kind).collect()
        };
        &known(protocol) - &known(older)
    };
    assert_eq!(
        new_at(UiProtocol::V6, UiProtocol::V5),
        ["tool-approval-request", "tool-output-denied"].into()
    );
    let at_7 = ["custom", "reasoning-file", "reset-step", "tool-approval-response"];
    assert_eq!(new_at(UiProtocol::V7, UiProtocol::V6), at_7.into());
    assert_eq!(new_at(UiProtocol::Latest, UiProtocol::V7), ["steering-message"].into());
    let resets: Vec<_> = UiProtocol::ALL.into_iter().filter(|protocol| protocol.can_reset()).collect();
    assert_eq!(resets, [UiProtocol::V7, UiProtocol::Latest]);
    assert_eq!(UiProtocol::default(), UiProtocol::V7);
}

/// [AL-201]
#[test]
fn what_is_adapted_is_known_and_stays_as_it_is() {
    let (mut same, mut other, mut nothing) = (0, 0, 0);
    for protocol in UiProtocol::ALL {
        for chunk in chunks() {
            let Some(adapted) = protocol.adapt(chunk.clone()) else {
                nothing += 1;
                continue;
            };
            if adapted == chunk {
                same += 1
            } else {
                other += 1
            }
            assert!(protocol.knows(&adapted), "level {protocol}: {adapted:?}");
            assert_eq!(protocol.adapt(adapted.clone()), Some(adapted));
        }
    }
    // Left out are `custom` and `reasoning-file` twice and `reset-step` at 5 and 6, the answer to a question at 6.
    assert_eq!(nothing, 2 * 5 + 2);
    assert!(same > 100 && other > 20, "{same} {other}");
}

/// [AL-202]
#[test]
fn what_stands_for_what_a_level_lacks() {
    let adapt = |protocol: UiProtocol, chunk: &str| {
        let chunk = UiProtocol::Latest.decode(chunk).unwrap();
        protocol.adapt(chunk).map(|chunk| json(&chunk))
    };
    let denied = r#"{"type":"tool-output-denied","toolCallId":"c1"}"#;
    assert_eq!(
        adapt(UiProtocol::V5, denied).unwrap(),
        r#"{"type":"tool-output-error","toolCallId":"c1","errorText":"The call was denied."}"#
    );
    assert_eq!(adapt(UiProtocol::V6, denied).unwrap(), denied);
    let asked = r#"{"type":"tool-approval-request","approvalId":"a1","toolCallId":"c1","signature":"s"}"#;
    assert_eq!(
        adapt(UiProtocol::V5, asked).unwrap(),
        r#"{"type":"data-approval","id":"a1","data":{"approvalId":"a1","toolCallId":"c1"}}"#
    );
    assert_eq!(adapt(UiProtocol::V6, asked).unwrap(), asked);
    let answered = r#"{"type":"tool-approval-response","approvalId":"a1","approved":false,"reason":"no"}"#;
    assert_eq!(
        adapt(UiProtocol::V5, answered).unwrap(),
        r#"{"type":"data-approval-response","id":"a1","data":{"approvalId":"a1","approved":false,"reason":"no"}}"#
    );
    assert_eq!(adapt(UiProtocol::V6, answered), None);
    let said = r#"{"type":"steering-message","id":"u2","parts":[{"type":"text","text":"Stop."}]}"#;
    for protocol in [UiProtocol::V5, UiProtocol::V6, UiProtocol::V7] {
        assert_eq!(
            adapt(protocol, said).unwrap(),
            r#"{"type":"data-steer","data":{"id":"u2","parts":[{"text":"Stop.","type":"text"}]},"transient":true}"#
        );
        assert_eq!(
            adapt(protocol, r#"{"type":"finish","finishReason":"interrupted","messageMetadata":1}"#).unwrap(),
            r#"{"type":"finish","finishReason":"other","messageMetadata":1}"#
        );
    }
    assert_eq!(adapt(UiProtocol::Latest, said).unwrap(), said);
}

/// [AL-203]
#[test]
fn what_a_level_lacks_cannot_be_read_at_it() {
    let mut refused = 0;
    for protocol in UiProtocol::ALL {
        for chunk in chunks() {
            let read = protocol.decode(&json(&chunk));
            if protocol.knows(&chunk) {
                assert_eq!(read.unwrap().kind(), chunk.kind());
            } else {
                refused += 1;
                let error = read.unwrap_err();
                assert_eq!(error, UiReadError::NotAtLevel { protocol, chunk: Box::new(chunk.clone()) });
                let said = format!("protocol level {protocol} has no `{}`", chunk.kind());
                assert_eq!(error.to_string(), said);
            }
        }
    }
    // Types with their two samples: five at 7, two and `reset-step` at 6, and so on.
    assert!(refused >= 20, "{refused}");
    let problem = |json: &str| UiProtocol::V7.decode(json).unwrap_err();
    assert!(matches!(problem("{"), UiReadError::NotJson { .. }));
    assert!(matches!(problem("\u{0}"), UiReadError::NotJson { .. }));
    assert!(matches!(problem(r#"{"type":"dance"}"#), UiReadError::NotAChunk { .. }));
    assert!(matches!(problem("[]"), UiReadError::NotAChunk { .. }));
    assert!(matches!(problem(&"[".repeat(100_000)), UiReadError::NotJson { .. }));
    // A reason of level 5 alone.
    let unknown = UiProtocol::V5.decode(r#"{"type":"finish","finishReason":"unknown"}"#).unwrap();
    assert!(matches!(unknown, UiChunk::Finish { finish_reason: Some(UiFinishReason::Other), .. }));
}
