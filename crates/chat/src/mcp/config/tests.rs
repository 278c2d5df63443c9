#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use super::*;

fn config(text: &str) -> McpConfig {
    toml::from_str(text).unwrap()
}

fn env(name: &str) -> Option<String> {
    (name == "SET").then(|| "s3cret".to_owned())
}

fn problems(text: &str) -> Vec<String> {
    config(text).server("s", &env).unwrap_err()
}

/// [CH-300]
#[test]
fn a_server_has_either_a_command_or_a_url_and_what_belongs_to_it() {
    let stdio =
        config("command = 'x'\nargs = ['a']\nenv = {A = 'b'}\ncwd = 'c'\ntools = ['t']\napproval = 'never'");
    assert!(stdio.server("s", &env).is_ok());
    assert!(config("url = 'http://localhost/mcp'\nheaders = {A = 'b'}").server("s", &env).is_ok());
    assert_eq!(problems(""), ["[mcp.s] has neither command nor url: it takes one"]);
    assert_eq!(
        problems("command = 'x'\nurl = 'http://h'"),
        ["[mcp.s] has both command and url: it takes one"]
    );
    assert_eq!(
        problems("command = 'x'\nheaders = {A = 'b'}"),
        ["[mcp.s] headers makes no sense with command"]
    );
    let many = problems("url = 'http://h'\nargs = ['a']\nenv = {A = 'b'}\ncwd = 'c'");
    assert_eq!(many, ["args", "env", "cwd"].map(|key| format!("[mcp.s] {key} makes no sense with url")));
    assert_eq!(problems("url = 'ftp://h'"), ["[mcp.s]: the URL begins with neither http:// nor https://"]);
    assert!(
        config("command = 'x'").server("a__b", &env).unwrap_err().join("").contains("no name for a server")
    );
    for wrong in ["command = 'x'\ncomand = 'y'", "command = 5", "approval = 'maybe'"] {
        assert!(toml::from_str::<McpConfig>(wrong).is_err(), "{wrong}");
    }
}

/// [CH-301]
#[test]
fn variables_are_filled_in_and_never_shown() {
    let text = |text: &str| Text(text.to_owned()).fill(&env);
    assert_eq!(text("Bearer ${SET}, ${SET}!").unwrap(), "Bearer s3cret, s3cret!");
    assert_eq!(text("$SET $5 {x}").unwrap(), "$SET $5 {x}");
    assert_eq!(text("${UNSET}").unwrap_err(), "the variable UNSET is not set");
    assert_eq!(text("${SET").unwrap_err(), "`${` is not closed by `}`");
    assert_eq!(text("${sk-hunter2}").unwrap_err(), "what stands in `${…}` is no name of a variable");
    let missing = problems("command = 'x'\nargs = ['${A}']\nenv = {B = '${C}'}");
    assert_eq!(
        missing,
        ["[mcp.s] args: the variable A is not set", "[mcp.s] env.B: the variable C is not set"]
    );
    let header = problems("url = 'http://h/${D}'\nheaders = {E = 'Bearer ${F}'}");
    assert_eq!(header.len(), 2);
    let literal = config("url = 'http://h/mcp?key=hunter2'\nheaders = {E = 'hunter2'}\nargs = ['hunter2']");
    let (shown, server) = (format!("{literal:?}"), literal.server("s", &env));
    assert!(!shown.contains("hunter2") && !format!("{server:?}").contains("hunter2"), "{shown}");
}

/// [CH-300]
#[test]
fn folders_are_relative_to_the_file() {
    let mut server = config("command = 'x'\ncwd = 'tools'");
    server.resolve(Path::new("/etc/chat"));
    assert_eq!(server.cwd.as_deref(), Some(Path::new("/etc/chat/tools")));
}
