use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use agent_loop::UiChunk;
use ai_testkit::{Cut, WireEnd, WireReply, WireServer};
use serde_json::json;

use crate::support::{Chat, KEY, Ran, call, finish, says, sse, text, usage};

/// [CH-40]
#[test]
fn without_any_model_the_demo_answers_and_says_so() {
    let ran = Chat::new().run(&["ask", "what is 17*23, and what time is it in Tokyo?"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.out.starts_with("17*23 = 391. It is ") && ran.out.ends_with(" in Asia/Tokyo (UTC+09:00).\n"),
        "{}",
        ran.out
    );
    let lines: Vec<_> = ran.err.lines().collect();
    assert!(
        lines[0].starts_with("This is a demo") && lines[0].contains("--model PROVIDER:MODEL"),
        "{}",
        ran.err
    );
    for line in [
        "→ calculator {\"expression\":\"17*23\"}",
        "→ current_time {\"zone\":\"Asia/Tokyo\"}",
        "← calculator 391",
    ] {
        assert!(lines.contains(&line), "{line} is missing in {}", ran.err);
    }
    assert!(lines.last().unwrap().starts_with("[demo:rules · 2 steps · "), "{}", ran.err);
}

/// [CH-40] [CH-41]
#[test]
fn json_lines_hold_the_whole_run_and_nothing_else() {
    let ran = Chat::new().run(&["ask", "--json", "6*7"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let chunks: Vec<UiChunk> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(matches!(chunks.first(), Some(UiChunk::Start { .. })));
    assert!(matches!(chunks.last(), Some(UiChunk::Finish { .. })));
    let said: String = chunks
        .iter()
        .filter_map(|chunk| match chunk {
            UiChunk::TextDelta { delta, .. } => Some(delta.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(said, "6*7 = 42.");
    let steps: Vec<_> = chunks
        .iter()
        .filter_map(|chunk| match chunk {
            UiChunk::MessageMetadata { message_metadata } => {
                Some(&message_metadata["finishReason"]["unified"])
            }
            _ => None,
        })
        .collect();
    assert_eq!(steps, ["tool-calls", "stop"]);
    assert!(ran.err.starts_with("This is a demo") && ran.err.lines().count() == 1, "{}", ran.err);
}

/// [CH-41]
#[test]
fn without_a_command_there_is_help_with_examples() {
    let ran = Chat::new().run(&[]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert!(
        ran.out.contains("Examples:") && ran.out.contains("chat ask \"what is 17*23, and what time is it?\"")
    );
}

/// [CH-42]
#[test]
fn files_are_read_under_the_root_alone() {
    let chat = Chat::new();
    let root = chat.home.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("notes.txt"), "buy milk\u{1b}[2J").unwrap();
    fs::write(chat.home.path().join("secret.txt"), "hidden").unwrap();
    let ran = chat.run(&["ask", "read notes.txt and ../secret.txt", "--root", "root"]);
    ran.answered(
        "notes.txt says:\nbuy milk␛[2J\n\nread_file failed on ../secret.txt: `../secret.txt` is outside the root \
         folder.\n",
    );
    let without = chat.run(&["ask", "read notes.txt"]);
    assert!(without.out.contains("--root"), "{}", without.out);
}

/// [CH-43] [CH-35]
#[test]
fn an_answer_of_a_server_is_shown_with_its_usage() {
    let server = WireServer::start([says(&["The sky ", "is blue."])]).unwrap();
    let ran = Chat::ask(&server, &["--system", "Be brief."]);
    ran.answered("The sky is blue.\n");
    assert!(ran.err.starts_with("[openai:gpt-test · 1 step · 7 tokens in, 3 out · "), "{}", ran.err);
    let requests = server.requests();
    assert_eq!(requests[0].path, "/v1/chat/completions");
    assert_eq!(requests[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    let body = requests[0].json().unwrap();
    assert_eq!(body["model"], "gpt-test");
    assert_eq!(
        body["messages"],
        json!([
            {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello?"},
        ])
    );
    let tools: Vec<_> =
        body["tools"].as_array().unwrap().iter().map(|tool| tool["function"]["name"].clone()).collect();
    assert_eq!(tools, ["current_time", "calculator"]);
}

/// [CH-55]
#[test]
fn logs_are_there_on_request_and_hold_no_key() {
    let server = WireServer::repeat(says(&["Hi."])).unwrap();
    let quiet = Chat::ask(&server, &[]);
    assert!(!quiet.err.contains("ai_http"), "{}", quiet.err);
    let verbose = Chat::ask(&server, &["-vv"]);
    verbose.answered("Hi.\n");
    assert!(verbose.err.contains("ai_http") && verbose.err.contains(server.url()), "{}", verbose.err);
    let url = format!("{}/v1", server.url());
    let all = Chat::new().env("OPENAI_API_KEY", KEY).env("RUST_LOG", "trace");
    all.run(&["ask", "x", "--model", "openai-chat:m", "--base-url", &url]).answered("Hi.\n");
}

/// [CH-44]
#[test]
fn tools_are_run_and_their_results_go_back() {
    let calls = [
        call(0, "a", "calculator", "{\"expression\":\"17*23\"}"),
        call(1, "b", "calculator", "{\"expression\":\"1/0\"}"),
        call(2, "c", "no_such_tool", "{}"),
        call(3, "d", "calculator", "{\"expression\": oops"),
        call(4, "e", "calculator", "{\"expr\":\"1\"}"),
        finish("tool_calls"),
        usage(10, 5),
    ];
    let server = WireServer::start([WireReply::sse(sse(&calls)), says(&["391."])]).unwrap();
    let ran = Chat::ask(&server, &[]);
    ran.answered("391.\n");
    let requests = server.requests();
    let body = requests[1].json().unwrap();
    let results: Vec<_> =
        body["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "tool").collect();
    assert_eq!(results.len(), 5);
    let content = |at: usize| results[at]["content"].as_str().unwrap();
    assert_eq!(content(0), "391");
    assert!(content(1).contains("division by zero"), "{}", content(1));
    assert!(content(2).contains("no_such_tool"), "{}", content(2));
    assert!(content(3).contains("JSON"), "{}", content(3));
    assert!(content(4).contains("expr"), "{}", content(4));
    for line in ["← calculator 391\n", "✗ calculator division by zero\n", "✗ no_such_tool "] {
        assert!(ran.err.contains(line), "{line} is missing in {}", ran.err);
    }
    assert!(ran.err.contains("2 steps · 17 tokens in, 8 out"), "{}", ran.err);
}

/// [CH-45]
#[test]
fn a_hostile_model_writes_no_escapes() {
    let evil = "a\u{1b}[31mb\u{9b}2Jc\u{7}";
    let server = WireServer::start([says(&[evil]), says(&[evil])]).unwrap();
    Chat::ask(&server, &[]).answered("a␛[31mb�2Jc␇\n");
    let json = Chat::ask(&server, &["--json"]);
    assert!(!json.out.contains(['\u{9b}', '\u{7}']), "{}", json.out);
    assert!(json.out.contains("a\\u001b[31mb\\u009b2Jc\\u0007"), "{}", json.out);
}

/// [CH-46]
#[test]
fn the_question_may_come_from_standard_input() {
    let server = WireServer::start([says(&["Yes."])]).unwrap();
    let url = format!("{}/v1", server.url());
    let args = ["ask", "-", "--model", "mine:m", "--base-url", &url];
    Chat::new().run_with_input(&args, "Two\nlines?\n".as_bytes()).answered("Yes.\n");
    let request = &server.requests()[0];
    assert_eq!(request.json().unwrap()["messages"][0]["content"], "Two\nlines?\n");
    assert_eq!(request.header("authorization"), None);
}

/// [CH-46]
#[test]
fn a_conversation_from_a_pipe_keeps_its_history() {
    let broken = |status, message: &str| {
        WireReply::json(status, json!({ "error": { "message": message } }).to_string())
    };
    let failing = broken(http::StatusCode::INTERNAL_SERVER_ERROR, "boom");
    let refusing = broken(http::StatusCode::BAD_REQUEST, "bad word");
    let whole = sse(&[text("Half")]);
    let cut = WireReply::sse(whole.trim_end_matches("data: [DONE]\n\n").to_owned());
    let server =
        WireServer::start([says(&["One."]), failing, refusing, cut, says(&["Two."]), says(&["Three."])])
            .unwrap();
    let url = format!("{}/v1", server.url());
    let chat = Chat::new();
    let args = ["talk", "--model", "mine:m", "--base-url", &url, "--retries", "0"];
    let input = b"first\n\nfails\nrefused\nbreaks\n/nonsense\nsecond\n/clear\nthird\n/exit\nnever\n";
    let ran = chat.run_with_input(&args, input);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), "One.\nHalf\nTwo.\nThree.\n"), "{}", ran.err);
    assert!(ran.err.contains("boom") && ran.err.contains("no command /nonsense"), "{}", ran.err);
    assert_eq!(ran.err.matches("The question stays").count(), 2, "{}", ran.err);
    assert_eq!(ran.err.matches("The question is taken back").count(), 1, "{}", ran.err);
    let asked = |at: usize| -> String {
        let body = server.requests()[at].json().unwrap();
        let messages = body["messages"].as_array().unwrap().iter();
        messages.map(|message| message["content"].as_str().unwrap()).collect::<Vec<_>>().join("|")
    };
    assert_eq!(server.requests().len(), 6);
    // A question that failed is a fact of the next turn, its broken answer is not; one that was refused would be
    // refused again.
    assert_eq!(asked(4), "first|One.|fails|breaks|second");
    assert_eq!(asked(5), "third");
}

/// [CH-26] [CH-47]
#[test]
fn a_configuration_file_names_servers_and_models() {
    let server = WireServer::start([says(&["A."]), says(&["B."])]).unwrap();
    let chat = Chat::new().env("LOCAL_KEY", KEY);
    let config = format!(
        "default_model = \"fast\"\n[providers.local]\nbase_url = \"{}/v1\"\napi_key_env = \"LOCAL_KEY\"\n\
         [models.fast]\nmodel = \"local:qwen\"\nsystem = \"From the file.\"\ntemperature = 0.25\n[tools]\nenable = []\n",
        server.url()
    );
    let folder = chat.home.path().join(".config/chat");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), config).unwrap();
    chat.run(&["ask", "x"]).answered("A.\n");
    chat.run(&["ask", "x", "--system", "From the flag."]).answered("B.\n");
    let requests = server.requests();
    let body = requests[0].json().unwrap();
    assert_eq!(requests[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!((&body["model"], &body["temperature"]), (&json!("qwen"), &json!(0.25)));
    assert_eq!(body["messages"][0]["content"], "From the file.");
    assert_eq!(body.get("tools"), None);
    assert_eq!(requests[1].json().unwrap()["messages"][0]["content"], "From the flag.");
}

/// [CH-48]
#[test]
fn an_interrupt_ends_the_answer_and_keeps_what_came() {
    let body = sse(&[text("The sky"), text(" is")]);
    let hanging = WireReply::sse(body.clone())
        .cut(Cut::Event)
        .ending(WireEnd::HangAfter(body.len() - "data: [DONE]\n\n".len()));
    let server = WireServer::start([hanging]).unwrap();
    let url = format!("{}/v1", server.url());
    let chat = Chat::new();
    let mut child = chat.command(&["ask", "x", "--model", "mine:m", "--base-url", &url]).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut shown = [0; 10];
    out.read_exact(&mut shown).unwrap();
    assert_eq!(&shown, b"The sky is");
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!((ran.code, rest.as_str()), (Some(130), "\n"));
    assert!(ran.err.contains("interrupted: the answer above is incomplete"), "{}", ran.err);
    assert!(server.blocking_wait_closed(std::time::Duration::from_secs(10)), "the connection is closed");
}

/// [CH-48]
#[test]
fn a_reader_who_leaves_ends_the_program_quietly() {
    let words: Vec<_> = (0..2_000).map(|_| "word ").collect();
    let server = WireServer::start([says(&words)]).unwrap();
    let url = format!("{}/v1", server.url());
    let chat = Chat::new();
    let mut child = chat
        .command(&["ask", "x", "--model", "mine:m", "--base-url", &url])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
}
