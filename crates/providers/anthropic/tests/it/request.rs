//! What a request becomes, but for its history.

use ai_provider::{
    Delivery, ErrorClass, FunctionTool, Message, ProviderOptions, ReasoningEffort, Request, ToolChoice,
    ToolDefinition,
};
use serde_json::{Value, json};

use crate::support::{MODEL, betas, body, encoded, json as json_of, warned};

const OLD: &str = "claude-3-7-sonnet-20250219";
const NEWEST: &str = "claude-opus-4-8";

fn hi() -> Request {
    Request::new([Message::user("Hi")])
}

fn with(change: impl FnOnce(&mut Request)) -> Request {
    let mut request = hi();
    change(&mut request);
    request
}

fn reasoning(level: ReasoningEffort) -> Request {
    with(|request| request.settings.reasoning = level)
}

fn option(name: &str, value: Value) -> Request {
    with(|request| request.options = ProviderOptions::default().with("anthropic", name, value))
}

fn tool(name: &str) -> FunctionTool {
    FunctionTool::new(name, "d", json!({"type": "object", "properties": {"z": {}, "a": {}}}))
}

fn function(name: &str) -> ToolDefinition {
    ToolDefinition::Function(tool(name))
}

fn refused(id: &str, request: &Request) -> (ErrorClass, String) {
    let error = encoded(id, request).unwrap_err();
    (error.class(), error.message().to_owned())
}

/// [AN-70]
#[test]
fn a_plain_request_holds_what_it_must_and_nothing_else() {
    let (call, warnings) = encoded(MODEL, &hi()).unwrap();
    assert_eq!((call.method.as_str(), call.url.as_str()), ("POST", "http://localhost/v1/messages"));
    assert_eq!(call.headers["anthropic-version"], "2023-06-01");
    assert!(!call.headers.contains_key("anthropic-beta"));
    assert_eq!(warnings, []);
    let plain = json!({
        "model": MODEL, "max_tokens": 128_000, "stream": true,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
    });
    assert_eq!(json_of(&call), plain);
    let whole = body(MODEL, &with(|request| request.delivery = Delivery::Whole));
    assert!(whole.get("stream").is_none());
}

/// [AN-71]
#[test]
fn a_limit_is_always_sent_and_fits_the_model() {
    let limit = |id: &str, set: Option<u64>| {
        let (body, warnings) = warned(id, &with(|request| request.settings.max_output_tokens = set));
        (body["max_tokens"].as_u64().unwrap(), warnings.len())
    };
    for (id, most) in [
        ("claude-opus-4-8", 128_000),
        ("claude-fable-5", 128_000),
        ("claude-sonnet-4-5-20250929", 64_000),
        ("anthropic/claude-opus-4.5", 64_000),
        ("eu.anthropic.claude-haiku-4-5-20251001-v1:0", 64_000),
        ("claude-sonnet-4-20250514", 64_000),
        ("claude-opus-4-20250514", 32_000),
        ("claude-opus-4-1", 32_000),
        ("claude-3-5-haiku-latest", 8_192),
        ("claude-3-haiku-20240307", 4_096),
    ] {
        assert_eq!(limit(id, None), (most, 0), "{id}");
        assert_eq!(limit(id, Some(100)), (100, 0), "{id}");
        assert_eq!(limit(id, Some(1_000_000)), (most, 1), "{id}");
    }
    // A Claude nobody knows yet, and a model of another maker.
    assert_eq!(limit("claude-novel-9", None), (128_000, 1));
    assert_eq!(limit("claude-novel-9", Some(1_000_000)), (1_000_000, 0));
    assert_eq!(limit("kimi-k2", None), (4_096, 0));
    assert_eq!(limit("kimi-k2", Some(1_000_000)), (1_000_000, 0));
}

