use serde_json::json;

use super::super::samples::chunks;
use super::*;
use crate::UiProtocol;

fn fold(lines: &[&str]) -> Result<UiReducer, UiReduceError> {
    let mut reducer = UiReducer::new("m0");
    for line in lines {
        reducer.push(UiProtocol::Latest.decode(line).unwrap())?;
    }
    Ok(reducer)
}

const INPUT: &str = r#"{"type":"tool-input-start","toolCallId":"c1","toolName":"search","title":"Search"}"#;
const DELTA: &str = r#"{"type":"tool-input-delta","toolCallId":"c1","inputTextDelta":"{\"q\":\"ru"}"#;
const CALL: &str =
    r#"{"type":"tool-input-available","toolCallId":"c1","toolName":"search","input":{"q":"rust"}}"#;

/// [AL-208]
#[test]
fn every_chunk_folds_and_the_message_reads_back() {
    let mut reducer = UiReducer::new("m0");
    for chunk in chunks() {
        let kind = chunk.kind();
        // The samples end their blocks before the second round begins them again.
        reducer.push(chunk).unwrap_or_else(|error| panic!("{kind}: {error}"));
        let json = serde_json::to_value(reducer.message()).unwrap();
        assert_eq!(serde_json::from_value::<UiMessage>(json).unwrap(), *reducer.message(), "{kind}");
    }
    assert_eq!(reducer.message().id, "m1");
    assert_eq!(reducer.message().metadata, Some(json!({"at": 1, "tokens": 7, "usage": {"input": 3}})));
    assert_eq!(reducer.finish_reason(), Some(UiFinishReason::Interrupted));
    assert!(reducer.is_aborted());
    assert_eq!(reducer.errors().len(), 2);
}

