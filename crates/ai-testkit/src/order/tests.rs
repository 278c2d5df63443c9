#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "tests fail by panicking"
)]

use std::cell::Cell;

use ai_provider::{Assembler, Finish, ToolApprovalRequest, ToolCall, UnifiedFinish, Usage};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;
use crate::Script;

fn start() -> StreamPart {
    StreamPart::StreamStart { warnings: Vec::new() }
}

fn finish() -> StreamPart {
    StreamPart::Finish(Box::new(Finish {
        reason: UnifiedFinish::Stop.into(),
        usage: Usage::default(),
        metadata: None,
    }))
}

fn input_start(id: &str) -> StreamPart {
    let (id, tool_name) = (id.into(), "clock".to_owned());
    StreamPart::ToolInputStart { id, tool_name, provider_executed: false, dynamic: false, title: None }
}

fn input_delta(id: &str) -> StreamPart {
    StreamPart::ToolInputDelta { id: id.into(), delta: "{}".to_owned() }
}

fn input_end(id: &str) -> StreamPart {
    StreamPart::ToolInputEnd { id: id.into() }
}

fn call(id: &str) -> StreamPart {
    StreamPart::ToolCall(Box::new(ToolCall::new(id, "clock", "{}")))
}

fn approval(call: &str) -> StreamPart {
    StreamPart::ToolApprovalRequest(ToolApprovalRequest {
        approval_id: "a".into(),
        tool_call_id: call.into(),
    })
}

fn check(parts: impl IntoIterator<Item = StreamPart>) -> Result<(), String> {
    check_order(&std::iter::once(start()).chain(parts).collect::<Vec<_>>())
}

#[test]
fn what_is_in_order_passes() {
    let text = StreamPart::text_delta;
    let interleaved = [
        StreamPart::reasoning_start("a"),
        StreamPart::text_start("a"),
        text("a", "x"),
        input_start("a"),
        StreamPart::reasoning_end("a"),
        input_delta("a"),
        text("a", "y"),
        input_end("a"),
        StreamPart::text_end("a"),
        call("a"),
        approval("a"),
        call("b"),
        finish(),
    ];
    assert_eq!(check(interleaved), Ok(()));
    assert_eq!(check([StreamPart::text_start("a")]), Ok(()), "a stream that broke off");
    assert_eq!(check([input_start("a"), finish()]), Ok(()), "a call that the limit cut");
    assert_eq!(check([]), Ok(()));
    assert_eq!(check_order(&[]), Ok(()));
}

#[test]
fn each_rule_has_its_sentence() {
    let text = StreamPart::text_start;
    let end = StreamPart::text_end;
    for (parts, fault) in [
        (vec![start()], "part 1: the stream starts again"),
        (vec![text("a"), text("a")], "part 2: text block `a` was started before"),
        (vec![text("a"), end("a"), text("a")], "part 3: text block `a` was started before"),
        (
            vec![text("a"), end("a"), StreamPart::text_delta("a", "")],
            "part 3: text block `a` goes on after its end",
        ),
        (vec![text("a"), end("a"), end("a")], "part 3: text block `a` goes on after its end"),
        (vec![text("a"), StreamPart::reasoning_end("a")], "part 2: reasoning block `a` was never started"),
        (vec![text("a"), finish()], "part 2: text block `a` is open at the finish"),
        (vec![finish(), text("a")], "part 2: it comes after the finish"),
        (vec![finish(), finish()], "part 2: it comes after the finish"),
        (vec![input_delta("a")], "part 1: tool input `a` was never started"),
        (vec![input_start("a"), call("a")], "part 2: call `a` comes before the end of its input"),
        (vec![call("a"), call("a")], "part 2: call `a` comes twice"),
        (vec![call("a"), input_start("a")], "part 2: tool input `a` starts after its call"),
        (vec![approval("a"), call("a")], "part 1: approval is asked for `a`, which was not called"),
    ] {
        assert_eq!(check(parts), Err(fault.to_owned()));
    }
    let fault = "part 0: the stream does not begin with its start";
    assert_eq!(check_order(&[text("a")]), Err(fault.to_owned()));
}

