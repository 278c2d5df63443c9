//! `[mcp.NAME]` of the configuration file.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ai_mcp::{Approval, McpServer, McpServers};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::itself::is_own_program;

/// A server: either `command` or `url`, and what of it is used.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct McpConfig {
    /// Whether it is used. Default: yes.
    #[serde(default = "yes")]
    pub(crate) enabled: bool,
    /// The program of a server that speaks on its standard input and output.
    pub(crate) command: Option<String>,
    /// Its arguments. In these, in `env`, `url` and `headers`, `${NAME}` stands for a variable of the environment.
    #[serde(default)]
    pub(crate) args: Vec<Text>,
    /// Variables the program gets besides `PATH`, `HOME`, `LANG` and `TMPDIR`.
    #[serde(default)]
    pub(crate) env: BTreeMap<String, Text>,
    /// The folder it starts in, relative to the configuration file.
    pub(crate) cwd: Option<PathBuf>,
    /// Where a server is that speaks streamable HTTP.
    pub(crate) url: Option<Text>,
    /// Headers it is called with.
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Text>,
    /// The tools that are used, by the server's names; all if absent.
    pub(crate) tools: Option<Vec<String>>,
    /// Tools that change nothing, whatever the server says.
    #[serde(default)]
    pub(crate) read_only: Vec<String>,
    /// Which calls a person is asked about: `effects`, all but those of tools that change nothing, `always` or `never`.
    /// What `[approval]` says of a tool wins. Default: `effects`.
    #[serde(default)]
    pub(crate) approval: McpApproval,
    /// Whether the server's own word on the effects of its tools is taken.
    #[serde(default)]
    pub(crate) trust_hints: bool,
    /// The most seconds until it is connected.
    pub(crate) connect_timeout: Option<u32>,
    /// The most seconds of a call.
    pub(crate) call_timeout: Option<u32>,
}

fn yes() -> bool {
    true
}

/// Which calls a person is asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum McpApproval {
    /// All but those of tools that change nothing.
    #[default]
    Effects,
    Always,
    Never,
}

/// A text that may name variables of the environment: `${NAME}`. What it holds may be a key, so it is not shown.
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(with = "String")]
pub(crate) struct Text(String);

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Text(…)")
    }
}

impl Text {
    /// The text with its variables filled in; what is wrong with it otherwise.
    fn fill(&self, env: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
        let (mut text, mut rest) = (String::new(), self.0.as_str());
        while let Some((before, behind)) = rest.split_once("${") {
            text.push_str(before);
            let Some((name, behind)) = behind.split_once('}') else {
                return Err("`${` is not closed by `}`".to_owned());
            };
            // What is no name may be a key that was put there by mistake.
            if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                return Err("what stands in `${…}` is no name of a variable".to_owned());
            }
            match env(name) {
                Some(value) if !value.is_empty() => text.push_str(&value),
                _ => return Err(format!("the variable {name} is not set")),
            }
            rest = behind;
        }
        text.push_str(rest);
        Ok(text)
    }
}

impl McpConfig {
    /// Makes what is relative to the configuration file absolute.
    pub(crate) fn resolve(&mut self, folder: &Path) {
        if let Some(cwd) = &mut self.cwd {
            *cwd = folder.join(&cwd);
        }
    }

    /// The server it speaks of.
    ///
    /// # Errors
    /// Everything that is wrong with it, each as a sentence that names the place.
    pub(crate) fn server(
        &self,
        name: &str,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<McpServer, Vec<String>> {
        let mut problems = Vec::new();
        let mut fill = |key: &str, text: &Text| {
            let filled = text.fill(env);
            filled.unwrap_or_else(|problem| {
                problems.push(format!("[mcp.{name}] {key}: {problem}"));
                String::new()
            })
        };
        let mut server = match (&self.command, &self.url) {
            (Some(command), None) => {
                if is_own_program(Path::new(command), env("PATH").as_deref().map(OsStr::new)) {
                    return Err(vec![format!(
                        "[mcp.{name}] command is this program itself, which is no MCP server"
                    )]);
                }
                let args: Vec<String> = self.args.iter().map(|arg| fill("args", arg)).collect();
                let mut server = McpServer::stdio(command).args(args);
                for (variable, value) in &self.env {
                    server = server.env(variable, fill(&format!("env.{variable}"), value));
                }
                match &self.cwd {
                    Some(folder) => server.cwd(folder),
                    None => server,
                }
            }
            (None, Some(url)) => {
                let mut server = McpServer::http(fill("url", url));
                for (header, value) in &self.headers {
                    server = server.header(header, fill(&format!("headers.{header}"), value));
                }
                server
            }
            (Some(_), Some(_)) => {
                return Err(vec![format!("[mcp.{name}] has both command and url: it takes one")]);
            }
            (None, None) => {
                return Err(vec![format!("[mcp.{name}] has neither command nor url: it takes one")]);
            }
        };
        problems.extend(self.misplaced().map(|key| {
            format!(
                "[mcp.{name}] {key} makes no sense with {}",
                if self.url.is_some() { "url" } else { "command" }
            )
        }));
        if !problems.is_empty() {
            return Err(problems);
        }
        server = server
            .with_read_only(self.read_only.iter().cloned())
            .with_trusted_hints(self.trust_hints)
            .with_approval(match self.approval {
                McpApproval::Effects => Approval::Effects,
                McpApproval::Always => Approval::Always,
                McpApproval::Never => Approval::Never,
            });
        if let Some(tools) = &self.tools {
            server = server.with_tools(tools.iter().cloned());
        }
        if let Some(seconds) = self.connect_timeout {
            server = server.with_connect_timeout(Duration::from_secs(seconds.into()));
        }
        if let Some(seconds) = self.call_timeout {
            server = server.with_call_timeout(Duration::from_secs(seconds.into()));
        }
        match McpServers::builder().with(name, server.clone()) {
            Ok(_) => Ok(server),
            Err(error) => Err(vec![format!("[mcp.{name}]: {}", error.message())]),
        }
    }

    /// What belongs to the other kind of server.
    fn misplaced(&self) -> impl Iterator<Item = &'static str> {
        let http = self.url.is_some();
        let given = [
            ("args", http && !self.args.is_empty()),
            ("env", http && !self.env.is_empty()),
            ("cwd", http && self.cwd.is_some()),
            ("headers", !http && !self.headers.is_empty()),
        ];
        given.into_iter().filter(|(_, misplaced)| *misplaced).map(|(key, _)| key)
    }
}
