use ai_testkit::WireServer;

use super::answers::endless;
use super::client::Server;
use crate::support::{Chat, says};

fn configured(chat: &Chat, wire: &WireServer, more: &str) {
    let config = format!(
        "default_model = \"test\"\n[providers.wire]\nbase_url = \"{}/v1\"\n[models.test]\nmodel = \"wire:m\"\n{more}",
        wire.url()
    );
    std::fs::write(chat.home.path().join("c.toml"), config).unwrap();
}

const ARGS: [&str; 5] = ["serve", "--listen", "127.0.0.1:0", "--config", "c.toml"];

/// [CH-180]
#[test]
fn conversations_outlive_the_program_also_one_that_is_killed() {
    let wire = WireServer::start([says(&["Hi."]), endless()]).unwrap();
    let chat = Chat::new();
    configured(&chat, &wire, "");
    let server = Server::run(&chat, &ARGS);
    assert_eq!(server.say("c1", "u1", "Hello?").text(), "Hi.");
    server.saying("c1", "u2", "And?").until("upon");
    drop(server);
    assert!(chat.home.path().join(".local/share/chat/chat.db").exists());

    let server = Server::run(&chat, &ARGS);
    // The lease of the one that was killed has to run out.
    let stored = server.wait("c1", |chat| chat["rows"][3]["status"] == "interrupted");
    assert_eq!(stored["messages"][1]["parts"][1]["text"], "Hi.");
    wire.reply(says(&["Here."]));
    assert_eq!(server.say("c1", "u3", "Still there?").text(), "Here.");
    assert_eq!(server.wait_state("c1", "done")["rows"].as_array().unwrap().len(), 6);
}

/// [CH-181]
#[test]
fn told_to_end_it_stops_and_stores_what_runs() {
    let wire = WireServer::start([endless()]).unwrap();
    let chat = Chat::new();
    configured(&chat, &wire, "[serve]\ndrain = \"500ms\"\n");
    let mut server = Server::run(&chat, &ARGS);
    let mut running = server.saying("c1", "u1", "Hello?");
    running.until("upon");
    server.signal("TERM");
    let began = std::time::Instant::now();
    while server.get("/healthz").body == "ok" {
        assert!(began.elapsed() < super::client::LIMIT);
    }
    server.say("c2", "u1", "Hello?").refused(503, "shutting_down");
    assert!(running.rest().body.ends_with("data: [DONE]\n\n"));
    assert_eq!(server.ended(), Some(0));

    let server = Server::run(&chat, &ARGS);
    assert_eq!(server.chat("c1")["rows"][1]["status"], "interrupted");
    server.get("/api/chat/c2").refused(404, "no_such_chat");
}

/// [CH-181]
#[test]
fn told_twice_it_ends_at_once() {
    let wire = WireServer::start([endless()]).unwrap();
    let chat = Chat::new();
    configured(&chat, &wire, "");
    let mut server = Server::run(&chat, &ARGS);
    server.saying("c1", "u1", "Hello?").until("upon");
    server.signal("INT");
    let began = std::time::Instant::now();
    while server.get("/healthz").body == "ok" {
        assert!(began.elapsed() < super::client::LIMIT);
    }
    server.signal("INT");
    assert_eq!(server.ended(), Some(130));
}
