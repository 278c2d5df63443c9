//! The configuration file. Flags win over it; see [`crate::setup`].

mod error;
pub(crate) mod example;
pub(crate) mod itself;
mod models;
mod read;
#[cfg(test)]
mod reference;
mod run;
mod serve;
mod table;
#[cfg(test)]
mod tests;
mod tracing;
mod values;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) use self::error::{ConfigError, Fault};
pub(crate) use self::models::{KeyOrder, ModelConfig, PriceConfig, ProviderConfig, RetryConfig};
pub(crate) use self::read::{Draft, Places};
pub(crate) use self::run::{Approval, ApprovalConfig, TimeoutsConfig, ToolsConfig};
pub(crate) use self::serve::{ServeConfig, StoreConfig, StoreKind};
use self::table::{table, tables};
pub(crate) use self::tracing::{LogFormat, TracingConfig};
use self::values::Folders;
pub(crate) use self::values::{Address, EnvName, Secret, Text};
use crate::mcp::config::McpConfig;

/// What a configuration file says.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// The model used if no flag names one: a name of `models`, or `PROVIDER:MODEL`. Default: OpenAI's `gpt-4.1-mini` if
    /// `OPENAI_API_KEY` is set, else the demo inside the program.
    pub(crate) default_model: Option<String>,
    /// Instructions for every model that has none of its own.
    pub(crate) system: Option<String>,
    #[serde(deserialize_with = "tables")]
    pub(crate) providers: BTreeMap<String, ProviderConfig>,
    #[serde(deserialize_with = "tables")]
    pub(crate) models: BTreeMap<String, ModelConfig>,
    #[serde(deserialize_with = "tables")]
    pub(crate) prices: BTreeMap<String, PriceConfig>,
    #[serde(deserialize_with = "table")]
    pub(crate) retry: RetryConfig,
    #[serde(deserialize_with = "tables")]
    pub(crate) mcp: BTreeMap<String, McpConfig>,
    #[serde(deserialize_with = "table")]
    pub(crate) tools: ToolsConfig,
    #[serde(deserialize_with = "table")]
    pub(crate) approval: ApprovalConfig,
    #[serde(deserialize_with = "table")]
    pub(crate) timeouts: TimeoutsConfig,
    #[serde(deserialize_with = "table")]
    pub(crate) store: StoreConfig,
    #[serde(deserialize_with = "table")]
    pub(crate) serve: ServeConfig,
    #[serde(deserialize_with = "table")]
    pub(crate) tracing: TracingConfig,
}

impl Config {
    /// Reads a configuration file.
    ///
    /// # Errors
    /// If it cannot be read, or says something that is not understood; the error names the first place.
    pub(crate) fn read(path: &Path) -> Result<Self, ConfigError> {
        let draft = Draft::read(path)?;
        match draft.faults.first() {
            Some(first) => Err(ConfigError::new(path, first.clone(), draft.faults.len() - 1)),
            None => Ok(draft.config),
        }
    }

    /// Makes the paths of the file absolute, or relative to the working folder if the file's own path is.
    fn place(&mut self, folders: Folders<'_>) {
        for provider in self.providers.values_mut() {
            provider.keys.iter_mut().for_each(|key| folders.place_secret(key));
            provider.headers.values_mut().for_each(|header| folders.place_text(header));
        }
        let paths = [&mut self.tools.root, &mut self.store.path, &mut self.tracing.file];
        paths.into_iter().flatten().for_each(|path| folders.place(path));
        self.mcp.values_mut().for_each(|server| server.resolve(folders.here));
        self.store.url.iter_mut().for_each(|url| folders.place_text(url));
        self.serve.token.iter_mut().for_each(|token| folders.place_secret(token));
    }
}

/// Where the file is if no flag says so: `$XDG_CONFIG_HOME/chat/config.toml`, else under `~/.config`.
pub(crate) fn default_path(env: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    user_folder(env, "XDG_CONFIG_HOME", ".config").map(|folder| folder.join("config.toml"))
}

/// The program's own folder of a kind: under the variable's, else under that of the home. A relative one does not count.
pub(crate) fn user_folder(
    env: impl Fn(&str) -> Option<String>,
    variable: &str,
    of_home: &str,
) -> Option<PathBuf> {
    let absolute = |name: &str| env(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(of_home)))?;
    Some(base.join("chat"))
}
