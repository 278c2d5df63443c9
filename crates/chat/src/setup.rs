//! What the program does, worked out from flags, file and environment. Pure: nothing is read here.

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use ai::Registry;
use ai::builtin::key_variables;
use ai::openai::Dialect;
use ai_provider::Settings;

use crate::config::itself::is_own_address;
use crate::config::{
    ApprovalConfig, Config, EnvName, ModelConfig, ProviderConfig, RetryConfig, Secret, TimeoutsConfig,
    ToolsConfig,
};
use crate::demo;
use crate::prices::PriceList;
use crate::text::{nearest, shorten};
use crate::tools::ToolName;

/// The model used if there is nothing but a key of OpenAI's: small, cheap, and good with tools.
pub(crate) const DEFAULT_OPENAI_MODEL: &str = "openai:gpt-4.1-mini";

/// The most steps of one answer, unless something else is said.
const DEFAULT_MAX_STEPS: u32 = 20;

/// The API of servers that are not known by name.
const COMPATIBLE: &str = "openai-compatible";

/// What the command line says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Flags {
    pub(crate) model: Option<String>,
    pub(crate) base_url: Option<String>,
    pub(crate) dialect: Option<String>,
    pub(crate) api_key_env: Vec<String>,
    pub(crate) fallbacks: Vec<String>,
    pub(crate) retries: Option<u32>,
    pub(crate) system: Option<String>,
    pub(crate) max_steps: Option<u32>,
    pub(crate) root: Option<PathBuf>,
}

/// What the program shall do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setup {
    pub(crate) model: ModelSetup,
    pub(crate) chosen: Chosen,
    pub(crate) fallbacks: Vec<FallbackSetup>,
    /// What is tried when a call fails; its fallbacks are those above.
    pub(crate) retry: RetryConfig,
    pub(crate) system: Option<String>,
    pub(crate) settings: Settings,
    pub(crate) tools: Vec<ToolName>,
    pub(crate) root: Option<PathBuf>,
    pub(crate) max_steps: u32,
    /// Limits of the tools.
    pub(crate) tool_limits: ToolsConfig,
    pub(crate) approval: ApprovalConfig,
    pub(crate) timeouts: TimeoutsConfig,
    pub(crate) prices: PriceList,
}

/// A model to fall back to, with the settings of its entry in the file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FallbackSetup {
    pub(crate) model: ModelSetup,
    pub(crate) settings: Settings,
}

/// Why it is this model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// It was named.
    ByName,
    /// There is a key of OpenAI's.
    ByKey,
    /// There is nothing else.
    AsDemo,
}

/// Which model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ModelSetup {
    /// The one inside the program.
    Demo { model: String },
    /// One behind a server.
    Server(Box<Server>),
}

/// A model behind a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    /// The built-in provider that speaks to it, by its id.
    pub(crate) api: String,
    /// Its name, and that of its options, if it is one of the file or unknown otherwise.
    pub(crate) name: Option<String>,
    pub(crate) model: String,
    /// What file and flags say of it.
    pub(crate) config: ProviderConfig,
    pub(crate) keys: KeyFrom,
}

/// Where the keys come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyFrom {
    /// None is sent.
    Nowhere,
    /// The first of these variables that is set, if one is.
    IfSet(&'static [&'static str]),
    /// The first of these variables that is set, which one must be.
    Usual(&'static [&'static str]),
    /// All these places, each of which must have some.
    Named(Vec<Secret>),
}

