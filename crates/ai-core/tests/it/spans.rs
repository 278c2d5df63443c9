//! What a run tells `tracing`.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use ai_core::{RunOptions, ToolError, ToolLoop, ToolSet, agent_tool, tool_fn};
use ai_provider::{ErrorClass, ModelError, ResponseMetadata, Settings, StreamPart, TargetId, UnifiedFinish};
use ai_testkit::{Script, ScriptedModel};
use futures_util::StreamExt;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

use crate::support::{Text, calls, echo, run};

#[derive(Clone, Debug, Default)]
struct Seen {
    name: &'static str,
    parent: Option<usize>,
    fields: BTreeMap<String, String>,
    closed: bool,
}

impl Seen {
    fn get(&self, field: &str) -> &str {
        self.fields.get(field).map_or("", String::as_str)
    }
}

impl Visit for Seen {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields.insert(field.name().to_owned(), format!("{value:?}"));
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name().to_owned(), value.to_owned());
    }
}

#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<Seen>>>);

struct At(usize);

impl<S: tracing::Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        let span = ctx.span(id).unwrap();
        let at = |span: &tracing_subscriber::registry::SpanRef<'_, S>| {
            span.extensions().get::<At>().map(|at| at.0)
        };
        let mut seen =
            Seen { name: span.name(), parent: span.parent().and_then(|span| at(&span)), ..Seen::default() };
        attributes.record(&mut seen);
        let mut spans = self.0.lock().unwrap();
        span.extensions_mut().insert(At(spans.len()));
        spans.push(seen);
    }
    fn on_record(&self, id: &Id, values: &Record<'_>, ctx: Context<'_, S>) {
        let at = ctx.span(id).unwrap().extensions().get::<At>().map(|at| at.0);
        if let Some(at) = at {
            values.record(&mut self.0.lock().unwrap()[at]);
        }
    }
    fn on_close(&self, id: Id, ctx: Context<'_, S>) {
        let at = ctx.span(&id).unwrap().extensions().get::<At>().map(|at| at.0);
        if let Some(at) = at {
            self.0.lock().unwrap()[at].closed = true;
        }
    }
}

