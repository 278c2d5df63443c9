//! Setting up a provider and calling through it.

use std::sync::Arc;

use ai_anthropic::{Anthropic, AnthropicBuilder};
use ai_provider::{
    ApiKey, CallContext, Capabilities, ErrorClass, FileData, FilePart, Keys, LanguageModelExt, Message,
    Provider, Request, StructuredOutput, UserMessage, UserPart,
};
use ai_testkit::{Cut, MemoryReply, MemoryTransport, WireReply, WireServer, fold};
use http::StatusCode;
use serde_json::json;

use crate::support::{end, start, text_block};

const ANSWER: &str = r#"{"type":"message","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}"#;

fn key(text: &str) -> ApiKey {
    ApiKey::new(text).unwrap()
}

fn offline() -> AnthropicBuilder {
    Anthropic::builder().transport(Arc::new(MemoryTransport::new()))
}

/// [AN-130]
#[tokio::test]
async fn a_call_goes_to_the_endpoint_with_key_and_headers() {
    for (builder, url) in [
        (Anthropic::builder(), "https://api.anthropic.com/v1/messages"),
        (Anthropic::builder().base_url("http://h:1/v2/"), "http://h:1/v2/messages"),
        (Anthropic::builder().base_url("http://h/v1/messages"), "http://h/v1/messages"),
        (Anthropic::builder().base_url("http://h/v1?beta=true"), "http://h/v1/messages?beta=true"),
        (Anthropic::builder().endpoint_url("http://h/models/x/raw"), "http://h/models/x/raw"),
    ] {
        let transport = MemoryTransport::new().reply(MemoryReply::ok(ANSWER));
        let provider = builder
            .keys(Arc::new(Keys::list([key("sk-1"), key("sk-2")])))
            .beta("one")
            .beta("two")
            .header("x-mine", "1")
            .transport(Arc::new(transport.clone()))
            .build()
            .unwrap();
        let model = provider.language_model("claude-sonnet-4-5").unwrap();
        let mut request = Request::new([Message::user("Hi")]);
        request.extra_headers = vec![("x-more".into(), Some("2".into())), ("x-mine".into(), None)];
        let answer = model.generate(request, CallContext::new().with_key_index(1)).await.unwrap();
        assert_eq!(answer.text(), "hi");
        let call = transport.calls().remove(0);
        assert_eq!(call.url, url);
        let header = |name: &str| call.headers.get(name).map(|value| value.to_str().unwrap());
        assert_eq!((header("x-api-key"), header("authorization")), (Some("sk-2"), None));
        assert_eq!(
            (header("anthropic-version"), header("anthropic-beta")),
            (Some("2023-06-01"), Some("one,two"))
        );
        assert_eq!(header("content-type"), Some("application/json"));
        assert_eq!((header("x-more"), header("x-mine")), (Some("2"), None));
        assert_eq!(model.keys().len(), 2);
    }
    let transport = MemoryTransport::new().reply(MemoryReply::ok(ANSWER));
    let provider = Anthropic::builder().api_key(key("sk-1")).bearer().version("2099-01-01");
    let provider = provider.transport(Arc::new(transport.clone())).build().unwrap();
    let model = provider.language_model("m").unwrap();
    model.generate(Request::new([Message::user("Hi")]), CallContext::new()).await.unwrap();
    let headers = transport.calls().remove(0).headers;
    assert_eq!(
        (&headers["authorization"], headers.get("x-api-key")),
        (&"Bearer sk-1".parse().unwrap(), None)
    );
    assert_eq!(headers["anthropic-version"], "2099-01-01");
}

/// [AN-131]
#[test]
fn a_provider_that_cannot_work_is_not_built() {
    for builder in [
        offline().base_url("localhost:8000"),
        offline().base_url("ftp://h/v1"),
        offline().endpoint_url("not a url"),
        offline().name(" "),
        offline().header("x-evil", "a\r\nb: c"),
        offline().header("x evil", "a"),
        offline().version("2023\r\nx: y"),
        offline().beta("a\nb"),
    ] {
        assert_eq!(builder.build().unwrap_err().class(), ErrorClass::InvalidRequest);
    }
    let provider = offline().name("mine").base_url("http://h/v1").build().unwrap();
    assert_eq!(provider.name(), "mine");
    for id in ["", "  ", "a\nb"] {
        assert_eq!(provider.language_model(id).unwrap_err().class(), ErrorClass::InvalidRequest);
    }
    let model = provider.language_model(" org/model:free ").unwrap();
    assert_eq!(model.target().to_string(), "mine:org/model:free");
    assert_eq!(model.target().endpoint, "http://h/v1");
}

/// [AN-132]
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

