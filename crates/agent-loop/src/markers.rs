use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ai_core::Middleware;
use ai_core::middleware::Next;
use ai_provider::{CallContext, Message, ModelError, ModelStream, Request, StreamPart};
use futures_core::Stream;

/// Takes away the invisible characters some models leave beside their tool calls: runs of U+2050 to U+2057 and U+2063
/// at the end of a text before a call, and at the beginning of a text behind one, also in the next step. Within prose,
/// and where no call is near, they stay.
///
/// ```
/// use agent_loop::ToolMarkers;
/// use ai_core::middleware::wrap;
/// use ai_provider::LanguageModel;
/// use std::sync::Arc;
///
/// fn cleaned(model: Arc<dyn LanguageModel>) -> Arc<dyn LanguageModel> {
///     wrap(model, [Arc::new(ToolMarkers) as _])
/// }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ToolMarkers;

impl Middleware for ToolMarkers {
    fn name(&self) -> &str {
        "tool-markers"
    }

    fn wrap_stream(&self, next: Next, request: Request, ctx: CallContext) -> ModelStream {
        let behind_tool = matches!(request.messages.last().map(|last| &**last), Some(Message::Tool(_)));
        let filter = Filter { behind_tool, held: VecDeque::new() };
        Box::pin(Filtered { stream: Some(next.stream(request, ctx)), filter, ready: VecDeque::new() })
    }
}

type Item = Result<StreamPart, ModelError>;

/// The most parts that are held back: what comes between a text and a call is its end and little else.
const MOST_HELD: usize = 64;

/// Decides what goes on.
#[derive(Debug)]
struct Filter {
    /// Whether no text has come since the last call or result of a tool.
    behind_tool: bool,
    /// A run of markers at the end of a text, and what came after it.
    held: VecDeque<StreamPart>,
}

impl Filter {
    fn push(&mut self, part: StreamPart, out: &mut VecDeque<Item>) {
        match part {
            StreamPart::TextDelta { id, delta, metadata } => {
                let text = if self.behind_tool { delta.trim_start_matches(is_marker) } else { &delta };
                let body = text.trim_end_matches(is_marker);
                let run = text.get(body.len()..).unwrap_or_default().to_owned();
                if !body.is_empty() || metadata.is_some() {
                    self.flush(out);
                    self.behind_tool &= body.is_empty();
                    let delta = body.to_owned();
                    out.push_back(Ok(StreamPart::TextDelta { id: id.clone(), delta, metadata }));
                }
                if !run.is_empty() {
                    self.held.push_back(StreamPart::TextDelta { id, delta: run, metadata: None });
                }
            }
            StreamPart::ToolInputStart { .. } | StreamPart::ToolCall(_) => {
                // What is held is a run of markers and what came behind it: no text but markers.
                let kept = self.held.drain(..).filter(|part| !matches!(part, StreamPart::TextDelta { .. }));
                out.extend(kept.map(Ok));
                self.behind_tool = true;
                out.push_back(Ok(part));
            }
            StreamPart::Finish(_) => {
                self.flush(out);
                out.push_back(Ok(part));
            }
            part if self.held.is_empty() => out.push_back(Ok(part)),
            part => self.held.push_back(part),
        }
        if self.held.len() > MOST_HELD {
            self.flush(out);
        }
    }

    fn flush(&mut self, out: &mut VecDeque<Item>) {
        out.extend(self.held.drain(..).map(Ok));
    }
}

fn is_marker(character: char) -> bool {
    matches!(character, '\u{2050}'..='\u{2057}' | '\u{2063}')
}

struct Filtered {
    stream: Option<ModelStream>,
    filter: Filter,
    ready: VecDeque<Item>,
}

impl Stream for Filtered {
    type Item = Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Item>> {
        let this = &mut *self;
        loop {
            if let Some(item) = this.ready.pop_front() {
                return Poll::Ready(Some(item));
            }
            let Some(stream) = &mut this.stream else { return Poll::Ready(None) };
            match ready!(stream.as_mut().poll_next(cx)) {
                Some(Ok(part)) => this.filter.push(part, &mut this.ready),
                last => {
                    this.stream = None;
                    this.filter.flush(&mut this.ready);
                    this.ready.extend(last);
                }
            }
        }
    }
}
