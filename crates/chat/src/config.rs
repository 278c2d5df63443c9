//! The configuration file: providers, models and tools. Flags win over it; see [`crate::setup`].

mod error;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::File as FsFile;
use std::io::{self, Read};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use ai_provider::ReasoningEffort;
use serde::Deserialize;

pub(crate) use self::error::ConfigError;
use self::error::Misread;
use self::table::{table, tables};
use crate::mcp::config::McpConfig;
use crate::tools::ToolName;

/// The largest configuration file, in bytes: hundreds of times what a person writes.
const MAX_BYTES: u64 = 1 << 20;

/// What a configuration file says.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// The model used if no flag names one: an entry of `models`, or `provider:model`.
    pub(crate) default_model: Option<String>,
    /// Instructions for every model that has none of its own.
    pub(crate) system: Option<String>,
    #[serde(default, deserialize_with = "tables")]
    pub(crate) providers: BTreeMap<String, ProviderConfig>,
    #[serde(default, deserialize_with = "tables")]
    pub(crate) models: BTreeMap<String, ModelConfig>,
    #[serde(default, deserialize_with = "table")]
    pub(crate) tools: ToolsConfig,
    #[serde(default, deserialize_with = "table")]
    pub(crate) retry: RetryConfig,
    #[serde(default, deserialize_with = "tables")]
    pub(crate) mcp: BTreeMap<String, McpConfig>,
}

/// What is tried when a call of the model fails.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RetryConfig {
    /// How often the first model is tried again.
    pub(crate) retries: Option<u32>,
    /// Models to ask then: entries of `models`, or `provider:model`.
    #[serde(default)]
    pub(crate) fallbacks: Vec<String>,
}

/// A server.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProviderConfig {
    #[serde(default)]
    pub(crate) kind: ProviderKind,
    pub(crate) base_url: Option<String>,
    /// The whole URL of chat completions, for a server with a path of its own.
    pub(crate) endpoint_url: Option<String>,
    pub(crate) dialect: Option<String>,
    /// The variable that holds the key. The key itself never stands in a file.
    pub(crate) api_key_env: Option<String>,
}

/// Which API a server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ProviderKind {
    /// OpenAI's own.
    #[serde(rename = "openai")]
    OpenAi,
    /// Anthropic's Messages.
    Anthropic,
    /// Google's Gemini.
    Google,
    /// One that speaks like OpenAI's Chat Completions.
    #[default]
    #[serde(rename = "openai-compatible")]
    OpenAiCompatible,
}

/// A name for a model with its settings.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelConfig {
    /// `provider:model`.
    pub(crate) model: String,
    pub(crate) system: Option<String>,
    pub(crate) temperature: Option<f64>,
    pub(crate) top_p: Option<f64>,
    pub(crate) max_output_tokens: Option<u64>,
    pub(crate) seed: Option<i64>,
    #[serde(default)]
    pub(crate) reasoning: ReasoningEffort,
}

/// The built-in tools.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolsConfig {
    /// Which are on; all that can be, if absent.
    pub(crate) enable: Option<Vec<ToolName>>,
    /// The folder that `read_file` and `list_files` see, relative to the configuration file.
    pub(crate) root: Option<PathBuf>,
    /// The most steps of one answer.
    pub(crate) max_steps: Option<NonZeroU32>,
}

impl Config {
    /// Reads a configuration file.
    ///
    /// # Errors
    /// If it cannot be read, or says something that is not understood; the error names the place.
    pub(crate) fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = read_text(path).map_err(|error| ConfigError::unreadable(path, &error))?;
        let mut config = Self::parse(&text).map_err(|error| ConfigError::from_toml(path, &text, error))?;
        if let Some(folder) = path.parent() {
            if let Some(root) = &mut config.tools.root {
                *root = folder.join(&root);
            }
            config.mcp.values_mut().for_each(|server| server.resolve(folder));
        }
        Ok(config)
    }

    fn parse(text: &str) -> Result<Self, Misread> {
        let tree = toml::Deserializer::parse(text).map_err(Misread::syntax)?;
        serde_path_to_error::deserialize(tree).map_err(Misread::from)
    }
}

fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    FsFile::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > MAX_BYTES {
        return Err(io::Error::other(format!("it is larger than {MAX_BYTES} bytes")));
    }
    Ok(text)
}

/// Where the file is if no flag says so: `$XDG_CONFIG_HOME/chat/config.toml`, else under `~/.config`.
pub(crate) fn default_path(env: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let absolute = |name: &str| env(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")))?;
    Some(base.join("chat").join("config.toml"))
}
