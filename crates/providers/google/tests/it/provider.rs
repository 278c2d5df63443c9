//! The provider: where its calls go, what they show, what it lists and embeds.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use ai_google::{GenerateContentCodec, Google, GoogleBuilder, ModelSetup};
use ai_http::{Endpoint, Timeouts};
use ai_provider::{
    ApiKey, CallContext, Capabilities, Delivery, EmbeddingRequest, ErrorClass, Message, ModelError,
    ModelKind, Provider, ProviderOptions, Request, StreamPart,
};
use ai_testkit::{MemoryReply, MemoryTransport, collect};
use http::StatusCode;
use serde_json::{Value, json};

use crate::support::{end, text};

fn builder(transport: &MemoryTransport) -> GoogleBuilder {
    Google::builder().api_key(ApiKey::new("AIzaCANARY").unwrap()).transport(Arc::new(transport.clone()))
}

fn answer() -> MemoryReply {
    MemoryReply::sse(end(r#"[{"text":"hi"}]"#, "STOP"))
}

async fn ask(google: &Google, model: &str, delivery: Delivery) -> Result<String, ModelError> {
    let mut request = Request::new([Message::user("Hi")]);
    request.delivery = delivery;
    let (parts, error) = collect(google.language_model(model)?.stream(request, CallContext::new())).await;
    error.map_or_else(|| Ok(text(&parts)), Err)
}

/// [GG-120]
#[tokio::test]
async fn each_delivery_has_its_url_and_a_full_url_stays_as_it_is() {
    let transport = MemoryTransport::new().repeat(answer());
    let url = async |builder: GoogleBuilder, delivery| {
        let google = builder.build().unwrap();
        let _ = ask(&google, "gemini-2.5-flash", delivery).await;
        transport.calls().last().unwrap().url.clone()
    };
    let base = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash";
    assert_eq!(
        url(builder(&transport), Delivery::Stream).await,
        format!("{base}:streamGenerateContent?alt=sse")
    );
    assert_eq!(url(builder(&transport), Delivery::Whole).await, format!("{base}:generateContent"));
    let own = |url: &str| builder(&transport).base_url(url);
    let proxied = url(own("https://proxy.example/gemini/?team=1"), Delivery::Stream).await;
    assert_eq!(
        proxied,
        "https://proxy.example/gemini/models/gemini-2.5-flash:streamGenerateContent?team=1&alt=sse"
    );
    for delivery in [Delivery::Stream, Delivery::Whole] {
        let full = "https://proxy.example/v1/models/m:streamGenerateContent?x=1";
        assert_eq!(url(builder(&transport).endpoint_url(full), delivery).await, full);
    }
    // What comes from there is read as what it is.
    let document = json!({"candidates": [{"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"}]});
    for body in [end(r#"[{"text":"hi"}]"#, "STOP"), document.to_string(), format!("[{document}]")] {
        let transport = MemoryTransport::new().repeat(MemoryReply::ok(body.clone()));
        let google = builder(&transport).endpoint_url("https://proxy.example/m").build().unwrap();
        for delivery in [Delivery::Stream, Delivery::Whole] {
            assert_eq!(ask(&google, "m", delivery).await.unwrap(), "hi", "{body}");
        }
    }
    for wrong in ["", "ftp://host", "generativelanguage.googleapis.com"] {
        assert_eq!(own(wrong).build().unwrap_err().class(), ErrorClass::InvalidRequest);
    }
    assert_eq!(builder(&transport).name(" ").build().unwrap_err().class(), ErrorClass::InvalidRequest);
}

/// [GG-121]
#[tokio::test]
async fn a_models_name_is_one_part_of_the_path() {
    for (name, path) in [
        ("a/../b?x=1", "models/a%2F..%2Fb%3Fx%3D1"),
        ("m:countTokens#", "models/m%3AcountTokens%23"),
        ("models/gemini-2.5-flash", "models/gemini-2.5-flash"),
        ("tunedModels/my-1", "tunedModels/my-1"),
        ("models/../x", "models/..%2Fx"),
        ("ü %2f", "models/%C3%BC%20%252f"),
    ] {
        let transport = MemoryTransport::new().repeat(answer());
        let google = builder(&transport).base_url("https://host/v1").build().unwrap();
        ask(&google, name, Delivery::Stream).await.unwrap();
        let expected = format!("https://host/v1/{path}:streamGenerateContent?alt=sse");
        assert_eq!(transport.calls()[0].url, expected);
        let embedder = google.embedding_model(name).unwrap();
        embedder.embed(EmbeddingRequest::new(["a"]), CallContext::new()).await.unwrap_err();
        assert_eq!(transport.calls()[1].url, format!("https://host/v1/{path}:batchEmbedContents"));
    }
    let google = builder(&MemoryTransport::new()).build().unwrap();
    for name in ["", "  ", "..", ".", "a\r\nX-Evil: 1", "a\0", "models/", "models/.."] {
        assert_eq!(google.language_model(name).unwrap_err().class(), ErrorClass::InvalidRequest, "{name:?}");
        assert_eq!(google.embedding_model(name).unwrap_err().class(), ErrorClass::InvalidRequest, "{name:?}");
    }
}

/// Everything an error says.
fn shown(error: &ModelError) -> String {
    let mut all = format!("{error} {error:?} {error:#?} {:?}", error.record());
    let mut source = error.source();
    while let Some(error) = source {
        all += &format!(" {error} {error:?}");
        source = error.source();
    }
    all
}

/// [GG-122]
#[tokio::test]
async fn the_key_is_in_its_header_and_nowhere_else() {
    let transport = MemoryTransport::new().repeat(answer());
    let google = builder(&transport).build().unwrap();
    ask(&google, "m", Delivery::Stream).await.unwrap();
    let call = &transport.calls()[0];
    assert_eq!(call.headers["x-goog-api-key"], "AIzaCANARY");
    assert!(call.headers["x-goog-api-key"].is_sensitive());
    assert!(!call.headers.contains_key("authorization"));
    assert!(!call.url.contains("CANARY") && !format!("{call:?}").contains("CANARY"));
    assert!(!format!("{google:?} {:#?}", google.language_model("m").unwrap().keys()).contains("CANARY"));

    // A port where nobody listens, a 404 that echoes the key, and a URL of the user's with a key of its own.
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let refused = Google::builder()
        .api_key(ApiKey::new("AIzaCANARY").unwrap())
        .base_url(format!("http://{closed}/v1?key=CANARY2"))
        .build()
        .unwrap();
    let error = ask(&refused, "m", Delivery::Stream).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Transport);
    let mut all = shown(&error) + &format!("{refused:?}");
    all += &refused.language_model("m").unwrap().target().endpoint;
    let echo = json!({"error": {"code": 404, "message": "no model for AIzaCANARY", "status": "NOT_FOUND"}});
    let transport = MemoryTransport::new().repeat(MemoryReply::new(StatusCode::NOT_FOUND, echo.to_string()));
    for url in ["https://host/v1?key=CANARY2", "https://u:CANARY3@host/v1"] {
        let google = builder(&transport).base_url(url).build().unwrap();
        for error in [
            ask(&google, "m", Delivery::Whole).await.unwrap_err(),
            google.list_models().await.unwrap_err(),
            google
                .embedding_model("m")
                .unwrap()
                .embed(EmbeddingRequest::new(["a"]), CallContext::new())
                .await
                .unwrap_err(),
        ] {
            assert_eq!(error.class(), ErrorClass::NotFound);
            all += &shown(&error);
        }
    }
    assert!(!all.contains("CANARY"), "{all}");
}

/// [GG-130]
#[tokio::test]
async fn a_wrong_key_is_one_for_lists_and_embeddings_too() {
    let body = json!({"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.", "status": "INVALID_ARGUMENT"}});
    let reply = MemoryReply::new(StatusCode::BAD_REQUEST, body.to_string()).header("x-request-id", "r1");
    let google = builder(&MemoryTransport::new().repeat(reply)).build().unwrap();
    for error in [
        google.list_models().await.unwrap_err(),
        google
            .embedding_model("m")
            .unwrap()
            .embed(EmbeddingRequest::new(["a"]), CallContext::new())
            .await
            .unwrap_err(),
    ] {
        assert_eq!((error.class(), error.retryable(), error.status()), (ErrorClass::Auth, false, Some(400)));
        assert!(error.url().is_some() && error.message().contains("not valid"), "{error:?}");
    }
}

/// [GG-131]
#[tokio::test]
async fn the_details_of_an_error_count_for_lists_and_embeddings_too() {
    let limit = |details: serde_json::Value| {
        json!({"error": {"code": 429, "message": "You exceeded your current quota.", "status": "RESOURCE_EXHAUSTED",
            "details": details}})
    };
    let retry = json!([{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.4s"}]);
    let day = json!([{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": "RequestsPerDay"}]}]);
    let hint = Some(ai_provider::Hint::After(Duration::from_millis(34_400)));
    for (details, class, retryable, hint) in
        [(retry, ErrorClass::RateLimit, true, hint), (day, ErrorClass::Quota, false, None)]
    {
        let reply = MemoryReply::new(StatusCode::TOO_MANY_REQUESTS, limit(details).to_string());
        let google = builder(&MemoryTransport::new().repeat(reply)).build().unwrap();
        let embedding = google.embedding_model("m").unwrap();
        for error in [
            google.list_models().await.unwrap_err(),
            embedding.embed(EmbeddingRequest::new(["a"]), CallContext::new()).await.unwrap_err(),
        ] {
            assert_eq!(
                (error.class(), error.retryable(), error.hint()),
                (class, retryable, hint),
                "{error:?}"
            );
        }
    }
}

/// [GG-122]
#[tokio::test(start_paused = true)]
async fn a_time_out_shows_no_key() {
    let transport = MemoryTransport::new().repeat(answer().head_delay(Duration::from_secs(3_600)));
    let mut timeouts = Timeouts::default();
    timeouts.first_byte = Some(Duration::from_secs(5));
    let google =
        builder(&transport).base_url("https://host/v1?key=CANARY2").timeouts(timeouts).build().unwrap();
    let error = ask(&google, "m", Delivery::Stream).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Timeout);
    assert!(!shown(&error).contains("CANARY"), "{error:?}");
}

/// [GG-123]
#[tokio::test]
async fn keys_and_headers_with_line_breaks_send_nothing() {
    for key in ["k\r\nX-Evil: 1", "k\u{e9}", " ", "", "k\0"] {
        assert!(ApiKey::new(key).is_err(), "{key:?}");
    }
    for key in ["AIzaCANARY\n", "AIzaCANARY\r\n", " AIzaCANARY "] {
        let transport = MemoryTransport::new().repeat(answer());
        let google = builder(&transport).api_key(ApiKey::new(key).unwrap()).build().unwrap();
        ask(&google, "m", Delivery::Stream).await.unwrap();
        assert_eq!(transport.calls()[0].headers["x-goog-api-key"], "AIzaCANARY");
    }
    let transport = MemoryTransport::new().repeat(answer());
    assert_eq!(
        builder(&transport).header("x-a", "b\r\nX-Evil: 1").build().unwrap_err().class(),
        ErrorClass::InvalidRequest
    );
    let google = builder(&transport).header("x-team", "blue").build().unwrap();
    let mut request = Request::new([Message::user("Hi")]);
    request.extra_headers = vec![("x-a".into(), Some("b\nX-Evil: 1".into()))];
    let (_, error) = collect(google.language_model("m").unwrap().stream(request, CallContext::new())).await;
    assert_eq!((error.unwrap().class(), transport.calls().len()), (ErrorClass::InvalidRequest, 0));
    let mut embedding = EmbeddingRequest::new(["a"]);
    embedding.extra_headers = vec![("x-a".into(), Some("b\nX-Evil: 1".into()))];
    let error = google.embedding_model("m").unwrap().embed(embedding, CallContext::new()).await.unwrap_err();
    assert_eq!((error.class(), transport.calls().len()), (ErrorClass::InvalidRequest, 0));
    ask(&google, "m", Delivery::Stream).await.unwrap();
    assert_eq!(transport.calls()[0].headers["x-team"], "blue");
}

/// [GG-124]
#[tokio::test]
async fn the_list_of_models_is_read_page_by_page() {
    let first = json!({"nextPageToken": "t&1", "models": [
        {"name": "models/gemini-2.5-pro", "displayName": "Gemini 2.5 Pro", "inputTokenLimit": 1000, "outputTokenLimit": 100, "supportedGenerationMethods": ["generateContent", "countTokens"], "thinking": true},
        {"name": "models/gemini-embedding-001", "supportedGenerationMethods": ["embedContent"]},
        {"name": ""}, {},
    ]});
    let second =
        json!({"models": [{"name": "tunedModels/x", "displayName": "", "supportedGenerationMethods": null}]});
    let transport = MemoryTransport::new()
        .reply(MemoryReply::ok(first.to_string()))
        .reply(MemoryReply::ok(second.to_string()));
    let models = builder(&transport).build().unwrap().list_models().await.unwrap();
    let ids: Vec<_> = models.iter().map(|model| model.id.as_str()).collect();
    assert_eq!(ids, ["gemini-2.5-pro", "gemini-embedding-001", "tunedModels/x"]);
    assert_eq!(models[0].display_name.as_deref(), Some("Gemini 2.5 Pro"));
    let kinds: Vec<_> = models.iter().map(|model| model.kind).collect();
    assert_eq!(kinds, [Some(ModelKind::Language), Some(ModelKind::Embedding), None]);
    let known = models[0].capabilities.as_ref().unwrap();
    assert_eq!(
        (known.context_window, known.max_output_tokens, known.reasoning),
        (Some(1000), Some(100), true)
    );
    let urls: Vec<_> = transport.calls().iter().map(|call| call.url.clone()).collect();
    let base = "https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000";
    assert_eq!(urls, [base.to_owned(), format!("{base}&pageToken=t%261")]);

    let endless = MemoryTransport::new().repeat(MemoryReply::ok(first.to_string()));
    let error = builder(&endless).build().unwrap().list_models().await.unwrap_err();
    assert_eq!((error.class(), endless.calls().len()), (ErrorClass::TooLarge, 100));
    for body in ["{}", "[]", "7", "<html></html>", r#"{"models":7}"#] {
        let transport = MemoryTransport::new().repeat(MemoryReply::ok(body));
        let error = builder(&transport).build().unwrap().list_models().await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::Protocol, "{body}");
    }
    let full = builder(&endless).endpoint_url("https://host/m").build().unwrap();
    assert_eq!(full.list_models().await.unwrap_err().class(), ErrorClass::Unsupported);
    assert_eq!(full.embedding_model("m").unwrap_err().class(), ErrorClass::Unsupported);
}

/// [GG-125]
#[tokio::test]
async fn a_batch_of_texts_becomes_vectors_in_order() {
    let reply = json!({"embeddings": [{"values": [0.5, -1.0]}, {"values": [0.25, 2]}], "usageMetadata": {"promptTokenCount": 4}});
    let transport = MemoryTransport::new().repeat(MemoryReply::ok(reply.to_string()));
    let google = builder(&transport).build().unwrap();
    let model = google.embedding_model("gemini-embedding-001").unwrap();
    assert_eq!(
        (model.max_batch(), model.target().to_string()),
        (Some(100), "google:gemini-embedding-001".into())
    );
    let mut request = EmbeddingRequest::new(["a river", "a mountain"]);
    request.dimensions = Some(2);
    request.options = ProviderOptions::default().with("google", "taskType", json!("RETRIEVAL_QUERY"));
    let answer = model.embed(request, CallContext::new()).await.unwrap();
    assert_eq!(answer.vectors, [[0.5, -1.0], [0.25, 2.0]]);
    assert_eq!((answer.usage.input.total, answer.warnings.len()), (Some(4), 0));
    let sent: Value = serde_json::from_slice(&transport.calls()[0].body).unwrap();
    let item = |text: &str| json!({"model": "models/gemini-embedding-001", "content": {"parts": [{"text": text}]}, "outputDimensionality": 2, "taskType": "RETRIEVAL_QUERY"});
    assert_eq!(sent, json!({"requests": [item("a river"), item("a mountain")]}));

    let mut both = EmbeddingRequest::new(["a", "b"]);
    both.dimensions = Some(2);
    both.options = ProviderOptions::default().with("google", "outputDimensionality", json!(3));
    assert_eq!(model.embed(both, CallContext::new()).await.unwrap().warnings.len(), 1);

    let before = transport.calls().len();
    let nothing = model.embed(EmbeddingRequest::default(), CallContext::new()).await.unwrap();
    assert!(nothing.vectors.is_empty());
    let many = EmbeddingRequest::new(vec!["x"; 101]);
    assert_eq!(model.embed(many, CallContext::new()).await.unwrap_err().class(), ErrorClass::InvalidRequest);
    assert_eq!(transport.calls().len(), before, "neither was sent");
    let error = model.embed(EmbeddingRequest::new(["a"]), CallContext::new()).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Protocol, "two vectors for one text");
    for body in ["{}", r#"{"embeddings":[{}]}"#, r#"{"embeddings":[{"values":["x"]}]}"#, "[]"] {
        let transport = MemoryTransport::new().repeat(MemoryReply::ok(body));
        let model = builder(&transport).build().unwrap().embedding_model("m").unwrap();
        let error = model.embed(EmbeddingRequest::new(["a"]), CallContext::new()).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::Protocol, "{body}");
    }
}

/// [GG-126]
#[test]
fn what_a_model_can_do_is_known_by_its_name_or_told() {
    let google = builder(&MemoryTransport::new()).build().unwrap();
    let known = |id: &str| google.language_model(id).unwrap().capabilities().clone();
    let flash = known("models/gemini-2.5-flash-preview-09-2025");
    assert!(flash.tools && flash.reasoning && flash.parallel_tool_calls && flash.usage_in_stream);
    assert!(flash.input.image && flash.input.audio && flash.input.video && flash.input.pdf);
    assert!(!flash.tool_result.image);
    assert_eq!((flash.context_window, flash.max_output_tokens), (Some(1_048_576), Some(65_536)));
    assert_eq!(known("an-unknown-model"), flash);
    let third = known("gemini-3-pro-preview");
    assert!(third.tool_result.image && third.tool_result.pdf && !third.tool_result.audio);
    assert_eq!(known("gemini-5-nano"), third);
    assert_eq!(
        (known("gemini-2.0-flash").reasoning, known("gemini-2.0-flash").max_output_tokens),
        (false, Some(8_192))
    );
    assert_eq!(known("gemini-flash-latest"), known("gemini-3-flash-preview"));
    for id in
        ["gemini-3.1-flash-image", "gemma-3-27b-it", "gemini-2.5-flash-image", "gemini-3-pro-image-preview"]
    {
        assert!(!known(id).tools && !known(id).reasoning, "{id}");
    }
    let mut own = Capabilities::default();
    own.tools = false;
    let told = builder(&MemoryTransport::new()).capabilities(own.clone()).build().unwrap();
    assert_eq!(told.language_model("gemini-3-pro-preview").unwrap().capabilities(), &own);
    let codec =
        GenerateContentCodec::new(Endpoint::base("https://host").unwrap()).with_capabilities(own.clone());
    assert_eq!(codec.capabilities("gemini-3-pro-preview"), own);
}

/// [GG-129]
#[tokio::test]
async fn fields_and_headers_are_set_for_all_models_for_one_and_for_a_request() {
    let transport = MemoryTransport::new().repeat(answer());
    let mut own = Capabilities::default();
    own.tools = false;
    let setup = ModelSetup::new()
        .capabilities(own.clone())
        .extra_body("generationConfig", json!({"topK": 2, "topP": 0.5}))
        .header("x-level", "model")
        .header("x-token", "CANARY");
    assert!(!format!("{setup:?}").contains("CANARY"));
    let google = builder(&transport)
        .extra_body("generationConfig", json!({"topK": 1, "seed": 1}))
        .header("x-level", "provider")
        .model("one", setup)
        .build()
        .unwrap();
    let ask = async |model: &str| {
        let mut request = Request::new([Message::user("Hi")]);
        request.settings.seed = Some(7);
        request = request.with_extra("generationConfig", json!({"topP": 1}));
        let (parts, error) =
            collect(google.language_model(model).unwrap().stream(request, CallContext::new())).await;
        assert!(error.is_none());
        let call = transport.calls().last().unwrap().clone();
        let body: Value = serde_json::from_slice(&call.body).unwrap();
        let warned = matches!(&parts[0], StreamPart::StreamStart { warnings } if warnings.len() == 1);
        (body["generationConfig"].clone(), call.headers["x-level"].to_str().unwrap().to_owned(), warned)
    };
    assert_eq!(ask("one").await, (json!({"topK": 2, "topP": 1, "seed": 1}), "model".into(), true));
    assert_eq!(ask("other").await, (json!({"topK": 1, "topP": 1, "seed": 1}), "provider".into(), true));
    assert_eq!(google.language_model("one").unwrap().capabilities(), &own);
    assert!(google.language_model("other").unwrap().capabilities().tools);
    let wrong = ModelSetup::new().header("x-a", "b\r\nX-Evil: 1");
    let error = builder(&transport).model("one", wrong).build().unwrap_err();
    assert_eq!(error.class(), ErrorClass::InvalidRequest);
}
