//! The program itself, by what a person types and sees.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use ai_testkit::{WireEnd, WireReply, WireServer};
use http::StatusCode;
use tempfile::TempDir;

use crate::outcome::{outcome, text_of, values};

const ANSWER: &str = "data: {\"id\":\"c1\",\"model\":\"m-1\",\"choices\":[{\"delta\":{\"content\":\"Grüße 🙂\"}}]}\n\n\
                      data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\": 1}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n\
                      data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\n\
                      data: [DONE]\n\n";

fn replay(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_replay"));
    // A proxy of the machine must not be asked for what is on loopback.
    command.env("HTTP_PROXY", "http://127.0.0.1:9").args(arguments).output().unwrap()
}

fn file(folder: &TempDir, name: &str, content: &str) -> String {
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_file_is_printed_part_by_part_and_no_cut_changes_it() {
    let folder = tempfile::tempdir().unwrap();
    let answer = file(&folder, "answer.sse", ANSWER);
    let whole = replay(&["--api", "openai-chat", &answer]);
    assert_eq!(whole.status.code(), Some(0), "{whole:?}");
    let lines = values(&whole.stdout);
    let types: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap_or("last")).collect();
    let expected = [
        "stream-start",
        "response-metadata",
        "text-start",
        "text-delta",
        "text-end",
        "tool-input-start",
        "tool-input-delta",
        "tool-input-end",
        "tool-call",
        "finish",
        "last",
    ];
    assert_eq!(types, expected);
    let outcome = outcome(&lines);
    assert_eq!((outcome.text.as_str(), outcome.calls[0].input.as_str()), ("Grüße 🙂", "{\"x\": 1}"));
    assert_eq!((outcome.usage.input.total, outcome.usage.output.total), (Some(3), Some(2)));
    for cut in ["whole", "event", "1", "7", "random:0", "random:18446744073709551615"] {
        let again = replay(&["--api", "openai-chat", "--cut", cut, &answer]);
        assert_eq!(again.stdout, whole.stdout, "--cut {cut}");
        assert_eq!(again.status.code(), Some(0));
    }
}

#[test]
fn a_failure_has_its_line_and_exit_code_1() {
    let folder = tempfile::tempdir().unwrap();
    let quota = r#"{"error":{"message":"used up","type":"insufficient_quota","code":"insufficient_quota"}}"#;
    let error = file(&folder, "error.json", quota);
    let output = replay(&["--api", "openai-chat", "--status", "429", &error]);
    assert_eq!(output.status.code(), Some(1));
    let lines = values(&output.stdout);
    let said = outcome(&lines).error.unwrap();
    assert_eq!((said.class.as_str(), said.status, said.retryable), ("quota", Some(429), false));
    assert_eq!(lines.last().unwrap()["error"]["code"], "insufficient_quota");

    let cut = file(
        &folder,
        "cut.sse",
        &ANSWER[..ANSWER.find("data: {\"choices\":[{\"delta\":{\"tool").unwrap() + 80],
    );
    let output = replay(&["--api", "openai-chat", "--cut", "3", &cut]);
    assert_eq!(output.status.code(), Some(1));
    let lines = values(&output.stdout);
    let last = lines.last().unwrap();
    assert_eq!(last["error"]["class"], "incomplete");
    assert_eq!(text_of(&last["partial"]), "Grüße 🙂");
}

#[test]
fn a_body_can_be_one_document_and_chunks_are_wrapped() {
    let folder = tempfile::tempdir().unwrap();
    let document = r#"{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}"#;
    let document = file(&folder, "answer.json", document);
    for options in [&["--api", "openai-chat", "--no-stream"][..], &["--api", "openai-chat"][..]] {
        let output = replay(&[options, &[&document]].concat());
        assert_eq!(outcome(&values(&output.stdout)).text, "Hi", "{output:?}");
    }
    let chunks = r#"{"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}"#;
    let chunks = file(&folder, "answer.chunks.txt", &format!("{chunks}\n\n"));
    let output = replay(&["--api", "openai-chat", "--dialect", "mistral", &chunks]);
    assert_eq!(outcome(&values(&output.stdout)).text, "Hi", "{output:?}");
}

/// The same answer in each API, as one payload a line.
#[test]
fn every_api_is_read_by_its_adapter() {
    let folder = tempfile::tempdir().unwrap();
    let chat = r#"{"choices":[{"delta":{"content":"Hi"}}]}
{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    let responses = r#"{"type":"response.created","response":{"id":"r1"}}
{"type":"response.output_item.added","output_index":0,"item":{"id":"m1","type":"message","role":"assistant","content":[]}}
{"type":"response.output_text.delta","item_id":"m1","output_index":0,"content_index":0,"delta":"Hi"}
{"type":"response.output_item.done","output_index":0,"item":{"id":"m1","type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi"}]}}
{"type":"response.completed","response":{"id":"r1","status":"completed","usage":{"input_tokens":3,"output_tokens":1}}}"#;
    let messages = r#"{"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","content":[],"model":"m","usage":{"input_tokens":3,"output_tokens":1}}}
{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}
{"type":"content_block_stop","index":0}
{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}
{"type":"message_stop"}"#;
    let gemini =
        r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}"#;
    for (api, chunks) in [
        ("openai-chat", chat),
        ("openai-responses", responses),
        ("anthropic-messages", messages),
        ("google-generate-content", gemini),
    ] {
        let file = file(&folder, &format!("{api}.chunks.txt"), chunks);
        for cut in ["whole", "1"] {
            let output = replay(&["--api", api, "--cut", cut, &file]);
            assert_eq!(output.status.code(), Some(0), "{api}: {output:?}");
            let outcome = outcome(&values(&output.stdout));
            assert_eq!((outcome.text.as_str(), outcome.text_blocks), ("Hi", 1), "{api}");
        }
    }
}