/// What of flags and file makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SetupError {
    #[error("there is no provider `{name}`{}; known are {}", meant(suggestion.as_deref()), known.join(", "))]
    UnknownProvider { name: String, suggestion: Option<String>, known: Vec<String> },
    #[error("`{name}` is neither a model of the configuration file nor of the form PROVIDER:MODEL{}", meant(suggestion.as_deref()))]
    NotAModel { name: String, suggestion: Option<String> },
    #[error("{flag} is given without a model: add --model PROVIDER:MODEL")]
    NoModel { flag: &'static str },
    #[error("{flag} makes no sense with the demo, which has no server")]
    DemoHasNoServer { flag: &'static str },
    #[error(
        "it is not known where `{provider}` is: give its base URL by --base-url or in the configuration file"
    )]
    NoUrl { provider: String },
    #[error(
        "{field} of `{provider}` is where `chat serve` itself listens: the program would ask itself for ever"
    )]
    Itself { provider: String, field: &'static str },
    #[error("{0}: {1}")]
    NotAnAddress(String, &'static str),
    #[error("there is no API `{name}`{}; known are {}", meant(suggestion.as_deref()), known.join(", "))]
    UnknownApi { name: String, suggestion: Option<String>, known: Vec<String> },
    #[error("there is no dialect `{name}`{}; known are {}", meant(suggestion.as_deref()), Dialect::names().collect::<Vec<_>>().join(", "))]
    UnknownDialect { name: String, suggestion: Option<String> },
    #[error("the name of a provider holds no colon, white space or control character, and is not empty")]
    ProviderName,
    #[error(
        "what is given as the variable with the API key is no name of a variable: give the name, not the key"
    )]
    NotAVariable,
    #[error("the tool {tool} is switched on but has no root folder: give it by --root or as tools.root")]
    NoRoot { tool: &'static str },
}

fn meant(suggestion: Option<&str>) -> String {
    suggestion.map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}

/// Flags win over the file, the file over what is usual. `openai_key` says whether `OPENAI_API_KEY` is set.
///
/// # Errors
/// If something does not fit together.
pub(crate) fn merge(flags: &Flags, config: &Config, openai_key: bool) -> Result<Setup, SetupError> {
    let named = flags.model.as_deref().or(config.default_model.as_deref());
    let (name, chosen) = match named {
        Some(name) => (name.trim(), Chosen::ByName),
        None if openai_key => (DEFAULT_OPENAI_MODEL, Chosen::ByKey),
        None => ("", Chosen::AsDemo),
    };
    let alias = config.models.get(name).filter(|_| chosen == Chosen::ByName);
    let model = match (chosen, server_flag(flags)) {
        (Chosen::AsDemo, Some(flag)) => return Err(SetupError::NoModel { flag }),
        (Chosen::AsDemo, None) => ModelSetup::Demo { model: demo::MODEL.to_owned() },
        _ => model(alias.map_or(name, |alias| alias.model.trim()), flags, config)?,
    };
    let fallbacks = fallbacks(flags, config)?;
    if chosen == Chosen::AsDemo && !fallbacks.is_empty() {
        return Err(SetupError::NoModel { flag: "--fallback" });
    }
    let root = flags.root.clone().or_else(|| config.tools.root.clone());
    Ok(Setup {
        model,
        chosen,
        fallbacks,
        retry: RetryConfig { retries: flags.retries.or(config.retry.retries), ..config.retry.clone() },
        system: [
            flags.system.as_ref(),
            alias.and_then(|alias| alias.system.as_ref()),
            config.system.as_ref(),
        ]
        .into_iter()
        .flatten()
        .next()
        .cloned(),
        settings: alias.map(settings).unwrap_or_default(),
        tools: tools(config.tools.enable.as_deref(), root.is_some())?,
        root,
        max_steps: flags.max_steps.or(config.tools.max_steps.map(u32::from)).unwrap_or(DEFAULT_MAX_STEPS),
        tool_limits: config.tools.clone(),
        approval: config.approval.clone(),
        timeouts: config.timeouts,
        prices: PriceList::of(config),
    })
}

/// Where a server is and what its keys are is said of the first model alone.
fn fallbacks(flags: &Flags, config: &Config) -> Result<Vec<FallbackSetup>, SetupError> {
    let names = if flags.fallbacks.is_empty() { &config.retry.fallbacks } else { &flags.fallbacks };
    let fallback = |name: &String| {
        let name = name.trim();
        let alias = config.models.get(name);
        Ok(FallbackSetup {
            model: model(alias.map_or(name, |alias| alias.model.trim()), &Flags::default(), config)?,
            settings: alias.map(settings).unwrap_or_default(),
        })
    };
    names.iter().map(fallback).collect()
}

