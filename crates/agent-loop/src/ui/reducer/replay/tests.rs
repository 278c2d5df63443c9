use std::cell::RefCell;
use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

use super::super::super::samples;
use super::*;
use crate::{SseReader, UiMessage, UiProtocol};

/// Folds the chunks that fold. Gives those too.
fn fold(chunks: impl IntoIterator<Item = UiChunk>) -> (UiReducer, Vec<UiChunk>) {
    let mut reducer = UiReducer::new("m0");
    let chunks = chunks.into_iter().filter(|chunk| reducer.push_ref(chunk).is_ok()).collect();
    (reducer, chunks)
}

fn told(reducer: &mut UiReducer) -> (UiMessage, Option<crate::UiFinishReason>, Vec<String>, bool) {
    let (reason, errors, aborted) =
        (reducer.finish_reason(), reducer.errors().to_vec(), reducer.is_aborted());
    (reducer.message().clone(), reason, errors, aborted)
}

/// Wherever a reader begins, it ends with the same.
fn check(chunks: Vec<UiChunk>) {
    let (mut whole, chunks) = fold(chunks);
    for cut in 0..=chunks.len() {
        let (head, tail) = chunks.split_at(cut);
        let (mut seen, _) = fold(head.iter().cloned());
        let replay = seen.chunks();
        let (mut late, taken) = fold(replay.clone());
        assert_eq!(taken, replay, "after {cut} of {chunks:#?}");
        assert_eq!(told(&mut late), told(&mut seen), "after {cut}: {replay:#?}");
        for chunk in tail {
            late.push_ref(chunk)
                .unwrap_or_else(|error| panic!("after {cut}, {chunk:?}: {error}; {replay:#?}"));
        }
        assert_eq!(told(&mut late), told(&mut whole), "after {cut}: {replay:#?}");
    }
}

/// [AL-290]
#[test]
fn golden_streams_go_on_from_every_place() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/streams");
    let mut streams = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let Some((_, level)) = name.strip_suffix(".sse").and_then(|name| name.split_once('.')) else {
            continue;
        };
        let level = UiProtocol::ALL.into_iter().find(|protocol| protocol.as_str() == level).unwrap();
        let (mut reader, mut chunks) = (SseReader::new(level), Vec::new());
        reader.push(&std::fs::read(&path).unwrap(), &mut chunks).unwrap();
        assert!(chunks.len() > 5, "{name}");
        check(chunks);
        streams += 1;
    }
    assert!(streams >= 24, "{streams}");
}

