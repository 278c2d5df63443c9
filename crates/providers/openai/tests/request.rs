//! Settings, tools and formats of a request.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod support;

use ai_openai::Dialect;
use ai_provider::{
    Delivery, ErrorClass, FunctionTool, Message, ProviderTool, ReasoningEffort, Request, ResponseFormat,
    StructuredOutput, ToolChoice, ToolDefinition, Warning,
};
use serde_json::{Value, json};
use support::{body, dialect, encoded};

fn request() -> Request {
    Request::new([Message::user("Hi")])
}

fn with_settings(settings: Value) -> Request {
    let mut request = request();
    request.settings = serde_json::from_value(settings).unwrap();
    request
}

fn all_settings() -> Request {
    with_settings(json!({
        "maxOutputTokens": 100, "temperature": 0.2, "topP": 0.9, "topK": 5, "presencePenalty": 0.5,
        "frequencyPenalty": -0.5, "stopSequences": ["END"], "seed": 7, "reasoning": "high",
    }))
}

fn tool(name: &str) -> ToolDefinition {
    ToolDefinition::Function(FunctionTool::new(name, "does it", json!({"type": "object"})))
}

fn sent(dialect: &Dialect, model: &str, request: &Request) -> (Value, Vec<String>) {
    let (body, warnings) = encoded(dialect, model, request).unwrap();
    let features = warnings.iter().map(|warning| match warning {
        Warning::Unsupported { feature, .. } => format!("-{feature}"),
        Warning::Compatibility { feature, .. } => format!("~{feature}"),
        Warning::Other { message } => format!("!{message}"),
        other => panic!("{other:?}"),
    });
    (serde_json::from_str(&body).unwrap(), features.collect())
}

/// [OA-60]
#[test]
fn a_plain_request_is_small() {
    assert_eq!(
        body("openai", &request()),
        json!({
            "model": "m", "stream": true, "stream_options": {"include_usage": true},
            "messages": [{"role": "user", "content": "Hi"}],
        })
    );
    let mut whole = request();
    whole.delivery = Delivery::Whole;
    assert_eq!(
        body("openai", &whole),
        json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]})
    );
}

/// [OA-61]
#[test]
fn each_setting_goes_under_the_dialects_name_or_is_warned_of() {
    let common = json!({"max_tokens": 100, "temperature": 0.2, "top_p": 0.9});
    let both = json!({"presence_penalty": 0.5, "frequency_penalty": -0.5});
    let thinking = json!({"thinking": {"type": "enabled"}, "reasoning_effort": "high"});
    let plain = json!({"stop": ["END"], "seed": 7, "reasoning_effort": "high"});
    let cases = [
        (
            "openai",
            vec![&common, &both],
            json!({"stop": ["END"], "seed": 7, "reasoning_effort": "high"}),
            vec!["-topK"],
        ),
        (
            "generic",
            vec![&common, &both],
            json!({"stop": ["END"], "seed": 7, "reasoning_effort": "high"}),
            vec!["-topK"],
        ),
        (
            "groq",
            vec![&common, &both],
            json!({"stop": ["END"], "seed": 7, "reasoning_effort": "high"}),
            vec!["-topK"],
        ),
        (
            "xai",
            vec![],
            json!({"max_completion_tokens": 100, "temperature": 0.2, "top_p": 0.9, "seed": 7}),
            vec!["-presencePenalty", "-frequencyPenalty", "-topK", "-stopSequences", "-reasoning"],
        ),
        ("deepseek", vec![&common, &both, &thinking], json!({"stop": ["END"]}), vec!["-topK", "-seed"]),
        ("moonshot", vec![&common, &both, &thinking], json!({"stop": ["END"]}), vec!["-topK", "-seed"]),
        (
            "mistral",
            vec![&common, &both],
            json!({"stop": ["END"], "random_seed": 7}),
            vec!["-topK", "-reasoning"],
        ),
        (
            "alibaba",
            vec![&common],
            json!({"presence_penalty": 0.5, "top_k": 5, "stop": ["END"], "seed": 7,
                "enable_thinking": true, "thinking_budget": 1024}),
            vec!["-frequencyPenalty"],
        ),
        (
            "perplexity",
            vec![&common, &both],
            json!({}),
            vec!["-topK", "-stopSequences", "-seed", "-reasoning"],
        ),
        (
            "openrouter",
            vec![&common, &both],
            json!({"top_k": 5, "stop": ["END"], "seed": 7, "reasoning": {"effort": "high"}}),
            vec![],
        ),
        ("azure", vec![&common, &both, &plain], json!({}), vec!["-topK"]),
        ("azure-deployments", vec![&common, &both, &plain], json!({}), vec!["-topK"]),
        ("ollama", vec![&common, &both, &plain], json!({}), vec!["-topK"]),
        ("vllm", vec![&common, &both, &plain], json!({"top_k": 5}), vec![]),
        ("lmstudio", vec![&common, &both, &plain], json!({"top_k": 5}), vec![]),
        (
            "llama.cpp",
            vec![&common, &both],
            json!({"top_k": 5, "stop": ["END"], "seed": 7,
                "chat_template_kwargs": {"enable_thinking": true, "reasoning_effort": "high"}}),
            vec![],
        ),
    ];
    assert_eq!(cases.len(), Dialect::names().count());
    for (name, fields, own, warned) in cases {
        let (mut body, warnings) = sent(&dialect(name), "m", &all_settings());
        let body = body.as_object_mut().unwrap();
        body.retain(|key, _| !["model", "messages", "stream", "stream_options"].contains(&key.as_str()));
        let mut expected = json!({});
        fields.into_iter().chain([&own]).for_each(|more| ai_provider::merge_json(&mut expected, more));
        assert_eq!(Value::Object(body.clone()), expected, "{name}");
        assert_eq!(warnings, warned, "{name}");
    }
}

