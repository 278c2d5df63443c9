use std::fmt::Write as _;

use ai_provider::{FunctionTool, ToolCall, ToolChoice, ToolContent, ToolOutput, ToolResult};

use super::super::extract_json::unfence;

/// How a model without tools is told of them, and how it calls them: all that is text in
/// [`PromptTools`](super::PromptTools).
pub trait ToolFormat: Send + Sync + 'static {
    /// What stands before and after each call. What is between them is read when the second one is there; a
    /// second one within a JSON string counts as content.
    fn tags(&self) -> (&str, &str);

    /// Reads what stands between the tags; `None` if it is no call, and so stays text. What follows the end of a
    /// cut answer may be missing.
    fn parse(&self, block: &str) -> Option<PromptCall>;

    /// Writes a call of an earlier step, tags included.
    fn call(&self, call: &ToolCall) -> String;

    /// Writes the result of an earlier call, in words.
    fn result(&self, result: &ToolResult) -> String;

    /// Explains the tools: added to the instructions of the caller. Must be the same for the same tools, so that
    /// the beginning of the prompt is.
    fn instructions(&self, tools: &[&FunctionTool], choice: &ToolChoice) -> String;
}

/// A call as read from text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptCall {
    /// Which tool.
    pub name: String,
    /// Its input: what should be JSON.
    pub input: String,
}

/// `<tool_use>` with a name and arguments in JSON; results come as `<tool_use_result>`.
#[derive(Clone, Debug)]
pub struct TagFormat {
    examples: bool,
}

impl TagFormat {
    /// Leaves out the worked example, for models that need none: it costs some 200 tokens.
    #[must_use]
    pub fn without_example(mut self) -> Self {
        self.examples = false;
        self
    }
}

impl Default for TagFormat {
    fn default() -> Self {
        Self { examples: true }
    }
}

const RULES: &str = "\
## Tools

You can use the tools listed below. To use one, write a block of exactly this form:

<tool_use>
<name>NAME</name>
<arguments>{\"parameter\": \"value\"}</arguments>
</tool_use>

- The name is that of a listed tool. The arguments are one JSON object that fits its schema.
- Several blocks in one answer are several uses. Stop writing after the last block.
- The results come in the next message, as <tool_use_result> blocks. Never write such a block yourself.
- Where no tool is needed, answer without a block.";

const EXAMPLE: &str = "\
Example, with tools that may not be among yours:

User: How warm is it in Oslo and in Rome?
Assistant: I look both up.
<tool_use>
<name>temperature</name>
<arguments>{\"city\": \"Oslo\"}</arguments>
</tool_use>
<tool_use>
<name>temperature</name>
<arguments>{\"city\": \"Rome\"}</arguments>
</tool_use>
User: <tool_use_result>
<name>temperature</name>
<result>4</result>
</tool_use_result>

<tool_use_result>
<name>temperature</name>
<error>No such station.</error>
</tool_use_result>
Assistant: It is 4 degrees in Oslo. For Rome there is no measurement.";

impl ToolFormat for TagFormat {
    fn tags(&self) -> (&str, &str) {
        ("<tool_use>", "</tool_use>")
    }

    fn parse(&self, block: &str) -> Option<PromptCall> {
        let (name, rest) = block.split_once("<name>")?.1.split_once("</name>")?;
        let name = name.trim();
        if name.is_empty() {
            return None;
        }
        let input = rest.split_once("<arguments>").map_or("", |(_, rest)| rest);
        let input = input.rsplit_once("</arguments>").map_or(input, |(input, _)| input);
        Some(PromptCall { name: name.to_owned(), input: unfence(input).trim().to_owned() })
    }

    fn call(&self, call: &ToolCall) -> String {
        let (name, input) = (&call.name, &call.input);
        format!("<tool_use>\n<name>{name}</name>\n<arguments>{input}</arguments>\n</tool_use>")
    }

    fn result(&self, result: &ToolResult) -> String {
        let tag = if result.output.is_error() { "error" } else { "result" };
        let (name, text) = (&result.tool_name, words(&result.output));
        format!("<tool_use_result>\n<name>{name}</name>\n<{tag}>{text}</{tag}>\n</tool_use_result>")
    }

    fn instructions(&self, tools: &[&FunctionTool], choice: &ToolChoice) -> String {
        let mut text = RULES.to_owned();
        if self.examples {
            text.push_str("\n\n");
            text.push_str(EXAMPLE);
        }
        text.push_str("\n\nYour tools:");
        for tool in tools {
            let _ = write!(text, "\n\n<tool>\n<name>{}</name>", tool.name);
            if let Some(description) = &tool.description {
                let _ = write!(text, "\n<description>{description}</description>");
            }
            let _ = write!(text, "\n<schema>{}</schema>", tool.input_schema);
            for example in &tool.input_examples {
                let _ = write!(text, "\n<example>{example}</example>");
            }
            text.push_str("\n</tool>");
        }
        match choice {
            ToolChoice::Required => text.push_str("\n\nUse at least one of them in your next answer."),
            ToolChoice::Tool { name } => {
                let _ = write!(text, "\n\nUse the tool `{name}` in your next answer.");
            }
            _ => {}
        }
        text
    }
}

/// An output as text; files are named only.
pub(crate) fn words(output: &ToolOutput) -> String {
    match output {
        ToolOutput::Text(text) | ToolOutput::ErrorText(text) => text.clone(),
        ToolOutput::Json(value) | ToolOutput::ErrorJson(value) => value.to_string(),
        ToolOutput::ExecutionDenied { reason: Some(reason) } => format!("Not run: denied. {reason}"),
        ToolOutput::ExecutionDenied { reason: None } => "Not run: denied.".to_owned(),
        ToolOutput::Content(items) => {
            let items = items.iter().map(|item| match item {
                ToolContent::Text(part) => part.text.clone(),
                ToolContent::File(file) => format!("[file: {}]", file.media_type),
                ToolContent::Custom(part) => format!("[{}]", part.kind),
                _ => "[content]".to_owned(),
            });
            items.collect::<Vec<_>>().join("\n")
        }
        _ => "[output]".to_owned(),
    }
}
