use std::collections::BTreeSet;

use super::client::Server;
use crate::support::Chat;

/// [CH-170]
#[test]
fn only_its_own_names_and_sites_are_answered() {
    let chat = Chat::new();
    let config = "[serve]\nallowed_hosts = [\"chat.example\"]\nallowed_origins = [\"https://app.example\"]\n";
    std::fs::write(chat.home.path().join("c.toml"), config).unwrap();
    let server = Server::start(&chat, &["--config", "c.toml"]);
    let port = server.address.port();
    let ask = |headers: &[&str]| server.request("GET", "/api/models", headers, "");
    for host in [format!("localhost:{port}"), format!("[::1]:{port}"), "chat.example".to_owned()] {
        assert_eq!(ask(&[&format!("host: {host}")]).status, 200, "{host}");
    }
    for host in ["evil.example", "127.0.0.1", "localhost:1", "chat.example.evil"] {
        ask(&[&format!("host: {host}")]).refused(421, "unknown_host");
    }
    for origin in ["https://evil.example", "null", "https://app.example.evil", "http://localhost:1"] {
        ask(&[&format!("origin: {origin}")]).refused(403, "foreign_origin");
    }
    let own = ask(&[&format!("origin: http://{}", server.address)]);
    assert_eq!((own.status, own.header("access-control-allow-origin")), (200, None));
    let foreign = ask(&["origin: https://app.example"]);
    assert_eq!(foreign.header("access-control-allow-origin").as_deref(), Some("https://app.example"));
    assert_eq!(foreign.header("access-control-allow-credentials"), None);
    let preflight = ["origin: https://app.example", "access-control-request-method: POST"];
    let allowed = server.request("OPTIONS", "/api/chat", &preflight, "");
    assert_eq!(allowed.status, 204);
    assert_eq!(allowed.header("access-control-allow-methods").as_deref(), Some("GET, POST, DELETE"));
}

/// [CH-171]
#[test]
fn a_token_is_asked_for_where_there_is_one() {
    let chat = Chat::new().env("TOKEN", "s3cret");
    let config = "[serve]\ntoken = { env = \"TOKEN\" }\n";
    std::fs::write(chat.home.path().join("c.toml"), config).unwrap();
    let server = Server::start(&chat, &["--config", "c.toml"]);
    assert_eq!(server.said, format!("http://{}/#token=s3cret\n", server.address));
    for path in ["/api/models", "/api/chats", "/api/status", "/api/chat/x", "/api/nothing", "/metrics"] {
        let refused = server.get(path);
        refused.refused(401, "unauthorized");
        assert_eq!(refused.header("www-authenticate").as_deref(), Some("Bearer"));
    }
    for wrong in ["Bearer s3cre", "Bearer s3crett", "Bearer", "Basic s3cret", "s3cret"] {
        server
            .request("GET", "/api/models", &[&format!("authorization: {wrong}")], "")
            .refused(401, "unauthorized");
    }
    server.get("/api/models?token=s3cret").refused(401, "unauthorized");
    assert_eq!(server.request("GET", "/api/models", &["authorization: bearer s3cret"], "").status, 200);
    for open in ["/", "/healthz", "/openapi.json", "/assets/app.js"] {
        assert_eq!(server.get(open).status, 200, "{open}");
    }

    let chat = Chat::new();
    chat.run(&["serve", "--memory", "--listen", "0.0.0.0:0"]).failed(2, &["0.0.0.0:0", "token"]);
}

/// [CH-183]
#[test]
fn the_document_has_the_routes_of_the_interface() {
    let server = Server::start(&Chat::new(), &[]);
    let document = server.get("/openapi.json").json();
    let mut routes = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let token = operation.get("security").is_some();
            routes.insert((method.to_uppercase(), path.clone(), token));
            // That one has no end.
            if path != "/api/status" {
                let reply = server.request(&method.to_uppercase(), &path.replace("{id}", "nobody"), &[], "");
                assert!(
                    reply.status != 405 && !reply.body.contains("\"not_found\""),
                    "{method} {path}: {reply:?}"
                );
            }
            for status in operation["responses"].as_object().unwrap().keys() {
                assert!(status.parse::<u16>().is_ok());
            }
        }
    }
    let written = include_str!("../../../../../docs/http-api.md");
    let verbs = ["steer", "follow-up", "withdraw", "stop", "approve"];
    let mut known: BTreeSet<_> =
        verbs.iter().map(|verb| ("POST", format!("/api/chat/{{id}}/{verb}"), true)).collect();
    known.extend(
        ["/api/chats", "/api/status", "/api/models", "/metrics", "/api/chat/{id}", "/api/chat/{id}/stream"]
            .map(|path| ("GET", path.to_owned(), true)),
    );
    known.extend(["/healthz", "/openapi.json", "/"].map(|path| ("GET", path.to_owned(), false)));
    known.extend([("POST", "/api/chat".to_owned(), true), ("DELETE", "/api/chat/{id}".to_owned(), true)]);
    for (method, path, _) in &known {
        let last = path.rsplit("{id}").next().unwrap();
        assert!(written.contains(last), "{method} {path}");
    }
    assert_eq!(
        routes,
        known.into_iter().map(|(method, path, token)| (method.to_owned(), path, token)).collect()
    );
}

/// [CH-184] [CH-185] [CH-182]
#[test]
fn models_page_and_counts() {
    let chat = Chat::new();
    let config = "default_model = \"demo:rules\"\n[models.clever]\nmodel = \"demo:rules\"\n[models.keyless]\nmodel = \"openai:x\"\n";
    std::fs::write(chat.home.path().join("c.toml"), config).unwrap();
    let server = Server::start(&chat, &["--config", "c.toml"]);
    let models = server.get("/api/models").json();
    let ids: Vec<_> = models["models"].as_array().unwrap().iter().map(|model| &model["id"]).collect();
    assert_eq!(ids, ["clever", "demo:rules"]);
    assert_eq!(models["default"], "demo:rules");

    let page = server.get("/");
    assert!(page.header("content-security-policy").unwrap().contains("default-src 'none'"));
    let etag = format!("if-none-match: {}", page.header("etag").unwrap());
    let known = server.request("GET", "/", &[&etag], "");
    assert_eq!((known.status, known.body.as_str()), (304, ""));
    let head = server.request("HEAD", "/", &[], "");
    assert_eq!((head.status, head.body.as_str()), (200, ""));

    server.say("c1", "u1", "what is 17*23?");
    server.wait_state("c1", "done");
    let counts = server.get("/metrics");
    assert!(counts.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    for line in [
        "chat_runs_total{outcome=\"finished\"} 1",
        "chat_attempts_total{provider=\"demo\",model=\"rules\",end=\"answered\"} 2",
        "chat_responses_total{status=\"304\"} 1",
        "chat_answers_running 0",
    ] {
        assert!(counts.body.lines().any(|known| known == line), "{line}: {}", counts.body);
    }
}
