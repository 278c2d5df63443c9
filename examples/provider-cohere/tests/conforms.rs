//! What the adapter must hold, on bodies of our own and on recorded ones.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    reason = "tests fail by panicking"
)]

use std::sync::Arc;

use ai_http::{Client, Endpoint};
use ai_provider::{
    ErrorClass, LanguageModel, Message, ModelError, Provider, ReasoningEffort, Request, StreamPart,
    ToolChoice, UnifiedFinish, Warning,
};
use ai_testkit::conformance::{Conformance, Sample, Site};
use ai_testkit::recordings::{Outcome, compare, expected, require};
use ai_testkit::replay::{Loopback, PLACE, Recording, ask, print};
use ai_testkit::{Cut, MemoryReply, MemoryTransport, check_order, collect};
use provider_cohere::{Cohere, CohereCodec};
use serde_json::{Value, json};

/// Events as they come over the wire.
fn events(frames: &[Value]) -> String {
    frames
        .iter()
        .map(|frame| format!("event: {}\ndata: {frame}\n\n", frame["type"].as_str().unwrap()))
        .collect()
}

fn content(index: u32, kind: &str, deltas: &[&str]) -> Vec<Value> {
    let delta = |text: &str| json!({"type": "content-delta", "index": index, "delta": {"message": {"content": {kind: text}}}});
    let start = json!({"type": "content-start", "index": index, "delta": {"message": {"content": {"type": kind, kind: ""}}}});
    let mut frames = vec![start];
    frames.extend(deltas.iter().map(|text| delta(text)));
    frames.push(json!({"type": "content-end", "index": index}));
    frames
}

fn call(index: u32, id: &str, fragments: &[Value]) -> Vec<Value> {
    let calls = |call: Value| json!({"message": {"tool_calls": call}});
    let start =
        calls(json!({"id": id, "type": "function", "function": {"name": "weather", "arguments": ""}}));
    let mut frames = vec![json!({"type": "tool-call-start", "index": index, "delta": start})];
    frames.extend(fragments.iter().map(|fragment| {
        let delta = calls(json!({"function": {"arguments": fragment}}));
        json!({"type": "tool-call-delta", "index": index, "delta": delta})
    }));
    frames.push(json!({"type": "tool-call-end", "index": index}));
    frames
}

fn stream(parts: &[Vec<Value>], reason: &str) -> String {
    let start = json!({"id": "r1", "type": "message-start", "delta": {"message": {"role": "assistant", "content": [], "tool_calls": []}}});
    let usage = json!({"billed_units": {"input_tokens": 1.0}, "tokens": {"input_tokens": 10.0, "output_tokens": 5.0}, "cached_tokens": 4});
    let end = json!({"type": "message-end", "delta": {"finish_reason": reason, "usage": usage}});
    events(&[vec![start], parts.concat(), vec![end]].concat())
}

fn whole() -> Value {
    json!({
        "id": "r1",
        "finish_reason": "TOOL_CALL",
        "message": {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Grüße 🙂"}],
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Rome\"}"}}],
        },
        "usage": {"tokens": {"input_tokens": 10, "output_tokens": 5}},
    })
}

