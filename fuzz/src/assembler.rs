//! The assembler takes parts in any order: what breaks a rule is an error, and what is in order is kept whole.
//!
//! An input is a list of parts, two bytes each and a text up to the next zero byte: what it is, and of which block.

use ai_provider::{
    Assembler, AssemblyLimits, CustomPart, ErrorClass, Finish, Id, StreamPart, ToolCall, UnifiedFinish, Usage,
};
use ai_testkit::check_order;

use super::Seen;

/// Assembles the parts of an input.
pub fn assembler(data: &[u8]) -> Seen {
    let mut limits = AssemblyLimits::default();
    limits.bytes = 512;
    limits.parts = 16;
    let mut assembler = Assembler::new(limits);
    let (mut taken, mut text, mut error) = (Vec::new(), String::new(), None);
    for part in parts(data) {
        match assembler.push(&part) {
            Ok(()) => {
                if let StreamPart::TextDelta { delta, .. } = &part {
                    text += delta;
                }
                taken.push(part);
            }
            Err(found) => {
                assert!(matches!(found.class(), ErrorClass::Protocol | ErrorClass::TooLarge), "{found}");
                assert!(assembler.push(&part).is_err(), "nothing is taken after an error");
                error = Some(found.class());
                break;
            }
        }
    }
    let snapshot = assembler.snapshot();
    let assembled = assembler.finish();
    assert_eq!(snapshot, assembled);
    // Texts may interleave: as much of each as came, in whichever order.
    assert_eq!(assembled.message.text().len(), text.len(), "no text is lost");
    let finished = assembled.finish.is_some();
    // What the checker accepts up to here, the assembler has accepted too.
    if error == Some(ErrorClass::Protocol) {
        let refused = parts(data).nth(taken.len()).into_iter();
        let all: Vec<_> = taken.iter().cloned().chain(refused).collect();
        assert!(check_order(&all).is_err(), "the checker accepts what the assembler refuses: {all:?}");
    }
    Seen { finished, class: error }
}

fn parts(data: &[u8]) -> impl Iterator<Item = StreamPart> + '_ {
    let mut rest = data;
    std::iter::from_fn(move || {
        let (&[kind, block], behind) = rest.split_first_chunk::<2>()?;
        let end = behind.iter().position(|byte| *byte == 0).unwrap_or(behind.len());
        let text = String::from_utf8_lossy(&behind[..end]).into_owned();
        rest = behind.get(end + 1..).unwrap_or_default();
        Some(part(kind, Id::from(format!("{}", block % 4)), text))
    })
}

fn part(kind: u8, id: Id, text: String) -> StreamPart {
    match kind % 15 {
        0 => StreamPart::StreamStart { warnings: Vec::new() },
        1 => StreamPart::text_start(id),
        2 => StreamPart::text_delta(id, text),
        3 => StreamPart::text_end(id),
        4 => StreamPart::reasoning_start(id),
        5 => StreamPart::reasoning_delta(id, text),
        6 => StreamPart::reasoning_end(id),
        7 => StreamPart::ToolInputStart {
            id,
            tool_name: text,
            provider_executed: false,
            dynamic: false,
            title: None,
        },
        8 => StreamPart::ToolInputDelta { id, delta: text },
        9 => StreamPart::ToolInputEnd { id },
        10 => StreamPart::ToolCall(Box::new(ToolCall::new(id, "tool", text))),
        11 => StreamPart::Custom(CustomPart { kind: text, options: Default::default(), metadata: None }),
        12 => StreamPart::Raw { raw_value: text.into() },
        13 => StreamPart::ResponseMetadata(Box::default()),
        _ => {
            let finish =
                Finish { reason: UnifiedFinish::Stop.into(), usage: Usage::default(), metadata: None };
            StreamPart::Finish(Box::new(finish))
        }
    }
}
