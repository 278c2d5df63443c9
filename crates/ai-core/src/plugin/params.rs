use std::sync::Arc;

use ai_provider::{
    JsonObject, Message, ProviderOptions, ProviderTool, Request, ResponseFormat, Settings, ToolChoice,
};

use crate::error::Error;
use crate::tool::{Tool, ToolSet};

/// The parameters of a call or of a run: all that goes into its requests but the conversation.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CallParams {
    /// The instructions of an agent. For a single call: instructions in front of the messages it has.
    pub instructions: Option<String>,
    /// The tools. In a single call nobody runs them: the model's calls are part of its answer.
    pub tools: ToolSet,
    /// Which of them the model shall use.
    pub tool_choice: ToolChoice,
    /// Temperature, token limit and the like.
    pub settings: Settings,
    /// The form of the answer.
    pub response_format: ResponseFormat,
    /// Options only one provider understands.
    pub options: ProviderOptions,
    /// What is merged into the body of each request.
    pub extra_body: JsonObject,
    /// Further headers of each request; a value of `None` removes one.
    pub extra_headers: Vec<(String, Option<String>)>,
}

impl CallParams {
    /// Adds a tool, in the place of one of the same name.
    ///
    /// # Errors
    /// If providers do not take its name.
    pub fn set_tool(&mut self, tool: impl Tool) -> Result<(), Error> {
        let name = tool.definition().name;
        self.tools = std::mem::take(&mut self.tools).without(&name).with(tool)?;
        Ok(())
    }

    /// Adds a tool that runs at the provider, in the place of one of the same name.
    ///
    /// # Errors
    /// If providers do not take its name.
    pub fn set_provider_tool(&mut self, tool: ProviderTool) -> Result<(), Error> {
        self.tools = std::mem::take(&mut self.tools).without(&tool.name).with_provider(tool)?;
        Ok(())
    }

    /// The parameters of a request whose tools run nowhere, or as `tools` says.
    pub(crate) fn of(request: &Request, tools: Option<ToolSet>) -> Self {
        Self {
            instructions: None,
            tools: tools.unwrap_or_else(|| ToolSet::of_definitions(&request.tools)),
            tool_choice: request.tool_choice.clone(),
            settings: request.settings.clone(),
            response_format: request.response_format.clone(),
            options: request.options.clone(),
            extra_body: request.extra_body.clone(),
            extra_headers: request.extra_headers.clone(),
        }
    }

    /// Puts the parameters into a request. Instructions go in front of its messages.
    pub(crate) fn apply(self, request: &mut Request) {
        let instructions = self.instructions.map(|text| Arc::new(Message::system(text)));
        request.messages.splice(0..0, instructions);
        request.tools = self.tools.definitions();
        request.tool_choice = self.tool_choice;
        request.settings = self.settings;
        request.response_format = self.response_format;
        request.options = self.options;
        request.extra_body = self.extra_body;
        request.extra_headers = self.extra_headers;
    }
}