/// [AL-209]
#[test]
fn a_call_from_its_first_letter_to_its_result() {
    let mut lines = vec![INPUT, DELTA];
    let part =
        |lines: &[&str]| serde_json::to_value(fold(lines).unwrap().message()).unwrap()["parts"][0].clone();
    assert_eq!(
        part(&lines),
        json!({"type": "tool-search", "toolCallId": "c1", "state": "input-streaming", "title": "Search",
               "input": {"q": "ru"}, "rawInput": "{\"q\":\"ru"})
    );
    lines.push(CALL);
    let available = json!({"type": "tool-search", "toolCallId": "c1", "state": "input-available", "title": "Search",
                           "input": {"q": "rust"}});
    assert_eq!(part(&lines), available);
    lines.push(r#"{"type":"tool-approval-request","toolCallId":"c1","approvalId":"a1"}"#);
    assert_eq!(part(&lines)["approval"], json!({"id": "a1"}));
    lines.push(r#"{"type":"tool-approval-response","approvalId":"a1","approved":true}"#);
    assert_eq!(part(&lines)["state"], "approval-responded");
    lines.push(r#"{"type":"tool-output-available","toolCallId":"c1","output":null,"preliminary":true}"#);
    assert_eq!((&part(&lines)["output"], &part(&lines)["preliminary"]), (&json!(null), &json!(true)));
    lines.push(r#"{"type":"tool-output-error","toolCallId":"c1","errorText":"No."}"#);
    assert_eq!(
        part(&lines),
        json!({"type": "tool-search", "toolCallId": "c1", "state": "output-error", "title": "Search",
               "input": {"q": "rust"}, "errorText": "No.", "approval": {"id": "a1", "approved": true}})
    );
}

/// [AL-210]
#[test]
fn a_step_that_is_taken_back_leaves_the_steps_before_it() {
    let mut lines = vec![
        r#"{"type":"start-step"}"#,
        CALL,
        r#"{"type":"start-step"}"#,
        r#"{"type":"text-start","id":"1"}"#,
        r#"{"type":"reset-step"}"#,
    ];
    let mut reducer = fold(&lines).unwrap();
    let parts = serde_json::to_value(&reducer.message().parts).unwrap();
    let kinds: Vec<_> = parts.as_array().unwrap().iter().map(|part| part["type"].clone()).collect();
    assert_eq!(kinds, ["step-start", "tool-search", "step-start"]);
    // What the step had begun is gone.
    lines.push(r#"{"type":"text-delta","id":"1","delta":"x"}"#);
    assert_eq!(fold(&lines).unwrap_err(), UiReduceError::UnknownBlock { id: "1".into() });
}

/// [AL-211]
#[test]
fn data_replaces_data_of_its_id_and_transient_data_is_no_part() {
    let lines = [
        r#"{"type":"data-x","id":"1","data":1}"#,
        r#"{"type":"data-y","id":"1","data":2}"#,
        r#"{"type":"data-x","data":3}"#,
        r#"{"type":"data-x","id":"1","data":4}"#,
        r#"{"type":"data-x","id":"1","data":5,"transient":true}"#,
    ];
    let mut reducer = fold(&lines).unwrap();
    let data: Vec<_> = reducer
        .message()
        .parts
        .iter()
        .map(|part| serde_json::to_value(part).unwrap()["data"].clone())
        .collect();
    assert_eq!(data, [4, 2, 3]);
}

/// [AL-212]
#[test]
fn what_fits_nothing_is_an_error_and_changes_nothing() {
    let id = || Id::from("c1");
    let unknown = UiReduceError::UnknownCall { tool_call_id: id() };
    for (line, error) in [
        (r#"{"type":"text-end","id":"c1"}"#, UiReduceError::UnknownBlock { id: id() }),
        (r#"{"type":"reasoning-delta","id":"c1","delta":"x"}"#, UiReduceError::UnknownBlock { id: id() }),
        (DELTA, unknown.clone()),
        (r#"{"type":"tool-output-denied","toolCallId":"c1"}"#, unknown.clone()),
        (r#"{"type":"tool-output-available","toolCallId":"c1","output":1}"#, unknown.clone()),
        (r#"{"type":"tool-approval-request","toolCallId":"c1","approvalId":"a"}"#, unknown),
        (
            r#"{"type":"tool-approval-response","approvalId":"c1","approved":true}"#,
            UiReduceError::UnknownApproval { approval_id: id() },
        ),
    ] {
        let mut reducer = fold(&[r#"{"type":"start-step"}"#]).unwrap();
        let before = reducer.message().clone();
        assert_eq!(reducer.push(UiProtocol::Latest.decode(line).unwrap()).unwrap_err(), error, "{line}");
        assert_eq!(*reducer.message(), before);
    }
    // A message has a limit.
    let mut reducer = fold(&[r#"{"type":"text-start","id":"1"}"#]).unwrap();
    let delta = UiChunk::TextDelta { id: "1".into(), delta: "x".repeat(1 << 20), provider_metadata: None };
    let (mut taken, mut error) = (0, None);
    while error.is_none() {
        error = reducer.push(delta.clone()).err();
        taken += 1;
    }
    assert_eq!((error, taken), (Some(UiReduceError::TooLarge { limit: MESSAGE_LIMIT }), MESSAGE_LIMIT >> 20));
}

/// [AL-213]
#[test]
fn a_message_goes_on_where_it_was_left() {
    let stored = fold(&[r#"{"type":"start-step"}"#, INPUT, DELTA]).unwrap().into_message();
    let json = serde_json::to_string(&stored).unwrap();
    let mut reducer = UiReducer::continuing(serde_json::from_str(&json).unwrap());
    reducer
        .push(
            UiProtocol::V7
                .decode(r#"{"type":"tool-input-delta","toolCallId":"c1","inputTextDelta":"st\"}"}"#)
                .unwrap(),
        )
        .unwrap();
    let UiPart::Tool(tool) = &reducer.message().parts[1] else { panic!("{stored:?}") };
    assert_eq!(tool.input, Some(json!({"q": "rust"})));
    // The rest is read as strictly as chunks are.
    let refused = |json: &str| serde_json::from_str::<UiPart>(json).unwrap_err().to_string();
    assert!(refused(r#"{"type":"hologram"}"#).contains("hologram"));
    assert!(
        refused(r#"{"type":"dynamic-tool","toolCallId":"c","state":"output-error"}"#).contains("toolName")
    );
    assert!(refused(r#"{"type":"tool-x","toolCallId":"c","state":"dancing"}"#).contains("dancing"));
}
