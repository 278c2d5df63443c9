use std::time::{Duration, UNIX_EPOCH};

use ai_provider::*;
use serde_json::json;

use super::{custom, custom_json, file, file_json, is, options, options_json};
use crate::support::strategies::{CLASSES, EFFORTS};

/// [PV-6]
#[test]
fn names_of_outputs_files_warnings_and_choices() {
    is(&ToolOutput::ErrorJson(json!([0])), json!({ "type": "error-json", "value": [0] }));
    is(
        &ToolOutput::ExecutionDenied { reason: Some("no".into()) },
        json!({ "type": "execution-denied", "value": { "reason": "no" } }),
    );
    is(
        &ToolOutput::Content(vec![
            ToolContent::Text(TextPart::new("t")),
            ToolContent::File(file()),
            ToolContent::Custom(custom()),
        ]),
        json!({ "type": "content", "value": [
            { "type": "text", "text": "t" }, file_json("file"), custom_json(),
        ]}),
    );
    is(&FileData::Url { url: "u".into() }, json!({ "type": "url", "url": "u" }));
    is(
        &FileData::Reference { ids: [("openai".into(), "file-1".into())].into() },
        json!({ "type": "reference", "ids": { "openai": "file-1" } }),
    );
    is(&FileData::Text { text: "t".into() }, json!({ "type": "text", "text": "t" }));
    is(
        &Warning::unsupported("topK", "left out"),
        json!({ "type": "unsupported", "feature": "topK", "details": "left out" }),
    );
    is(
        &Warning::compatibility("reasoning", "high"),
        json!({ "type": "compatibility", "feature": "reasoning", "details": "high" }),
    );
    is(
        &Warning::Deprecated { setting: "a".into(), message: "use b".into() },
        json!({ "type": "deprecated", "setting": "a", "message": "use b" }),
    );
    is(&ToolChoice::Auto, json!({ "type": "auto" }));
    is(&ToolChoice::None, json!({ "type": "none" }));
    is(&ToolChoice::Required, json!({ "type": "required" }));
    is(&ToolChoice::Tool { name: "t".into() }, json!({ "type": "tool", "name": "t" }));
}

/// [PV-6]
#[test]
fn names_in_events() {
    let target = TargetId::new("openai", "big", "https://a.example");
    let target_json = json!({ "provider": "openai", "model": "big", "endpoint": "https://a.example" });
    let error = ModelError::new(ErrorClass::RateLimit, "slow down")
        .with_status(429)
        .with_code("rate_limit")
        .with_request_id("req_1")
        .with_url("https://a.example/v1");
    let error_json = json!({
        "class": "rate-limit", "message": "slow down", "status": 429, "code": "rate_limit",
        "requestId": "req_1", "retryable": true, "url": "https://a.example/v1",
    });
    let event = |attempt, key: Option<&str>, kind| {
        AttemptEvent::new(attempt, target.clone(), "r".into(), kind).with_key(key.map(KeyLabel::from))
    };
    let waiting = AttemptKind::Waiting {
        delay: Duration::from_millis(1_500),
        source: DelaySource::Hint,
        until: UNIX_EPOCH + Duration::from_secs(7),
        remaining: Some(Duration::from_secs(60)),
    };
    let failed = AttemptKind::Failed {
        error: error.record(),
        safe: true,
        hint: Some(Duration::from_secs(2)),
        usage: None,
    };
    let settled = AttemptKind::Settled { end: AttemptEnd::Failed { error: error.record() } };
    let events = [
        (
            event(1, Some("key-1"), AttemptKind::Started).in_step(3),
            json!({
                "kind": "attempt", "type": "started", "step": 3, "attempt": 1, "target": target_json,
                "key": "key-1", "requestId": "r",
            }),
        ),
        (
            event(1, None, failed),
            json!({
                "kind": "attempt", "type": "failed", "attempt": 1, "target": target_json, "requestId": "r",
                "error": error_json, "safe": true, "hint": { "secs": 2, "nanos": 0 },
            }),
        ),
        (
            event(2, Some("key-2"), AttemptKind::Rotated { from: Some("key-1".into()) }),
            json!({
                "kind": "attempt", "type": "rotated", "attempt": 2, "target": target_json, "key": "key-2",
                "requestId": "r", "from": "key-1",
            }),
        ),
        (
            event(2, None, AttemptKind::FellBack { from: target.clone() }),
            json!({
                "kind": "attempt", "type": "fell-back", "attempt": 2, "target": target_json, "requestId": "r",
                "from": target_json,
            }),
        ),
        (
            event(2, None, AttemptKind::Skipped { name: "b".into(), why: "no tools".into() }),
            json!({
                "kind": "attempt", "type": "skipped", "attempt": 2, "target": target_json, "requestId": "r",
                "name": "b", "why": "no tools",
            }),
        ),
        (
            event(2, None, waiting),
            json!({
                "kind": "attempt", "type": "waiting", "attempt": 2, "target": target_json, "requestId": "r",
                "delay": { "secs": 1, "nanos": 500_000_000 }, "source": "hint",
                "until": { "secs_since_epoch": 7, "nanos_since_epoch": 0 },
                "remaining": { "secs": 60, "nanos": 0 },
            }),
        ),
        (
            event(2, None, settled),
            json!({
                "kind": "attempt", "type": "settled", "attempt": 2, "target": target_json, "requestId": "r",
                "end": { "type": "failed", "error": error_json },
            }),
        ),
    ];
    events.into_iter().for_each(|(event, expected)| is(&Event::Attempt(event), expected));
    let answered = AttemptEnd::Answered { finish: UnifiedFinish::ToolCalls };
    is(&answered, json!({ "type": "answered", "finish": "tool-calls" }));
    is(&AttemptEnd::Cancelled, json!({ "type": "cancelled" }));
    is(&DelaySource::Backoff, json!("backoff"));
}

