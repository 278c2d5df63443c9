use ai_provider::ToolContent;

use super::*;

fn ui(json: Value) -> UiMessage {
    serde_json::from_value(json).unwrap()
}

fn model(parts: Value) -> Value {
    let message = ui(json!({"id": "m1", "role": "assistant", "parts": parts}));
    serde_json::to_value(to_model_messages(&[message]).unwrap()).unwrap()
}

/// [AL-221]
#[test]
fn steps_become_answers_and_results() {
    let parts = json!([
        {"type": "step-start"},
        {"type": "reasoning", "text": "Hm.", "state": "done"},
        {"type": "source-url", "sourceId": "s", "url": "https://example.com/"},
        {"type": "data-x", "data": 1},
        {"type": "tool-a", "toolCallId": "1", "state": "output-available", "input": {"q": 1}, "output": "yes"},
        {"type": "dynamic-tool", "toolName": "b", "toolCallId": "2", "state": "output-error", "input": "{\"", "errorText": "No."},
        {"type": "tool-c", "toolCallId": "3", "state": "output-available", "input": {}, "output": [1], "providerExecuted": true},
        {"type": "step-start"},
        {"type": "steering-message", "id": "u", "parts": [{"type": "text", "text": "Shorter."}]},
        {"type": "text", "text": "Done."}
    ]);
    assert_eq!(
        model(parts),
        json!([
            {"role": "assistant", "parts": [
                {"type": "reasoning", "text": "Hm."},
                {"type": "tool-call", "toolCallId": "1", "toolName": "a", "input": "{\"q\":1}"},
                {"type": "tool-call", "toolCallId": "2", "toolName": "b", "input": "{\"", "dynamic": true},
                {"type": "tool-call", "toolCallId": "3", "toolName": "c", "input": "{}", "providerExecuted": true},
                {"type": "tool-result", "toolCallId": "3", "toolName": "c", "output": {"type": "json", "value": [1]}, "providerExecuted": true}
            ]},
            {"role": "tool", "parts": [
                {"type": "tool-result", "toolCallId": "1", "toolName": "a", "output": {"type": "text", "value": "yes"}},
                {"type": "tool-result", "toolCallId": "2", "toolName": "b", "output": {"type": "error-text", "value": "No."}, "dynamic": true}
            ]},
            {"role": "user", "parts": [{"type": "text", "text": "Shorter."}]},
            {"role": "assistant", "parts": [{"type": "text", "text": "Done."}]}
        ])
    );
}

/// [AL-222]
#[test]
fn calls_without_a_result_are_left_out() {
    let call = |state: &str, more: Value| {
        let mut part = json!({"type": "tool-a", "toolCallId": "1", "input": {}, "state": state});
        part.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        model(json!([part]))
    };
    for (state, more) in [
        ("input-streaming", json!({})),
        ("input-available", json!({})),
        ("approval-requested", json!({"approval": {"id": "x"}})),
        ("approval-responded", json!({"approval": {"id": "x", "approved": true}})),
        ("output-available", json!({"output": 1, "preliminary": true})),
    ] {
        assert_eq!(call(state, more), json!([]), "{state}");
    }
    for state in ["approval-responded", "output-denied"] {
        let told = call(state, json!({"approval": {"id": "x", "approved": false, "reason": "no"}}));
        assert_eq!(
            told[1]["parts"][0]["output"],
            json!({"type": "execution-denied", "value": {"reason": "no"}})
        );
    }
}

/// [AL-223]
#[test]
fn files_come_as_content_or_as_address() {
    let file = |url: &str| {
        let part = json!({"type": "file", "mediaType": "image/png", "url": url, "filename": "a.png"});
        to_model_messages(&[ui(json!({"id": "u", "role": "user", "parts": [part]}))])
    };
    let data = |url: &str| match file(url).unwrap().remove(0) {
        Message::User(UserMessage { mut parts, .. }) => match parts.remove(0) {
            UserPart::File(file) => file.data,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    assert_eq!(data("DATA:image/png;BASE64,cG5n"), FileData::bytes(&b"png"[..]));
    assert_eq!(data("https://example.com/a"), FileData::Url { url: "https://example.com/a".to_owned() });
    for bad in ["data:image/png,png", "data:image/png;base64,c!", "data:", "data:;base64"] {
        assert_eq!(file(bad), Err(UiConvertError::BadDataUrl), "{bad}");
    }
}

/// [AL-224]
#[test]
fn a_history_comes_back_as_one_message_per_turn() {
    let secret = ToolResult::new("2", "b", ToolOutput::ErrorText("db-7 is down".to_owned()));
    let whole = ToolOutput::Content(vec![ToolContent::Text(TextPart::new("whole"))]);
    let calls = [ToolCall::new("1", "a", "{}"), ToolCall::new("2", "b", "{\"")];
    let parts = calls.into_iter().map(AssistantPart::ToolCall).collect();
    let history = [
        Message::system("Be brief."),
        Message::user("Go."),
        Message::Assistant(AssistantMessage { parts, ..AssistantMessage::default() }),
        Message::tool([ToolResult::new("1", "a", whole), secret]),
        Message::assistant("Done."),
        Message::user("Thanks."),
    ];
    let mut count = 0;
    let messages = to_ui_messages(&history.map(Arc::new), || {
        count += 1;
        format!("m{count}")
    });
    let shown = serde_json::to_value(&messages).unwrap();
    assert_eq!(
        shown[2],
        json!({"id": "m3", "role": "assistant", "parts": [
            {"type": "step-start"},
            {"type": "tool-a", "toolCallId": "1", "state": "output-available", "input": {}, "output": [{"type": "text", "text": "whole"}]},
            {"type": "tool-b", "toolCallId": "2", "state": "output-error", "input": "{\"", "errorText": "Something went wrong."},
            {"type": "step-start"},
            {"type": "text", "text": "Done.", "state": "done"}
        ]})
    );
    let roles: Vec<_> = messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [UiRole::System, UiRole::User, UiRole::Assistant, UiRole::User]);
    // And there again: the same turns, calls and text.
    let again = to_model_messages(&messages).unwrap();
    let kinds: Vec<_> =
        again.iter().map(|message| serde_json::to_value(message).unwrap()["role"].clone()).collect();
    assert_eq!(kinds, ["system", "user", "assistant", "tool", "assistant", "user"]);
    let Message::Assistant(answer) = &again[2] else { panic!("{again:?}") };
    let inputs: Vec<_> = answer.tool_calls().map(|call| call.input.as_str()).collect();
    assert_eq!(inputs, ["{}", "{\""]);
}
