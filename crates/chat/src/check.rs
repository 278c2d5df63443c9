//! `chat config check` and `chat config example`: what is wrong with a configuration, all of it at once.

mod places;

use std::io::Write;
use std::path::{Path, PathBuf};

use ai_core::Registry;
use tracing_subscriber::EnvFilter;

use self::places::Checks;
use crate::cli::ConfigCommand;
use crate::config::example::EXAMPLE;
use crate::config::itself::{find_program, is_own_program};
use crate::config::{Config, Draft, Fault, Secret, StoreKind, Text};
use crate::failure::{FAILED, Failure};
use crate::models;
use crate::secrets::{self, shown};
use crate::setup::{self, Flags, KeyFrom, ModelSetup, SetupError};
use crate::text::{nearest, visible_line};
use crate::tools::ToolName;
use crate::tools::files::Root;

/// Does what is said: checks the file, or prints the example. Gives the exit code.
///
/// # Errors
/// If there is no file, it cannot be read, or the screen cannot be written to.
pub(crate) async fn run(command: ConfigCommand, path: Option<PathBuf>) -> Result<u8, Failure> {
    let (text, code) = match (command, path) {
        (ConfigCommand::Example, _) => (EXAMPLE.to_owned(), 0),
        (ConfigCommand::Check, Some(path)) => report(&path, &check(&path).await?),
        (ConfigCommand::Check, None) => {
            let missing = Failure::usage("there is no configuration file to check");
            return Err(missing.with_advice("Name one with --config, or begin with `chat config example`."));
        }
    };
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::of_screen)?;
    Ok(code)
}

/// A line for each fault, in the form editors follow.
fn report(path: &Path, faults: &[Fault]) -> (String, u8) {
    let path = visible_line(&path.display().to_string());
    let mut text = String::new();
    for Fault { line, message } in faults {
        let place = line.map_or_else(|| path.clone(), |line| format!("{path}:{line}"));
        text.push_str(&format!("{place}: {}\n", visible_line(message)));
    }
    match faults {
        [] => (format!("{path}: nothing is wrong\n"), 0),
        _ => (text, FAILED),
    }
}

/// What is wrong with the file, by line.
///
/// # Errors
/// If it cannot be read.
async fn check(path: &Path) -> Result<Vec<Fault>, Failure> {
    let draft = Draft::read(path).map_err(|error| Failure::usage(error.to_string()))?;
    let registry = models::registry()?;
    let mut checks = Checks::new(&draft);
    providers(&mut checks, &registry).await;
    named_models(&mut checks);
    limits(&mut checks);
    tools(&mut checks);
    server(&mut checks);
    store(&mut checks);
    mcp(&mut checks);
    log(&mut checks);
    Ok(checks.into_faults())
}

async fn providers(checks: &mut Checks<'_>, registry: &Registry) {
    let config = checks.config;
    for (name, provider) in &config.providers {
        match setup::server(name, "model", &Flags::default(), config) {
            // That it is not understood was said.
            Err(SetupError::NoUrl { .. })
                if ["base_url", "endpoint_url"]
                    .iter()
                    .any(|url| checks.places.has(&["providers", name, url])) => {}
            Err(error) => {
                let field = match &error {
                    SetupError::UnknownApi { .. } => "api",
                    SetupError::UnknownDialect { .. } => "dialect",
                    SetupError::Itself { field, .. } => field,
                    _ => "",
                };
                checks.add(&["providers", name, field], error.to_string());
            }
            Ok(server) => {
                if let Err(failure) = models::rehearse(registry, &server).await {
                    checks.add(&["providers", name], failure.message);
                }
            }
        }
        if let Some(variable) = &provider.api_key_env {
            checks.secret(&["providers", name, "api_key_env"], &Secret::Env(variable.clone()));
        }
        for place in &provider.keys {
            checks.secret(&["providers", name, "keys"], place);
        }
        for (header, value) in &provider.headers {
            let path = ["providers", name, "headers", header];
            match value {
                Text::Secret(place) => checks.secret(&path, place),
                Text::Plain(_) if holds_secrets(header) => checks.add(
                    &path,
                    format!("`{header}` holds a secret, which is not written into a file: {header} = {{ env = \"NAME\" }}"),
                ),
                Text::Plain(_) => {}
            }
        }
    }
}

