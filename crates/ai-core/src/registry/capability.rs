use std::collections::BTreeMap;
use std::fmt;

use ai_provider::{ProviderOptions, ProviderTool};

/// Something providers offer as a tool of their own, under one name for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ToolCapability {
    /// Searches the web.
    WebSearch,
    /// Searches files the provider holds.
    FileSearch,
    /// Runs code at the provider.
    CodeExecution,
    /// Reads pages whose addresses stand in the conversation.
    UrlContext,
}

impl ToolCapability {
    /// The name, for example `web-search`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WebSearch => "web-search",
            Self::FileSearch => "file-search",
            Self::CodeExecution => "code-execution",
            Self::UrlContext => "url-context",
        }
    }
}

impl fmt::Display for ToolCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a request needs so that a provider offers one of its [capabilities](ToolCapability). Data alone: no
/// provider has to be created to look one up.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolPatch {
    /// The provider's tools; one capability may be several of them.
    pub tools: Vec<ProviderTool>,
    /// Options to be merged over those of the request.
    pub options: ProviderOptions,
}

impl ToolPatch {
    /// A patch of one tool without settings: its id (`openai.web_search`) and the name the request knows it by.
    pub fn tool(id: impl Into<String>, name: impl Into<String>) -> Self {
        Self::default().and_tool(id, name)
    }

    /// Adds another tool.
    #[must_use]
    pub fn and_tool(mut self, id: impl Into<String>, name: impl Into<String>) -> Self {
        self.tools.push(ProviderTool { id: id.into(), name: name.into(), args: Default::default() });
        self
    }

    /// Sets the options.
    #[must_use]
    pub fn with_options(mut self, options: ProviderOptions) -> Self {
        self.options = options;
        self
    }
}

pub(super) type ToolTable = BTreeMap<ToolCapability, ToolPatch>;
