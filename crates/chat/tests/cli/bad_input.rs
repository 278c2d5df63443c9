use std::fs;
use std::net::TcpListener;

use ai_testkit::{WireEnd, WireReply, WireServer};
use http::StatusCode;

use crate::support::{Chat, KEY, call, finish, says, sse, text};

fn reply(status: u16, body: &str) -> WireReply {
    WireReply::json(StatusCode::from_u16(status).unwrap(), body.to_owned())
}

/// What a server can answer, what is said of it, and what stays on the screen.
///
/// [CH-49]
#[test]
fn whatever_a_server_answers_is_explained() {
    let error =
        |message: &str| format!("{{\"error\":{{\"message\":\"{message}\",\"type\":\"t\",\"code\":\"c\"}}}}");
    let html = WireReply::ok("<html><body>It works!</body></html>").header("content-type", "text/html");
    let partial = sse(&[text("The sky is")]);
    let cut = partial.len() - "data: [DONE]\n\n".len();
    let table: Vec<(&str, WireReply, &[&str], &str)> = vec![
        (
            "401",
            reply(401, &error(&format!("Incorrect API key provided: {KEY}."))),
            &["HTTP 401", "API key", "--api-key-env"],
            "",
        ),
        (
            "404",
            reply(404, &error("The model does not exist")),
            &["HTTP 404", "The model does not exist", "--model"],
            "",
        ),
        (
            "429",
            reply(429, &error("slow down")).header("retry-after", "7"),
            &["HTTP 429", "slow down", "Try again in 7 s."],
            "",
        ),
        ("500", reply(500, "upstream is gone"), &["HTTP 500", "the server failed"], ""),
        ("html", html, &["web page"], ""),
        ("error with 200", reply(200, &error("no capacity left")), &["no capacity left"], ""),
        ("empty stream", WireReply::sse(""), &["error: "], ""),
        ("only the end mark", WireReply::sse("data: [DONE]\n\n"), &["error: "], ""),
        (
            "cut in the text",
            WireReply::sse(partial.clone()).ending(WireEnd::CloseAfter(cut)),
            &["the answer above is incomplete"],
            "The sky is\n",
        ),
        ("reset", WireReply::sse(partial).ending(WireEnd::CloseAfter(10)), &["error: "], ""),
        ("not JSON", WireReply::sse("data: {oops\n\n"), &["cannot be understood"], ""),
        (
            "cut at a limit",
            WireReply::sse(sse(&[text("The sky is"), finish("length")])),
            &["cut at a length limit", "openai"],
            "The sky is\n",
        ),
        ("empty answer", WireReply::sse(sse(&[finish("stop")])), &["empty"], ""),
    ];
    for (case, reply, says, shown) in table {
        let server = WireServer::start([reply]).unwrap();
        let ran = Chat::ask(&server, &[]);
        let says: Vec<_> = says.iter().map(|word| word.to_lowercase()).collect();
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), shown), "{case}: {}", ran.err);
        let err = ran.err.to_lowercase();
        for word in says {
            assert!(err.contains(&word), "{case}: `{word}` is missing in {}", ran.err);
        }
        let place = err.contains(server.url()) || err.contains("openai:gpt-test");
        assert!(place, "{case}: the place is missing in {}", ran.err);
        ran.failed(1, &[]);
    }
}

/// [CH-50]
#[test]
fn a_server_that_is_not_there_is_explained() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = format!("http://{}/v1", free.local_addr().unwrap());
    drop(free);
    // To a broadcast address no connection is even tried: as on a machine without network.
    for url in [closed.as_str(), "http://255.255.255.255/v1"] {
        let ran = Chat::new().run(&["ask", "x", "--model", "mine:m", "--base-url", url]);
        ran.failed(1, &["the connection failed", url, "--base-url"]);
        assert_eq!(ran.out, "");
    }
}

/// [CH-50]
#[test]
fn json_output_ends_with_the_error_too() {
    let server = WireServer::start([reply(500, "gone")]).unwrap();
    let ran = Chat::ask(&server, &["--json"]);
    ran.failed(1, &["HTTP 500"]);
    let lines: Vec<_> = ran.out.lines().rev().collect();
    assert!(lines[0].starts_with("{\"type\":\"error\",\"errorText\":"), "{}", ran.out);
    assert!(lines[1].starts_with("{\"type\":\"data-error\",\"data\":{\"class\":\"server\""), "{}", ran.out);
}

