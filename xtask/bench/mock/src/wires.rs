//! The other two wires, for text alone, with the keys in the order in which the real providers send them.

/// The events of Google's streamGenerateContent: usage so far stands in each.
pub fn gemini(model: &str, deltas: usize) -> Vec<String> {
    let model = serde_json::Value::from(model);
    let chunk = |parts: &str, finish: &str, tokens: usize| {
        format!(
            "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{parts}],\"role\":\"model\"}}{finish},\"index\":0}}],\
             \"usageMetadata\":{{\"promptTokenCount\":10,\"candidatesTokenCount\":{tokens},\
             \"totalTokenCount\":{total},\"promptTokensDetails\":[{{\"modality\":\"TEXT\",\"tokenCount\":10}}]}},\
             \"modelVersion\":{model},\"responseId\":\"mock00000000000000000\"}}\r\n\r\n",
            total = 10 + tokens
        )
    };
    let mut events: Vec<_> = (0..deltas).map(|i| chunk(&format!(r#"{{"text":"{}"}}"#, word(i)), "", i + 1)).collect();
    events.push(chunk(r#"{"text":""}"#, r#","finishReason":"STOP""#, deltas));
    events
}

/// The events of OpenAI's Responses.
pub fn responses(model: &str, deltas: usize) -> Vec<String> {
    let model = serde_json::Value::from(model);
    let mut number = 0;
    let mut event = |kind: &str, rest: &str| {
        let event = format!("event: {kind}\ndata: {{\"type\":\"{kind}\",\"sequence_number\":{number},{rest}}}\n\n");
        number += 1;
        event
    };
    let response = |status: &str, output: &str, usage: &str| {
        format!(
            r#""response":{{"id":"resp_mock0000000000000000000000000000","object":"response","created_at":1700000000,"status":"{status}","error":null,"incomplete_details":null,"model":{model},"output":[{output}],"parallel_tool_calls":true,"store":true,"usage":{usage}}}"#
        )
    };
    const ID: &str = "msg_mock00000000000000000000000000000";
    let place = format!(r#""item_id":"{ID}","output_index":0,"content_index":0"#);
    let item = |status: &str, content: &str| {
        format!(r#"{{"id":"{ID}","type":"message","status":"{status}","content":[{content}],"role":"assistant"}}"#)
    };
    let text: String = (0..deltas).map(word).collect();
    let part = |text: &str| format!(r#"{{"type":"output_text","annotations":[],"logprobs":[],"text":"{text}"}}"#);

    let mut events = vec![
        event("response.created", &response("in_progress", "", "null")),
        event("response.in_progress", &response("in_progress", "", "null")),
        event("response.output_item.added", &format!(r#""output_index":0,"item":{}"#, item("in_progress", ""))),
        event("response.content_part.added", &format!(r#"{place},"part":{}"#, part(""))),
    ];
    for i in 0..deltas {
        let rest = format!(r#"{place},"delta":"{}","logprobs":[],"obfuscation":"mock00000000""#, word(i));
        events.push(event("response.output_text.delta", &rest));
    }
    let whole = item("completed", &part(&text));
    let usage = format!(
        r#"{{"input_tokens":10,"input_tokens_details":{{"cached_tokens":0}},"output_tokens":{deltas},"output_tokens_details":{{"reasoning_tokens":0}},"total_tokens":{}}}"#,
        10 + deltas
    );
    events.extend([
        event("response.output_text.done", &format!(r#"{place},"text":"{text}","logprobs":[]"#)),
        event("response.content_part.done", &format!(r#"{place},"part":{}"#, part(&text))),
        event("response.output_item.done", &format!(r#""output_index":0,"item":{whole}"#)),
        event("response.completed", &response("completed", &whole, &usage)),
    ]);
    events
}

/// Four characters, so that a text of N deltas has 4N.
fn word(i: usize) -> String {
    format!(" {:03}", i % 1000)
}
