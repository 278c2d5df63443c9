//! `chat config`: what is said of a file, and the file to begin with.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::{Chat, KEY, Ran};

fn check(chat: &Chat, text: &str) -> Ran {
    fs::write(chat.home.path().join("c.toml"), text).unwrap();
    chat.run(&["config", "check", "--config", "c.toml"])
}

/// Each line of the report begins so, and has the words behind it.
fn reports(ran: &Ran, expected: &[(usize, &str)]) {
    let lines: Vec<_> = ran.out.lines().collect();
    assert_eq!((ran.code, lines.len()), (Some(1), expected.len()), "{}{}", ran.out, ran.err);
    for (shown, (line, words)) in lines.iter().zip(expected) {
        assert!(shown.starts_with(&format!("c.toml:{line}: ")) && shown.contains(words), "{shown}: {words}");
    }
    assert_eq!(ran.err, "");
}

/// [CH-100]
#[test]
fn all_that_is_wrong_is_said_at_once_by_line() {
    let text = r#"default_modle = "x"
default_model = "nope:m"
[providers.p]
base_urll = "x"
api = "anthropc"
[providers.q]
base_url = "http://127.0.0.1:8420/v1"
api_key_env = "NOT_SET_KEY"
[providers.r]
api = "groq"
organization = "o"
[models.m]
temperature = "hot"
[models.n]
model = "gone-provider:m"
top_p = 7.0
[retry]
fallbacks = ["gone"]
[tools]
enable = ["read_file", "calculater"]
[approval]
tools = { calculater = "deny" }
[serve]
listen = "0.0.0.0:8420"
allowed_origins = ["https://a.example/path"]
allowed_hosts = ["a.example/x"]
[store]
kind = "redis"
[tracing]
filter = "chat=loud"
file = "no/such/folder/log"
[prices.gpt]
input = 1
output = 2
[prices."a:b"]
input = 1
output = -1
"#;
    let ran = check(&Chat::new(), text);
    reports(
        &ran,
        &[
            (1, "unknown field `default_modle`"),
            (2, "there is no provider `nope`"),
            (4, "did you mean `base_url`?"),
            (5, "there is no API `anthropc` (did you mean `anthropic`?)"),
            (7, "base_url of `q` is where `chat serve` itself listens"),
            (8, "the environment variable NOT_SET_KEY is not set"),
            (9, "unknown field `organization`"),
            (12, "missing field `model`"),
            (13, "`temperature`: invalid type: string, expected a number; write `temperature = 0.5`"),
            (15, "there is no provider `gone-provider`"),
            (16, "`top_p` is a share, from 0 to 1"),
            (18, "`gone` is neither a model"),
            (20, "did you mean `calculator`?"),
            (20, "the tool read_file is switched on but has no root folder"),
            (22, "there is no tool `calculater`"),
            (24, "others can reach 0.0.0.0:8420: it needs a token"),
            (25, "an origin is a scheme and a host"),
            (26, "a host is a name"),
            (28, "it is not known where the Redis server is"),
            (30, "this is no filter"),
            (31, "there is no folder"),
            (32, "a price is that of a model"),
            (37, "a price is a number that is not negative"),
        ],
    );
}

/// [CH-100]
#[test]
fn a_check_says_how_it_went_by_its_exit_code() {
    let chat = Chat::new();
    let fine = check(&chat, "default_model = \"demo:rules\"\n");
    assert_eq!((fine.code, fine.out.as_str()), (Some(0), "c.toml: nothing is wrong\n"));
    let broken = check(&chat, "a = = 1\n\nb = [\n");
    assert_eq!(broken.code, Some(1));
    assert!(broken.out.starts_with("c.toml:1: "), "{}", broken.out);
    chat.run(&["config", "check"]).failed(2, &["there is no configuration file", "chat config example"]);
    chat.run(&["config", "check", "--config", "gone"]).failed(2, &["gone: there is no such file"]);

    // Other commands say the first, and that there is more.
    fs::write(chat.home.path().join("c.toml"), "a = 1\nb = 2\nc = 3\n").unwrap();
    let ran = chat.run(&["ask", "x", "--config", "c.toml"]);
    ran.failed(2, &["c.toml, line 1: ", "(2 more: `chat config check` shows all)"]);
}

/// The model that answers needs a key; one that is only there does not.
///
/// [CH-100]
#[test]
fn keys_that_are_used_are_missed_by_the_names_of_their_variables() {
    let text = "default_model = \"groq:m\"\n[retry]\nfallbacks = [\"f\"]\n[models.f]\nmodel = \"claude:m\"\n";
    let ran = check(&Chat::new(), text);
    reports(&ran, &[(1, "GROQ_API_KEY, which is not set"), (5, "ANTHROPIC_API_KEY, which is not set")]);
    let set = Chat::new().env("GROQ_API_KEY", KEY).env("ANTHROPIC_AUTH_TOKEN", KEY);
    assert_eq!(check(&set, text).code, Some(0));
}

