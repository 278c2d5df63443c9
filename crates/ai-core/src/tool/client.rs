use ai_provider::FunctionTool;
use futures_util::{future, stream};
use serde_json::Value;

use super::{InputSchema, Tool, ToolContext, ToolError, ToolStream, ToolYield};

/// A tool that runs at the caller's: in a browser, on another machine, by hand. A call of it ends the run as
/// [`HandedOver`](crate::run::Outcome::HandedOver), once the other calls of its step are over. The run goes on when
/// its stored form is fed the results, as [`Input::Returned`](crate::run::Input::Returned).
///
/// `input_schema` is the JSON Schema of its input, an object; calls that do not fit it are answered with an error.
///
/// ```
/// use ai_core::{client_tool, ToolSet};
/// use serde_json::json;
/// let location = client_tool("location", "Where the user is.", json!({"type": "object"}));
/// let tools = ToolSet::new().with(location)?;
/// # let _ = tools; Ok::<(), ai_core::Error>(())
/// ```
pub fn client_tool(
    name: impl Into<String>,
    description: impl Into<String>,
    input_schema: Value,
) -> ClientTool {
    let definition = FunctionTool::new(name, description, input_schema);
    ClientTool { schema: InputSchema::new(definition.input_schema.clone()), definition }
}

/// A tool made by [`client_tool`].
#[derive(Debug)]
pub struct ClientTool {
    definition: FunctionTool,
    schema: InputSchema,
}

impl Tool for ClientTool {
    fn definition(&self) -> FunctionTool {
        self.definition.clone()
    }

    fn is_executable(&self) -> bool {
        false
    }

    fn check(&self, input: &Value) -> Result<(), String> {
        self.schema.check(input)
    }

    fn execute(&self, _input: Value, _ctx: ToolContext) -> ToolStream {
        elsewhere(&self.definition.name)
    }
}

/// What the provider knows by its own id and this side does not run.
#[derive(Debug)]
pub(super) struct ProviderRun(pub(super) FunctionTool);

impl Tool for ProviderRun {
    fn definition(&self) -> FunctionTool {
        self.0.clone()
    }

    fn is_executable(&self) -> bool {
        false
    }

    fn execute(&self, _input: Value, _ctx: ToolContext) -> ToolStream {
        elsewhere(&self.0.name)
    }
}

fn elsewhere(name: &str) -> ToolStream {
    let error = ToolError::new(format!("`{name}` does not run on this side"));
    Box::pin(stream::once(future::ready(ToolYield::Final(Err(error)))))
}