fn traced(agent: &ToolLoop) -> Vec<Seen> {
    let spans = Spans::default();
    let subscriber = tracing_subscriber::registry().with(spans.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    tracing::subscriber::with_default(subscriber, || {
        runtime.block_on(run(agent, RunOptions::default()));
    });
    let spans = spans.0.lock().unwrap().clone();
    assert!(spans.iter().all(|span| span.closed), "{spans:#?}");
    spans
}

fn target() -> TargetId {
    TargetId::new("anthropic", "claude", "https://user:secret@api.example.com:444/v1")
}

fn answered_by() -> StreamPart {
    StreamPart::ResponseMetadata(Box::new(ResponseMetadata {
        id: Some("msg_1".to_owned()),
        model: Some("claude-2".to_owned()),
        ..ResponseMetadata::default()
    }))
}

fn agent() -> ToolLoop {
    let fails =
        tool_fn("fails", "", |_: Text, _| async move { Err::<String, _>(ToolError::new("private trouble")) });
    let script = Script::new()
        .part(answered_by())
        .text("private thoughts")
        .tool_call("a", "echo", r#"{"text":"private input"}"#)
        .tool_call("b", "fails", r#"{"text":""}"#)
        .usage(10, 5)
        .finish(UnifiedFinish::ToolCalls);
    let model = ScriptedModel::new()
        .with_target(target())
        .reply(script)
        .reply(Script::new().text("private end").usage(20, 6).finish(UnifiedFinish::Stop));
    let mut settings = Settings::default();
    settings.temperature = Some(0.5);
    settings.max_output_tokens = Some(99);
    ToolLoop::new(Arc::new(model))
        .with_tools(ToolSet::new().with(echo()).unwrap().with(fails).unwrap())
        .with_settings(settings)
        .with_instructions("private instructions")
        .with_name("helper")
}

/// [AC-390]
#[test]
fn a_run_its_model_calls_and_its_tools_are_spans_with_the_fields_of_the_conventions() {
    let spans = traced(&agent());
    let names: Vec<_> = spans.iter().map(|span| (span.name, span.parent)).collect();
    let inside = Some(0);
    assert_eq!(
        names,
        [
            ("invoke_agent", None),
            ("chat", inside),
            ("execute_tool", inside),
            ("execute_tool", inside),
            ("chat", inside)
        ]
    );
    let check = |span: usize, expected: &[(&str, &str)]| {
        for (field, value) in expected {
            assert_eq!(spans[span].get(field), *value, "{field} of {:#?}", spans[span]);
        }
    };
    check(
        0,
        &[
            ("otel.name", "invoke_agent helper"),
            ("gen_ai.operation.name", "invoke_agent"),
            ("gen_ai.provider.name", "anthropic"),
            ("gen_ai.agent.name", "helper"),
            ("gen_ai.usage.input_tokens", "30"),
            ("gen_ai.usage.output_tokens", "11"),
            ("outcome", "finished"),
        ],
    );
    check(
        1,
        &[
            ("otel.name", "chat claude"),
            ("otel.kind", "client"),
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.provider.name", "anthropic"),
            ("gen_ai.request.model", "claude"),
            ("gen_ai.request.temperature", "0.5"),
            ("gen_ai.request.max_tokens", "99"),
            ("gen_ai.output.type", "text"),
            ("gen_ai.response.id", "msg_1"),
            ("gen_ai.response.model", "claude-2"),
            ("gen_ai.response.finish_reasons", r#"["tool-calls"]"#),
            ("gen_ai.usage.input_tokens", "10"),
            ("gen_ai.usage.output_tokens", "5"),
            ("server.address", "api.example.com"),
        ],
    );
    check(
        2,
        &[
            ("otel.name", "execute_tool echo"),
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", "echo"),
            ("gen_ai.tool.call.id", "a"),
            ("gen_ai.tool.type", "function"),
            ("error.type", ""),
        ],
    );
    check(3, &[("gen_ai.tool.name", "fails"), ("error.type", "failed"), ("otel.status_code", "ERROR")]);
}

/// [AC-392]
#[test]
fn content_is_told_only_when_asked_for() {
    let told = |agent: &ToolLoop| format!("{:?}", traced(agent));
    let text = told(&agent());
    assert!(!text.contains("private") && !text.contains("secret"), "{text}");

    let spans = traced(&agent().with_traced_content());
    assert!(spans[1].get("gen_ai.input.messages").contains("private instructions"));
    let output: serde_json::Value = serde_json::from_str(spans[1].get("gen_ai.output.messages")).unwrap();
    assert_eq!(output[0]["role"], "assistant");
    assert_eq!(output[0]["parts"][0]["content"], "private thoughts");
    assert_eq!(output[0]["parts"][1]["arguments"]["text"], "private input");
    assert_eq!(spans[2].get("gen_ai.tool.call.arguments"), r#"{"text":"private input"}"#);
    assert_eq!(spans[2].get("gen_ai.tool.call.result"), r#""private input""#);
    assert!(spans[0].get("gen_ai.output.messages").contains("private end"));
    assert!(!format!("{spans:?}").contains("secret"));

    let long = ScriptedModel::new().reply(Script::text_reply(&"word ".repeat(100_000)));
    let spans = traced(&ToolLoop::new(Arc::new(long)).with_traced_content());
    assert_eq!(spans[1].get("gen_ai.output.messages").chars().count(), (64 << 10) + 1);
}

/// [AC-393]
#[test]
fn a_model_call_that_fails_says_so_in_its_span_and_the_run_in_its_own() {
    let model = ScriptedModel::new()
        .with_target(target())
        .reply(Script::new().text("par").error(ModelError::new(ErrorClass::RateLimit, "slow down")));
    let spans = traced(&ToolLoop::new(Arc::new(model)));
    for span in &spans[..2] {
        assert_eq!(span.get("error.type"), "rate-limit", "{span:#?}");
        assert_eq!(span.get("otel.status_code"), "ERROR");
        assert!(span.get("otel.status_description").contains("slow down"));
    }
    assert_eq!(spans[0].get("outcome"), "failed");
}

/// [AC-394]
#[test]
fn an_agent_as_a_tool_is_a_run_inside_the_span_of_its_call() {
    let inner =
        ToolLoop::new(Arc::new(ScriptedModel::new().reply(Script::text_reply("so")))).with_name("inner");
    let model = ScriptedModel::new()
        .reply(calls(&[("1", "ask", r#"{"prompt":"?"}"#)]))
        .reply(Script::text_reply("done"));
    let tools = ToolSet::new().with(agent_tool("ask", "", inner)).unwrap();
    let spans = traced(&ToolLoop::new(Arc::new(model)).with_tools(tools));
    let names: Vec<_> = spans.iter().map(|span| (span.name, span.parent)).collect();
    assert_eq!(
        names,
        [
            ("invoke_agent", None),
            ("chat", Some(0)),
            ("execute_tool", Some(0)),
            ("invoke_agent", Some(2)),
            ("chat", Some(3)),
            ("chat", Some(0)),
        ]
    );
}

/// [AC-395]
#[test]
fn a_run_that_is_dropped_says_how_it_ended() {
    for polls in [1, 3, 6] {
        let spans = Spans::default();
        let subscriber = tracing_subscriber::registry().with(spans.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        tracing::subscriber::with_default(subscriber, || {
            runtime.block_on(async {
                let (_handle, mut events) =
                    agent().start([ai_provider::Message::user("go")], RunOptions::default());
                for _ in 0..polls {
                    assert!(events.next().await.is_some());
                }
            });
        });
        let spans = spans.0.lock().unwrap().clone();
        assert_eq!(spans[0].get("outcome"), "cancelled", "{polls} polls");
        assert!(spans.iter().all(|span| span.closed), "{spans:#?}");
    }
}
