//! Conversations that are kept, in the SQLite store of the user's folder.

use std::fs;
use std::io::Read;
use std::process::{Child, Command};

use ai_testkit::{Cut, WireEnd, WireReply, WireServer};

use crate::support::{Chat, Ran, says, sse, text};

/// Flags that name the model of a server of the kit.
fn model(server: &WireServer) -> [String; 6] {
    ["--model", "local:m", "--base-url", &format!("{}/v1", server.url()), "--retries", "0"].map(str::to_owned)
}

fn run(chat: &Chat, server: &WireServer, args: &[&str]) -> Ran {
    let model = model(server);
    let flags: Vec<_> = model.iter().map(String::as_str).collect();
    chat.run(&[args, &flags].concat())
}

/// The id that the program told of.
fn id(ran: &Ran) -> String {
    let told =
        ran.err.lines().rev().find_map(|line| line.strip_prefix("The conversation is kept: --continue "));
    told.unwrap_or_else(|| panic!("{}", ran.err)).split(' ').next().unwrap().to_owned()
}

/// What the server was asked last, role and text of each message.
fn asked(server: &WireServer) -> Vec<(String, String)> {
    let body = server.requests().last().unwrap().json().unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let messages = body["messages"].as_array().unwrap().iter();
    messages.map(|message| (text(&message["role"]), text(&message["content"]))).collect()
}

fn said(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|&(role, text)| (role.to_owned(), text.to_owned())).collect()
}

/// [CH-320] [CH-321]
#[test]
fn a_question_goes_on_with_the_conversation_that_is_kept() {
    let server = WireServer::start([says(&["Hello Ada."]), says(&["Ada."]), says(&["I told you."])]).unwrap();
    let chat = Chat::new();
    let first = run(&chat, &server, &["ask", "I am Ada.", "--store"]);
    first.answered("Hello Ada.\n");
    let id = id(&first);
    let second = run(&chat, &server, &["ask", "Who am I?", "--continue", &id]);
    second.answered("Ada.\n");
    let note = format!("{id}: 2 messages, beginning with \"I am Ada.\".");
    assert!(second.err.lines().any(|line| line == note), "{}", second.err);
    assert!(second.err.contains("1 step · 7 tokens in, 3 out"), "{}", second.err);
    let before = [("user", "I am Ada."), ("assistant", "Hello Ada."), ("user", "Who am I?")];
    assert_eq!(asked(&server), said(&before));
    let third = run(&chat, &server, &["ask", "Again?", "--continue", "last"]);
    third.answered("I told you.\n");
    assert!(third.err.contains(&format!("{id}: 4 messages")), "{}", third.err);
    assert_eq!(asked(&server).len(), 5);
}

/// [CH-322]
#[test]
fn a_conversation_that_is_not_there_is_an_error_that_says_which_are() {
    let server = WireServer::start([says(&["Yes."])]).unwrap();
    let chat = Chat::new();
    let none = run(&chat, &server, &["ask", "x", "--continue", "last"]);
    none.failed(2, &["no conversation is kept yet", "--store"]);
    let id = id(&run(&chat, &server, &["ask", "Is it?", "--store"]));
    let begins: String = id.chars().take(8).collect();
    for wrong in [format!("{id}x"), begins] {
        let ran = run(&chat, &server, &["talk", "--continue", &wrong]);
        ran.failed(2, &["there is no conversation", &format!("Did you mean {id}?"), "chat chats"]);
    }
    let far = run(&chat, &server, &["ask", "x", "--continue", "zzz"]);
    far.failed(2, &["there is no conversation zzz", "chat chats"]);
    assert!(!far.err.contains("Did you mean"), "{}", far.err);
    assert_eq!(server.requests().len(), 1);
}

/// [CH-323]
#[test]
fn conversations_are_listed_the_latest_first() {
    let chat = Chat::new();
    let none = chat.run(&["chats"]);
    none.answered("");
    assert!(none.err.contains("No conversation is kept yet"), "{}", none.err);
    let first = id(&chat.run(&["ask", "--store", "1+1"]));
    let second = id(&chat.run(&["ask", "--store", "2+2"]));
    chat.run(&["ask", "--continue", &first, "3+3"]).answered("3+3 = 6.\n");
    let listed = chat.run(&["chats"]);
    assert_eq!(listed.code, Some(0), "{}", listed.err);
    let lines: Vec<Vec<_>> = listed.out.lines().map(|line| line.split('\t').collect()).collect();
    let shown: Vec<_> = lines.iter().map(|line| (line[0], line[2], line[3])).collect();
    assert_eq!(shown, [(first.as_str(), "4", "1+1"), (second.as_str(), "2", "2+2")]);
    assert!(lines.iter().all(|line| line[1].len() == "2026-01-01 00:00".len()), "{}", listed.out);
}

