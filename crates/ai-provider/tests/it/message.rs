use std::borrow::Borrow;

use ai_provider::*;
use serde_json::json;

use crate::support::{check, finish, strategies};

/// [PV-42]
#[test]
fn what_binds_an_attempt_and_what_does_not() {
    let result =
        ToolResult { preliminary: true, ..ToolResult::new("c", "t", ToolOutput::Text("1 %".into())) };
    let file = FilePart::new("image", FileData::Url { url: "u".into() });
    let source = Source::Url { id: "s".into(), url: "u".into(), title: None, metadata: None };
    let input_start = StreamPart::ToolInputStart {
        id: "c".into(),
        tool_name: "t".into(),
        provider_executed: false,
        dynamic: false,
        title: None,
    };
    let input = |delta: &str| StreamPart::ToolInputDelta { id: "c".into(), delta: delta.into() };
    let binding = [
        StreamPart::text_delta("0", "x"),
        StreamPart::text_delta("0", " "),
        StreamPart::reasoning_delta("0", "x"),
        input_start,
        input("x"),
        StreamPart::ToolInputEnd { id: "c".into() },
        StreamPart::ToolCall(Box::new(ToolCall::new("c", "t", "{}"))),
        StreamPart::ToolResult(Box::new(result)),
        StreamPart::ToolApprovalRequest(ToolApprovalRequest {
            approval_id: "a".into(),
            tool_call_id: "c".into(),
        }),
        StreamPart::Source(Box::new(source)),
        StreamPart::File(Box::new(file.clone())),
        StreamPart::ReasoningFile(Box::new(file)),
        StreamPart::Custom(CustomPart { kind: "x.y".into(), options: Default::default(), metadata: None }),
        finish(UnifiedFinish::Stop),
    ];
    let free = [
        StreamPart::StreamStart { warnings: vec![Warning::other("w")] },
        StreamPart::ResponseMetadata(Box::new(ResponseMetadata {
            id: Some("r".into()),
            ..Default::default()
        })),
        StreamPart::Raw { raw_value: json!({ "text": "x" }) },
        StreamPart::text_start("0"),
        StreamPart::text_delta("0", ""),
        StreamPart::text_end("0"),
        StreamPart::reasoning_start("0"),
        StreamPart::reasoning_delta("0", ""),
        StreamPart::reasoning_end("0"),
        input(""),
    ];
    binding.iter().for_each(|part| assert!(part.commits(), "{part:?}"));
    free.iter().for_each(|part| assert!(!part.commits(), "{part:?}"));
}

/// [PV-42]
#[test]
fn a_signature_in_an_empty_delta_does_not_bind() {
    let values = ProviderOptions::default().with("anthropic", "signature", json!("c2ln"));
    let metadata = Some(Box::new(ProviderMetadata { origin: None, values }));
    let delta = StreamPart::ReasoningDelta { id: "0".into(), delta: String::new(), metadata };
    assert!(!delta.commits());
}

/// [PV-47]
#[test]
fn blank_input_of_a_new_call_is_an_empty_object() {
    for blank in ["", " ", "\n\t"] {
        let call = ToolCall::new("c", "t", blank);
        assert_eq!((call.input.as_str(), call.input_json().unwrap()), ("{}", json!({})));
    }
    let kept = ToolCall::new("c", "t", " {\"a\": 1} ");
    assert_eq!((kept.input.as_str(), kept.input_json().unwrap()), (" {\"a\": 1} ", json!({ "a": 1 })));
}

/// [PV-47]
#[test]
fn input_that_is_no_json_is_an_error_and_no_panic() {
    let deep = "[".repeat(100_000);
    for bad in ["{\"cut", "null null", "{'a':1}", deep.as_str()] {
        let call = ToolCall::new("c", "t", bad);
        assert!(call.input_json().is_err());
        assert_eq!(call.input, bad);
    }
}

/// [PV-48]
#[test]
fn which_outputs_are_failures() {
    let failures = [
        ToolOutput::ErrorText("no".into()),
        ToolOutput::ErrorJson(json!(0)),
        ToolOutput::ExecutionDenied { reason: None },
    ];
    let successes = [
        ToolOutput::Text("error".into()),
        ToolOutput::Json(json!({ "error": true })),
        ToolOutput::Content(vec![]),
    ];
    assert!(failures.iter().all(ToolOutput::is_error));
    assert!(!successes.iter().any(ToolOutput::is_error));
    assert_eq!(ToolOutput::from_json(json!("plain")), ToolOutput::Text("plain".into()));
    for value in [json!(null), json!(1), json!(["a"])] {
        assert_eq!(ToolOutput::from_json(value.clone()), ToolOutput::Json(value));
    }
}

/// [PV-49]
#[test]
fn the_short_ways_to_make_a_message() {
    let text = |text| TextPart { text: String::from(text), options: Default::default(), metadata: None };
    let Message::User(user) = Message::user("Hi") else { panic!() };
    assert_eq!(user.parts, [UserPart::Text(text("Hi"))]);
    let Message::Assistant(assistant) = Message::assistant("Ho") else { panic!() };
    assert_eq!(assistant.parts, [AssistantPart::Text(text("Ho"))]);
    let Message::System(system) = Message::system("Be brief.") else { panic!() };
    assert_eq!(system.text, "Be brief.");
    let results = ["a", "b"].map(|id| ToolResult::new(id, "t", ToolOutput::Text(id.into())));
    let Message::Tool(tool) = Message::tool(results.clone()) else { panic!() };
    assert_eq!(tool.parts, results.map(ToolPart::ToolResult));
}

/// [PV-50]
#[test]
fn an_id_compares_and_looks_up_as_its_text() {
    check(200, (strategies::id(), strategies::id()), |(a, b), _| {
        proptest::prop_assert_eq!(a == b, a.as_str() == b.as_str());
        proptest::prop_assert_eq!(a.cmp(&b), a.as_str().cmp(b.as_str()));
        proptest::prop_assert_eq!(a.to_string(), a.as_str());
        proptest::prop_assert_eq!(format!("{a:?}"), format!("{:?}", a.as_str()));
        proptest::prop_assert!(a == *a.as_str() && a == a.as_str());
        let text: &str = a.borrow();
        let map = std::collections::HashMap::from([(a.clone(), 1)]);
        proptest::prop_assert_eq!(map.get(text), Some(&1));
        Ok(())
    });
    let id = Id::from(String::from("call_1"));
    assert_eq!(id.as_str().as_ptr(), id.clone().as_str().as_ptr(), "a clone shares the text");
    assert!(id != *"call_" && id != "call_", "the beginning of an id is another one");
}

/// [PV-51]
#[test]
fn what_warnings_say() {
    let said = [
        (Warning::unsupported("topK", "left out"), "topK is not supported: left out"),
        (Warning::Unsupported { feature: "topK".into(), details: None }, "topK is not supported"),
        (Warning::compatibility("reasoning", "sent as high"), "reasoning was adapted: sent as high"),
        (
            Warning::Deprecated { setting: "user".into(), message: "use safetyIdentifier".into() },
            "user is deprecated: use safetyIdentifier",
        ),
        (Warning::other("Mind the gap."), "Mind the gap."),
    ];
    said.into_iter().for_each(|(warning, text)| assert_eq!(warning.to_string(), text));
}
