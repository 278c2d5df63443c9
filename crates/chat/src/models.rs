//! Makes the model a setup names.

use std::env::VarError;
use std::sync::Arc;

use ai_anthropic::Anthropic;
use ai_google::Google;
use ai_openai::{Dialect, OpenAi};
use ai_provider::{ApiKey, Keys, LanguageModel, ModelError, Provider};
use retry::{Fallback, RetryPolicy};

use crate::demo::Demo;
use crate::failure::Failure;
use crate::setup::{Api, KeyFrom, ModelSetup, Server, Setup};

/// The model, with its fallbacks around it. No request is made; keys are read from the environment.
///
/// # Errors
/// If a key is missing or cannot be one, an address cannot be read, or a fallback makes no sense.
pub(crate) fn model(setup: &Setup) -> Result<Arc<dyn LanguageModel>, Failure> {
    let primary = bare(&setup.model)?;
    if matches!(setup.model, ModelSetup::Demo { .. }) && setup.fallbacks.is_empty() {
        return Ok(primary);
    }
    let mut policy = RetryPolicy::new().with_retries(setup.retries);
    for fallback in &setup.fallbacks {
        let settings = fallback.settings.clone();
        policy = policy.with_fallback(Fallback::to(bare(&fallback.model)?).with_settings(settings));
    }
    policy.wrap(primary).map_err(|error| Failure::usage(error.to_string()))
}

fn bare(setup: &ModelSetup) -> Result<Arc<dyn LanguageModel>, Failure> {
    match setup {
        ModelSetup::Demo { model } => resolve(&Demo, model),
        ModelSetup::Server(server) => resolve(&*provider(server)?, &server.model),
    }
}

fn resolve(provider: &dyn Provider, model: &str) -> Result<Arc<dyn LanguageModel>, Failure> {
    provider.language_model(model).map_err(|error| Failure::usage(error.to_string()))
}

/// Sets what all providers have on a builder, and builds.
macro_rules! build {
    ($builder:expr, $server:ident, $keys:ident) => {{
        let mut builder = $builder.name(&$server.provider);
        if let Some(url) = &$server.base_url {
            builder = builder.base_url(url);
        }
        if let Some(url) = &$server.endpoint_url {
            builder = builder.endpoint_url(url);
        }
        if let Some(keys) = $keys {
            builder = builder.keys(Arc::new(keys));
        }
        builder.build().map(|provider| Box::new(provider) as Box<dyn Provider>)
    }};
}

fn provider(server: &Server) -> Result<Box<dyn Provider>, Failure> {
    let keys = keys(&server.keys)?;
    let built = match server.api {
        Api::Messages => build!(Anthropic::builder(), server, keys),
        Api::Gemini => build!(Google::builder(), server, keys),
        Api::Chat => {
            let generic = || Dialect::generic(server.provider.clone(), "");
            let dialect = server.dialect.as_deref().and_then(Dialect::by_name).unwrap_or_else(generic);
            build!(OpenAi::builder().dialect(dialect), server, keys)
        }
    };
    built.map_err(|error| Failure::usage(error.message().to_owned()))
}

/// The keys in the variables: in each one, or several separated by commas.
fn keys(from: &KeyFrom) -> Result<Option<Keys>, Failure> {
    let (variables, required): (&[String], _) = match from {
        KeyFrom::Nowhere => return Ok(None),
        KeyFrom::IfSet(variable) => (std::slice::from_ref(variable), false),
        KeyFrom::Variables(variables) => (variables, true),
    };
    let mut keys = Vec::new();
    for variable in variables {
        for key in keys_in(variable, required)? {
            // The same key twice would be refused twice.
            if !keys.iter().any(|known: &ApiKey| known.expose() == key.expose()) {
                keys.push(key);
            }
        }
    }
    Ok((!keys.is_empty()).then(|| Keys::list(keys)))
}

fn keys_in(variable: &str, required: bool) -> Result<Vec<ApiKey>, Failure> {
    let shown = shown(variable);
    let text = match std::env::var(variable) {
        Ok(text) => text,
        Err(VarError::NotUnicode(_)) => {
            return Err(Failure::new(format!("the key in {shown} cannot be used: it is not text")));
        }
        Err(VarError::NotPresent) if required => {
            return Err(Failure::new(format!("there is no API key: {shown} is not set"))
                .with_advice("Set it, or name another variable with --api-key-env."));
        }
        Err(VarError::NotPresent) => return Ok(Vec::new()),
    };
    let mut texts: Vec<_> = text.split(',').map(str::trim).filter(|text| !text.is_empty()).collect();
    if texts.is_empty() {
        texts.push("");
    }
    let alone = texts.len() == 1;
    let named = |(at, text): (usize, &str)| {
        let key = ApiKey::new(text)?;
        Ok(match is_usual(variable) {
            false => key,
            true if alone => key.labelled(variable),
            true => key.labelled(format!("{variable}-{}", at + 1)),
        })
    };
    let keys: Result<_, ModelError> = texts.into_iter().enumerate().map(named).collect();
    keys.map_err(|error| {
        let message = format!("the key in {shown} cannot be used: {}", error.message());
        Failure::new(message).with_advice("Set the variable to the key alone, on one line.")
    })
}

/// The name of a variable, unless it may be a key that was given in its place.
fn shown(variable: &str) -> String {
    match is_usual(variable) {
        true => format!("the environment variable {variable}"),
        false => "the environment variable named for it".to_owned(),
    }
}

fn is_usual(variable: &str) -> bool {
    variable.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}
