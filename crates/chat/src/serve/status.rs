//! `GET /api/status`: how all chats stand, as a stream.

use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt, StreamExt};
use serde_json::{Value, json};
use stream_manager::TopicEvent;
use stream_manager::record::{Fate, TopicId, TopicStatus};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::error::ApiError;
use super::history::status_json;
use super::listen::Client;
use super::state::Shared;
use super::stream::{events, guarded};

/// Proxies close a connection that is silent for 30 s and more.
const SILENCE: Duration = Duration::from_secs(15);

pub(super) async fn watch(State(app): State<Shared>, client: Client) -> Result<Response, ApiError> {
    let guard = app.streams.open(client.0)?;
    let watcher = Watcher {
        events: app.manager.events(),
        deleted: app.deleted.subscribe(),
        statuses: app.manager.watch().await?,
        over: app.over.clone(),
        ready: false,
    };
    let pieces =
        stream::unfold(watcher, |mut watcher| async move { Some((Ok(watcher.next().await?), watcher)) });
    Ok(events(guarded(pieces.boxed(), guard)))
}

struct Watcher {
    statuses: BoxStream<'static, TopicStatus>,
    events: Receiver<TopicEvent>,
    deleted: Receiver<TopicId>,
    over: CancellationToken,
    /// Whether all that was known at the beginning is told.
    ready: bool,
}

impl Watcher {
    async fn next(&mut self) -> Option<Vec<u8>> {
        if !self.ready {
            let known = self.statuses.next().now_or_never();
            return Some(match known {
                Some(status) => event("status", &status_json(&status?)),
                None => {
                    self.ready = true;
                    event("ready", &json!({}))
                }
            });
        }
        loop {
            let told = tokio::select! {
                () = self.over.cancelled() => return None,
                status = self.statuses.next() => event("status", &status_json(&status?)),
                heard = self.events.recv() => match heard {
                    Ok(TopicEvent::Input { topic, input, fate }) => {
                        event("input", &fate_json(&topic, input.as_str(), &fate))
                    }
                    // What was missed stands in the history.
                    Ok(_) | Err(RecvError::Lagged(_)) => continue,
                    Err(RecvError::Closed) => return None,
                },
                deleted = self.deleted.recv() => match deleted {
                    Ok(topic) => event("deleted", &json!({ "topic": topic })),
                    Err(RecvError::Lagged(_)) => continue,
                    Err(RecvError::Closed) => return None,
                },
                () = sleep(SILENCE) => b": keep-alive\n\n".to_vec(),
            };
            return Some(told);
        }
    }
}

fn event(name: &str, data: &Value) -> Vec<u8> {
    format!("event: {name}\ndata: {data}\n\n").into_bytes()
}

fn fate_json(topic: &TopicId, input: &str, fate: &Fate) -> Value {
    let (fate, why) = match fate {
        Fate::Queued => ("queued", None),
        Fate::Consumed { .. } => ("consumed", None),
        Fate::Returned { why } => ("returned", Some(why)),
        _ => ("other", None),
    };
    let mut json = json!({ "topic": topic, "inputId": input, "fate": fate });
    if let (Value::Object(fields), Some(why)) = (&mut json, why) {
        fields.insert("why".to_owned(), json!(why));
    }
    json
}
