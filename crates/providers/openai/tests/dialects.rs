//! What differs from server to server and model to model: places, keys, what is known, quirks.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod support;

use std::sync::Arc;

use ai_http::{CallInfo, Codec, Endpoint, IdSeed};
use ai_openai::{ChatCodec, Dialect, KeyForm, ModelSetup, OpenAi, OpenAiBuilder, SystemRole};
use ai_provider::{
    ApiKey, CallContext, Capabilities, Delivery, ErrorClass, FileData, FilePart, FunctionTool,
    LanguageModelExt, Message, Provider, Request, RequestId, ResponseFormat, StructuredOutput, TargetId,
    ToolChoice, ToolDefinition, UserMessage, UserPart,
};
use ai_testkit::{Cut, MemoryReply, MemoryTransport};
use serde_json::{Value, json};
use support::history::{assistant, call, messages, result, said};
use support::{DONE, ch, decoded, dialect, encoded, fin, reasoning, run, text};

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

fn hi() -> Request {
    Request::new([Message::user("Hi")])
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

/// [OA-126]
#[test]
fn a_choice_a_server_passes_over_is_an_error() {
    let tool = ToolDefinition::Function(FunctionTool::new("f", "", json!({"type": "object"})));
    let mut request = hi().with_tools([tool]);
    for (name, choice, wire) in [
        ("ollama", ToolChoice::Required, None),
        ("ollama", ToolChoice::Tool { name: "f".into() }, None),
        ("ollama", ToolChoice::Auto, Some(Value::Null)),
        ("lmstudio", ToolChoice::Tool { name: "f".into() }, Some(json!("required"))),
        ("vllm", ToolChoice::Required, Some(json!("required"))),
        ("openrouter", ToolChoice::Required, Some(json!("required"))),
    ] {
        request.tool_choice = choice;
        match (encoded(&dialect(name), "m", &request), wire) {
            (Ok((body, _)), Some(wire)) => {
                assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["tool_choice"], wire, "{name}");
            }
            (Err(error), None) => assert_eq!(error.class(), ErrorClass::Unsupported),
            (outcome, _) => panic!("{name}: {outcome:?}"),
        }
    }
}

