use ai::plugin::{Plugins, ProviderTools};
use ai::provider::{LanguageModel, LanguageModelExt, Message, Request, TargetId, ToolDefinition};
use ai::{Registry, ToolCapability, builtin, generate_text};
use ai_testkit::{Script, ScriptedModel};
use serde_json::json;
use std::sync::Arc;

/// [AC-180]
#[test]
fn the_built_in_ids_are_these() {
    let registry = builtin().unwrap();
    let names = [
        "alibaba",
        "anthropic",
        "azure",
        "deepseek",
        "google",
        "groq",
        "mistral",
        "moonshot",
        "ollama",
        "openai",
        "openai-compatible",
        "openrouter",
        "perplexity",
        "xai",
    ];
    assert_eq!(registry.names().collect::<Vec<_>>(), names);
    for (id, means) in [
        ("openai-response", "openai"),
        ("claude", "anthropic"),
        ("gemini", "google"),
        ("google-ai", "google"),
        ("google-gemini", "google"),
        ("azure-openai", "azure"),
        ("grok", "xai"),
        ("openai-chat", "openai-chat"),
        ("azure-responses", "azure-responses"),
        ("azure-anthropic", "azure-anthropic"),
        ("xai-responses", "xai-responses"),
    ] {
        assert_eq!(registry.id(id).unwrap().to_string(), means);
    }
    assert_eq!(registry.ids().count(), names.len() + 11);
    let mut registry = registry;
    let error = registry.register_all(ai::builtin::extensions()).unwrap_err();
    assert_eq!(error.kind(), ai::ErrorKind::IdCollision, "another set of them is not the same");
    assert!(Registry::new().names().next().is_none());
}

/// The one place that names the variables is that which the providers read.
///
/// [AC-180]
#[tokio::test]
async fn the_usual_variables_are_those_a_provider_asks_for() {
    let registry = builtin().unwrap();
    let mut told = 0;
    for name in registry.names().map(str::to_owned).collect::<Vec<_>>() {
        let variables = ai::builtin::key_variables(&name);
        if variables.iter().any(|variable| std::env::var_os(variable).is_some()) {
            continue;
        }
        let settings = match name.as_str() {
            "openai-compatible" => json!({"name": "mine", "baseUrl": "http://127.0.0.1:1/v1"}),
            _ => json!({"baseUrl": "http://127.0.0.1:1/v1"}),
        };
        let provider = registry.provider_with(&name, settings).await.unwrap();
        let model = provider.language_model("m").unwrap();
        let request = Request::new([Message::user("Hi")]);
        let error = model.generate(request, Default::default()).await.unwrap_err().to_string();
        match variables.first() {
            Some(first) => assert!(error.contains(first), "{name}: {error}"),
            None => assert!(!error.contains("environment variable"), "{name}: {error}"),
        }
        told += usize::from(!variables.is_empty());
    }
    assert!(told > 0, "every variable is set here");
}

/// [AC-181]
#[tokio::test]
async fn each_provider_offers_what_its_api_has() {
    use ToolCapability::{CodeExecution, FileSearch, UrlContext, WebSearch};
    let registry = builtin().unwrap();
    for (id, capability, tools) in [
        ("openai", WebSearch, &["openai.web_search"][..]),
        ("openai", FileSearch, &["openai.file_search"]),
        ("openai", CodeExecution, &["openai.code_interpreter"]),
        ("openai-chat", WebSearch, &[]),
        ("openai-chat", CodeExecution, &[]),
        ("anthropic", WebSearch, &["anthropic.web_search_20250305"]),
        ("claude", UrlContext, &["anthropic.web_fetch_20250910"]),
        ("azure-anthropic", WebSearch, &["anthropic.web_search_20250305"]),
        ("azure", WebSearch, &[]),
        ("azure-responses", WebSearch, &["openai.web_search_preview"]),
        ("gemini", WebSearch, &["google.google_search"]),
        ("google", UrlContext, &["google.url_context"]),
        ("xai", WebSearch, &[]),
        ("xai-responses", WebSearch, &["xai.web_search", "xai.x_search"]),
        ("groq", WebSearch, &["groq.browser_search"]),
        ("deepseek", WebSearch, &[]),
    ] {
        let patch = registry.tool(id, capability, None);
        let found = patch.map(|patch| patch.tools.iter().map(|tool| tool.id.as_str()).collect::<Vec<_>>());
        assert_eq!(found.unwrap_or_default(), tools, "{id} {capability}");
    }

    let model = ScriptedModel::new()
        .with_target(TargetId::new("hub.google", "m", "memory"))
        .repeat(Script::text_reply("ok"));
    let ready: Arc<dyn LanguageModel> = Arc::new(model.clone());
    let plugins = Plugins::new().with(ProviderTools::new(WebSearch));
    generate_text(&registry, ready, Request::new([Message::user("Hi")]))
        .with_plugins(&plugins)
        .await
        .unwrap();
    let sent = model.requests().pop().unwrap();
    assert!(matches!(&sent.tools[..], [ToolDefinition::Provider(tool)] if tool.id == "google.google_search"));
}
