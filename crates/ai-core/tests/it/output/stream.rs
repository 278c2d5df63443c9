use ai_core::LoopEvent;
use ai_core::output::{ObjectEvent, ObjectStream, generate_object};
use ai_provider::{StructuredOutput, UnifiedFinish};
use ai_testkit::{Script, ScriptedModel};
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::{BAD, Dish, GOOD, able, go, native, shared, soup};
use crate::middleware::text_block;

/// A text in single characters.
fn slowly(text: &str) -> Script {
    let characters: Vec<_> = text.chars().map(String::from).collect();
    text_block(characters.iter().map(String::as_str)).finish(UnifiedFinish::Stop)
}

async fn read<T: serde::de::DeserializeOwned + Send + 'static>(
    mut stream: ObjectStream<T>,
) -> (Vec<Value>, Vec<String>) {
    let (mut partials, mut others) = (Vec::new(), Vec::new());
    while let Some(item) = stream.next().await {
        match item {
            Ok(ObjectEvent::Partial(value)) => partials.push(value),
            Ok(ObjectEvent::Run(event)) if matches!(*event, LoopEvent::End(_)) => {
                others.push("end".to_owned())
            }
            Ok(ObjectEvent::Run(_)) => {}
            Ok(ObjectEvent::Retry(mistake)) => {
                others.push(format!("retry {}", mistake.path.unwrap_or_default()));
                partials.push(json!("again"));
            }
            Ok(ObjectEvent::Done(object)) => others.push(format!("done {}", object.text)),
            Ok(other) => {
                panic!("an event of a kind this test does not know: {}", std::any::type_name_of_val(&other))
            }
            Err(error) => others.push(error.to_string()),
        }
    }
    (partials, others)
}

/// [AC-272]
#[tokio::test]
async fn an_object_grows() {
    let text = r#"{"name":"So","steps":[{"minutes":5}]}"#;
    let expected = [
        json!({}),
        json!({"name": ""}),
        json!({"name": "S"}),
        json!({"name": "So"}),
        json!({"name": "So", "steps": []}),
        json!({"name": "So", "steps": [{}]}),
        json!({"name": "So", "steps": [{"minutes": 5}]}),
    ];
    let in_words = native(ScriptedModel::new().reply(slowly(text)));
    let by_tool = able(ScriptedModel::new().reply(by_characters(text)), StructuredOutput::None, true);
    let fenced = native(ScriptedModel::new().reply(slowly(&format!("So:\n```json\n{text}\n```"))));
    for model in [in_words, by_tool, fenced] {
        let (partials, others) = read(generate_object::<Dish>(shared(&model), go()).stream()).await;
        assert_eq!(partials, expected);
        assert_eq!(others.len(), 2);
        assert!(others[0] == "end" && others[1].starts_with("done "), "{others:?}");
    }
}

/// A call of `answer` whose input comes in single characters.
fn by_characters(input: &str) -> Script {
    use ai_provider::{StreamPart, ToolCall};
    let start = StreamPart::ToolInputStart {
        id: "c".into(),
        tool_name: "answer".to_owned(),
        provider_executed: false,
        dynamic: false,
        title: None,
    };
    let deltas = input.chars().map(|c| StreamPart::ToolInputDelta { id: "c".into(), delta: c.to_string() });
    Script::new()
        .part(start)
        .parts(deltas)
        .part(StreamPart::ToolInputEnd { id: "c".into() })
        .part(StreamPart::ToolCall(Box::new(ToolCall::new("c", "answer", input))))
        .finish(UnifiedFinish::ToolCalls)
}

/// [AC-272]
#[tokio::test]
async fn what_is_no_object_grows_without_its_wrapping() {
    let model = native(ScriptedModel::new().reply(slowly(r#"{"value":[1,22]}"#)));
    let (partials, _) = read(generate_object::<Vec<u8>>(shared(&model), go()).stream()).await;
    assert_eq!(partials, [json!([]), json!([1]), json!([1, 22])]);
}

/// [AC-272]
#[tokio::test]
async fn a_retry_begins_anew_and_an_error_is_the_end() {
    let model = native(ScriptedModel::new().reply(Script::text_reply(BAD)).reply(Script::text_reply(GOOD)));
    let (partials, others) = read(generate_object::<Dish>(shared(&model), go()).stream()).await;
    assert_eq!(others, ["end", "retry steps[1].minutes", "end", &format!("done {GOOD}")]);
    let again = partials.iter().position(|value| *value == json!("again")).unwrap();
    assert!(again > 0 && partials.len() > again + 1, "{partials:?}");
    assert_eq!(partials.last().unwrap()["name"], soup().name);

    let model = native(ScriptedModel::new().repeat(Script::text_reply(BAD)));
    let mut stream = generate_object::<Dish>(shared(&model), go()).stream();
    let mut last = None;
    while let Some(item) = stream.next().await {
        assert!(!matches!(last, Some(Err(_))), "something came after the error");
        last = Some(item);
    }
    assert!(matches!(last, Some(Err(_))));
    assert!(stream.next().await.is_none());
}

/// [AC-273]
#[tokio::test]
async fn the_work_is_linear_in_the_length() {
    let mut counts = Vec::new();
    for size in [2_000, 20_000] {
        let text = json!({ "value": "word ".repeat(size) }).to_string();
        let model = native(ScriptedModel::new().reply(Script::text_reply(&text)));
        let (partials, others) = read(generate_object::<String>(shared(&model), go()).stream()).await;
        assert_eq!(others.len(), 2);
        // What is read is what is shown: each time the whole text so far.
        let read: usize = partials.iter().map(|value| value.as_str().unwrap_or_default().len()).sum();
        counts.push(read / size);
    }
    assert!(counts[0] > 5 && counts[1] < 5 * 80, "times the length of the text: {counts:?}");
}
