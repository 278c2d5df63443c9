use ai_http::Endpoint;
use ai_openai::{ChatCodec, Dialect, OpenAi};
use ai_provider::{ErrorClass, Provider, UnifiedFinish};
use ai_testkit::conformance::{Conformance, Sample};
use serde_json::json;

use super::VARIES;
use crate::support::{call, frame, stream};

const QUOTA: &str =
    r#"{"error":{"message":"used up, {{KEY}}","type":"insufficient_quota","code":"insufficient_quota"}}"#;
const TOO_LONG: &str =
    r#"{"error":{"message":"5000 tokens, window is 4096","code":"context_length_exceeded"}}"#;

fn samples() -> Vec<Sample> {
    let text = stream(&[json!({"role": "assistant", "content": "北🙂"}), json!({"content": "é\n"})], "stop");
    let calls = stream(
        &[
            json!({"reasoning_content": "Two"}),
            json!({"reasoning_content": " cities."}),
            json!({"content": "I look."}),
            call(0, "call_a", "weather", r#"{"city": "#),
            call(1, "call_b", "weather", ""),
            json!({"tool_calls": [{"index": 0, "function": {"arguments": "\"R\\u00f6m\\\"e\"}"}}]}),
            json!({"tool_calls": [{"index": 1, "function": {"arguments": "{\"city\":\"Oslo\"}"}}]}),
        ],
        "tool_calls",
    );
    let length = stream(&[json!({"content": "To be, "}), json!({"content": "or"})], "length");
    let crlf = text.replace('\n', "\r\n");
    let error = frame(&json!({"content": "par"})) + "data: " + QUOTA + "\n\ndata: [DONE]\n\n";
    let whole = json!({
        "id": "c1", "model": "m-1", "created": 1,
        "choices": [{"message": {"role": "assistant", "content": "Grüße 🙂", "reasoning_content": "hm",
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Rome\"}"}}]},
            "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    });
    vec![
        Sample::stream("text", text).text("北🙂é\n").finish(UnifiedFinish::Stop),
        Sample::stream("calls", calls).text("I look.").finish(UnifiedFinish::ToolCalls),
        Sample::stream("length", length).text("To be, or").finish(UnifiedFinish::Length),
        Sample::stream("crlf", crlf).text("北🙂é\n"),
        Sample::stream("error in the stream", error).text("par").fails(ErrorClass::Quota),
        Sample::stream("cut", frame(&json!({"content": "par"}))).text("par").fails(ErrorClass::Incomplete),
        Sample::whole("whole", whole.to_string()).text("Grüße 🙂").finish(UnifiedFinish::ToolCalls),
        Sample::error("quota", 429, QUOTA, ErrorClass::Quota),
        Sample::error("too long", 400, TOO_LONG, ErrorClass::ContextTooLong),
        Sample::error("page", 502, "<html><h1>Bad Gateway</h1></html>", ErrorClass::Server)
            .content_type("text/html"),
    ]
}

fn with_samples(suite: Conformance) -> Conformance {
    samples().into_iter().fold(suite, Conformance::sample)
}

#[tokio::test]
async fn the_codec_conforms() {
    let suite = Conformance::of_codec(|site| {
        let dialect = Dialect::generic("conformance", site.url.clone());
        Ok(ChatCodec::new(dialect, Endpoint::base(&site.url)?))
    });
    with_samples(suite).check().await;
}

/// Every row of the table of servers, as the provider makes its models. Where the bodies are cut is not theirs.
#[tokio::test]
async fn the_models_of_every_dialect_conform() {
    for name in Dialect::names() {
        let suite = Conformance::of_model(move |site| {
            let dialect = Dialect::by_name(name).expect("a name of the table");
            let provider = OpenAi::builder()
                .dialect(dialect)
                .base_url(&site.url)
                .api_key(site.key.clone())
                .transport(site.transport.clone())
                .limits(site.limits)
                .build()?;
            provider.language_model(&site.model)
        });
        let report = with_samples(suite).checks(VARIES).run().await;
        assert!(report.failures.is_empty(), "{name}: {report}");
    }
}
