use ai_provider::*;
use proptest::prelude::*;

use super::{call, input_delta, input_end, input_start, whole};
use crate::support::answer::answer;
use crate::support::{check, finish};

/// Bytes of text and reasoning that came.
fn came(parts: &[StreamPart]) -> usize {
    let deltas = parts.iter().map(|part| match part {
        StreamPart::TextDelta { delta, .. } | StreamPart::ReasoningDelta { delta, .. } => delta.len(),
        _ => 0,
    });
    deltas.sum()
}

/// Bytes of text and reasoning that are in a message.
fn kept(message: &AssistantMessage) -> usize {
    let texts = message.parts.iter().map(|part| match part {
        AssistantPart::Text(part) => part.text.len(),
        AssistantPart::Reasoning(part) => part.text.len(),
        _ => 0,
    });
    texts.sum()
}

/// [PV-28, PV-29]
#[test]
fn every_beginning_of_an_answer_is_incomplete_until_its_finish() {
    let met = check(300, answer(), |answer, met| {
        let mut cut_calls = false;
        let whole_message = whole(&answer.parts).message;
        for end in 0..=answer.parts.len() {
            let parts = &answer.parts[..end];
            let assembled = whole(parts);
            prop_assert_eq!(assembled.incomplete, end < answer.parts.len());

            let calls = parts.iter().filter(|part| matches!(part, StreamPart::ToolCall(_))).count();
            prop_assert_eq!(assembled.message.tool_calls().count(), calls);
            for call in assembled.message.tool_calls() {
                prop_assert!(whole_message.tool_calls().any(|whole| whole == call));
            }
            for cut in &assembled.incomplete_calls {
                let input: String = parts
                    .iter()
                    .filter_map(|part| match part {
                        StreamPart::ToolInputDelta { id, delta } if *id == cut.id => Some(delta.as_str()),
                        _ => None,
                    })
                    .collect();
                prop_assert_eq!(&cut.input, &input);
                cut_calls = true;
            }
            prop_assert_eq!(kept(&assembled.message), came(parts));
        }
        if cut_calls {
            met.note("cut calls");
        }
        Ok(())
    });
    met.at_least(30, ["cut calls"]);
}

/// [PV-29]
#[test]
fn half_a_call_is_no_call_even_if_it_reads_like_json() {
    let started = [input_start("c"), input_delta("c", "{\"a\":1}"), input_end("c")];
    for parts in [&started[..1], &started[..2], &started[..]] {
        let assembled = whole(parts);
        assert_eq!(assembled.message.tool_calls().count(), 0);
        assert!(assembled.incomplete);
        let cut = &assembled.incomplete_calls[0];
        assert_eq!((cut.id.as_str(), cut.name.as_str()), ("c", "tool"));
        assert_eq!(cut.input, if parts.len() == 1 { "" } else { "{\"a\":1}" });
    }
}

/// [PV-30]
#[test]
fn a_finish_does_not_complete_what_was_left_open() {
    let open = [
        vec![StreamPart::text_start("0"), StreamPart::text_delta("0", "Hel")],
        vec![StreamPart::reasoning_start("0")],
        vec![input_start("c"), input_delta("c", "{")],
        vec![input_start("c"), input_end("c")],
    ];
    for mut parts in open {
        parts.push(finish(UnifiedFinish::Length));
        let assembled = whole(&parts);
        assert!(assembled.incomplete, "{parts:?}");
        assert_eq!(assembled.finish, Some(UnifiedFinish::Length.into()));
    }
    let closed = [StreamPart::text_start("0"), StreamPart::text_end("0"), finish(UnifiedFinish::Length)];
    assert!(!whole(&closed).incomplete);
}

/// [PV-31]
#[test]
fn a_snapshot_is_what_finishing_there_would_give_and_changes_nothing() {
    check(200, answer(), |answer, _| {
        let mut assembler = Assembler::default();
        for (at, part) in answer.parts.iter().enumerate() {
            assembler.push(part).unwrap();
            prop_assert_eq!(assembler.snapshot(), whole(&answer.parts[..=at]));
        }
        prop_assert_eq!(assembler.finish(), whole(&answer.parts));
        Ok(())
    });
}

/// [PV-32]
#[test]
fn without_a_finish_there_is_no_generation() {
    let parts = [StreamPart::text_start("0"), StreamPart::text_delta("0", "Hel")];
    let error = whole(&parts).into_generation().unwrap_err();
    assert_eq!(error.error.class(), ErrorClass::Incomplete);
    assert_eq!(error.partial.message.text(), "Hel");
    assert_eq!(whole(&[]).into_generation().unwrap_err().error.class(), ErrorClass::Incomplete);
}

/// [PV-33]
#[test]
fn a_generation_keeps_all_that_was_assembled() {
    let values = ProviderOptions::default().with("openai", "logprobs", serde_json::json!([0.5]));
    let metadata = Some(Box::new(ProviderMetadata { origin: None, values }));
    let reason = FinishReason::new(UnifiedFinish::Length, "max_tokens");
    let mut usage = Usage::default();
    usage.output.total = Some(3);
    let response = ResponseMetadata { model: Some("big".into()), ..ResponseMetadata::default() };
    let assembled = whole(&[
        StreamPart::StreamStart { warnings: vec![Warning::other("w")] },
        StreamPart::ResponseMetadata(Box::new(response.clone())),
        call("a", "{}"),
        input_start("c"),
        input_delta("c", "{\"cut"),
        StreamPart::Finish(Box::new(Finish {
            reason: reason.clone(),
            usage: usage.clone(),
            metadata: metadata.clone(),
        })),
    ]);
    let generation = assembled.clone().into_generation().unwrap();
    assert_eq!(generation.message, assembled.message);
    assert_eq!(generation.message.tool_calls().count(), 1);
    assert_eq!(generation.incomplete_calls, assembled.incomplete_calls);
    assert_eq!(generation.incomplete_calls[0].input, "{\"cut");
    assert_eq!((generation.finish, generation.usage), (reason, usage));
    assert_eq!((generation.response, generation.metadata), (response, metadata));
    assert_eq!(generation.warnings, [Warning::other("w")]);
}