/// [AN-133]
#[tokio::test]
async fn models_have_the_capabilities_that_are_known_of_them() {
    let provider = offline().build().unwrap();
    let of = |id: &str| provider.language_model(id).unwrap().capabilities().clone();
    let newest = of("claude-opus-4-8");
    assert!(newest.reasoning && newest.tools && newest.parallel_tool_calls && newest.usage_in_stream);
    assert!(newest.input.image && newest.input.pdf && newest.tool_result.image && !newest.input.audio);
    assert_eq!(newest.structured_output, StructuredOutput::JsonSchema);
    assert_eq!((newest.context_window, newest.max_output_tokens), (Some(1_000_000), Some(128_000)));
    let old = of("claude-3-haiku-20240307");
    assert!(!old.reasoning && old.input.image && !old.input.pdf);
    assert_eq!((old.context_window, old.max_output_tokens), (Some(200_000), Some(4_096)));
    assert_eq!((of("claude-novel").max_output_tokens, of("kimi-k2").context_window), (None, None));

    let mut mine = Capabilities::default();
    mine.max_output_tokens = Some(777);
    let transport = MemoryTransport::new().reply(MemoryReply::ok(ANSWER));
    let provider = Anthropic::builder().capabilities(mine.clone()).transport(Arc::new(transport.clone()));
    let model = provider.build().unwrap().language_model("kimi-k2").unwrap();
    assert_eq!(*model.capabilities(), mine);
    model.generate(Request::new([Message::user("Hi")]), CallContext::new()).await.unwrap();
    let sent: serde_json::Value = serde_json::from_slice(&transport.calls()[0].body).unwrap();
    assert_eq!(sent["max_tokens"], 777);
    let parts = vec![UserPart::File(FilePart::new("image/png", FileData::bytes(&b"\x89PNG"[..])))];
    let request = Request::new([Message::User(UserMessage { parts, ..UserMessage::default() })]);
    let error = model.generate(request, CallContext::new()).await.unwrap_err();
    assert_eq!(error.error.class(), ErrorClass::Unsupported);
}

/// [AN-134]
#[tokio::test]
async fn the_models_of_an_endpoint_are_listed() {
    let page = |ids: &[&str], more: bool| {
        let data: Vec<_> =
            ids.iter().map(|id| json!({"id": id, "display_name": "D", "type": "model"})).collect();
        MemoryReply::ok(json!({"data": data, "has_more": more, "last_id": ids.last()}).to_string())
    };
    let transport = MemoryTransport::new()
        .reply(page(&["claude-opus-4-8", "claude-haiku-4-5"], true))
        .reply(page(&["claude-3-haiku-20240307"], false));
    let provider =
        Anthropic::builder().api_key(key("sk-1")).transport(Arc::new(transport.clone())).build().unwrap();
    let models = provider.list_models().await.unwrap();
    let ids: Vec<_> = models.iter().map(|model| model.id.as_str()).collect();
    assert_eq!(ids, ["claude-opus-4-8", "claude-haiku-4-5", "claude-3-haiku-20240307"]);
    assert_eq!(models[0].display_name.as_deref(), Some("D"));
    assert_eq!(models[2].capabilities.as_ref().unwrap().max_output_tokens, Some(4_096));
    let urls: Vec<_> = transport.calls().iter().map(|call| call.url.clone()).collect();
    assert_eq!(
        urls,
        [
            "https://api.anthropic.com/v1/models?limit=100",
            "https://api.anthropic.com/v1/models?limit=100&after_id=claude-haiku-4-5",
        ]
    );
    let call = transport.calls().remove(0);
    assert_eq!(
        (&call.headers["x-api-key"], &call.headers["anthropic-version"]),
        (&"sk-1".parse().unwrap(), &"2023-06-01".parse().unwrap())
    );

    let listed = async |reply: MemoryReply| {
        let transport = MemoryTransport::new().repeat(reply);
        let provider = Anthropic::builder().transport(Arc::new(transport.clone())).build().unwrap();
        let models = provider.list_models().await;
        (models.map(|models| models.len()).map_err(|error| error.class()), transport.calls().len())
    };
    // A server that always has more.
    assert_eq!(listed(page(&["a"], true)).await, (Ok(2), 2));
    for (body, count) in [
        (r#"{"object":"list","data":[{"id":"a"},{"id":""},5]}"#, 1),
        (r#"{"models":[{"name":"a"}]}"#, 1),
        (r#"[{"id":"a"}]"#, 1),
        (r#"{"data":[]}"#, 0),
    ] {
        assert_eq!(listed(MemoryReply::ok(body)).await, (Ok(count), 1), "{body}");
    }
    for (status, body, class) in [
        (200, "<html></html>", ErrorClass::Protocol),
        (200, r#"{"object":"list"}"#, ErrorClass::Protocol),
        (401, "", ErrorClass::Auth),
        (404, "", ErrorClass::NotFound),
    ] {
        let reply = MemoryReply::new(StatusCode::from_u16(status).unwrap(), body);
        assert_eq!(listed(reply).await.0, Err(class), "{status} {body}");
    }
    let one_url = offline().endpoint_url("http://h/messages").build().unwrap();
    assert_eq!(one_url.list_models().await.unwrap_err().class(), ErrorClass::Unsupported);
}

/// [AN-135]
#[tokio::test]
async fn a_real_server_is_called_over_a_socket() {
    let body = [start(), text_block(0, "Grüße "), text_block(1, "🙂"), end("end_turn")].concat();
    let server = WireServer::start(vec![WireReply::sse(body).cut(Cut::Every(7))]).unwrap();
    let provider = Anthropic::builder().base_url(server.url()).api_key(key("sk-1")).build().unwrap();
    let model = provider.language_model("claude-sonnet-4-5").unwrap();
    let (answer, error) = fold(model.stream(Request::new([Message::user("Hi")]), CallContext::new())).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(answer.message.text(), "Grüße 🙂");
    let request = server.requests().remove(0);
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/messages"));
    let sent: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(sent["messages"][0]["content"][0]["text"], "Hi");
}
