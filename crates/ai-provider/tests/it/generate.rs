use std::collections::VecDeque;
use std::error::Error as _;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use ai_provider::*;
use futures_util::Stream;

use crate::support::finish;

type Item = Result<StreamPart, ModelError>;

/// Says the same at each call and counts how its stream is used.
struct Model {
    target: TargetId,
    capabilities: Capabilities,
    items: Vec<Item>,
    asked: Arc<Mutex<Vec<(Request, CallContext)>>>,
    polls: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
}

impl Model {
    fn saying(items: impl IntoIterator<Item = Item>) -> Self {
        Self {
            target: TargetId::new("test", "model", "memory"),
            capabilities: Capabilities::default(),
            items: items.into_iter().collect(),
            asked: Arc::default(),
            polls: Arc::default(),
            dropped: Arc::default(),
        }
    }

    fn polls(&self) -> usize {
        self.polls.load(Ordering::Relaxed)
    }
}

impl LanguageModel for Model {
    fn target(&self) -> &TargetId {
        &self.target
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn stream(&self, request: Request, ctx: CallContext) -> ModelStream {
        self.asked.lock().unwrap().push((request, ctx));
        Box::pin(Answer {
            items: self.items.iter().cloned().collect(),
            pending: false,
            polls: Arc::clone(&self.polls),
            dropped: Arc::clone(&self.dropped),
        })
    }
}

/// Is pending once before each item.
struct Answer {
    items: VecDeque<Item>,
    pending: bool,
    polls: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
}

impl Stream for Answer {
    type Item = Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Item>> {
        self.pending = !self.pending;
        if self.pending {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.polls.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(self.items.pop_front())
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

fn text(text: &str) -> Vec<Item> {
    [StreamPart::text_start("0"), StreamPart::text_delta("0", text), StreamPart::text_end("0")].map(Ok).into()
}

fn request() -> Request {
    Request::new([Message::user("Hi")])
}

/// [PV-87, PV-88]
#[tokio::test]
async fn generate_asks_for_one_body_and_folds_it() {
    let mut items = vec![Ok(StreamPart::StreamStart { warnings: vec![Warning::other("w")] })];
    items.extend(text("Hello"));
    items.push(Ok(StreamPart::ToolCall(Box::new(ToolCall::new("c", "t", "{}")))));
    items.push(Ok(finish(UnifiedFinish::ToolCalls)));
    let model = Model::saying(items);

    let mut asked = request().with_extra("n", 1.into());
    asked.settings.temperature = Some(0.5);
    let ctx = CallContext::new().with_key_index(2);
    let answer = model.generate(asked.clone(), ctx.clone()).await.unwrap();

    assert_eq!((answer.text().as_str(), answer.message.tool_calls().count()), ("Hello", 1));
    assert_eq!(answer.finish, UnifiedFinish::ToolCalls.into());
    assert_eq!(answer.warnings, [Warning::other("w")]);
    let seen = model.asked.lock().unwrap();
    let [(request, context)] = seen.as_slice() else { panic!("{} calls", seen.len()) };
    asked.delivery = Delivery::Whole;
    assert_eq!(request, &asked, "but for the delivery the request is the caller's");
    assert_eq!((&context.request_id, context.key_index), (&ctx.request_id, 2));
}

/// [PV-88]
#[tokio::test]
async fn generate_works_on_shared_and_borrowed_models() {
    let mut items = text("Hi");
    items.push(Ok(finish(UnifiedFinish::Stop)));
    let shared: Arc<dyn LanguageModel> = Arc::new(Model::saying(items));
    assert_eq!(shared.generate(request(), CallContext::new()).await.unwrap().text(), "Hi");
    let borrowed: &dyn LanguageModel = &*shared;
    assert_eq!(borrowed.generate(request(), CallContext::new()).await.unwrap().text(), "Hi");
}

/// [PV-89]
#[tokio::test]
async fn a_finished_stream_is_polled_to_its_end() {
    let model = Model::saying([Ok(finish(UnifiedFinish::Stop))]);
    model.generate(request(), CallContext::new()).await.unwrap();
    assert_eq!(model.polls(), 2, "the finish, and the end behind it, where an adapter drains its connection");
}

/// [PV-90]
#[tokio::test]
async fn an_error_ends_the_call_and_carries_what_came() {
    let failure = ModelError::new(ErrorClass::Overloaded, "busy").with_source(io::Error::other("root"));
    let mut items = text("Hel");
    items.extend([Err(failure), Ok(finish(UnifiedFinish::Stop))]);
    let model = Model::saying(items);

    let error = model.generate(request(), CallContext::new()).await.unwrap_err();
    assert_eq!(error.error.class(), ErrorClass::Overloaded);
    assert_eq!(error.partial.message.text(), "Hel");
    assert!(error.partial.incomplete && error.partial.finish.is_none());
    assert_eq!(model.polls(), 4, "nothing is asked of a stream after its error");
    assert_eq!(model.dropped.load(Ordering::Relaxed), 1);
}

/// [PV-90]
#[tokio::test]
async fn an_early_error_is_the_first_item_and_has_an_empty_partial() {
    let model = Model::saying([Err(ModelError::new(ErrorClass::Auth, "no"))]);
    let error = model.generate(request(), CallContext::new()).await.unwrap_err();
    assert_eq!(error.error.class(), ErrorClass::Auth);
    assert!(error.partial.is_empty() && error.partial.incomplete);
}

/// [PV-91]
#[tokio::test]
async fn a_stream_without_a_finish_is_incomplete() {
    let model = Model::saying(text("Hel"));
    let error = model.generate(request(), CallContext::new()).await.unwrap_err();
    assert_eq!(error.error.class(), ErrorClass::Incomplete);
    assert!(error.error.retryable());
    assert_eq!(error.partial.message.text(), "Hel");
}

/// [PV-92]
#[tokio::test]
async fn a_model_that_breaks_the_order_is_found_out() {
    let mut items = text("Hi");
    items.extend([Ok(finish(UnifiedFinish::Stop)), Ok(StreamPart::text_start("1"))]);
    let error = Model::saying(items).generate(request(), CallContext::new()).await.unwrap_err();
    assert_eq!(error.error.class(), ErrorClass::Protocol);
    assert_eq!((error.partial.message.text().as_str(), error.partial.incomplete), ("Hi", false));

    let items = [Ok(StreamPart::text_delta("0", "Hi")), Ok(finish(UnifiedFinish::Stop))];
    let error = Model::saying(items).generate(request(), CallContext::new()).await.unwrap_err();
    assert_eq!(error.error.class(), ErrorClass::Protocol);
    assert!(error.partial.is_empty());
}

/// [PV-93]
#[tokio::test]
async fn a_failed_generation_reads_like_its_error() {
    let failure =
        ModelError::new(ErrorClass::Server, "down").with_status(500).with_source(io::Error::other("root"));
    let model = Model::saying([Err(failure)]);
    let error = model.generate(request(), CallContext::new()).await.unwrap_err();
    assert_eq!(error.to_string(), "server (HTTP 500): down");
    assert_eq!(error.source().unwrap().to_string(), "root", "the chain does not say the same twice");
    let inner = ModelError::from(error);
    assert_eq!((inner.class(), inner.status()), (ErrorClass::Server, Some(500)));
    let bare = Model::saying([]).generate(request(), CallContext::new()).await.unwrap_err();
    assert!(bare.source().is_none());
}
