//! What the program does, worked out from flags, file and environment. Pure: nothing is read here.

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use ai_openai::Dialect;
use ai_provider::Settings;

use crate::config::{Config, ModelConfig, ProviderConfig, ProviderKind};
use crate::demo;
use crate::text::{nearest, shorten};
use crate::tools::ToolName;

/// The model used if there is nothing but a key of OpenAI's: small, cheap, and good with tools.
pub(crate) const DEFAULT_OPENAI_MODEL: &str = "openai:gpt-4.1-mini";

/// The most steps of one answer, unless something else is said.
const DEFAULT_MAX_STEPS: u32 = 20;

/// How often a failed call is tried again, unless something else is said.
const DEFAULT_RETRIES: u32 = 2;

/// Where providers known by name have their key, by custom.
const KEY_VARIABLES: &[(&str, &str)] = &[
    ("openai", "OPENAI_API_KEY"),
    ("anthropic", "ANTHROPIC_API_KEY"),
    ("google", "GEMINI_API_KEY"),
    ("openrouter", "OPENROUTER_API_KEY"),
    ("xai", "XAI_API_KEY"),
    ("deepseek", "DEEPSEEK_API_KEY"),
    ("groq", "GROQ_API_KEY"),
    ("mistral", "MISTRAL_API_KEY"),
    ("alibaba", "DASHSCOPE_API_KEY"),
    ("moonshot", "MOONSHOT_API_KEY"),
    ("perplexity", "PERPLEXITY_API_KEY"),
];

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
    /// How often a failed call is tried again.
    pub(crate) retries: u32,
    pub(crate) system: Option<String>,
    pub(crate) settings: Settings,
    pub(crate) tools: Vec<ToolName>,
    pub(crate) root: Option<PathBuf>,
    pub(crate) max_steps: u32,
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
    Server(Server),
}

/// Which API a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    /// OpenAI's Chat Completions, in some dialect.
    Chat,
    /// Anthropic's Messages.
    Messages,
    /// Google's Gemini.
    Gemini,
}

impl Api {
    /// A dialect says that it is Chat Completions; else the file says it, or the name of the provider.
    fn of(provider: &str, dialect: Option<&str>, own: Option<&ProviderConfig>) -> Self {
        match (dialect, own.map(|own| own.kind), provider) {
            (Some(_), _, _) => Self::Chat,
            (None, Some(ProviderKind::Anthropic), _) | (None, None, "anthropic") => Self::Messages,
            (None, Some(ProviderKind::Google), _) | (None, None, "google") => Self::Gemini,
            _ => Self::Chat,
        }
    }

    /// The provider whose customs hold, if it is not a matter of the dialect.
    fn custom(self) -> Option<&'static str> {
        match self {
            Self::Chat => None,
            Self::Messages => Some("anthropic"),
            Self::Gemini => Some("google"),
        }
    }
}

/// A model behind a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    pub(crate) api: Api,
    pub(crate) provider: String,
    pub(crate) model: String,
    /// A row of the dialect table; a server nothing special is known about if absent.
    pub(crate) dialect: Option<String>,
    /// The dialect's own place if absent.
    pub(crate) base_url: Option<String>,
    pub(crate) endpoint_url: Option<String>,
    pub(crate) keys: KeyFrom,
}

/// Where the keys come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyFrom {
    /// None is sent.
    Nowhere,
    /// This variable, if it is set.
    IfSet(String),
    /// These variables, which must be set.
    Variables(Vec<String>),
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
        retries: flags.retries.or(config.retry.retries).unwrap_or(DEFAULT_RETRIES),
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

