mod format;
mod history;
mod parse;

use std::fmt;
use std::sync::Arc;

use ai_provider::{
    CallContext, Capabilities, FunctionTool, ModelStream, Request, StreamPart, ToolChoice, ToolDefinition,
    Warning,
};

pub(crate) use format::words;
pub use format::{PromptCall, TagFormat, ToolFormat};

use super::text::instruct;
use super::{Middleware, Next, transform_parts};
use parse::Calls;

/// Tool use for models that have none: the tools are described in the instructions, calls are read from the text
/// of the answer, and earlier calls and results are written the way the model knows them.
///
/// Above it nothing differs from a model that calls tools by itself: a [`ToolLoop`](crate::ToolLoop) runs them.
/// Tools the provider runs itself are left in the request. A format of your own is a [`ToolFormat`].
///
/// A model can be asked for a certain tool only in words, so `tool_choice` comes with a warning.
///
/// ```
/// use ai_core::middleware::{Middleware, PromptTools, wrap};
/// use ai_provider::LanguageModel;
/// use std::sync::Arc;
///
/// fn with_tools(model: Arc<dyn LanguageModel>) -> Arc<dyn LanguageModel> {
///     wrap(model, [Arc::new(PromptTools::new()) as Arc<dyn Middleware>])
/// }
/// ```
#[derive(Clone)]
pub struct PromptTools {
    format: Arc<dyn ToolFormat>,
    enabled: Enabled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Enabled {
    Always,
    IfNeeded,
    Never,
}

impl PromptTools {
    /// For a model without tools, whatever its capabilities say.
    pub fn new() -> Self {
        Self { format: Arc::new(TagFormat::default()), enabled: Enabled::Always }
    }

    /// Only where the capabilities of the model say that it calls no tools.
    pub fn if_needed() -> Self {
        Self { enabled: Enabled::IfNeeded, ..Self::new() }
    }

    /// Switches it on or off.
    #[must_use]
    pub fn with_enabled(mut self, enabled: bool) -> Self {
        self.enabled = if enabled { Enabled::Always } else { Enabled::Never };
        self
    }

    /// Sets how calls, results and tools are written.
    #[must_use]
    pub fn with_format(mut self, format: impl ToolFormat) -> Self {
        self.format = Arc::new(format);
        self
    }

    fn applies(&self, inner: &Capabilities) -> bool {
        match self.enabled {
            Enabled::Always => true,
            Enabled::IfNeeded => !inner.tools,
            Enabled::Never => false,
        }
    }

    fn rewrite(&self, mut request: Request) -> Request {
        let format = &*self.format;
        let tools = Arc::clone(&request.tools);
        let functions: Vec<&FunctionTool> = functions(&tools).collect();
        request.messages = history::rewrite(format, &request.messages);
        if !functions.is_empty() && request.tool_choice != ToolChoice::None {
            let prompt = format.instructions(&functions, &request.tool_choice);
            instruct(&mut request.messages, prompt);
        }
        if !functions.is_empty() {
            let left = request.tools.iter().filter(|tool| !matches!(tool, ToolDefinition::Function(_)));
            let left: Arc<[_]> = left.cloned().collect();
            request.tool_choice = match &request.tool_choice {
                ToolChoice::Tool { name } if left.iter().any(|tool| tool.name() == name) => {
                    request.tool_choice
                }
                ToolChoice::None if !left.is_empty() => ToolChoice::None,
                _ => ToolChoice::Auto,
            };
            request.tools = left;
        }
        request
    }
}

impl Default for PromptTools {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for PromptTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PromptTools").field("enabled", &self.enabled).finish_non_exhaustive()
    }
}

impl Middleware for PromptTools {
    fn name(&self) -> &str {
        "prompt-tools"
    }

    fn capabilities(&self, inner: &Capabilities) -> Option<Capabilities> {
        self.applies(inner).then(|| {
            let mut capabilities = inner.clone();
            capabilities.tools = true;
            capabilities.parallel_tool_calls = true;
            capabilities
        })
    }

    fn wrap_stream(&self, next: Next, request: Request, ctx: CallContext) -> ModelStream {
        if !self.applies(next.model().capabilities()) {
            return next.stream(request, ctx);
        }
        // Here and not in `transform_request`: what is read of the answer depends on the tools.
        let told = request.tool_choice != ToolChoice::None && functions(&request.tools).next().is_some();
        let warning = forced(&request);
        let ids = ctx.request_id.clone();
        let stream = next.stream(self.rewrite(request), ctx);
        if !told {
            return stream;
        }
        transform_parts(stream, Calls::new(Arc::clone(&self.format), ids, warning))
    }
}

fn functions(tools: &[ToolDefinition]) -> impl Iterator<Item = &FunctionTool> {
    tools.iter().filter_map(|tool| match tool {
        ToolDefinition::Function(tool) => Some(tool),
        _ => None,
    })
}

fn forced(request: &Request) -> Option<Warning> {
    let forced = match &request.tool_choice {
        ToolChoice::Required => functions(&request.tools).next().is_some(),
        ToolChoice::Tool { name } => functions(&request.tools).any(|tool| tool.name == *name),
        _ => false,
    };
    forced.then(|| Warning::compatibility("toolChoice", "the model is asked for the call in words"))
}

/// Adds a warning to the start of a stream.
fn warn(part: &mut StreamPart, warning: &mut Option<Warning>) {
    if let StreamPart::StreamStart { warnings } = part {
        warnings.extend(warning.take());
    }
}
