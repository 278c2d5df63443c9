use std::sync::Arc;

use ai::builtin::{
    AnthropicSettings, AzureSettings, Groq, OpenAi, OpenAiChat, OpenAiCompatibleSettings, OpenAiSettings,
    SecretKeys, SharedTransport,
};
use ai::provider::{ApiKey, KeySource, Keys};
use ai::{ErrorKind, GivenSettings, Registry, builtin};
use ai_testkit::MemoryTransport;
use serde_json::{Value, json};

fn transport() -> SharedTransport {
    SharedTransport(Arc::new(MemoryTransport::new()))
}

fn openai(transport: &SharedTransport) -> OpenAiSettings {
    let mut settings = OpenAiSettings::default();
    settings.api_key = Some(ApiKey::new("sk-CANARY").unwrap().into());
    settings.transport = Some(transport.clone());
    settings
}

async fn provider(registry: &Registry, settings: OpenAiSettings) -> Arc<dyn ai::provider::Provider> {
    registry.provider_with("openai", GivenSettings::typed(settings)).await.unwrap()
}

/// [AC-182]
#[tokio::test]
async fn the_same_transport_is_the_same_provider_and_another_is_not() {
    let registry = builtin().unwrap();
    let (one, two) = (transport(), transport());
    let first = provider(&registry, openai(&one)).await;
    assert!(Arc::ptr_eq(&first, &provider(&registry, openai(&one)).await));
    assert!(!Arc::ptr_eq(&first, &provider(&registry, openai(&two)).await));
    let mut other = openai(&one);
    other.api_key = Some(ApiKey::new("sk-other").unwrap().into());
    assert!(!Arc::ptr_eq(&first, &provider(&registry, other).await));
    let mut other = openai(&one);
    other.base_url = Some("http://localhost:1/v1".to_owned());
    assert!(!Arc::ptr_eq(&first, &provider(&registry, other).await));
}

/// [AC-183]
#[test]
fn keys_are_one_text_or_a_list_and_never_shown() {
    for (json, labels) in [
        (json!("sk-CANARY"), &["key"][..]),
        (json!("sk-CANARY, sk-b"), &["key-1", "key-2"]),
        (json!(["sk-CANARY", "sk-b"]), &["key-1", "key-2"]),
        (
            json!([{"key": "sk-CANARY", "label": "team"}, "sk-b", {"key": "sk-c"}]),
            &["team", "key-2", "key-3"],
        ),
        (json!(false), &[]),
    ] {
        let keys: SecretKeys = serde_json::from_value(json).unwrap();
        assert_eq!(keys.0.labels().iter().map(|label| label.as_str()).collect::<Vec<_>>(), labels);
    }
    for bad in [
        json!(""),
        json!([]),
        json!(["sk-CANARY", " "]),
        json!(7),
        json!({"k": "sk-CANARY"}),
        json!([1]),
        json!([{"label": "sk-CANARY"}]),
        json!([{"key": "sk-b", "lable": "sk-CANARY"}]),
        json!([{"key": " ", "label": "sk-CANARY"}]),
        json!(true),
        Value::Null,
    ] {
        let error = serde_json::from_value::<SecretKeys>(bad.clone()).unwrap_err().to_string();
        assert!(!error.contains("CANARY"), "{error}");
    }
    let mut settings = openai(&transport());
    settings.base_url = Some("https://user:CANARY@host/v1".to_owned());
    settings.headers.0.insert("x-token".to_owned(), "CANARY".to_owned());
    let shown = format!("{settings:?}");
    assert!(shown.contains("x-token") && !shown.contains("CANARY"), "{shown}");
}

/// [AC-183]
#[tokio::test]
async fn settings_that_cannot_be_read_are_named_without_their_keys() {
    let registry = builtin().unwrap();
    for (id, settings, says) in [
        (
            "openai",
            json!({"apiKey": {"sk-CANARY": 1}}),
            "at `apiKey`: expected a key, a list of keys or `false`",
        ),
        ("claude", json!({"betas": "sk-CANARY"}), "at `betas`: expected a sequence"),
        ("google", json!({"apikey": "sk-CANARY"}), "unknown field `apikey`"),
        ("openai", json!({"transport": "sk-CANARY"}), "unknown field `transport`"),
        ("openai", json!({"apiKey": "sk-CANARY\n1"}), "not visible ASCII"),
    ] {
        let error = registry.provider_with(id, settings).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidSettings);
        let said = format!("{error} {error:?}");
        assert!(said.contains(says) && !said.contains("CANARY"), "{said}");
    }
}