/// [AN-72]
#[test]
fn settings_the_api_has_not_are_left_out_with_a_warning() {
    let (body, warnings) = warned(
        MODEL,
        &with(|request| {
            request.settings.presence_penalty = Some(0.5);
            request.settings.frequency_penalty = Some(0.5);
            request.settings.seed = Some(7);
            request.settings.stop_sequences = vec!["END".into(), " \n".into()];
        }),
    );
    assert_eq!(body["stop_sequences"], json!(["END"]));
    assert_eq!(warnings.len(), 4, "{warnings:?}");
    let fields: Vec<_> = body.as_object().unwrap().keys().map(String::as_str).collect();
    let known = ["max_tokens", "messages", "model", "stop_sequences", "stream"];
    assert!(fields.iter().all(|field| known.contains(field)), "{fields:?}");
}

/// [AN-73]
#[test]
fn sampling_goes_as_far_as_the_model_takes_it() {
    let sampling = |id: &str, request: &Request| {
        let (body, warnings) = warned(id, request);
        let field = |name: &str| body.get(name).cloned().unwrap_or_default();
        ([field("temperature"), field("top_p"), field("top_k")], warnings.len())
    };
    let all = |level| {
        with(|request| {
            request.settings.temperature = Some(0.3);
            request.settings.top_p = Some(0.9);
            request.settings.top_k = Some(5);
            request.settings.reasoning = level;
        })
    };
    let default = ReasoningEffort::ProviderDefault;
    let nothing = [Value::Null, Value::Null, Value::Null];
    assert_eq!(sampling(OLD, &all(default)), ([json!(0.3), Value::Null, json!(5)], 1));
    assert_eq!(sampling(NEWEST, &all(default)), (nothing.clone(), 3));
    assert_eq!(sampling(OLD, &all(ReasoningEffort::Low)), (nothing.clone(), 3));
    assert_eq!(sampling(MODEL, &all(ReasoningEffort::Low)), (nothing.clone(), 3));
    assert_eq!(sampling(OLD, &all(ReasoningEffort::None)).1, 1);
    for (id, options) in [(OLD, json!({"type": "enabled"})), (MODEL, json!({"type": "adaptive"}))] {
        let mut request = all(default);
        request.options = ProviderOptions::default().with("anthropic", "thinking", options.clone());
        assert_eq!(sampling(id, &request).0, nothing);
        let mut request = all(default);
        request.extra_body.insert("thinking".into(), options);
        assert_eq!(sampling(id, &request).0, nothing);
    }
    let top_p = with(|request| request.settings.top_p = Some(0.9));
    assert_eq!(sampling(OLD, &top_p), ([Value::Null, json!(0.9), Value::Null], 0));
    for (asked, sent, warnings) in [(1.7, json!(1), 1), (-0.5, json!(0), 1), (1.0, json!(1.0), 0)] {
        let request = with(|request| request.settings.temperature = Some(asked));
        assert_eq!(sampling(OLD, &request), ([sent, Value::Null, Value::Null], warnings), "{asked}");
    }
}

/// [AN-74]
#[test]
fn a_setting_that_is_no_number_is_an_invalid_request() {
    for number in [f64::NAN, f64::INFINITY] {
        assert_eq!(
            refused(OLD, &with(|request| request.settings.temperature = Some(number))).0,
            ErrorClass::InvalidRequest
        );
        assert_eq!(
            refused(NEWEST, &with(|request| request.settings.top_p = Some(number))).0,
            ErrorClass::InvalidRequest
        );
    }
}

