//! Settings, tools, formats and options on the wire.

use ai_provider::{
    ErrorClass, FunctionTool, Message, ProviderOptions, ProviderTool, ReasoningEffort, Request,
    ResponseFormat, SystemMessage, TextPart, ToolChoice, ToolDefinition, UserMessage, UserPart,
};
use serde_json::{Value, json};

use crate::support::{body, encoded, warned};

const FLASH: &str = "gemini-2.5-flash";
const THIRD: &str = "gemini-3-flash-preview";
const GEMMA: &str = "gemma-3-27b-it";

fn request() -> Request {
    Request::new([Message::user("Hi")])
}

fn function(name: &str) -> ToolDefinition {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    ToolDefinition::Function(FunctionTool::new(name, "what it does", schema))
}

fn provider(id: &str, args: Value) -> ToolDefinition {
    let args = args.as_object().unwrap().clone();
    ToolDefinition::Provider(ProviderTool { id: id.into(), name: "any".into(), args })
}

fn with(tools: impl IntoIterator<Item = ToolDefinition>, choice: ToolChoice) -> Request {
    let mut request = request().with_tools(tools);
    request.tool_choice = choice;
    request
}

fn named(name: &str) -> ToolChoice {
    ToolChoice::Tool { name: name.into() }
}

/// [GG-80]
#[test]
fn settings_stand_in_the_generation_config() {
    assert_eq!(body(FLASH, &request()), json!({"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}));
    let mut all = request();
    all.settings.max_output_tokens = Some(100);
    all.settings.temperature = Some(0.5);
    all.settings.top_p = Some(0.25);
    all.settings.top_k = Some(40);
    all.settings.presence_penalty = Some(-1.0);
    all.settings.frequency_penalty = Some(1.5);
    all.settings.stop_sequences = vec!["END".into()];
    all.settings.seed = Some(-7);
    let expected = json!({
        "maxOutputTokens": 100, "temperature": 0.5, "topP": 0.25, "topK": 40, "presencePenalty": -1.0,
        "frequencyPenalty": 1.5, "stopSequences": ["END"], "seed": -7,
    });
    assert_eq!(body(FLASH, &all)["generationConfig"], expected);

    let mut wide = request();
    wide.settings.seed = Some(1 << 40);
    let (sent, warnings) = warned(FLASH, &wide);
    assert!(sent.get("generationConfig").is_none() && warnings[0].contains("seed"), "{warnings:?}");
    for number in [f64::NAN, f64::INFINITY] {
        let mut odd = request();
        odd.settings.top_p = Some(number);
        assert_eq!(encoded(FLASH, &odd).unwrap_err().class(), ErrorClass::InvalidRequest);
    }
}

/// [GG-81]
#[test]
fn effort_is_a_level_or_a_budget_by_model() {
    use ReasoningEffort::*;
    let level = |word: &str| json!({"thinkingLevel": word});
    let budget = |tokens: u64| json!({"thinkingBudget": tokens});
    for (model, effort, expected, warns) in [
        (THIRD, None, level("minimal"), true),
        (THIRD, Minimal, level("minimal"), false),
        (THIRD, Low, level("low"), false),
        (THIRD, Medium, level("medium"), false),
        (THIRD, High, level("high"), false),
        (THIRD, XHigh, level("high"), true),
        ("gemini-3-pro-preview", None, level("low"), true),
        ("gemini-3-pro-preview", Minimal, level("low"), true),
        ("gemini-3.1-pro-preview", High, level("high"), false),
        ("models/gemini-4-ultra", High, level("high"), false),
        (FLASH, None, budget(0), false),
        (FLASH, Minimal, budget(1_311), false),
        (FLASH, Low, budget(6_554), false),
        (FLASH, Medium, budget(19_661), false),
        (FLASH, High, budget(24_576), false),
        ("gemini-2.5-pro", None, budget(128), true),
        ("gemini-2.5-pro", High, budget(32_768), false),
        ("some-tuned-model", Medium, budget(19_661), false),
        ("gemini-2.0-flash", None, Value::Null, false),
        ("gemini-2.0-flash", High, Value::Null, true),
        (GEMMA, Low, Value::Null, true),
    ] {
        let mut request = request();
        request.settings.reasoning = effort;
        let (sent, warnings) = warned(model, &request);
        assert_eq!(sent["generationConfig"]["thinkingConfig"], expected, "{model} {effort:?}");
        assert_eq!(!warnings.is_empty(), warns, "{model} {effort:?}: {warnings:?}");
    }
}

/// [GG-82]
#[test]
fn the_option_of_thinking_wins_over_the_effort() {
    let asked = |value: Value| {
        let mut request = request();
        request.settings.reasoning = ReasoningEffort::High;
        request.options = ProviderOptions::default().with("google", "thinkingConfig", value);
        let (sent, warnings) = warned(THIRD, &request);
        (sent["generationConfig"]["thinkingConfig"].clone(), warnings.len())
    };
    assert_eq!(asked(json!({"thinkingBudget": 5})), (json!({"thinkingBudget": 5}), 1));
    assert_eq!(asked(json!({"thinkingLevel": "low"})), (json!({"thinkingLevel": "low"}), 1));
    let shown = json!({"includeThoughts": true, "thinkingLevel": "high"});
    assert_eq!(asked(json!({"includeThoughts": true})), (shown, 0));
}

fn answer_of(schema: Option<Value>) -> Request {
    let mut request = request();
    let (name, description) = (Some("city".to_owned()), Some("a place".to_owned()));
    request.response_format = ResponseFormat::Json { schema, name, description };
    request
}

/// [GG-83]
#[test]
fn an_answer_is_bound_to_its_schema() {
    let schema = json!({"type": "object", "properties": {"name": {"type": ["string", "null"]}}, "additionalProperties": false});
    let expected = json!({
        "responseMimeType": "application/json",
        "responseSchema": {"type": "object", "title": "city", "description": "a place", "properties": {"name": {"type": "string", "nullable": true}}},
    });
    let request = answer_of(Some(schema.clone()));
    assert_eq!(body(FLASH, &request)["generationConfig"], expected);
    assert_eq!(
        body(FLASH, &answer_of(None))["generationConfig"],
        json!({"responseMimeType": "application/json"})
    );
    let mut unbound = request;
    unbound.options = ProviderOptions::default().with("google", "structuredOutputs", json!(false));
    assert_eq!(body(FLASH, &unbound)["generationConfig"], json!({"responseMimeType": "application/json"}));
    let own = answer_of(Some(json!({"type": "string", "title": "own", "description": "own too"})));
    assert_eq!(body(FLASH, &own)["generationConfig"]["responseSchema"]["title"], "own");
}

/// [GG-84]
#[test]
fn a_model_that_cannot_be_bound_is_asked_in_words() {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let asked = |model: &str, schema: Option<Value>, tools: Vec<ToolDefinition>| {
        warned(model, &answer_of(schema).with_tools(tools))
    };
    let (sent, warnings) = asked(FLASH, Some(schema.clone()), vec![function("f")]);
    assert!(sent.get("generationConfig").is_none() && warnings.len() == 1, "{warnings:?}");
    let words = sent["systemInstruction"]["parts"][0]["text"].as_str().unwrap();
    assert!(words.contains("JSON object") && words.contains(&schema.to_string()), "{words}");
    let search = provider("google.google_search", json!({}));
    let (sent, warnings) = asked(FLASH, None, vec![search]);
    assert!(sent.get("generationConfig").is_none() && warnings.len() == 1, "{warnings:?}");
    let (sent, warnings) = asked(GEMMA, None, vec![]);
    assert_eq!(warnings.len(), 1);
    assert!(sent["contents"][0]["parts"][0]["text"].as_str().unwrap().contains("JSON object"));
    assert_eq!(sent["contents"][0]["parts"][1]["text"], "Hi");
    // From the third generation on, both go together.
    let (sent, warnings) = asked(THIRD, Some(schema), vec![function("f")]);
    assert!(sent["generationConfig"].get("responseSchema").is_some() && warnings.is_empty());
}

/// [GG-85]
#[test]
fn schemas_are_said_in_geminis_part_of_openapi() {
    let derived = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Trip", "type": "object", "required": ["stop", "mode"], "additionalProperties": false,
        "properties": {
            "stop": {"$ref": "#/$defs/Stop"},
            "via": {"anyOf": [{"$ref": "#/$defs/Stop"}, {"type": "null"}]},
            "note": {"type": ["string", "null"]},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "mode": {"oneOf": [{"type": "string", "const": "rail"}, {"type": "object", "properties": {"Car": {"type": "integer", "format": "uint8", "minimum": 0}}, "required": ["Car"]}]},
        },
        "$defs": {"Stop": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}},
    });
    let tool = |schema: Value| ToolDefinition::Function(FunctionTool::new("plan", "d", schema));
    let sent = body(FLASH, &with([tool(derived)], ToolChoice::Auto));
    let parameters = &sent["tools"][0]["functionDeclarations"][0]["parameters"];
    let stop = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    assert_eq!(parameters["properties"]["stop"], stop);
    let mut via = stop;
    via["nullable"] = json!(true);
    assert_eq!(parameters["properties"]["via"], via);
    assert_eq!(parameters["properties"]["note"], json!({"type": "string", "nullable": true}));
    assert_eq!(parameters["properties"]["labels"]["type"], "object");
    assert_eq!(parameters["properties"]["mode"]["anyOf"][0]["enum"], json!(["rail"]));
    let text = parameters.to_string();
    for word in ["$ref", "$defs", "$schema", "additionalProperties", "oneOf", "uint8", "const"] {
        assert!(!text.contains(&format!("\"{word}\"")), "{word} in {text}");
    }

    let recursive = json!({"type": "object", "properties": {"child": {"$ref": "#"}}});
    let error = encoded(FLASH, &with([tool(recursive.clone())], ToolChoice::Auto)).unwrap_err();
    assert_eq!(error.class(), ErrorClass::InvalidRequest);
    assert!(error.message().contains("`plan`") && error.message().contains("child"), "{error}");
    let error = encoded(FLASH, &answer_of(Some(recursive))).unwrap_err();
    assert!(error.message().contains("child"), "{error}");
    for wrong in [json!("text"), json!({"type": "string"}), json!([1])] {
        let error = encoded(FLASH, &with([tool(wrong)], ToolChoice::Auto)).unwrap_err();
        assert_eq!(error.class(), ErrorClass::InvalidRequest);
    }
}

