//! Cache breakpoints.

use ai_provider::{
    AssistantPart, FunctionTool, Message, ProviderOptions, ReasoningPart, Request, SystemMessage, TextPart,
    ToolDefinition, ToolMessage, ToolPart, UserMessage, UserPart,
};
use serde_json::json;

use crate::support::history::{assistant, call, healed, result, said};
use crate::support::{MODEL, body, warned};

fn marked(name: &str) -> ProviderOptions {
    ProviderOptions::default().with("anthropic", name, json!({"type": "ephemeral"}))
}

/// [AN-87]
#[test]
fn cache_markers_stand_where_they_were_put_and_four_at_most() {
    let mut tool = FunctionTool::new("f", "d", json!({"type": "object"}));
    tool.options = marked("cache_control");
    let mut answer = result("x", "1");
    answer.options = marked("cacheControl");
    let user = |options: ProviderOptions, part: ProviderOptions| {
        let parts =
            ["a", "b"].map(|text| UserPart::Text(TextPart { options: part.clone(), ..TextPart::new(text) }));
        Message::User(UserMessage { parts: parts.into(), options })
    };
    let history = [
        Message::System(SystemMessage { text: "s".into(), options: marked("cache_control") }),
        user(marked("cache_control"), ProviderOptions::default()),
        assistant([call("x", "f", "{}")]),
        Message::tool([answer]),
    ];
    let ephemeral = json!({"type": "ephemeral"});
    let sent = body(MODEL, &Request::new(history.clone()).with_tools([ToolDefinition::Function(tool)]));
    assert_eq!(sent["tools"][0]["cache_control"], ephemeral);
    assert_eq!(sent["system"][0]["cache_control"], ephemeral);
    let user_blocks = &sent["messages"][0]["content"];
    assert_eq!((user_blocks[0].get("cache_control"), &user_blocks[1]["cache_control"]), (None, &ephemeral));
    assert_eq!(sent["messages"][2]["content"][0]["cache_control"], ephemeral);
    assert_eq!(sent.to_string().matches("cache_control").count(), 4);

    let results =
        ToolMessage { parts: vec![ToolPart::ToolResult(result("x", "1"))], options: marked("cache_control") };
    let history = [Message::user("Hi"), assistant([call("x", "f", "{}")]), Message::Tool(results)];
    let sent = body(MODEL, &Request::new(history));
    assert_eq!(sent["messages"][2]["content"][0]["cache_control"], ephemeral);

    let many = [Message::user("Hi"), user(ProviderOptions::default(), marked("cache_control"))];
    let many: Vec<_> = many.into_iter().cycle().take(8).collect();
    let (sent, warnings) = healed(many.clone());
    assert_eq!((sent.to_string().matches("cache_control").count(), warnings.len()), (4, 1), "{warnings:?}");
    // One for the whole request counts too.
    let mut request = Request::new(many);
    request.options = marked("cache_control");
    assert_eq!(warned(MODEL, &request).0.to_string().matches("cache_control").count(), 4);

    let thought = ReasoningPart { options: marked("cache_control"), ..ReasoningPart::new("t") };
    let (_, warnings) =
        healed([Message::user("Hi"), assistant([AssistantPart::Reasoning(thought), said("a")])]);
    assert!(warnings.iter().any(|warning| warning.contains("thinking cannot be cached")), "{warnings:?}");
}
