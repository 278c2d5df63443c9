use ai_core::output::{GenerateObject, OutputMode, generate_object};
use ai_core::run::Outcome;
use ai_core::{RunOptions, ToolLoop, ToolSet, client_tool};
use ai_provider::{Message, ResponseFormat, StructuredOutput, ToolChoice, ToolDefinition, UnifiedFinish};
use ai_testkit::{Script, ScriptedModel};
use serde_json::json;

use super::{Dish, GOOD, able, go, native, shared, soup};
use crate::support::{check_history, echo};

fn ask(model: &ScriptedModel) -> GenerateObject<Dish> {
    generate_object::<Dish>(shared(model), go())
}

/// [AC-263] [AC-264]
#[tokio::test]
async fn a_model_that_takes_schemas_gets_one() {
    let model =
        native(ScriptedModel::new().reply(Script::new().text(GOOD).usage(7, 3).finish(UnifiedFinish::Stop)));
    let object = ask(&model).await.unwrap();
    assert_eq!((object.value, object.text.as_str(), object.retries), (soup(), GOOD, 0));
    assert_eq!((object.usage.total(), object.finish.unified), (Some(10), UnifiedFinish::Stop));
    let request = &model.requests()[0];
    let ResponseFormat::Json { schema: Some(schema), name, description } = &request.response_format else {
        panic!("{request:?}")
    };
    assert_eq!((name.as_deref(), description.as_deref()), (Some("Dish"), Some("A dish.")));
    assert_eq!(schema["properties"]["steps"]["description"], "What to do.");
    assert!(request.tools.is_empty());
    assert_eq!(request.messages.len(), 1);
}

/// [AC-263] [AC-264]
#[tokio::test]
async fn a_model_with_tools_calls_one() {
    for output in [StructuredOutput::None, StructuredOutput::JsonObject] {
        let reply = Script::tool_reply("c1", "answer", GOOD);
        let model = able(ScriptedModel::new().reply(reply), output, true);
        let object = ask(&model).await.unwrap();
        assert_eq!((object.value, object.text.as_str()), (soup(), GOOD));
        let request = &model.requests()[0];
        assert_eq!(request.response_format, ResponseFormat::Text);
        assert_eq!(request.tool_choice, ToolChoice::Tool { name: "answer".to_owned() });
        let [ToolDefinition::Function(tool)] = &*request.tools else { panic!("{request:?}") };
        assert!(tool.description.as_ref().unwrap().ends_with("A dish."));
        assert_eq!(tool.input_schema["required"], json!(["name", "steps"]));
        check_history(&object.new_messages).unwrap();
        assert_eq!(object.new_messages.len(), 2);
    }
}

/// [AC-263] [AC-264]
#[tokio::test]
async fn a_model_with_neither_is_asked_in_words() {
    for (output, format) in [
        (StructuredOutput::None, ResponseFormat::Text),
        (StructuredOutput::JsonObject, ResponseFormat::Json { schema: None, name: None, description: None }),
    ] {
        let model = able(ScriptedModel::new().reply(Script::text_reply(GOOD)), output, false);
        let agent = ToolLoop::new(shared(&model)).with_instructions("Be a cook.");
        assert_eq!(generate_object::<Dish>(&agent, go()).await.unwrap().value, soup());
        let request = &model.requests()[0];
        assert_eq!(request.response_format, format);
        let Message::System(system) = &*request.messages[0] else { panic!("{request:?}") };
        assert!(
            system.text.starts_with("Be a cook.\n\n") && system.text.contains("\"minutes\""),
            "{system:?}"
        );
    }
}

/// [AC-263]
#[tokio::test]
async fn the_mode_can_be_chosen() {
    let model = native(ScriptedModel::new().reply(Script::tool_reply("c1", "answer", GOOD)));
    assert_eq!(ask(&model).with_mode(OutputMode::Tool).await.unwrap().value, soup());
    let model = able(ScriptedModel::new().reply(Script::text_reply(GOOD)), StructuredOutput::None, true);
    assert_eq!(ask(&model).with_mode(OutputMode::Native).await.unwrap().value, soup());
    assert!(matches!(model.requests()[0].response_format, ResponseFormat::Json { schema: Some(_), .. }));
    let model = native(ScriptedModel::new().reply(Script::text_reply(GOOD)));
    assert_eq!(ask(&model).with_mode(OutputMode::Prompt).await.unwrap().value, soup());
    assert!(matches!(model.requests()[0].response_format, ResponseFormat::Json { schema: None, .. }));
}

