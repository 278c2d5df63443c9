use std::sync::Arc;
use std::time::Duration;

use ai_core::{Effect, FnTool, LoopEvent, RunEnd, RunOptions, ToolError, ToolLoop, ToolSet, tool_fn};
use ai_openai::{Dialect, OpenAi};
use ai_provider::{ApiKey, Keys, Message, Provider};
use ai_testkit::WireServer;
use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

pub const KEY: &str = "sk-CANARY";
/// Far more than a loopback exchange takes, also on a busy machine.
pub const LONG: Duration = Duration::from_secs(20);

#[derive(Deserialize, JsonSchema)]
pub struct City {
    /// The city's name.
    pub name: String,
}

pub fn weather() -> FnTool<City> {
    tool_fn("weather", "Tells the weather of a city.", |city: City, _| async move {
        Ok::<_, ToolError>(format!("Sunny in {}.", city.name))
    })
    .with_effect(Effect::ReadOnly)
}

/// An agent with the weather tool, on a real server at loopback.
pub fn agent(server: &WireServer) -> ToolLoop {
    let provider = OpenAi::builder()
        .dialect(Dialect::generic("local", format!("{}/v1", server.url())))
        .keys(Arc::new(Keys::one(ApiKey::new(KEY).unwrap())))
        .build()
        .unwrap();
    let model = provider.language_model("m").unwrap();
    ToolLoop::new(model).with_instructions("Be brief.").with_tools(ToolSet::new().with(weather()).unwrap())
}

pub async fn ask(agent: &ToolLoop) -> (Vec<LoopEvent>, RunEnd) {
    let (_handle, stream) = agent.start([Message::user("How is Rome?")], RunOptions::default());
    let mut events: Vec<_> = stream.collect().await;
    match events.pop() {
        Some(LoopEvent::End(end)) => (events, *end),
        other => panic!("the last event is {other:?}"),
    }
}

/// A Chat Completions stream: the deltas, then a finish reason, usage and the end marker.
pub fn stream(deltas: &[Value], reason: &str) -> String {
    let mut body = deltas.iter().map(frame).collect::<String>();
    body += &event(
        &json!({"id": "c1", "model": "m-1", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}),
    );
    body +=
        &event(&json!({"id": "c1", "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}));
    body + "data: [DONE]\n\n"
}

pub fn frame(delta: &Value) -> String {
    event(
        &json!({"id": "c1", "model": "m-1", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]}),
    )
}

fn event(payload: &Value) -> String {
    format!("data: {payload}\n\n")
}

pub fn call(index: u32, id: &str, name: &str, arguments: &str) -> Value {
    let function = json!({"name": name, "arguments": arguments});
    json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]})
}
