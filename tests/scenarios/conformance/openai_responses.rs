use ai_http::Endpoint;
use ai_openai::{OpenAi, ResponsesCodec, ResponsesDialect};
use ai_provider::{ErrorClass, Provider, UnifiedFinish};
use ai_testkit::conformance::{Conformance, Sample};
use serde_json::{Value, json};

use super::{VARIES, events};

fn message(output: u32, deltas: &[&str]) -> Vec<Value> {
    let id = format!("msg_{output}");
    let item = |content: Value| json!({"id": id, "type": "message", "role": "assistant", "content": content});
    let mut frames =
        vec![json!({"type": "response.output_item.added", "output_index": output, "item": item(json!([]))})];
    frames.extend(deltas.iter().map(|delta| {
        json!({"type": "response.output_text.delta", "item_id": id, "output_index": output, "content_index": 0, "delta": delta})
    }));
    let text = json!([{"type": "output_text", "text": deltas.concat(), "annotations": []}]);
    frames.push(json!({"type": "response.output_item.done", "output_index": output, "item": item(text)}));
    frames
}

fn reasoning(output: u32, summary: &str) -> Vec<Value> {
    let id = format!("rs_{output}");
    let item = |summary: Value| json!({"id": id, "type": "reasoning", "summary": summary, "encrypted_content": "E=="});
    let at = |kind: &str, mut more: Value| {
        more["type"] = kind.into();
        more["item_id"] = id.clone().into();
        more["output_index"] = output.into();
        more["summary_index"] = 0.into();
        more
    };
    vec![
        json!({"type": "response.output_item.added", "output_index": output, "item": item(json!([]))}),
        at("response.reasoning_summary_part.added", json!({"part": {"type": "summary_text", "text": ""}})),
        at("response.reasoning_summary_text.delta", json!({"delta": summary})),
        at(
            "response.reasoning_summary_part.done",
            json!({"part": {"type": "summary_text", "text": summary}}),
        ),
        json!({"type": "response.output_item.done", "output_index": output, "item": item(json!([{"type": "summary_text", "text": summary}]))}),
    ]
}

fn call(output: u32, id: &str, fragments: &[&str]) -> Vec<Value> {
    let item = |arguments: &str| json!({"id": format!("fc_{output}"), "type": "function_call", "call_id": id, "name": "weather", "arguments": arguments});
    let mut frames =
        vec![json!({"type": "response.output_item.added", "output_index": output, "item": item("")})];
    frames.extend(fragments.iter().map(|delta| {
        json!({"type": "response.function_call_arguments.delta", "item_id": format!("fc_{output}"), "output_index": output, "delta": delta})
    }));
    frames.push(json!({"type": "response.output_item.done", "output_index": output, "item": item(&fragments.concat())}));
    frames
}

fn stream(items: &[Vec<Value>], end: Value) -> String {
    let created = json!({"type": "response.created", "response": {"id": "resp_1", "created_at": 1, "model": "m-1", "status": "in_progress"}});
    let progress =
        json!({"type": "response.in_progress", "response": {"id": "resp_1", "status": "in_progress"}});
    events(&[vec![created, progress], items.concat(), vec![end]].concat())
}

fn completed() -> Value {
    json!({"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "usage": usage()}})
}

fn usage() -> Value {
    json!({"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 2}})
}

fn with_samples(suite: Conformance) -> Conformance {
    let calls = [
        reasoning(0, "Two cities."),
        message(1, &["I look."]),
        call(2, "call_a", &["{\"city\":", "\"Röm\\\"e\"}"]),
        call(3, "call_b", &["{\"city\":\"Oslo\"}"]),
    ];
    let incomplete = json!({"type": "response.incomplete", "response": {"id": "resp_1", "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "usage": usage()}});
    let failed = json!({"type": "response.failed", "response": {"id": "resp_1", "status": "failed", "error": {"code": "rate_limit_exceeded", "message": "slow down, {{KEY}}"}}});
    let whole = json!({
        "id": "resp_1", "object": "response", "created_at": 1, "model": "m-1", "status": "completed", "usage": usage(),
        "output": [
            {"id": "msg_1", "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Grüße 🙂", "annotations": []}]},
            {"id": "fc_1", "type": "function_call", "call_id": "a", "name": "weather", "arguments": "{\"city\":\"Rome\"}"},
        ],
    });
    let quota =
        r#"{"error":{"message":"used up {{KEY}}","type":"insufficient_quota","code":"insufficient_quota"}}"#;
    let too_long = r#"{"error":{"message":"too long","code":"context_length_exceeded"}}"#;
    suite
        .sample(
            Sample::stream("text", stream(&[message(0, &["北🙂", "é\n"])], completed()))
                .text("北🙂é\n")
                .finish(UnifiedFinish::Stop),
        )
        .sample(
            Sample::stream("calls", stream(&calls, completed()))
                .text("I look.")
                .finish(UnifiedFinish::ToolCalls),
        )
        .sample(
            Sample::stream("length", stream(&[message(0, &["To be, ", "or"])], incomplete))
                .finish(UnifiedFinish::Length),
        )
        .sample(
            Sample::stream("failed", stream(&[message(0, &["par"])], failed))
                .text("par")
                .fails(ErrorClass::RateLimit),
        )
        .sample(Sample::whole("whole", whole.to_string()).text("Grüße 🙂").finish(UnifiedFinish::ToolCalls))
        .sample(Sample::error("quota", 429, quota, ErrorClass::Quota))
        .sample(Sample::error("too long", 400, too_long, ErrorClass::ContextTooLong))
}

#[tokio::test]
async fn the_codec_conforms() {
    let suite = Conformance::of_codec(|site| {
        let dialect = ResponsesDialect::by_name("openai").expect("a name of the table");
        Ok(ResponsesCodec::new(dialect, Endpoint::base(&site.url)?))
    });
    with_samples(suite).check().await;
}

#[tokio::test]
async fn the_models_of_every_dialect_conform() {
    for name in ResponsesDialect::names() {
        let suite = Conformance::of_model(move |site| {
            let dialect = ResponsesDialect::by_name(name).expect("a name of the table");
            let provider = OpenAi::builder()
                .responses(dialect)
                .base_url(&site.url)
                .api_key(site.key.clone())
                .transport(site.transport.clone())
                .limits(site.limits)
                .build()?;
            provider.language_model(&site.model)
        });
        let report = with_samples(suite).checks(VARIES).run().await;
        assert!(report.failures.is_empty(), "{name}: {report}");
    }
}
