//! `GET /openapi.json`: the interface for programs, made of a table of routes and the types their bodies are read into.

use axum::Json;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::{said, verbs};

/// A route.
pub(super) struct Route {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    summary: &'static str,
    /// Whether a token is asked for, where the server has one.
    token: bool,
    body: Option<fn(&mut SchemaGenerator) -> Schema>,
    /// The status when all goes well, and the type of what is sent then.
    pub(super) good: &'static [(u16, &'static str)],
    /// The statuses of errors that are its own.
    bad: &'static [u16],
}

const SSE: &str = "text/event-stream";
const JSON: &str = "application/json";

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

const fn read(
    path: &'static str,
    summary: &'static str,
    good: &'static [(u16, &'static str)],
    bad: &'static [u16],
) -> Route {
    Route { method: "get", path, summary, token: true, body: None, good, bad }
}

const fn say(
    path: &'static str,
    summary: &'static str,
    body: fn(&mut SchemaGenerator) -> Schema,
    good: &'static [(u16, &'static str)],
    bad: &'static [u16],
) -> Route {
    Route { method: "post", path, summary, token: true, body: Some(body), good, bad }
}

const fn open(path: &'static str, summary: &'static str, good: &'static [(u16, &'static str)]) -> Route {
    Route { method: "get", path, summary, token: false, body: None, good, bad: &[] }
}

/// All routes.
pub(super) const ROUTES: &[Route] = &[
    say(
        "/api/chat",
        "Say something, ask again, answer open calls; the reply is a stream",
        schema::<said::Body>,
        &[(200, SSE), (204, "")],
        &[404, 409, 429, 503],
    ),
    read("/api/chat/{id}", "History and status", &[(200, JSON)], &[404]),
    Route {
        method: "delete",
        path: "/api/chat/{id}",
        summary: "Delete a chat",
        token: true,
        body: None,
        good: &[(204, "")],
        bad: &[404],
    },
    read(
        "/api/chat/{id}/stream",
        "Read a running answer, from the start or from where it broke off",
        &[(200, SSE), (204, "")],
        &[404, 429],
    ),
    say(
        "/api/chat/{id}/steer",
        "Say something to the running turn",
        schema::<verbs::Say>,
        &[(202, JSON)],
        &[404, 409, 429, 503],
    ),
    say(
        "/api/chat/{id}/follow-up",
        "Say something for a turn of its own",
        schema::<verbs::Say>,
        &[(202, JSON)],
        &[404, 409, 429, 503],
    ),
    say("/api/chat/{id}/withdraw", "Take back what waits", schema::<verbs::Withdraw>, &[(200, JSON)], &[404]),
    say("/api/chat/{id}/stop", "Stop a turn", schema::<verbs::Stop>, &[(200, JSON)], &[404, 409]),
    say(
        "/api/chat/{id}/approve",
        "Allow or deny a tool call",
        schema::<verbs::Approve>,
        &[(202, JSON)],
        &[404, 409, 503],
    ),
    read("/api/chats", "The list of chats", &[(200, JSON)], &[]),
    read("/api/status", "How all chats stand, as a stream", &[(200, SSE)], &[429]),
    read("/api/models", "What can be asked for", &[(200, JSON)], &[]),
    read("/metrics", "Counts, as Prometheus reads them", &[(200, "text/plain")], &[]),
    open("/healthz", "Whether the server takes requests", &[(200, "text/plain")]),
    open("/openapi.json", "This document", &[(200, JSON)]),
    open("/", "The page", &[(200, "text/html")]),
];

pub(super) async fn document() -> Json<Value> {
    Json(made())
}

fn made() -> Value {
    let mut generator = SchemaGenerator::default();
    let mut paths = Map::new();
    for route in ROUTES {
        let operation = operation(route, &mut generator);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        if let Value::Object(methods) = path {
            methods.insert(route.method.to_owned(), operation);
        }
    }
    let mut schemas = generator.take_definitions(true);
    schemas.insert("Error".to_owned(), error_schema());
    json!({
        "openapi": "3.1.0",
        "info": { "title": "chat serve", "version": env!("CARGO_PKG_VERSION") },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    })
}

fn operation(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let mut responses = Map::new();
    for (status, kind) in route.good {
        let mut response = json!({ "description": "Done" });
        if let (Value::Object(fields), false) = (&mut response, kind.is_empty()) {
            fields.insert("content".to_owned(), json!({ *kind: {} }));
        }
        responses.insert(status.to_string(), response);
    }
    let error = json!({
        "description": "Not done",
        "content": { JSON: { "schema": { "$ref": "#/components/schemas/Error" } } },
    });
    let of_all: &[u16] = match (route.token, route.body.is_some()) {
        (true, true) => &[400, 401, 403, 408, 413, 415, 421],
        (true, false) => &[400, 401, 403, 421],
        (false, _) => &[403, 421],
    };
    for status in of_all.iter().chain(route.bad) {
        responses.insert(status.to_string(), error.clone());
    }
    let mut operation = json!({ "summary": route.summary, "responses": responses });
    let parameters = parameters(route.path);
    if let Value::Object(fields) = &mut operation {
        if !parameters.is_empty() {
            fields.insert("parameters".to_owned(), parameters.into());
        }
        if let Some(body) = route.body {
            let content = json!({ JSON: { "schema": body(generator) } });
            fields.insert("requestBody".to_owned(), json!({ "required": true, "content": content }));
        }
        if route.token {
            fields.insert("security".to_owned(), json!([{ "token": [] }]));
        }
    }
    operation
}

fn parameters(path: &str) -> Vec<Value> {
    let text = |name: &str, place: &str, required: bool| json!({ "name": name, "in": place, "required": required, "schema": { "type": "string" } });
    let mut parameters = Vec::new();
    if path.contains("{id}") {
        parameters.push(text("id", "path", true));
    }
    match path {
        "/api/chat" => parameters.push(text("X-UI-Protocol", "header", false)),
        "/api/chat/{id}/stream" => parameters.extend([
            text("attempt", "query", false),
            text("Last-Event-ID", "header", false),
            text("X-UI-Protocol", "header", false),
        ]),
        "/api/chats" => parameters.extend([text("limit", "query", false), text("after", "query", false)]),
        _ => {}
    }
    parameters
}

fn error_schema() -> Value {
    let text = json!({ "type": "string" });
    json!({
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "message"],
                "properties": { "code": text, "message": text },
            },
        },
    })
}
