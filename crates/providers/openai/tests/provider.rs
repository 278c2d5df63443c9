//! Setting up a provider and calling through it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod support;

use std::sync::Arc;

use ai_openai::{Dialect, OpenAi, OpenAiBuilder};
use ai_provider::{ApiKey, CallContext, ErrorClass, Keys, LanguageModelExt, Message, Provider, Request};
use ai_testkit::{Cut, MemoryReply, MemoryTransport, WireReply, WireServer, fold};
use http::StatusCode;
use support::{DONE, ch, data, fin};

const ANSWER: &str = r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#;

fn key(text: &str) -> ApiKey {
    ApiKey::new(text).unwrap()
}

fn offline() -> OpenAiBuilder {
    OpenAi::builder().transport(Arc::new(MemoryTransport::new()))
}

/// [OA-100]
#[tokio::test]
async fn a_call_goes_to_the_endpoint_with_key_and_headers() {
    for (builder, url) in [
        (OpenAi::builder(), "https://api.openai.com/v1/chat/completions"),
        (OpenAi::builder().base_url("http://h:1/v2/"), "http://h:1/v2/chat/completions"),
        (OpenAi::builder().base_url("http://h/v1/chat/completions"), "http://h/v1/chat/completions"),
        (
            OpenAi::builder().base_url("http://h/v1?api-version=3"),
            "http://h/v1/chat/completions?api-version=3",
        ),
        (OpenAi::builder().endpoint_url("http://h/deployments/x/chat"), "http://h/deployments/x/chat"),
        (
            OpenAi::builder().dialect(Dialect::by_name("groq").unwrap()),
            "https://api.groq.com/openai/v1/chat/completions",
        ),
    ] {
        let transport = MemoryTransport::new().reply(MemoryReply::ok(ANSWER));
        let provider = builder
            .keys(Arc::new(Keys::list([key("sk-1"), key("sk-2")])))
            .organization("org")
            .project("proj")
            .header("x-mine", "1")
            .transport(Arc::new(transport.clone()))
            .build()
            .unwrap();
        let model = provider.language_model("m").unwrap();
        let mut request = Request::new([Message::user("Hi")]);
        request.extra_headers = vec![("x-more".into(), Some("2".into())), ("x-mine".into(), None)];
        let answer = model.generate(request, CallContext::new().with_key_index(1)).await.unwrap();
        assert_eq!(answer.text(), "hi");
        let call = transport.calls().remove(0);
        assert_eq!(call.url, url);
        let header = |name: &str| call.headers.get(name).map(|value| value.to_str().unwrap());
        assert_eq!(header("authorization"), Some("Bearer sk-2"));
        assert_eq!(header("content-type"), Some("application/json"));
        assert_eq!(header("openai-organization"), Some("org"));
        assert_eq!(header("openai-project"), Some("proj"));
        assert_eq!((header("x-more"), header("x-mine")), (Some("2"), None));
        assert_eq!(model.keys().len(), 2);
    }
}

/// [OA-101]
#[test]
fn a_provider_that_cannot_work_is_not_built() {
    let generic = || Dialect::by_name("generic").unwrap();
    for builder in [
        offline().base_url("localhost:8000"),
        offline().base_url("ftp://h/v1"),
        offline().endpoint_url("not a url"),
        offline().dialect(generic()),
        offline().name(" "),
        offline().header("x-evil", "a\r\nb: c"),
        offline().header("x evil", "a"),
    ] {
        let error = builder.build().unwrap_err();
        assert_eq!(error.class(), ErrorClass::InvalidRequest, "{error}");
    }
    let provider = offline().dialect(generic()).base_url("http://h/v1").name("mine").build().unwrap();
    assert_eq!(provider.name(), "mine");
    for id in ["", "  ", "a\nb"] {
        assert_eq!(provider.language_model(id).unwrap_err().class(), ErrorClass::InvalidRequest);
    }
    let model = provider.language_model(" org/model:free ").unwrap();
    assert_eq!(model.target().to_string(), "mine:org/model:free");
    assert_eq!(model.target().endpoint, "http://h/v1");
}

