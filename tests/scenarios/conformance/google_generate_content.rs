use ai_google::{GenerateContentCodec, Google};
use ai_http::Endpoint;
use ai_provider::{ErrorClass, Provider, UnifiedFinish};
use ai_testkit::conformance::{Conformance, Sample};
use serde_json::{Value, json};

use super::VARIES;

fn chunk(parts: Value, finish: Option<&str>) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if let Some(finish) = finish {
        candidate["finishReason"] = finish.into();
    }
    json!({
        "candidates": [candidate], "responseId": "r1", "modelVersion": "m-1",
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 4, "thoughtsTokenCount": 2, "totalTokenCount": 16},
    })
}

fn stream(chunks: &[Value]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n")).collect()
}

fn with_samples(suite: Conformance) -> Conformance {
    let text = [chunk(json!([{"text": "北🙂"}]), None), chunk(json!([{"text": "é\n"}]), Some("STOP"))];
    let call = |city: &str| json!({"functionCall": {"name": "weather", "args": {"city": city}}});
    let mut signed = call("Röm\"e");
    signed["thoughtSignature"] = "SIG==".into();
    let calls = [
        chunk(json!([{"text": "Two cities.", "thought": true}]), None),
        chunk(json!([{"text": "I look."}]), None),
        chunk(json!([signed]), None),
        chunk(json!([call("Oslo")]), Some("STOP")),
    ];
    let length =
        [chunk(json!([{"text": "To be, "}]), None), chunk(json!([{"text": "or"}]), Some("MAX_TOKENS"))];
    let error = |code: u16, status: &str, message: &str| json!({"error": {"code": code, "message": message, "status": status}});
    let failed =
        [chunk(json!([{"text": "par"}]), None), error(503, "UNAVAILABLE", "The model is overloaded {{KEY}}")];
    let whole = chunk(json!([{"text": "Grüße 🙂"}, call("Rome")]), Some("STOP"));
    let text_of = |value: Value| value.to_string();
    suite
        .sample(Sample::stream("text", stream(&text)).text("北🙂é\n").finish(UnifiedFinish::Stop))
        .sample(Sample::stream("calls", stream(&calls)).text("I look.").finish(UnifiedFinish::ToolCalls))
        .sample(Sample::stream("length", stream(&length)).text("To be, or").finish(UnifiedFinish::Length))
        .sample(
            Sample::stream("error in the stream", stream(&failed)).text("par").fails(ErrorClass::Overloaded),
        )
        .sample(Sample::whole("whole", whole.to_string()).text("Grüße 🙂").finish(UnifiedFinish::ToolCalls))
        .sample(Sample::error(
            "bad key",
            400,
            text_of(error(
                400,
                "INVALID_ARGUMENT",
                "API key not valid. Please pass a valid API key. {{KEY}}",
            )),
            ErrorClass::Auth,
        ))
        .sample(Sample::error(
            "exhausted",
            429,
            text_of(error(429, "RESOURCE_EXHAUSTED", "slow down")),
            ErrorClass::RateLimit,
        ))
        .sample(Sample::error(
            "bad",
            400,
            text_of(error(400, "INVALID_ARGUMENT", "bad schema")),
            ErrorClass::InvalidRequest,
        ))
}

#[tokio::test]
async fn the_codec_conforms() {
    let suite = Conformance::of_codec(|site| Ok(GenerateContentCodec::new(Endpoint::base(&site.url)?)));
    with_samples(suite).check().await;
}

/// Models before and after signatures, and of another kind.
#[tokio::test]
async fn the_models_of_the_provider_conform() {
    for id in ["gemini-2.5-flash", "gemini-3-pro-preview", "gemma-3-27b-it", "model"] {
        let suite = Conformance::of_model(|site| {
            let provider = Google::builder()
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
