use std::sync::Arc;

use ai::builtin::{
    AnthropicSettings, AzureSettings, CompatibleSettings, GoogleSettings, OpenAiSettings, SharedTransport,
};
use ai::middleware::{Middleware, MiddlewareCall};
use ai::plugin::{Plugin, Plugins, RequestContext};
use ai::provider::{
    ApiKey, CallContext, FileData, FilePart, LanguageModel, Message, ModelError, Request, TextPart,
    UserMessage, UserPart,
};
use ai::{GivenSettings, PluginError, builtin, generate_text};
use ai_testkit::{MemoryReply, MemoryTransport};
use futures_util::StreamExt;
use http::StatusCode;
use serde_json::{Value, json};

const ANSWER: &str = r#"{"id":"c1","model":"gpt-4.1","choices":[{"index":0,"message":{"role":"assistant","content":"A river."},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#;

/// Overrides the temperature of one model.
struct Cool;

#[async_trait::async_trait]
impl Middleware for Cool {
    fn name(&self) -> &str {
        "cool"
    }

    async fn transform_request(
        &self,
        mut request: Request,
        _: &MiddlewareCall<'_>,
    ) -> Result<Request, ModelError> {
        request.settings.temperature = Some(0.2);
        Ok(request)
    }
}

#[async_trait::async_trait]
impl Plugin for Cool {
    fn name(&self) -> &str {
        "cool"
    }

    async fn configure_context(&self, ctx: &mut RequestContext) -> Result<(), PluginError> {
        ctx.push_middleware(Cool);
        Ok(())
    }
}

/// [AC-186]
#[tokio::test]
async fn a_call_goes_from_the_registry_to_the_wire() {
    for (plugins, temperature) in [(Plugins::new(), 0.8), (Plugins::new().with(Cool), 0.2)] {
        let transport = MemoryTransport::new().repeat(MemoryReply::json(StatusCode::OK, ANSWER));
        let mut settings = OpenAiSettings::default();
        settings.api_key = Some(ApiKey::new("sk-1").unwrap().into());
        settings.transport = Some(SharedTransport(Arc::new(transport.clone())));
        let image = FilePart::new("image/png", FileData::bytes(&b"\x89PNG\r\n\x1a\n"[..]));
        let parts = vec![UserPart::Text(TextPart::new("What is it?")), UserPart::File(image)];
        let mut request = Request::new([Message::User(UserMessage { parts, options: Default::default() })]);
        request.settings.temperature = Some(0.8);
        let registry = builtin().unwrap();
        let answer = generate_text(&registry, "openai-chat:gpt-4.1", request)
            .with_provider_settings(GivenSettings::typed(settings))
            .with_plugins(&plugins)
            .await
            .unwrap();
        assert_eq!((answer.text().as_str(), answer.usage.total()), ("A river.", Some(5)));
        let call = transport.calls().pop().unwrap();
        assert_eq!(call.url, "https://api.openai.com/v1/chat/completions");
        assert_eq!(call.headers["authorization"], "Bearer sk-1");
        let body: Value = serde_json::from_slice(&call.body).unwrap();
        assert_eq!((&body["temperature"], &body["model"]), (&json!(temperature), &json!("gpt-4.1")));
        let part = &body["messages"][0]["content"][1];
        assert_eq!(part["type"], "image_url");
        assert!(part["image_url"]["url"].as_str().unwrap().starts_with("data:image/png;base64,"), "{part}");
    }
}

/// What a model of this id sends first: its URL and the header with its key.
async fn first_call(id: &str, settings: GivenSettings, transport: &MemoryTransport) -> (String, Vec<String>) {
    let registry = builtin().unwrap();
    let model: Arc<dyn LanguageModel> =
        registry.language_model_with(&format!("{id}:m").parse().unwrap(), settings).await.unwrap();
    let mut answer = model.stream(Request::new([Message::user("Hi")]), CallContext::new());
    while answer.next().await.is_some() {}
    let call = transport.calls().pop().unwrap();
    let keys = call.headers.iter().filter(|(_, value)| value.to_str().unwrap_or_default().contains("KEY"));
    let keys = keys.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
    (call.url.split('?').next().unwrap_or_default().to_owned(), keys.collect())
}

macro_rules! call_of {
    ($id:literal, $settings:ty $(, $field:ident)?) => {{
        let transport = MemoryTransport::new().repeat(MemoryReply::json(StatusCode::BAD_REQUEST, "{}"));
        let mut settings = <$settings>::default();
        settings.api_key = Some(ApiKey::new("KEY").unwrap().into());
        settings.transport = Some(SharedTransport(Arc::new(transport.clone())));
        settings.headers.0.insert("x-team".to_owned(), "KEY-TEAM".to_owned());
        $(settings.$field = Some("res".to_owned());)?
        first_call($id, GivenSettings::typed(settings), &transport).await
    }};
}

/// [AC-187]
#[tokio::test]
async fn every_id_reaches_the_api_it_names() {
    let bearer = ["authorization: Bearer KEY", "x-team: KEY-TEAM"];
    let calls = [
        (call_of!("openai", OpenAiSettings), "https://api.openai.com/v1/responses", &bearer[..]),
        (call_of!("openai-chat", OpenAiSettings), "https://api.openai.com/v1/chat/completions", &bearer),
        (call_of!("xai", CompatibleSettings), "https://api.x.ai/v1/chat/completions", &bearer),
        (call_of!("xai-responses", CompatibleSettings), "https://api.x.ai/v1/responses", &bearer),
        (call_of!("deepseek", CompatibleSettings), "https://api.deepseek.com/chat/completions", &bearer),
        (
            call_of!("openrouter", CompatibleSettings),
            "https://openrouter.ai/api/v1/chat/completions",
            &bearer,
        ),
        (call_of!("groq", CompatibleSettings), "https://api.groq.com/openai/v1/chat/completions", &bearer),
        (call_of!("mistral", CompatibleSettings), "https://api.mistral.ai/v1/chat/completions", &bearer),
        (
            call_of!("azure", AzureSettings, resource_name),
            "https://res.openai.azure.com/openai/v1/chat/completions",
            &["api-key: KEY", "x-team: KEY-TEAM"],
        ),
        (
            call_of!("azure-responses", AzureSettings, resource_name),
            "https://res.openai.azure.com/openai/v1/responses",
            &["api-key: KEY", "x-team: KEY-TEAM"],
        ),
        (
            call_of!("azure-anthropic", AzureSettings, resource_name),
            "https://res.services.ai.azure.com/anthropic/v1/messages",
            &["x-api-key: KEY", "x-team: KEY-TEAM"],
        ),
        (
            call_of!("anthropic", AnthropicSettings),
            "https://api.anthropic.com/v1/messages",
            &["x-api-key: KEY", "x-team: KEY-TEAM"],
        ),
        (
            call_of!("gemini", GoogleSettings),
            "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent",
            &["x-goog-api-key: KEY", "x-team: KEY-TEAM"],
        ),
    ];
    for ((url, mut keys), expected, headers) in calls {
        keys.sort();
        assert_eq!(
            (url.as_str(), keys.iter().map(String::as_str).collect::<Vec<_>>()),
            (expected, headers.to_vec())
        );
    }
}
