//! The run machine alone, in every state it can be in.

use std::cell::Cell;
use std::sync::Arc;

use ai_core::run::{
    ApprovalVerdict, Input, Interruption, LoopGuard, Next, Outcome, Prepared, Run, RunConfig, RunSnapshot,
    StoredRunError, ToolFacts, ToolRecord, ToolStatus, Verdict,
};
use ai_provider::{
    AssistantMessage, AssistantPart, ErrorClass, Finish, Message, ModelError, StreamPart,
    ToolApprovalRequest, ToolCall, ToolOutput, ToolResult, UnifiedFinish, Usage,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::support::{answer, check_history, fact, new_run, prepared};

/// What a model does in one step, and what people and tools make of it.
#[derive(Clone, Debug)]
enum Turn {
    Calls(Vec<Tool>, UnifiedFinish),
    Fails { retry: bool },
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Tool {
    Runs,
    Asks { approved: bool },
    Allowed,
    Client,
    Unknown { repaired: bool },
    Provider,
    ProviderAsks { approved: bool },
}

const TOOLS: [Tool; 10] = [
    Tool::Runs,
    Tool::Asks { approved: true },
    Tool::Asks { approved: false },
    Tool::Allowed,
    Tool::Client,
    Tool::Unknown { repaired: true },
    Tool::Unknown { repaired: false },
    Tool::Provider,
    Tool::ProviderAsks { approved: true },
    Tool::ProviderAsks { approved: false },
];

fn turn() -> impl Strategy<Value = Turn> {
    let finish = prop_oneof![
        8 => Just(UnifiedFinish::ToolCalls),
        2 => Just(UnifiedFinish::Stop),
        1 => Just(UnifiedFinish::Length),
    ];
    let calls = prop::collection::vec(prop::sample::select(TOOLS.to_vec()), 0..5);
    prop_oneof![
        9 => (calls, finish).prop_map(|(calls, finish)| Turn::Calls(calls, finish)),
        1 => any::<bool>().prop_map(|retry| Turn::Fails { retry }),
    ]
}

fn config() -> impl Strategy<Value = RunConfig> {
    (1..5u32, any::<bool>(), prop::option::of(1..4u32)).prop_map(|(cap, closing, stop)| {
        let mut config = RunConfig::default();
        config.step_cap = cap;
        config.closing_step = closing;
        config.loop_guard = LoopGuard::new(2, stop);
        config
    })
}

/// Plays a script, deterministically, from whatever state the run is in.
struct Player<'a> {
    script: &'a [Turn],
    at: usize,
}

fn named(step: usize, at: usize, tool: Tool) -> (String, &'static str) {
    let name = match tool {
        Tool::Runs => "runs",
        Tool::Asks { .. } => "asks",
        Tool::Allowed => "allowed",
        Tool::Client => "client",
        Tool::Unknown { .. } => "nope",
        Tool::Provider => "provider",
        Tool::ProviderAsks { .. } => "elsewhere",
    };
    (format!("s{step}c{at}"), name)
}

fn facts() -> Vec<ToolFacts> {
    let asks = |name| ToolFacts { approval: true, ..fact(name) };
    let elsewhere = |name| ToolFacts { executable: false, ..fact(name) };
    vec![
        fact("runs"),
        asks("asks"),
        asks("allowed"),
        elsewhere("client"),
        ToolFacts { deferred: true, ..elsewhere("provider") },
    ]
}

impl Player<'_> {
    /// What stands behind this id in the script.
    fn tool(&self, id: &str) -> Tool {
        let (step, at) = id[1..].split_once('c').unwrap();
        match &self.script[step.parse::<usize>().unwrap()] {
            Turn::Calls(calls, _) => calls[at.parse::<usize>().unwrap()],
            Turn::Fails { .. } => panic!("a call of a step without any"),
        }
    }

    fn says(&mut self) -> Input {
        let (number, turn) = (self.at, self.script.get(self.at));
        self.at += 1;
        let finish = |reason: UnifiedFinish| {
            let mut usage = Usage::default();
            usage.input.total = Some(1);
            StreamPart::Finish(Box::new(Finish { reason: reason.into(), usage, metadata: None }))
        };
        let text =
            [StreamPart::text_start("t"), StreamPart::text_delta("t", "so"), StreamPart::text_end("t")];
        let mut parts = text.to_vec();
        match turn {
            None => parts.push(finish(UnifiedFinish::Stop)),
            Some(Turn::Fails { retry }) => {
                let error = ModelError::new(ErrorClass::Server, "boom").record();
                return Input::ModelFailed { error, partial: AssistantMessage::default(), retry: *retry };
            }
            Some(Turn::Calls(calls, reason)) => {
                for (at, tool) in calls.iter().enumerate() {
                    let (id, name) = named(number, at, *tool);
                    let mut call = ToolCall::new(id, name, "{}");
                    let tool_call_id = call.id.clone();
                    let asks = matches!(tool, Tool::ProviderAsks { .. });
                    call.provider_executed = asks || *tool == Tool::Provider;
                    parts.push(StreamPart::ToolCall(Box::new(call)));
                    if asks {
                        let approval_id = format!("ask_{tool_call_id}").into();
                        let asks = ToolApprovalRequest { approval_id, tool_call_id };
                        parts.push(StreamPart::ToolApprovalRequest(asks));
                    }
                }
                parts.push(finish(*reason));
            }
        }
        answer(&parts)
    }

    /// What to feed next; nothing when the run is over.
    fn input(&mut self, run: &Run) -> Option<Input> {
        let result = |call: &ToolCall| {
            ToolResult::new(call.id.clone(), call.name.as_str(), ToolOutput::Text(format!("of {}", call.id)))
        };
        Some(match run.next() {
            Next::Prepare { .. } => {
                let mut prepared = Prepared::default();
                prepared.tools = facts();
                prepared.repair = true;
                Input::Prepared(prepared)
            }
            Next::CallModel => self.says(),
            Next::Repair { calls } => Input::Repaired(
                calls
                    .iter()
                    .map(|invalid| {
                        let repaired = self.tool(&invalid.call.id) == Tool::Unknown { repaired: true };
                        let call = repaired.then(|| ToolCall::new("x", "runs", "{}"));
                        (invalid.call.id.clone(), call)
                    })
                    .collect(),
            ),
            Next::DecideApproval { calls } => Input::Decided(
                calls
                    .iter()
                    .map(|call| {
                        let verdict = match self.tool(&call.id) {
                            Tool::Allowed => ApprovalVerdict::Approved,
                            _ => ApprovalVerdict::ask(&call.id),
                        };
                        (call.id.clone(), verdict)
                    })
                    .collect(),
            ),
            // The last first: results come in any order.
            Next::CallTools { calls } => Input::ToolFinished(Box::new(ToolRecord::not_run(
                result(calls.last().unwrap()),
                ToolStatus::Ok,
            ))),
            Next::AwaitApproval { pending } => {
                let call_id = pending.last().unwrap().call.id.clone();
                let yes = [Tool::Asks { approved: true }, Tool::ProviderAsks { approved: true }];
                let approved = yes.contains(&self.tool(&call_id));
                Input::Answer { call_id, approved, reason: None }
            }
            Next::CheckStop => Input::Verdicts(Vec::new()),
            Next::Done(Outcome::HandedOver { calls }) => Input::Returned(calls.iter().map(result).collect()),
            Next::Done(_) => return None,
            other => panic!("{other:?}"),
        })
    }
}