fn with_samples(suite: Conformance) -> Conformance {
    let text = stream(&[content(0, "text", &["北", "🙂é", "\n"])], "COMPLETE");
    let plan = json!({"type": "tool-plan-delta", "delta": {"message": {"tool_plan": "I plan."}}});
    let calls = stream(
        &[
            content(0, "thinking", &["Two", " cities."]),
            content(1, "text", &["I look."]),
            vec![plan],
            call(0, "a", &[json!("{\"city\":"), json!("\"Rome\"}")]),
            call(1, "", &[json!(null)]),
        ],
        "TOOL_CALL",
    );
    let length = stream(&[content(0, "text", &["To be, ", "or"])], "MAX_TOKENS");
    let failed = events(&[
        json!({"type": "message-start", "id": "r1"}),
        json!({"type": "message-end", "delta": {"finish_reason": "ERROR", "error": "no capacity for {{KEY}}"}}),
    ]);
    suite
        .sample(Sample::stream("text", text).text("北🙂é\n").finish(UnifiedFinish::Stop))
        .sample(Sample::stream("calls", calls).text("I look.").finish(UnifiedFinish::ToolCalls))
        .sample(Sample::stream("length", length).text("To be, or").finish(UnifiedFinish::Length))
        .sample(Sample::stream("error in the stream", failed).fails(ErrorClass::Server))
        .sample(Sample::whole("whole", whole().to_string()).text("Grüße 🙂").finish(UnifiedFinish::ToolCalls))
        .sample(Sample::error("bad key", 401, r#"{"message":"invalid api token {{KEY}}"}"#, ErrorClass::Auth))
        .sample(Sample::error("rate limit", 429, r#"{"message":"too many requests"}"#, ErrorClass::RateLimit))
}

#[tokio::test]
async fn the_codec_conforms() {
    with_samples(Conformance::of_codec(|site| Ok(CohereCodec::new(&Endpoint::base(&site.url)?))))
        .check()
        .await;
}

fn model_at(site: &Site) -> Result<Arc<dyn LanguageModel>, ModelError> {
    let client = Client::builder()
        .api_key(site.key.clone())
        .transport(Arc::clone(&site.transport))
        .limits(site.limits)
        .build()?;
    Cohere::new(&site.url, client)?.language_model(&site.model)
}

#[tokio::test]
async fn the_provider_conforms() {
    with_samples(Conformance::of_model(model_at)).places(50).check().await;
}

fn model(transport: impl ai_http::Transport + 'static) -> Arc<dyn LanguageModel> {
    let client = Client::builder().transport(Arc::new(transport)).build().unwrap();
    Cohere::new(PLACE, client).unwrap().language_model("command-a").unwrap()
}

#[tokio::test]
async fn every_recording_gives_what_its_row_says_however_it_is_cut() {
    let Some(folder) = require() else { return };
    let rows: Vec<_> =
        expected(&folder).unwrap().into_iter().filter(|row| row.api == "cohere-chat").collect();
    assert!(rows.len() >= 2, "{} rows", rows.len());
    for row in rows {
        let recording = Recording::read(&row.api, &folder.join(&row.file)).unwrap();
        let cuts = [Cut::Whole, Cut::Event, Cut::Every(1)].into_iter().chain((0..100).map(Cut::Random));
        let loopback = Loopback::start(cuts.clone().map(|cut| recording.reply(row.status, cut))).unwrap();
        let model = model(loopback);
        let mut first: Option<Vec<u8>> = None;
        for cut in cuts {
            let mut lines = Vec::new();
            assert!(print(ask(&*model, "Hi", false), &mut lines).await.unwrap());
            assert_eq!(*first.get_or_insert_with(|| lines.clone()), lines, "{} cut {cut:?}", row.file);
        }
        let body = row.body(&folder).unwrap();
        let answer = model_of(MemoryReply::sse(body));
        let (parts, error) = collect(ask(&*answer, "Hi", false)).await;
        check_order(&parts).unwrap();
        let found = compare(&row, &Outcome::from_parts(&parts, error.as_ref()));
        assert!(found.is_empty(), "{}: {found:#?}", row.file);
    }
}

fn model_of(reply: MemoryReply) -> Arc<dyn LanguageModel> {
    model(MemoryTransport::new().reply(reply))
}

/// The body a request becomes, and what is warned of.
async fn sent(request: Request) -> (Value, Vec<Warning>) {
    let transport = MemoryTransport::new().reply(MemoryReply::ok(whole().to_string()));
    let (parts, _) = collect(model(transport.clone()).stream(request, Default::default())).await;
    let Some(StreamPart::StreamStart { warnings }) = parts.first() else { panic!("{parts:?}") };
    (serde_json::from_slice(&transport.calls()[0].body).unwrap(), warnings.clone())
}

#[tokio::test]
async fn settings_and_tools_have_coheres_names() {
    let tool = |name: &str| {
        let tool = ai_provider::FunctionTool::new(name, "d", json!({"type": "object"}));
        ai_provider::ToolDefinition::Function(tool)
    };
    let mut request = Request::new([Message::user("Hi")]).with_tools([tool("weather"), tool("clock")]);
    request.settings.top_p = Some(0.5);
    request.settings.top_k = Some(7);
    request.settings.stop_sequences = vec!["END".into()];
    request.settings.max_output_tokens = Some(10_000);
    request.settings.reasoning = ReasoningEffort::Medium;
    request.tool_choice = ToolChoice::Tool { name: "clock".into() };
    request.options = request.options.with("cohere", "safety_mode", "STRICT".into());
    let (body, warnings) = sent(request).await;
    let expected = json!({
        "model": "command-a", "stream": true, "p": 0.5, "k": 7, "stop_sequences": ["END"], "max_tokens": 10_000,
        "thinking": {"type": "enabled", "token_budget": 3_000}, "tool_choice": "REQUIRED", "safety_mode": "STRICT",
        "tools": [{"type": "function", "function": {"name": "clock", "description": "d", "parameters": {"type": "object"}}}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
    });
    assert_eq!((body, warnings), (expected, Vec::new()));
}

#[tokio::test]
async fn reasoning_goes_back_to_the_one_who_reasoned() {
    let mut request = Request::new([Message::user("Hi")]);
    request.delivery = ai_provider::Delivery::Whole;
    let answer = model_of(MemoryReply::ok(whole().to_string()));
    let said = ai_testkit::fold(answer.stream(request, Default::default())).await.0;
    assert_eq!((said.usage.input.total, said.usage.output.total), (Some(10), Some(5)));
    let (body, _) = sent(Request::new([Message::user("Hi"), Message::Assistant(said.message)])).await;
    assert_eq!(body["messages"][1]["content"][0], json!({"type": "thinking", "thinking": "Hm."}));
    assert_eq!(body["messages"][2]["role"], "tool", "a call without a result gets one");
}

/// The walk through this crate shows it as it is.
#[test]
fn the_snippets_of_the_walk_are_parts_of_this_crate() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let walk = std::fs::read_to_string(here.join("../../crates/providers/README.md")).unwrap();
    let mut count = 0;
    for block in walk.split("```rust,from=").skip(1) {
        let (file, rest) = block.split_once('\n').unwrap();
        let snippet = rest.split("```").next().unwrap();
        let source = std::fs::read_to_string(here.join(file)).unwrap();
        assert!(source.contains(snippet), "{file} holds no such thing:\n{snippet}");
        count += 1;
    }
    assert!(count >= 10, "{count} snippets");
}
