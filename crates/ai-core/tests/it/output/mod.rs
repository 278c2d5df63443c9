mod closer;
mod endings;
mod modes;
mod retries;
mod schemas;
mod stream;

use std::sync::Arc;

use ai_provider::{Capabilities, LanguageModel, Message, StructuredOutput};
use ai_testkit::ScriptedModel;
use schemars::JsonSchema;
use serde::Deserialize;

/// A dish.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
pub struct Dish {
    pub name: String,
    /// What to do.
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
pub struct Step {
    pub minutes: u32,
}

pub const GOOD: &str = r#"{"name":"Soup","steps":[{"minutes":5},{"minutes":20}]}"#;
pub const BAD: &str = r#"{"name":"Soup","steps":[{"minutes":5},{"minutes":"x"}]}"#;

pub fn soup() -> Dish {
    Dish { name: "Soup".to_owned(), steps: vec![Step { minutes: 5 }, Step { minutes: 20 }] }
}

pub fn go() -> [Message; 1] {
    [Message::user("go")]
}

/// A model with this much structured output, with or without tools.
pub fn able(model: ScriptedModel, output: StructuredOutput, tools: bool) -> ScriptedModel {
    let mut capabilities = Capabilities::default();
    capabilities.structured_output = output;
    capabilities.tools = tools;
    model.with_capabilities(capabilities)
}

pub fn native(model: ScriptedModel) -> ScriptedModel {
    able(model, StructuredOutput::JsonSchema, true)
}

pub fn shared(model: &ScriptedModel) -> Arc<dyn LanguageModel> {
    Arc::new(model.clone())
}
