//! What a configuration does, on the wire and on the screen.

use std::fs;
use std::path::Path;

use ai_testkit::{WireEnd, WireReply, WireServer};
use http::StatusCode;
use serde_json::{Value, json};

use crate::support::{Chat, KEY, Ran, call, finish, says, sse, text};

fn failing(status: u16) -> WireReply {
    WireReply::json(StatusCode::from_u16(status).unwrap(), r#"{"error":{"message":"no"}}"#)
}

fn at(server: &WireServer) -> String {
    format!("base_url = \"{}/v1\"\n", server.url())
}

fn ask(chat: &Chat, config: &str, more: &[&str]) -> Ran {
    fs::write(chat.home.path().join("c.toml"), config).unwrap();
    chat.run(&[&["ask", "Hello?", "--config", "c.toml", "--model", "p:m"], more].concat())
}

/// [CH-103]
#[test]
fn keys_come_from_variables_files_and_programs_in_this_order() {
    let server = WireServer::start([failing(401), failing(401), failing(401), says(&["Hi."])]).unwrap();
    let chat = Chat::new().env("KEY_A", KEY).env("KEY_B", &format!("{KEY}b"));
    let folder = chat.home.path().to_owned();
    fs::write(folder.join("key.txt"), format!("{KEY}c\n")).unwrap();
    fs::write(folder.join("printed"), format!("{KEY}d\n")).unwrap();
    let config = format!(
        "[providers.p]\n{}api_key_env = \"KEY_A\"\nkeys = [{{ env = \"KEY_B\" }}, {{ file = \"key.txt\" }}, \
         {{ command = [\"/bin/cat\", \"{}\"] }}]\n",
        at(&server),
        folder.join("printed").display()
    );
    let ran = ask(&chat, &config, &[]);
    ran.answered("Hi.\n");
    let sent: Vec<_> =
        server.requests().iter().map(|request| request.header("authorization").unwrap().to_owned()).collect();
    assert_eq!(sent, ["", "b", "c", "d"].map(|end| format!("Bearer {KEY}{end}")));
    for label in ["key KEY_B", "key key.txt", "key cat"] {
        assert!(ran.err.contains(label), "{label}: {}", ran.err);
    }
}

/// [CH-103]
#[test]
fn a_place_that_has_no_key_is_named_before_any_request() {
    let server = WireServer::repeat(says(&["never"])).unwrap();
    let chat = Chat::new().env("EMPTY", "");
    fs::create_dir(chat.home.path().join("folder")).unwrap();
    fs::write(chat.home.path().join("two"), format!("{KEY}\n{KEY}")).unwrap();
    fs::write(chat.home.path().join("long"), "k".repeat(70_000)).unwrap();
    for (place, says) in [
        ("env = \"NOT_SET\"", "the environment variable NOT_SET is not set"),
        ("env = \"EMPTY\"", "the key in the environment variable EMPTY cannot be used"),
        ("file = \"gone\"", "gone gives no secret: there is no such file"),
        ("file = \"folder\"", "folder gives no secret: it is no regular file"),
        ("file = \"two\"", "cannot be used"),
        ("file = \"long\"", "larger than 65536 bytes"),
        ("command = [\"/bin/false\"]", "the command /bin/false gives no secret: it failed"),
        ("command = [\"/bin/cat\", \"two\"]", "the key in the command /bin/cat cannot be used"),
        ("command = [\"/bin/cat\", \"/dev/zero\"]", "the command /bin/cat gives no secret"),
    ] {
        let config = format!("[providers.p]\n{}keys = [{{ {place} }}]\n", at(&server));
        ask(&chat, &config, &[]).failed(1, &[says]);
    }
    assert_eq!(server.requests().len(), 0);
}

/// [CH-105]
#[test]
fn headers_and_extra_fields_are_those_of_the_provider_that_is_asked() {
    let (down, spare) =
        (WireServer::repeat(failing(503)).unwrap(), WireServer::repeat(says(&["Hi."])).unwrap());
    let chat = Chat::new().env("PROXY_TOKEN", KEY);
    let config = format!(
        "[retry]\nretries = 0\nfallbacks = [\"q:m\"]\n\
         [providers.p]\n{}headers = {{ x-team = \"blue\", x-proxy-token = {{ env = \"PROXY_TOKEN\" }} }}\n\
         extra_body = {{ mine = {{ deep = [1, 2.5, true] }}, day = 2026-01-02, max_tokens = 7 }}\n\
         [providers.q]\n{}extra_body = {{ theirs = \"q\" }}\n",
        at(&down),
        at(&spare)
    );
    ask(&chat, &config, &[]).answered("Hi.\n");
    let first = &down.requests()[0];
    assert_eq!((first.header("x-team"), first.header("x-proxy-token")), (Some("blue"), Some(KEY)));
    let body: Value = first.json().unwrap();
    assert_eq!(body["mine"], json!({"deep": [1, 2.5, true]}));
    assert_eq!((&body["day"], &body["max_tokens"]), (&json!("2026-01-02"), &json!(7)));
    let second = &spare.requests()[0];
    assert_eq!((second.header("x-team"), second.header("x-proxy-token")), (None, None));
    let body: Value = second.json().unwrap();
    assert_eq!((&body["theirs"], body.get("mine"), body.get("max_tokens")), (&json!("q"), None, None));
}

/// [CH-106]
#[test]
fn settings_of_an_api_reach_it_and_no_other_takes_them() {
    let server = WireServer::repeat(failing(400)).unwrap();
    let chat = Chat::new().env("K", KEY);
    let with = |api: &str, more: &str| {
        let before = server.requests().len();
        let config = format!("[providers.p]\napi = \"{api}\"\napi_key_env = \"K\"\n{}{more}\n", at(&server));
        let ran = ask(&chat, &config, &["--retries", "0"]);
        (ran, server.requests().into_iter().nth(before))
    };
    let (_, sent) = with("openai", "organization = \"org-1\"\nproject = \"proj-1\"");
    let sent = sent.unwrap();
    assert_eq!(sent.path, "/v1/responses");
    let billed = (sent.header("openai-organization"), sent.header("openai-project"));
    assert_eq!(billed, (Some("org-1"), Some("proj-1")));
    let (_, sent) = with("anthropic", "version = \"2099-01-01\"\nbetas = [\"b1\", \"b2\"]");
    let sent = sent.unwrap();
    assert_eq!((sent.path.as_str(), sent.header("anthropic-version")), ("/v1/messages", Some("2099-01-01")));
    assert_eq!(sent.header("anthropic-beta"), Some("b1,b2"));
    let (_, sent) = with("azure", "api_version = \"2099\"\ndeployment_urls = true");
    let sent = sent.unwrap();
    assert!(sent.path.contains("/deployments/m/") && sent.path.contains("api-version=2099"), "{}", sent.path);

    for (api, more, says) in [
        ("groq", "organization = \"o\"", "unknown field `organization`"),
        ("openai", "resource_name = \"r\"", "unknown field `resource_name`"),
        ("google", "betas = [\"b\"]", "unknown field `betas`"),
        ("openai", "dialect = \"mistral\"", "unknown field `dialect`"),
    ] {
        let (ran, sent) = with(api, more);
        ran.failed(2, &[says]);
        assert!(sent.is_none());
    }
}

/// [CH-107]
#[test]
fn a_wait_that_is_too_long_is_not_waited_for() {
    let server = WireServer::repeat(failing(503).header("retry-after", "30")).unwrap();
    let config = format!("[retry]\nretries = 3\nmax_delay = \"2s\"\n[providers.p]\n{}", at(&server));
    ask(&Chat::new(), &config, &[]).failed(1, &["503"]);
    assert_eq!(server.requests().len(), 1);
    let config = format!("[retry]\nretries = 1000000\n[providers.p]\n{}", at(&server));
    ask(&Chat::new(), &config, &[]).failed(2, &["retries"]);
}

/// [CH-107] [CH-109]
#[test]
fn what_takes_too_long_is_ended() {
    let stalls = WireReply::sse(sse(&[text("The sky")])).ending(WireEnd::HangAfter(5));
    for (table, says) in [
        ("[timeouts]\ntotal = 0.3\n", "the run ended early"),
        ("[timeouts]\nstep = \"300ms\"\n", "the server took too long"),
        ("[timeouts]\nfirst_output = \"300ms\"\n", "the server took too long"),
        ("[retry]\nretries = 0\nbudget = \"600ms\"\n", "the server took too long"),
        ("[retry]\nretries = 0\nfirst_output = \"300ms\"\n", "the server took too long"),
    ] {
        let server = WireServer::repeat(stalls.clone()).unwrap();
        let ran = ask(&Chat::new(), &format!("{table}[providers.p]\n{}", at(&server)), &[]);
        ran.failed(1, &[says]);
    }
}

/// [CH-108]
#[test]
fn tools_run_as_the_configuration_allows() {
    for (table, more, says) in [
        ("tools = { calculator = \"deny\" }", &[][..], "does not allow this tool"),
        ("default = \"deny\"\ntools = { calculator = \"allow\" }", &[], "391"),
        ("default = \"ask\"", &[], "Nobody can be asked"),
        ("default = \"ask\"", &["--yes"], "391"),
        ("default = \"allow\"", &[], "391"),
    ] {
        let asks = sse(&[call(0, "a", "calculator", "{\"expression\":\"17*23\"}"), finish("tool_calls")]);
        let server = WireServer::start([WireReply::sse(asks), says_done()]).unwrap();
        let config = format!("[approval]\n{table}\n[providers.p]\n{}", at(&server));
        ask(&Chat::new(), &config, more).answered("Done.\n");
        let body: Value = server.requests()[1].json().unwrap();
        let result = body["messages"].as_array().unwrap().last().unwrap().to_string();
        assert!(result.contains(says), "{table} {more:?}: {result}");
    }
}

fn says_done() -> WireReply {
    says(&["Done."])
}

/// [CH-110]
#[test]
fn an_answer_is_shown_with_its_cost_where_there_is_a_price() {
    let server = WireServer::repeat(says(&["Hi."])).unwrap();
    let price = |of: &str| {
        format!("[prices.\"{of}\"]\ninput = 1000000\noutput = 2000000.0\n[providers.p]\n{}", at(&server))
    };
    let ran = ask(&Chat::new(), &price("p:m"), &[]);
    assert!(ran.err.contains("7 tokens in, 3 out · cost 13.0000 · "), "{}", ran.err);
    let ran = ask(&Chat::new(), &price("p:other"), &[]);
    assert!(ran.err.contains("3 out · ") && !ran.err.contains("cost"), "{}", ran.err);
}

/// [CH-111]
#[test]
fn a_file_may_be_as_large_as_the_configuration_says() {
    let chat = Chat::new();
    fs::write(chat.home.path().join("notes.txt"), "0123456789").unwrap();
    for (limit, says) in [(10, "0123456789"), (9, "at most 9 are read")] {
        let asks = sse(&[call(0, "a", "read_file", "{\"path\":\"notes.txt\"}"), finish("tool_calls")]);
        let server = WireServer::start([WireReply::sse(asks), says_done()]).unwrap();
        let config =
            format!("[tools]\nroot = \".\"\nmax_file_bytes = {limit}\n[providers.p]\n{}", at(&server));
        ask(&chat, &config, &[]).answered("Done.\n");
        let body: Value = server.requests()[1].json().unwrap();
        let result = body["messages"].as_array().unwrap().last().unwrap().to_string();
        assert!(result.contains(says), "{result}");
    }
}

/// [CH-112]
#[test]
fn a_log_of_json_lines_has_spans_and_no_key() {
    let server = WireServer::repeat(says(&["Hi."])).unwrap();
    let chat = Chat::new().env("K", KEY);
    let config = format!(
        "[tracing]\nfilter = \"trace\"\nformat = \"json\"\nfile = \"log\"\nspans = true\n\
         [providers.p]\napi_key_env = \"K\"\n{}",
        at(&server)
    );
    let ran = ask(&chat, &config, &[]);
    ran.answered("Hi.\n");
    ask(&chat, &config, &[]).answered("Hi.\n");
    assert!(!ran.err.contains("ai_http"), "{}", ran.err);
    let log = fs::read_to_string(chat.home.path().join("log")).unwrap();
    assert!(!log.contains(KEY) && !log.contains('\u{1b}'), "{log}");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let closed =
        |line: &&Value| line["fields"]["message"] == "close" && line["fields"]["time.busy"].is_string();
    let spans =
        lines.iter().filter(closed).filter(|line| line["target"].as_str().unwrap().starts_with("ai_"));
    assert!(spans.count() >= 2, "both runs are there, and their spans: {log}");

    let ran = ask(&Chat::new(), "[tracing]\nfile = \"no/folder/log\"\nfilter = \"info\"", &[]);
    ran.failed(2, &["the log file no/folder/log cannot be written"]);
    ask(&Chat::new(), "[tracing]\nfilter = \"chat=loud\"", &[]).failed(2, &["the filter of [tracing]"]);
}

/// [CH-113]
#[test]
fn models_are_listed_as_they_can_be_asked_for() {
    let list = r#"{"data":[{"id":"small"},{"id":"lar\u001bge","display_name":"Large"}]}"#;
    let server = WireServer::repeat(WireReply::json(StatusCode::OK, list)).unwrap();
    let chat = Chat::new().env("K", KEY);
    let config = format!("[providers.p]\napi_key_env = \"K\"\n{}", at(&server));
    fs::write(chat.home.path().join("c.toml"), config).unwrap();
    let models = |chat: &Chat, more: &[&str]| chat.run(&[&["models", "--config", "c.toml"], more].concat());
    models(&chat, &["--provider", "p"]).answered("p:small\np:lar␛ge  Large\n");
    models(&chat, &["--model", "p:any"]).answered("p:small\np:lar␛ge  Large\n");
    let request = &server.requests()[0];
    assert_eq!(
        (request.path.as_str(), request.header("authorization")),
        ("/v1/models", Some(&*format!("Bearer {KEY}")))
    );
    let ran = models(&chat, &["--provider", "p", "--json"]);
    let listed: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(listed[0], json!({"id": "small", "model": "p:small"}));
    assert_eq!(listed[1], json!({"id": "lar\u{1b}ge", "model": "p:lar\u{1b}ge", "displayName": "Large"}));
    let url = format!("{}/v1", server.url());
    models(&chat, &["--provider", "mine", "--base-url", &url]).answered("mine:small\nmine:lar␛ge  Large\n");
    assert!(server.requests().last().unwrap().header("authorization").is_none());

    let demo = Chat::new().run(&["models"]);
    demo.answered("demo:rules\n");
    Chat::new()
        .run(&["models", "--provider", "opnai"])
        .failed(2, &["no provider `opnai` (did you mean `openai`?)"]);
    let gone = WireServer::repeat(failing(404)).unwrap();
    let url = format!("{}/v1", gone.url());
    Chat::new().run(&["models", "--provider", "mine", "--base-url", &url]).failed(1, &["HTTP 404"]);
}

/// [CH-116]
#[test]
fn paths_are_relative_to_the_file_or_to_the_home() {
    let server = WireServer::repeat(failing(400)).unwrap();
    let chat = Chat::new();
    let home = chat.home.path();
    fs::create_dir(home.join("etc")).unwrap();
    fs::write(home.join("etc/near"), format!("{KEY}near")).unwrap();
    fs::write(home.join("far"), format!("{KEY}far")).unwrap();
    for (path, end) in [("near", "near"), ("~/far", "far"), (home.join("far").to_str().unwrap(), "far")] {
        let config =
            format!("[retry]\nretries = 0\n[providers.p]\n{}keys = [{{ file = \"{path}\" }}]\n", at(&server));
        fs::write(home.join("etc/c.toml"), config).unwrap();
        let config = Path::new("etc").join("c.toml");
        chat.run(&["ask", "x", "--model", "p:m", "--config", config.to_str().unwrap()]).failed(1, &["400"]);
        let sent = server.requests().last().unwrap().header("authorization").unwrap().to_owned();
        assert_eq!(sent, format!("Bearer {KEY}{end}"));
    }
}
