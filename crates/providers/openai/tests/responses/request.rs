//! The request: everything but the history.

use ai_provider::{
    Delivery, ErrorClass, FunctionTool, Message, ProviderOptions, ProviderTool, ReasoningEffort, Request,
    ResponseFormat, ToolChoice, ToolDefinition,
};
use serde_json::{Value, json};

use crate::support::{body, encoded, sent};

fn hi() -> Request {
    Request::new([Message::user("Hi")])
}

fn function(name: &str) -> ToolDefinition {
    let schema = json!({"type": "object", "properties": {"z": {"type": "string"}, "a": {"type": "string"}}});
    ToolDefinition::Function(FunctionTool::new(name, "does it", schema))
}

fn tool(id: &str, name: &str, args: Value) -> ToolDefinition {
    let Value::Object(args) = args else { panic!("{args}") };
    ToolDefinition::Provider(ProviderTool { id: id.into(), name: name.into(), args })
}

/// [OA-240]
#[test]
fn a_plain_request_holds_the_model_and_the_messages() {
    let input = json!([{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}]);
    assert_eq!(body("openai", &hi()), json!({"model": "m", "stream": true, "input": input}));
    let mut whole = hi();
    whole.delivery = Delivery::Whole;
    assert_eq!(body("openai", &whole), json!({"model": "m", "input": input}));
}

/// [OA-241]
#[test]
fn settings_go_under_their_names_and_what_the_api_lacks_is_warned_of() {
    let mut request = hi();
    request.settings.max_output_tokens = Some(100);
    request.settings.temperature = Some(0.5);
    request.settings.top_p = Some(0.25);
    let sent_all = body("openai", &request);
    assert_eq!(
        (&sent_all["max_output_tokens"], &sent_all["temperature"], &sent_all["top_p"]),
        (&json!(100), &json!(0.5), &json!(0.25))
    );
    // Reasoning models of OpenAI refuse sampling, unless they do not reason.
    let (fixed, warnings) = sent("openai", "gpt-5.1", &request);
    assert_eq!((fixed.get("temperature"), fixed.get("top_p")), (None, None));
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    request.settings.reasoning = ReasoningEffort::None;
    assert_eq!(sent("openai", "gpt-5.1", &request).0["temperature"], 0.5);
    assert_eq!(sent("openai", "gpt-5", &request).0.get("temperature"), None);

    let mut request = hi();
    request.settings.top_k = Some(1);
    request.settings.seed = Some(1);
    request.settings.presence_penalty = Some(1.0);
    request.settings.frequency_penalty = Some(1.0);
    request.settings.stop_sequences = vec!["x".into()];
    let (plain, warnings) = sent("openai", "m", &request);
    assert_eq!(plain.as_object().unwrap().len(), 3, "{plain}");
    assert_eq!(warnings.len(), 5, "{warnings:?}");
    let (open, warnings) = sent("lmstudio", "m", &request);
    assert_eq!(
        (&open["presence_penalty"], &open["frequency_penalty"], warnings.len()),
        (&json!(1.0), &json!(1.0), 3)
    );
    request.settings.presence_penalty = Some(f64::NAN);
    assert_eq!(encoded("openai", "m", &request).unwrap_err().class(), ErrorClass::InvalidRequest);
}

/// [OA-242]
#[test]
fn reasoning_is_an_effort_and_where_it_is_shown_a_summary() {
    let with = |name: &str, model: &str, level| {
        let mut request = hi();
        request.settings.reasoning = level;
        let (body, warnings) = sent(name, model, &request);
        (body.get("reasoning").cloned(), warnings.len())
    };
    let high = ReasoningEffort::High;
    assert_eq!(with("openai", "gpt-5", high), (Some(json!({"effort": "high", "summary": "detailed"})), 0));
    assert_eq!(with("openai", "gpt-5", ReasoningEffort::None), (Some(json!({"effort": "none"})), 0));
    assert_eq!(with("openai", "gpt-5", ReasoningEffort::ProviderDefault), (None, 0));
    assert_eq!(with("openai", "gpt-4.1", high), (None, 1));
    assert_eq!(with("lmstudio", "m", high), (Some(json!({"effort": "high"})), 0));
    assert_eq!(with("xai", "grok-3-mini", ReasoningEffort::XHigh), (Some(json!({"effort": "high"})), 1));
    assert_eq!(with("xai", "grok-3-mini", ReasoningEffort::None), (None, 1));
    assert_eq!(with("xai", "grok-4-fast", high), (None, 1));
}

