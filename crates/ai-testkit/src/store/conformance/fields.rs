use ai_provider::{ErrorClass, ErrorRecord, Id, Message, ToolOutput, Usage};
use serde_json::{Value, json};
use stream_manager::record::{Input, InputBody, Known, Queue, Row, RowMessage, RowStatus, TopicId};

use super::kit::{Checked, Store, Unmet, attempt, claim, fate, history, lease, open, said, same, settlement};

/// Everything comes back as it was written, also of kinds that this version does not know.
pub(super) async fn fields(store: Store) -> Checked {
    let topic = TopicId::from("t");
    let inputs = inputs()?;
    for input in &inputs {
        store.accept(&topic, input).await?;
    }
    let waiting = store.inbox(&topic).await?;
    for (input, stored) in inputs.iter().zip(&waiting) {
        same("an input", &stored.input, input)?;
        same("an input, to the byte", text(&stored.input)?, text(input)?)?;
    }
    same("how many wait", waiting.len(), inputs.len())?;

    let rows = rows(&topic)?;
    let ids: Vec<&str> = inputs.iter().map(|input| input.id.as_str()).collect();
    store.claim_and_open(&lease(&topic, 1), &claim(1, &ids, rows.clone())).await?;
    for (stored, row) in history(&store, &topic).await?.rows.iter().zip(&rows) {
        same("a row", stored, row)?;
        same("a row, to the byte", text(stored)?, text(row)?)?;
    }
    for id in &ids {
        same("the fate of an input", fate(&store, &topic, id).await?, super::kit::consumed(1))?;
    }

    let rich = rows.first().map(|row| row.content.clone()).ok_or_else(|| Unmet("no row".to_owned()))?;
    let mut end = settlement("plain", 1, RowStatus::AwaitingApproval, "");
    end.content = rich.clone();
    store.settle(&lease(&topic, 1), &end).await?;
    let ended = super::kit::stored(&store, &topic, "plain").await?;
    same("what was settled, to the byte", text(&ended.content)?, text(&rich)?)
}

fn text(value: &impl serde::Serialize) -> Checked<String> {
    serde_json::to_string(value).map_err(|error| Unmet(format!("it cannot be written: {error}")))
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> Checked<T> {
    serde_json::from_value(value).map_err(|error| Unmet(format!("a sample cannot be read: {error}")))
}

/// What JSON can hold and stores like to change.
fn odd_json() -> Value {
    json!({
        "": "empty name", "z": 1, "a": [null, true, false, [], {}, "", 0, -1, 0.1, 1e300, u64::MAX, i64::MIN],
        "text": "quotes \" ' ` \\ \u{0} \u{1} \u{7f} \u{2028} \r\n\t é 😀 \u{feff} ${x} %s {{y}}",
        "number as text": "1.0", "deep": {"deep": {"deep": [[[1]]]}},
    })
}

fn inputs() -> Checked<Vec<Input>> {
    let call_id = Id::from("call-1");
    let output: ToolOutput = read(json!({"type": "json", "value": odd_json()}))?;
    let message = Message::user("said \u{0} 😀 'x' \"y\"").into();
    Ok(vec![
        said("plain", "Hello.").with_models(["a/b", "ü"]),
        Input::new(
            "follow-up",
            InputBody::Message { message, queue: Queue::FollowUp, parent: Some("row".into()) },
        ),
        Input::new("regenerate", InputBody::Regenerate { row: "row".into() }),
        Input::new("append", InputBody::Append { beside: "row".into() }),
        Input::new(
            "approval",
            InputBody::Approval {
                row: "row".into(),
                call_id: call_id.clone(),
                approved: false,
                reason: Some("no".to_owned()),
            },
        ),
        Input::new("result", InputBody::ToolResult { row: "row".into(), call_id, output }),
        read(json!({"id": "unknown", "body": {"type": "of-a-later-version", "x": odd_json()}}))?,
    ])
}

fn rows(topic: &TopicId) -> Checked<Vec<Row>> {
    let mut rich = open(topic, "rich", 1);
    rich.parent = Some("before".into());
    rich.model = Some("provider/model:tag".to_owned());
    rich.slot = 3;
    rich.schema = 7;
    rich.created_at = 1;
    rich.updated_at = 4_102_444_800_999;
    rich.content.ui = Known::Is(read(json!({
        "id": "rich", "role": "assistant", "metadata": odd_json(),
        "parts": [
            {"type": "step-start"},
            {"type": "reasoning", "text": "hm", "state": "done", "providerMetadata": {"p": {"signature": "s=="}}},
            {"type": "text", "text": "a\u{0}b 😀", "state": "streaming"},
            {"type": "tool-weather", "toolCallId": "c", "state": "output-available", "input": odd_json(),
             "output": odd_json()},
            {"type": "dynamic-tool", "toolName": "x", "toolCallId": "d", "state": "approval-requested", "input": null,
             "approval": {"id": "q"}},
            {"type": "data-custom", "id": "1", "data": odd_json()},
            {"type": "steering-message", "id": "i", "parts": [{"type": "text", "text": "And?"}]},
        ],
    }))?);
    rich.content.messages = vec![
        RowMessage { message: Message::user("And?").into(), steer: Some("steer".into()) },
        RowMessage::from(std::sync::Arc::new(Message::assistant("Yes."))),
    ];
    rich.content.run = Some(odd_json());
    rich.content.error = Some(ErrorRecord {
        class: ErrorClass::RateLimit,
        message: "slow down".to_owned(),
        status: Some(429),
        code: Some("rate".to_owned()),
        request_id: Some("r".to_owned()),
        retryable: true,
        url: Some("https://api.example/v1".to_owned()),
    });
    let mut usage = Usage::default();
    usage.input.total = Some(u64::MAX);
    usage.raw = Some(odd_json().into());
    rich.content.usage = Some(usage);

    let mut unknown = open(topic, "unknown", 1);
    unknown.status = Known::Other(json!("of_a_later_version"));
    unknown.content.ui =
        Known::Other(json!({"id": "unknown", "parts": [{"type": "later", "x": odd_json()}]}));
    unknown.attempt = Some(attempt(9));
    Ok(vec![rich, open(topic, "plain", 1), unknown])
}