/// [CH-101]
#[test]
fn the_example_is_right_as_it_is_and_with_all_of_it_switched_on() {
    let chat = Chat::new();
    let example = chat.run(&["config", "example"]).out;
    let off = check(&chat, &example);
    assert_eq!((off.code, off.out.as_str()), (Some(0), "c.toml: nothing is wrong\n"));

    let field =
        |line: &str| line.strip_prefix('#').filter(|field| !field.starts_with(' ')).map(str::to_owned);
    let lines = example.lines().map(|line| field(line).unwrap_or_else(|| line.to_owned()));
    let on = lines.collect::<Vec<_>>().join("\n");
    let names =
        ["LOCAL_KEY", "LOCAL_KEY_2", "PROXY_TOKEN", "WORK_OPENAI_KEY", "WORK_ANTHROPIC_KEY", "CHAT_TOKEN"];
    let more = ["AZURE_API_KEY", "MISTRAL_API_KEY", "FILES_TOKEN", "SEARCH_TOKEN"];
    let chat = names.iter().chain(&more).fold(Chat::new(), |chat, name| chat.env(name, KEY));
    let home = chat.home.path().to_owned();
    fs::create_dir_all(home.join(".secrets")).unwrap();
    fs::write(home.join(".secrets/local"), KEY).unwrap();
    let missing = check(&chat, &on);
    assert_eq!(missing.code, Some(1));
    assert!(missing.out.lines().all(|line| line.ends_with("there is no program pass")), "{}", missing.out);

    let pass = home.join("pass");
    fs::write(&pass, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&pass, fs::Permissions::from_mode(0o755)).unwrap();
    let on_path = chat.env("PATH", home.to_str().unwrap());
    let ran = check(&on_path, &on);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "c.toml: nothing is wrong\n"), "{}", ran.err);
}

/// [CH-104]
#[test]
fn a_secret_in_a_file_is_refused_and_never_shown() {
    let chat = Chat::new();
    for (text, says) in [
        (
            format!("[providers.p]\nbase_url = \"http://x\"\nkeys = [\"{KEY}\"]"),
            "a secret in a file ends up in backups",
        ),
        (format!("[providers.p]\nbase_url = \"http://x\"\nkeys = \"{KEY}\""), "expected a list"),
        (
            format!("[providers.p]\nbase_url = \"http://x\"\nkeys = [{{ env = \"{KEY}\" }}]"),
            "no name of an environment variable",
        ),
        (
            format!("[providers.p]\nbase_url = \"http://x\"\napi_key_env = \"{KEY}\""),
            "no name of an environment variable",
        ),
        (
            format!("[providers.p]\nbase_url = \"http://x\"\nkeys = [{{ envv = \"{KEY}\" }}]"),
            "did you mean `env`?",
        ),
        (
            format!("[providers.p]\nbase_url = \"http://x\"\nkeys = [{{ env = \"A\", file = \"{KEY}\" }}]"),
            "a secret is in one place",
        ),
        (
            format!("[providers.p]\nbase_url = \"https://user:{KEY}@x/v1\""),
            "a password does not belong into a URL",
        ),
        (
            format!("[providers.p]\nbase_url = \"http://x\"\nheaders = {{ authorization = \"{KEY}\" }}"),
            "`authorization` holds a secret",
        ),
        (format!("[serve]\ntoken = \"{KEY}\""), "a secret in a file ends up in backups"),
        (format!("[store]\nkind = \"redis\"\nurl = \"redis://u:{KEY}@h\""), "the address holds a password"),
        (format!("[prices.\"a:b\"]\ninput = \"{KEY}\"\noutput = 1"), "expected a number"),
        (format!("[serve]\nui_protocol = \"{KEY}\""), "no level of the UI message stream"),
        (format!("[timeouts]\ntotal = \"{KEY}\""), "this is no time"),
        (
            format!("[approval]\ndefault = \"{KEY}\""),
            "`default`: this word is not known, expected one of `allow`, `ask`, `deny`",
        ),
    ] {
        let ran = check(&chat, &text);
        let lines: Vec<_> = ran.out.lines().collect();
        assert_eq!((ran.code, lines.len()), (Some(1), 1), "{text}: {}{}", ran.out, ran.err);
        assert!(lines[0].contains(says), "{}", lines[0]);
    }
    // Headers that hold no secrets are texts.
    assert_eq!(
        check(&chat, "[providers.p]\nbase_url = \"http://x\"\nheaders = { x-team = \"b\" }").code,
        Some(0)
    );
}

/// [CH-121]
#[test]
fn a_command_that_is_the_program_itself_is_refused() {
    let chat = Chat::new();
    let own = env!("CARGO_BIN_EXE_chat");
    let link = chat.home.path().join("link");
    std::os::unix::fs::symlink(own, &link).unwrap();
    for command in [own, link.to_str().unwrap(), "./link"] {
        let text = format!(
            "[mcp.me]\ncommand = \"{command}\"\n[providers.p]\nbase_url = \"http://127.0.0.1:9/v1\"\n\
             keys = [{{ command = [\"{command}\", \"ask\", \"x\"] }}]\n"
        );
        let ran = check(&chat, &text);
        reports(&ran, &[(1, "command is this program itself"), (5, "is this program itself")]);
        let ask = ["ask", "x", "--config", "c.toml"];
        chat.run(&[&ask[..], &["--model", "p:m"]].concat()).failed(1, &["is this program itself"]);
        chat.run(&ask).failed(2, &["[mcp.me] command is this program itself"]);
    }
    let named = chat.env("PATH", chat_folder(own));
    let ran = check(&named, "[mcp.me]\ncommand = \"chat\"\n");
    reports(&ran, &[(1, "command is this program itself")]);
}

fn chat_folder(program: &str) -> &str {
    program.rsplit_once('/').unwrap().0
}