fn stored(run: &Run) -> Run {
    let stored = serde_json::to_vec(&run.snapshot()).unwrap();
    RunSnapshot::from_json(&stored).unwrap().into_run()
}

/// [AC-329] [AC-51]
#[test]
fn a_run_stored_in_any_state_goes_on_as_if_it_had_not_been() {
    let kinds = Cell::new(std::collections::BTreeMap::<String, usize>::new());
    let states = Cell::new(0usize);
    TestRunner::new(ProptestConfig::with_cases(256))
        .run(&(prop::collection::vec(turn(), 1..6), config()), |(script, config)| {
            let mut straight = Run::new([Message::user("go")], config);
            let mut kept = straight.clone();
            let (mut player, mut other) =
                (Player { script: &script, at: 0 }, Player { script: &script, at: 0 });
            let mut kinds_here = kinds.take();
            while let Some(input) = player.input(&straight) {
                let kind = format!("{:?}", straight.next());
                *kinds_here.entry(kind.split([' ', '(']).next().unwrap().to_owned()).or_default() += 1;
                states.set(states.get() + 1);
                if matches!(straight.next(), Next::CallModel) {
                    check_history(straight.messages()).map_err(TestCaseError::fail)?;
                }
                straight.feed(input).unwrap();
                kept = stored(&kept);
                let input = other.input(&kept).unwrap();
                kept.feed(input).unwrap();
                prop_assert_eq!(&kept, &straight);
                prop_assert_eq!(&stored(&kept), &kept);
            }
            kinds.set(kinds_here);
            let answered: usize = straight.steps().iter().map(|step| step.tools.len()).sum();
            let called: usize = straight
                .steps()
                .iter()
                .flat_map(|step| step.message.tool_calls())
                .filter(|call| !call.provider_executed)
                .count();
            prop_assert_eq!(answered, called, "a result is lost");
            let asked = straight.steps().iter().flat_map(|step| &step.message.parts);
            let asked = asked.filter(|part| matches!(part, AssistantPart::ToolApprovalRequest(_))).count();
            let said: usize = straight.steps().iter().map(|step| step.approvals.len()).sum();
            prop_assert_eq!(said, asked, "a question of the provider's is not answered");
            check_history(straight.messages()).map_err(TestCaseError::fail)?;
            Ok(())
        })
        .unwrap();
    let (kinds, states) = (kinds.take(), states.get());
    for kind in [
        "Prepare",
        "CallModel",
        "Repair",
        "DecideApproval",
        "CallTools",
        "CheckStop",
        "AwaitApproval",
        "Done",
    ] {
        let met = kinds.get(kind).copied().unwrap_or_default();
        assert!(met > 20, "{kind} was met {met} times in {states} states: {kinds:?}");
    }
}