/// The first flag that speaks of a server.
fn server_flag(flags: &Flags) -> Option<&'static str> {
    let given = [
        (flags.base_url.is_some(), "--base-url"),
        (flags.dialect.is_some(), "--dialect"),
        (!flags.api_key_env.is_empty(), "--api-key-env"),
    ];
    given.into_iter().find(|(given, _)| *given).map(|(_, flag)| flag)
}

/// What a name stands for: an alias of the file does not count.
///
/// # Errors
/// If there is no such provider, or what is said of it does not fit together.
pub(crate) fn model(name: &str, flags: &Flags, config: &Config) -> Result<ModelSetup, SetupError> {
    let parts = name.split_once(':').map(|(provider, model)| (provider.trim(), model.trim()));
    let Some((provider, model)) = parts.filter(|(provider, model)| !provider.is_empty() && !model.is_empty())
    else {
        let suggestion = nearest(name, config.models.keys().map(String::as_str)).map(str::to_owned);
        return Err(SetupError::NotAModel { name: shorten(name, 60), suggestion });
    };
    if provider == "demo" && !config.providers.contains_key(provider) {
        return match server_flag(flags) {
            Some(flag) => Err(SetupError::DemoHasNoServer { flag }),
            None => Ok(ModelSetup::Demo { model: model.to_owned() }),
        };
    }
    server(provider, model, flags, config).map(|server| ModelSetup::Server(Box::new(server)))
}

/// A provider by its name: of the file, built in, or a row of the dialect table.
///
/// # Errors
/// As [`model`].
pub(crate) fn server(
    provider: &str,
    model: &str,
    flags: &Flags,
    config: &Config,
) -> Result<Server, SetupError> {
    if provider.is_empty() || provider.contains(|c: char| c == ':' || c.is_whitespace() || c.is_control()) {
        return Err(SetupError::ProviderName);
    }
    let registry = ai::builtin().unwrap_or_default();
    let own = config.providers.get(provider);
    let known = registry.has(provider) || rows().any(|name| name == provider);
    if own.is_none() && !known && flags.base_url.is_none() {
        return Err(unknown_provider(provider, &registry, config));
    }
    let mut said = own.cloned().unwrap_or_default();
    if let Some(url) = &flags.base_url {
        // A base URL of the command line replaces whatever the file says about the place.
        let address = url.parse().map_err(|why| SetupError::NotAnAddress(shorten(url, 60), why))?;
        (said.base_url, said.endpoint_url) = (Some(address), None);
    }
    if let Some(dialect) = &flags.dialect {
        (said.dialect, said.api) = (Some(dialect.clone()), None);
    }
    let api = api(provider, &said, &registry)?;
    let named = own.is_some() || api == COMPATIBLE;
    if api == COMPATIBLE {
        complete(provider, &mut said)?;
    }
    for (url, field) in [(&said.base_url, "base_url"), (&said.endpoint_url, "endpoint_url")] {
        if url.as_ref().is_some_and(|url| is_own_address(&config.serve, url.url())) {
            return Err(SetupError::Itself { provider: provider.to_owned(), field });
        }
    }
    let owner = match registry.id(&api) {
        Ok(id) if api != COMPATIBLE => id.base(),
        _ => said.dialect.as_deref().unwrap_or_default(),
    };
    Ok(Server {
        keys: keys(owner, own, flags)?,
        name: named.then(|| provider.to_owned()),
        model: model.to_owned(),
        config: said,
        api,
    })
}

