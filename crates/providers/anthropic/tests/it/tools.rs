//! Tools, the choice among them, and the form of the answer.

use ai_provider::{
    Delivery, ErrorClass, FunctionTool, Message, ProviderOptions, ProviderTool, Request, ResponseFormat,
    ToolChoice, ToolDefinition,
};
use serde_json::{Value, json};

use crate::support::{MODEL, betas, body, encoded, warned};

const OLD: &str = "claude-3-7-sonnet-20250219";

fn hi() -> Request {
    Request::new([Message::user("Hi")])
}

fn with(change: impl FnOnce(&mut Request)) -> Request {
    let mut request = hi();
    change(&mut request);
    request
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

fn provided(id: &str, name: &str, args: Value) -> ToolDefinition {
    let Value::Object(args) = args else { panic!() };
    ToolDefinition::Provider(ProviderTool { id: id.into(), name: name.into(), args })
}

fn refused(id: &str, request: &Request) -> (ErrorClass, String) {
    let error = encoded(id, request).unwrap_err();
    (error.class(), error.message().to_owned())
}

/// [AN-78]
#[test]
fn tools_are_sent_in_their_order_with_all_that_is_known_of_them() {
    let mut strict = tool("g");
    strict.strict = Some(true);
    strict.input_schema = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}});
    strict.input_examples = vec![json!({"n": 4})];
    strict.options = ProviderOptions::default().with("anthropic", "defer_loading", json!(true));
    let mut blank = tool("h");
    blank.description = Some(" ".into());
    let tools = [ToolDefinition::Function(strict), function("f"), ToolDefinition::Function(blank)];
    let request = hi().with_tools(tools);
    let sent = body(MODEL, &request)["tools"].clone();
    let names: Vec<_> = sent.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["g", "f", "h"]);
    let schema = &sent[0]["input_schema"];
    assert_eq!((&sent[0]["strict"], &schema["additionalProperties"]), (&json!(true), &json!(false)));
    let number = &schema["properties"]["n"];
    assert!(
        number.get("minimum").is_none() && number["description"].as_str().unwrap().contains('3'),
        "{schema}"
    );
    assert_eq!((&sent[0]["input_examples"], &sent[0]["defer_loading"]), (&json!([{"n": 4}]), &json!(true)));
    assert_eq!(betas(MODEL, &request), ["advanced-tool-use-2025-11-20"]);
    assert_eq!(sent[1]["input_schema"], tool("f").input_schema);
    assert_eq!((&sent[1]["description"], sent[2].get("description")), (&json!("d"), None));
    assert!(sent.as_array().unwrap().iter().all(|tool| tool["eager_input_streaming"] == true));
    // Only where an answer streams, and not for servers that may not know it.
    let one = with(|request| request.delivery = Delivery::Whole).with_tools([function("f")]);
    assert!(body(MODEL, &one)["tools"][0].get("eager_input_streaming").is_none());
    let foreign = body("kimi-k2", &hi().with_tools([function("f")]));
    assert!(foreign["tools"][0].get("eager_input_streaming").is_none());
    // A model that cannot be held to a schema.
    let mut strict = tool("g");
    strict.strict = Some(true);
    let (sent, warnings) = warned(OLD, &hi().with_tools([ToolDefinition::Function(strict)]));
    assert!(sent["tools"][0].get("strict").is_none() && warnings.len() == 1);
}

