//! `chat models`: what a provider offers.

use std::io::{self, Write};
use std::sync::Arc;

use ai_provider::{ModelInfo, Provider};
use serde_json::{Value, json};

use crate::cli::Models;
use crate::config::Config;
use crate::failure::Failure;
use crate::models;
use crate::setup::{self, Flags, ModelSetup};
use crate::text::visible_line;

/// Lists the models of a provider, by the names `--model` takes.
///
/// # Errors
/// If there is no such provider, or it has no list, or the list cannot be had.
pub(crate) async fn list(command: &Models, flags: &Flags, config: &Config) -> Result<(), Failure> {
    let (name, provider) = provider(command.provider.as_deref(), flags, config).await?;
    let models = provider.list_models().await.map_err(|error| Failure::of_model(&error, &name))?;
    let mut out = io::stdout().lock();
    let written = match command.json {
        true => writeln!(out, "{}", models.iter().map(|model| as_json(&name, model)).collect::<Value>()),
        false => models.iter().try_for_each(|model| writeln!(out, "{}", line(&name, model))),
    };
    written.and_then(|()| out.flush()).map_err(Failure::of_screen)
}

/// The provider of this name, or else that of the model which would be asked.
async fn provider(
    named: Option<&str>,
    flags: &Flags,
    config: &Config,
) -> Result<(String, Arc<dyn Provider>), Failure> {
    let setup = match named.map(str::trim) {
        Some("demo") if !config.providers.contains_key("demo") => None,
        Some(name) => Some((name.to_owned(), setup::server(name, "", flags, config))),
        None => {
            let key = std::env::var_os("OPENAI_API_KEY").is_some_and(|key| !key.is_empty());
            let merged =
                setup::merge(flags, config, key).map_err(|error| Failure::usage(error.to_string()))?;
            match merged.model {
                ModelSetup::Demo { .. } => None,
                ModelSetup::Server(server) => {
                    Some((server.name.clone().unwrap_or_else(|| server.api.clone()), Ok(*server)))
                }
            }
        }
    };
    match setup {
        None => Ok(("demo".to_owned(), models::demo())),
        Some((name, server)) => {
            let server = server.map_err(|error| Failure::usage(error.to_string()))?;
            Ok((name, models::provider(&models::registry()?, &server).await?))
        }
    }
}

fn line(provider: &str, model: &ModelInfo) -> String {
    let name = model.display_name.as_deref().filter(|name| *name != model.id);
    let name = name.map(|name| format!("  {name}")).unwrap_or_default();
    visible_line(&format!("{provider}:{}{name}", model.id))
}

fn as_json(provider: &str, model: &ModelInfo) -> Value {
    let mut json = json!(model);
    if let Value::Object(fields) = &mut json {
        fields.insert("model".to_owned(), format!("{provider}:{}", model.id).into());
    }
    json
}
