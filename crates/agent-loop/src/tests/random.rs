//! Whatever a model says and whenever the run is cut, a client gets one complete message.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use ai_core::run::Verdict;
use ai_core::{LoopControl, OnError, RunOptions, StepFailure, StepView};
use ai_provider::{
    CancellationToken, CustomPart, ErrorClass, FileData, FilePart, Id, Message, ModelError, ProviderOptions,
    Source, StreamPart, ToolApprovalRequest, ToolCall, ToolOutput, ToolResult, UnifiedFinish,
};
use ai_testkit::{Script, ScriptedModel};
use async_trait::async_trait;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};

use super::support::{Ran, run_with, tool_loop};
use crate::{Agent, UiChunk};

/// What a random model does next.
#[derive(Clone, Debug)]
enum Move {
    Start(Block, u8),
    Delta(Block, u8),
    End(Block, u8),
    Call(&'static str, &'static str),
    HalfCall,
    ServerCall { result: bool },
    LostResult,
    LostApproval,
    Extra(u8),
}

#[derive(Clone, Copy, Debug)]
enum Block {
    Text,
    Reasoning,
}

#[derive(Clone, Debug)]
enum Last {
    Finish(UnifiedFinish),
    Error,
    Nothing,
}

#[derive(Clone, Debug)]
struct Case {
    answers: Vec<(Vec<Move>, Last)>,
    cancel: Option<usize>,
    retry: bool,
    stop: Option<u32>,
}