/// [OA-243]
#[test]
fn the_form_of_the_answer_is_a_schema_held_to_the_letter_where_it_can_be() {
    let format = |schema: Option<Value>, name: Option<&str>| {
        let mut request = hi();
        request.response_format =
            ResponseFormat::Json { schema, name: name.map(str::to_owned), description: Some("d".into()) };
        let (body, warnings) = sent("openai", "m", &request);
        (body["text"]["format"].clone(), warnings)
    };
    let schema = json!({"type": "object", "properties": {"x": {"type": "integer"}}});
    let (wire, warnings) = format(Some(schema), Some("my answer"));
    assert_eq!(
        (&wire["type"], &wire["name"], &wire["strict"]),
        (&json!("json_schema"), &json!("my_answer"), &json!(true))
    );
    assert_eq!(
        (&wire["schema"]["required"], &wire["schema"]["additionalProperties"]),
        (&json!(["x"]), &json!(false))
    );
    assert_eq!((&wire["description"], warnings), (&json!("d"), Vec::new()));
    let map = json!({"type": "object", "properties": {"m": {"type": "object", "additionalProperties": {"type": "string"}}}});
    let (wire, warnings) = format(Some(map.clone()), None);
    assert_eq!((&wire["schema"], &wire["strict"], &wire["name"]), (&map, &json!(false), &json!("response")));
    assert!(warnings[0].contains("#/properties/m"), "{warnings:?}");
    assert_eq!(format(None, None).0, json!({"type": "json_object"}));
    // Options stand beside it.
    let mut request = hi();
    request.response_format = ResponseFormat::Json { schema: None, name: None, description: None };
    request.options = ProviderOptions::default().with("openai", "text", json!({"verbosity": "low"}));
    assert_eq!(
        body("openai", &request)["text"],
        json!({"format": {"type": "json_object"}, "verbosity": "low"})
    );
}

/// [OA-244]
#[test]
fn tools_are_sent_in_their_order_in_the_apis_form() {
    let strict = |mut tool: ToolDefinition| {
        if let ToolDefinition::Function(tool) = &mut tool {
            tool.strict = Some(true);
        }
        tool
    };
    let request = hi().with_tools([strict(function("g")), function("f")]);
    let tools = body("openai", &request)["tools"].clone();
    assert_eq!(tools[0]["strict"], true);
    assert_eq!(tools[0]["parameters"]["required"], json!(["a", "z"]));
    let schema = json!({"type": "object", "properties": {"z": {"type": "string"}, "a": {"type": "string"}}});
    assert_eq!(
        tools[1],
        json!({"type": "function", "name": "f", "description": "does it", "parameters": schema})
    );

    let bad = ToolDefinition::Function(FunctionTool::new("f", "d", json!("no object")));
    assert_eq!(
        encoded("openai", "m", &hi().with_tools([bad])).unwrap_err().class(),
        ErrorClass::InvalidRequest
    );
    let map = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let bad = strict(ToolDefinition::Function(FunctionTool::new("f", "d", map)));
    assert_eq!(encoded("openai", "m", &hi().with_tools([bad])).unwrap_err().class(), ErrorClass::Unsupported);
}

/// [OA-245]
#[test]
fn tools_of_the_server_are_sent_to_their_own_server_alone() {
    let tools = || {
        [
            tool("openai.web_search", "web_search", json!({"search_context_size": "low"})),
            tool("openai.code_interpreter", "code", json!({})),
            tool("openai.mcp", "short", json!({"server_label": "zip1", "server_url": "https://zip1.io/mcp"})),
            tool("openai.custom", "sql", json!({"format": {"type": "text"}})),
            tool("openai.of_the_future", "x", json!({})),
            tool("xai.x_search", "y", json!({})),
        ]
    };
    let (openai, warnings) = sent("openai", "m", &hi().with_tools(tools()));
    assert_eq!(
        openai["tools"],
        json!([
            {"type": "web_search", "search_context_size": "low"},
            {"type": "code_interpreter", "container": {"type": "auto"}},
            {"type": "mcp", "server_label": "zip1", "server_url": "https://zip1.io/mcp"},
            {"type": "custom", "name": "sql", "format": {"type": "text"}},
        ])
    );
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert_eq!(sent("azure", "m", &hi().with_tools(tools())).0["tools"], openai["tools"]);
    let (xai, _) = sent("xai", "m", &hi().with_tools(tools()));
    assert_eq!(xai["tools"], json!([{"type": "x_search"}]));
    let (open, _) = sent("lmstudio", "m", &hi().with_tools(tools()));
    assert_eq!(open["tools"].as_array().unwrap().len(), 1);
}