fn any_input() -> impl Strategy<Value = Input> {
    let id = || prop::sample::select(vec!["s0c0", "s0c1", "s1c0", "nobody"]);
    let result = |id: &str| ToolResult::new(id, "runs", ToolOutput::Text(String::new()));
    let calls = prop::collection::vec(prop::sample::select(TOOLS.to_vec()), 0..4);
    let error = || ModelError::new(ErrorClass::Server, "boom").record();
    prop_oneof![
        24 => Just(()).prop_map(|()| prepared(facts())),
        24 => (calls, 0..2usize).prop_map(|(calls, step)| {
            let mut script = vec![Turn::Calls(Vec::new(), UnifiedFinish::Stop); step];
            script.push(Turn::Calls(calls, UnifiedFinish::ToolCalls));
            Player { script: &script, at: step }.says()
        }),
        1 => any::<bool>().prop_map(move |retry| Input::ModelFailed {
            error: error(), partial: AssistantMessage::default(), retry
        }),
        12 => id().prop_map(|id| Input::Repaired(vec![(id.into(), Some(ToolCall::new(id, "runs", "{}")))])),
        12 => id().prop_map(|id| Input::Decided(vec![(id.into(), ApprovalVerdict::ask(&id.into()))])),
        12 => (id(), any::<bool>()).prop_map(|(id, approved)| Input::Answer {
            call_id: id.into(), approved, reason: None
        }),
        36 => id().prop_map(move |id| {
            Input::ToolFinished(Box::new(ToolRecord::not_run(result(id), ToolStatus::Ok)))
        }),
        1 => prop::collection::vec(id(), 0..3)
            .prop_map(move |ids| Input::Returned(ids.into_iter().map(result).collect())),
        18 => any::<bool>().prop_map(|stop| {
            Input::Verdicts(stop.then_some(Verdict::SteerYield).into_iter().collect())
        }),
        1 => Just(()).prop_map(move |()| Input::Broken(ModelError::new(ErrorClass::Server, "boom").record())),
        1 => any::<bool>().prop_map(|cancel| Input::Interrupted {
            by: if cancel { Interruption::Cancelled } else { Interruption::TimeUp },
            partial: None,
        }),
    ]
}

/// [AC-331] [AC-10]
#[test]
fn whatever_is_fed_a_run_stays_one() {
    let (taken, refused, over) = (Cell::new(0usize), Cell::new(0usize), Cell::new(0usize));
    let more = |count: &Cell<usize>| count.set(count.get() + 1);
    TestRunner::new(ProptestConfig::with_cases(512))
        .run(&prop::collection::vec(any_input(), 1..40), |inputs| {
            let mut run = new_run();
            for input in inputs {
                let before = run.clone();
                match run.feed(input) {
                    Ok(()) => more(&taken),
                    Err(_) => {
                        more(&refused);
                        prop_assert_eq!(&run, &before);
                    }
                }
                prop_assert_eq!(&stored(&run), &run);
                let handed_over = matches!(run.outcome(), Some(Outcome::HandedOver { .. }));
                if !handed_over {
                    check_history(run.messages()).map_err(TestCaseError::fail)?;
                }
            }
            if run.outcome().is_some() {
                more(&over);
            }
            Ok(())
        })
        .unwrap();
    let (taken, refused, over) = (taken.get(), refused.get(), over.get());
    assert!(taken > 1_000 && refused > 1_000 && over > 50, "{taken} taken, {refused} refused, {over} over");
}