/// [AC-265]
#[tokio::test]
async fn words_and_fences_around_the_object_are_no_mistake() {
    for text in [
        format!("Here it is:\n```json\n{GOOD}\n```\nEnjoy!"),
        format!("  {GOOD}\n"),
        format!("{GOOD} I hope {{that}} helps."),
        format!("```{GOOD}```"),
    ] {
        let model = native(ScriptedModel::new().reply(Script::text_reply(&text)));
        assert_eq!(ask(&model).await.unwrap().value, soup(), "{text}");
    }
    let model = able(ScriptedModel::new().reply(Script::text_reply(GOOD)), StructuredOutput::None, true);
    assert_eq!(ask(&model).await.unwrap().value, soup(), "in words where a call was expected");
}

/// [AC-271]
#[tokio::test]
async fn an_agent_runs_its_tools_before_it_answers() {
    let tools = || ToolSet::new().with(echo()).unwrap();
    let model = native(
        ScriptedModel::new()
            .reply(
                Script::new()
                    .text("I look {")
                    .tool_call("c1", "echo", r#"{"text":"x"}"#)
                    .usage(5, 5)
                    .finish(UnifiedFinish::ToolCalls),
            )
            .reply(Script::new().text(GOOD).usage(5, 5).finish(UnifiedFinish::Stop)),
    );
    let agent = ToolLoop::new(shared(&model)).with_tools(tools());
    let object = generate_object::<Dish>(&agent, go()).await.unwrap();
    assert_eq!((object.value, object.usage.total()), (soup(), Some(20)));
    assert_eq!(object.new_messages.len(), 3);

    let both = Script::new()
        .tool_call("c2", "echo", r#"{"text":"y"}"#)
        .tool_call("c3", "answer", GOOD)
        .tool_call("c4", "echo", r#"{"text":"z"}"#)
        .finish(UnifiedFinish::ToolCalls);
    let model = able(
        ScriptedModel::new().reply(Script::tool_reply("c1", "echo", r#"{"text":"x"}"#)).reply(both),
        StructuredOutput::None,
        true,
    );
    let agent = ToolLoop::new(shared(&model)).with_tools(tools());
    let object = generate_object::<Dish>(agent, go()).await.unwrap();
    assert_eq!(object.value, soup());
    assert_eq!(model.requests()[0].tool_choice, ToolChoice::Required);
    check_history(&object.new_messages).unwrap();
    assert_eq!(object.new_messages.len(), 4);
}

/// [AC-271]
#[tokio::test]
async fn the_answering_tool_has_a_free_name_and_is_always_active() {
    let taken = client_tool("answer", "Not this one.", json!({"type": "object"}));
    let tools = ToolSet::new().with(taken).unwrap().with(echo()).unwrap();
    let model = able(
        ScriptedModel::new()
            .reply(Script::tool_reply("c1", "answer_2", GOOD))
            .reply(Script::tool_reply("c1", "answer", "{}")),
        StructuredOutput::None,
        true,
    );
    let agent = ToolLoop::new(shared(&model)).with_tools(tools);
    let mut options = RunOptions::default();
    options.active_tools = Some(vec!["echo".to_owned()]);
    let object = generate_object::<Dish>(&agent, go()).with_options(options).await.unwrap();
    assert_eq!(object.value, soup());
    let shown: Vec<_> = model.requests()[0].tools.iter().map(|tool| tool.name().to_owned()).collect();
    assert_eq!(shown, ["echo", "answer_2"]);

    let error = generate_object::<Dish>(&agent, go()).await.unwrap_err();
    assert!(matches!(error.outcome(), Outcome::HandedOver { .. }), "{error:?}");
}