/// [OA-62]
#[test]
fn usage_is_asked_for_where_that_is_understood() {
    for (name, asked) in
        [("openai", true), ("deepseek", true), ("mistral", false), ("groq", false), ("perplexity", false)]
    {
        assert_eq!(body(name, &request()).get("stream_options").is_some(), asked, "{name}");
    }
}

/// [OA-63]
#[test]
fn a_reasoning_model_of_openai_takes_no_sampling() {
    let openai = dialect("openai");
    let mut request = all_settings();
    request.messages.insert(0, Message::system("Be brief.").into());
    let (body, warnings) = sent(&openai, "o4-mini", &request);
    assert_eq!(body["max_completion_tokens"], 100);
    assert_eq!(body["reasoning_effort"], "high");
    assert_eq!(body["messages"][0]["role"], "developer");
    for field in ["temperature", "top_p", "presence_penalty", "frequency_penalty", "max_tokens"] {
        assert!(body.get(field).is_none(), "{field}");
    }
    assert_eq!(warnings, ["-temperature", "-topP", "-presencePenalty", "-frequencyPenalty", "-topK"]);

    request.settings.reasoning = ReasoningEffort::None;
    let (body, _) = sent(&openai, "gpt-5.1", &request);
    assert_eq!((&body["temperature"], &body["top_p"]), (&json!(0.2), &json!(0.9)));
    assert_eq!(body["reasoning_effort"], "none");
    assert!(sent(&openai, "gpt-5", &request).0.get("temperature").is_none());

    for plain in ["gpt-4.1", "ft:gpt-4o-mini:me::1", "gpt-5-chat-latest"] {
        let (body, warnings) = sent(&openai, plain, &request);
        assert_eq!(body["messages"][0]["role"], "system", "{plain}");
        assert_eq!(body["temperature"], 0.2, "{plain}");
        assert_eq!(warnings, ["-topK", "-reasoning"], "{plain}");
    }
    let (body, warnings) = sent(&openai, "gpt-4o-search-preview", &request);
    assert!(body.get("temperature").is_none() && body.get("top_p").is_some());
    assert!(warnings.contains(&"-temperature".to_owned()));
}

