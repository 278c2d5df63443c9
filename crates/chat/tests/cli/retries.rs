//! Which server is asked, and what is tried when it fails.

use ai_testkit::{WireReply, WireServer};
use http::StatusCode;
use serde_json::Value;

use crate::support::{Chat, KEY, says};

fn failing(status: u16) -> WireReply {
    WireReply::json(StatusCode::from_u16(status).unwrap(), r#"{"error":{"message":"no"}}"#)
}

fn keys(server: &WireServer) -> Vec<String> {
    server.requests().iter().map(|request| request.header("authorization").unwrap().to_owned()).collect()
}

/// [CH-59] [CH-61]
#[test]
fn further_keys_are_used_when_one_is_refused_and_told_by_the_names_of_their_variables() {
    let server = WireServer::start([failing(401), failing(429), says(&["Hi."])]).unwrap();
    let url = format!("{}/v1", server.url());
    let chat = Chat::new().env("KEY_A", KEY).env("KEY_B", &format!("{KEY}b, {KEY}c"));
    let ran = chat.run(&[
        "ask",
        "Hello?",
        "--model",
        "openai-chat:m",
        "--base-url",
        &url,
        "--api-key-env",
        "KEY_A",
        "--api-key-env",
        "KEY_B",
    ]);
    ran.answered("Hi.\n");
    assert_eq!(keys(&server), ["", "b", "c"].map(|end| format!("Bearer {KEY}{end}")));
    let line = "step 1 attempt 1 started · 401, safe · key KEY_B-1 · attempt 2 started · 429, safe · key KEY_B-2 · \
                attempt 3 started · finished stop";
    assert!(ran.err.contains(line), "{}", ran.err);

    // A key that is given twice is sent once.
    let server = WireServer::repeat(failing(401)).unwrap();
    let url = format!("{}/v1", server.url());
    let chat = Chat::new().env("KEY_A", KEY).env("KEY_B", KEY);
    let twice = ["--api-key-env", "KEY_A", "--api-key-env", "KEY_B"];
    let args = ["ask", "Hello?", "--model", "openai-chat:m", "--base-url", &url];
    chat.run(&[&args[..], &twice].concat()).failed(1, &["401"]);
    assert_eq!(server.requests().len(), 1);
}

/// [CH-60] [CH-61]
#[test]
fn another_model_answers_when_the_first_one_cannot() {
    let (down, spare) =
        (WireServer::repeat(failing(503)).unwrap(), WireServer::repeat(says(&["Hi."])).unwrap());
    let chat = Chat::new();
    let file = chat.home.path().join("c.toml");
    let text = format!("[providers.spare]\nbase_url = \"{}/v1\"\n", spare.url());
    std::fs::write(&file, text).unwrap();
    let url = format!("{}/v1", down.url());
    let ask = |more: &[&str]| {
        let args =
            ["ask", "Hello?", "--model", "mine:m", "--base-url", &url, "--config", file.to_str().unwrap()];
        chat.run(&[&args, more].concat())
    };
    let ran = ask(&["--fallback", "spare:large", "--retries", "0"]);
    ran.answered("Hi.\n");
    assert!(ran.err.contains("503, safe · fell back to spare:large · attempt 2 started"), "{}", ran.err);
    let ran = ask(&["--fallback", "spare:large", "--retries", "0", "--json"]);
    let kinds: Vec<String> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|chunk| chunk["type"] == "data-attempt")
        .map(|chunk| chunk["data"]["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kinds, ["started", "failed", "fell-back", "started", "settled"]);
}

/// [CH-62]
#[test]
fn a_call_is_tried_again_as_often_as_said() {
    for (more, calls) in [(&["--retries", "1"][..], 2), (&["--retries", "0"][..], 1)] {
        let server = WireServer::repeat(failing(500).header("retry-after-ms", "1")).unwrap();
        let url = format!("{}/v1", server.url());
        let args = ["ask", "Hello?", "--model", "mine:m", "--base-url", &url];
        Chat::new().run(&[&args, more].concat()).failed(1, &["500"]);
        assert_eq!(server.requests().len(), calls);
    }
    let server = WireServer::start([failing(500).header("retry-after-ms", "1"), says(&["Hi."])]).unwrap();
    let url = format!("{}/v1", server.url());
    Chat::new().run(&["ask", "Hello?", "--model", "mine:m", "--base-url", &url]).answered("Hi.\n");
}

/// [CH-63]
#[test]
fn servers_of_other_apis_are_asked_in_their_own_way() {
    let message = r#"{"id":"m","type":"message","role":"assistant","model":"claude","content":[{"type":"text","text":"Hi."}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}"#;
    let gemini =
        r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"Hi."}]},"finishReason":"STOP"}]}"#;
    for (provider, variable, header, path, body) in [
        ("anthropic", "ANTHROPIC_API_KEY", "x-api-key", "/v1/messages", message),
        ("claude", "ANTHROPIC_AUTH_TOKEN", "authorization", "/v1/messages", message),
        ("google", "GEMINI_API_KEY", "x-goog-api-key", "/v1/models/m:streamGenerateContent?alt=sse", gemini),
    ] {
        let server = WireServer::start([WireReply::json(StatusCode::OK, body)]).unwrap();
        let url = format!("{}/v1", server.url());
        let model = format!("{provider}:m");
        // A variable that is set to nothing is not set.
        let chat = Chat::new().env("ANTHROPIC_API_KEY", "").env(variable, KEY);
        chat.run(&["ask", "Hello?", "--model", &model, "--base-url", &url]).answered("Hi.\n");
        let request = &server.requests()[0];
        let sent = request.header(header).map(|key| key.trim_start_matches("Bearer "));
        assert_eq!((request.path.as_str(), sent), (path, Some(KEY)), "{provider}");
    }
}