/// Whether a header is one that secrets are sent in.
fn holds_secrets(header: &str) -> bool {
    let header = header.to_ascii_lowercase();
    ["authorization", "api-key", "apikey", "token", "secret", "password", "cookie"]
        .iter()
        .any(|word| header.contains(word))
}

fn named_models(checks: &mut Checks<'_>) {
    let config = checks.config;
    for (name, model) in &config.models {
        checks.model(&["models", name, "model"], &model.model, false);
        let share = |value: Option<f64>, most: f64| value.is_none_or(|value| (0.0..=most).contains(&value));
        if !share(model.top_p, 1.0) {
            checks.add(&["models", name, "top_p"], "`top_p` is a share, from 0 to 1".to_owned());
        }
        if !share(model.temperature, f64::MAX) {
            checks.add(&["models", name, "temperature"], "`temperature` is not negative".to_owned());
        }
    }
    if let Some(name) = &config.default_model {
        checks.model(&["default_model"], name, true);
    }
    for name in &config.retry.fallbacks {
        checks.model(&["retry", "fallbacks"], name, true);
    }
    for name in config.prices.keys() {
        let named =
            name.split_once(':').is_some_and(|(provider, model)| !provider.is_empty() && !model.is_empty());
        if !named {
            let message =
                "a price is that of a model: [prices.\"PROVIDER:MODEL\"], as it is shown with each answer";
            checks.add(&["prices", name], message.to_owned());
        }
    }
}

fn limits(checks: &mut Checks<'_>) {
    let policy = models::policy(&checks.config.retry, false);
    let wrapped = models::demo().language_model(crate::demo::MODEL).map(|demo| policy.wrap(demo));
    if let Ok(Err(error)) = wrapped {
        checks.add(&["retry"], error.to_string());
    }
}

fn tools(checks: &mut Checks<'_>) {
    let config = checks.config;
    let rooted = config.tools.enable.iter().flatten().find(|tool| tool.needs_root());
    match (&config.tools.root, rooted) {
        (None, Some(tool)) => {
            let error = SetupError::NoRoot { tool: tool.as_str() };
            checks.add(&["tools", "enable"], error.to_string());
        }
        (Some(root), _) => {
            if let Err(error) = Root::open(root) {
                let message = format!("the root folder {} cannot be opened: {error}", root.display());
                checks.add(&["tools", "root"], message);
            }
        }
        (None, None) => {}
    }
    let names = ToolName::ALL.map(ToolName::as_str);
    // Which tools the servers have is known when they run.
    let unknown = |name: &&String| config.mcp.is_empty() && !names.contains(&name.as_str());
    for name in config.approval.tools.keys().filter(unknown) {
        let meant = nearest(name, names).map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
        let message = format!("there is no tool `{name}`: known are {}{meant}", names.join(", "));
        checks.add(&["approval", "tools", name], message);
    }
}

fn server(checks: &mut Checks<'_>) {
    let serve = &checks.config.serve;
    match &serve.token {
        Some(place) => checks.secret(&["serve", "token"], place),
        None if !serve.listen.ip().to_canonical().is_loopback() => checks.add(
            &["serve", "listen"],
            format!(
                "others can reach {}: it needs a token, such as token = {{ env = \"CHAT_TOKEN\" }}",
                serve.listen
            ),
        ),
        None => {}
    }
    for origin in &serve.allowed_origins {
        let url = url::Url::parse(origin).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        if url.is_none_or(|url| url.origin().ascii_serialization() != *origin) {
            let message =
                "an origin is a scheme and a host, such as \"https://app.example\", and nothing behind it";
            checks.add(&["serve", "allowed_origins"], message.to_owned());
        }
    }
    for host in &serve.allowed_hosts {
        let url = url::Url::parse(&format!("http://{host}")).ok();
        let alone = url.is_some_and(|url| {
            url.path() == "/"
                && url.query().is_none()
                && url.fragment().is_none()
                && url.username().is_empty()
        });
        if !alone || host.ends_with('/') {
            let message = "a host is a name, with a port if it has one of its own, such as \"chat.example\"";
            checks.add(&["serve", "allowed_hosts"], message.to_owned());
        }
    }
}

