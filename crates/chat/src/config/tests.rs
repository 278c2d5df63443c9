#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

use std::fs;

use tempfile::TempDir;

use ai_provider::ReasoningEffort;

use super::*;
use crate::tools::ToolName;

fn fault(text: &str) -> String {
    let draft = Draft::parse(text);
    ConfigError::new(Path::new("c.toml"), draft.faults[0].clone(), 0).to_string()
}

/// [CH-21]
#[test]
fn a_whole_file_is_read() {
    let text = r#"
        default_model = "fast"
        system = "Be brief."

        [providers.local]
        api = "openai-compatible"
        base_url = "http://127.0.0.1:8080/v1"
        dialect = "llama.cpp"
        api_key_env = "LOCAL_KEY"

        [models.fast]
        model = "local:qwen"
        temperature = 0.2
        reasoning = "low"

        [tools]
        enable = ["calculator", "read_file"]
        root = "notes"
        max_steps = 5
    "#;
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("config.toml");
    fs::write(&path, text).unwrap();
    let config = Config::read(&path).unwrap();
    assert_eq!(config.default_model.as_deref(), Some("fast"));
    assert_eq!(config.providers["local"].api.as_deref(), Some("openai-compatible"));
    assert_eq!(config.models["fast"].reasoning, ReasoningEffort::Low);
    assert_eq!(config.tools.enable, Some(vec![ToolName::Calculator, ToolName::ReadFile]));
    assert_eq!(config.tools.root, Some(folder.path().join("notes")));
    assert_eq!(Draft::parse("").config, Config::default());
}

/// [CH-22]
#[test]
fn an_unknown_field_is_named_with_its_line_and_the_nearest_valid_one() {
    let table = [
        ("default_modle = \"x\"", 1, "`default_modle`", "`default_model`"),
        ("\n\n[providers.p]\nbase_urll = \"x\"", 4, "`base_urll`", "`base_url`"),
        ("[store]\nkind = \"sqllite\"", 2, "`sqllite`", "`sqlite`"),
        ("[models.m]\nmodel = \"a:b\"\ntemprature = 1.0", 3, "`temprature`", "`temperature`"),
        ("[tools]\nenable = [\"calculater\"]", 2, "`calculater`", "`calculator`"),
        ("[tools]\nmaxsteps = 3", 2, "`maxsteps`", "`max_steps`"),
        ("[tool]\n", 1, "`tool`", "`tools`"),
    ];
    for (text, line, named, suggested) in table {
        let fault = fault(text);
        let expected = format!("the configuration file c.toml, line {line}: unknown ");
        assert!(fault.starts_with(&expected), "{fault}");
        assert!(fault.contains(named), "{fault}");
        assert!(fault.ends_with(&format!("; did you mean {suggested}?")), "{fault}");
    }
    let far = fault("[tools]\nbanana = 1");
    assert!(
        far.contains("unknown field `banana`, expected one of `enable`") && !far.contains("mean"),
        "{far}"
    );
}

