use std::sync::Arc;

use ai_core::history::{context_tokens, estimate_tokens};
use ai_provider::{FileData, FilePart, Message, ToolOutput, ToolResult, Usage, UserPart};
use serde_json::json;

use super::history;

fn of(message: Message) -> u64 {
    estimate_tokens(&[Arc::new(message)])
}

/// [AC-280]
#[test]
fn tokens_are_estimated_by_script_and_kind() {
    let frame = of(Message::user(""));
    assert_eq!(of(Message::user("a".repeat(4_000))) - frame, 1_000);
    assert_eq!(of(Message::system("語".repeat(3_000))) - frame, 2_000);
    let file = |kind: &str, data: FileData| {
        let mut message = Message::user("");
        if let Message::User(user) = &mut message {
            user.parts.push(UserPart::File(FilePart::new(kind, data)));
        }
        of(message) - frame
    };
    assert_eq!(file("image/png", FileData::bytes(vec![0; 5_000_000])), 1_500, "however large its file");
    assert_eq!(file("image", FileData::Url { url: "https://a.example/x.png".to_owned() }), 1_500);
    assert_eq!(file("application/pdf", FileData::bytes(vec![0; 1_000_000])), 40_000);
    assert_eq!(file("text/plain", FileData::Text { text: "a".repeat(400) }), 100);
    let result = |output| of(Message::tool([ToolResult::new("c", "f", output)]));
    let none = result(ToolOutput::Text(String::new()));
    assert_eq!(result(ToolOutput::Text("a".repeat(60_000))) - none, 15_000);
    assert_eq!(result(ToolOutput::Json(json!(["aaaaaaaa", 1]))) - none, 4);
    assert_eq!(estimate_tokens(&[]), 0);
    assert!(estimate_tokens(&history("su2ru")) > 30);
}

fn usage(input: Option<u64>, output: Option<u64>) -> Usage {
    let mut usage = Usage::default();
    usage.input.total = input;
    usage.output.total = output;
    usage
}

/// [AC-281]
#[test]
fn what_was_reported_is_believed_and_what_came_since_is_added() {
    let messages = history("su1u");
    let since = estimate_tokens(&messages[3..]);
    assert_eq!(context_tokens(&messages, Some(&usage(Some(70_000), Some(500)))), 70_500 + since);
    assert_eq!(context_tokens(&messages, Some(&usage(Some(70_000), None))), 70_000 + since);
    let all = estimate_tokens(&messages);
    assert_eq!(context_tokens(&messages, None), all);
    assert_eq!(context_tokens(&messages, Some(&usage(None, Some(90_000)))), all, "no input was reported");
    let begun = history("su");
    assert_eq!(
        context_tokens(&begun, Some(&usage(Some(9), None))),
        estimate_tokens(&begun),
        "nobody answered yet"
    );
    assert_eq!(context_tokens(&messages, Some(&usage(Some(u64::MAX), Some(1)))), u64::MAX);
}
