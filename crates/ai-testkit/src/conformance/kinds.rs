//! Requests of every kind.

use std::collections::BTreeMap;

use ai_provider::{
    AssistantMessage, AssistantPart, CustomPart, FileData, FilePart, FunctionTool, Message, Origin,
    ProviderMetadata, ProviderOptions, ProviderTool, ReasoningEffort, ReasoningPart, Request, ResponseFormat,
    Settings, Source, SystemMessage, TargetId, TextPart, ToolApprovalRequest, ToolApprovalResponse, ToolCall,
    ToolChoice, ToolContent, ToolDefinition, ToolMessage, ToolOutput, ToolPart, ToolResult, UserMessage,
    UserPart,
};
use serde_json::{Value, json};

/// A request, and what it is about.
pub(super) struct Kind {
    pub(super) name: String,
    pub(super) request: Request,
    /// Whether it asks for something an API may not have. Then it may be refused, as unsupported or invalid;
    /// otherwise it must be sent, with a warning if need be.
    pub(super) may_refuse: bool,
}

/// One pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\nIDATx\x9cc\0\x01\0\0\x05\0\x01\r\n-\xb4\0\0\0\0IEND\xaeB`\x82";

pub(super) fn all() -> Vec<Kind> {
    let history = histories().into_iter().map(|(name, messages)| (name.to_owned(), Request::new(messages)));
    let settings = settings().into_iter().map(|(name, settings)| {
        let mut request = Request::new([Message::user("Hi")]);
        request.settings = settings;
        (format!("the setting {name}"), request)
    });
    let tools = [
        ("a tool", tools().into_iter().take(1).collect::<Vec<_>>()),
        ("a tool without a description and one without parameters", tools()),
    ]
    .map(|(name, tools)| (name.to_owned(), Request::new([Message::user("Hi")]).with_tools(tools)));
    let must = history.chain(settings).chain(tools);
    let must = must.map(|(name, request)| Kind { name, request, may_refuse: false });
    let may = explicit().into_iter().map(|(name, request)| Kind {
        name: name.to_owned(),
        request,
        may_refuse: true,
    });
    must.chain(may).collect()
}

/// A tool with every kind of parameter, and two with less.
pub(super) fn tools() -> Vec<ToolDefinition> {
    let schema = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "The city."},
            "days": {"type": "integer", "minimum": 1},
            "unit": {"type": "string", "enum": ["c", "f"]},
            "where": {"type": "object", "properties": {"lat": {"type": "number"}}, "required": ["lat"]},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["city"],
    });
    let bare =
        |name: &str, schema: Value| FunctionTool { description: None, ..FunctionTool::new(name, "", schema) };
    vec![
        ToolDefinition::Function(FunctionTool::new("weather", "Tells the weather.", schema)),
        ToolDefinition::Function(bare("clock", json!({"type": "object", "properties": {}}))),
        ToolDefinition::Function(bare("stop", json!({"type": "object"}))),
    ]
}

pub(super) fn result(id: &str, output: ToolOutput) -> ToolResult {
    ToolResult::new(id, "weather", output)
}

pub(super) fn call(id: &str, input: &str) -> AssistantPart {
    AssistantPart::ToolCall(ToolCall::new(id, "weather", input))
}

pub(super) fn assistant(parts: impl IntoIterator<Item = AssistantPart>) -> Message {
    Message::Assistant(AssistantMessage {
        parts: parts.into_iter().collect(),
        options: ProviderOptions::default(),
    })
}

fn text(text: &str) -> AssistantPart {
    AssistantPart::Text(TextPart::new(text))
}

/// What another provider attached.
fn foreign() -> Option<Box<ProviderMetadata>> {
    let origin =
        Origin { target: TargetId::new("elsewhere", "other", "https://elsewhere.example"), account: None };
    let values = ProviderOptions::default().with("elsewhere", "signature", "FOREIGN".into());
    Some(Box::new(ProviderMetadata::minted(origin, values)))
}

