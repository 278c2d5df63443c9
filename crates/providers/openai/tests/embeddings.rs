//! Texts to vectors.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod support;

use std::sync::Arc;

use ai_openai::{Dialect, ModelSetup, OpenAi};
use ai_provider::{
    ApiKey, CallContext, EmbeddingModel, EmbeddingRequest, Embeddings, ErrorClass, ModelError, Provider,
    ProviderOptions,
};
use ai_testkit::{MemoryReply, MemoryTransport};
use http::StatusCode;
use proptest::prelude::*;
use serde_json::{Value, json};
use support::dialect;

fn model(dialect: Dialect, transport: &MemoryTransport) -> Arc<dyn EmbeddingModel> {
    let base =
        if dialect.base_url.is_empty() { "http://h/v1".to_owned() } else { dialect.base_url.to_string() };
    let provider = OpenAi::builder()
        .dialect(dialect)
        .base_url(base)
        .api_key(ApiKey::new("sk-12345678").unwrap())
        .header("x-team", "blue")
        .model("tuned", ModelSetup::new().extra_body("user", json!("u")))
        .transport(Arc::new(transport.clone()))
        .build()
        .unwrap();
    provider.embedding_model("tuned").unwrap()
}

/// What comes of this reply for two texts.
async fn embedded(reply: MemoryReply) -> Result<Embeddings, ModelError> {
    let model = model(dialect("openai"), &MemoryTransport::new().reply(reply));
    model.embed(EmbeddingRequest::new(["a", "b"]), CallContext::new()).await
}

fn data(items: Value) -> MemoryReply {
    MemoryReply::ok(json!({ "data": items, "usage": { "prompt_tokens": 5, "total_tokens": 5 } }).to_string())
}

/// [OA-140]
#[tokio::test]
async fn texts_go_out_and_vectors_come_in() {
    let transport = MemoryTransport::new().reply(data(
        json!([{ "index": 0, "embedding": "AACAPwAAAEA=" }, { "index": 1, "embedding": [0.5, -1e0] }]),
    ));
    let model = model(dialect("openai"), &transport);
    assert_eq!((model.max_batch(), model.target().to_string().as_str()), (Some(2048), "openai:tuned"));
    let mut request = EmbeddingRequest::new(["a", "b"]);
    request.dimensions = Some(2);
    request.options =
        ProviderOptions::default().with("openai", "extra", json!(1)).with("google", "x", json!(1));
    request.extra_headers = vec![("x-team".into(), Some("red".into()))];
    let embeddings = model.embed(request, CallContext::new()).await.unwrap();
    assert_eq!(embeddings.vectors, [[1.0, 2.0], [0.5, -1.0]]);
    assert_eq!((embeddings.usage.input.total, embeddings.usage.output.total), (Some(5), None));
    let call = transport.calls().remove(0);
    assert_eq!(call.url, "https://api.openai.com/v1/embeddings");
    assert_eq!(
        (&call.headers["authorization"], &call.headers["x-team"]),
        (&"Bearer sk-12345678".parse().unwrap(), &"red".parse().unwrap())
    );
    assert_eq!(
        serde_json::from_slice::<Value>(&call.body).unwrap(),
        json!({ "model": "tuned", "input": ["a", "b"], "encoding_format": "base64", "dimensions": 2, "extra": 1, "user": "u" })
    );
}

