use std::time::Duration;

use ai_provider::{Assembler, CallContext, Message, ModelError, ModelStream, Request, StreamPart, TargetId};
use tokio::time::Instant;

use super::{Middleware, Next, PartTransform, Parts, transform_parts};

/// Logs each call through `tracing`, under the target `ai_core::model`: its start and its finish at `DEBUG`, its
/// failure at `WARN`, and at `DEBUG` that it was dropped before its end.
///
/// Content (messages, settings, what the model said) is left out unless asked for. Headers never are logged, and
/// neither is the extra body: both are where keys are put.
#[derive(Clone, Copy, Debug, Default)]
pub struct Logging {
    content: bool,
}

impl Logging {
    /// Without content.
    pub fn new() -> Self {
        Self::default()
    }

    /// Logs what is said, too: for development, where the log may hold it.
    #[must_use]
    pub fn with_content(mut self) -> Self {
        self.content = true;
        self
    }
}

impl Middleware for Logging {
    fn name(&self) -> &str {
        "logging"
    }

    fn wrap_stream(&self, next: Next, request: Request, ctx: CallContext) -> ModelStream {
        let target = next.model().target().clone();
        tracing::debug!(
            target: "ai_core::model",
            model = %target,
            request = %ctx.request_id,
            messages = request.messages.len(),
            tools = request.tools.len(),
            delivery = ?request.delivery,
            content = self.content.then(|| content(&request.messages)),
            settings = self.content.then(|| format!("{:?}", request.settings)),
            "model call started"
        );
        let log = Log {
            target,
            request: ctx.request_id.to_string(),
            started: Instant::now(),
            first: None,
            said: self.content.then(Assembler::default),
            open: true,
        };
        transform_parts(next.stream(request, ctx), log)
    }
}

fn content(messages: &[std::sync::Arc<Message>]) -> String {
    serde_json::to_string(messages).unwrap_or_else(|error| error.to_string())
}

struct Log {
    target: TargetId,
    request: String,
    started: Instant,
    /// When the first part came that shows something.
    first: Option<Duration>,
    said: Option<Assembler>,
    open: bool,
}

impl Log {
    fn said(&mut self) -> Option<String> {
        let message = self.said.take()?.finish().message;
        Some(serde_json::to_string(&message).unwrap_or_else(|error| error.to_string()))
    }
}

impl PartTransform for Log {
    fn part(&mut self, part: StreamPart, out: &mut Parts) -> Result<(), ModelError> {
        if self.first.is_none() && part.commits() {
            self.first = Some(self.started.elapsed());
        }
        if let Some(said) = &mut self.said {
            // A stream that breaks the rules is found out where it is assembled for good.
            let _ = said.push(&part);
        }
        if let StreamPart::Finish(finish) = &part {
            self.open = false;
            let content = self.said();
            tracing::debug!(
                target: "ai_core::model",
                model = %self.target,
                request = %self.request,
                finish = finish.reason.unified.as_str(),
                input_tokens = finish.usage.input.total,
                output_tokens = finish.usage.output.total,
                first_output = ?self.first,
                duration = ?self.started.elapsed(),
                content,
                "model call finished"
            );
        }
        out.push(part);
        Ok(())
    }

    fn failed(&mut self, error: Option<&ModelError>, _out: &mut Parts) {
        self.open = false;
        let content = self.said();
        tracing::warn!(
            target: "ai_core::model",
            model = %self.target,
            request = %self.request,
            class = error.map(|error| error.class().as_str()),
            status = error.and_then(ModelError::status),
            error = error.map(tracing::field::display),
            duration = ?self.started.elapsed(),
            content,
            "model call failed"
        );
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if self.open {
            tracing::debug!(
                target: "ai_core::model",
                model = %self.target,
                request = %self.request,
                duration = ?self.started.elapsed(),
                "model call dropped"
            );
        }
    }
}
