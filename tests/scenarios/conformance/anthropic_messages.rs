use ai_anthropic::{Anthropic, MessagesCodec};
use ai_http::Endpoint;
use ai_provider::{ErrorClass, Provider, UnifiedFinish};
use ai_testkit::conformance::{Conformance, Sample};
use serde_json::{Value, json};

use super::{VARIES, events};

fn block(index: u32, start: Value, deltas: &[Value]) -> Vec<Value> {
    let mut frames = vec![json!({"type": "content_block_start", "index": index, "content_block": start})];
    frames.extend(
        deltas.iter().map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})),
    );
    frames.push(json!({"type": "content_block_stop", "index": index}));
    frames
}

fn text(index: u32, deltas: &[&str]) -> Vec<Value> {
    let deltas: Vec<_> = deltas.iter().map(|text| json!({"type": "text_delta", "text": text})).collect();
    block(index, json!({"type": "text", "text": ""}), &deltas)
}

fn call(index: u32, id: &str, fragments: &[&str]) -> Vec<Value> {
    let deltas: Vec<_> =
        fragments.iter().map(|json| json!({"type": "input_json_delta", "partial_json": json})).collect();
    block(index, json!({"type": "tool_use", "id": id, "name": "weather", "input": {}}), &deltas)
}

fn thinking(index: u32, text: &str) -> Vec<Value> {
    let deltas = [
        json!({"type": "thinking_delta", "thinking": text}),
        json!({"type": "signature_delta", "signature": "SIG=="}),
    ];
    block(index, json!({"type": "thinking", "thinking": "", "signature": ""}), &deltas)
}

fn start() -> Value {
    let usage = json!({"input_tokens": 25, "cache_read_input_tokens": 100, "output_tokens": 1});
    json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m-1", "stop_reason": null, "stop_sequence": null, "usage": usage}})
}

fn stream(blocks: &[Vec<Value>], reason: &str) -> String {
    let delta = json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": 15}});
    let ends = vec![delta, json!({"type": "message_stop"})];
    events(&[vec![start(), json!({"type": "ping"})], blocks.concat(), ends].concat())
}

fn with_samples(suite: Conformance) -> Conformance {
    let redacted = block(1, json!({"type": "redacted_thinking", "data": "R=="}), &[]);
    let calls = [
        thinking(0, "Two cities."),
        redacted,
        text(2, &["I look."]),
        call(3, "toolu_a", &["{\"city\":", "\"Röm\\\"e\"}"]),
        call(4, "toolu_b", &[]),
    ];
    let overloaded =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded {{KEY}}"}});
    let failed = events(&[vec![start()], text(0, &["par"]), vec![overloaded]].concat());
    let whole = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m-1", "stop_reason": "tool_use", "stop_sequence": null,
        "content": [{"type": "text", "text": "Grüße 🙂"}, {"type": "tool_use", "id": "a", "name": "weather", "input": {"city": "Rome"}}],
        "usage": {"input_tokens": 3, "output_tokens": 1},
    });
    let error = |kind: &str, message: &str| {
        json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"})
            .to_string()
    };
    suite
        .sample(
            Sample::stream("text", stream(&[text(0, &["北🙂", "é"])], "end_turn"))
                .text("北🙂é")
                .finish(UnifiedFinish::Stop),
        )
        .sample(
            Sample::stream("calls", stream(&calls, "tool_use"))
                .text("I look.")
                .finish(UnifiedFinish::ToolCalls),
        )
        .sample(
            Sample::stream("length", stream(&[text(0, &["To be, ", "or"])], "max_tokens"))
                .finish(UnifiedFinish::Length),
        )
        .sample(Sample::stream("overloaded", failed).text("par").fails(ErrorClass::Overloaded))
        .sample(Sample::whole("whole", whole.to_string()).text("Grüße 🙂").finish(UnifiedFinish::ToolCalls))
        .sample(Sample::error(
            "bad key",
            401,
            error("authentication_error", "invalid x-api-key {{KEY}}"),
            ErrorClass::Auth,
        ))
        .sample(Sample::error(
            "too long",
            400,
            error("invalid_request_error", "prompt is too long: 5000 tokens > 4096 maximum"),
            ErrorClass::ContextTooLong,
        ))
        .sample(Sample::error(
            "overloaded status",
            529,
            error("overloaded_error", "Overloaded"),
            ErrorClass::Overloaded,
        ))
}

#[tokio::test]
async fn the_codec_conforms() {
    let suite = Conformance::of_codec(|site| Ok(MessagesCodec::new(Endpoint::base(&site.url)?)));
    with_samples(suite).check().await;
}

/// Models of this maker, and one of whom nothing is known.
#[tokio::test]
async fn the_models_of_the_provider_conform() {
    for id in ["claude-sonnet-4-5", "claude-3-haiku-20240307", "claude-opus-4-7", "model"] {
        let suite = Conformance::of_model(|site| {
            let provider = Anthropic::builder()
                .base_url(&site.url)
                .api_key(site.key.clone())
                .transport(site.transport.clone())
                .limits(site.limits)
                .build()?;
            provider.language_model(&site.model)
        });
        let report = with_samples(suite).model_id(id).checks(VARIES).run().await;
        assert!(report.failures.is_empty(), "{id}: {report}");
    }
}
