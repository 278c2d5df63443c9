//! One call of a tool.

use std::pin::pin;
use std::sync::{Arc, Weak};

use ai_core::{ToolError, ToolStream, ToolYield};
use ai_provider::ToolOutput;
use futures_util::{FutureExt, StreamExt, stream};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotificationParam, ClientRequest, ProgressToken,
    RequestId, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use serde_json::{Value, json};
use tokio::sync::broadcast::{self, error::RecvError};

use crate::connect::of_service;
use crate::content;
use crate::error::{McpError, McpErrorKind};
use crate::shared::{Link, SHUT_DOWN, Shared};
use crate::text::line;
use crate::wire::tap::Progress;

/// Bytes of a refusal that the model gets to read.
const REFUSAL_SHOWN: usize = 4_000;

/// Calls a tool: progress as preliminary results, then the result. Dropping the stream tells the server that the call
/// is off.
pub(crate) fn stream(server: Weak<Shared>, name: String, tool: String, input: Value) -> ToolStream {
    let opened = async move {
        match open(server, name, tool, input).await {
            Ok(call) => stream::unfold(Some(call), next).boxed(),
            Err(error) => last(Err(error.into())),
        }
    };
    opened.into_stream().flatten().boxed()
}

fn last(result: Result<ToolOutput, ToolError>) -> ToolStream {
    stream::once(async { ToolYield::Final(result) }).boxed()
}

/// A call that was sent.
struct Call {
    server: Arc<Shared>,
    request: RequestHandle<RoleClient>,
    link: Link,
    reports: broadcast::Receiver<Progress>,
    /// The last progress that was shown: it only goes up.
    shown: f64,
    abandoned: Abandoned,
}

async fn open(server: Weak<Shared>, name: String, tool: String, input: Value) -> Result<Call, McpError> {
    let Some(server) = server.upgrade() else {
        return Err(McpError::new(McpErrorKind::Unavailable, name, SHUT_DOWN));
    };
    let link = server.link()?;
    let mut params = CallToolRequestParams::new(tool);
    // What is no object was refused before: the schema is one of an object.
    params.arguments = match input {
        Value::Object(fields) => Some(fields),
        _ => None,
    };
    let request = CallToolRequest::new(params);
    // Heard from before the call is sent on, so that no report is missed.
    let reports = link.wire.progress();
    let sent = link
        .peer
        .send_request_with_option(ClientRequest::CallToolRequest(request), PeerRequestOptions::no_options());
    let request = sent.await.map_err(|error| match error {
        ServiceError::TransportClosed => {
            let message = "the connection is closed; the call was not made";
            McpError::new(McpErrorKind::Unavailable, &*server.name, message)
        }
        other => {
            McpError::new(McpErrorKind::Unavailable, &*server.name, line(&of_service(&other), REFUSAL_SHOWN))
        }
    })?;
    let abandoned = Abandoned { peer: link.peer.clone(), id: Some(request.id.clone()) };
    Ok(Call { server, request, link, reports, shown: f64::NEG_INFINITY, abandoned })
}

async fn next(call: Option<Call>) -> Option<(ToolYield, Option<Call>)> {
    let mut call = call?;
    let closed = call.link.wire.closed.clone();
    let mut closed = pin!(closed.cancelled());
    loop {
        tokio::select! {
            // What the server said before the result is shown before it.
            biased;
            report = call.reports.recv() => match report {
                Ok(report) => {
                    if let Some(output) = call.progress(&report) {
                        return Some((ToolYield::Preliminary(output), Some(call)));
                    }
                }
                // Older reports gave way to newer ones.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return Some((call.lost(), None)),
            },
            answer = &mut call.request.rx => {
                call.abandoned.id = None;
                let result = match answer {
                    Ok(answer) => call.result(answer),
                    Err(_) => return Some((call.lost(), None)),
                };
                return Some((ToolYield::Final(result.map_err(ToolError::from)), None));
            }
            () = &mut closed => {
                call.abandoned.id = None;
                return Some((call.lost(), None));
            }
        }
    }
}

impl Call {
    fn progress(&mut self, report: &Progress) -> Option<ToolOutput> {
        if !is_token(&report.token, &self.request.progress_token) || report.progress <= self.shown {
            return None;
        }
        self.shown = report.progress;
        let mut output = json!({ "progress": report.progress });
        if let Some(fields) = output.as_object_mut() {
            fields.extend(report.total.map(|total| ("total".to_owned(), json!(total))));
            let message = report.message.as_deref();
            fields.extend(message.map(|message| ("message".to_owned(), json!(message))));
        }
        Some(ToolOutput::Json(output))
    }

    fn result(&self, answer: Result<ServerResult, ServiceError>) -> Result<ToolOutput, McpError> {
        let most = self.server.settings.limits.text_bytes;
        let outcome = match answer {
            Ok(ServerResult::CallToolResult(result)) => Some(content::outcome(result, most)),
            Ok(ServerResult::CustomResult(raw)) => content::lenient(&raw.0, most),
            Ok(ServerResult::EmptyResult(_) | ServerResult::TaskAckResult(_)) => {
                Some(Ok(ToolOutput::Text(String::new())))
            }
            Ok(ServerResult::InputRequiredResult(_)) => {
                return Err(
                    self.error(McpErrorKind::Protocol, "it asks for input that only a person could give")
                );
            }
            Ok(_) => None,
            Err(ServiceError::McpError(error)) => {
                return Err(self.error(McpErrorKind::Refused, line(&error.message, REFUSAL_SHOWN)));
            }
            Err(ServiceError::TransportClosed) => return Err(self.lost_error()),
            Err(other) => {
                let message = format!(
                    "{}; whether the call took effect is unknown",
                    line(&of_service(&other), REFUSAL_SHOWN)
                );
                return Err(self.error(McpErrorKind::Lost, message));
            }
        };
        match outcome {
            Some(Ok(output)) => Ok(output),
            Some(Err(words)) => Err(self.error(McpErrorKind::Tool, words)),
            None => Err(self.error(McpErrorKind::Protocol, "its answer is no result of a tool")),
        }
    }

    fn lost(&self) -> ToolYield {
        ToolYield::Final(Err(self.lost_error().into()))
    }

    fn lost_error(&self) -> McpError {
        let why = self.link.wire.fault().map(|fault| format!(": {fault}")).unwrap_or_default();
        let message = format!(
            "the connection was lost while the call was running{why}. Whether it took effect is unknown: do not repeat \
             it blindly"
        );
        self.error(McpErrorKind::Lost, message)
    }

    fn error(&self, kind: McpErrorKind, message: impl Into<String>) -> McpError {
        McpError::new(kind, &*self.server.name, self.server.settings.masked(message.into()))
    }
}

/// Some servers give numbers back as text.
fn is_token(given: &ProgressToken, own: &ProgressToken) -> bool {
    given == own || given.0.to_string() == own.0.to_string()
}

/// Tells the server that nobody waits for the answer any more, from `Drop`: a call is cut by its time limit, by the end
/// of the run, or with the stream it runs in.
struct Abandoned {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let off = CancelledNotificationParam::new(Some(id), Some("the call was cut off".to_owned()));
        // The first poll hands it over to the connection, which sends it. A connection whose queue is full is told
        // nothing, and has trouble of its own.
        let _ = tokio::task::unconstrained(self.peer.notify_cancelled(off)).now_or_never();
    }
}
