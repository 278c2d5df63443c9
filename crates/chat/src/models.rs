//! Makes the model a setup names, from the built-in providers of the SDK.

use std::sync::Arc;

use ai::Registry;
use ai::builtin::builtin;
use ai_provider::{ApiKey, JsonObject, LanguageModel, Provider};
use retry::{Fallback, RetryPolicy};
use serde_json::{Value, json};

use crate::config::{EnvName, KeyOrder, RetryConfig, Secret};
use crate::demo::Demo;
use crate::failure::Failure;
use crate::secrets;
use crate::setup::{KeyFrom, ModelSetup, Server, Setup};

/// The model, with its fallbacks around it. No request is made; keys are read where they are.
///
/// # Errors
/// If a key is missing or cannot be one, a setting is not taken, or a fallback makes no sense.
pub(crate) async fn model(setup: &Setup) -> Result<Arc<dyn LanguageModel>, Failure> {
    let registry = registry()?;
    let primary = bare(&registry, &setup.model).await?;
    if matches!(setup.model, ModelSetup::Demo { .. }) && setup.fallbacks.is_empty() {
        return Ok(primary);
    }
    let mut policy = policy(&setup.retry, !primary.keys().is_empty());
    for fallback in &setup.fallbacks {
        let model = bare(&registry, &fallback.model).await?;
        let fallback = Fallback::to(model)
            .with_settings(fallback.settings.clone())
            .with_extra_body(extra_body(&fallback.model));
        policy = policy.with_fallback(fallback);
    }
    policy.wrap(primary).map_err(|error| Failure::usage(error.to_string()))
}

/// The fields of the body of each call.
pub(crate) fn extra_body(model: &ModelSetup) -> JsonObject {
    match model {
        ModelSetup::Demo { .. } => JsonObject::new(),
        ModelSetup::Server(server) => server.config.extra_body.clone(),
    }
}

/// What is tried when a call fails. Without keys there is no order of keys.
pub(crate) fn policy(config: &RetryConfig, keyed: bool) -> RetryPolicy {
    let mut policy = RetryPolicy::new();
    if let Some(retries) = config.retries {
        policy = policy.with_retries(retries);
    }
    if let Some(delay) = config.base_delay {
        policy = policy.with_base_delay(delay.0);
    }
    if let Some(delay) = config.max_delay {
        policy = policy.with_max_delay(delay.0);
    }
    if let Some(budget) = config.budget {
        policy = policy.with_budget(budget.0);
    }
    if let Some(limit) = config.first_output {
        policy = policy.with_first_output(limit.0);
    }
    match config.key_order {
        KeyOrder::RoundRobin if keyed => policy.with_key_order(retry::KeyOrder::RoundRobin),
        _ => policy,
    }
}

async fn bare(registry: &Registry, setup: &ModelSetup) -> Result<Arc<dyn LanguageModel>, Failure> {
    let (provider, model) = match setup {
        ModelSetup::Demo { model } => (demo(), model),
        ModelSetup::Server(server) => (provider(registry, server).await?, &server.model),
    };
    provider.language_model(model).map_err(|error| Failure::usage(error.to_string()))
}

/// The providers the SDK has.
///
/// # Errors
/// None, as long as their ids are all different.
pub(crate) fn registry() -> Result<Registry, Failure> {
    builtin().map_err(|error| Failure::new(error.to_string()))
}

/// The provider inside the program.
pub(crate) fn demo() -> Arc<dyn Provider> {
    Arc::new(Demo)
}

/// The provider of a server, with its keys.
///
/// # Errors
/// If a key or another secret is missing or cannot be one, or a setting is not taken.
pub(crate) async fn provider(registry: &Registry, server: &Server) -> Result<Arc<dyn Provider>, Failure> {
    let mut settings = settings(server);
    let mut headers = JsonObject::new();
    for (name, value) in &server.config.headers {
        headers.insert(name.clone(), secrets::text(value)?.into());
    }
    settings.insert("headers".to_owned(), headers.into());
    let (field, keys) = keys(&server.keys)?;
    settings.insert(field.to_owned(), keys);
    create(registry, server, settings).await
}

