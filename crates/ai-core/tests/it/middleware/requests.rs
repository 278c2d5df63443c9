use ai_core::middleware::{DefaultSettings, DescribeExamples, PromptJson, SimulateStreaming};
use ai_provider::{
    Capabilities, Delivery, FunctionTool, Message, ProviderOptions, ReasoningEffort, Request, ResponseFormat,
    Settings, StructuredOutput, ToolDefinition,
};
use ai_testkit::{Script, ScriptedModel};
use serde_json::json;

use super::{around, said};

async fn sent(middleware: impl ai_core::Middleware, request: Request) -> Request {
    let model = ScriptedModel::new().reply(Script::text_reply("hi"));
    said(&around(&model, middleware), request).await;
    model.requests().remove(0)
}

fn all_set() -> Settings {
    let mut settings = Settings::default();
    settings.max_output_tokens = Some(100);
    settings.temperature = Some(0.3);
    settings.top_p = Some(0.9);
    settings.top_k = Some(40);
    settings.presence_penalty = Some(0.1);
    settings.frequency_penalty = Some(0.2);
    settings.stop_sequences = vec!["X".to_owned()];
    settings.seed = Some(-7);
    settings.reasoning = ReasoningEffort::Low;
    settings
}

/// [AC-240]
#[tokio::test]
async fn defaults_fill_what_the_caller_left_open() {
    let request = sent(DefaultSettings::new(all_set()), Request::new([Message::user("go")])).await;
    assert_eq!(request.settings, all_set());

    let mut own = Settings::default();
    own.temperature = Some(0.0);
    own.stop_sequences = vec!["Y".to_owned()];
    own.seed = Some(0);
    own.reasoning = ReasoningEffort::None;
    let mut request = Request::new([Message::user("go")]);
    request.settings = own;
    let mut expected = all_set();
    expected.temperature = Some(0.0);
    expected.stop_sequences = vec!["Y".to_owned()];
    expected.seed = Some(0);
    expected.reasoning = ReasoningEffort::None;
    assert_eq!(sent(DefaultSettings::new(all_set()), request).await.settings, expected);
}

/// [AC-241]
#[tokio::test]
async fn options_and_body_are_merged_deep_and_headers_by_name() {
    let defaults = DefaultSettings::default()
        .with_options(ProviderOptions::default().with("p", "a", json!({"x": 1, "y": 1})))
        .with_extra_body(json!({"m": {"x": 1, "y": 1}}).as_object().unwrap().clone())
        .with_extra_headers(vec![
            ("X-A".to_owned(), Some("default".to_owned())),
            ("X-B".to_owned(), Some("default".to_owned())),
            ("X-C".to_owned(), Some("default".to_owned())),
        ]);
    let mut request = Request::new([Message::user("go")]).with_extra("m", json!({"y": 2, "z": [3]}));
    request.options = ProviderOptions::default().with("p", "a", json!({"y": 2})).with("q", "b", json!(1));
    request.extra_headers = vec![("x-a".to_owned(), Some("own".to_owned())), ("x-b".to_owned(), None)];
    let request = sent(defaults, request).await;
    let expected =
        ProviderOptions::default().with("p", "a", json!({"x": 1, "y": 2})).with("q", "b", json!(1));
    assert_eq!(request.options, expected);
    assert_eq!(request.extra_body["m"], json!({"x": 1, "y": 2, "z": [3]}));
    assert_eq!(
        request.extra_headers,
        [
            ("x-a".to_owned(), Some("own".to_owned())),
            ("x-b".to_owned(), None),
            ("X-C".to_owned(), Some("default".to_owned()))
        ]
    );
}

/// [AC-242]
#[tokio::test]
async fn simulated_streaming_asks_for_one_body() {
    let request = sent(SimulateStreaming, Request::new([Message::user("go")])).await;
    assert_eq!(request.delivery, Delivery::Whole);
}

/// [AC-243]
#[tokio::test]
async fn examples_move_into_the_description() {
    let mut tool = FunctionTool::new("f", "Does it.", json!({"type": "object"}));
    tool.input_examples = vec![json!({"a": 1}), json!({"a": 2})];
    let mut bare = tool.clone();
    bare.description = None;
    let plain = ToolDefinition::Function(FunctionTool::new("g", "Not.", json!({})));
    let request = || {
        let tools =
            [ToolDefinition::Function(tool.clone()), ToolDefinition::Function(bare.clone()), plain.clone()];
        Request::new([Message::user("go")]).with_tools(tools)
    };
    let describe = |tool: &ToolDefinition| match tool {
        ToolDefinition::Function(tool) => (tool.description.clone().unwrap(), tool.input_examples.len()),
        other => panic!("{other:?}"),
    };
    let moved = sent(DescribeExamples::new(), request()).await;
    let text = "Examples of its input:\n{\"a\":1}\n{\"a\":2}";
    assert_eq!(describe(&moved.tools[0]), (format!("Does it.\n\n{text}"), 0));
    assert_eq!(describe(&moved.tools[1]), (text.to_owned(), 0));
    assert_eq!(moved.tools[2], plain);
    assert_eq!(describe(&sent(DescribeExamples::new().keep_field(), request()).await.tools[0]).1, 2);
}

/// [AC-244]
#[tokio::test]
async fn a_schema_is_asked_for_in_words() {
    let json = |schema, name: Option<&str>, description: Option<&str>| ResponseFormat::Json {
        schema,
        name: name.map(str::to_owned),
        description: description.map(str::to_owned),
    };
    for (can, left) in [
        (StructuredOutput::None, ResponseFormat::Text),
        (StructuredOutput::JsonObject, json(None, None, None)),
    ] {
        let mut capabilities = Capabilities::default();
        capabilities.structured_output = can;
        let model = ScriptedModel::new().with_capabilities(capabilities).repeat(Script::text_reply("{}"));
        let wrapped = around(&model, PromptJson);
        assert_eq!(wrapped.capabilities().structured_output, StructuredOutput::JsonSchema);
        let mut request = Request::new([Message::system("Be brief."), Message::user("go")]);
        said(&wrapped, request.clone()).await;
        request.response_format = json(Some(json!({"type": "object"})), Some("city"), Some("A city."));
        said(&wrapped, request).await;
        let [plain, asked] = &model.requests()[..] else { panic!("two calls") };
        assert_eq!(*plain.messages[0], Message::system("Be brief."));
        assert_eq!((&asked.response_format, asked.messages.len()), (&left, 2));
        let Message::System(system) = &*asked.messages[0] else { panic!("no instructions") };
        for part in ["Be brief.\n\n", "JSON object", r#"{"type":"object"}"#, "city: A city."] {
            assert!(system.text.contains(part), "{part}: {}", system.text);
        }
    }
}
