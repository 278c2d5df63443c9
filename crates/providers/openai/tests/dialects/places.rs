//! Where servers are, how keys are shown, what is known and set of models.

use std::sync::Arc;

use ai_http::{CallInfo, Codec, Endpoint, IdSeed};
use ai_openai::{ChatCodec, KeyForm, ModelSetup, OpenAi, OpenAiBuilder};
use ai_provider::{
    ApiKey, CallContext, Capabilities, Delivery, ErrorClass, FileData, FilePart, FunctionTool,
    LanguageModelExt, Message, Provider, Request, RequestId, StructuredOutput, TargetId, ToolDefinition,
    UserMessage, UserPart,
};
use ai_testkit::{MemoryReply, MemoryTransport};
use serde_json::{Value, json};

use crate::hi;
use crate::support::{dialect, encoded};

const ANSWER: &str = r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#;

fn at(name: &str) -> OpenAiBuilder {
    OpenAi::builder().dialect(dialect(name)).api_key(ApiKey::new("sk-12345678").unwrap())
}

/// The call a model of this id makes.
async fn call_of(builder: OpenAiBuilder, id: &str, request: Request) -> ai_http::HttpCall {
    let transport = MemoryTransport::new().reply(MemoryReply::ok(ANSWER));
    let provider = builder.transport(Arc::new(transport.clone())).build().unwrap();
    provider.language_model(id).unwrap().generate(request, CallContext::new()).await.unwrap();
    transport.calls().remove(0)
}

fn field(call: &ai_http::HttpCall, name: &str) -> Value {
    serde_json::from_slice::<Value>(&call.body).unwrap()[name].clone()
}

/// [OA-121]
#[tokio::test]
async fn each_server_is_reached_where_it_is() {
    for (name, url) in [
        ("openrouter", "https://openrouter.ai/api/v1/chat/completions"),
        ("ollama", "http://127.0.0.1:11434/v1/chat/completions"),
        ("vllm", "http://127.0.0.1:8000/v1/chat/completions"),
        ("lmstudio", "http://127.0.0.1:1234/v1/chat/completions"),
    ] {
        let sent = call_of(at(name), "m", hi()).await;
        assert_eq!(sent.url, url);
        assert_eq!(sent.headers["authorization"], "Bearer sk-12345678");
    }
}

/// [OA-122]
#[tokio::test]
async fn azure_has_its_key_in_a_header_and_the_model_in_body_or_path() {
    let now = "https://res.openai.azure.com/openai/v1";
    let classic = "https://res.openai.azure.com/openai";
    for (name, base, id, url) in [
        ("azure", now, "gpt-4.1", format!("{now}/chat/completions")),
        (
            "azure",
            &format!("{now}?api-version=preview"),
            "d",
            format!("{now}/chat/completions?api-version=preview"),
        ),
        (
            "azure-deployments",
            classic,
            "my gpt/../x?",
            format!("{classic}/deployments/my%20gpt%2F..%2Fx%3F/chat/completions?api-version=2024-10-21"),
        ),
        (
            "azure-deployments",
            &format!("{classic}?api-version=2025-01-01-preview"),
            "d",
            format!("{classic}/deployments/d/chat/completions?api-version=2025-01-01-preview"),
        ),
    ] {
        let sent = call_of(at(name).base_url(base), id, hi()).await;
        assert_eq!(sent.url, url);
        assert_eq!(sent.headers["api-key"], "sk-12345678");
        assert!(sent.headers["api-key"].is_sensitive());
        assert_eq!(sent.headers.get("authorization"), None);
        assert_eq!(field(&sent, "model"), id);
    }
    // A full URL is taken as it is.
    let full = "https://gateway/azure?x=1";
    assert_eq!(call_of(at("azure-deployments").endpoint_url(full), "d", hi()).await.url, full);
    assert_eq!(
        at("azure").build().unwrap_err().class(),
        ErrorClass::InvalidRequest,
        "Azure has no usual place"
    );
    let provider =
        at("azure-deployments").base_url(classic).transport(Arc::new(MemoryTransport::new())).build();
    let model = provider.unwrap().language_model("..").unwrap();
    let error = model.generate(hi(), CallContext::new()).await.unwrap_err();
    assert_eq!(error.error.class(), ErrorClass::InvalidRequest);
    let mut wrong = dialect("generic");
    wrong.key = KeyForm::Header("a b".into());
    let error = OpenAi::builder().dialect(wrong).base_url("http://h").build().unwrap_err();
    assert_eq!(error.class(), ErrorClass::InvalidRequest);
}

