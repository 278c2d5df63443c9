//! Tools of MCP servers. The servers are a few lines of shell.

use std::fs;
use std::time::{Duration, Instant};

use ai_testkit::{WireReply, WireServer};

use crate::support::{Chat, Ran, call, finish, says, sse, usage};

/// Two tools, one of which says that it only reads; a call appends to the file `ran` in the server's folder.
const SERVER: &str = r#"
echo $$ > pid
say() { printf '%s\n' "$1"; }
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *server/discover*) say '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"?"}}' ;;
    *'"initialize"'*) say '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"shell","version":"1.0"}}}' ;;
    *tools/list*) say '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"write.it","description":"Writes\u001b[31m it.\nMore.","inputSchema":{"type":"object"}},{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"bad","inputSchema":{"type":"array"}}]}}' ;;
    *tools/call*) echo "$KEY" >> ran; say '{"jsonrpc":"2.0","id":'$id',"result":{"content":[{"type":"text","text":"written"}]}}' ;;
  esac
done
"#;

/// The program with a configuration that has this server, and what is given.
fn chat(more: &str) -> Chat {
    let chat = Chat::new().env("SERVER_KEY", "k3y");
    fs::write(chat.home.path().join("server.sh"), SERVER).unwrap();
    let config = format!(
        "[mcp.shell]\ncommand = '/bin/sh'\nargs = ['server.sh']\ncwd = '.'\nenv = {{ KEY = '${{SERVER_KEY}}' }}\n{more}"
    );
    fs::write(chat.home.path().join("c.toml"), config).unwrap();
    chat
}

fn list(chat: &Chat) -> Ran {
    chat.run(&["mcp", "list", "--config", "c.toml"])
}

/// Asks a model that calls the tool.
fn ask(chat: &Chat, flags: &[&str]) -> (Ran, String) {
    let calls = [call(0, "a", "shell__write_it", "{}"), finish("tool_calls"), usage(1, 1)];
    let server = WireServer::start([WireReply::sse(sse(&calls)), says(&["Done."])]).unwrap();
    let url = format!("{}/v1", server.url());
    let args =
        ["ask", "Write!", "--config", "c.toml", "--model", "local:m", "--base-url", &url, "--retries", "0"];
    let ran = chat.run(&[&args, flags].concat());
    let requests = server.requests();
    let body = requests[1].json().unwrap();
    let result =
        body["messages"].as_array().unwrap().iter().find(|message| message["role"] == "tool").unwrap();
    (ran, result["content"].as_str().unwrap().to_owned())
}

/// [CH-302]
#[test]
fn the_servers_are_listed_with_their_tools() {
    let ran = list(&chat("trust_hints = true"));
    let shown = "\
shell: ready (shell 1.0)
  shell__write_it  [side effect, asks]
      Writes[31m it.
  shell__look  [read-only, runs unasked]
  not used: bad: its input is no object
";
    ran.answered(shown);
    let ran = list(&chat("enabled = false"));
    ran.answered("");
    assert!(ran.err.contains("no MCP servers in the configuration"), "{}", ran.err);
}

/// [CH-302]
#[test]
fn a_server_that_is_not_there_is_listed_with_the_reason() {
    let ran = list(&chat(
        "[mcp.dies]\ncommand = '/bin/sh'\nargs = ['-c', 'echo no licence >&2; exit 9']\n[mcp.gone]\ncommand = '/no/such'",
    ));
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(
        ran.out
            .starts_with("dies: failed\n  it ended (exit status: 9) before it was ready\n  | no licence\n"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("gone: failed\n  `/no/such` cannot be started"), "{}", ran.out);
    assert!(ran.out.contains("shell: ready"), "{}", ran.out);
}

/// [CH-300] [CH-301]
#[test]
fn what_makes_no_sense_is_told_all_at_once() {
    let ran = list(&chat(
        "url = 'http://localhost/'\n[mcp.b]\nurl = 'http://localhost/'\nheaders = { A = '${UNSET}' }",
    ));
    ran.failed(
        2,
        &["[mcp.shell] has both command and url", "[mcp.b] headers.A: the variable UNSET is not set"],
    );
    let ran = list(&chat("comand = 'x'"));
    ran.failed(2, &["comand"]);
}

/// [CH-303]
#[test]
fn a_tool_of_a_server_is_called_and_its_result_goes_back() {
    let chat = chat("approval = 'never'\n[mcp.gone]\ncommand = '/no/such'");
    let (ran, result) = ask(&chat, &[]);
    ran.answered("Done.\n");
    assert_eq!(result, "written");
    assert_eq!(fs::read_to_string(chat.home.path().join("ran")).unwrap(), "k3y\n");
    assert!(
        ran.err.contains("the MCP server gone is not there: `/no/such` cannot be started"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("← shell__write_it written"), "{}", ran.err);
}

/// [CH-304]
#[test]
fn where_nobody_can_be_asked_a_tool_with_effects_does_not_run() {
    let chat = chat("");
    let (ran, result) = ask(&chat, &[]);
    ran.answered("Done.\n");
    assert!(result.contains("Nobody can be asked"), "{result}");
    assert!(ran.err.contains("✗ shell__write_it denied"), "{}", ran.err);
    assert!(!chat.home.path().join("ran").exists());
    let (_, result) = ask(&chat, &["--yes"]);
    assert_eq!(result, "written");
}

/// [CH-306]
#[test]
fn the_servers_end_with_the_program() {
    let chat = chat("");
    let start = Instant::now();
    list(&chat);
    let process = fs::read_to_string(chat.home.path().join("pid")).unwrap();
    let stat = format!("/proc/{}/stat", process.trim());
    while fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
        assert!(start.elapsed() < Duration::from_secs(60), "the server still runs");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// [CH-329]
#[test]
fn a_kept_answer_waits_for_consent_and_goes_on() {
    let chat = chat("");
    let (ran, result) = ask(&chat, &["--store"]);
    ran.answered("Done.\n");
    assert!(result.contains("Nobody can be asked"), "{result}");
    assert!(!chat.home.path().join("ran").exists());
    let (ran, result) = ask(&chat, &["--store", "--yes"]);
    ran.answered("Done.\n");
    assert_eq!(result, "written");
    assert_eq!(fs::read_to_string(chat.home.path().join("ran")).unwrap(), "k3y\n");
    assert!(ran.err.contains("2 steps · 8 tokens in, 4 out"), "{}", ran.err);
}