/// Every field, given every kind of value but its own.
///
/// [CH-22]
#[test]
fn a_value_of_the_wrong_kind_names_the_field_and_what_to_write() {
    let fields = [
        ("", "default_model", "string"),
        ("", "system", "string"),
        ("", "providers", "table"),
        ("", "models", "table"),
        ("", "tools", "table"),
        ("[providers]\n", "p", "table"),
        ("[models]\n", "m", "table"),
        ("[providers.p]\n", "base_url", "string"),
        ("[providers.p]\n", "endpoint_url", "string"),
        ("[providers.p]\n", "dialect", "string"),
        ("[providers.p]\n", "api_key_env", "string"),
        ("[models.m]\n", "model", "string"),
        ("[models.m]\nmodel = \"a:b\"\n", "system", "string"),
        ("[models.m]\nmodel = \"a:b\"\n", "temperature", "number"),
        ("[models.m]\nmodel = \"a:b\"\n", "top_p", "number"),
        ("[models.m]\nmodel = \"a:b\"\n", "max_output_tokens", "number"),
        ("[models.m]\nmodel = \"a:b\"\n", "seed", "number"),
        ("[tools]\n", "enable", "list"),
        ("[tools]\n", "root", "string"),
        ("[tools]\n", "max_steps", "number"),
    ];
    let values = [("string", "\"SECRET\""), ("number", "71"), ("list", "[\"SECRET\"]"), ("boolean", "true")];
    for (table, field, kind) in fields {
        for (_, value) in values.iter().filter(|(of, _)| *of != kind) {
            let fault = fault(&format!("{table}{field} = {value}\n"));
            let line = table.lines().count() + 1;
            let place = format!("c.toml, line {line}: `{field}`: invalid type: ");
            assert!(fault.contains(&place), "{fault}");
            assert!(fault.contains("; write `") && !fault.contains("something else"), "{fault}");
            assert!(fault.contains(", expected a"), "{fault}");
            assert!(!fault.contains("SECRET") && !fault.contains("71"), "{fault}");
            let written = fault.rsplit('`').nth(1).unwrap().replace("NAME", "n");
            let table = match (field, table) {
                ("tools", _) => "[tools]\n",
                ("providers" | "p", _) => "[providers.n]\n",
                ("models" | "m", _) => "[models.n]\n",
                (_, table) => table,
            };
            let model = if table == "[models.n]\n" && !written.starts_with("model ") {
                "\nmodel = \"a:b\""
            } else {
                ""
            };
            let right = Draft::parse(&format!("{table}{written}{model}"));
            assert!(right.faults.is_empty(), "{fault} {:?}", right.faults);
        }
    }
}

/// [CH-23]
#[test]
fn a_key_in_a_file_is_refused_and_not_repeated() {
    for field in ["api_key", "apiKey", "api-key", "key", "token"] {
        let fault = fault(&format!("[providers.p]\n{field} = \"sk-verysecret\""));
        assert!(fault.contains(&format!("line 2: `{field}` is not taken: a key in a file")), "{fault}");
        assert!(fault.contains("api_key_env") && !fault.contains("sk-verysecret"), "{fault}");
    }
    for text in
        ["[tools]\nmax_steps = \"sk-verysecret\"", "tools = \"sk-very\\\"secret\"", "[tools]\nmax_steps = 0"]
    {
        let fault = fault(text);
        assert!(fault.contains("invalid ") && !fault.contains("secret"), "{fault}");
    }
    assert!(!fault("x = \"sk-verysecret").contains("verysecret"));
}

/// [CH-24]
#[test]
fn a_file_that_cannot_be_read_is_an_error_in_words() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("config.toml");
    let fault = |path: &Path| Config::read(path).unwrap_err().to_string();
    assert!(fault(&path).ends_with("config.toml: there is no such file"));
    assert!(fault(folder.path()).contains("it cannot be read"));
    fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(fault(&path).ends_with("it is not UTF-8 text"));
    fs::write(&path, "#".repeat((1 << 20) + 1)).unwrap();
    assert!(fault(&path).ends_with("it is larger than 1048576 bytes"));
    fs::write(&path, "a = = 1").unwrap();
    assert!(fault(&path).contains("line 1: "));
}

/// [CH-54]
#[test]
fn the_default_place_follows_the_environment() {
    let at = |xdg: Option<&str>, home: Option<&str>| {
        let (xdg, home) = (xdg.map(str::to_owned), home.map(str::to_owned));
        default_path(move |name| match name {
            "XDG_CONFIG_HOME" => xdg.clone(),
            "HOME" => home.clone(),
            _ => None,
        })
    };
    assert_eq!(at(Some("/x"), Some("/h")), Some(PathBuf::from("/x/chat/config.toml")));
    assert_eq!(at(Some("relative"), Some("/h")), Some(PathBuf::from("/h/.config/chat/config.toml")));
    assert_eq!(at(None, Some("/h")), Some(PathBuf::from("/h/.config/chat/config.toml")));
    assert_eq!(at(None, None), None);
}