fn moves() -> impl Strategy<Value = Move> {
    let block = || select(vec![Block::Text, Block::Reasoning]);
    let tool = select(vec![
        ("echo", r#"{"text":"hi"}"#),
        ("echo", "{}"),
        ("echo", "{\"text\":"),
        ("clock", "{}"),
        ("clock", "5"),
        ("fails", "{}"),
        ("panics", "{}"),
        ("progress", "{}"),
        ("nowhere", "{}"),
        ("denied", "{}"),
    ]);
    let rare = select(vec![("asks", "{}"), ("client", "{}"), ("stops", "{}")]);
    prop_oneof![
        4 => (block(), 0..3_u8).prop_map(|(block, id)| Move::Start(block, id)),
        6 => (block(), 0..3_u8).prop_map(|(block, id)| Move::Delta(block, id)),
        3 => (block(), 0..3_u8).prop_map(|(block, id)| Move::End(block, id)),
        5 => tool.prop_map(|(name, input)| Move::Call(name, input)),
        1 => rare.prop_map(|(name, input)| Move::Call(name, input)),
        1 => Just(Move::HalfCall),
        1 => any::<bool>().prop_map(|result| Move::ServerCall { result }),
        1 => Just(Move::LostResult),
        1 => Just(Move::LostApproval),
        2 => any::<u8>().prop_map(Move::Extra),
    ]
}

fn cases() -> impl Strategy<Value = Case> {
    let finish = select(vec![
        UnifiedFinish::Stop,
        UnifiedFinish::ToolCalls,
        UnifiedFinish::Length,
        UnifiedFinish::ContentFilter,
        UnifiedFinish::Error,
        UnifiedFinish::Other,
    ]);
    let last = prop_oneof![
        3 => Just(Last::Finish(UnifiedFinish::ToolCalls)),
        3 => finish.prop_map(Last::Finish),
        2 => Just(Last::Error),
        1 => Just(Last::Nothing),
    ];
    let answers = prop::collection::vec((prop::collection::vec(moves(), 0..12), last), 1..5);
    let cancel = prop::option::weighted(0.4, 0..50_usize);
    (answers, cancel, any::<bool>(), prop::option::weighted(0.1, 1..4_u32))
        .prop_map(|(answers, cancel, retry, stop)| Case { answers, cancel, retry, stop })
}

/// An answer that mostly keeps the order rules: what could not be is left out, except now and then.
fn script(answer: usize, moves: &[Move], last: &Last) -> Script {
    let mut blocks = BTreeMap::new();
    let mut script = Script::new();
    for (at, one) in moves.iter().enumerate() {
        let id = |block: Block, id: u8| Id::from(format!("{block:?}-{id}"));
        let call = Id::from(format!("call-{}-{at}", answer % 2));
        // One in a hundred goes through whatever the rules say.
        let wild = (answer * 31 + at * 17 + moves.len()).is_multiple_of(100);
        script = match one {
            Move::Start(block, n) if wild || !blocks.contains_key(&id(*block, *n)) => {
                blocks.insert(id(*block, *n), true);
                script.part(match block {
                    Block::Text => StreamPart::text_start(id(*block, *n)),
                    Block::Reasoning => StreamPart::reasoning_start(id(*block, *n)),
                })
            }
            Move::Delta(block, n) if wild || blocks.get(&id(*block, *n)) == Some(&true) => {
                script.part(match block {
                    Block::Text => StreamPart::text_delta(id(*block, *n), ["word ", ""][at % 2]),
                    Block::Reasoning => StreamPart::reasoning_delta(id(*block, *n), "hm "),
                })
            }
            Move::End(block, n) if wild || blocks.get(&id(*block, *n)) == Some(&true) => {
                blocks.insert(id(*block, *n), false);
                script.part(match block {
                    Block::Text => StreamPart::text_end(id(*block, *n)),
                    Block::Reasoning => StreamPart::reasoning_end(id(*block, *n)),
                })
            }
            Move::Start(..) | Move::Delta(..) | Move::End(..) => script,
            Move::Call(name, input) if at % 2 == 0 => script.tool_call(call, name, input),
            Move::Call(name, input) => {
                script.part(StreamPart::ToolCall(Box::new(ToolCall::new(call, *name, *input))))
            }
            Move::HalfCall => script.parts([
                StreamPart::ToolInputStart {
                    id: call.clone(),
                    tool_name: "echo".to_owned(),
                    provider_executed: false,
                    dynamic: false,
                    title: None,
                },
                StreamPart::ToolInputDelta { id: call, delta: "{\"text".to_owned() },
            ]),
            Move::ServerCall { result } => {
                let made =
                    ToolCall { provider_executed: true, ..ToolCall::new(call.clone(), "search", "{}") };
                let script = script.part(StreamPart::ToolCall(Box::new(made)));
                if *result { script.part(server_result(call)) } else { script }
            }
            Move::LostResult => script.part(server_result("lost".into())),
            Move::LostApproval => script.part(StreamPart::ToolApprovalRequest(ToolApprovalRequest {
                approval_id: "x".into(),
                tool_call_id: "never".into(),
            })),
            Move::Extra(kind) => script.part(extra(*kind)),
        };
    }
    match last {
        Last::Finish(reason) => script.finish(*reason),
        Last::Error => script.error(ModelError::new(ErrorClass::Server, "down")),
        Last::Nothing => script.end(),
    }
}

fn server_result(id: Id) -> StreamPart {
    let result = ToolResult::new(id, "search", ToolOutput::Text("found".to_owned()));
    StreamPart::ToolResult(Box::new(ToolResult { provider_executed: true, ..result }))
}

fn extra(kind: u8) -> StreamPart {
    match kind % 4 {
        0 => StreamPart::File(Box::new(FilePart::new("image/png", FileData::bytes(&b"png"[..])))),
        1 => StreamPart::ReasoningFile(Box::new(FilePart::new(
            "text/plain",
            FileData::Text { text: "t".to_owned() },
        ))),
        2 => StreamPart::Source(Box::new(Source::Url {
            id: "s".into(),
            url: "https://example.com".to_owned(),
            title: None,
            metadata: None,
        })),
        _ => StreamPart::Custom(CustomPart {
            kind: "p.k".to_owned(),
            options: ProviderOptions::default(),
            metadata: None,
        }),
    }
}

struct Control {
    retry: bool,
    stop: Option<u32>,
}

#[async_trait]
impl LoopControl for Control {
    async fn stop_when(&self, step: &StepView<'_>) -> Vec<Verdict> {
        let stops = self.stop.is_some_and(|stop| step.step() >= stop);
        if stops { vec![Verdict::LoopGuard { tool: "echo".to_owned() }] } else { Vec::new() }
    }

    async fn on_step_error(&self, _: &StepFailure<'_>) -> OnError {
        if self.retry { OnError::Retry } else { OnError::Abort }
    }
}

async fn play(case: &Case) -> Ran {
    let scripts = case.answers.iter().enumerate().map(|(at, (moves, last))| script(at, moves, last));
    let model =
        scripts.fold(ScriptedModel::new(), ScriptedModel::reply).repeat(Script::text_reply("The end."));
    let cancel = CancellationToken::new();
    let control = Arc::new(Control { retry: case.retry, stop: case.stop });
    let options = RunOptions::default().with_cancel(cancel.clone()).with_control(control);
    let agent = Agent::new(tool_loop(&model).with_step_cap(4));
    let stream = agent.start(vec![Message::user("Go.").into()], options);
    run_with(stream, |poll| {
        if case.cancel == Some(poll) {
            cancel.cancel();
        }
    })
    .await
}

/// [AL-8] [AL-21] [AL-25]
#[test]
fn every_run_is_one_complete_message() {
    const CASES: u32 = 3000;
    let seen: RefCell<BTreeMap<&str, u32>> = RefCell::default();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(CASES) });
    let tried = runner.run(&cases(), |case| {
        // Running it checks it.
        let ran = runtime.block_on(play(&case));
        let mut seen = seen.borrow_mut();
        let mut count = |what, holds: bool| *seen.entry(what).or_default() += u32::from(holds);
        let has = |kinds: &[&str]| !ran.only(kinds).is_empty();
        count("finish", matches!(ran.last(), UiChunk::Finish { .. }));
        count("error", matches!(ran.last(), UiChunk::Error { .. }));
        count("abort", matches!(ran.last(), UiChunk::Abort { .. }));
        count("reset", has(&["reset-step"]));
        count("approval", has(&["tool-approval-request"]));
        count("result", has(&["tool-output-available"]));
        count("failed call", has(&["tool-output-error"]));
        count("cut input", has(&["tool-input-error"]));
        count("several steps", ran.steps > 1);
        let starts = ran.chunks.iter().filter(|chunk| matches!(chunk, UiChunk::TextStart { .. })).count();
        count("text", starts > 0);
        Ok(())
    });
    tried.unwrap();
    let seen = seen.into_inner();
    for (what, count) in &seen {
        assert!(count * 100 >= CASES * share(what), "only {count} of {CASES} cases have {what}");
    }
}

/// How many cases in a hundred must have it, for the test to mean something: about half of what there are.
fn share(what: &str) -> u32 {
    match what {
        "error" | "failed call" => 25,
        "finish" | "result" | "text" => 18,
        "cut input" => 15,
        "reset" => 8,
        "abort" | "several steps" => 5,
        _ => 1,
    }
}