/// [GG-86]
#[test]
fn functions_are_declared() {
    let mut full = FunctionTool::new("f", "", json!({"type": "object"}));
    full.description = None;
    full.options = ProviderOptions::default().with("google", "behavior", json!("NON_BLOCKING"));
    full.input_examples = vec![json!({})];
    let (sent, warnings) =
        warned(FLASH, &with([ToolDefinition::Function(full), function("g")], ToolChoice::Auto));
    assert_eq!(
        sent["tools"],
        json!([{"functionDeclarations": [
            {"name": "f", "description": "", "behavior": "NON_BLOCKING"},
            {"name": "g", "description": "what it does", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}},
        ]}])
    );
    assert!(sent.get("toolConfig").is_none());
    assert!(warnings.len() == 1 && warnings[0].contains("inputExamples"), "{warnings:?}");
}

/// [GG-87]
#[test]
fn a_tool_choice_is_said_as_it_is_meant_or_refused() {
    let calling = |request: &Request| body(FLASH, request)["toolConfig"]["functionCallingConfig"].clone();
    let tools = || [function("f"), function("g")];
    assert_eq!(calling(&with(tools(), ToolChoice::Auto)), Value::Null);
    assert_eq!(calling(&with(tools(), ToolChoice::None)), json!({"mode": "NONE"}));
    assert_eq!(calling(&with(tools(), ToolChoice::Required)), json!({"mode": "ANY"}));
    assert_eq!(calling(&with(tools(), named("g"))), json!({"mode": "ANY", "allowedFunctionNames": ["g"]}));
    assert_eq!(calling(&with([], ToolChoice::None)), Value::Null);
    let strict = || {
        let mut tool = FunctionTool::new("s", "d", json!({"type": "object"}));
        tool.strict = Some(true);
        [ToolDefinition::Function(tool), function("g")]
    };
    assert_eq!(calling(&with(strict(), ToolChoice::Auto)), json!({"mode": "VALIDATED"}));
    assert_eq!(calling(&with(strict(), ToolChoice::Required)), json!({"mode": "ANY"}));
    let search = || provider("google.google_search", json!({}));
    for (model, impossible) in [
        (FLASH, with([], ToolChoice::Required)),
        (FLASH, with([search()], ToolChoice::Required)),
        (FLASH, with([search()], named("any"))),
        (FLASH, with(tools(), named("h"))),
        (GEMMA, with(tools(), ToolChoice::Required)),
        (GEMMA, with(tools(), named("f"))),
    ] {
        assert_eq!(encoded(model, &impossible).unwrap_err().class(), ErrorClass::Unsupported, "{model}");
    }
}

