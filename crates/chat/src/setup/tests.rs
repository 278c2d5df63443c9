#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

use std::num::NonZeroU32;

use ai_provider::ReasoningEffort;
use proptest::prelude::*;

use super::*;
use crate::config::Address;

fn flags(model: &str) -> Flags {
    Flags { model: Some(model.to_owned()), ..Flags::default() }
}

fn address(url: &str) -> Option<Address> {
    Some(url.parse().unwrap())
}

fn named(name: &str) -> KeyFrom {
    KeyFrom::Named(vec![Secret::Env(EnvName::new(name).unwrap())])
}

fn server(setup: Result<Setup, SetupError>) -> Server {
    match setup.unwrap().model {
        ModelSetup::Server(server) => *server,
        demo => panic!("{demo:?}"),
    }
}

fn config() -> Config {
    let provider = ProviderConfig {
        base_url: address("http://file:1/v1"),
        dialect: Some("llama.cpp".to_owned()),
        api_key_env: EnvName::new("FILE_KEY"),
        ..ProviderConfig::default()
    };
    let fast = ModelConfig {
        model: "local:qwen".to_owned(),
        system: Some("alias".to_owned()),
        temperature: Some(0.5),
        top_p: None,
        max_output_tokens: Some(9),
        seed: None,
        reasoning: ReasoningEffort::Low,
    };
    Config {
        default_model: Some("fast".to_owned()),
        system: Some("file".to_owned()),
        providers: [("local".to_owned(), provider)].into(),
        models: [("fast".to_owned(), fast)].into(),
        tools: ToolsConfig {
            root: Some("/file".into()),
            max_steps: NonZeroU32::new(7),
            ..ToolsConfig::default()
        },
        ..Config::default()
    }
}

/// [CH-25]
#[test]
fn the_model_comes_from_the_flag_the_file_the_key_or_is_the_demo() {
    let bare = Config::default();
    let demo = ModelSetup::Demo { model: "rules".to_owned() };
    let setup = merge(&Flags::default(), &bare, false).unwrap();
    assert_eq!((setup.model, setup.chosen, setup.max_steps), (demo, Chosen::AsDemo, 20));
    let setup = merge(&Flags::default(), &bare, true).unwrap();
    assert_eq!(setup.chosen, Chosen::ByKey);
    assert_eq!(server(Ok(setup)).model, "gpt-4.1-mini");
    assert_eq!(server(merge(&Flags::default(), &config(), true)).model, "qwen");
    assert_eq!(server(merge(&flags("groq:llama:70b"), &config(), true)).model, "llama:70b");
    let setup = merge(&flags("demo:rules"), &config(), true).unwrap();
    assert!(matches!(setup.model, ModelSetup::Demo { .. }) && setup.chosen == Chosen::ByName);
}

/// [CH-26]
#[test]
fn flags_win_over_the_file_field_by_field() {
    let file = merge(&Flags::default(), &config(), false).unwrap();
    assert_eq!((file.system.as_deref(), file.max_steps), (Some("alias"), 7));
    assert_eq!((file.settings.temperature, file.settings.max_output_tokens), (Some(0.5), Some(9)));
    assert_eq!(file.root, Some("/file".into()));
    let all = Flags {
        model: None,
        base_url: Some("http://flag:2/v1".to_owned()),
        dialect: Some("mistral".to_owned()),
        api_key_env: vec!["FLAG_KEY".to_owned()],
        fallbacks: Vec::new(),
        retries: None,
        system: Some("flag".to_owned()),
        max_steps: Some(3),
        root: Some("/flag".into()),
    };
    let setup = merge(&all, &config(), false).unwrap();
    assert_eq!((setup.system.as_deref(), setup.max_steps), (Some("flag"), 3));
    assert_eq!(setup.root, Some("/flag".into()));
    let said = server(Ok(setup));
    assert_eq!(
        (said.api.as_str(), said.name.as_deref(), said.model.as_str()),
        (COMPATIBLE, Some("local"), "qwen")
    );
    assert_eq!(said.config.dialect.as_deref(), Some("mistral"));
    assert_eq!((&said.config.base_url, &said.config.endpoint_url), (&address("http://flag:2/v1"), &None));
    assert_eq!(said.keys, named("FLAG_KEY"));
    // Without an alias the system prompt of the file holds.
    assert_eq!(merge(&flags("openai:x"), &config(), false).unwrap().system.as_deref(), Some("file"));
}

