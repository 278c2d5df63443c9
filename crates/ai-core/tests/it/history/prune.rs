use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;

use ai_core::history::{Prune, Reach, prune};
use ai_provider::{
    AssistantPart, Message, ReasoningPart, TextPart, ToolApprovalRequest, ToolApprovalResponse, ToolCall,
    ToolMessage, ToolOutput, ToolPart, ToolResult,
};
use proptest::prelude::*;

use super::{any_history, assistant, history};
use crate::support::check_history;

fn reasonings(messages: &[Arc<Message>]) -> Vec<String> {
    let parts = messages.iter().filter_map(|message| match &**message {
        Message::Assistant(message) => Some(&message.parts),
        _ => None,
    });
    let reasonings = parts.flatten().filter_map(|part| match part {
        AssistantPart::Reasoning(part) => Some(part.text.clone()),
        _ => None,
    });
    reasonings.collect()
}

fn calls(messages: &[Arc<Message>]) -> Vec<String> {
    let calls = messages.iter().filter_map(|message| match &**message {
        Message::Assistant(message) => {
            Some(message.tool_calls().map(|call| call.id.to_string()).collect::<Vec<_>>())
        }
        _ => None,
    });
    calls.flatten().collect()
}

/// [AC-282]
#[test]
fn reasoning_goes_as_far_as_it_is_told() {
    let messages = history("urura");
    let after = |reach| prune(&messages, &Prune::new().reasoning(reach));
    assert_eq!(reasonings(&after(Reach::Everything)), [""; 0]);
    assert_eq!(reasonings(&after(Reach::BeforeLastTurn)), ["reasoning 3"]);
    assert_eq!(reasonings(&after(Reach::BeforeLast(2))), ["reasoning 3"]);
    assert_eq!(reasonings(&after(Reach::BeforeLast(1))), [""; 0]);
    assert_eq!(reasonings(&after(Reach::BeforeLast(100))).len(), 2);
    let kept = after(Reach::BeforeLastTurn);
    assert_eq!(kept.len(), 5);
    assert!(Arc::ptr_eq(&kept[3], &messages[3]) && Arc::ptr_eq(&kept[0], &messages[0]), "shared");
    let untouched = prune(&messages, &Prune::new());
    assert!(untouched.iter().zip(&messages).all(|(one, other)| Arc::ptr_eq(one, other)));
    assert_eq!(reasonings(&prune(&history("ra"), &Prune::new().reasoning(Reach::BeforeLastTurn))).len(), 1);
}

/// [AC-283]
#[test]
fn calls_go_with_all_that_belongs_to_them() {
    let messages = history("u2au1");
    let after = |rules: Prune| prune(&messages, &rules);
    let all = after(Prune::new().tool_calls(Reach::Everything));
    assert_eq!(all.len(), 3, "what says nothing any more is left out: {all:?}");
    assert_eq!(calls(&after(Prune::new().tool_calls(Reach::BeforeLastTurn))), ["c4.0"]);
    assert_eq!(calls(&after(Prune::new().tool_calls(Reach::BeforeLast(1)))), ["c4.0"], "its result is there");
    let of_one = after(Prune::new().tool_calls(Reach::Everything).of_tools(["f"]));
    assert_eq!(calls(&of_one), ["c1.1"]);
    check_history(&of_one).unwrap();

    let asked = assistant(vec![
        AssistantPart::Reasoning(ReasoningPart::new("hm")),
        AssistantPart::ToolCall(ToolCall { provider_executed: true, ..ToolCall::new("p", "f", "{}") }),
        AssistantPart::ToolApprovalRequest(ToolApprovalRequest {
            approval_id: "q".into(),
            tool_call_id: "p".into(),
        }),
    ]);
    let answer = ToolApprovalResponse { approval_id: "q".into(), approved: true, reason: None };
    let answered = Message::Tool(ToolMessage {
        parts: vec![ToolPart::ToolApprovalResponse(answer)],
        options: Default::default(),
    });
    let ran = assistant(vec![
        AssistantPart::ToolResult(ToolResult::new("p", "f", ToolOutput::Text("x".to_owned()))),
        AssistantPart::Text(TextPart::new("done")),
    ]);
    let messages: Vec<_> = [Message::user("go"), asked, answered, ran].into_iter().map(Arc::new).collect();
    let left = prune(&messages, &Prune::new().tool_calls(Reach::Everything));
    assert_eq!(
        left.iter().map(|m| (**m).clone()).collect::<Vec<_>>(),
        [Message::user("go"), Message::assistant("done")]
    );
    // Behind the first of these reaches stand answer and result, behind the second the result alone.
    for count in [2, 1] {
        let kept = prune(&messages, &Prune::new().tool_calls(Reach::BeforeLast(count)));
        assert!(kept.iter().zip(&messages).all(|(one, other)| Arc::ptr_eq(one, other)), "{count}");
        assert_eq!(kept.len(), 4);
    }
}

/// [AC-284]
#[test]
fn what_is_left_is_a_history() {
    let reach = prop_oneof![
        Just(Reach::Nothing),
        Just(Reach::Everything),
        Just(Reach::BeforeLastTurn),
        (0usize..8).prop_map(Reach::BeforeLast),
    ];
    let tools = prop::option::of(Just(vec!["f"]));
    let (cases, dropped) = (Cell::new(0), Cell::new(0));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(500));
    runner
        .run(&(any_history(), reach.clone(), reach, tools), |(messages, reasoning, tool_calls, tools)| {
            cases.set(cases.get() + 1);
            let rules = Prune::new().reasoning(reasoning).tool_calls(tool_calls);
            let rules = tools.into_iter().fold(rules, Prune::of_tools);
            let left = prune(&messages, &rules);
            prop_assert_eq!(check_history(&left), Ok(()));
            let (before, after) = (calls(&messages), calls(&left));
            dropped.set(dropped.get() + usize::from(after.len() < before.len()));
            let users = |messages: &[Arc<Message>]| {
                messages
                    .iter()
                    .filter(|message| !matches!(***message, Message::Assistant(_) | Message::Tool(_)))
                    .count()
            };
            prop_assert_eq!(users(&left), users(&messages));
            let unique: HashSet<_> = after.iter().collect();
            prop_assert!(unique.iter().all(|id| before.contains(id)));
            prop_assert_eq!(prune(&left, &Prune::new()), left);
            Ok(())
        })
        .unwrap();
    assert!(dropped.get() * 5 > cases.get(), "{} of {} lost calls", dropped.get(), cases.get());
}