/// [GG-88]
#[test]
fn tools_of_the_server_stand_beside_functions_where_the_model_takes_both() {
    let all = || {
        [
            provider("google.google_search", json!({"timeRangeFilter": {"startTime": "x"}})),
            provider("google.url_context", json!({})),
            provider("google.code_execution", json!({})),
        ]
    };
    let wire = json!([{"googleSearch": {"timeRangeFilter": {"startTime": "x"}}}, {"urlContext": {}}, {"codeExecution": {}}]);
    assert_eq!(body(FLASH, &with(all(), ToolChoice::Auto))["tools"], wire);
    assert!(body(FLASH, &with(all(), ToolChoice::None)).get("tools").is_none());

    let both = || with(all().into_iter().chain([function("f")]), ToolChoice::Auto);
    let (sent, warnings) = warned(FLASH, &both());
    assert_eq!(sent["tools"].as_array().unwrap().len(), 1);
    assert!(sent["tools"][0].get("functionDeclarations").is_some() && warnings.len() == 1);
    let sent = body(THIRD, &both());
    assert_eq!(sent["tools"].as_array().unwrap().len(), 4);
    assert_eq!(sent["toolConfig"], json!({"includeServerSideToolInvocations": true}));

    let unknown = [
        provider("google.teleport", json!({})),
        provider("openai.web_search", json!({})),
        provider("odd", json!({})),
    ];
    let (sent, warnings) = warned(FLASH, &with(unknown, ToolChoice::Auto));
    assert!(sent.get("tools").is_none() && warnings.len() == 3, "{warnings:?}");
}