/// [OA-126]
#[test]
fn json_without_a_schema_is_asked_in_words_where_there_is_no_other_way() {
    let mut request = hi();
    request.response_format = ResponseFormat::Json { schema: None, name: None, description: None };
    for (name, object) in [("lmstudio", false), ("perplexity", false), ("ollama", true), ("openrouter", true)]
    {
        let (body, warnings) = encoded(&dialect(name), "m", &request).unwrap();
        assert_eq!(body.contains("json_object"), object, "{body}");
        assert_eq!(
            (body.contains("Answer with one JSON object"), warnings.is_empty()),
            (!object, object),
            "{name}"
        );
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

/// [OA-128]
#[tokio::test]
async fn reasoning_between_tags_is_told_from_text_whatever_the_cuts() {
    let chars = |text: &str| -> Vec<String> { text.chars().map(String::from).collect() };
    for (pieces, expected_reasoning, expected_text) in [
        (
            vec!["<thi".into(), "nk>plan</th".into(), "ink>Answer: a <".into(), " b".into()],
            "plan",
            "Answer: a < b",
        ),
        (chars("<think>\n\nplan a<b</think>\n\nAnswer: a < b"), "plan a<b", "Answer: a < b"),
        (chars("a <thin b <think>x</think> c<think>y</think>"), "xy", "a <thin b c"),
        (vec!["x</think>y<".into()], "", "x</think>y<"),
        (vec!["<think>cut off</thi".into()], "cut off</thi", ""),
        (vec!["<think></think>".into(), "  \n".into(), " é".into()], "", "é"),
        (chars("北<think>🙂</think>京"), "🙂", "北京"),
    ] {
        let deltas: String = pieces.iter().map(|piece| ch(&json!({"content": piece}).to_string())).collect();
        let body = deltas + &fin("\"stop\"") + DONE;
        let mut tagged = dialect("generic");
        tagged.reasoning_tag = Some("think".into());
        for cut in [Cut::Whole, Cut::Every(1)] {
            let (parts, error) = decoded(tagged.clone(), Delivery::Stream, body.clone(), cut).await;
            assert_eq!(error, None);
            assert_eq!(
                (reasoning(&parts).as_str(), text(&parts).as_str()),
                (expected_reasoning, expected_text),
                "{pieces:?}"
            );
        }
        let whole = json!({"choices": [{"message": {"content": pieces.concat()}, "finish_reason": "stop"}]});
        let (parts, _) = decoded(tagged, Delivery::Whole, whole.to_string(), Cut::Whole).await;
        assert_eq!((reasoning(&parts).as_str(), text(&parts).as_str()), (expected_reasoning, expected_text));
        // Elsewhere tags are text like any other.
        let (parts, _) = decoded(dialect("generic"), Delivery::Stream, body, Cut::Whole).await;
        assert_eq!((reasoning(&parts).as_str(), text(&parts)), ("", pieces.concat()));
    }
}

/// [OA-128]
#[tokio::test]
async fn a_held_beginning_of_a_tag_comes_out_before_a_call() {
    let body = ch(r#"{"content":"a <"}"#)
        + &support::tc(r#"{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}"#)
        + &fin("\"tool_calls\"")
        + DONE;
    let mut tagged = dialect("generic");
    tagged.reasoning_tag = Some("think".into());
    let (parts, error) = run(tagged, Delivery::Stream, MemoryReply::sse(body)).await;
    assert!(error.is_none());
    assert_eq!((text(&parts).as_str(), support::calls(&parts).len()), ("a <", 1));
}

/// [OA-129]
#[tokio::test]
async fn xai_repeats_reasoning_and_the_text_a_request_ends_with() {
    let body = ch(r#"{"reasoning_content":"hm"}"#)
        + &ch(r#"{"reasoning_content":"hm"}"#)
        + &ch(r#"{"reasoning_content":"so"}"#)
        + &ch(r#"{"reasoning_content":"hm"}"#)
        + &ch(r#"{"content":"Once upon"}"#)
        + &ch(r#"{"content":" a"}"#)
        + &ch(r#"{"content":" a"}"#)
        + &fin("\"stop\"")
        + DONE;
    for (name, expected_reasoning, expected_text) in
        [("xai", "hmsohm", " a a"), ("generic", "hmhmsohm", "Once upon a a")]
    {
        let transport = MemoryTransport::new().reply(MemoryReply::sse(body.clone()));
        let model = support::model(dialect(name), transport);
        let history = [Message::user("Tell"), assistant([said("Once "), said("upon")])];
        let (parts, error) =
            ai_testkit::collect(model.stream(Request::new(history), CallContext::new())).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(
            (reasoning(&parts).as_str(), text(&parts).as_str()),
            (expected_reasoning, expected_text),
            "{name}"
        );
    }
}

/// [OA-131]
#[tokio::test]
async fn reasoning_in_its_makers_own_form_goes_back_as_it_came() {
    let piece = |text: &str, details: Value| {
        ch(&json!({"content": "", "reasoning": text, "reasoning_details": details}).to_string())
    };
    let summary =
        |text: &str| json!([{"type": "reasoning.summary", "summary": text, "format": "f", "index": 0}]);
    let sealed =
        json!({"type": "reasoning.encrypted", "data": "E1", "id": "rs_1", "format": "f", "index": 0});
    let late = json!({"type": "reasoning.encrypted", "data": "E2", "id": "rs_2", "format": "f", "index": 1});
    let body = piece("pl", summary("pl"))
        + &piece("an", summary("an"))
        + &piece("", json!([{"type": "reasoning.text", "text": "t", "index": 0}]))
        + &piece("", json!([{"type": "reasoning.text", "text": "u", "signature": null, "index": 0}]))
        + &piece("", json!([{"type": "reasoning.text", "signature": "S", "index": 0}]))
        + &piece("", json!([sealed]))
        + &piece("", json!([]))
        + &ch(&json!({"content": "On it."}).to_string())
        + &ch(&json!({"reasoning_details": [late]}).to_string())
        + &support::tc(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#)
        + &fin("\"tool_calls\"")
        + DONE;
    let expected = json!([
        {"type": "reasoning.summary", "summary": "plan", "format": "f", "index": 0},
        {"type": "reasoning.text", "text": "tu", "signature": "S", "index": 0},
        sealed,
        late,
    ]);
    let model =
        support::model(dialect("openrouter"), MemoryTransport::new().reply(MemoryReply::sse(body.clone())));
    let (answer, error) = ai_testkit::fold(model.stream(hi(), CallContext::new())).await;
    assert!(error.is_none(), "{error:?}");
    let stored = serde_json::to_string(&answer.message).unwrap();
    let message: ai_provider::AssistantMessage = serde_json::from_str(&stored).unwrap();
    let history = || {
        Request::new([
            Message::user("Hi"),
            Message::Assistant(message.clone()),
            Message::tool([result("a", "1")]),
        ])
    };
    let sent = |model: &str, account: Option<&ai_provider::Account>| -> (Value, usize) {
        let target = TargetId::new("openrouter", model, support::ENDPOINT);
        let ids = IdSeed::new(&RequestId::from("r"));
        let info = CallInfo { target: &target, account, delivery: Delivery::Stream, ids };
        let codec = ChatCodec::new(dialect("openrouter"), Endpoint::base(support::ENDPOINT).unwrap());
        let (call, warnings) = codec.encode(&history(), &info).unwrap();
        (serde_json::from_slice::<Value>(&call.body).unwrap()["messages"][1].clone(), warnings.len())
    };
    let account = ApiKey::new("sk-secret-of-the-test").unwrap().account().clone();
    let (own, warnings) = sent("m", Some(&account));
    assert_eq!((&own["reasoning_details"], own.get("reasoning"), warnings), (&expected, None, 0));
    for (model, account) in [("other", Some(&account)), ("m", None)] {
        let (other, warnings) = sent(model, account);
        assert_eq!(
            (other.get("reasoning_details"), &other["reasoning"], warnings),
            (None, &json!("plan"), 1)
        );
    }
    // Elsewhere the field means nothing.
    let model = support::model(dialect("generic"), MemoryTransport::new().reply(MemoryReply::sse(body)));
    let (answer, error) = ai_testkit::fold(model.stream(hi(), CallContext::new())).await;
    assert!(error.is_none(), "{error:?}");
    assert!(!serde_json::to_string(&answer.message).unwrap().contains("encrypted"));
}

/// [OA-130]
#[test]
fn deepseek_v4_gets_a_field_for_reasoning_in_each_message_of_the_assistant() {
    let history = || {
        [
            Message::user("Hi"),
            assistant([call("a", "f", "{}")]),
            Message::tool([result("a", "1")]),
            assistant([said("done")]),
            Message::user("more"),
        ]
    };
    let (body, _) = encoded(&dialect("deepseek"), "deepseek-v4-pro", &Request::new(history())).unwrap();
    let body: Value = serde_json::from_str(&body).unwrap();
    let fields: Vec<_> = (0..5).map(|at| body["messages"][at].get("reasoning_content")).collect();
    assert_eq!(fields, [None, Some(&json!("")), None, Some(&json!("")), None]);
    let sent = messages("deepseek", history());
    assert!(!sent.to_string().contains("reasoning_content"), "{sent}");
}

/// [OA-126]
#[test]
fn names_of_the_table_are_told_apart() {
    let mut names: Vec<_> = Dialect::names().collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    for name in ["azure", "openrouter", "ollama", "vllm", "llama.cpp", "lmstudio", "generic"] {
        assert!(names.contains(&name), "{name}");
    }
}

/// [OA-132]
#[test]
fn instructions_have_the_role_the_row_says() {
    let sent = |system: SystemRole, model: &str| -> (Vec<Value>, usize) {
        let mut dialect = dialect("openai");
        dialect.system = system;
        let request = Request::new([Message::system("Be brief."), Message::user("Hi")]);
        let (body, warnings) = encoded(&dialect, model, &request).unwrap();
        let messages = serde_json::from_str::<Value>(&body).unwrap()["messages"].clone();
        (messages.as_array().unwrap().iter().map(|message| message["role"].clone()).collect(), warnings.len())
    };
    for (system, model, roles) in [
        (SystemRole::ByModel, "gpt-4.1", vec!["system", "user"]),
        (SystemRole::ByModel, "o3", vec!["developer", "user"]),
        (SystemRole::System, "o3", vec!["system", "user"]),
        (SystemRole::Developer, "gpt-4.1", vec!["developer", "user"]),
        (SystemRole::User, "gpt-4.1", vec!["user", "user"]),
        (SystemRole::Absent, "gpt-4.1", vec!["user"]),
    ] {
        let warned = usize::from(system == SystemRole::Absent);
        let roles = roles.into_iter().map(Value::from).collect::<Vec<_>>();
        assert_eq!(sent(system, model), (roles, warned), "{system:?} {model}");
    }
}

/// [OA-133]
#[test]
fn options_a_reasoning_model_refuses_are_left_out() {
    let mut request = hi();
    for option in ["logprobs", "top_logprobs", "logit_bias"] {
        request.options = request.options.with("openai", option, json!(1));
    }
    for (model, sent) in [("o3", 0), ("gpt-4.1", 3)] {
        let (body, warnings) = encoded(&dialect("openai"), model, &request).unwrap();
        let body: Value = serde_json::from_str(&body).unwrap();
        let found =
            ["logprobs", "top_logprobs", "logit_bias"].iter().filter(|key| body.get(**key).is_some()).count();
        assert_eq!((found, warnings.len()), (sent, 3 - sent), "{model}");
    }
    // The extra body is the caller's own affair.
    let (body, _) = encoded(&dialect("openai"), "o3", &hi().with_extra("logprobs", json!(true))).unwrap();
    assert!(body.contains("logprobs"));
}
