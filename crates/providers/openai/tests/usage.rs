//! What an answer took.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod support;

use ai_provider::Usage;
use serde_json::{Value, json};
use support::{DONE, ch, data, fin, finish, stream};

async fn usage_of(name: &str, frames: &[String]) -> Usage {
    let body = [ch(r#"{"content":"hi"}"#), frames.concat(), DONE.into()].concat();
    let (parts, error) = stream(name, body).await;
    assert!(error.is_none(), "{error:?}");
    finish(&parts).usage
}

async fn usage(name: &str, usage: Value) -> Usage {
    usage_of(name, &[fin(r#""stop""#), data(&json!({"choices": [], "usage": usage}).to_string())]).await
}

/// The numbers: input total, no cache, cache read, cache write; output total, text, reasoning.
fn numbers(usage: &Usage) -> [Option<u64>; 7] {
    let (input, output) = (&usage.input, &usage.output);
    [
        input.total,
        input.no_cache,
        input.cache_read,
        input.cache_write,
        output.total,
        output.text,
        output.reasoning,
    ]
}

/// [OA-45]
#[tokio::test]
async fn input_includes_the_cache_and_output_the_reasoning() {
    let raw = json!({"prompt_tokens": 1210, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 1000}});
    let read = usage("openai", raw.clone()).await;
    assert_eq!(numbers(&read), [Some(1210), Some(210), Some(1000), None, Some(5), None, None]);
    assert_eq!(read.raw.as_deref(), Some(&raw));

    let details = json!({"cached_tokens": 100, "cache_write_tokens": 20});
    let read = usage(
        "openai",
        json!({"prompt_tokens": 200, "prompt_tokens_details": details,
        "completion_tokens": 30, "completion_tokens_details": {"reasoning_tokens": 10}}),
    )
    .await;
    assert_eq!(numbers(&read), [Some(200), Some(80), Some(100), Some(20), Some(30), Some(20), Some(10)]);
}

/// [OA-46]
#[tokio::test]
async fn what_the_server_does_not_say_is_unknown_and_not_zero() {
    assert_eq!(numbers(&usage_of("openai", &[fin(r#""stop""#)]).await), [None; 7]);
    for nothing in [json!(null), json!({}), json!([]), json!("x"), json!({"prompt_tokens": null})] {
        assert_eq!(numbers(&usage("openai", nothing.clone()).await), [None; 7], "{nothing}");
    }
    let some = usage("openai", json!({"prompt_tokens": 3, "completion_tokens": -1, "total_tokens": 4})).await;
    assert_eq!(numbers(&some), [Some(3), None, None, None, None, None, None]);
    let decimal = usage("openai", json!({"prompt_tokens": 3.0, "completion_tokens": 1e3})).await;
    assert_eq!(numbers(&decimal), [Some(3), None, None, None, Some(1000), None, None]);
}

/// [OA-47]
#[tokio::test]
async fn some_servers_count_reasoning_beside_the_completion() {
    let raw = json!({"prompt_tokens": 12, "completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": 340}});
    assert_eq!(numbers(&usage("xai", raw.clone()).await)[4..], [Some(342), Some(2), Some(340)]);
    assert_eq!(numbers(&usage("generic", raw).await)[4..], [Some(2), Some(0), Some(340)]);
}

/// [OA-48]
#[tokio::test]
async fn a_prompt_smaller_than_its_cached_part_was_counted_without_it() {
    let raw = json!({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 300}});
    assert_eq!(numbers(&usage("xai", raw).await)[..3], [Some(310), Some(10), Some(300)]);
}

/// [OA-49]
#[tokio::test]
async fn the_last_usage_counts_wherever_it_stands() {
    let with = |frame: &str, more: &str| frame.replace("\"choices\"", &format!("{more},\"choices\""));
    let running: Vec<_> = (1..4)
        .map(|n| {
            with(
                &ch(r#"{"content":"x"}"#),
                &format!(r#""usage":{{"prompt_tokens":10,"completion_tokens":{n}}}"#),
            )
        })
        .chain([with(&fin(r#""stop""#), r#""usage":{"prompt_tokens":10,"completion_tokens":15}"#)])
        .collect();
    let read = usage_of("perplexity", &running).await;
    assert_eq!((read.input.total, read.output.total), (Some(10), Some(15)));
    // Totals of earlier frames are no reason not to wait for the one behind the finish.
    let mut behind = running[..3].to_vec();
    behind.push(fin(r#""stop""#));
    behind.push(data(r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":15}}"#));
    assert_eq!(usage_of("perplexity", &behind).await.output.total, Some(15));

    let groq = with(
        &fin(r#""tool_calls""#),
        r#""x_groq":{"id":"r","usage":{"prompt_tokens":7,"completion_tokens":2}}"#,
    );
    assert_eq!(usage_of("groq", &[groq]).await.output.total, Some(2));
    let in_choice = fin(r#""stop""#)
        .replace(r#""index":0"#, r#""index":0,"usage":{"prompt_tokens":7,"completion_tokens":3}"#);
    assert_eq!(usage_of("moonshot", &[in_choice]).await.output.total, Some(3));
    for (name, more) in [
        ("moonshot", json!({"cached_tokens": 4})),
        ("mistral", json!({"num_cached_tokens": 4})),
        ("mistral", json!({"prompt_token_details": {"cached_tokens": 4}})),
        ("deepseek", json!({"prompt_cache_hit_tokens": 4})),
    ] {
        let mut raw = json!({"prompt_tokens": 10});
        ai_provider::merge_json(&mut raw, &more);
        assert_eq!(numbers(&usage(name, raw).await)[..3], [Some(10), Some(6), Some(4)], "{more}");
    }
    let alibaba = json!({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 0, "cache_creation_input_tokens": 8}});
    assert_eq!(numbers(&usage("alibaba", alibaba).await)[..4], [Some(10), Some(2), Some(0), Some(8)]);
}