fn model(name: &str, flags: &Flags, config: &Config) -> Result<ModelSetup, SetupError> {
    let parts = name.split_once(':').map(|(provider, model)| (provider.trim(), model.trim()));
    let Some((provider, model)) = parts.filter(|(provider, model)| !provider.is_empty() && !model.is_empty())
    else {
        let suggestion = nearest(name, config.models.keys().map(String::as_str)).map(str::to_owned);
        return Err(SetupError::NotAModel { name: shorten(name, 60), suggestion });
    };
    if provider.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(SetupError::ProviderName);
    }
    let own = config.providers.get(provider);
    if own.is_none() && provider == "demo" {
        return match server_flag(flags) {
            Some(flag) => Err(SetupError::DemoHasNoServer { flag }),
            None => Ok(ModelSetup::Demo { model: model.to_owned() }),
        };
    }
    let known = known_providers().any(|name| name == provider);
    if own.is_none() && !known && flags.base_url.is_none() {
        return Err(unknown_provider(provider, config));
    }
    server(provider, model, own, flags).map(ModelSetup::Server)
}

fn known_providers() -> impl Iterator<Item = &'static str> {
    Dialect::names().filter(|name| *name != "generic").chain(["anthropic", "google"])
}

fn unknown_provider(name: &str, config: &Config) -> SetupError {
    let mut known: Vec<String> = known_providers().map(str::to_owned).collect();
    known.extend(config.providers.keys().cloned());
    known.push("demo".to_owned());
    known.sort_unstable();
    known.dedup();
    let suggestion = nearest(name, known.iter().map(String::as_str)).map(str::to_owned);
    SetupError::UnknownProvider { name: shorten(name, 60), suggestion, known }
}

fn server(
    provider: &str,
    model: &str,
    own: Option<&ProviderConfig>,
    flags: &Flags,
) -> Result<Server, SetupError> {
    let said = flags.dialect.as_deref().or(own.and_then(|own| own.dialect.as_deref()));
    let api = Api::of(provider, said, own);
    let usual = match own.map(|own| own.kind) {
        Some(ProviderKind::OpenAi) => "openai",
        _ => provider,
    };
    let dialect = match said {
        Some(name) if Dialect::by_name(name).is_none() => {
            let suggestion = nearest(name, Dialect::names()).map(str::to_owned);
            return Err(SetupError::UnknownDialect { name: shorten(name, 60), suggestion });
        }
        Some(name) => Some(name),
        None => Dialect::names().find(|name| *name == usual),
    };
    let dialect = dialect.filter(|name| *name != "generic" && api == Api::Chat);
    let base_url = flags.base_url.as_ref().or(own.and_then(|own| own.base_url.as_ref())).cloned();
    // A base URL of the command line replaces whatever the file says about the place.
    let endpoint_url = own.and_then(|own| own.endpoint_url.clone()).filter(|_| flags.base_url.is_none());
    let elsewhere = base_url.is_some() || endpoint_url.is_some();
    let of_dialect = dialect.and_then(Dialect::by_name).is_some_and(|dialect| !dialect.base_url.is_empty());
    let has_place = of_dialect || api.custom().is_some();
    if !elsewhere && !has_place {
        return Err(SetupError::NoUrl { provider: provider.to_owned() });
    }
    let of_file = || own.and_then(|own| own.api_key_env.clone()).into_iter().collect();
    let named = if flags.api_key_env.is_empty() { of_file() } else { flags.api_key_env.clone() };
    let custom =
        |name: &str| KEY_VARIABLES.iter().find(|(known, _)| *known == name).map(|(_, key)| (*key).to_owned());
    if !named.iter().all(|name| is_variable(name)) {
        return Err(SetupError::NotAVariable);
    }
    let keys = match own {
        _ if !named.is_empty() => KeyFrom::Variables(named),
        // A key goes to a place the file names only if the file says so: it may be anyone's.
        Some(own) if own.base_url.is_some() || own.endpoint_url.is_some() => KeyFrom::Nowhere,
        _ => match api.custom().or(dialect).and_then(custom) {
            Some(variable) if elsewhere => KeyFrom::IfSet(variable),
            Some(variable) => KeyFrom::Variables(vec![variable]),
            None => KeyFrom::Nowhere,
        },
    };
    let dialect = dialect.map(str::to_owned);
    Ok(Server {
        api,
        provider: provider.to_owned(),
        model: model.to_owned(),
        dialect,
        base_url,
        endpoint_url,
        keys,
    })
}

/// Whether a text can be the name of a variable. Most keys cannot.
fn is_variable(name: &str) -> bool {
    name.len() <= 100
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
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