/// [AN-79]
#[test]
fn the_choice_among_tools_is_said_as_it_is_meant() {
    let chosen = |choice: ToolChoice, options: Option<Value>| {
        let mut request =
            hi().with_tools([function("f"), provided("anthropic.bash_20250124", "shell", json!({}))]);
        request.tool_choice = choice;
        if let Some(value) = options {
            request.options =
                ProviderOptions::default().with("anthropic", "disable_parallel_tool_use", value);
        }
        let body = body(MODEL, &request);
        assert_eq!(body["tools"].as_array().unwrap().len(), 2);
        assert!(body.get("disable_parallel_tool_use").is_none());
        body.get("tool_choice").cloned().unwrap_or_default()
    };
    let named = |name: &str| ToolChoice::Tool { name: name.into() };
    assert_eq!(chosen(ToolChoice::Auto, None), Value::Null);
    assert_eq!(chosen(ToolChoice::None, None), json!({"type": "none"}));
    assert_eq!(chosen(ToolChoice::Required, None), json!({"type": "any"}));
    assert_eq!(chosen(named("f"), None), json!({"type": "tool", "name": "f"}));
    assert_eq!(chosen(named("shell"), None), json!({"type": "tool", "name": "bash"}));
    let once = |choice| chosen(choice, Some(json!(true)));
    assert_eq!(once(ToolChoice::Auto), json!({"type": "auto", "disable_parallel_tool_use": true}));
    assert_eq!(once(ToolChoice::Required), json!({"type": "any", "disable_parallel_tool_use": true}));
    assert_eq!(once(ToolChoice::None), json!({"type": "none"}));
    let (body, warnings) = warned(MODEL, &option("disable_parallel_tool_use", json!(true)));
    assert!(body.get("tool_choice").is_none() && warnings.len() == 1);
}

/// [AN-80]
#[test]
fn a_demand_for_a_call_that_cannot_be_sent_is_an_error() {
    let foreign = || provided("openai.web_search", "web", json!({}));
    for (tools, choice) in [
        (vec![], ToolChoice::Required),
        (vec![foreign()], ToolChoice::Required),
        (vec![function("f"), foreign()], ToolChoice::Tool { name: "web".into() }),
        (vec![function("f")], ToolChoice::Tool { name: "g".into() }),
    ] {
        let mut request = hi().with_tools(tools);
        request.tool_choice = choice;
        assert_eq!(refused(MODEL, &request).0, ErrorClass::Unsupported);
    }
    let none = with(|request| request.tool_choice = ToolChoice::None);
    assert!(body(MODEL, &none).get("tool_choice").is_none());
}

