use std::path::Path;
use std::time::Duration;

use ai_mcp::{Approval, McpServer, McpServers, ServerState};
use ai_provider::ToolOutput;
use serde_json::json;
use tempfile::TempDir;

use crate::fake::call;

/// A server in the shell's own words. `$call` says what a call of its one tool does, and sets `text`.
const SERVER: &str = r#"
say() { printf '%s\n' "$1"; }
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *server/discover*) say '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"?"}}' ;;
    *'"initialize"'*) say '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}}' ;;
    *tools/list*) say '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"do","inputSchema":{"type":"object"}}]}}' ;;
    *tools/call*) eval "$call"; say '{"jsonrpc":"2.0","id":'$id',"result":{"content":[{"type":"text","text":"'"$text"'"}]}}' ;;
  esac
done
"#;

/// The server, with what a call does and what happens when its input ends.
fn shell(call: &str, at_end: &str) -> McpServer {
    let script = format!("{SERVER}\n{at_end}\n");
    McpServer::stdio("/bin/sh").args(["-c", &script]).env("call", call).with_approval(Approval::Never)
}

async fn connect(server: McpServer) -> McpServers {
    let servers = McpServers::builder().with("sh", server).unwrap().connect().await;
    assert_eq!(servers.status()[0].state, ServerState::Ready, "{:?}", servers.status());
    servers
}

async fn text(servers: &McpServers) -> String {
    match call(servers, "sh__do", json!({})).await.output {
        ToolOutput::Text(text) => text,
        other => panic!("{other:?}"),
    }
}

/// Waits for a file to have a line in it.
async fn line_of(path: &Path) -> String {
    loop {
        match std::fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
            _ => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

/// Waits until there is no process of this number, or only what is left of one for its parent to read.
async fn ended(process: &str) {
    let stat = Path::new("/proc").join(process).join("stat");
    while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// [MC-50]
#[tokio::test]
async fn a_program_gets_what_is_meant_for_it_of_the_environment_and_nothing_else() {
    let folder = TempDir::new().unwrap();
    let names = r#"text=$(env | sed 's/=.*//' | sort | tr '\n' ' '; pwd; printf ' %s' "$TOKEN")"#;
    let server = shell(&format!("{names}; text=$(printf '%s' \"$text\" | tr '\\n' ' ')"), "");
    let servers = connect(server.env("TOKEN", "t0ken").cwd(folder.path())).await;
    let said = text(&servers).await;
    let folder = folder.path().canonicalize().unwrap();
    assert!(said.ends_with(&format!("{}  t0ken", folder.display())), "{said}");
    // The shell sets some itself.
    let known = ["PATH", "HOME", "LANG", "TMPDIR", "TOKEN", "call", "PWD", "OLDPWD", "SHLVL", "_"];
    let given = said.split(' ').take_while(|word| !word.starts_with('/')).collect::<Vec<_>>();
    assert!(given.contains(&"PATH") && given.iter().all(|name| known.contains(name)), "{given:?}");
    let other = |(name, _): (std::ffi::OsString, _)| name.to_str().is_some_and(|name| !known.contains(&name));
    assert!(std::env::vars_os().any(other), "there is something that could be inherited");
}

/// Of a program that does not end when its input does.
const STAYS: &str = "while :; do sleep 0.05; done";

/// [MC-51]
#[tokio::test]
async fn a_program_and_what_it_started_end_with_the_connection() {
    for (dropped, at_end) in [(false, STAYS), (true, STAYS), (false, ""), (true, "")] {
        let folder = TempDir::new().unwrap();
        let (own, child) = (folder.path().join("own"), folder.path().join("child"));
        // It has a child that does not end when it is asked to, nor when the program does.
        let begin = format!(
            "echo $$ > {}; (trap '' TERM; echo $(sh -c 'echo $PPID') > {}; while :; do sleep 0.05; done) & trap '' TERM",
            own.display(),
            child.display()
        );
        let server = shell(&begin, at_end);
        let servers = connect(server).await;
        let _ = text(&servers).await;
        let processes = [line_of(&own).await, line_of(&child).await];
        if dropped {
            drop(servers);
        } else {
            servers.close().await;
        }
        for process in &processes {
            ended(process).await;
        }
    }
}

/// [MC-52]
#[tokio::test]
async fn a_program_may_put_its_things_in_order_before_it_ends() {
    let folder = TempDir::new().unwrap();
    let saved = folder.path().join("saved");
    let servers = connect(shell("text=ok", &format!("sleep 0.1; echo saved > {}", saved.display()))).await;
    assert_eq!(text(&servers).await, "ok");
    servers.close().await;
    assert_eq!(std::fs::read_to_string(&saved).unwrap(), "saved\n");
}

/// [MC-53]
#[tokio::test]
async fn last_words_and_exit_status_are_kept_for_the_person_and_not_told_to_the_model() {
    let words = r"i=0; while [ $i -lt 2000 ]; do echo 'secret-1234567890' >&2; i=$((i+1)); done; echo the end >&2; exit 7";
    let servers = connect(shell(words, "")).await;
    let called = call(&servers, "sh__do", json!({})).await;
    assert!(called.error().contains("the connection was lost") && !called.error().contains("secret"));
    let status = loop {
        let status = servers.status().remove(0);
        if status.error.as_deref().is_some_and(|error| error.contains("exit status")) {
            break status;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert_eq!(status.error.as_deref(), Some("it ended (exit status: 7)"));
    assert!(
        status.stderr.ends_with("the end\n") && status.stderr.len() <= 8 << 10,
        "{}",
        status.stderr.len()
    );
    assert!(status.stderr.len() > 7_000, "{}", status.stderr.len());
}

/// [MC-54]
#[tokio::test]
async fn a_program_that_is_not_there_or_does_not_speak_is_told_of() {
    let servers = McpServers::builder()
        .with("absent", McpServer::stdio("/no/such/program"))
        .unwrap()
        .with("dies", McpServer::stdio("/bin/sh").args(["-c", "echo oh no >&2; exit 3"]))
        .unwrap()
        .connect()
        .await;
    let status = servers.status();
    let error = status[0].error.as_deref().unwrap();
    assert!(error.starts_with("`/no/such/program` cannot be started: "), "{error}");
    assert_eq!(status[1].error.as_deref(), Some("it ended (exit status: 3) before it was ready"));
    assert_eq!(status[1].stderr, "oh no\n");
}

/// [MC-56]
#[tokio::test]
async fn a_program_that_says_a_variable_again_is_not_repeated() {
    let dies =
        McpServer::stdio("/bin/sh").args(["-c", "echo bad key $KEY >&2; exit 3"]).env("KEY", "hunter2");
    let servers = McpServers::builder().with("dies", dies).unwrap().connect().await;
    assert_eq!(servers.status()[0].stderr, "bad key ***\n");
}