/// [CH-51]
#[test]
fn keys_that_cannot_be_used_are_refused_before_any_request() {
    let server = WireServer::repeat(says(&["never"])).unwrap();
    let url = format!("{}/v1", server.url());
    let openai = ["ask", "x", "--model", "openai-chat:m", "--base-url", &url];
    for key in [format!("{KEY}\nX-Evil: 1"), format!("{KEY}\r\nb"), format!("{KEY}é"), " ".to_owned()] {
        let ran = Chat::new().env("OPENAI_API_KEY", &key).run(&openai);
        ran.failed(1, &["the key in the environment variable OPENAI_API_KEY cannot be used"]);
    }
    let named = |name: &str| Chat::new().run(&[&openai[..], &["--api-key-env", name]].concat());
    named("NOT_SET").failed(1, &["there is no API key: the environment variable NOT_SET is not set"]);
    named(KEY).failed(2, &["give the name, not the key"]);
    let underscored = KEY.replace('-', "_");
    assert!(!named(&underscored).err.contains(&underscored));
    Chat::new().run(&["ask", "x", "--model", "openai-chat:m"]).failed(1, &["OPENAI_API_KEY is not set"]);
    assert_eq!(server.requests().len(), 0);
    // White space around a key is no fault.
    Chat::new().env("OPENAI_API_KEY", &format!(" {KEY}\n")).run(&openai).answered("never\n");
}

/// [CH-22] [CH-23] [CH-52]
#[test]
fn a_configuration_that_is_not_understood_is_explained() {
    let chat = Chat::new();
    let path = chat.home.path().join("c.toml");
    let with = |text: &str| {
        fs::write(&path, text).unwrap();
        chat.run(&["ask", "x", "--config", "c.toml"])
    };
    with("defualt_model = \"a\"")
        .failed(2, &["c.toml, line 1", "`defualt_model`", "did you mean `default_model`?"]);
    with("\n[providers.p]\nurl = \"a\"").failed(2, &["line 3", "`url`"]);
    with(&format!("[providers.p]\napi_key = \"{KEY}\"")).failed(2, &["line 2", "api_key_env"]);
    with("default_model = \"nope:m\"").failed(2, &["there is no provider `nope`"]);
    with("[tools]\nenable = [\"read_file\"]").failed(2, &["read_file", "--root"]);
    with("[").failed(2, &["line 1"]);
    chat.run(&["ask", "x", "--config", "gone.toml"]).failed(2, &["gone.toml: there is no such file"]);
}

/// [CH-52]
#[test]
fn a_command_that_makes_no_sense_is_explained() {
    let chat = Chat::new();
    let run = |args: &[&str]| chat.run(args);
    run(&["ask"]).failed(2, &["QUESTION"]);
    run(&["ask", " "]).failed(2, &["the question is empty"]);
    run(&["ask", "-", "extra"]).failed(2, &["`-` reads the whole question"]);
    run(&["ask", "sum", "this", "-"]).failed(2, &["`-` reads the whole question"]);
    run(&["ask", "what", "is", "5", "-", "3"]).answered("5 - 3 = 2.\n");
    run(&["ask", "x", "--modle", "a:b"]).failed(2, &["--modle", "--model"]);
    run(&["ask", "x", "--model", "gpt"]).failed(2, &["`gpt` is neither", "PROVIDER:MODEL"]);
    run(&["ask", "x", "--model", "demo:gpt"]).failed(2, &["demo:rules"]);
    run(&["ask", "x", "--model", "m:m", "--base-url", "not a url"]).failed(2, &["not a url"]);
    run(&["ask", "x", "--base-url", "http://x"]).failed(2, &["--base-url", "--model"]);
    run(&["ask", "x", "--root", "gone"]).failed(2, &["the root folder gone cannot be opened"]);
    run(&["ask", "x", "--max-steps", "0"]).failed(2, &["--max-steps"]);
    chat.run_with_input(&["ask", "-"], &[0xff, 0xfe]).failed(2, &["not UTF-8"]);
    chat.run_with_input(&["ask", "-"], b"\n").failed(2, &["the question is empty"]);
}

/// [CH-53]
#[test]
fn a_model_that_never_comes_to_an_end_is_stopped() {
    let again = sse(&[call(0, "a", "current_time", "{}"), finish("tool_calls")]);
    let server = WireServer::repeat(WireReply::sse(again)).unwrap();
    let ran = Chat::ask(&server, &["--max-steps", "2"]);
    ran.failed(1, &["after 2 steps", "--max-steps"]);
    assert_eq!(server.requests().len(), 2);
}