/// [AN-81]
#[test]
fn tools_of_the_provider_go_by_their_dated_type_with_their_beta() {
    let request = hi().with_tools([
        provided("anthropic.web_search_20250305", "find", json!({"max_uses": 3, "name": "x", "type": "y"})),
        provided("anthropic.tool_search_bm25_20251119", "search", json!({})),
        provided("anthropic.computer_20250124", "computer", json!({"display_width_px": 1024})),
        provided("anthropic.mcp_toolset", "tools", json!({"mcp_server_name": "srv"})),
    ]);
    let sent = body(MODEL, &request)["tools"].clone();
    let shown = json!([
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
        {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
        {"type": "computer_20250124", "name": "computer", "display_width_px": 1024},
        {"type": "mcp_toolset", "mcp_server_name": "srv"},
    ]);
    assert_eq!(sent, shown);
    let wanted = ["advanced-tool-use-2025-11-20", "computer-use-2025-01-24", "mcp-client-2025-11-20"];
    assert_eq!(betas(MODEL, &request), wanted);
    // One that is newer than this table, and one of another provider.
    let request = hi().with_tools([
        provided("anthropic.web_search_20991231", "web_search", json!({"max_uses": 1})),
        provided("openai.web_search", "web", json!({})),
    ]);
    let (body, warnings) = warned(MODEL, &request);
    assert_eq!(body["tools"], json!([{"type": "web_search_20991231", "name": "web_search", "max_uses": 1}]));
    assert_eq!(warnings.len(), 2, "{warnings:?}");
}

/// [AN-82]
#[test]
fn the_input_of_a_tool_is_said_as_an_object_or_refused_with_the_place() {
    let with_schema = |schema: Value, strict: Option<bool>| {
        let mut tool = tool("f");
        tool.input_schema = schema;
        tool.strict = strict;
        hi().with_tools([ToolDefinition::Function(tool)])
    };
    for (schema, sent) in [
        (json!({}), json!({"type": "object"})),
        (json!({"properties": {"a": {}}}), json!({"type": "object", "properties": {"a": {}}})),
    ] {
        assert_eq!(body(MODEL, &with_schema(schema, None))["tools"][0]["input_schema"], sent);
    }
    let union = json!({"oneOf": [{"type": "object"}, {"type": "object"}]});
    let map = json!({"type": "object", "properties": {"labels": {"type": "object", "additionalProperties": {"type": "string"}}}});
    let recursive = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
    for (schema, strict, class, place) in [
        (json!("x"), None, ErrorClass::InvalidRequest, "`f`"),
        (union, None, ErrorClass::Unsupported, "#"),
        (json!({"type": "string"}), None, ErrorClass::Unsupported, "#"),
        (map, Some(true), ErrorClass::Unsupported, "#/properties/labels"),
        (recursive, Some(true), ErrorClass::Unsupported, "#"),
    ] {
        let (found, message) = refused(MODEL, &with_schema(schema.clone(), strict));
        assert_eq!(found, class, "{schema}: {message}");
        assert!(message.contains(place) && message.contains("`f`"), "{schema}: {message}");
    }
}

fn format(schema: Option<Value>) -> Request {
    with(|request| {
        let description = Some("The weather.".to_owned());
        request.response_format = ResponseFormat::Json { schema, name: Some("weather".into()), description };
    })
}

/// [AN-83]
#[test]
fn a_response_format_is_a_setting_where_the_model_has_one() {
    let schema = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "minLength": 1},
            "kind": {"oneOf": [{"const": "a"}, {"type": "integer"}]},
        },
        "required": ["city"],
    });
    let sent = body(MODEL, &format(Some(schema)));
    let format_sent = &sent["output_config"]["format"];
    assert_eq!(format_sent["type"], "json_schema");
    let schema = &format_sent["schema"];
    assert_eq!(
        (&schema["additionalProperties"], &schema["description"]),
        (&json!(false), &json!("The weather."))
    );
    assert!(schema["properties"]["city"].get("minLength").is_none());
    assert!(schema["properties"]["kind"]["anyOf"].is_array(), "{schema}");
    assert_eq!(schema["required"], json!(["city"]));
    assert!(sent.get("tools").is_none() && sent.get("tool_choice").is_none());
    // Beside an effort, not in its place.
    let mut request = format(Some(json!({"type": "object", "properties": {}})));
    request.options = ProviderOptions::default().with("anthropic", "effort", json!("low"));
    let config = body(MODEL, &request)["output_config"].clone();
    assert_eq!((&config["effort"], &config["format"]["type"]), (&json!("low"), &json!("json_schema")));
}

/// [AN-84]
#[test]
fn a_response_format_is_a_forced_tool_or_words_where_there_is_no_setting() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let (sent, warnings) = warned(OLD, &format(Some(schema.clone())));
    assert_eq!((&sent["tools"][0]["name"], &sent["tools"][0]["input_schema"]), (&json!("json"), &schema));
    assert_eq!(sent["tools"][0]["description"], "The weather.");
    assert_eq!(
        sent["tool_choice"],
        json!({"type": "tool", "name": "json", "disable_parallel_tool_use": true})
    );
    assert!(sent.get("output_config").is_none() && warnings.len() == 1, "{warnings:?}");
    let (sent, _) = warned(OLD, &format(Some(schema.clone())).with_tools([function("f")]));
    assert_eq!(sent["tool_choice"], json!({"type": "any", "disable_parallel_tool_use": true}));
    let taken = format(Some(schema)).with_tools([function("json")]);
    assert_eq!(refused(OLD, &taken).0, ErrorClass::Unsupported);

    // A schema the setting has no word for.
    let map = json!({"type": "object", "properties": {"m": {"type": "object", "additionalProperties": {"type": "string"}}}});
    let (sent, warnings) = warned(MODEL, &format(Some(map.clone())));
    assert_eq!(sent["tools"][0]["input_schema"], map);
    assert!(warnings[0].contains("#/properties/m"), "{warnings:?}");
    let (class, message) = refused("claude-fable-5", &format(Some(map)));
    assert_eq!(class, ErrorClass::Unsupported);
    assert!(message.contains("#/properties/m"), "{message}");

    let (sent, warnings) = warned(MODEL, &format(None));
    assert!(sent["system"][0]["text"].as_str().unwrap().contains("JSON") && warnings.len() == 1);
}