/// The provider of a server without secrets: shows whether its settings are taken.
///
/// # Errors
/// If one is not.
pub(crate) async fn rehearse(registry: &Registry, server: &Server) -> Result<(), Failure> {
    let mut settings = settings(server);
    let headers: JsonObject = server
        .config
        .headers
        .iter()
        .map(|(name, value)| {
            let value = secrets::plain(value).unwrap_or("x");
            (name.clone(), value.into())
        })
        .collect();
    settings.insert("headers".to_owned(), headers.into());
    settings.insert("apiKey".to_owned(), Value::Bool(false));
    create(registry, server, settings).await.map(|_| ())
}

async fn create(
    registry: &Registry,
    server: &Server,
    settings: JsonObject,
) -> Result<Arc<dyn Provider>, Failure> {
    registry.provider_with(&server.api, settings).await.map_err(|error| Failure::usage(in_our_words(&error)))
}

/// An error with the names of settings as the configuration file has them.
fn in_our_words(error: &ai::Error) -> String {
    let names = [
        ("baseUrl", "base_url"),
        ("endpointUrl", "endpoint_url"),
        ("resourceName", "resource_name"),
        ("apiVersion", "api_version"),
        ("deploymentUrls", "deployment_urls"),
    ];
    names.iter().fold(error.to_string(), |text, (theirs, ours)| {
        text.replace(&format!("`{theirs}`"), &format!("`{ours}`"))
    })
}

/// What the extension of a provider takes, but for secrets. A setting that its API does not have is refused there.
fn settings(server: &Server) -> JsonObject {
    let config = &server.config;
    let url = |url: &Option<crate::config::Address>| url.as_ref().map(|url| url.as_str().to_owned());
    let texts = [
        ("name", server.name.clone()),
        ("dialect", config.dialect.clone()),
        ("baseUrl", url(&config.base_url)),
        ("endpointUrl", url(&config.endpoint_url)),
        ("organization", config.organization.clone()),
        ("project", config.project.clone()),
        ("version", config.version.clone()),
        ("resourceName", config.resource_name.clone()),
        ("apiVersion", config.api_version.clone()),
    ];
    let texts = texts.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?.into())));
    let mut settings: JsonObject = texts.collect();
    if !config.betas.is_empty() {
        settings.insert("betas".to_owned(), json!(config.betas));
    }
    if let Some(by_path) = config.deployment_urls {
        settings.insert("deploymentUrls".to_owned(), by_path.into());
    }
    settings
}

/// The variable whose secret is a token, which is sent in another way than a key.
const TOKEN: &str = "ANTHROPIC_AUTH_TOKEN";

/// The setting for the keys, and the keys as settings have them. Where none is sent, it says so: the provider would
/// look for some itself.
fn keys(from: &KeyFrom) -> Result<(&'static str, Value), Failure> {
    let usual = |variables: &[&str]| {
        let set = variables.iter().find(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
        set.and_then(|name| EnvName::new(name))
    };
    let mut field = "apiKey";
    let keys = match from {
        KeyFrom::Nowhere => Vec::new(),
        KeyFrom::Named(places) => secrets::keys(places)?,
        KeyFrom::IfSet(variables) | KeyFrom::Usual(variables) => match usual(variables) {
            Some(name) => {
                field = if name.as_str() == TOKEN { "authToken" } else { field };
                secrets::keys(&[Secret::Env(name)])?
            }
            None if matches!(from, KeyFrom::IfSet(_)) => Vec::new(),
            None => {
                let first = variables.first().copied().unwrap_or_default();
                return Err(Failure::new(format!(
                    "there is no API key: the environment variable {first} is not set"
                ))
                .with_advice("Set it, or name another variable with --api-key-env."));
            }
        },
    };
    let named = |key: &ApiKey| json!({ "key": key.expose(), "label": key.label().as_str() });
    let keys = match keys.as_slice() {
        [] => Value::Bool(false),
        keys => keys.iter().map(named).collect(),
    };
    Ok((field, keys))
}
