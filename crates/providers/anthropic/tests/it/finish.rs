//! How an answer ends, and answers in one body.

use ai_provider::UnifiedFinish;
use serde_json::json;

use crate::support::{
    an, block, delta, end, finish, start, stop, stream, streamed, text_block, tool_block, whole,
};

fn hello() -> String {
    [start(), text_block(0, "hi")].concat()
}

/// [AN-26]
#[tokio::test]
async fn a_stop_reason_is_mapped_and_never_guessed() {
    use UnifiedFinish::{ContentFilter, Length, Other, Stop, ToolCalls};
    for (word, unified) in [
        ("end_turn", Stop),
        ("stop_sequence", Stop),
        ("pause_turn", Stop),
        ("tool_use", ToolCalls),
        ("max_tokens", Length),
        ("model_context_window_exceeded", Length),
        ("refusal", ContentFilter),
        ("compaction", Other),
        ("stop", Other),
    ] {
        let parts = streamed([hello(), end(word)].concat()).await;
        let reason = finish(&parts).reason;
        assert_eq!((reason.unified, reason.raw.as_deref()), (unified, Some(word)));
    }
}

/// [AN-27]
#[tokio::test]
async fn what_goes_with_the_stop_reason_is_in_the_metadata() {
    let progress = json!({
        "type": "message_delta",
        "delta": {
            "stop_reason": "refusal",
            "stop_sequence": "END",
            "stop_details": {"type": "refusal", "category": "cyber"},
            "container": {"id": "c1"},
        },
        "usage": {"output_tokens": 5},
        "context_management": {"applied_edits": []},
    });
    let body = [start(), an(&progress.to_string()), an(r#"{"type":"message_stop"}"#)];
    let streamed = finish(&streamed(body.concat()).await);
    let values = streamed.metadata.clone().unwrap();
    let values = values.get("anthropic").unwrap();
    assert_eq!(values["stopDetails"]["category"], "cyber");
    assert_eq!((&values["stopSequence"], &values["container"]["id"]), (&json!("END"), &json!("c1")));
    assert_eq!(values["contextManagement"], json!({"applied_edits": []}));

    let message = json!({
        "id": "m1", "type": "message", "model": "m", "content": [],
        "stop_reason": "refusal", "stop_sequence": "END",
        "stop_details": {"type": "refusal", "category": "cyber"},
        "container": {"id": "c1"}, "context_management": {"applied_edits": []},
        "usage": {"input_tokens": 25, "output_tokens": 5},
    });
    let (parts, error) = whole(message.to_string()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(finish(&parts), streamed);
}

/// [AN-28]
#[tokio::test]
async fn an_answer_in_one_body_gives_the_same_parts_as_its_stream() {
    let cited = r#"{"type":"web_search_result_location","url":"https://a","title":"A","cited_text":"c"}"#;
    let streamed_body = [
        start(),
        block(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
        delta(0, r#"{"type":"thinking_delta","thinking":"hm"}"#),
        delta(0, r#"{"type":"signature_delta","signature":"SIG"}"#),
        stop(0),
        block(1, r#"{"type":"redacted_thinking","data":"R=="}"#),
        stop(1),
        block(2, r#"{"type":"text","text":""}"#),
        delta(2, r#"{"type":"text_delta","text":"hi"}"#),
        delta(2, &format!(r#"{{"type":"citations_delta","citation":{cited}}}"#)),
        stop(2),
        tool_block(3, "toolu_1", "f", &[r#"{"x":1}"#]),
        end("tool_use"),
    ];
    let streamed = streamed(streamed_body.concat()).await;
    let message = format!(
        r#"{{"id":"m1","type":"message","role":"assistant","model":"m","content":[{{"type":"thinking","thinking":"hm","signature":"SIG"}},{{"type":"redacted_thinking","data":"R=="}},{{"type":"text","text":"hi","citations":[{cited}]}},{{"type":"tool_use","id":"toolu_1","name":"f","input":{{"x":1}}}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{{"input_tokens":25,"output_tokens":15}}}}"#
    );
    let (at_once, error) = whole(message.clone()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(at_once, streamed);
    // A server that does not stream, though it was asked to.
    let (instead, error) = stream(message).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(instead, streamed);
}