/// Blocks and calls in any order of their own, some shuffled into each other, then perhaps one fault.
fn streams() -> impl Strategy<Value = Vec<StreamPart>> {
    let block = |id: &'static str| {
        prop_oneof![
            Just(vec![StreamPart::text_start(id), StreamPart::text_delta(id, "x"), StreamPart::text_end(id)]),
            Just(vec![StreamPart::reasoning_start(id), StreamPart::reasoning_end(id)]),
            Just(vec![input_start(id), input_delta(id), input_end(id), call(id)]),
            Just(vec![call(id)]),
        ]
    };
    let blocks = (block("a"), block("b"), block("c"), prop::collection::vec(0_usize..3, 12));
    let merged = blocks.prop_map(|(a, b, c, turns)| {
        let mut queues = [a.into_iter(), b.into_iter(), c.into_iter()];
        let mut parts = vec![start()];
        parts.extend(turns.into_iter().filter_map(|turn| queues[turn].next()));
        parts.extend(queues.into_iter().flatten());
        parts.push(finish());
        parts
    });
    let at = any::<prop::sample::Index>;
    (merged, 0_u8..6, at(), at()).prop_map(|(mut parts, fault, from, to)| {
        let (from, to) = (from.index(parts.len()), to.index(parts.len()));
        match fault {
            0 => drop(parts.remove(from)),
            1 => parts.insert(to, parts[from].clone()),
            2 => parts.swap(from, to),
            _ => {}
        }
        parts
    })
}

/// The assembler checks the same rules but for the start and for what is open at the finish.
fn in_order_by_the_assembler(parts: &[StreamPart]) -> bool {
    let starts = |part: &&StreamPart| matches!(part, StreamPart::StreamStart { .. });
    let mut assembler = Assembler::default();
    let accepted = parts.iter().all(|part| assembler.push(part).is_ok());
    let count = |ours: fn(&StreamPart) -> bool| parts.iter().filter(|part| ours(part)).count();
    let open = count(|part| matches!(part, StreamPart::TextStart { .. } | StreamPart::ReasoningStart { .. }))
        != count(|part| matches!(part, StreamPart::TextEnd { .. } | StreamPart::ReasoningEnd { .. }));
    let finished = count(|part| matches!(part, StreamPart::Finish(_))) > 0;
    let started = parts.first().is_some_and(|part| starts(&part)) && parts.iter().filter(starts).count() == 1;
    accepted && started && !(open && finished)
}

#[test]
fn it_agrees_with_the_assembler() {
    let (in_order, out_of_order) = (Cell::new(0), Cell::new(0));
    let mut runner = TestRunner::new(Config::with_cases(2000));
    let outcome = runner.run(&streams(), |parts| {
        let checked = check_order(&parts);
        let count = if checked.is_ok() { &in_order } else { &out_of_order };
        count.set(count.get() + 1);
        prop_assert_eq!(checked.is_ok(), in_order_by_the_assembler(&parts), "{:?}", checked);
        Ok(())
    });
    outcome.unwrap();
    assert!(in_order.get() > 600 && out_of_order.get() > 600, "{in_order:?} {out_of_order:?}");
}

#[tokio::test]
async fn every_script_without_parts_of_its_own_is_in_order() {
    use ai_provider::{CallContext, LanguageModel, Request};
    let script = Script::new()
        .reasoning("well then")
        .text("")
        .tool_call("1", "clock", "")
        .text("one two")
        .tool_call("2", "clock", r#"{"zone":"UTC"}"#)
        .finish(UnifiedFinish::ToolCalls);
    let model = crate::ScriptedModel::new().reply(script);
    let (parts, _) = crate::collect(model.stream(Request::new([]), CallContext::new())).await;
    assert_eq!(check_order(&parts), Ok(()));
}