/// What was typed, and what the help must hold.
#[test]
fn what_cannot_be_tried_is_explained_with_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let answer = file(&folder, "answer.sse", ANSWER);
    let text = file(&folder, "answer.txt", ANSWER);
    let missing = folder.path().join("no.sse").to_str().unwrap().to_owned();
    for (arguments, words) in [
        (vec!["--api", "openai-chat"], "<FILE>"),
        (vec![&answer], "--api"),
        (vec!["--api", "smtp", &answer], "openai-chat"),
        (vec!["--api", "openai-chat", &missing], "no.sse: No such file"),
        (vec!["--api", "openai-chat", &text], ".chunks.txt"),
        (vec!["--api", "openai-chat", "--dialect", "klingon", &answer], "mistral"),
        (
            vec!["--api", "anthropic-messages", "--dialect", "mistral", &answer],
            "no dialect \"mistral\", but generic",
        ),
        (vec!["--api", "openai-chat", "--cut", "0", &answer], "random:SEED"),
        (vec!["--api", "openai-chat", "--cut", "random:x", &answer], "random:SEED"),
        (vec!["--api", "openai-chat", "--status", "99", &answer], "200..=599"),
        (vec!["--api", "openai-chat", "--key-env", "K", &answer], "--record"),
        (vec!["--api", "openai-chat", "--record", "ftp://x", &missing], "http"),
        (vec!["--api", "openai-chat", "--record", "http://127.0.0.1:9", &answer], "not overwritten"),
    ] {
        let output = replay(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(words), "{arguments:?}: {said}");
        assert!(output.stdout.is_empty());
    }
    assert!(!PathBuf::from(&missing).exists(), "nothing is left behind");
    let help = replay(&["--help"]);
    assert_eq!(help.status.code(), Some(0));
    let help = String::from_utf8(help.stdout).unwrap();
    let options = ["--api", "--dialect", "--cut", "--status", "--no-stream", "--record", "random:SEED"];
    let apis = ["openai-chat", "openai-responses", "anthropic-messages", "google-generate-content"];
    for words in options.into_iter().chain(apis) {
        assert!(help.contains(words), "{words} is missing: {help}");
    }
}

const KEY: &str = "sk-CANARY-1234567890";

fn record(server: &WireServer, name: &str, folder: &TempDir) -> (Output, String, String) {
    let path = folder.path().join(name).to_str().unwrap().to_owned();
    let url = format!("{}/v1?tenant=hush-hush", server.url());
    let mut command = Command::new(env!("CARGO_BIN_EXE_replay"));
    let arguments =
        ["--api", "openai-chat", "--record", &url, "--key-env", "KEY_OF_TEST", "--model", "m", &path];
    let output =
        command.env("KEY_OF_TEST", KEY).env("NO_PROXY", "127.0.0.1").args(arguments).output().unwrap();
    let recorded = fs::read_to_string(&path).unwrap_or_default();
    (output, recorded, path)
}

#[test]
fn a_recording_is_the_body_without_secrets_and_can_be_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let trailer = format!(": served to {KEY} of hush-hush, behind the end\n\n");
    let body = ANSWER.replace("Grüße", &format!("Grüße, {KEY}")) + &trailer;
    let server = WireServer::start([WireReply::sse(body.clone()).cut(ai_testkit::Cut::Every(5))]).unwrap();
    let (output, recorded, path) = record(&server, "new.sse", &folder);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(recorded, body.replace(KEY, "***").replace("hush-hush", "***"));
    assert!(String::from_utf8_lossy(&output.stderr).contains("HTTP 200, text/event-stream"), "{output:?}");

    let request = &server.requests()[0];
    assert_eq!(request.path, "/v1/chat/completions?tenant=hush-hush");
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(request.json().unwrap()["messages"][0]["content"], "Say hello in one sentence.");

    let again = replay(&["--api", "openai-chat", &path]);
    assert_eq!(outcome(&values(&again.stdout)).text, "Grüße, *** 🙂");
}

#[test]
fn a_recording_of_a_failure_is_kept_with_its_status() {
    let folder = tempfile::tempdir().unwrap();
    let body = format!(r#"{{"error":{{"message":"bad key {KEY}"}}}}"#);
    let refused = WireReply::json(StatusCode::UNAUTHORIZED, body);
    let server =
        WireServer::start([refused, WireReply::sse(ANSWER).ending(WireEnd::CloseAfter(90))]).unwrap();
    let (output, recorded, _) = record(&server, "refused.json", &folder);
    assert_eq!(
        (output.status.code(), recorded.as_str()),
        (Some(1), r#"{"error":{"message":"bad key ***"}}"#)
    );
    assert!(String::from_utf8_lossy(&output.stderr).contains("HTTP 401"));
    assert!(!String::from_utf8_lossy(&output.stdout).contains(KEY));

    let (output, recorded, _) = record(&server, "broken.sse", &folder);
    assert_eq!((output.status.code(), recorded.as_str()), (Some(1), &ANSWER[..90]));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not whole"), "{output:?}");
    drop(server);

    let gone = WireServer::start([]).unwrap();
    let url = gone.url().to_owned();
    drop(gone);
    let path = folder.path().join("none.sse");
    let output = replay(&["--api", "openai-chat", "--record", &url, path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(!path.exists(), "an empty recording is of no use");
}
