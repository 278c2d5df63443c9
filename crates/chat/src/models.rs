//! Makes the model a setup names.

use std::env::VarError;
use std::sync::Arc;

use ai_openai::{Dialect, OpenAi};
use ai_provider::{Keys, LanguageModel, Provider};

use crate::demo::Demo;
use crate::failure::Failure;
use crate::setup::{KeyFrom, ModelSetup, Server};

/// The model. No request is made; the key is read from the environment.
///
/// # Errors
/// If the key is missing or cannot be one, or the address cannot be read.
pub(crate) fn model(setup: &ModelSetup) -> Result<Arc<dyn LanguageModel>, Failure> {
    match setup {
        ModelSetup::Demo { model } => resolve(&Demo, model),
        ModelSetup::Server(server) => resolve(&provider(server)?, &server.model),
    }
}

fn resolve(provider: &dyn Provider, model: &str) -> Result<Arc<dyn LanguageModel>, Failure> {
    provider.language_model(model).map_err(|error| Failure::usage(error.to_string()))
}

fn provider(server: &Server) -> Result<OpenAi, Failure> {
    let generic = || Dialect::generic(server.provider.clone(), "");
    let dialect = server.dialect.as_deref().and_then(Dialect::by_name).unwrap_or_else(generic);
    let mut builder = OpenAi::builder().name(&server.provider).dialect(dialect);
    if let Some(url) = &server.base_url {
        builder = builder.base_url(url);
    }
    if let Some(url) = &server.endpoint_url {
        builder = builder.endpoint_url(url);
    }
    if let Some(keys) = keys(&server.key)? {
        builder = builder.keys(Arc::new(keys));
    }
    builder.build().map_err(|error| Failure::usage(error.message().to_owned()))
}

/// The keys in the variable: one, or several separated by commas.
fn keys(from: &KeyFrom) -> Result<Option<Keys>, Failure> {
    let (variable, required) = match from {
        KeyFrom::Nowhere => return Ok(None),
        KeyFrom::IfSet(variable) => (variable, false),
        KeyFrom::Variable(variable) => (variable, true),
    };
    let shown = shown(variable);
    match std::env::var(variable) {
        Ok(text) => Keys::parse(&text).map(Some).map_err(|error| {
            let message = format!("the key in {shown} cannot be used: {}", error.message());
            Failure::new(message).with_advice("Set the variable to the key alone, on one line.")
        }),
        Err(VarError::NotUnicode(_)) => {
            Err(Failure::new(format!("the key in {shown} cannot be used: it is not text")))
        }
        Err(VarError::NotPresent) if required => {
            Err(Failure::new(format!("there is no API key: {shown} is not set"))
                .with_advice("Set it, or name another variable with --api-key-env."))
        }
        Err(VarError::NotPresent) => Ok(None),
    }
}

/// The name of a variable, unless it may be a key that was given in its place.
fn shown(variable: &str) -> String {
    let usual = variable.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    match usual {
        true => format!("the environment variable {variable}"),
        false => "the environment variable named for it".to_owned(),
    }
}
