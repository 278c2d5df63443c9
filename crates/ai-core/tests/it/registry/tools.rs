use ai_core::{NoSettings, ProviderExtension, Registry, ToolCapability, ToolPatch, Variant};
use ai_provider::ProviderOptions;
use serde_json::json;

use super::Named;
use ToolCapability::{CodeExecution, FileSearch, UrlContext, WebSearch};

fn registry() -> Registry {
    let extension = |name: &'static str| {
        ProviderExtension::new(name, move |NoSettings {}| async move {
            assert_ne!(name, "google", "no provider has to be made to look up a tool");
            Ok(Named(name))
        })
    };
    let options = ProviderOptions::default().with("google", "grounding", json!(true));
    let google = extension("google")
        .alias("gemini")
        .tool(WebSearch, ToolPatch::tool("google.google_search", "google_search").with_options(options))
        .tool(UrlContext, ToolPatch::tool("google.url_context", "url_context"))
        .variant(Variant::new("lite").tool(WebSearch, ToolPatch::tool("google.lite", "lite")));
    let xai = extension("xai").variant(Variant::new("responses").tool(
        WebSearch,
        ToolPatch::tool("xai.web_search", "web_search").and_tool("xai.x_search", "x_search"),
    ));
    Registry::new()
        .with_extension(google)
        .and_then(|registry| registry.with_extension(xai))
        .and_then(|registry| registry.with_extension(extension("hub")))
        .unwrap()
}

fn names(patch: Option<&ToolPatch>) -> Vec<&str> {
    patch.map(|patch| patch.tools.iter().map(|tool| tool.name.as_str()).collect()).unwrap_or_default()
}

/// [AC-128]
#[test]
fn a_variant_offers_its_own_tools_before_those_of_its_base() {
    let registry = registry();
    for (id, capability, expected) in [
        ("google", WebSearch, &["google_search"][..]),
        ("gemini", WebSearch, &["google_search"]),
        ("google-lite", WebSearch, &["lite"]),
        ("google-lite", UrlContext, &["url_context"]),
        ("google", FileSearch, &[]),
        ("google-lite", CodeExecution, &[]),
        ("xai", WebSearch, &[]),
        ("xai-responses", WebSearch, &["web_search", "x_search"]),
        ("unknown", WebSearch, &[]),
    ] {
        assert_eq!(names(registry.tool(id, capability, None)), expected, "{id} {capability}");
    }
    let options = &registry.tool("google", WebSearch, None).unwrap().options;
    assert_eq!(options.get("google").unwrap()["grounding"], json!(true));
}

/// [AC-129]
#[test]
fn behind_an_aggregator_the_last_known_segment_counts() {
    let registry = registry();
    for (id, provider, expected) in [
        ("hub", Some("hub.google"), &["google_search"][..]),
        ("hub", Some("hub.gemini"), &["google_search"]),
        ("hub", Some("google.xai-responses"), &["web_search", "x_search"]),
        ("hub", Some("google.xai"), &["google_search"]),
        ("hub", Some("google.unknown"), &["google_search"]),
        ("hub", Some("hub.unknown"), &[]),
        ("hub", None, &[]),
        ("unknown", Some("google"), &["google_search"]),
        ("google-lite", Some("hub.xai-responses"), &["lite"]),
    ] {
        assert_eq!(names(registry.tool(id, WebSearch, provider)), expected, "{id} {provider:?}");
    }
}
