//! The provider: where calls go, and what is known of models.

use std::sync::Arc;

use ai_openai::{Api, Dialect, ModelSetup, OpenAi, ResponsesDialect};
use ai_provider::{
    ApiKey, CallContext, Capabilities, Message, Provider, Request, StructuredOutput, UnifiedFinish,
};
use ai_testkit::{MemoryReply, MemoryTransport, collect};
use serde_json::{Value, json};

use crate::support::{completed, created, done, events, finish, message};

async fn called(provider: OpenAi, transport: &MemoryTransport, model: &str) -> (String, Value) {
    let model = provider.language_model(model).unwrap();
    let (parts, error) = collect(model.stream(Request::new([Message::user("Hi")]), CallContext::new())).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(finish(&parts).reason.unified, UnifiedFinish::Stop);
    let call = transport.calls().pop().unwrap();
    (call.url, serde_json::from_slice(&call.body).unwrap())
}

fn transport() -> MemoryTransport {
    let body = events(&[created(), done(0, message("m", "Hi")), completed()]);
    MemoryTransport::new().repeat(MemoryReply::sse(body))
}

/// [OA-280]
#[tokio::test]
async fn calls_go_to_the_path_of_the_api() {
    for (builder, url) in [
        (OpenAi::builder().api(Api::Responses), "https://api.openai.com/v1/responses"),
        (
            OpenAi::builder().api(Api::Responses).base_url("http://host/v1/?a=b"),
            "http://host/v1/responses?a=b",
        ),
        (OpenAi::builder().api(Api::Responses).endpoint_url("http://host/mine"), "http://host/mine"),
        (
            OpenAi::builder().dialect(Dialect::by_name("xai").unwrap()).api(Api::Responses),
            "https://api.x.ai/v1/responses",
        ),
        (
            OpenAi::builder().responses(ResponsesDialect::by_name("lmstudio").unwrap()),
            "http://127.0.0.1:1234/v1/responses",
        ),
        (
            OpenAi::builder().responses(ResponsesDialect::generic("mine", "http://mine/v1")),
            "http://mine/v1/responses",
        ),
        (
            OpenAi::builder()
                .dialect(Dialect::by_name("azure").unwrap())
                .api(Api::Responses)
                .base_url("https://n.openai.azure.com/openai/v1"),
            "https://n.openai.azure.com/openai/v1/responses",
        ),
        (
            OpenAi::builder()
                .dialect(Dialect::by_name("azure-deployments").unwrap())
                .api(Api::Responses)
                .base_url("https://n.openai.azure.com/openai"),
            "https://n.openai.azure.com/openai/v1/responses",
        ),
    ] {
        let transport = transport();
        let key = ApiKey::new("sk-1").unwrap();
        let provider = builder.api_key(key).transport(Arc::new(transport.clone())).build().unwrap();
        assert_eq!(called(provider, &transport, "m").await.0, url);
    }
}

/// [OA-280]
#[tokio::test]
async fn azure_shows_its_key_in_its_own_header() {
    let transport = transport();
    let provider = OpenAi::builder()
        .responses(ResponsesDialect::by_name("azure").unwrap())
        .base_url("https://n.openai.azure.com/openai/v1")
        .api_key(ApiKey::new("k-1").unwrap())
        .transport(Arc::new(transport.clone()))
        .build()
        .unwrap();
    assert_eq!(provider.name(), "azure");
    called(provider, &transport, "m").await;
    let headers = transport.calls().pop().unwrap().headers;
    assert_eq!(headers.get("api-key").unwrap(), "k-1");
    assert_eq!(headers.get("authorization"), None);
}

/// [OA-281]
#[test]
fn a_model_can_do_what_is_known_of_it_or_was_set() {
    let build = |dialect: ResponsesDialect| OpenAi::builder().responses(dialect).base_url("http://h/v1");
    let openai = || ResponsesDialect::by_name("openai").unwrap();
    let can =
        |model: &str| build(openai()).build().unwrap().language_model(model).unwrap().capabilities().clone();
    let gpt = can("gpt-4.1-mini");
    assert_eq!((gpt.context_window, gpt.reasoning, gpt.input.image), (Some(1_047_576), false, true));
    assert_eq!(gpt.structured_output, StructuredOutput::JsonSchema);
    assert!(can("gpt-5").reasoning && can("ft:o3:mine").reasoning && !can("gpt-5-chat-latest").reasoning);
    for name in ResponsesDialect::names() {
        let dialect = ResponsesDialect::by_name(name).unwrap();
        assert_eq!(dialect.name, name);
        let provider = build(dialect.clone()).build().unwrap();
        let model = provider.language_model("of-the-future").unwrap();
        assert_eq!(*model.capabilities(), dialect.capabilities, "{name}");
        assert!(!model.capabilities().input.audio && !model.capabilities().input.video);
    }
    let blind = Capabilities::default();
    let provider =
        build(openai()).model("gpt-5", ModelSetup::new().capabilities(blind.clone())).build().unwrap();
    assert_eq!(*provider.language_model("gpt-5").unwrap().capabilities(), blind);
    assert!(provider.language_model("gpt-5.1").unwrap().capabilities().input.image);
}

/// [OA-282]
#[tokio::test]
async fn fields_of_the_provider_and_of_the_model_go_into_every_body() {
    let transport = transport();
    let provider = OpenAi::builder()
        .api(Api::Responses)
        .api_key(ApiKey::new("sk-1").unwrap())
        .extra_body("service_tier", json!("flex"))
        .extra_body("store", json!(true))
        .model("m", ModelSetup::new().extra_body("store", json!(false)))
        .transport(Arc::new(transport.clone()))
        .build()
        .unwrap();
    let (_, body) = called(provider, &transport, "m").await;
    assert_eq!((&body["service_tier"], &body["store"]), (&json!("flex"), &json!(false)));
}

/// [OA-283]
#[tokio::test]
async fn the_id_of_a_model_reaches_nothing_but_its_field() {
    let transport = transport();
    let provider = OpenAi::builder()
        .api(Api::Responses)
        .api_key(ApiKey::new("sk-1").unwrap())
        .transport(Arc::new(transport.clone()))
        .build()
        .unwrap();
    for bad in ["", " ", "a\r\nx-evil: 1"] {
        assert!(provider.language_model(bad).is_err());
    }
    let (url, body) = called(provider, &transport, "a/../b?x=1").await;
    assert_eq!((url.as_str(), &body["model"]), ("https://api.openai.com/v1/responses", &json!("a/../b?x=1")));
}