#[derive(Clone, Copy, Debug)]
enum Move {
    Text,
    Reasoning,
    Call,
    Other(&'static str),
}

/// What may come next of a block or call, and where it is then: a call goes its way once.
const BLOCK: [&[(&str, usize)]; 2] = [&[("start", 1)], &[("delta", 1), ("delta", 1), ("end", 0)]];
const CALL: [&[(&str, usize)]; 7] = [
    &[("input-start", 1), ("input-start", 1), ("input-available", 2), ("input-error", 6)],
    &[
        ("input-delta", 1),
        ("input-delta", 1),
        ("input-available", 2),
        ("input-error", 6),
        ("output-error", 6),
    ],
    &[
        ("approval-request", 3),
        ("approval-request", 3),
        ("output-available", 5),
        ("output-error", 6),
        ("output-denied", 6),
    ],
    &[("approval-response", 4), ("approval-response", 4), ("output-available", 5), ("output-denied", 6)],
    &[("input-available", 2), ("output-available", 5), ("output-error", 6), ("output-denied", 6)],
    &[("output-available", 5), ("output-error", 6)],
    &[],
];

/// A message of several steps, in which blocks and calls overlap.
fn streams() -> impl Strategy<Value = Vec<UiChunk>> {
    let others = [
        "start-step",
        "finish-step",
        "reset-step",
        "steering-message",
        "data-",
        "source-url",
        "message-metadata",
        "custom",
        "file",
    ];
    let one = prop_oneof![
        3 => Just(Move::Text),
        3 => Just(Move::Reasoning),
        8 => Just(Move::Call),
        2 => select(others.to_vec()).prop_map(Move::Other),
    ];
    prop::collection::vec((one, 0..2_u8, any::<u8>()), 0..60).prop_map(|moves| {
        let samples = samples::chunks();
        let mut states = BTreeMap::<_, usize>::new();
        let mut step = 0;
        let chunks = moves.into_iter().filter_map(|(one, n, variant)| {
            let (what, table): (_, &[&[(&str, usize)]]) = match one {
                Move::Text => ("text", &BLOCK),
                Move::Reasoning => ("reasoning", &BLOCK),
                Move::Call => ("tool", &CALL),
                Move::Other(_) => ("", &[]),
            };
            let kind = if let Move::Other(kind) = one {
                match kind {
                    "start-step" => states.retain(|(what, ..): &(&str, u8, usize), _| *what == "tool"),
                    "reset-step" => states.clear(),
                    _ => {}
                }
                step += usize::from(kind == "start-step" || kind == "reset-step");
                kind.to_owned()
            } else {
                let state = states.entry((what, n, if what == "tool" { step } else { 0 })).or_default();
                let next = table[*state].get(usize::from(variant) % table[*state].len().max(1))?;
                *state = next.1;
                format!("{what}-{}", next.0)
            };
            let like: Vec<_> = samples.iter().filter(|chunk| chunk.kind() == kind).collect();
            let mut chunk = like[usize::from(variant / 8) % like.len()].clone();
            rename(&mut chunk, n, step, variant);
            Some(chunk)
        });
        chunks.collect()
    })
}

/// Gives a sample the id of a block or call, and its own content.
fn rename(chunk: &mut UiChunk, n: u8, step: usize, variant: u8) {
    let fresh = Id::from(format!("{n}"));
    let call = Id::from(format!("c{step}-{n}"));
    match chunk {
        UiChunk::TextStart { id, .. }
        | UiChunk::TextEnd { id, .. }
        | UiChunk::ReasoningStart { id, .. }
        | UiChunk::ReasoningEnd { id, .. } => *id = fresh,
        UiChunk::TextDelta { id, delta, .. } | UiChunk::ReasoningDelta { id, delta, .. } => {
            *id = fresh;
            *delta = format!("{variant} ");
        }
        UiChunk::ToolInputStart { tool_call_id, dynamic, input_encoding, .. } => {
            *tool_call_id = call;
            *dynamic = (n == 0).then_some(true);
            *input_encoding = (n == 1).then_some(UiInputEncoding::Text);
        }
        UiChunk::ToolInputDelta { tool_call_id, input_text_delta } => {
            *tool_call_id = call;
            *input_text_delta = ["{\"q\":", "[", "1", "\"x", "}"][usize::from(variant) % 5].to_owned();
        }
        UiChunk::ToolInputAvailable { tool_call_id, dynamic, input, .. }
        | UiChunk::ToolInputError { tool_call_id, dynamic, input, .. } => {
            *tool_call_id = call;
            *dynamic = (n == 0).then_some(true);
            *input = [json!(null), json!(7), json!({"q": [1, "x"]}), json!("text"), json!(0.1)]
                [usize::from(variant) % 5]
                .clone();
        }
        UiChunk::ToolApprovalRequest { tool_call_id, approval_id, .. } => {
            *approval_id = format!("a-{call}").into();
            *tool_call_id = call;
        }
        UiChunk::ToolApprovalResponse { approval_id, .. } => *approval_id = format!("a-{call}").into(),
        UiChunk::ToolOutputAvailable { tool_call_id, .. }
        | UiChunk::ToolOutputError { tool_call_id, .. }
        | UiChunk::ToolOutputDenied { tool_call_id } => *tool_call_id = call,
        UiChunk::Data(data) => data.id = (n > 0).then(|| format!("d{n}")),
        _ => {}
    }
}

/// [AL-290]
#[test]
fn streams_go_on_from_every_place() {
    const CASES: u32 = 250;
    let seen: RefCell<BTreeMap<&str, u32>> = RefCell::default();
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(CASES) });
    let tried = runner.run(&streams(), |chunks| {
        let kinds: std::collections::BTreeSet<_> = chunks.iter().map(UiChunk::kind).collect();
        for kind in kinds {
            *seen.borrow_mut().entry(kind).or_default() += 1;
        }
        check(chunks);
        Ok(())
    });
    tried.unwrap();
    let seen = seen.into_inner();
    for kind in [
        "text-end",
        "reasoning-end",
        "tool-input-delta",
        "tool-output-available",
        "tool-output-error",
        "tool-approval-response",
        "reset-step",
        "steering-message",
        "tool-output-denied",
    ] {
        let count = seen.get(kind).copied().unwrap_or_default();
        assert!(count * 100 >= CASES * 5, "only {count} of {CASES} streams have {kind}");
    }
}

/// [AL-291]
#[test]
fn a_call_that_is_over_is_not_offered_to_the_client_again() {
    let call = UiChunk::ToolInputAvailable {
        tool_call_id: "c".into(),
        tool_name: "where".to_owned(),
        input: json!({"exact": true, "n": 12}),
        provider_executed: None,
        dynamic: None,
        title: None,
        tool_metadata: None,
        provider_metadata: None,
    };
    let output = |text: &str| UiChunk::ToolOutputAvailable {
        tool_call_id: "c".into(),
        output: json!(text),
        preliminary: None,
        provider_executed: None,
        dynamic: None,
        tool_metadata: None,
        provider_metadata: None,
    };
    let kinds =
        |chunks: &[UiChunk]| fold(chunks.to_vec()).0.chunks().iter().map(UiChunk::kind).collect::<Vec<_>>();
    assert_eq!(kinds(std::slice::from_ref(&call)), ["start", "tool-input-available"]);
    let over = ["start", "tool-input-start", "tool-input-delta", "tool-output-available"];
    assert_eq!(kinds(&[call, output("here")]), over);
}

/// [AL-292]
#[test]
fn a_chunk_that_is_kept_folds_as_one_that_is_given_away() {
    let (mut given, mut kept) = (UiReducer::new("m0"), UiReducer::new("m0"));
    for chunk in samples::chunks().into_iter().chain(samples::chunks().into_iter().rev()) {
        assert_eq!(kept.push_ref(&chunk), given.push(chunk.clone()), "{chunk:?}");
        assert_eq!(kept.message(), given.message(), "{chunk:?}");
    }
}