/// [OA-102]
#[test]
fn no_secret_is_shown() {
    let builder = offline()
        .api_key(key("sk-CANARY"))
        .header("x-token", "CANARY")
        .base_url("http://me:CANARY@h/v1?key=CANARY");
    assert!(!format!("{builder:?}").contains("CANARY"));
    let provider = builder.build().unwrap();
    let model = provider.language_model("m").unwrap();
    let shown = format!("{provider:?} {provider:#?} {model:?} {:?}", model.target());
    assert!(!shown.contains("CANARY"), "{shown}");
}

/// [OA-103]
#[test]
fn every_row_of_the_table_makes_a_provider() {
    for name in Dialect::names() {
        let dialect = Dialect::by_name(name).unwrap();
        assert_eq!(dialect.name, name);
        let provider = offline().dialect(dialect).base_url("http://h/v1").build().unwrap();
        let model = provider.language_model("m").unwrap();
        assert_eq!(model.capabilities().tools, name != "perplexity", "{name}");
        assert_eq!(model.capabilities().tool_result, model.capabilities().input, "{name}");
    }
    assert_eq!(Dialect::by_name("nobody"), None);
    let openai = offline().build().unwrap();
    let reasons = |id: &str| openai.language_model(id).unwrap().capabilities().reasoning;
    assert!(reasons("o3") && reasons("gpt-5-mini") && !reasons("gpt-4.1") && !reasons("gpt-5-chat-latest"));
}

/// [OA-104]
#[tokio::test]
async fn the_models_of_an_endpoint_are_listed() {
    for (body, ids) in [
        (
            r#"{"object":"list","data":[{"id":"a","object":"model"},{"id":"b","display_name":"B"},{"id":""},5]}"#,
            vec!["a", "b"],
        ),
        (r#"[{"id":"a"}]"#, vec!["a"]),
        (r#"{"models":[{"name":"a"}]}"#, vec!["a"]),
        (r#"{"data":[]}"#, vec![]),
    ] {
        let transport = MemoryTransport::new().reply(MemoryReply::ok(body));
        let provider =
            OpenAi::builder().api_key(key("sk-1")).transport(Arc::new(transport.clone())).build().unwrap();
        let models = provider.list_models().await.unwrap();
        assert_eq!(models.iter().map(|model| model.id.as_str()).collect::<Vec<_>>(), ids, "{body}");
        let call = transport.calls().remove(0);
        assert_eq!((call.method.as_str(), call.url.as_str()), ("GET", "https://api.openai.com/v1/models"));
        assert_eq!(call.headers["authorization"], "Bearer sk-1");
    }
    for (status, body, class) in [
        (200, "<html></html>", ErrorClass::Protocol),
        (200, r#"{"object":"list"}"#, ErrorClass::Protocol),
        (200, r#"{"error":{"message":"m","code":"invalid_api_key"}}"#, ErrorClass::Auth),
        (401, "", ErrorClass::Auth),
        (404, "", ErrorClass::NotFound),
    ] {
        let reply = MemoryReply::new(StatusCode::from_u16(status).unwrap(), body);
        let transport = MemoryTransport::new().reply(reply);
        let provider = OpenAi::builder().transport(Arc::new(transport)).build().unwrap();
        assert_eq!(provider.list_models().await.unwrap_err().class(), class, "{status} {body}");
    }
    let one_url = offline().endpoint_url("http://h/chat").build().unwrap();
    assert_eq!(one_url.list_models().await.unwrap_err().class(), ErrorClass::Unsupported);
}

/// [OA-105]
#[tokio::test]
async fn a_real_server_is_called_over_a_socket() {
    let body =
        [ch(r#"{"content":"Grüße "}"#), ch(r#"{"content":"🙂"}"#), fin(r#""stop""#), data("{}"), DONE.into()];
    let server = WireServer::start(vec![WireReply::sse(body.concat()).cut(Cut::Every(7))]).unwrap();
    let provider = OpenAi::builder().base_url(server.url()).api_key(key("sk-1")).build().unwrap();
    let model = provider.language_model("m").unwrap();
    let (answer, error) = fold(model.stream(Request::new([Message::user("Hi")]), CallContext::new())).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(answer.message.text(), "Grüße 🙂");
    let request = server.requests().remove(0);
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/chat/completions"));
    let sent: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(sent["messages"][0]["content"], "Hi");
}
