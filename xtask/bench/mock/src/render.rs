//! Renders a reply into the events (or the JSON body) of one dialect, with the
//! keys in the order in which the real providers send them.

use crate::scenario::Reply;
use crate::wires;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    OpenAi,
    Anthropic,
    Gemini,
    Responses,
}

/// Argument fragments that one streamed tool call is cut into.
const ARGUMENT_DELTAS: usize = 8;

/// The server-sent events of a streamed reply, one string per event.
pub fn events(dialect: Dialect, model: &str, reply: Reply) -> Vec<String> {
    match dialect {
        Dialect::OpenAi => openai_events(model, reply),
        Dialect::Anthropic => anthropic_events(model, reply),
        Dialect::Gemini => wires::gemini(model, output_tokens(reply)),
        Dialect::Responses => wires::responses(model, output_tokens(reply)),
    }
}

/// The body of a reply that is not streamed.
pub fn body(dialect: Dialect, model: &str, reply: Reply) -> String {
    match dialect {
        Dialect::OpenAi => openai_body(model, reply),
        Dialect::Anthropic => anthropic_body(model, reply),
        // Their readers here ask for streams alone.
        Dialect::Gemini | Dialect::Responses => String::new(),
    }
}

fn openai_events(model: &str, reply: Reply) -> Vec<String> {
    let model = quoted(model);
    let chunk = |choices: &str, usage: &str| {
        format!(
            "data: {{\"id\":\"chatcmpl-mock0000000000000000000000000\",\"object\":\"chat.completion.chunk\",\
             \"created\":1700000000,\"model\":{model},\"service_tier\":\"default\",\
             \"system_fingerprint\":\"fp_mock000000\",\"choices\":[{choices}],\"usage\":{usage}}}\n\n"
        )
    };
    let delta = |delta: &str, finish: &str| {
        chunk(&format!(r#"{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{finish}}}"#), "null")
    };
    let call = |call: &str| delta(&format!(r#"{{"tool_calls":[{call}]}}"#), "null");

    let mut events = Vec::new();
    match reply {
        Reply::Text { deltas } => {
            events.push(delta(r#"{"role":"assistant","content":"","refusal":null}"#, "null"));
            for i in 0..deltas {
                events.push(delta(&format!(r#"{{"content":"{}"}}"#, word(i)), "null"));
            }
            events.push(delta("{}", r#""stop""#));
        }
        Reply::Calls { first, count } => {
            events.push(delta(r#"{"role":"assistant","content":null}"#, "null"));
            for index in 0..count {
                let id = call_id(first + index);
                events.push(call(&format!(
                    r#"{{"index":{index},"id":"{id}","type":"function","function":{{"name":"echo","arguments":""}}}}"#
                )));
                for piece in pieces(&arguments(first + index)) {
                    let piece = quoted(piece);
                    events.push(call(&format!(r#"{{"index":{index},"function":{{"arguments":{piece}}}}}"#)));
                }
            }
            events.push(delta("{}", r#""tool_calls""#));
        }
    }
    events.push(chunk("", &openai_usage(reply)));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn openai_body(model: &str, reply: Reply) -> String {
    let model = quoted(model);
    let usage = openai_usage(reply);
    let (message, finish) = match reply {
        Reply::Text { deltas } => (format!(r#""content":"{}","refusal":null"#, text(deltas)), "stop"),
        Reply::Calls { first, count } => {
            let calls = list(first..first + count, |n| {
                let (id, arguments) = (call_id(n), quoted(&arguments(n)));
                format!(r#"{{"id":"{id}","type":"function","function":{{"name":"echo","arguments":{arguments}}}}}"#)
            });
            (format!(r#""content":null,"tool_calls":{calls}"#), "tool_calls")
        }
    };
    format!(
        "{{\"id\":\"chatcmpl-mock0000000000000000000000000\",\"object\":\"chat.completion\",\
         \"created\":1700000000,\"model\":{model},\"choices\":[{{\"index\":0,\
         \"message\":{{\"role\":\"assistant\",{message}}},\"logprobs\":null,\"finish_reason\":\"{finish}\"}}],\
         \"usage\":{usage},\"system_fingerprint\":\"fp_mock000000\"}}"
    )
}

fn openai_usage(reply: Reply) -> String {
    let completion = output_tokens(reply);
    let total = 10 + completion;
    format!(
        "{{\"prompt_tokens\":10,\"completion_tokens\":{completion},\"total_tokens\":{total},\
         \"prompt_tokens_details\":{{\"cached_tokens\":0,\"audio_tokens\":0}},\
         \"completion_tokens_details\":{{\"reasoning_tokens\":0,\"audio_tokens\":0}}}}"
    )
}

fn anthropic_events(model: &str, reply: Reply) -> Vec<String> {
    let event = |kind: &str, rest: &str| format!("event: {kind}\ndata: {{\"type\":\"{kind}\"{rest}}}\n\n");
    let start = |index: usize, block: &str| {
        event("content_block_start", &format!(r#","index":{index},"content_block":{block}"#))
    };
    let delta =
        |index: usize, delta: &str| event("content_block_delta", &format!(r#","index":{index},"delta":{delta}"#));
    let stop = |index: usize| event("content_block_stop", &format!(r#","index":{index}"#));

    let message = anthropic_message(model, "[]", "null", 1);
    let mut events = vec![event("message_start", &format!(r#","message":{message}"#))];
    let reason = match reply {
        Reply::Text { deltas } => {
            events.push(start(0, r#"{"type":"text","text":""}"#));
            events.push(event("ping", ""));
            for i in 0..deltas {
                events.push(delta(0, &format!(r#"{{"type":"text_delta","text":"{}"}}"#, word(i))));
            }
            events.push(stop(0));
            "end_turn"
        }
        Reply::Calls { first, count } => {
            for index in 0..count {
                let id = call_id(first + index);
                events.push(start(index, &format!(r#"{{"type":"tool_use","id":"{id}","name":"echo","input":{{}}}}"#)));
                for piece in pieces(&arguments(first + index)) {
                    let piece = quoted(piece);
                    events.push(delta(index, &format!(r#"{{"type":"input_json_delta","partial_json":{piece}}}"#)));
                }
                events.push(stop(index));
            }
            "tool_use"
        }
    };
    let tokens = output_tokens(reply);
    events.push(event(
        "message_delta",
        &format!(r#","delta":{{"stop_reason":"{reason}","stop_sequence":null}},"usage":{{"output_tokens":{tokens}}}"#),
    ));
    events.push(event("message_stop", ""));
    events
}

fn anthropic_body(model: &str, reply: Reply) -> String {
    let (content, reason) = match reply {
        Reply::Text { deltas } => (format!(r#"[{{"type":"text","text":"{}"}}]"#, text(deltas)), r#""end_turn""#),
        Reply::Calls { first, count } => {
            let calls = list(first..first + count, |n| {
                let (id, input) = (call_id(n), arguments(n));
                format!(r#"{{"type":"tool_use","id":"{id}","name":"echo","input":{input}}}"#)
            });
            (calls, r#""tool_use""#)
        }
    };
    anthropic_message(model, &content, reason, output_tokens(reply))
}

fn anthropic_message(model: &str, content: &str, stop_reason: &str, output_tokens: usize) -> String {
    let model = quoted(model);
    format!(
        "{{\"id\":\"msg_mock00000000000000000000\",\"type\":\"message\",\"role\":\"assistant\",\
         \"model\":{model},\"content\":{content},\"stop_reason\":{stop_reason},\"stop_sequence\":null,\
         \"usage\":{{\"input_tokens\":10,\"output_tokens\":{output_tokens}}}}}"
    )
}

/// Four characters, so that a text of N deltas has 4N.
fn word(i: usize) -> String {
    format!(" {:03}", i % 1000)
}

fn text(deltas: usize) -> String {
    (0..deltas).map(word).collect()
}

fn call_id(n: usize) -> String {
    format!("call_{n:04}")
}

/// The arguments of tool call `n`, a JSON object.
fn arguments(n: usize) -> String {
    format!(r#"{{"text":"echo this back, call number {n:04}"}}"#)
}

/// `whole` cut into `ARGUMENT_DELTAS` pieces of about the same length.
fn pieces(whole: &str) -> impl Iterator<Item = &str> {
    let cut = |i: usize| i * whole.len() / ARGUMENT_DELTAS;
    (0..ARGUMENT_DELTAS).map(move |i| &whole[cut(i)..cut(i + 1)])
}

fn output_tokens(reply: Reply) -> usize {
    match reply {
        Reply::Text { deltas } => deltas,
        Reply::Calls { count, .. } => count * ARGUMENT_DELTAS,
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn list(range: std::ops::Range<usize>, item: impl Fn(usize) -> String) -> String {
    format!("[{}]", range.map(item).collect::<Vec<_>>().join(","))
}