/// [CH-114]
#[test]
fn values_are_what_they_can_be() {
    let time = |written: &str| {
        let draft = Draft::parse(&format!("[timeouts]\ntotal = {written}"));
        (draft.config.timeouts.total.map(|time| time.0.as_millis()), draft.faults.len())
    };
    for (written, millis) in [
        ("3", 3_000),
        ("0.5", 500),
        ("\"500ms\"", 500),
        ("\"5m\"", 300_000),
        ("\"1h 30m\"", 5_400_000),
        ("2678400", 2_678_400_000),
    ] {
        assert_eq!(time(written), (Some(millis), 0), "{written}");
    }
    let no_times = [
        "0", "-1", "-0.5", "nan", "inf", "1e300", "2678401", "\"\"", "\"x\"", "\"-5s\"", "\"5\"", "true",
        "[]",
    ];
    for written in no_times {
        assert_eq!(time(written), (None, 1), "{written}");
    }
    let address = |url: &str| Draft::parse(&format!("[providers.p]\nbase_url = \"{url}\"")).faults.len();
    for (url, faults) in [
        ("http://x/v1", 0),
        ("https://x.example:8443", 0),
        ("ftp://x", 1),
        ("file:///etc/passwd", 1),
        ("x/v1", 1),
        ("http://", 1),
        ("", 1),
        ("https://u@x", 1),
    ] {
        assert_eq!(address(url), faults, "{url}");
    }
    for (level, is) in
        [("5", Some("5")), ("\"6\"", Some("6")), ("\"latest\"", Some("latest")), ("4", None), ("true", None)]
    {
        let draft = Draft::parse(&format!("[serve]\nui_protocol = {level}"));
        let read = draft.faults.is_empty().then(|| draft.config.serve.ui_protocol.as_str());
        assert_eq!(read, is, "{level}");
    }
    assert_eq!(Draft::parse("[serve.limits]\nqueue = 0").faults.len(), 1);
    assert_eq!(Draft::parse("[providers.p]\nextra_body = { a = nan }").faults.len(), 1);
}

/// [CH-115]
#[test]
fn the_store_is_among_the_data_of_the_user() {
    let env = |xdg: Option<&'static str>| {
        move |name: &str| match name {
            "XDG_DATA_HOME" => xdg.map(str::to_owned),
            "HOME" => Some("/h".to_owned()),
            _ => None,
        }
    };
    let bare = StoreConfig::default();
    assert_eq!(bare.sqlite_path(env(Some("/d"))), Some(PathBuf::from("/d/chat/chat.db")));
    assert_eq!(bare.sqlite_path(env(Some("d"))), Some(PathBuf::from("/h/.local/share/chat/chat.db")));
    assert_eq!(bare.sqlite_path(env(None)), Some(PathBuf::from("/h/.local/share/chat/chat.db")));
    assert_eq!(bare.sqlite_path(|_| None), None);
    let named = StoreConfig { path: Some("/mine.db".into()), ..StoreConfig::default() };
    assert_eq!(named.sqlite_path(|_| None), Some(PathBuf::from("/mine.db")));
}

/// Whatever is written wrongly, and however much: reading ends, and each place is told of.
///
/// [CH-100]
#[test]
fn a_file_of_faults_is_read_to_an_end() {
    let many: String = (0..500).map(|at| format!("unknown{at} = {at}\n")).collect();
    let draft = Draft::parse(&many);
    assert_eq!(draft.faults.len(), 100);
    let lines: Vec<_> = draft.faults.iter().filter_map(|fault| fault.line).collect();
    assert!(lines.len() == 100 && lines.is_sorted());
    for text in
        ["\u{0}", "[", "a = \"", "[[providers]]", "providers = [{}]", "[a]\n[a]", "models.m = 1", "\u{feff}"]
    {
        let draft = Draft::parse(text);
        assert!(draft.faults.len() <= 3, "{text:?}: {:?}", draft.faults);
    }
}

/// [CH-104]
#[test]
fn no_debug_shows_a_secret() {
    let text = "[providers.p]\nbase_url = \"http://x/v1?key=CANARY\"\nheaders = { x-a = \"CANARY\" }\n\
                [store]\nurl = \"redis://CANARY@x\"\n[mcp.m]\nurl = \"http://CANARY\"";
    let draft = Draft::parse(text);
    assert!(draft.faults.is_empty(), "{:?}", draft.faults);
    let shown = format!("{:?}", draft.config);
    assert!(shown.contains("http://x/v1") && !shown.contains("CANARY"), "{shown}");
}
