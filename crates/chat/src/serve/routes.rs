//! The routes, and what holds for all of them.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use uuid::Uuid;

use super::access::{allow, is_preflight};
use super::error::ApiError;
use super::state::Shared;
use super::{history, openapi, page, post as chat, status, stream, verbs};

/// The interface of docs/http-api.md.
pub(super) fn router(app: Shared) -> Router {
    let router = Router::new()
        .route("/api/chat", post(chat::post))
        .route("/api/chat/{id}", get(history::one).delete(verbs::delete))
        .route("/api/chat/{id}/stream", get(stream::resume))
        .route("/api/chat/{id}/steer", post(verbs::steer))
        .route("/api/chat/{id}/follow-up", post(verbs::follow_up))
        .route("/api/chat/{id}/withdraw", post(verbs::withdraw))
        .route("/api/chat/{id}/stop", post(verbs::stop))
        .route("/api/chat/{id}/approve", post(verbs::approve))
        .route("/api/chats", get(history::list))
        .route("/api/status", get(status::watch))
        .route("/api/models", get(models))
        .route("/metrics", get(metrics))
        .route("/healthz", get(healthz))
        .route("/openapi.json", get(openapi::document))
        .route("/", get(file))
        .route("/assets/{*path}", get(file))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed);
    router.layer(from_fn_with_state(Arc::clone(&app), guard)).with_state(app)
}

async fn models(State(app): State<Shared>) -> Response {
    Json(app.models.list()).into_response()
}

async fn metrics(State(app): State<Shared>) -> Response {
    let text = app.metrics.text(&[
        ("chat_answers_running", "Answers that are being written.", app.models.running()),
        ("chat_streams_open", "Streams that are open.", app.streams.count()),
        ("chat_topics_active", "Chats that have a task.", app.manager.topics()),
    ]);
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

async fn healthz(State(app): State<Shared>) -> (StatusCode, &'static str) {
    if app.stopping.is_cancelled() {
        (StatusCode::SERVICE_UNAVAILABLE, "stopping")
    } else {
        (StatusCode::OK, "ok")
    }
}

async fn file(headers: HeaderMap, request: Request) -> Response {
    let Some(file) = page::file(request.uri().path()) else { return not_found().await.into_response() };
    let etag = HeaderValue::try_from(file.etag.as_str()).unwrap_or(HeaderValue::from_static("\"\""));
    let known = headers.get(header::IF_NONE_MATCH) == Some(&etag);
    let mut response =
        if known { StatusCode::NOT_MODIFIED.into_response() } else { file.bytes.into_response() };
    let answer = response.headers_mut();
    answer.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.content_type));
    answer.insert(header::ETAG, etag);
    for (name, value) in page::HEADERS {
        if let Ok(value) = HeaderValue::try_from(value.trim()) {
            answer.insert(name, value);
        }
    }
    response
}

async fn not_found() -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "not_found", "There is nothing here.")
}

async fn method_not_allowed() -> ApiError {
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "This cannot be done here.")
}

/// Paths that need a token.
fn is_guarded(path: &str) -> bool {
    path.starts_with("/api/") || path == "/metrics"
}

async fn guard(State(app): State<Shared>, request: Request, next: Next) -> Response {
    let mut response = match admitted(&app, &request) {
        Err(error) => error.into_response(),
        Ok(origin) => {
            let asks = is_preflight(request.method(), request.headers());
            let mut response = match &origin {
                Some(_) if asks => StatusCode::NO_CONTENT.into_response(),
                _ => match unguarded(&app, &request) {
                    Ok(()) => next.run(request).await,
                    Err(error) => error.into_response(),
                },
            };
            if let Some(origin) = origin {
                allow(response.headers_mut(), origin);
            }
            response
        }
    };
    app.metrics.response(response.status().as_u16());
    let headers = response.headers_mut();
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    if let Ok(id) = HeaderValue::try_from(Uuid::new_v4().to_string()) {
        headers.insert("x-request-id", id);
    }
    response
}

/// The site it comes from, where that is to be told that it may.
fn admitted(app: &Shared, request: &Request) -> Result<Option<HeaderValue>, ApiError> {
    app.access.check_host(request.headers(), request.uri().host())?;
    app.access.check_origin(request.headers())
}

fn unguarded(app: &Shared, request: &Request) -> Result<(), ApiError> {
    if is_guarded(request.uri().path()) { app.access.check_token(request.headers()) } else { Ok(()) }
}