/// [CH-27]
#[test]
fn a_key_goes_only_where_it_belongs() {
    let bare = Config::default();
    let with_url = |model: &str| Flags { base_url: Some("http://x/v1".to_owned()), ..flags(model) };
    let table = [
        (flags("openai:m"), KeyFrom::Usual(&["OPENAI_API_KEY"])),
        (flags("openai-chat:m"), KeyFrom::Usual(&["OPENAI_API_KEY"])),
        (flags("groq:m"), KeyFrom::Usual(&["GROQ_API_KEY"])),
        (flags("claude:m"), KeyFrom::Usual(&["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])),
        (flags("ollama:m"), KeyFrom::Nowhere),
        (flags("llama.cpp:m"), KeyFrom::Nowhere),
        (with_url("openai:m"), KeyFrom::IfSet(&["OPENAI_API_KEY"])),
        (with_url("mine:m"), KeyFrom::Nowhere),
        (Flags { api_key_env: vec!["MINE".to_owned()], ..with_url("mine:m") }, named("MINE")),
    ];
    for (flags, key) in table {
        let with_place = flags.model.as_deref() != Some("llama.cpp:m") || flags.base_url.is_some();
        let flags = if with_place { flags } else { Flags { base_url: Some("http://x".to_owned()), ..flags } };
        assert_eq!(server(merge(&flags, &bare, true)).keys, key, "{flags:?}");
    }
    let mut own = config();
    own.providers.get_mut("local").unwrap().api_key_env = None;
    own.providers.get_mut("local").unwrap().dialect = None;
    own.providers.get_mut("local").unwrap().api = Some("openai".to_owned());
    assert_eq!(server(merge(&flags("local:m"), &own, true)).keys, KeyFrom::Nowhere);
}

/// [CH-28]
#[test]
fn what_does_not_fit_together_is_said() {
    let url = |model: Option<&str>| Flags {
        model: model.map(str::to_owned),
        base_url: Some("http://x".to_owned()),
        ..Flags::default()
    };
    let key = |name: &str| Flags { api_key_env: vec!["OK".to_owned(), name.to_owned()], ..flags("openai:m") };
    let mut no_place = config();
    no_place.providers.get_mut("local").unwrap().base_url = None;
    no_place.providers.get_mut("local").unwrap().dialect = None;
    let mut no_root = config();
    no_root.tools.root = None;
    no_root.tools.enable = Some(vec![ToolName::ReadFile]);
    let (own, bare) = (config(), Config::default());
    let table = [
        (
            flags("opnai:gpt"),
            &own,
            "there is no provider `opnai` (did you mean `openai`?); known are alibaba, ",
        ),
        (
            flags("fsat"),
            &own,
            "`fsat` is neither a model of the configuration file nor of the form PROVIDER:MODEL (did you mean `fast`?)",
        ),
        (flags("openai:"), &own, "`openai:` is neither"),
        (flags(""), &own, "`` is neither"),
        (url(None), &bare, "--base-url is given without a model: add --model PROVIDER:MODEL"),
        (url(Some("demo:rules")), &bare, "--base-url makes no sense with the demo"),
        (url(Some("a b:m")), &bare, "the name of a provider"),
        (flags("local:m"), &no_place, "it is not known where `local` is"),
        (
            Flags { dialect: Some("mistrl".to_owned()), ..flags("openai:m") },
            &bare,
            "there is no dialect `mistrl` (did you mean `mistral`?)",
        ),
        (
            key("sk-live-123"),
            &bare,
            "what is given as the variable with the API key is no name of a variable",
        ),
        (key("TWO\nLINES"), &bare, "what is given as the variable"),
        (flags("openai:m"), &no_root, "the tool read_file is switched on but has no root folder"),
    ];
    for (flags, config, fault) in table {
        let shown = merge(&flags, config, false).unwrap_err().to_string();
        assert!(shown.starts_with(fault), "{shown}");
        assert!(!shown.contains("sk-live-123"), "{shown}");
    }
}

/// [CH-29]
#[test]
fn tools_are_those_switched_on_and_possible() {
    let names = |setup: &Setup| setup.tools.iter().map(|tool| tool.as_str()).collect::<Vec<_>>();
    let bare = Config::default();
    assert_eq!(names(&merge(&Flags::default(), &bare, false).unwrap()), ["current_time", "calculator"]);
    let rooted = Flags { root: Some(".".into()), ..Flags::default() };
    let all = ["current_time", "calculator", "read_file", "list_files"];
    assert_eq!(names(&merge(&rooted, &bare, false).unwrap()), all);
    let mut few = Config::default();
    few.tools.enable = Some(vec![ToolName::ListFiles, ToolName::Calculator, ToolName::Calculator]);
    assert_eq!(names(&merge(&rooted, &few, false).unwrap()), ["calculator", "list_files"]);
    few.tools.enable = Some(vec![]);
    assert!(names(&merge(&Flags::default(), &few, false).unwrap()).is_empty());
}

fn maybe(values: &'static [&'static str]) -> impl Strategy<Value = Option<String>> {
    prop::option::of(prop::sample::select(values).prop_map(str::to_owned))
}

proptest! {
    /// Whatever flags and file say, the result has the flag where there is one, else the file's value, else the
    /// usual one; and merging never panics.
    ///
    /// [CH-26] [CH-28]
    #[test]
    fn merging_is_total_and_flags_win(
        model in maybe(&["openai:a", "local:b", "fast", "demo:rules", "nope", "x:y", ":", "fast:"]),
        base_url in maybe(&["http://flag"]),
        dialect in maybe(&["mistral", "generic", "??"]),
        api_key_env in maybe(&["KEY", "not a name"]),
        system in maybe(&["flag"]),
        max_steps in prop::option::of(1u32..9),
        file in any::<bool>(),
        key in any::<bool>(),
    ) {
        let api_key_env: Vec<_> = api_key_env.into_iter().collect();
        let (fallbacks, retries) = (Vec::new(), None);
        let flags = Flags { model, base_url, dialect, api_key_env, fallbacks, retries, system, max_steps, root: None };
        let config = if file { config() } else { Config::default() };
        let Ok(setup) = merge(&flags, &config, key) else { return Ok(()) };
        prop_assert_eq!(setup.max_steps, flags.max_steps.unwrap_or(if file { 7 } else { 20 }));
        if flags.system.is_some() {
            prop_assert_eq!(&setup.system, &flags.system);
        }
        if let ModelSetup::Server(server) = setup.model {
            let asked = flags.model.clone().filter(|name| name != "fast");
            if let Some(name) = asked {
                let provider = server.name.as_ref().unwrap_or(&server.api);
                prop_assert_eq!(format!("{provider}:{}", server.model), name);
            }
            if let Some(url) = &flags.base_url {
                prop_assert_eq!(&server.config.base_url, &address(url));
            }
            if let [name] = flags.api_key_env.as_slice() {
                prop_assert_eq!(server.keys, named(name));
            }
        }
    }
}

/// [CH-60] [CH-62]
#[test]
fn fallbacks_and_retries_come_from_the_flags_or_the_file() {
    let mut config = config();
    config.retry = RetryConfig {
        retries: Some(5),
        fallbacks: vec!["fast".to_owned(), "groq:llama".to_owned()],
        ..RetryConfig::default()
    };
    let setup = merge(&flags("openai:m"), &config, true).unwrap();
    assert_eq!(setup.retry.retries, Some(5));
    let models: Vec<_> = setup
        .fallbacks
        .iter()
        .map(|fallback| match &fallback.model {
            ModelSetup::Server(server) => {
                (server.name.as_deref().unwrap_or(&server.api), server.model.as_str(), &server.keys)
            }
            demo => panic!("{demo:?}"),
        })
        .collect();
    let groq = KeyFrom::Usual(&["GROQ_API_KEY"]);
    assert_eq!(models, [("local", "qwen", &named("FILE_KEY")), ("groq", "llama", &groq)]);
    assert_eq!(setup.fallbacks[0].settings.temperature, Some(0.5));

    let said = Flags {
        fallbacks: vec!["mistral:m".to_owned()],
        retries: Some(0),
        base_url: Some("http://elsewhere/v1".to_owned()),
        ..flags("openai:m")
    };
    let setup = merge(&said, &config, true).unwrap();
    assert_eq!((setup.retry.retries, setup.fallbacks.len()), (Some(0), 1));
    let ModelSetup::Server(fallback) = &setup.fallbacks[0].model else { panic!("{setup:?}") };
    assert_eq!(
        (fallback.api.as_str(), &fallback.config.base_url),
        ("mistral", &None),
        "the place is the first model's"
    );

    assert_eq!(merge(&flags("openai:m"), &Config::default(), true).unwrap().retry.retries, None);
    let alone = Flags { fallbacks: vec!["mistral:m".to_owned()], ..Flags::default() };
    assert_eq!(
        merge(&alone, &Config::default(), false).unwrap_err(),
        SetupError::NoModel { flag: "--fallback" }
    );
    let unknown = Flags { fallbacks: vec!["mistrl:m".to_owned()], ..flags("openai:m") };
    assert!(matches!(merge(&unknown, &config, true), Err(SetupError::UnknownProvider { .. })));
}

/// [CH-63]
#[test]
fn the_api_is_that_of_the_provider_the_file_or_the_dialect() {
    let api = |model: &str, config: &Config, dialect: Option<&str>| {
        let flags = Flags { dialect: dialect.map(str::to_owned), ..flags(model) };
        server(merge(&flags, config, true)).api
    };
    let bare = Config::default();
    for id in ["anthropic", "claude", "google", "openrouter", "openai", "openai-chat", "azure-responses"] {
        assert_eq!(api(&format!("{id}:m"), &bare, None), id);
    }
    let mut own = Config::default();
    let gateway = |api: &str| ProviderConfig {
        api: Some(api.to_owned()),
        base_url: address("http://gateway/v1"),
        ..ProviderConfig::default()
    };
    own.providers.insert("mine".to_owned(), gateway("anthropic"));
    own.providers.insert("anthropic".to_owned(), gateway(COMPATIBLE));
    own.providers.insert("groq".to_owned(), ProviderConfig { api: None, ..gateway("") });
    own.providers.insert("odd".to_owned(), gateway("anthropc"));
    assert_eq!(api("mine:m", &own, None), "anthropic");
    assert_eq!(api("anthropic:m", &own, None), COMPATIBLE, "what the file says counts");
    assert_eq!(api("groq:m", &own, None), "groq", "it is what it is called");
    assert_eq!(api("mine:m", &own, Some("mistral")), COMPATIBLE);
    assert_eq!(api("openai:m", &bare, Some("mistral")), COMPATIBLE);
    let fault = merge(&flags("odd:m"), &own, true).unwrap_err().to_string();
    assert!(
        fault.starts_with("there is no API `anthropc` (did you mean `anthropic`?); known are "),
        "{fault}"
    );
}

/// [CH-120]
#[test]
fn a_provider_that_is_the_program_itself_is_refused() {
    let serve = |listen: &str| {
        let mut config = Config::default();
        config.serve.listen = listen.parse().unwrap();
        config.serve.allowed_hosts = vec!["chat.example:8443".to_owned(), "inside.example".to_owned()];
        config
    };
    let table: [(&str, &[&str], &[&str]); 4] = [
        (
            "127.0.0.1:8420",
            &[
                "http://127.0.0.1:8420/v1",
                "http://localhost:8420",
                "https://LOCALHOST.:8420/x",
                "http://a.localhost:8420",
                "http://0.0.0.0:8420",
                "http://[::ffff:127.0.0.1]:8420",
                "https://chat.example:8443/v1",
                "https://inside.example/v1",
            ],
            &[
                "http://127.0.0.1:8421",
                "http://127.0.0.2:8420",
                "http://localhost",
                "https://chat.example/v1",
                "https://inside.example:8080/v1",
                "http://other.example:8420",
            ],
        ),
        ("0.0.0.0:80", &["http://localhost/v1", "http://127.0.0.9", "http://[::1]"], &["http://10.0.0.1"]),
        ("[::1]:8420", &["http://[::1]:8420", "http://localhost:8420"], &["http://127.0.0.1:8420"]),
        ("10.0.0.1:8420", &["http://10.0.0.1:8420"], &["http://localhost:8420"]),
    ];
    for (listen, own, others) in table {
        let config = serve(listen);
        let asked =
            |url: &str| merge(&Flags { base_url: Some(url.to_owned()), ..flags("mine:m") }, &config, false);
        for url in own {
            let error = asked(url).unwrap_err();
            let itself = SetupError::Itself { provider: "mine".to_owned(), field: "base_url" };
            assert_eq!(error, itself, "{listen} {url}");
        }
        for url in others {
            assert!(asked(url).is_ok(), "{listen} {url}");
        }
    }
}