/// [OA-122]
#[tokio::test]
async fn azures_models_are_listed_with_the_version() {
    let transport = MemoryTransport::new().reply(MemoryReply::ok(r#"{"data":[{"id":"gpt-4o"}]}"#));
    let builder = at("azure-deployments").base_url("https://r/openai").transport(Arc::new(transport.clone()));
    assert_eq!(builder.build().unwrap().list_models().await.unwrap()[0].id, "gpt-4o");
    assert_eq!(transport.calls()[0].url, "https://r/openai/models?api-version=2024-10-21");
}

/// [OA-123]
#[test]
fn what_is_known_of_a_model_is_found_by_the_longest_beginning_of_its_id() {
    let known = |name: &str, id: &str| dialect(name).capabilities_of(id);
    let window = |name: &str, id: &str| (known(name, id).context_window, known(name, id).max_output_tokens);
    assert_eq!(window("openai", "gpt-4.1-mini-2025-04-14"), (Some(1_047_576), Some(32_768)));
    assert_eq!(window("openai", "gpt-4-turbo"), (Some(128_000), Some(4_096)));
    assert_eq!(window("openai", "gpt-4-0613"), (Some(8_192), Some(8_192)));
    assert_eq!(window("openai", "ft:gpt-4o:org::1"), (Some(128_000), Some(16_384)));
    assert_eq!(window("azure", "gpt-5-mini"), (Some(400_000), Some(128_000)));
    assert_eq!(window("deepseek", "deepseek-reasoner"), (Some(131_072), Some(65_536)));
    assert_eq!(window("openai", "mine"), (None, None));
    assert_eq!(known("openai", "mine"), dialect("openai").capabilities);

    assert!(known("openai", "o3").reasoning && known("deepseek", "deepseek-reasoner").reasoning);
    assert!(!known("openai", "gpt-5-chat-latest").reasoning && !known("xai", "grok-3").reasoning);
    assert!(known("xai", "grok-3-mini-fast").reasoning);
    let old = known("openai", "gpt-3.5-turbo");
    assert!(!old.input.image && !old.input.pdf && !old.tool_result.image);
    assert_eq!(old.structured_output, StructuredOutput::JsonObject);
    assert!(known("openai", "gpt-4o-audio-preview").input.audio && !known("openai", "gpt-4o").input.audio);
}

/// [OA-123]
#[test]
fn a_request_is_written_by_what_is_known_of_the_model() {
    let image = FilePart::new("image/png", FileData::bytes(b"\x89PNG".as_slice()));
    let parts = vec![UserPart::File(image)];
    let request = Request::new([Message::User(UserMessage { parts, ..UserMessage::default() })]);
    assert!(encoded(&dialect("openai"), "gpt-4o", &request).is_ok());
    let error = encoded(&dialect("openai"), "gpt-3.5-turbo", &request).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Unsupported);
}

/// [OA-124]
#[tokio::test]
async fn what_is_set_for_a_model_replaces_what_is_known() {
    let mut capabilities = Capabilities::default();
    capabilities.context_window = Some(7);
    capabilities.tools = false;
    let setup = ModelSetup::new()
        .capabilities(capabilities.clone())
        .extra_body("tier", json!({"a": 1, "b": 1}))
        .header("x-tier", "model")
        .header("x-more", "model");
    assert!(!format!("{:?}", setup.clone().header("x-token", "geheim")).contains("geheim"));
    let builder = || {
        at("openai")
            .extra_body("tier", json!({"b": 0, "c": 0}))
            .extra_body("all", json!(true))
            .header("x-tier", "provider")
            .model("gpt-4o", setup.clone())
            .transport(Arc::new(MemoryTransport::new()))
    };
    let provider = builder().build().unwrap();
    assert_eq!(*provider.language_model("gpt-4o").unwrap().capabilities(), capabilities);
    assert!(provider.language_model("gpt-4o-mini").unwrap().capabilities().tools);

    let tool = FunctionTool::new("f", "", json!({"type": "object"}));
    let mut request = hi().with_tools([ToolDefinition::Function(tool)]).with_extra("tier", json!({"a": 2}));
    request.extra_headers = vec![("x-more".into(), Some("call".into()))];
    let sent = call_of(builder(), "gpt-4o", request.clone()).await;
    assert_eq!(field(&sent, "tier"), json!({"a": 2, "b": 1, "c": 0}));
    assert_eq!((field(&sent, "all"), field(&sent, "tools")), (json!(true), Value::Null));
    assert_eq!(
        (&sent.headers["x-tier"], &sent.headers["x-more"]),
        (&"model".parse().unwrap(), &"call".parse().unwrap())
    );
    let other = call_of(builder(), "gpt-4o-mini", request).await;
    assert_eq!(field(&other, "tier"), json!({"a": 2, "b": 0, "c": 0}));
    assert_eq!(other.headers["x-tier"], "provider");
    let bad = at("openai").model("m", ModelSetup::new().header("x", "a\nb")).build().unwrap_err();
    assert_eq!(bad.class(), ErrorClass::InvalidRequest);
}

/// [OA-125]
#[test]
fn what_options_and_extra_body_replace_or_leave_unused_is_warned_of() {
    let warned = |request: &Request| -> Vec<String> {
        let (_, warnings) = encoded(&dialect("openai"), "m", request).unwrap();
        warnings.iter().map(ToString::to_string).collect()
    };
    let tool = || ToolDefinition::Function(FunctionTool::new("f", "", json!({"type": "object"})));
    let mut request = hi().with_tools([tool()]);
    request.settings.temperature = Some(0.5);
    request.settings.seed = Some(1);
    assert_eq!(warned(&request), Vec::<String>::new());
    assert_eq!(
        warned(&request.clone().with_extra("temperature", json!(0.5))),
        Vec::<String>::new(),
        "the same"
    );
    assert_eq!(warned(&request.clone().with_extra("stream_options", json!({"x": 1}))), Vec::<String>::new());
    request.options = request.options.with("openai", "seed", json!(2));
    let request = request
        .with_extra("model", json!("other"))
        .with_extra("tools", json!([]))
        .with_extra("messages", json!([]));
    let warned = warned(&request);
    assert_eq!(warned.len(), 4, "{warned:?}");
    for (warning, word) in warned.iter().zip(["`model`", "`seed`", "the tools", "the messages"]) {
        assert!(warning.contains(word) && warning.contains("overridden"), "{warning}");
    }
}

/// [OA-127]
#[test]
fn files_a_server_does_not_get_at_a_url_are_downloaded() {
    let must = |name: &str, model: &str, media_type: &str| {
        let target = TargetId::new(name, model, "http://h/v1");
        let ids = IdSeed::new(&RequestId::from("r"));
        let info = CallInfo { target: &target, account: None, delivery: Delivery::Stream, ids };
        let codec = ChatCodec::new(dialect(name), Endpoint::base("http://h/v1").unwrap());
        codec.must_download(&FilePart::new(media_type, FileData::Url { url: "https://a/b".into() }), &info)
    };
    for (name, model, media_type, expected) in [
        ("openai", "gpt-4o", "image/png", false),
        ("openai", "gpt-4o", "image", false),
        ("ollama", "m", "image/png", true),
        ("lmstudio", "m", "image/*", true),
        ("moonshot", "m", "image/png", true),
        ("vllm", "m", "video/mp4", false),
        ("openai", "gpt-4o", "application/pdf", true),
        ("openai", "gpt-4o-audio-preview", "audio/wav", true),
        ("openai", "gpt-4o", "text/csv", true),
        // What the model does not take is not worth a download: encoding says so.
        ("openai", "gpt-3.5-turbo", "application/pdf", false),
        ("groq", "m", "application/pdf", false),
    ] {
        assert_eq!(must(name, model, media_type), expected, "{name} {model} {media_type}");
    }
}