/// [AC-330]
#[test]
fn a_stored_run_that_cannot_be_read_says_why() {
    let mut run = new_run();
    run.feed(prepared(facts())).unwrap();
    run.feed(Player { script: &[Turn::Calls(vec![Tool::Runs], UnifiedFinish::ToolCalls)], at: 0 }.says())
        .unwrap();
    let mut done = run.clone();
    let result = ToolResult::new("s0c0", "runs", ToolOutput::Text(String::new()));
    done.feed(Input::ToolFinished(Box::new(ToolRecord::not_run(result, ToolStatus::Ok)))).unwrap();
    let whole = serde_json::to_vec(&run).unwrap();
    assert_eq!(RunSnapshot::from_json(&whole).unwrap().run(), &run);

    for cut in [0, 1, whole.len() / 2, whole.len() - 1] {
        let error = RunSnapshot::from_json(&whole[..cut]).unwrap_err();
        assert!(matches!(error, StoredRunError::NotJson { .. }), "{error}");
    }
    let edited = |run: &Run, change: &dyn Fn(&mut serde_json::Value)| {
        let mut value = serde_json::to_value(run).unwrap();
        change(&mut value);
        RunSnapshot::from_json(&serde_json::to_vec(&value).unwrap()).unwrap_err()
    };
    let later = edited(&run, &|stored| stored["schema"] = 7.into());
    assert_eq!(later, StoredRunError::LaterSchema { schema: 7 });
    type Change<'a> = (&'a Run, &'a dyn Fn(&mut serde_json::Value));
    let changes: [Change<'_>; 7] = [
        (&run, &|stored| stored["schema"] = "1".into()),
        (&run, &|stored| drop(stored.as_object_mut().unwrap().remove("messages"))),
        (&run, &|stored| stored["phase"]["at"] = "nowhere".into()),
        (&run, &|stored| stored["phase"]["with"]["calls"] = serde_json::json!([])),
        (&run, &|stored| stored["usage"] = serde_json::json!({"input": {"total": -1}})),
        (&done, &|stored| stored["steps"][0]["step"] = 3.into()),
        (&done, &|stored| {
            let step = stored["steps"][0].clone();
            stored["steps"].as_array_mut().unwrap().push(step);
        }),
    ];
    for (run, change) in changes {
        let error = edited(run, change);
        assert!(matches!(error, StoredRunError::Damaged { .. }), "{error}");
    }
    assert!(edited(&done, changes[5].1).to_string().contains("step 3 stands in the place of step 1"));
}

/// [AC-332]
#[test]
fn what_tools_took_of_models_is_counted_in_the_run() {
    let mut run = new_run();
    run.feed(prepared(facts())).unwrap();
    let script = [Turn::Calls(vec![Tool::Runs], UnifiedFinish::ToolCalls)];
    run.feed(Player { script: &script, at: 0 }.says()).unwrap();
    let result = ToolResult::new("s0c0", "runs", ToolOutput::Text(String::new()));
    let mut record = ToolRecord::not_run(result, ToolStatus::Ok);
    let mut usage = Usage::default();
    usage.input.total = Some(10);
    usage.output.total = Some(3);
    record.usage = Some(Box::new(usage));
    run.feed(Input::ToolFinished(Box::new(record))).unwrap();
    assert_eq!((run.usage().input.total, run.usage().output.total), (Some(11), Some(3)));
    assert_eq!(run.steps()[0].usage.input.total, Some(1), "the step's own is the model's alone");
    assert_eq!(stored(&run), run);
}

/// [AC-351]
#[test]
fn a_snapshot_shares_what_the_run_has_gathered() {
    let mut run = Run::new((0..100).map(|_| Message::user("x")), RunConfig::default());
    let before = run.snapshot();
    assert!(std::ptr::eq(run.messages(), before.run().messages()));
    run.feed(prepared(facts())).unwrap();
    let script = [Turn::Calls(vec![Tool::Runs], UnifiedFinish::Length)];
    run.feed(Player { script: &script, at: 0 }.says()).unwrap();
    // What was stored does not change behind its back.
    assert_eq!(before.run().messages().len(), 100);
    assert!(run.messages().len() > 100);
    assert!(Arc::ptr_eq(&run.messages()[5], &before.run().messages()[5]));
}
