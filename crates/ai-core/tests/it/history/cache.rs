use std::cell::Cell;
use std::sync::Arc;

use ai_core::history::CacheBreakpoints;
use ai_provider::{
    FunctionTool, Message, ProviderOptions, ProviderTool, Request, ToolDefinition, ToolPart, UserPart,
};
use ai_testkit::{Script, ScriptedModel};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{any_history, history};
use crate::middleware::{around, said};

fn of(options: &ProviderOptions) -> Option<&Value> {
    options.get("anthropic").and_then(|options| options.get("cacheControl"))
}

/// The marker of a message, wherever in it.
fn marker(message: &Message) -> Option<&Value> {
    match message {
        Message::System(message) => of(&message.options),
        Message::User(message) => of(&message.options),
        Message::Assistant(message) => of(&message.options),
        Message::Tool(message) => message.parts.iter().find_map(|part| match part {
            ToolPart::ToolResult(result) => of(&result.options),
            _ => None,
        }),
        _ => None,
    }
}

fn marked(messages: &[Arc<Message>]) -> Vec<usize> {
    messages.iter().enumerate().filter(|(_, message)| marker(message).is_some()).map(|(at, _)| at).collect()
}

/// [AC-285]
#[test]
fn instructions_and_the_ends_of_the_last_requests_are_marked() {
    let mark = |letters: &str| marked(&CacheBreakpoints::new().mark(&history(letters)));
    // Each digit is two messages: the calls, and their results.
    assert_eq!(mark("su"), [0, 1]);
    assert_eq!(mark("suau"), [0, 1, 3]);
    assert_eq!(mark("su1"), [0, 1, 3]);
    assert_eq!(mark("su111au"), [0, 5, 7, 9]);
    assert_eq!(mark("u111"), [0, 2, 4, 6], "without instructions there is one more");
    assert_eq!(mark("ssua"), [1, 2, 3]);
    assert_eq!((mark("s"), mark("")), (vec![0], vec![]));

    let messages = history("su3");
    let with_markers = CacheBreakpoints::new().with_ttl("1h").mark(&messages);
    let Message::Tool(results) = &*with_markers[3] else { panic!("{with_markers:?}") };
    let options = results.parts.iter().map(|part| match part {
        ToolPart::ToolResult(result) => of(&result.options),
        other => panic!("{other:?}"),
    });
    let options: Vec<_> = options.collect();
    assert_eq!(options, [None, None, Some(&json!({"type": "ephemeral", "ttl": "1h"}))], "on the last result");
    assert!(Arc::ptr_eq(&with_markers[2], &messages[2]));
    assert!(marked(&messages).is_empty(), "the original has none");
}

/// [AC-286]
#[tokio::test]
async fn there_are_four_at_most_those_of_the_caller_counted() {
    let limited = CacheBreakpoints::new().with_limit(2);
    assert_eq!(marked(&limited.mark(&history("su111"))), [0, 7]);
    assert!(marked(&CacheBreakpoints::new().with_limit(0).mark(&history("su"))).is_empty());
    assert_eq!(marked(&CacheBreakpoints::new().with_limit(9).mark(&history("u1111"))).len(), 4);

    let mut messages = history("suauau");
    let own = ProviderOptions::default().with("anthropic", "cache_control", json!({"type": "ephemeral"}));
    if let Message::User(user) = Arc::make_mut(&mut messages[3])
        && let UserPart::Text(part) = &mut user.parts[0]
    {
        part.options = own.clone();
    }
    let after = CacheBreakpoints::new().mark(&messages);
    assert_eq!(marked(&after), [0, 1, 5], "the third has its own on its part");
    assert!(Arc::ptr_eq(&after[3], &messages[3]));

    let mut tool = FunctionTool::new("f", "", json!({"type": "object"}));
    tool.options = own;
    let args = json!({"cacheControl": {"type": "ephemeral"}}).as_object().unwrap().clone();
    let provider = ProviderTool { id: "anthropic.web_search".to_owned(), name: "web".to_owned(), args };
    let mut request = Request::from_shared(history("su11"))
        .with_tools([ToolDefinition::Function(tool), ToolDefinition::Provider(provider)]);
    let model = ScriptedModel::new().repeat(Script::text_reply("hi"));
    let wrapped = around(&model, CacheBreakpoints::new());
    said(&wrapped, request.clone()).await;
    assert_eq!(marked(&model.requests()[0].messages), [0, 5]);
    request.tools = Arc::default();
    said(&around(&model, CacheBreakpoints::new().with_namespace("other")), request).await;
    assert!(marked(&model.requests()[1].messages).is_empty());
    assert!(format!("{:?}", model.requests()[1].messages[0]).contains("other"));
}

/// [AC-286]
#[test]
fn a_marker_is_put_on_nothing_that_is_left_out() {
    let blank = [Message::system(" "), Message::user("a"), Message::assistant(""), Message::user("\n")];
    let blank: Vec<_> = blank.into_iter().map(Arc::new).collect();
    assert_eq!(marked(&CacheBreakpoints::new().mark(&blank)), [1]);

    let (cases, full) = (Cell::new(0), Cell::new(0));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(300));
    runner
        .run(&any_history(), |messages| {
            cases.set(cases.get() + 1);
            let once = CacheBreakpoints::new().mark(&messages);
            let count = marked(&once).len();
            prop_assert!(count <= 4 && (count > 0 || messages.is_empty()));
            full.set(full.get() + usize::from(count == 4));
            prop_assert_eq!(CacheBreakpoints::new().mark(&once), once, "what is full takes no more");
            Ok(())
        })
        .unwrap();
    assert!(full.get() * 3 > cases.get(), "{} of {} had four", full.get(), cases.get());
}