/// [OA-64]
#[test]
fn an_effort_is_said_in_the_servers_words() {
    let effort = |name: &str, model: &str, level: &str| {
        let (body, warnings) = sent(&dialect(name), model, &with_settings(json!({"reasoning": level})));
        (body["reasoning_effort"].as_str().map(str::to_owned), warnings)
    };
    for (name, model, level, word, warned) in [
        ("openai", "m", "minimal", Some("minimal"), vec![]),
        ("openai", "m", "xhigh", Some("xhigh"), vec![]),
        ("deepseek", "m", "xhigh", Some("max"), vec!["~reasoning"]),
        ("deepseek", "m", "minimal", Some("low"), vec!["~reasoning"]),
        ("deepseek", "m", "none", None, vec![]),
        ("groq", "m", "xhigh", Some("high"), vec!["~reasoning"]),
        ("groq", "m", "low", Some("low"), vec![]),
        ("moonshot", "m", "medium", Some("high"), vec!["~reasoning"]),
        ("xai", "grok-3-mini", "high", Some("high"), vec![]),
        ("xai", "grok-3-mini", "none", None, vec!["-reasoning"]),
        ("mistral", "mistral-small-latest", "low", Some("high"), vec!["~reasoning"]),
        ("mistral", "mistral-small-latest", "none", Some("none"), vec![]),
    ] {
        assert_eq!(
            effort(name, model, level),
            (word.map(str::to_owned), warned.iter().map(|w: &&str| (*w).to_owned()).collect()),
            "{name} {level}"
        );
    }
    let off = with_settings(json!({"reasoning": "none"}));
    assert_eq!(body("deepseek", &off)["thinking"], json!({"type": "disabled"}));
    assert_eq!(body("llama.cpp", &off)["chat_template_kwargs"], json!({"enable_thinking": false}));
    let alibaba = body("alibaba", &off);
    assert_eq!((&alibaba["enable_thinking"], alibaba.get("thinking_budget")), (&json!(false), None));
    let large = with_settings(json!({"reasoning": "high", "maxOutputTokens": 10_000}));
    assert_eq!(body("alibaba", &large)["thinking_budget"], 6_000);
}

/// [OA-65]
#[test]
fn a_number_json_cannot_hold_is_an_error() {
    for value in [f64::NAN, f64::INFINITY] {
        let mut request = request();
        request.settings.temperature = Some(value);
        let error = encoded(&dialect("openai"), "m", &request).unwrap_err();
        assert_eq!(error.class(), ErrorClass::InvalidRequest);
    }
}

/// [OA-66]
#[test]
fn tools_and_the_choice_among_them() {
    let mut loose = FunctionTool::new("g", "", json!({"type": "object", "properties": {"b": {}, "a": {}}}));
    loose.strict = Some(false);
    loose.description = None;
    let mut request = request().with_tools([tool("f"), ToolDefinition::Function(loose)]);
    let f = json!({"type": "function", "function": {"name": "f", "description": "does it", "parameters": {"type": "object"}}});
    let g = json!({"type": "function", "function": {"name": "g", "strict": false,
        "parameters": {"type": "object", "properties": {"b": {}, "a": {}}}}});
    let by_name = json!({"type": "function", "function": {"name": "g"}});
    for (name, choice, wire, tools) in [
        ("openai", ToolChoice::Auto, Value::Null, vec![&f, &g]),
        ("openai", ToolChoice::None, json!("none"), vec![&f, &g]),
        ("openai", ToolChoice::Required, json!("required"), vec![&f, &g]),
        ("openai", ToolChoice::Tool { name: "g".into() }, by_name, vec![&f, &g]),
        ("mistral", ToolChoice::Required, json!("any"), vec![&f, &g]),
        ("mistral", ToolChoice::Tool { name: "g".into() }, json!("any"), vec![&g]),
        ("llama.cpp", ToolChoice::Tool { name: "g".into() }, json!("required"), vec![&g]),
    ] {
        request.tool_choice = choice;
        let body = body(name, &request);
        assert_eq!(body.get("tool_choice").unwrap_or(&Value::Null), &wire, "{name}");
        assert_eq!(body["tools"], json!(tools), "{name}");
    }
}

/// [OA-67]
#[test]
fn a_tool_choice_that_cannot_be_honoured_is_an_error() {
    let named = || ToolChoice::Tool { name: "g".into() };
    for (name, tools, choice) in [
        ("openai", vec![], ToolChoice::Required),
        ("openai", vec![], named()),
        ("openai", vec![tool("f")], named()),
        ("perplexity", vec![tool("g")], ToolChoice::Required),
        ("perplexity", vec![tool("g")], named()),
    ] {
        let mut request = request().with_tools(tools);
        request.tool_choice = choice;
        let error = encoded(&dialect(name), "m", &request).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Unsupported, "{name} {:?}", request.tool_choice);
    }
    // What demands nothing is dropped with a warning.
    let mut request = request().with_tools([tool("g")]);
    for choice in [ToolChoice::Auto, ToolChoice::None] {
        request.tool_choice = choice;
        let (body, warnings) = sent(&dialect("perplexity"), "m", &request);
        assert_eq!((body.get("tools"), body.get("tool_choice")), (None, None));
        assert_eq!(warnings, ["-tools"]);
    }
}