/// [AN-75]
#[test]
fn the_effort_is_said_in_the_models_terms() {
    use ReasoningEffort::{High, Low, Medium, Minimal, None, XHigh};
    let said = |id: &str, level| {
        let (body, warnings) = warned(id, &reasoning(level));
        let field = |pointer: &str| body.pointer(pointer).cloned().unwrap_or_default();
        let kind = field("/thinking/type");
        (kind, field("/thinking/budget_tokens"), field("/output_config/effort"), warnings.len())
    };
    let null = || Value::Null;
    let budget = |tokens: u64| (json!("enabled"), json!(tokens), null(), 0);
    assert_eq!(said(OLD, Minimal), budget(1_280));
    assert_eq!(said(OLD, Medium), budget(19_200));
    assert_eq!(said("claude-sonnet-4-5", XHigh), budget(57_600));
    let small = with(|request| {
        request.settings.reasoning = High;
        request.settings.max_output_tokens = Some(1_000);
    });
    assert_eq!(body(OLD, &small)["thinking"]["budget_tokens"], 1_024);
    let adaptive = |effort: &str, warnings| (json!("adaptive"), null(), json!(effort), warnings);
    assert_eq!(said(NEWEST, Minimal), adaptive("low", 1));
    assert_eq!(said(NEWEST, Low), adaptive("low", 0));
    assert_eq!(said(NEWEST, XHigh), adaptive("xhigh", 0));
    assert_eq!(said("claude-opus-4-6", XHigh), adaptive("max", 1));
    assert_eq!(said("claude-fable-5", High), adaptive("high", 0));
    assert_eq!(said(OLD, None), (json!("disabled"), null(), null(), 0));
    assert_eq!(said(NEWEST, None), (json!("disabled"), null(), null(), 0));
    let nothing = |warnings| (null(), null(), null(), warnings);
    assert_eq!(said("claude-fable-5", None), nothing(1));
    assert_eq!(said("claude-3-haiku-20240307", None), nothing(0));
    assert_eq!(said("claude-3-haiku-20240307", High), nothing(1));
    assert_eq!(said(NEWEST, ReasoningEffort::ProviderDefault), nothing(0));
}

/// [AN-76]
#[test]
fn a_budget_of_thinking_comes_on_top_of_the_limit() {
    let limited = |options: Value, set: Option<u64>| {
        let mut request = option("thinking", options);
        request.settings.max_output_tokens = set;
        let (body, warnings) = warned("claude-sonnet-4-5", &request);
        (body["thinking"]["budget_tokens"].clone(), body["max_tokens"].clone(), warnings.len())
    };
    let enabled = |budget: u64| json!({"type": "enabled", "budget_tokens": budget});
    assert_eq!(limited(enabled(2_000), Some(1_000)), (json!(2_000), json!(3_000), 0));
    assert_eq!(limited(json!({"type": "enabled"}), Some(1_000)), (json!(1_024), json!(2_024), 0));
    assert_eq!(limited(enabled(2_000), Some(63_000)), (json!(2_000), json!(64_000), 1));
    assert_eq!(limited(enabled(2_000), None), (json!(2_000), json!(64_000), 0));
    assert_eq!(limited(json!({"type": "disabled"}), Some(1_000)), (Value::Null, json!(1_000), 0));
    // What the option says wins over the neutral setting, and a limit of the caller's own over ours.
    let mut request = option("thinking", enabled(2_000));
    request.settings.reasoning = ReasoningEffort::High;
    request.extra_body.insert("max_tokens".into(), json!(5));
    let (body, warnings) = warned("claude-sonnet-4-5", &request);
    assert_eq!((&body["thinking"], &body["max_tokens"]), (&enabled(2_000), &json!(5)));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let mut request = reasoning(ReasoningEffort::High);
    request.extra_body.insert("thinking".into(), json!({"type": "disabled"}));
    let (body, warnings) = warned("claude-sonnet-4-5", &request);
    assert_eq!((&body["thinking"], warnings.len()), (&json!({"type": "disabled"}), 1));
}

/// [AN-77]
#[test]
fn a_forced_call_wins_over_thinking() {
    for choice in [ToolChoice::Required, ToolChoice::Tool { name: "f".into() }] {
        for id in [OLD, NEWEST] {
            let mut request = reasoning(ReasoningEffort::High).with_tools([function("f")]);
            request.tool_choice = choice.clone();
            let (body, warnings) = warned(id, &request);
            assert!(body.get("thinking").is_none() && body["tool_choice"].is_object(), "{body}");
            assert_eq!(warnings.len(), 1);
            request.settings.reasoning = ReasoningEffort::None;
            assert_eq!(warned(id, &request).0["thinking"]["type"], "disabled");
        }
    }
}