/// [GG-90]
#[test]
fn a_model_without_tools_gets_none() {
    let (sent, warnings) = warned(GEMMA, &with([function("f")], ToolChoice::Auto));
    assert!(sent.get("tools").is_none() && sent.get("toolConfig").is_none());
    assert!(warnings.len() == 1 && warnings[0].contains("tools"), "{warnings:?}");
}

/// [GG-89]
#[test]
fn options_go_where_the_api_has_them() {
    let mut request = with([function("f")], ToolChoice::Auto);
    request.settings.temperature = Some(0.5);
    request.options = ProviderOptions::default()
        .with("google", "responseModalities", json!(["TEXT"]))
        .with("google", "temperature", json!(0.75))
        .with("google", "generationConfig", json!({"topK": 3}))
        .with("google", "labels", json!({"team": "blue"}))
        .with("google", "cachedContent", json!("cachedContents/1"))
        .with("google", "retrievalConfig", json!({"latLng": {"latitude": 1}}))
        .with("google", "streamFunctionCallArguments", json!(true))
        .with("google", "threshold", json!("BLOCK_NONE"))
        .with("openai", "user", json!("u"));
    let (sent, warnings) = warned(FLASH, &request);
    assert_eq!(warnings, ["`generationConfig` of the request is overridden by options or extra body"]);
    let config = json!({"temperature": 0.75, "topK": 3, "responseModalities": ["TEXT"]});
    assert_eq!(sent["generationConfig"], config);
    assert_eq!(
        (&sent["labels"], &sent["cachedContent"]),
        (&json!({"team": "blue"}), &json!("cachedContents/1"))
    );
    let tools = json!({"retrievalConfig": {"latLng": {"latitude": 1}}, "functionCallingConfig": {"streamFunctionCallArguments": true}});
    assert_eq!(sent["toolConfig"], tools);
    let safety = sent["safetySettings"].as_array().unwrap();
    assert_eq!((safety.len(), &safety[0]["threshold"]), (5, &json!("BLOCK_NONE")));
    assert!(sent.get("user").is_none() && sent.get("threshold").is_none());

    // The extra body comes last, and deep.
    let request = request
        .with_extra("generationConfig", json!({"temperature": 1, "new": 2}))
        .with_extra("safetySettings", json!([]));
    let sent = warned(FLASH, &request).0;
    let config = json!({"temperature": 1, "topK": 3, "responseModalities": ["TEXT"], "new": 2});
    assert_eq!((&sent["generationConfig"], &sent["safetySettings"]), (&config, &json!([])));

    let request =
        request.with_extra("tools", json!([{"codeExecution": {}}])).with_extra("contents", json!([7]));
    let (sent, warnings) = warned(FLASH, &request);
    assert_eq!((&sent["tools"], &sent["contents"]), (&json!([{"codeExecution": {}}]), &json!([7])));
    assert_eq!(
        warnings[1..],
        [
            "the tools of the request are overridden by options or extra body",
            "the messages of the request are overridden by options or extra body",
        ]
    );
    let mut several = self::request();
    several.options = ProviderOptions::default().with("google", "candidateCount", json!(2));
    assert!(warned(FLASH, &several).1[0].contains("candidateCount"));
}

/// [GG-89]
#[test]
fn options_of_a_message_have_no_place() {
    let options = ProviderOptions::default().with("google", "x", json!(1));
    let foreign = ProviderOptions::default().with("openai", "x", json!(1));
    for (options, warns) in [(options, 1), (foreign, 0)] {
        let system = Message::System(SystemMessage { text: "s".into(), options: options.clone() });
        let user = UserMessage { parts: vec![UserPart::Text(TextPart::new("Hi"))], options };
        let (sent, warnings) = warned(FLASH, &Request::new([system, Message::User(user)]));
        assert_eq!((warnings.len(), sent.to_string().contains("\"x\"")), (warns, false), "{warnings:?}");
    }
}
