use std::fmt::Debug;

use ai_provider::*;
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::support::strategies::*;
use crate::support::{Met, check};

/// What is written reads back equal, from text and from a JSON value.
fn reads_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) -> Result<(), TestCaseError> {
    let text = serde_json::to_string(value).unwrap();
    prop_assert_eq!(&serde_json::from_str::<T>(&text).unwrap(), value, "from {}", text);
    let tree = serde_json::to_value(value).unwrap();
    prop_assert_eq!(&serde_json::from_value::<T>(tree).unwrap(), value);
    // Written again, it is the same text: a stored history that is loaded gives the same request.
    prop_assert_eq!(serde_json::to_string(&serde_json::from_str::<T>(&text).unwrap()).unwrap(), text);
    Ok(())
}

fn all_read_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(
    cases: u32,
    strategy: impl Strategy<Value = T>,
    tag: &str,
) -> Met {
    check(cases, strategy, |value, met| {
        reads_back(&value)?;
        if let Some(Value::String(name)) = serde_json::to_value(&value).unwrap().get(tag) {
            met.note(name);
        }
        Ok(())
    })
}

/// [PV-1]
#[test]
fn messages_read_back_as_written() {
    let met = check(600, message(), |message, met| {
        reads_back(&message)?;
        let tree = serde_json::to_value(&message).unwrap();
        met.note(tree["role"].as_str().unwrap());
        for part in tree["parts"].as_array().into_iter().flatten() {
            met.note(format!("a {}", part["type"].as_str().unwrap()));
        }
        Ok(())
    });
    met.at_least(10, ["system", "user", "assistant", "tool"]);
    met.at_least(
        2,
        [
            "a text",
            "a file",
            "a reasoning",
            "a reasoning-file",
            "a source",
            "a custom",
            "a tool-call",
            "a tool-result",
            "a tool-approval-request",
            "a tool-approval-response",
        ],
    );
}

/// [PV-2]
#[test]
fn stream_parts_read_back_as_written() {
    let met = all_read_back(1_500, part(), "type");
    met.at_least(1, PART_NAMES);
}

pub(crate) const PART_NAMES: [&str; 20] = [
    "stream-start",
    "response-metadata",
    "text-start",
    "text-delta",
    "text-end",
    "reasoning-start",
    "reasoning-delta",
    "reasoning-end",
    "tool-input-start",
    "tool-input-delta",
    "tool-input-end",
    "tool-call",
    "tool-result",
    "tool-approval-request",
    "source",
    "file",
    "reasoning-file",
    "custom",
    "finish",
    "raw",
];

/// [PV-3]
#[test]
fn usage_finish_reasons_and_warnings_read_back_as_written() {
    let met = check(300, usage(), |usage, met| {
        reads_back(&usage)?;
        let counts = [usage.input.total, usage.output.total, usage.input.cache_read];
        if counts.contains(&None) && counts.contains(&Some(0)) {
            met.note("unknown beside zero");
        }
        Ok(())
    });
    met.at_least(10, ["unknown beside zero"]);
    all_read_back(200, finish_reason(), "unified").at_least(2, ["content-filter"]);
    let met = all_read_back(200, warning(), "type");
    met.at_least(5, ["unsupported", "compatibility", "deprecated", "other"]);
}

/// [PV-3]
#[test]
fn error_records_and_events_read_back_as_written() {
    let met = check(300, (record(), event()), |(record, event), met| {
        reads_back(&record)?;
        reads_back(&event)?;
        let Event::Attempt(event) = event else { panic!("an event without a strategy") };
        met.note(serde_json::to_value(&event).unwrap()["type"].as_str().unwrap());
        reads_back(&event)
    });
    met.at_least(3, ["started", "failed", "rotated", "fell-back", "skipped", "waiting", "settled"]);
}

/// [PV-3]
#[test]
fn what_goes_with_a_request_reads_back_as_written() {
    let met = all_read_back(300, tool(), "type");
    met.at_least(20, ["function", "provider"]);
    let met = all_read_back(200, tool_choice(), "type");
    met.at_least(5, ["auto", "none", "required", "tool"]);
    let met = all_read_back(200, response_format(), "type");
    met.at_least(20, ["text", "json"]);
    all_read_back(300, settings(), "reasoning").at_least(2, ["xhigh"]);
    all_read_back(200, options(), "");
}

/// [PV-3]
#[test]
fn outputs_targets_and_lists_read_back_as_written() {
    let met = all_read_back(300, output(), "type");
    met.at_least(3, ["text", "json", "error-text", "error-json", "execution-denied", "content"]);
    all_read_back(100, target(), "");
    all_read_back(100, origin(), "");
    all_read_back(100, metadata(), "");
    all_read_back(200, model_info(), "kind").at_least(5, ["embedding"]);
    all_read_back(100, embeddings(), "");
    let incomplete = (id(), text(), text()).prop_map(|(id, name, input)| IncompleteCall { id, name, input });
    all_read_back(100, incomplete, "");
    let names = (id(), text().prop_map(RequestId::from), text().prop_map(Account::from));
    all_read_back(100, names, "");
}

/// [PV-4]
#[test]
fn numbers_keep_every_bit() {
    let met = check(2_000, (number(), any::<f32>(), any::<u64>(), any::<i64>()), |numbers, met| {
        let (double, single, whole, signed) = numbers;
        let mut settings = Settings::default();
        settings.temperature = Some(double);
        settings.seed = Some(signed);
        let output = ToolOutput::Json(json!([double, whole, signed]));
        let text = serde_json::to_string(&(&settings, &output)).unwrap();
        let (again, output): (Settings, ToolOutput) = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(again.temperature.map(f64::to_bits), Some(double.to_bits()), "{}", text);
        prop_assert_eq!(again.seed, Some(signed));
        let ToolOutput::Json(values) = output else { panic!("{output:?}") };
        prop_assert_eq!(values[0].as_f64().map(f64::to_bits), Some(double.to_bits()), "{}", text);
        prop_assert_eq!((values[1].as_u64(), values[2].as_i64()), (Some(whole), Some(signed)));
        if single.is_finite() {
            let embeddings = Embeddings { vectors: vec![vec![single]], ..Embeddings::default() };
            let text = serde_json::to_string(&embeddings).unwrap();
            let again: Embeddings = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(again.vectors[0][0].to_bits(), single.to_bits(), "{}", text);
        }
        let digits =
            format!("{double:e}").bytes().take_while(|byte| *byte != b'e').filter(u8::is_ascii_digit).count();
        if digits > 15 {
            met.note("more digits than are always safe");
        }
        Ok(())
    });
    met.at_least(20, ["more digits than are always safe"]);
}

/// [PV-5]
#[test]
fn the_input_of_a_call_is_kept_byte_for_byte() {
    let inputs = [
        r#"{ "b":1,  "a":2 }"#,
        r#"{"a":1,"a":2}"#,
        r#"{"n":1.0,"big":123456789012345678901234567890,"e":1e400}"#,
        "{\"text\":\"\u{e9}\\u00e9\\/\"}\n",
        r#"{"cut":"he"#,
        "not JSON",
        "",
    ];
    for input in inputs {
        let call = ToolCall { input: input.to_owned(), ..ToolCall::new("c", "t", "{}") };
        let message = Message::Assistant(AssistantMessage {
            parts: vec![AssistantPart::ToolCall(call)],
            options: ProviderOptions::default(),
        });
        let text = serde_json::to_string(&message).unwrap();
        let Message::Assistant(again) = serde_json::from_str(&text).unwrap() else { panic!("{text}") };
        assert_eq!(again.tool_calls().next().unwrap().input, input);
    }
}