/// [OA-68]
#[test]
fn a_tool_of_the_server_is_sent_to_that_server_alone() {
    let search = |id: &str| {
        ToolDefinition::Provider(ProviderTool {
            id: id.into(),
            name: "search".into(),
            args: Default::default(),
        })
    };
    let request = |id: &str| request().with_tools([search(id)]);
    let (body, warnings) = sent(&dialect("groq"), "m", &request("groq.browser_search"));
    assert_eq!((&body["tools"], warnings.len()), (&json!([{"type": "browser_search"}]), 0));
    for (name, id) in [
        ("groq", "openai.web_search"),
        ("groq", "openai.browser_search"),
        ("groq", "groq.other"),
        ("openai", "groq.browser_search"),
    ] {
        let (body, warnings) = sent(&dialect(name), "m", &request(id));
        assert_eq!((body.get("tools"), warnings), (None, vec!["-tools".to_owned()]), "{name} {id}");
    }
    let mut bad = FunctionTool::new("f", "", json!(true));
    bad.input_examples = vec![json!({})];
    let bad = Request::new([Message::user("Hi")]).with_tools([ToolDefinition::Function(bad)]);
    assert_eq!(encoded(&dialect("openai"), "m", &bad).unwrap_err().class(), ErrorClass::InvalidRequest);
}

/// [OA-69]
#[test]
fn a_response_format_is_sent_in_the_strongest_form_there_is() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let format = |schema: Option<Value>| {
        let mut request = Request::new([Message::system("Be brief."), Message::user("Hi")]);
        request.response_format = ResponseFormat::Json { schema, name: None, description: Some("d".into()) };
        request
    };
    let full = |schema: &Value, strict: bool| {
        json!({"type": "json_schema",
            "json_schema": {"name": "response", "schema": schema, "strict": strict, "description": "d"}})
    };
    let strict = json!({"type": "object", "additionalProperties": false, "required": ["a"],
        "properties": {"a": {"type": ["string", "null"]}}});
    let object = json!({"type": "json_object"});
    let bare = json!({"type": "json_schema", "json_schema": {"schema": schema}});
    for (name, with, without) in [
        ("openai", (full(&strict, true), false), (object.clone(), false)),
        ("mistral", (full(&schema, false), false), (object.clone(), true)),
        ("perplexity", (bare, false), (Value::Null, true)),
        ("generic", (object.clone(), true), (object.clone(), false)),
        ("deepseek", (object.clone(), true), (object, false)),
    ] {
        for (given, (wire, in_words)) in [(Some(schema.clone()), with), (None, without)] {
            let asked = format(given.clone());
            let (body, warnings) = sent(&dialect(name), "m", &asked);
            assert_eq!(body.get("response_format").unwrap_or(&Value::Null), &wire, "{name}");
            let system = body["messages"][0]["content"].as_str().unwrap();
            assert_eq!(
                system.starts_with("Be brief.\n\nAnswer with one JSON object"),
                in_words,
                "{name}: {system}"
            );
            assert_eq!(body["messages"].as_array().unwrap().len(), 2, "{name}");
            let schema_in_words = in_words && given.is_some();
            assert_eq!(system.contains(r#"{"properties""#), schema_in_words, "{name}: {system}");
            let adapted = schema_in_words || (name == "perplexity" && given.is_none());
            assert_eq!(warnings, if adapted { vec!["~responseFormat"] } else { vec![] }, "{name}");
        }
    }
    // Without a system message the words make one.
    let mut alone = dialect("openai");
    alone.capabilities.structured_output = StructuredOutput::None;
    let mut request = format(Some(schema));
    request.messages.remove(0);
    let (body, _) = sent(&alone, "m", &request);
    assert_eq!(body["messages"][0]["role"], "system");
    assert_eq!((body["messages"].as_array().unwrap().len(), body.get("response_format")), (2, None));
}

/// [OA-120]
#[test]
fn a_schema_that_is_held_to_the_letter_is_said_as_openai_takes_it() {
    let map = json!({"type": "object", "properties": {"labels": {"type": "object", "additionalProperties": {"type": "string"}}}});
    let mut request = request();
    request.response_format =
        ResponseFormat::Json { schema: Some(map.clone()), name: None, description: None };
    let (body, warnings) = encoded(&dialect("openai"), "m", &request).unwrap();
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        body["response_format"]["json_schema"],
        json!({"name": "response", "schema": map, "strict": false})
    );
    assert!(format!("{warnings:?}").contains("#/properties/labels"), "{warnings:?}");

    let mut tool =
        FunctionTool::new("g", "", json!({"type": "object", "properties": {"a": {"type": "string"}}}));
    tool.strict = Some(true);
    let with = |tool: &FunctionTool| {
        Request::new([Message::user("Hi")]).with_tools([ToolDefinition::Function(tool.clone())])
    };
    let (body, _) = sent(&dialect("openai"), "m", &with(&tool));
    let function = &body["tools"][0]["function"];
    assert_eq!(function["strict"], true);
    assert_eq!(function["parameters"]["required"], json!(["a"]));
    assert_eq!(function["parameters"]["additionalProperties"], false);

    tool.input_schema = map;
    let error = encoded(&dialect("openai"), "m", &with(&tool)).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Unsupported);
    assert!(error.message().contains("`g`") && error.message().contains("#/properties/labels"), "{error}");
    tool.strict = None;
    let (body, _) = sent(&dialect("openai"), "m", &with(&tool));
    assert_eq!(body["tools"][0]["function"]["parameters"], tool.input_schema);
}