/// [OA-246]
#[test]
fn a_choice_among_tools_is_sent_as_it_is_meant_or_refused() {
    let choose = |choice: ToolChoice| {
        let mut request = hi().with_tools([
            function("f"),
            tool("openai.web_search_preview", "look_up", json!({})),
            tool("openai.custom", "sql", json!({})),
            tool("openai.mcp", "short", json!({"server_label": "zip1"})),
        ]);
        request.tool_choice = choice;
        body("openai", &request).get("tool_choice").cloned()
    };
    let named = |name: &str| ToolChoice::Tool { name: name.into() };
    assert_eq!(choose(ToolChoice::Auto), None);
    assert_eq!(choose(ToolChoice::None), Some(json!("none")));
    assert_eq!(choose(ToolChoice::Required), Some(json!("required")));
    assert_eq!(choose(named("f")), Some(json!({"type": "function", "name": "f"})));
    assert_eq!(choose(named("look_up")), Some(json!({"type": "web_search_preview"})));
    assert_eq!(choose(named("sql")), Some(json!({"type": "custom", "name": "sql"})));
    assert_eq!(choose(named("short")), Some(json!({"type": "mcp", "server_label": "zip1"})));
    for (tools, choice) in [
        (vec![], ToolChoice::Required),
        (vec![], named("f")),
        (vec![function("f")], named("g")),
        (vec![tool("xai.x_search", "x", json!({}))], ToolChoice::Required),
        (vec![function("f"), tool("xai.x_search", "x", json!({}))], named("x")),
    ] {
        let mut request = hi().with_tools(tools);
        request.tool_choice = choice;
        assert_eq!(encoded("openai", "m", &request).unwrap_err().class(), ErrorClass::Unsupported);
    }
    let mut request = hi();
    request.tool_choice = ToolChoice::None;
    assert_eq!(body("openai", &request).get("tool_choice"), None);
    // Some of them: in the API's own form.
    let mut request = hi().with_tools([function("f"), function("g")]);
    request.tool_choice = ToolChoice::Required;
    let allowed =
        json!({"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "f"}]});
    request.options = ProviderOptions::default().with("openai", "tool_choice", allowed.clone());
    let (body, warnings) = sent("openai", "m", &request);
    assert_eq!(body["tool_choice"], allowed);
    assert!(warnings[0].contains("tool_choice"), "{warnings:?}");
}

/// [OA-247]
#[test]
fn what_the_answer_or_the_next_request_needs_is_asked_for() {
    let include =
        |name: &str, model: &str, request: &Request| sent(name, model, request).0.get("include").cloned();
    let unstored = |mut request: Request| {
        request.options = request.options.with("openai", "store", json!(false));
        request
    };
    let encrypted = json!(["reasoning.encrypted_content"]);
    assert_eq!(include("openai", "gpt-5", &hi()), None);
    assert_eq!(include("openai", "gpt-5", &unstored(hi())), Some(encrypted.clone()));
    assert_eq!(include("openai", "gpt-4.1", &unstored(hi())), None);
    assert_eq!(include("xai", "grok-4-fast", &unstored(hi())), Some(encrypted));
    assert_eq!(include("lmstudio", "gpt-5", &unstored(hi())), None);
    let mut request = unstored(hi().with_tools([
        tool("openai.web_search", "w", json!({})),
        tool("openai.code_interpreter", "c", json!({})),
    ]));
    request.options = request
        .options
        .with("openai", "include", json!(["file_search_call.results", "code_interpreter_call.outputs"]))
        .with("openai", "top_logprobs", json!(2));
    assert_eq!(
        include("openai", "gpt-5", &request),
        Some(json!([
            "file_search_call.results",
            "code_interpreter_call.outputs",
            "reasoning.encrypted_content",
            "web_search_call.action.sources",
            "message.output_text.logprobs",
        ]))
    );
}

/// [OA-248]
#[test]
fn options_go_over_the_settings_and_the_extra_body_over_them() {
    let mut request = hi().with_extra("metadata", json!({"c": 3})).with_tools([function("f")]);
    request.settings.temperature = Some(0.5);
    request.settings.reasoning = ReasoningEffort::Low;
    request.options = ProviderOptions::default()
        .with("openai", "metadata", json!({"a": 1, "b": 1}))
        .with("azure", "metadata", json!({"b": 2}))
        .with("azure", "temperature", json!(0.75))
        .with("azure", "reasoning", json!({"summary": "auto"}))
        .with("other", "user", json!("no"));
    let (azure, warnings) = sent("azure", "m", &request);
    assert_eq!(azure["metadata"], json!({"a": 1, "b": 2, "c": 3}));
    assert_eq!((&azure["temperature"], azure.get("user")), (&json!(0.75), None));
    assert_eq!(azure["reasoning"], json!({"effort": "low", "summary": "auto"}));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("temperature"));
    let own = request.with_extra("input", json!("mine")).with_extra("tools", json!([]));
    let (text, warnings) = encoded("openai", "m", &own).unwrap();
    assert_eq!(text.matches("\"input\"").count() + text.matches("\"tools\"").count(), 2);
    assert!(text.ends_with(r#""input":"mine"}"#), "{text}");
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    let streamed = hi().with_extra("stream", json!(false));
    assert_eq!(encoded("openai", "m", &streamed).unwrap_err().class(), ErrorClass::InvalidRequest);
}

/// [OA-249]
#[test]
fn what_cannot_be_honoured_is_warned_of() {
    for (options, word) in [
        (json!({"conversation": "c", "previous_response_id": "r"}), "conversation"),
        (json!({"background": true}), "background"),
    ] {
        let mut request = hi();
        for (name, value) in options.as_object().unwrap() {
            request.options = request.options.with("openai", name.clone(), value.clone());
        }
        let (_, warnings) = sent("openai", "m", &request);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains(word), "{warnings:?}");
    }
    // An option that would write a field twice.
    let mut message = Message::user("Hi");
    if let Message::User(message) = &mut message {
        message.options = message.options.clone().with("openai", "role", json!("system"));
    }
    let (text, warnings) = encoded("openai", "m", &Request::new([message])).unwrap();
    assert_eq!((text.matches("\"role\"").count(), warnings.len()), (1, 1));
}
