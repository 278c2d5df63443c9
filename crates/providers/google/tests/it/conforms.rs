//! The suite every adapter passes.

use std::sync::Arc;

use ai_google::{GenerateContentCodec, Google};
use ai_http::Endpoint;
use ai_provider::{ErrorClass, LanguageModel, ModelError, Provider, UnifiedFinish};
use ai_testkit::conformance::{Conformance, Sample, Site};

use crate::support::{data, end, gm, stop};

fn with_samples(suite: Conformance) -> Conformance {
    let text = gm(r#"[{"text":"北"}]"#) + &gm(r#"[{"text":"🙂é"}]"#) + &end(r#"[{"text":"\n"}]"#, "STOP");
    let calls = gm(r#"[{"text":"Two cities.","thought":true},{"text":"I look."}]"#)
        + &gm(r#"[{"functionCall":{"name":"weather","args":{"city":"Rome"}},"thoughtSignature":"S"}]"#)
        + &gm(r#"[{"functionCall":{"id":"b","name":"weather","willContinue":true}}]"#)
        + &gm(
            r#"[{"functionCall":{"partialArgs":[{"jsonPath":"$.city","stringValue":"Os","willContinue":true}],"willContinue":true}}]"#,
        )
        + &gm(
            r#"[{"functionCall":{"partialArgs":[{"jsonPath":"$.city","stringValue":"lo"}],"willContinue":true}}]"#,
        )
        + &gm(r#"[{"functionCall":{}}]"#)
        + &stop();
    let length = gm(r#"[{"text":"To be, "}]"#) + &end(r#"[{"text":"or"}]"#, "MAX_TOKENS");
    let failed = gm(r#"[{"text":"par"}]"#)
        + &data(r#"{"error":{"code":503,"message":"no capacity for {{KEY}}","status":"UNAVAILABLE"}}"#);
    let whole = r#"{"candidates":[{"content":{"parts":[{"text":"Grüße 🙂"},{"functionCall":{"name":"f"}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1}}"#;
    let bad_key =
        r#"{"error":{"code":400,"message":"API key not valid: {{KEY}}","status":"INVALID_ARGUMENT"}}"#;
    let slow =
        r#"{"error":{"code":429,"message":"Resource has been exhausted","status":"RESOURCE_EXHAUSTED"}}"#;
    suite
        .sample(Sample::stream("text", text).text("北🙂é\n").finish(UnifiedFinish::Stop))
        .sample(Sample::stream("calls", calls).text("I look.").finish(UnifiedFinish::ToolCalls))
        .sample(Sample::stream("length", length).text("To be, or").finish(UnifiedFinish::Length))
        .sample(Sample::stream("error in the stream", failed).fails(ErrorClass::Overloaded))
        .sample(Sample::whole("whole", whole).text("Grüße 🙂").finish(UnifiedFinish::ToolCalls))
        .sample(Sample::error("bad key", 400, bad_key, ErrorClass::Auth))
        .sample(Sample::error("rate limit", 429, slow, ErrorClass::RateLimit))
}

/// [GG-31]
#[tokio::test]
async fn the_codec_conforms() {
    let codec = |site: &Site| Ok(GenerateContentCodec::new(Endpoint::base(&site.url)?));
    with_samples(Conformance::of_codec(codec)).check().await;
}

fn model_at(site: &Site) -> Result<Arc<dyn LanguageModel>, ModelError> {
    let builder = Google::builder()
        .base_url(&site.url)
        .api_key(site.key.clone())
        .transport(Arc::clone(&site.transport))
        .limits(site.limits);
    builder.build()?.language_model(&site.model)
}

/// [GG-31]
#[tokio::test]
async fn the_provider_conforms() {
    with_samples(Conformance::of_model(model_at)).places(50).check().await;
}
