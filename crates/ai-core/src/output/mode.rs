use std::sync::Arc;

use ai_provider::{Capabilities, FunctionTool, ResponseFormat, StructuredOutput, ToolChoice};
use serde_json::Value;

use super::schema::ObjectSchema;
use crate::middleware::{Middleware, PromptJson, wrap};
use crate::tool::{Tool, ToolContext, ToolSet, ToolStream};
use crate::tool_loop::ToolLoop;

/// How a model is held to the form of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputMode {
    /// By what the model can do: native, else a tool, else in words.
    #[default]
    Auto,
    /// The API takes the schema.
    Native,
    /// The model calls a tool with the object.
    Tool,
    /// The schema stands in the instructions.
    Prompt,
}

impl OutputMode {
    fn resolve(self, capabilities: &Capabilities) -> Self {
        match self {
            Self::Auto if capabilities.structured_output == StructuredOutput::JsonSchema => Self::Native,
            Self::Auto if capabilities.tools => Self::Tool,
            Self::Auto => Self::Prompt,
            chosen => chosen,
        }
    }
}

/// A loop that asks for an object.
#[derive(Clone)]
pub(super) struct Asking {
    pub(super) agent: ToolLoop,
    /// The tool that takes the object, if it is asked for so.
    pub(super) tool: Option<String>,
}

impl Asking {
    /// `check` says whether an input of the tool is the object.
    pub(super) fn new(agent: ToolLoop, mode: OutputMode, schema: &ObjectSchema, check: Check) -> Self {
        let format = || ResponseFormat::Json {
            schema: Some(schema.schema.clone()),
            name: Some(schema.name.clone()),
            description: schema.description.clone(),
        };
        match mode.resolve(agent.model().capabilities()) {
            OutputMode::Tool => {
                let name = free_name(agent.tools());
                let choice = match agent.tools().is_empty() {
                    true => ToolChoice::Tool { name: name.clone() },
                    false => ToolChoice::Required,
                };
                let tool = AnswerTool { definition: definition(&name, schema), check };
                // The name is free and legal, so that the set takes it.
                let tools = agent.tools().clone().with(tool).unwrap_or_else(|_| agent.tools().clone());
                Self { agent: agent.with_tools(tools).with_tool_choice(choice), tool: Some(name) }
            }
            OutputMode::Prompt => {
                let in_words = Arc::new(PromptJson) as Arc<dyn Middleware>;
                let model = wrap(Arc::clone(agent.model()), [in_words]);
                Self { agent: agent.with_model(model).with_response_format(format()), tool: None }
            }
            OutputMode::Native | OutputMode::Auto => {
                Self { agent: agent.with_response_format(format()), tool: None }
            }
        }
    }
}

fn free_name(tools: &ToolSet) -> String {
    let mut names =
        std::iter::once("answer".to_owned()).chain((2..).map(|number| format!("answer_{number}")));
    names.find(|name| tools.names().all(|taken| taken != name)).unwrap_or_default()
}

fn definition(name: &str, schema: &ObjectSchema) -> FunctionTool {
    let mut description = format!("Gives the final answer, `{}`. Call it once, at the end.", schema.name);
    if let Some(what) = &schema.description {
        description.push(' ');
        description.push_str(what);
    }
    FunctionTool::new(name, description, schema.schema.clone())
}

pub(super) type Check = Box<dyn Fn(&Value) -> Result<(), String> + Send + Sync>;

/// Takes the object. It has no executor: its call ends the run, and is the result.
struct AnswerTool {
    definition: FunctionTool,
    check: Check,
}

impl Tool for AnswerTool {
    fn definition(&self) -> FunctionTool {
        self.definition.clone()
    }

    fn is_executable(&self) -> bool {
        false
    }

    fn check(&self, input: &Value) -> Result<(), String> {
        (self.check)(input)
    }

    fn execute(&self, _input: Value, _ctx: ToolContext) -> ToolStream {
        Box::pin(futures_util::stream::empty())
    }
}