/// [AC-184]
#[tokio::test]
async fn servers_without_a_usual_place_must_say_where_they_are() {
    let registry = builtin().unwrap();
    for (id, settings, says) in [
        ("openai-compatible", json!({}), "`name` is missing"),
        ("openai-compatible", json!({"name": "mine"}), "`baseUrl` is missing: say where `mine` is"),
        (
            "openai-compatible",
            json!({"name": "mine", "baseUrl": "http://localhost", "dialect": "x"}),
            "`dialect` is none",
        ),
        ("azure", json!({"resourceName": "evil.example/"}), "letters, digits and hyphens"),
        ("azure", json!({"resourceName": ""}), "letters, digits and hyphens"),
    ] {
        let error = registry.provider_with(id, settings).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ProviderCreation);
        assert!(error.to_string().contains(says), "{error}");
    }
    for (id, settings, endpoint) in [
        (
            "openai-compatible",
            json!({"name": "mine", "baseUrl": "http://localhost:1/v1"}),
            "http://localhost:1/v1",
        ),
        ("azure", json!({"resourceName": "res"}), "https://res.openai.azure.com/openai/v1"),
        ("azure-responses", json!({"resourceName": "res"}), "https://res.openai.azure.com/openai/v1"),
        (
            "azure",
            json!({"resourceName": "res", "deploymentUrls": true}),
            "https://res.openai.azure.com/openai",
        ),
        ("azure-anthropic", json!({"resourceName": "res"}), "https://res.services.ai.azure.com/anthropic/v1"),
        ("azure-anthropic", json!({"baseUrl": "https://gate/x/"}), "https://gate/x/anthropic/v1"),
        ("azure", json!({"baseUrl": "https://gate/x"}), "https://gate/x"),
    ] {
        let provider = registry.provider_with(id, settings).await.unwrap();
        assert_eq!(provider.language_model("m").unwrap().target().endpoint, endpoint, "{id}");
    }
    let provider = registry
        .provider_with("openai-compatible", json!({"name": "mine", "baseUrl": "http://localhost:1/v1"}))
        .await
        .unwrap();
    assert_eq!(provider.language_model("m").unwrap().target().to_string(), "mine:m");
}

/// [AC-185]
#[tokio::test]
async fn families_are_resolved_with_settings_the_compiler_knows() {
    let registry = builtin().unwrap();
    let one = transport();
    let model = registry.resolve::<OpenAi>(openai(&one), "gpt-5").await.unwrap();
    assert_eq!((model.target().to_string(), model.keys().len()), ("openai:gpt-5".to_owned(), 1));
    let chat = registry.resolve::<OpenAiChat>(openai(&one), "gpt-5").await.unwrap();
    assert_eq!(chat.target(), model.target());
    let groq = registry.resolve::<Groq>(Default::default(), "llama").await.unwrap();
    assert_eq!(groq.target().provider, "groq");

    let mut keys = AnthropicSettings::default();
    keys.auth_token = Some(SecretKeys(Keys::parse("t1,t2").unwrap()));
    let provider = registry.provider_with("claude", GivenSettings::typed(keys)).await.unwrap();
    assert_eq!(provider.language_model("claude-sonnet-4-5").unwrap().keys().len(), 2);
    let wrong = GivenSettings::typed(AzureSettings::default());
    assert_eq!(registry.provider_with("openai", wrong).await.unwrap_err().kind(), ErrorKind::InvalidSettings);
    let mut any = OpenAiCompatibleSettings::default();
    any.name = Some("mine".to_owned());
    any.endpoint_url = Some("http://localhost:1/all".to_owned());
    let provider = registry.provider_with("openai-compatible", GivenSettings::typed(any)).await.unwrap();
    assert_eq!(provider.name(), "mine");
}
