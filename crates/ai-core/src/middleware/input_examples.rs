use std::fmt::Write as _;

use ai_provider::{FunctionTool, ModelError, Request, ToolDefinition};
use async_trait::async_trait;

use super::{Middleware, MiddlewareCall};

/// Writes the examples of a tool's input into its description, for models whose API has no field for them.
#[derive(Clone, Copy, Debug, Default)]
pub struct DescribeExamples {
    keep: bool,
}

impl DescribeExamples {
    /// Moves the examples.
    pub fn new() -> Self {
        Self::default()
    }

    /// Leaves them in their own field too.
    #[must_use]
    pub fn keep_field(mut self) -> Self {
        self.keep = true;
        self
    }

    fn describe(self, tool: &ToolDefinition) -> ToolDefinition {
        match tool {
            ToolDefinition::Function(tool) if !tool.input_examples.is_empty() => {
                let mut description = tool.description.clone().unwrap_or_default();
                description.push_str(if description.is_empty() { "" } else { "\n\n" });
                description.push_str("Examples of its input:");
                for example in &tool.input_examples {
                    let _ = write!(description, "\n{example}");
                }
                let input_examples = if self.keep { tool.input_examples.clone() } else { Vec::new() };
                ToolDefinition::Function(FunctionTool {
                    description: Some(description),
                    input_examples,
                    ..tool.clone()
                })
            }
            other => other.clone(),
        }
    }
}

#[async_trait]
impl Middleware for DescribeExamples {
    fn name(&self) -> &str {
        "describe-examples"
    }

    async fn transform_request(
        &self,
        mut request: Request,
        _call: &MiddlewareCall<'_>,
    ) -> Result<Request, ModelError> {
        let with_examples = |tool: &ToolDefinition| match tool {
            ToolDefinition::Function(tool) => !tool.input_examples.is_empty(),
            _ => false,
        };
        if request.tools.iter().any(with_examples) {
            request.tools = request.tools.iter().map(|tool| self.describe(tool)).collect();
        }
        Ok(request)
    }
}