fn store(checks: &mut Checks<'_>) {
    let store = &checks.config.store;
    let says_kind = checks.places.has(&["store", "kind"]);
    match (store.kind, &store.url) {
        (StoreKind::Redis, None) => {
            checks.add(&["store", "kind"], "it is not known where the Redis server is: set `url`".to_owned());
        }
        (StoreKind::Sqlite | StoreKind::Memory, Some(_)) if !says_kind => {
            checks.add(&["store", "url"], "`url` is for Redis: set kind = \"redis\" too".to_owned());
        }
        (StoreKind::Sqlite, None) if store.sqlite_path(|name| std::env::var(name).ok()).is_none() => {
            checks.add(&["store"], "it is not known where data of the user are: set `path`".to_owned());
        }
        (_, Some(Text::Secret(place))) => checks.secret(&["store", "url"], place),
        (_, Some(Text::Plain(text))) => {
            let url = url::Url::parse(text).ok().filter(|url| matches!(url.scheme(), "redis" | "rediss"));
            let message = match url {
                None => "this is no address of a Redis server: redis://HOST:PORT".to_owned(),
                Some(url) if url.password().is_some() => {
                    "the address holds a password, which is not written into a file: url = { env = \"NAME\" }"
                        .to_owned()
                }
                Some(_) => return,
            };
            checks.add(&["store", "url"], message);
        }
        _ => {}
    }
}

fn mcp(checks: &mut Checks<'_>) {
    for (name, server) in checks.config.mcp.iter().filter(|(_, server)| server.enabled) {
        for problem in server.server(name, &|name| std::env::var(name).ok()).err().unwrap_or_default() {
            checks.add(&["mcp", name], problem);
        }
    }
}

fn log(checks: &mut Checks<'_>) {
    let tracing = &checks.config.tracing;
    if let Some(filter) = &tracing.filter
        && EnvFilter::builder().parse(filter).is_err()
    {
        let message =
            "this is no filter: write a level, or levels by module, such as \"info\" or \"ai_http=debug\"";
        checks.add(&["tracing", "filter"], message.to_owned());
    }
    let folder =
        tracing.file.as_deref().and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        checks.add(&["tracing", "file"], format!("there is no folder {}", folder.display()));
    }
}

/// The key a model needs, if it is not said where it is.
fn missing_key(model: &ModelSetup, config: &Config) -> Option<String> {
    let ModelSetup::Server(server) = model else { return None };
    let KeyFrom::Usual(variables) = server.keys else { return None };
    let of_file = server.name.as_ref().is_some_and(|name| config.providers.contains_key(name));
    let set = variables.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    let first = variables.first().filter(|_| !set)?;
    let owner = if of_file { "the provider" } else { "it" };
    Some(format!(
        "there is no API key: {owner} takes that of the environment variable {first}, which is not set"
    ))
}

/// What a place of a secret lacks. A command is not run: it may ask the user for something.
fn missing(place: &Secret) -> Option<String> {
    match place {
        Secret::Env(name) => {
            let set = std::env::var_os(name.as_str()).is_some_and(|value| !value.is_empty());
            (!set).then(|| format!("{} is not set", shown(place)))
        }
        Secret::File(_) => secrets::read(place).err().map(|failure| failure.message),
        Secret::Command(words) => {
            let program = words.first().map(Path::new).unwrap_or(Path::new(""));
            let path = std::env::var_os("PATH");
            if is_own_program(program, path.as_deref()) {
                return Some(format!(
                    "{} is this program itself, which would ask itself for ever",
                    shown(place)
                ));
            }
            let found = find_program(program, path.as_deref());
            found.is_none().then(|| format!("there is no program {}", program.display()))
        }
    }
}