/// [PV-6]
#[test]
fn names_in_what_goes_with_a_request() {
    is(
        &ToolDefinition::Function(FunctionTool {
            input_examples: vec![json!({ "q": "x" })],
            strict: Some(true),
            options: options(),
            ..FunctionTool::new("search", "Finds things.", json!({ "type": "object" }))
        }),
        json!({
            "type": "function", "name": "search", "description": "Finds things.",
            "inputSchema": { "type": "object" }, "inputExamples": [{ "q": "x" }], "strict": true,
            "providerOptions": options_json(),
        }),
    );
    let args = [("size".to_owned(), json!("high"))].into_iter().collect();
    is(
        &ToolDefinition::Provider(ProviderTool { id: "openai.web_search".into(), name: "web".into(), args }),
        json!({ "type": "provider", "id": "openai.web_search", "name": "web", "args": { "size": "high" } }),
    );
    let mut settings = Settings::default();
    settings.max_output_tokens = Some(100);
    settings.temperature = Some(0.5);
    settings.top_p = Some(0.9);
    settings.top_k = Some(40);
    settings.presence_penalty = Some(0.1);
    settings.frequency_penalty = Some(0.2);
    settings.stop_sequences = vec!["END".into()];
    settings.seed = Some(-1);
    settings.reasoning = ReasoningEffort::XHigh;
    is(
        &settings,
        json!({
            "maxOutputTokens": 100, "temperature": 0.5, "topP": 0.9, "topK": 40, "presencePenalty": 0.1,
            "frequencyPenalty": 0.2, "stopSequences": ["END"], "seed": -1, "reasoning": "xhigh",
        }),
    );
    is(
        &ResponseFormat::Json {
            schema: Some(json!({ "type": "object" })),
            name: Some("river".into()),
            description: Some("A river.".into()),
        },
        json!({
            "type": "json", "schema": { "type": "object" }, "name": "river", "description": "A river.",
        }),
    );
    is(&ResponseFormat::Text, json!({ "type": "text" }));
}

/// [PV-6]
#[test]
fn names_in_usage_and_lists() {
    let usage = Usage {
        input: InputTokens { total: Some(10), no_cache: Some(5), cache_read: Some(3), cache_write: Some(2) },
        output: OutputTokens { total: Some(9), text: Some(4), reasoning: Some(5) },
        raw: Some(json!({ "prompt_tokens": 10 }).into()),
    };
    is(
        &usage,
        json!({
            "input": { "total": 10, "noCache": 5, "cacheRead": 3, "cacheWrite": 2 },
            "output": { "total": 9, "text": 4, "reasoning": 5 }, "raw": { "prompt_tokens": 10 },
        }),
    );
    let info = ModelInfo {
        id: "big".into(),
        display_name: Some("Big".into()),
        kind: Some(ModelKind::Language),
        capabilities: Some(Capabilities::default()),
    };
    let nothing = json!({ "image": false, "audio": false, "video": false, "pdf": false });
    is(
        &info,
        json!({ "id": "big", "displayName": "Big", "kind": "language", "capabilities": {
            "tools": true, "parallelToolCalls": true, "structuredOutput": "none", "reasoning": false,
            "input": nothing, "toolResult": nothing, "usageInStream": true, "contextWindow": null,
            "maxOutputTokens": null,
        }}),
    );
    is(&[StructuredOutput::JsonObject, StructuredOutput::JsonSchema], json!(["json-object", "json-schema"]));
    is(&ModelKind::Embedding, json!("embedding"));
    is(
        &Embeddings { vectors: vec![vec![0.5, -1.0]], usage: Usage::default(), warnings: Vec::new() },
        json!({ "vectors": [[0.5, -1.0]], "usage": { "input": {}, "output": {} } }),
    );
    is(
        &IncompleteCall { id: "c".into(), name: "t".into(), input: "{".into() },
        json!({ "id": "c", "name": "t", "input": "{" }),
    );
}

/// [PV-8]
#[test]
fn the_name_a_value_gives_itself_is_the_stored_one() {
    for class in CLASSES {
        is(&class, json!(class.as_str()));
        assert_eq!(class.to_string(), class.as_str());
    }
    use UnifiedFinish::*;
    for reason in [Stop, Length, ContentFilter, ToolCalls, Error, Other] {
        is(&reason, json!(reason.as_str()));
    }
    for effort in EFFORTS {
        is(&effort, json!(effort.as_str().unwrap_or("provider-default")));
    }
    let names: std::collections::BTreeSet<_> = CLASSES.map(ErrorClass::as_str).into();
    assert_eq!(names.len(), CLASSES.len());
}
