//! Answers with a type: as they grow, asked for again when they do not fit, and at the end of an agent's run.
//!
//! `cargo run -p example-structured-output`; no key is needed, the models are scripted.

use std::error::Error;
use std::sync::Arc;

use ai_core::output::{ObjectErrorKind, ObjectEvent, generate_object};
use ai_core::{ToolError, ToolLoop, ToolSet, tool_fn};
use ai_provider::{Capabilities, LanguageModel, Message, StructuredOutput};
use ai_testkit::{Script, ScriptedModel};
use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// A recipe.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Recipe {
    /// The name of the dish.
    name: String,
    /// From start to table.
    minutes: u32,
}

#[derive(Deserialize, JsonSchema)]
struct NoArguments {}

const SOUP: &str = r#"{"name": "Soup", "minutes": 30}"#;

/// A model that takes schemas, and says these.
fn model(answers: &[&str]) -> (ScriptedModel, Arc<dyn LanguageModel>) {
    let mut capabilities = Capabilities::default();
    capabilities.structured_output = StructuredOutput::JsonSchema;
    let scripted = ScriptedModel::new().with_capabilities(capabilities);
    let scripted = answers.iter().fold(scripted, |model, text| model.reply(Script::text_reply(text)));
    (scripted.clone(), Arc::new(scripted))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let ask = || [Message::user("A soup, please.")];

    // As it grows.
    let (_, soup) = model(&[SOUP]);
    let mut stream = generate_object::<Recipe>(soup, ask()).stream();
    let mut partials = Vec::new();
    let mut recipe = None;
    while let Some(event) = stream.next().await {
        match event? {
            ObjectEvent::Partial(value) => {
                println!("so far:   {value}");
                partials.push(value);
            }
            ObjectEvent::Done(object) => recipe = Some(object.value),
            _ => {}
        }
    }
    assert_eq!(recipe, Some(Recipe { name: "Soup".to_owned(), minutes: 30 }));
    assert_eq!(partials.last(), Some(&json!({"name": "Soup", "minutes": 30})));

    // What does not fit is asked for again, with the path of the mistake.
    let (scripted, confused) = model(&[r#"{"name": "Soup", "minutes": "half an hour"}"#, SOUP]);
    let object = generate_object::<Recipe>(confused, ask()).await?;
    println!("again:    {} minutes after {} retry", object.value.minutes, object.retries);
    assert_eq!((object.value.minutes, object.retries), (30, 1));
    let told = scripted.requests().last().map(|request| format!("{:?}", request.messages.last()));
    assert!(told.is_some_and(|text| text.contains("at `minutes`")));

    // And after that it is an error, with what the model wrote.
    let (_, stubborn) = model(&["I like soup."]);
    let error = generate_object::<Recipe>(stubborn, ask()).with_retries(0).await.err().ok_or("no error")?;
    println!("error:    {error}");
    assert_eq!((error.kind(), error.text()), (ObjectErrorKind::Invalid, Some("I like soup.")));

    // An agent uses its tools first. This model takes no schemas, so it answers by a call.
    let fridge =
        tool_fn("fridge", "What is left.", |_: NoArguments, _| async { Ok::<_, ToolError>("leeks") });
    let cook = ScriptedModel::new()
        .reply(Script::tool_reply("c1", "fridge", "{}"))
        .reply(Script::tool_reply("c2", "answer", SOUP));
    let agent = ToolLoop::new(Arc::new(cook.clone())).with_tools(ToolSet::new().with(fridge)?);
    let object = generate_object::<Recipe>(&agent, ask()).await?;
    println!("by agent: {:?} in {} calls of the model", object.value, cook.requests().len());
    assert_eq!((object.value.name.as_str(), cook.requests().len()), ("Soup", 2));
    Ok(())
}
