use ai_core::output::{ObjectErrorKind, ObjectEvent, generate_object};
use ai_core::run::Outcome;
use ai_provider::{Message, StructuredOutput, ToolOutput, ToolPart, UnifiedFinish};
use ai_testkit::{Script, ScriptedModel};
use futures_util::StreamExt;

use super::{BAD, Dish, GOOD, able, go, native, shared, soup};
use crate::support::check_history;

fn says(text: &str) -> Script {
    Script::new().text(text).usage(10, 5).finish(UnifiedFinish::Stop)
}

fn calls(id: &str, input: &str) -> Script {
    Script::new().tool_call(id.to_owned(), "answer", input).usage(10, 5).finish(UnifiedFinish::ToolCalls)
}

fn with_tools(model: ScriptedModel) -> ScriptedModel {
    able(model, StructuredOutput::None, true)
}

/// [AC-266]
#[tokio::test]
async fn what_does_not_fit_is_asked_for_again_with_the_path() {
    let model = native(ScriptedModel::new().reply(says(BAD)).reply(says(GOOD)));
    let object = generate_object::<Dish>(shared(&model), go()).await.unwrap();
    assert_eq!((object.value, object.retries, object.usage.total()), (soup(), 1, Some(30)));
    let second = &model.requests()[1].messages;
    assert_eq!(*second[1], Message::assistant(BAD));
    let Message::User(user) = &*second[2] else { panic!("{second:?}") };
    let text = format!("{user:?}");
    assert!(text.contains("at `steps[1].minutes`") && text.contains("invalid type: string"), "{text}");
    assert_eq!(object.new_messages.len(), 3);
    assert_eq!(object.new_messages[..2], second[1..], "the history can go on as it was");
}

/// [AC-267]
#[tokio::test]
async fn a_call_that_does_not_fit_is_answered_with_the_path() {
    for bad in [BAD, "{\"name\":", "[1]"] {
        let model = with_tools(ScriptedModel::new().reply(calls("c1", bad)).reply(calls("c2", GOOD)));
        let object = generate_object::<Dish>(shared(&model), go()).await.unwrap();
        assert_eq!((object.value, object.retries, object.usage.total()), (soup(), 1, Some(30)));
        check_history(&object.new_messages).unwrap();
        let Message::Tool(message) = &*model.requests()[1].messages[2] else { panic!("no result") };
        let [ToolPart::ToolResult(result)] = &message.parts[..] else { panic!("{message:?}") };
        let ToolOutput::ErrorText(text) = &result.output else { panic!("{result:?}") };
        assert!(bad != BAD || text.contains("at `steps[1].minutes`"), "{text}");
    }
    let model = with_tools(ScriptedModel::new().reply(says("Soup!")).reply(calls("c2", GOOD)));
    let object = generate_object::<Dish>(shared(&model), go()).await.unwrap();
    assert_eq!((object.value, object.retries), (soup(), 1));
    assert!(format!("{:?}", model.requests()[1].messages[2]).contains("Call the tool `answer`"));
}

/// [AC-268]
#[tokio::test]
async fn it_is_asked_so_often_and_no_more() {
    for retries in 0..4 {
        for in_words in [true, false] {
            let reply = if in_words { says(BAD) } else { calls("c", BAD) };
            let model = ScriptedModel::new().repeat(reply);
            let model = if in_words { native(model) } else { with_tools(model) };
            let asked = generate_object::<Dish>(shared(&model), go()).with_retries(retries);
            let error = asked.await.unwrap_err();
            assert_eq!(model.requests().len(), retries as usize + 1, "in words: {in_words}");
            assert_eq!((error.kind(), error.text()), (ObjectErrorKind::Invalid, Some(BAD)));
            assert_eq!(error.mistake().unwrap().path.as_deref(), Some("steps[1].minutes"));
            assert_eq!(error.usage().total(), Some(15 * (u64::from(retries) + 1)));
            let finish = if in_words { UnifiedFinish::Stop } else { UnifiedFinish::ToolCalls };
            assert_eq!(error.finish().unwrap().unified, finish);
            assert_eq!(*error.outcome(), Outcome::Finished);
            assert!(error.to_string().contains("at `steps[1].minutes`"), "{error}");
        }
    }
    let mixed = [says(BAD), calls("c1", BAD), says("no"), calls("c2", GOOD)];
    let model = with_tools(mixed.into_iter().fold(ScriptedModel::new(), ScriptedModel::reply));
    let error = generate_object::<Dish>(shared(&model), go()).with_retries(2).await.unwrap_err();
    assert_eq!((error.text(), model.requests().len()), (Some("no"), 3), "both kinds count together");
    let model = with_tools(ScriptedModel::new().reply(says(BAD)).reply(calls("c1", BAD)).reply(says(GOOD)));
    assert_eq!(generate_object::<Dish>(shared(&model), go()).with_retries(2).await.unwrap().retries, 2);
}

/// [AC-277]
#[tokio::test]
async fn beside_an_answer_that_is_taken_nothing_is_asked_again() {
    let both = Script::new()
        .tool_call("c1", "answer", BAD)
        .tool_call("c2", "answer", GOOD)
        .usage(10, 5)
        .finish(UnifiedFinish::ToolCalls);
    let model = with_tools(ScriptedModel::new().reply(both));
    let mut stream = generate_object::<Dish>(shared(&model), go()).stream();
    let mut done = None;
    while let Some(event) = stream.next().await {
        match event.unwrap() {
            ObjectEvent::Retry(mistake) => panic!("asked again: {mistake}"),
            ObjectEvent::Done(object) => done = Some(object),
            _ => {}
        }
    }
    let object = done.unwrap();
    assert_eq!((object.value, object.retries), (soup(), 0));
    check_history(&object.new_messages).unwrap();
}