/// A dialect says that it is Chat Completions; else the file says what it is, or its name.
fn api(provider: &str, said: &ProviderConfig, registry: &Registry) -> Result<String, SetupError> {
    match (&said.api, &said.dialect) {
        (Some(api), _) if registry.has(api) => Ok(api.clone()),
        (Some(api), _) => {
            let known: Vec<_> = registry.ids().map(str::to_owned).collect();
            let suggestion = nearest(api, registry.ids()).map(str::to_owned);
            Err(SetupError::UnknownApi { name: shorten(api, 60), suggestion, known })
        }
        (None, None) if registry.has(provider) => Ok(provider.to_owned()),
        _ => Ok(COMPATIBLE.to_owned()),
    }
}

/// Says what the table of dialects knows of a server that is compatible with OpenAI.
fn complete(provider: &str, said: &mut ProviderConfig) -> Result<(), SetupError> {
    if let Some(name) = &said.dialect
        && Dialect::by_name(name).is_none()
    {
        let suggestion = nearest(name, Dialect::names()).map(str::to_owned);
        return Err(SetupError::UnknownDialect { name: shorten(name, 60), suggestion });
    }
    let of_name = || rows().find(|name| *name == provider).map(str::to_owned);
    said.dialect = said.dialect.take().or_else(of_name).filter(|name| name != "generic");
    if !said.has_place() {
        let row = said.dialect.as_deref().and_then(Dialect::by_name);
        said.base_url = row.and_then(|row| row.base_url.parse().ok());
    }
    match said.has_place() {
        true => Ok(()),
        false => Err(SetupError::NoUrl { provider: provider.to_owned() }),
    }
}

/// The servers of the dialect table.
fn rows() -> impl Iterator<Item = &'static str> + use<> {
    Dialect::names().filter(|name| *name != "generic")
}

fn unknown_provider(name: &str, registry: &Registry, config: &Config) -> SetupError {
    let mut known: Vec<String> = registry.ids().map(str::to_owned).collect();
    known.extend(rows().map(str::to_owned));
    known.extend(config.providers.keys().cloned());
    known.push("demo".to_owned());
    known.sort_unstable();
    known.dedup();
    let suggestion = nearest(name, known.iter().map(String::as_str)).map(str::to_owned);
    SetupError::UnknownProvider { name: shorten(name, 60), suggestion, known }
}

/// `owner` is the provider whose usual variables count.
fn keys(owner: &str, own: Option<&ProviderConfig>, flags: &Flags) -> Result<KeyFrom, SetupError> {
    let of_flags = flags.api_key_env.iter().map(|name| EnvName::new(name).map(Secret::Env));
    let of_flags: Option<Vec<_>> = of_flags.collect();
    let named = match of_flags.ok_or(SetupError::NotAVariable)? {
        names if names.is_empty() => own.map(ProviderConfig::key_places).unwrap_or_default(),
        names => names,
    };
    Ok(match (key_variables(owner), own) {
        _ if !named.is_empty() => KeyFrom::Named(named),
        // A key goes to a place the file names only if the file says so: it may be anyone's.
        (_, Some(own)) if own.has_place() => KeyFrom::Nowhere,
        ([], _) => KeyFrom::Nowhere,
        (variables, _) if flags.base_url.is_some() => KeyFrom::IfSet(variables),
        (variables, _) => KeyFrom::Usual(variables),
    })
}

fn settings(alias: &ModelConfig) -> Settings {
    let mut settings = Settings::default();
    settings.temperature = alias.temperature;
    settings.top_p = alias.top_p;
    settings.max_output_tokens = alias.max_output_tokens;
    settings.seed = alias.seed;
    settings.reasoning = alias.reasoning;
    settings
}

fn tools(enabled: Option<&[ToolName]>, root: bool) -> Result<Vec<ToolName>, SetupError> {
    let possible = |tool: &ToolName| root || !tool.needs_root();
    match enabled {
        None => Ok(ToolName::ALL.into_iter().filter(possible).collect()),
        Some(enabled) => match enabled.iter().find(|tool| !possible(tool)) {
            Some(tool) => Err(SetupError::NoRoot { tool: tool.as_str() }),
            None => Ok(ToolName::ALL.into_iter().filter(|tool| enabled.contains(tool)).collect()),
        },
    }
}
