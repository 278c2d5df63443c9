//! Conversations that go on.

use std::sync::Arc;

use ai_provider::{
    Assembler, AssistantMessage, AssistantPart, Message, Request, ToolCall, ToolOutput, ToolResult,
};
use bytes::Bytes;
use serde_json::{Value, json};

use super::kinds::{assistant, call, result, tools};
use super::lab::{Answer, Ask, Lab, Run};
use super::report::Findings;
use super::requests::written;
use super::sample::Sample;

pub(super) async fn prefix(lab: &Lab, samples: &[Sample], found: &mut Findings) {
    if lab.uses_sockets() {
        // Nobody looks at the requests there.
        return;
    }
    let Some(first) = samples.first() else { return };
    let steps = [
        vec![Message::system("Be brief."), Message::user("How are Rome and Oslo?")],
        vec![
            assistant([
                AssistantPart::Text(ai_provider::TextPart::new("I look.")),
                call("call_1", r#"{"city":"Rome"}"#),
            ]),
            Message::tool([result("call_1", ToolOutput::Text("Sun.".into()))]),
        ],
        vec![
            assistant([call("call_2", r#"{"city":"Oslo"}"#), call("call_3", r#"{"city":"Rome"}"#)]),
            Message::tool([
                result("call_2", ToolOutput::Json(json!({"sky": "rain"}))),
                result("call_3", ToolOutput::ErrorText("no network".into())),
            ]),
        ],
        vec![
            assistant([call("call_4", "{}")]),
            Message::tool([result("call_4", ToolOutput::Text("Sun.".into()))]),
        ],
    ];
    extends(lab, first, &steps, found).await;
    for sample in samples.iter().filter(|sample| sample.finishes()) {
        found.on(&sample.name);
        let Some(said) = said(lab, sample, found).await else { continue };
        let results = results(&said);
        if results.is_empty() {
            continue;
        }
        let begin: Vec<Message> = sample.request.messages.iter().map(|message| (**message).clone()).collect();
        let step = vec![Message::Assistant(said), Message::tool(results)];
        extends(lab, sample, &[begin, step.clone(), renamed(&step)], found).await;
    }
}

/// Each step's request begins with the bytes of the one before, up to the bracket that closes its history.
async fn extends(lab: &Lab, sample: &Sample, steps: &[Vec<Message>], found: &mut Findings) {
    let mut messages: Vec<Arc<Message>> = Vec::new();
    let mut before: Option<Bytes> = None;
    for (number, step) in steps.iter().enumerate() {
        messages.extend(step.iter().cloned().map(Arc::new));
        let mut request = Request::from_shared(messages.clone()).with_tools(tools());
        request.delivery = sample.request.delivery;
        let run = lab.run(&Answer::of(sample), &Ask::new(&request), found).await;
        let Some(body) = run.calls.first().map(|call| call.body.clone()) else {
            found.fail(format!(
                "step {number} of a conversation with tools must be sent, but the stream {}",
                run.ended()
            ));
            return;
        };
        if let Some(before) = &before {
            let Some(open) = before.strip_suffix(b"]}") else {
                let end = String::from_utf8_lossy(
                    before.get(before.len().saturating_sub(60)..).unwrap_or_default(),
                )
                .into_owned();
                found.fail(format!(
                    "the history must be the last thing in the request, which ends with …{end}"
                ));
                return;
            };
            if !body.starts_with(open) {
                let common = open.iter().zip(&body).take_while(|(a, b)| a == b).count();
                let at = |bytes: &[u8]| {
                    let from = common.saturating_sub(20);
                    String::from_utf8_lossy(bytes.get(from..bytes.len().min(common + 60)).unwrap_or_default())
                        .into_owned()
                };
                found.fail(format!(
                    "the request of step {number} must begin with that of the step before, but differs at byte \
                     {common}:\n  before: …{}…\n  now:    …{}…",
                    at(open),
                    at(&body)
                ));
                return;
            }
        }
        before = Some(body);
    }
}

/// A step as the one before, its calls under other ids.
fn renamed(step: &[Message]) -> Vec<Message> {
    let again = |id: &ai_provider::Id| ai_provider::Id::from(format!("{id}_again"));
    let mut step = step.to_vec();
    for message in &mut step {
        match message {
            Message::Assistant(said) => {
                for part in &mut said.parts {
                    if let AssistantPart::ToolCall(call) = part {
                        call.id = again(&call.id);
                        call.metadata = None;
                    }
                }
            }
            Message::Tool(results) => {
                for part in &mut results.parts {
                    if let ai_provider::ToolPart::ToolResult(result) = part {
                        result.tool_call_id = again(&result.tool_call_id);
                    }
                }
            }
            _ => {}
        }
    }
    step
}

pub(super) async fn replay(lab: &Lab, samples: &[Sample], found: &mut Findings) {
    for sample in samples.iter().filter(|sample| sample.finishes()) {
        found.on(&sample.name);
        let Some(said) = said(lab, sample, found).await else { continue };
        let mut history: Vec<Message> =
            sample.request.messages.iter().map(|message| (**message).clone()).collect();
        history.push(Message::Assistant(said.clone()));
        let results = results(&said);
        if !results.is_empty() {
            history.push(Message::tool(results));
        }
        history.push(Message::user("Go on, please."));

        let run = asked_again(lab, sample, &history, found).await;
        if !written(&run) {
            found.fail(format!(
                "its own answer must be good as history, but the stream {}\n  {said:?}",
                run.ended()
            ));
            continue;
        }
        let stored =
            serde_json::to_string(&history).and_then(|json| serde_json::from_str::<Vec<Message>>(&json));
        match stored {
            Ok(loaded) => {
                let again = asked_again(lab, sample, &loaded, found).await;
                let body = |run: &Run| run.calls.first().map(|call| call.body.clone());
                found.expect(body(&run) == body(&again), || {
                    "a history that was stored and read again is sent differently".to_owned()
                });
            }
            Err(error) => found.fail(format!("its own answer cannot be stored: {error}")),
        }
        let Some(body) = run.calls.first().and_then(|call| serde_json::from_slice::<Value>(&call.body).ok())
        else {
            continue;
        };
        let mut texts = Vec::new();
        strings(&body, &mut texts);
        for missing in missing(&said, &texts) {
            found.fail(format!(
                "its own answer must go back whole, but {missing} is not in the request\n  {body}"
            ));
        }
    }
}

async fn asked_again(lab: &Lab, sample: &Sample, history: &[Message], found: &mut Findings) -> Run {
    let mut request = Request::new(history.iter().cloned()).with_tools(tools());
    request.delivery = sample.request.delivery;
    lab.run(&Answer::of(sample), &Ask::new(&request), found).await
}

/// The message that a sample's answer is.
async fn said(lab: &Lab, sample: &Sample, found: &mut Findings) -> Option<AssistantMessage> {
    let run = lab.run(&Answer::of(sample), &Ask::new(&sample.request), found).await;
    let mut assembler = Assembler::default();
    for part in &run.parts {
        if let Err(error) = assembler.push(part) {
            found.fail(format!("its parts make no message: {error}"));
            return None;
        }
    }
    run.finished().then(|| assembler.finish().message)
}

fn client_calls(said: &AssistantMessage) -> impl Iterator<Item = &ToolCall> {
    said.tool_calls().filter(|call| !call.provider_executed)
}

fn results(said: &AssistantMessage) -> Vec<ToolResult> {
    let result = |call: &ToolCall| {
        ToolResult::new(call.id.clone(), &call.name, ToolOutput::Text("done-with-it".into()))
    };
    client_calls(said).map(result).collect()
}

/// What of the answer is in none of the texts.
fn missing(said: &AssistantMessage, texts: &[String]) -> Vec<String> {
    let has = |what: &str| texts.iter().any(|text| text.contains(what));
    let mut missing = Vec::new();
    for part in &said.parts {
        if let AssistantPart::Text(part) = part
            && !has(part.text.trim())
        {
            missing.push(format!("the text {:?}", part.text));
        }
    }
    for call in client_calls(said) {
        if !has(&call.name) {
            missing.push(format!("the name of the call {}", call.id));
        }
        let mut values = Vec::new();
        strings(&call.input_json().unwrap_or_default(), &mut values);
        if let Some(value) = values.iter().find(|value| !has(value)) {
            missing.push(format!("{value:?}, of the input of the call {}", call.id));
        }
    }
    if client_calls(said).next().is_some() && !has("done-with-it") {
        missing.push("the result of its call".to_owned());
    }
    missing
}

/// All strings of a value, and of JSON that stands in them: some APIs take inputs and results as text.
fn strings(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            into.push(text.clone());
            if let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
                strings(&inner, into);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| strings(item, into)),
        Value::Object(fields) => fields.values().for_each(|value| strings(value, into)),
        _ => {}
    }
}