/// [AN-85]
#[test]
fn betas_are_gathered_from_everywhere_and_each_sent_once() {
    let request = with(|request| {
        request.options = ProviderOptions::default()
            .with("anthropic", "betas", json!(["a", "files-api-2025-04-14"]))
            .with("anthropic", "mcp_servers", json!([{"type": "url", "url": "https://m", "name": "m"}]))
            .with("anthropic", "container", json!({"skills": [{"type": "anthropic", "skill_id": "pptx"}]}))
            .with("anthropic", "context_management", json!({"edits": [{"type": "compact_20260112"}]}))
            .with("anthropic", "fallbacks", json!([{"model": "claude-opus-4-8"}]))
            .with("anthropic", "speed", json!(null));
    });
    assert_eq!(
        betas(MODEL, &request),
        [
            "a",
            "files-api-2025-04-14",
            "mcp-client-2025-04-04",
            "code-execution-2025-08-25",
            "skills-2025-10-02",
            "context-management-2025-06-27",
            "server-side-fallback-2026-06-01",
            "compact-2026-01-12",
        ]
    );
    let body = body(MODEL, &request);
    assert!(body.get("betas").is_none() && body["mcp_servers"][0]["name"] == "m");
    assert_eq!(betas(MODEL, &option("betas", json!("x, y"))), ["x", "y"]);
    assert_eq!(refused(MODEL, &option("betas", json!(5))).0, ErrorClass::InvalidRequest);
    assert_eq!(refused(MODEL, &option("betas", json!("x\r\ny: z"))).0, ErrorClass::InvalidRequest);
    for id in ["claude-opus-4-5", "anthropic/claude-opus-4.5"] {
        assert_eq!(betas(id, &option("effort", json!("low"))), ["effort-2025-11-24"]);
    }
}

/// [AN-86]
#[test]
fn options_go_over_settings_and_the_extra_body_over_both() {
    let request = with(|request| {
        request.settings.temperature = Some(0.1);
        request.options = ProviderOptions::default()
            .with("anthropic", "metadata", json!({"user_id": "u", "a": 1}))
            .with("anthropic", "service_tier", json!("auto"))
            .with("openai", "user", json!("not read"));
        request.extra_body =
            serde_json::from_value(json!({"metadata": {"a": 2}, "temperature": 0.5})).unwrap();
    });
    let (body, warnings) = warned(MODEL, &request);
    assert_eq!(body["metadata"], json!({"user_id": "u", "a": 2}));
    assert_eq!((&body["service_tier"], &body["temperature"]), (&json!("auto"), &json!(0.5)));
    assert!(body.get("user").is_none());
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("temperature"), "{warnings:?}");
    for stream in [false, true] {
        let request = with(|request| {
            request.extra_body.insert("stream".into(), stream.into());
            request.delivery = if stream { Delivery::Whole } else { Delivery::Stream };
        });
        assert_eq!(refused(MODEL, &request).0, ErrorClass::InvalidRequest);
    }
}

/// [AN-88]
#[test]
fn the_history_stands_last_and_what_the_caller_gives_is_written_once() {
    let mut request = Request::new([Message::system("s"), Message::user("Hi")])
        .with_tools([function("f")])
        .with_extra("zeta", json!(1));
    let (call, _) = encoded(MODEL, &request).unwrap();
    let text = String::from_utf8(call.body.to_vec()).unwrap();
    let at = |field: &str| text.find(&format!("\"{field}\":")).unwrap();
    assert!(at("zeta") < at("tools") && at("tools") < at("system") && at("system") < at("messages"));
    assert!(text.ends_with("]}]}"), "{text}");
    request.extra_body =
        serde_json::from_value(json!({"messages": [], "tools": [1], "system": "x"})).unwrap();
    let (call, warnings) = encoded(MODEL, &request).unwrap();
    let text = String::from_utf8(call.body.to_vec()).unwrap();
    for field in ["messages", "tools", "system"] {
        assert_eq!(text.matches(&format!("\"{field}\":")).count(), 1, "{text}");
    }
    let body = json_of(&call);
    assert_eq!((&body["messages"], &body["tools"], &body["system"]), (&json!([]), &json!([1]), &json!("x")));
    assert_eq!(warnings.len(), 3, "{warnings:?}");
}
