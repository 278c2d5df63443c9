//! What an answer took.

use ai_provider::Usage;
use serde_json::{Value, json};

use crate::support::{an, end, finish, streamed, text_block, whole};

async fn reported(begin: Value, later: &[Value]) -> Usage {
    let message = json!({"type": "message_start", "message": {"id": "m", "content": [], "usage": begin}});
    let mut body = an(&message.to_string()) + &text_block(0, "a");
    for usage in later {
        let progress = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage});
        body += &an(&progress.to_string());
    }
    finish(&streamed(body + &an(r#"{"type":"message_stop"}"#)).await).usage
}

/// [AN-50]
#[tokio::test]
async fn input_includes_the_cache_and_output_the_thinking() {
    let raw = json!({
        "input_tokens": 10, "cache_read_input_tokens": 1000, "cache_creation_input_tokens": 200,
        "output_tokens": 5, "output_tokens_details": {"thinking_tokens": 2},
    });
    let message = json!({"type": "message", "content": [{"type": "text", "text": "a"}], "stop_reason": "end_turn", "usage": raw});
    let (parts, _) = whole(message.to_string()).await;
    for usage in [reported(raw.clone(), &[json!({})]).await, finish(&parts).usage] {
        assert_eq!((usage.input.total, usage.input.no_cache), (Some(1210), Some(10)));
        assert_eq!((usage.input.cache_read, usage.input.cache_write), (Some(1000), Some(200)));
        assert_eq!(
            (usage.output.total, usage.output.text, usage.output.reasoning),
            (Some(5), Some(3), Some(2))
        );
        assert_eq!(usage.raw.as_deref(), Some(&raw));
    }
}

/// [AN-51]
#[tokio::test]
async fn later_counts_replace_earlier_ones_field_by_field() {
    let begin = json!({"input_tokens": 25, "output_tokens": 1, "cache_read_input_tokens": 3});
    for later in [
        vec![json!({"output_tokens": 15})],
        vec![json!({"input_tokens": 25, "output_tokens": 15})],
        vec![json!({"output_tokens": 7}), json!({"output_tokens": 15, "input_tokens": null})],
    ] {
        let usage = reported(begin.clone(), &later).await;
        assert_eq!((usage.input.total, usage.output.total), (Some(28), Some(15)), "{later:?}");
    }
    let usage = reported(begin, &[json!({"input_tokens": 61, "output_tokens": 2})]).await;
    assert_eq!((usage.input.no_cache, usage.input.total), (Some(61), Some(64)));
}

/// [AN-52]
#[tokio::test]
async fn what_is_not_said_is_unknown() {
    let usage = reported(json!({"input_tokens": 5}), &[json!({"output_tokens": "many"})]).await;
    assert_eq!((usage.input.total, usage.input.no_cache), (Some(5), Some(5)));
    assert_eq!((usage.input.cache_read, usage.input.cache_write), (None, None));
    assert_eq!((usage.output.total, usage.output.text, usage.output.reasoning), (None, None, None));
    let silent = finish(
        &streamed(
            [text_block(0, "a"), end("end_turn").replace(r#","usage":{"output_tokens":15}"#, "")].concat(),
        )
        .await,
    );
    assert_eq!(silent.usage, Usage::default());
    // A server cannot fill memory with fields.
    let many: serde_json::Map<_, _> = (0..1_000).map(|at| (format!("f{at}"), Value::from(at))).collect();
    let full = [Value::Object(many.clone()), json!({"input_tokens": 9})];
    assert_eq!(reported(json!({"input_tokens": 5}), &full).await.input.total, Some(9));
    let usage = reported(json!({"input_tokens": 5}), &[Value::Object(many)]).await;
    assert_eq!((usage.input.total, usage.raw.unwrap().as_object().unwrap().len()), (Some(5), 64));
}

/// [AN-53]
#[tokio::test]
async fn the_turns_of_one_answer_add_up_unless_another_model_gave_it() {
    let turns = |last: &str| {
        json!({
            "input_tokens": 40, "output_tokens": 15, "cache_read_input_tokens": 7,
            "iterations": [
                {"type": "compaction", "input_tokens": 100, "output_tokens": 20},
                {"type": last, "model": "b", "input_tokens": 40, "output_tokens": 15},
                {"type": "advisor_message", "input_tokens": 1000, "output_tokens": 1000},
            ],
        })
    };
    let usage = reported(json!({"input_tokens": 40}), &[turns("message")]).await;
    assert_eq!((usage.input.no_cache, usage.input.total), (Some(140), Some(147)));
    assert_eq!(usage.output.total, Some(35));
    let usage = reported(json!({"input_tokens": 40}), &[turns("fallback_message")]).await;
    assert_eq!((usage.input.no_cache, usage.output.total), (Some(40), Some(15)));
    let none = json!({"input_tokens": 40, "output_tokens": 15, "iterations": []});
    assert_eq!(reported(json!({}), &[none]).await.input.total, Some(40));
}