/// A history with one call, answered like this.
fn answered(output: ToolOutput) -> Vec<Message> {
    let called = assistant([call("call_1", r#"{"city":"Rome"}"#)]);
    vec![Message::user("How is Rome?"), called, Message::tool([result("call_1", output)])]
}

/// Whatever happened elsewhere, a conversation must be able to go on here.
fn histories() -> Vec<(&'static str, Vec<Message>)> {
    let said =
        |parts: Vec<AssistantPart>| vec![Message::user("Hi"), assistant(parts), Message::user("Go on.")];
    let reasoning =
        |metadata| AssistantPart::Reasoning(ReasoningPart { metadata, ..ReasoningPart::new("Hm.") });
    let provider_executed = {
        let mut call = ToolCall::new("srv_1", "web_search", r#"{"q":"Rome"}"#);
        call.provider_executed = true;
        call.metadata = foreign();
        let mut result = ToolResult::new("srv_1", "web_search", ToolOutput::Json(json!([{"title": "Rome"}])));
        result.provider_executed = true;
        vec![AssistantPart::ToolCall(call), AssistantPart::ToolResult(result), text("Found.")]
    };
    let source =
        Source::Url { id: "s".into(), url: "https://x.example".into(), title: None, metadata: foreign() };
    let custom = CustomPart {
        kind: "elsewhere.thing".into(),
        options: ProviderOptions::default(),
        metadata: foreign(),
    };
    let options = ProviderOptions::default().with("elsewhere", "cache", json!({"ttl": "1h"}));
    let with_options = vec![
        Message::System(SystemMessage { text: "Be brief.".into(), options: options.clone() }),
        Message::User(UserMessage {
            parts: vec![UserPart::Text(TextPart { options: options.clone(), ..TextPart::new("Hi") })],
            options,
        }),
    ];
    let blanks = vec![
        Message::user("Hi"),
        assistant([text("")]),
        Message::user("Go on."),
        assistant([text(" \n")]),
        Message::user("Go on."),
        assistant([text(""), call("call_1", "{}")]),
        Message::tool([result("call_1", ToolOutput::Text(String::new()))]),
    ];
    let parallel = vec![
        Message::user("How are Rome and Oslo?"),
        assistant([
            text("I look."),
            call("call_1", r#"{"city":"Rome"}"#),
            call("call_2", r#"{"city":"Oslo"}"#),
        ]),
        Message::tool([
            result("call_2", ToolOutput::Text("Rain.".into())),
            result("call_1", ToolOutput::Text("Sun.".into())),
        ]),
    ];
    let two_messages = vec![
        Message::user("How are Rome and Oslo?"),
        assistant([call("call_1", "{}"), call("call_2", "{}")]),
        Message::tool([result("call_1", ToolOutput::Text("Sun.".into()))]),
        Message::tool([result("call_2", ToolOutput::Text("Rain.".into()))]),
    ];
    let unanswered = vec![
        Message::user("Hi"),
        assistant([call("call_1", "{}"), call("call_2", "{}")]),
        Message::user("Go on."),
    ];
    let orphan = vec![
        Message::user("Hi"),
        Message::tool([result("lost", ToolOutput::Text("x".into()))]),
        Message::user("Go on."),
    ];
    let approval = {
        let request = ToolApprovalRequest { approval_id: "ok_1".into(), tool_call_id: "call_1".into() };
        let answer =
            ToolApprovalResponse { approval_id: "ok_1".into(), approved: false, reason: Some("No.".into()) };
        let parts = vec![
            ToolPart::ToolApprovalResponse(answer),
            ToolPart::ToolResult(result(
                "call_1",
                ToolOutput::ExecutionDenied { reason: Some("No.".into()) },
            )),
        ];
        vec![
            Message::user("Hi"),
            assistant([call("call_1", "{}"), AssistantPart::ToolApprovalRequest(request)]),
            Message::Tool(ToolMessage { parts, options: ProviderOptions::default() }),
        ]
    };
    vec![
        ("a user's text", vec![Message::user("Hi")]),
        ("instructions", vec![Message::system("Be brief."), Message::user("Hi")]),
        (
            "two instructions",
            vec![Message::system("Be brief."), Message::system("Be kind."), Message::user("Hi")],
        ),
        (
            "instructions in the middle",
            vec![Message::user("Hi"), Message::system("Be brief."), Message::user("Hi?")],
        ),
        ("two messages of the user in a row", vec![Message::user("Hi"), Message::user("Still there?")]),
        ("text beyond ASCII", vec![Message::user("北🙂é \u{0} \u{feff} \"\\ \u{2028}")]),
        ("an answer", said(vec![text("Hello.")])),
        (
            "two answers in a row",
            vec![Message::user("Hi"), assistant([text("A.")]), assistant([text("B.")]), Message::user("C?")],
        ),
        ("reasoning of nobody", said(vec![reasoning(None), text("Hello.")])),
        ("reasoning minted elsewhere", said(vec![reasoning(foreign()), text("Hello.")])),
        ("reasoning alone", said(vec![reasoning(foreign())])),
        ("an empty answer", said(vec![])),
        ("a source", said(vec![text("See there."), AssistantPart::Source(source)])),
        (
            "a part that only its provider understands",
            said(vec![AssistantPart::Custom(custom), text("Hello.")]),
        ),
        ("a call that another provider ran", said(provider_executed)),
        ("options of another provider", with_options),
        ("blank texts", blanks),
        ("parallel calls, their results in another order", parallel),
        ("results in two messages", two_messages),
        ("calls without results", unanswered),
        ("a result without a call", orphan),
        ("a refused approval", approval),
        ("a result as text", answered(ToolOutput::Text("Sun.".into()))),
        ("a result as JSON", answered(ToolOutput::Json(json!({"sky": ["sun", null, 7]})))),
        ("a result of null", answered(ToolOutput::Json(Value::Null))),
        ("an error as text", answered(ToolOutput::ErrorText("no network".into()))),
        ("an error as JSON", answered(ToolOutput::ErrorJson(json!({"code": 7})))),
        ("a denied call", answered(ToolOutput::ExecutionDenied { reason: None })),
        ("a result in parts", answered(ToolOutput::Content(vec![ToolContent::Text(TextPart::new("Sun."))]))),
        ("a result without parts", answered(ToolOutput::Content(vec![]))),
        ("a call whose input is no JSON", {
            let called = assistant([call("call_1", r#"{"city":"#)]);
            vec![
                Message::user("Hi"),
                called,
                Message::tool([result("call_1", ToolOutput::ErrorText("bad".into()))]),
            ]
        }),
        ("a call whose input is no object", {
            let called = assistant([call("call_1", "5")]);
            vec![
                Message::user("Hi"),
                called,
                Message::tool([result("call_1", ToolOutput::ErrorText("bad".into()))]),
            ]
        }),
    ]
}

/// Each setting alone.
fn settings() -> Vec<(&'static str, Settings)> {
    fn set(change: impl FnOnce(&mut Settings)) -> Settings {
        let mut settings = Settings::default();
        change(&mut settings);
        settings
    }
    let mut all = vec![
        ("max output tokens", set(|it| it.max_output_tokens = Some(1_000))),
        ("temperature", set(|it| it.temperature = Some(0.5))),
        ("top p", set(|it| it.top_p = Some(0.9))),
        ("top k", set(|it| it.top_k = Some(40))),
        ("presence penalty", set(|it| it.presence_penalty = Some(0.1))),
        ("frequency penalty", set(|it| it.frequency_penalty = Some(0.1))),
        ("stop sequences", set(|it| it.stop_sequences = vec!["END".into()])),
        ("seed", set(|it| it.seed = Some(7))),
    ];
    for effort in [
        ReasoningEffort::None,
        ReasoningEffort::Minimal,
        ReasoningEffort::Low,
        ReasoningEffort::Medium,
        ReasoningEffort::High,
        ReasoningEffort::XHigh,
    ] {
        all.push(("reasoning", set(|it| it.reasoning = effort)));
    }
    all
}

/// What was asked for in so many words.
fn explicit() -> Vec<(&'static str, Request)> {
    let file = |media_type: &str, data| {
        let part = UserPart::File(FilePart::new(media_type, data));
        let parts = vec![UserPart::Text(TextPart::new("What is this?")), part];
        Request::new([Message::User(UserMessage { parts, options: ProviderOptions::default() })])
    };
    let image = || FilePart::new("image/png", FileData::bytes(PNG));
    let reference = BTreeMap::from([("elsewhere".to_owned(), "file-1".to_owned())]);
    let with_tools = |choice| {
        let mut request = Request::new([Message::user("Hi")]).with_tools(tools());
        request.tool_choice = choice;
        request
    };
    let json_as = |schema| {
        let mut request = Request::new([Message::user("Hi")]);
        request.response_format =
            ResponseFormat::Json { schema, name: Some("city".into()), description: None };
        request
    };
    let schema = json!({
        "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": false,
    });
    let provider_tool =
        ProviderTool { id: "elsewhere.search".into(), name: "search".into(), args: Default::default() };
    let shown =
        ToolOutput::Content(vec![ToolContent::Text(TextPart::new("Look.")), ToolContent::File(image())]);
    vec![
        ("an image", file("image/png", FileData::bytes(PNG))),
        ("an image of no exact type", file("image/*", FileData::bytes(PNG))),
        ("an image by URL", file("image/png", FileData::Url { url: "https://x.example/a.png".into() })),
        ("a PDF", file("application/pdf", FileData::bytes("%PDF-1.7"))),
        ("audio", file("audio/wav", FileData::bytes("RIFF"))),
        ("a video", file("video/mp4", FileData::bytes("ftyp"))),
        ("a text file", file("text/plain", FileData::Text { text: "notes".into() })),
        ("a file kept by another provider", file("application/pdf", FileData::Reference { ids: reference })),
        ("a file of an unknown type", file("application/x-unknown", FileData::bytes("?"))),
        ("a result with an image", Request::new(answered(shown))),
        ("an image in an answer", {
            let parts = [text("Here."), AssistantPart::File(image())];
            Request::new([Message::user("Hi"), assistant(parts), Message::user("Thanks.")])
        }),
        (
            "a tool of another provider",
            Request::new([Message::user("Hi")]).with_tools([ToolDefinition::Provider(provider_tool)]),
        ),
        ("no tool to be called", with_tools(ToolChoice::None)),
        ("some tool to be called", with_tools(ToolChoice::Required)),
        ("one tool to be called", with_tools(ToolChoice::Tool { name: "weather".into() })),
        ("an unknown tool to be called", with_tools(ToolChoice::Tool { name: "nope".into() })),
        ("JSON", json_as(None)),
        ("JSON of a schema", json_as(Some(schema))),
    ]
}