/// [OA-70]
#[test]
fn options_and_the_extra_body_win_in_this_order() {
    let mut request = with_settings(json!({"temperature": 0.2, "seed": 1, "topP": 0.5}));
    request.options = request
        .options
        .with("openai", "temperature", json!(0.3))
        .with("openai", "seed", json!(2))
        .with("openai", "metadata", json!({"a": 1, "b": 1}))
        .with("deepseek", "seed", json!(3))
        .with("deepseek", "metadata", json!({"b": 2, "c": 2}))
        .with("anthropic", "top_p", json!(9));
    let request = request.with_extra("metadata", json!({"c": 3})).with_extra("seed", json!(4));
    let (body, warnings) = sent(&dialect("deepseek"), "m", &request);
    let overridden = "!`temperature` of the request is overridden by options or extra body";
    assert_eq!(warnings, ["-seed", overridden]);
    assert_eq!((&body["temperature"], &body["seed"], &body["top_p"]), (&json!(0.3), &json!(4), &json!(0.5)));
    assert_eq!(body["metadata"], json!({"a": 1, "b": 2, "c": 3}));
}

/// [OA-71]
#[test]
fn what_would_break_the_answer_cannot_be_set() {
    let streamed = request().with_extra("stream", json!(false));
    let mut whole = request().with_extra("stream", json!(true));
    whole.delivery = Delivery::Whole;
    for request in [streamed, whole] {
        let error = encoded(&dialect("openai"), "m", &request).unwrap_err();
        assert_eq!(error.class(), ErrorClass::InvalidRequest);
    }
    let (body, warnings) = sent(&dialect("openai"), "m", &request().with_extra("n", json!(2)));
    assert_eq!((&body["n"], warnings), (&json!(2), vec!["-n".to_owned()]));
}

/// [OA-72]
#[test]
fn the_history_stands_last_whatever_else_is_sent() {
    let mut request = all_settings().with_tools([tool("f")]).with_extra("zzz", json!(1));
    request.options = request.options.with("openai", "user", json!("u"));
    for name in Dialect::names() {
        let (body, _) = encoded(&dialect(name), "m", &request).unwrap();
        assert!(body.ends_with(r#""messages":[{"role":"user","content":"Hi"}]}"#), "{name}: {body}");
        assert_eq!(body.matches(r#""tools""#).count(), usize::from(name != "perplexity"), "{body}");
    }
    let given = request.clone().with_extra("messages", json!([1])).with_extra("tools", json!([2]));
    let (body, _) = encoded(&dialect("openai"), "m", &given).unwrap();
    assert!(body.ends_with(r#""messages":[1]}"#), "{body}");
    assert_eq!(body.matches(r#""tools":[2]"#).count(), 1, "{body}");
    assert_eq!(body.matches(r#""tools""#).count(), 1, "{body}");
}