/// [OA-140]
#[tokio::test]
async fn each_server_has_its_place_and_form() {
    for (name, url, format, batch) in [
        ("ollama", "http://127.0.0.1:11434/v1/embeddings", "float", None),
        (
            "azure-deployments",
            "http://h/v1/deployments/tuned/embeddings?api-version=2024-10-21",
            "base64",
            Some(2048),
        ),
        ("alibaba", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1/embeddings", "float", Some(10)),
    ] {
        let transport = MemoryTransport::new().reply(data(json!([{ "embedding": [1] }])));
        let model = model(dialect(name), &transport);
        assert_eq!(model.max_batch(), batch);
        model.embed(EmbeddingRequest::new(["a"]), CallContext::new()).await.unwrap();
        let call = transport.calls().remove(0);
        assert_eq!(call.url, url);
        assert!(String::from_utf8_lossy(&call.body).contains(&format!(r#""encoding_format":"{format}""#)));
    }
    let full = OpenAi::builder()
        .endpoint_url("http://h/chat")
        .transport(Arc::new(MemoryTransport::new()))
        .build()
        .unwrap();
    assert_eq!(full.embedding_model("m").unwrap_err().class(), ErrorClass::Unsupported);
    assert_eq!(full.embedding_model(" ").unwrap_err().class(), ErrorClass::InvalidRequest);
}

/// [OA-141]
#[tokio::test]
async fn vectors_are_put_in_the_order_of_the_texts() {
    let turned = json!([{ "index": 1, "embedding": [2] }, { "index": 0, "embedding": [1] }]);
    assert_eq!(embedded(data(turned)).await.unwrap().vectors, [[1.0], [2.0]]);
    let bare = json!([{ "embedding": [1] }, { "index": null, "embedding": [2] }]);
    assert_eq!(embedded(data(bare)).await.unwrap().vectors, [[1.0], [2.0]]);
}

/// [OA-142]
#[tokio::test]
async fn an_answer_that_does_not_fit_the_texts_is_an_error() {
    let vector = |index: Value| json!({ "index": index, "embedding": [1] });
    for (items, word) in [
        (json!([]), "0 vectors came for 2 texts"),
        (json!([vector(json!(0))]), "1 vectors"),
        (json!([vector(json!(0)), vector(json!(1)), vector(json!(2))]), "3 vectors"),
        (json!([vector(json!(0)), vector(json!(0))]), "index of a vector is 0"),
        (json!([vector(json!(1)), vector(json!(2))]), "index of a vector is 2"),
        (json!([vector(json!(0)), vector(json!(null))]), "index of a vector is none"),
        (json!([vector(json!(0)), { "index": 1, "embedding": [1, 2] }]), "different lengths"),
        (json!([{ "embedding": [] }, { "embedding": [] }]), "empty"),
        (json!([{ "embedding": [1e39] }, { "embedding": [1] }]), "number out of range"),
        (json!([{ "embedding": "AADAfw==" }, { "embedding": [1] }]), "no finite number"),
        (json!([{ "embedding": "AACAPw" }, { "embedding": [1] }]), "no base64"),
        (json!([{ "embedding": "AACA" }, { "embedding": [1] }]), "ends within a number"),
        (json!([{ "embedding": null }, { "embedding": [1] }]), "a vector"),
        (json!([vector(json!(-1)), vector(json!(0))]), "not of the expected form"),
        (json!({ "no": "list" }), "not of the expected form"),
    ] {
        let error = embedded(data(items.clone())).await.unwrap_err();
        assert_eq!((error.class(), error.retryable()), (ErrorClass::Protocol, false), "{items}: {error}");
        assert!(error.message().contains(word), "{items}: {error}");
        assert_eq!(error.url(), Some("https://api.openai.com/v1/embeddings"), "{items}");
    }
    let transport = MemoryTransport::new().reply(data(json!([{ "embedding": [1, 2, 3] }])));
    let mut request = EmbeddingRequest::new(["a"]);
    request.dimensions = Some(2);
    let error = model(dialect("openai"), &transport).embed(request, CallContext::new()).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Unsupported);
    assert!(error.message().contains("of 3 numbers, not of 2"), "{error}");
}

/// [OA-143]
#[tokio::test]
async fn failures_are_those_of_any_call_and_nothing_is_sent_in_vain() {
    let quota = r#"{"error":{"message":"used up","code":"insufficient_quota"}}"#;
    for (reply, class) in [
        (MemoryReply::json(StatusCode::TOO_MANY_REQUESTS, quota), ErrorClass::Quota),
        (MemoryReply::ok(quota), ErrorClass::Quota),
        (MemoryReply::new(StatusCode::BAD_GATEWAY, "<h1>no</h1>"), ErrorClass::Server),
        (MemoryReply::ok(""), ErrorClass::Incomplete),
        (MemoryReply::ok(r#"{"data":[{"embed"#), ErrorClass::Incomplete),
    ] {
        let error = embedded(reply).await.unwrap_err();
        assert_eq!(error.class(), class, "{error}");
    }
    let transport = MemoryTransport::new();
    let model = model(dialect("alibaba"), &transport);
    let none = model.embed(EmbeddingRequest::new(Vec::<String>::new()), CallContext::new()).await.unwrap();
    assert_eq!(none, Embeddings::default());
    let many = EmbeddingRequest::new((0..11).map(|n| n.to_string()));
    let error = model.embed(many, CallContext::new()).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::InvalidRequest);
    assert!(error.message().contains("at most 10 values at once, not 11"), "{error}");
    assert_eq!(transport.calls().len(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// [OA-140] [OA-141]
    #[test]
    fn numbers_and_base64_in_any_order_give_the_same_vectors(
        vectors in proptest::collection::vec(proptest::array::uniform3(-1e30f32..1e30), 1..6),
        text in any::<bool>(),
        turn in 0usize..6,
    ) {
        use base64::Engine as _;
        let count = vectors.len();
        let mut items: Vec<_> = vectors.iter().enumerate().map(|(index, vector)| {
            let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
            let embedding = if text {
                json!(base64::engine::general_purpose::STANDARD.encode(bytes))
            } else {
                json!(vector)
            };
            json!({ "index": index, "embedding": embedding })
        }).collect();
        items.rotate_left(turn % count);
        let transport = MemoryTransport::new().reply(data(Value::Array(items)));
        let request = EmbeddingRequest::new((0..count).map(|n| n.to_string()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let embeddings = runtime.block_on(model(dialect("openai"), &transport).embed(request, CallContext::new()));
        let expected: Vec<Vec<f32>> = vectors.iter().map(|vector| vector.to_vec()).collect();
        prop_assert_eq!(embeddings.unwrap().vectors, expected);
    }
}