/// [CH-324]
#[test]
fn a_store_that_ends_with_the_program_keeps_nothing() {
    let chat = Chat::new();
    fs::write(chat.home.path().join("c.toml"), "[store]\nkind = 'memory'\n").unwrap();
    for args in [&["ask", "x", "--store"][..], &["talk", "--continue", "last"], &["chats"]] {
        let ran = chat.run(&[args, &["--config", "c.toml"]].concat());
        ran.failed(2, &["in memory", "store.kind"]);
    }
    chat.run(&["ask", "1+1"]).answered("1+1 = 2.\n");
    assert!(!chat.home.path().join(".local").exists(), "what is not to be kept is kept nowhere");
}

/// [CH-320] [CH-325]
#[test]
fn a_talk_is_kept_and_a_new_conversation_in_it_is_another() {
    let chat = Chat::new();
    let ran = chat.run_with_input(&["talk", "--store"], b"1+1\n2+2\n/clear\n3+3\n");
    ran.answered("1+1 = 2.\n2+2 = 4.\n3+3 = 6.\n");
    let told = ran.err.matches("The conversation is kept").count();
    assert_eq!(told, 2, "{}", ran.err);
    let listed = chat.run(&["chats"]).out;
    let rows: Vec<_> = listed.lines().map(|line| line.split('\t').nth(2).unwrap()).collect();
    assert_eq!(rows, ["2", "4"]);
    let more = chat.run_with_input(&["talk", "--continue", &id(&ran)], b"4+4\n");
    more.answered("4+4 = 8.\n");
    assert!(more.err.contains("2 messages, beginning with \"3+3\""), "{}", more.err);
    let nothing = chat.run_with_input(&["talk", "--store"], b"/exit\n");
    assert!(!nothing.err.contains("is kept"), "{}", nothing.err);
}

/// An answer that says two words and then nothing more.
fn hanging() -> WireReply {
    let body = sse(&[text("The sky"), text(" is")]);
    let end = body.len() - "data: [DONE]\n\n".len();
    WireReply::sse(body).cut(Cut::Event).ending(WireEnd::HangAfter(end))
}

/// The program in the middle of that answer.
fn in_the_middle(chat: &Chat, server: &WireServer) -> Child {
    let model = model(server);
    let flags: Vec<_> = model.iter().map(String::as_str).collect();
    let mut child = chat.command(&[&["ask", "Why?", "--store"], flags.as_slice()].concat()).spawn().unwrap();
    let mut shown = [0; 10];
    child.stdout.as_mut().unwrap().read_exact(&mut shown).unwrap();
    assert_eq!(&shown, b"The sky is");
    child
}

/// [CH-326]
#[test]
#[cfg(unix)]
fn an_interrupt_stops_the_answer_and_the_conversation_says_so() {
    let server = WireServer::start([hanging(), says(&["Yes."])]).unwrap();
    let chat = Chat::new();
    let child = in_the_middle(&chat, &server);
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{}", ran.err);
    assert!(ran.err.contains("interrupted: the answer above is incomplete"), "{}", ran.err);
    let next = run(&chat, &server, &["ask", "Well?", "--continue", &id(&ran)]);
    next.answered("Yes.\n");
    assert!(
        next.err.contains("2 messages, beginning with \"Why?\". The last answer was stopped."),
        "{}",
        next.err
    );
}

/// [CH-327]
#[test]
fn what_a_crash_left_is_interrupted_and_the_conversation_goes_on() {
    let server = WireServer::start([hanging(), says(&["Yes."])]).unwrap();
    let chat = Chat::new();
    let mut child = in_the_middle(&chat, &server);
    child.kill().unwrap();
    child.wait().unwrap();
    let next = run(&chat, &server, &["ask", "Well?", "--continue", "last"]);
    next.answered("Yes.\n");
    let waited = ["its program died a moment ago", "waiting for it", "The answer before was interrupted."];
    let waited = waited.iter().all(|told| next.err.contains(told));
    // On a machine that was slow enough, the conversation was free already.
    let was_free = next.err.contains("The last answer was interrupted: its program died.");
    assert!(waited != was_free, "{}", next.err);
    assert_eq!(asked(&server), said(&[("user", "Why?"), ("user", "Well?")]));
}

/// [CH-328]
#[test]
fn a_failed_answer_is_told_with_its_code_and_kept_as_failed() {
    let refused =
        WireReply::json(http::StatusCode::UNAUTHORIZED, r#"{"error":{"message":"no","code":"bad_key"}}"#);
    let server = WireServer::start([refused, says(&["Yes."])]).unwrap();
    let chat = Chat::new();
    let ran = run(&chat, &server, &["ask", "Why?", "--store"]);
    ran.failed(1, &["the server does not accept the API key", "HTTP 401", "--api-key-env"]);
    let next = run(&chat, &server, &["ask", "And now?", "--continue", &id(&ran)]);
    next.answered("Yes.\n");
    assert!(next.err.contains("The last answer failed."), "{}", next.err);
}
