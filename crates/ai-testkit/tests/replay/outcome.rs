//! What printed lines say, read by the names that are promised and nothing else.

use ai_provider::{ErrorRecord, ToolCall};
use ai_testkit::recordings::Outcome;
use serde_json::{Value, json};

/// The lines as values.
pub(crate) fn values(output: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(output).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")))
        .collect()
}

/// The outcome the lines tell of.
pub(crate) fn outcome(lines: &[Value]) -> Outcome {
    let (last, parts) = lines.split_last().unwrap();
    let mut outcome = Outcome::default();
    for part in parts {
        let text = |name: &str| part[name].as_str().unwrap().to_owned();
        match part["type"].as_str().unwrap() {
            "text-start" => outcome.text_blocks += 1,
            "text-delta" => outcome.text += &text("delta"),
            "reasoning-start" => outcome.reasoning_blocks += 1,
            "reasoning-delta" => outcome.reasoning += &text("delta"),
            "tool-call" => {
                let mut call = ToolCall::new(text("toolCallId"), text("toolName"), text("input"));
                call.provider_executed = part["providerExecuted"] == true;
                outcome.calls.push(call);
            }
            "tool-result" if part["preliminary"] != true => {
                assert!(!part["result"].is_null());
                outcome.results += 1;
            }
            "source" => outcome.sources += 1,
            "finish" => {
                assert_eq!(part["usage"], last["usage"], "the part and the last line agree");
                assert_eq!(part["finishReason"]["unified"], last["finishReason"]["unified"]);
            }
            _ => {}
        }
    }
    if last.get("error").is_some() {
        outcome.error = Some(error(&last["error"]));
        assert!(last["partial"]["parts"].is_array());
        return outcome;
    }
    assert_eq!(parts.iter().filter(|part| part["type"] == "finish").count(), 1);
    outcome.finish = Some(serde_json::from_value(last["finishReason"].clone()).unwrap());
    outcome.usage = serde_json::from_value(last["usage"].clone()).unwrap();
    assert!(last["warnings"].is_array());
    assert_eq!(text_of(&last["message"]), outcome.text);
    outcome
}

/// The text of a message in a last line.
pub(crate) fn text_of(message: &Value) -> String {
    assert_eq!(message["role"], "assistant");
    let parts = message["parts"].as_array().unwrap().iter();
    parts.filter(|part| part["type"] == "text").map(|part| part["text"].as_str().unwrap()).collect()
}

fn error(said: &Value) -> ErrorRecord {
    for name in ["class", "status", "code", "message", "retryable", "retryAfterMs"] {
        assert!(said.get(name).is_some(), "{name} is missing: {said}");
    }
    let record = json!({
        "class": said["class"], "status": said["status"], "code": said["code"], "message": said["message"],
        "retryable": said["retryable"],
    });
    serde_json::from_value(record).unwrap()
}
