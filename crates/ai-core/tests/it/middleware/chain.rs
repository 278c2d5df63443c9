use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ai_core::middleware::{Middleware, MiddlewareCall, Next, PartTransform, Parts, transform_parts, wrap};
use ai_provider::{
    CallContext, CancellationToken, Capabilities, ErrorClass, KeyLabel, LanguageModel, LanguageModelExt,
    Message, ModelError, ModelStream, Request, StreamPart, UnifiedFinish,
};
use ai_testkit::{Script, ScriptedModel};
use async_trait::async_trait;
use futures_util::StreamExt;

use super::{around, said, shape};

/// Writes down when it is asked, and marks requests and answers.
struct Mark(&'static str, Arc<Mutex<Vec<String>>>);

struct MarkText(&'static str);

impl PartTransform for MarkText {
    fn part(&mut self, part: StreamPart, out: &mut Parts) -> Result<(), ModelError> {
        out.push(match part {
            StreamPart::TextDelta { id, delta, metadata } => {
                StreamPart::TextDelta { id, delta: format!("{delta}{}", self.0), metadata }
            }
            other => other,
        });
        Ok(())
    }
}

#[async_trait]
impl Middleware for Mark {
    fn name(&self) -> &str {
        self.0
    }

    async fn transform_request(
        &self,
        mut request: Request,
        call: &MiddlewareCall<'_>,
    ) -> Result<Request, ModelError> {
        self.1.lock().unwrap().push(format!("{} transforms for {}", self.0, call.target));
        request.messages.push(Arc::new(Message::user(self.0)));
        Ok(request)
    }

    fn wrap_stream(&self, next: Next, request: Request, ctx: CallContext) -> ModelStream {
        self.1.lock().unwrap().push(format!("{} wraps", self.0));
        transform_parts(next.stream(request, ctx), MarkText(self.0))
    }
}

fn go() -> Request {
    Request::new([Message::user("go")])
}

/// [AC-200]
#[tokio::test]
async fn the_first_is_the_outermost() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let model = ScriptedModel::new().reply(Script::text_reply("hi"));
    let list = ["a", "b"].map(|name| Arc::new(Mark(name, log.clone())) as Arc<dyn Middleware>);
    let (parts, _) = said(&wrap(Arc::new(model.clone()), list), go()).await;
    assert_eq!(shape(&parts), ["T:hiba"]);
    assert_eq!(
        *log.lock().unwrap(),
        ["a transforms for scripted:model", "a wraps", "b transforms for scripted:model", "b wraps"]
    );
    let asked: Vec<_> = model.requests()[0].messages.iter().map(|m| (**m).clone()).collect();
    assert_eq!(asked, ["go", "a", "b"].map(Message::user));
}

/// [AC-201]
#[test]
fn an_empty_list_gives_the_model_itself() {
    let model: Arc<dyn LanguageModel> = Arc::new(ScriptedModel::new());
    assert!(Arc::ptr_eq(&model, &wrap(model.clone(), [])));
}

struct Blind;

impl Middleware for Blind {
    fn name(&self) -> &str {
        "blind"
    }

    fn capabilities(&self, inner: &Capabilities) -> Option<Capabilities> {
        let mut capabilities = inner.clone();
        capabilities.input.image = false;
        capabilities.context_window = inner.context_window.map(|window| window - 1);
        Some(capabilities)
    }
}

/// [AC-202]
#[test]
fn target_and_keys_are_forwarded_and_capabilities_changed_from_within() {
    let mut capabilities = Capabilities::default();
    capabilities.input.image = true;
    capabilities.context_window = Some(100);
    let model = ScriptedModel::new().with_capabilities(capabilities).with_keys([KeyLabel::from("k")]);
    let blind = || Arc::new(Blind) as Arc<dyn Middleware>;
    let wrapped = wrap(Arc::new(model.clone()), [blind(), blind()]);
    assert_eq!(wrapped.target(), model.target());
    assert_eq!(wrapped.keys(), model.keys());
    assert!(!wrapped.capabilities().input.image);
    assert_eq!(wrapped.capabilities().context_window, Some(98));
}

/// Fails, hangs, or counts.
enum Odd {
    Fails,
    HangsBefore,
    HangsAfter,
    Counts(Arc<AtomicUsize>),
}

#[async_trait]
impl Middleware for Odd {
    fn name(&self) -> &str {
        "odd"
    }

    async fn transform_request(
        &self,
        request: Request,
        _call: &MiddlewareCall<'_>,
    ) -> Result<Request, ModelError> {
        match self {
            Self::Fails => return Err(ModelError::new(ErrorClass::InvalidRequest, "not so")),
            Self::HangsBefore => std::future::pending().await,
            Self::HangsAfter => {}
            Self::Counts(count) => {
                count.fetch_add(1, Ordering::SeqCst);
            }
        }
        Ok(request)
    }

    fn wrap_stream(&self, next: Next, request: Request, ctx: CallContext) -> ModelStream {
        match self {
            Self::HangsAfter => {
                let begun = next.stream(request, ctx).take(1);
                Box::pin(begun.chain(futures_util::stream::pending()))
            }
            _ => next.stream(request, ctx),
        }
    }
}

/// [AC-203]
#[tokio::test]
async fn nothing_happens_before_the_first_poll() {
    let count = Arc::new(AtomicUsize::new(0));
    let model = ScriptedModel::new().repeat(Script::text_reply("hi"));
    let wrapped = around(&model, Odd::Counts(count.clone()));
    drop(wrapped.stream(go(), CallContext::new()));
    assert_eq!((count.load(Ordering::SeqCst), model.requests().len()), (0, 0));
    let mut stream = wrapped.stream(go(), CallContext::new());
    stream.next().await;
    assert_eq!((count.load(Ordering::SeqCst), model.requests().len()), (1, 1));
    drop(stream);
    assert_eq!(model.dropped(), 1);
}

/// [AC-204]
#[tokio::test]
async fn a_failing_middleware_ends_the_call_before_the_model_is_asked() {
    let model = ScriptedModel::new().repeat(Script::text_reply("hi"));
    let (parts, error) = said(&around(&model, Odd::Fails), go()).await;
    assert_eq!((parts.len(), error.unwrap().message()), (0, "not so"));
    assert!(model.requests().is_empty());
}

/// [AC-205]
#[tokio::test(start_paused = true)]
async fn a_middleware_that_never_ends_is_ended_by_cancel_and_deadline() {
    for hanging in [true, false] {
        let middleware = || if hanging { Odd::HangsBefore } else { Odd::HangsAfter };
        let model = ScriptedModel::new().repeat(Script::text_reply("hi"));
        let wrapped = around(&model, middleware());

        let cancel = CancellationToken::new();
        let mut stream = wrapped.stream(go(), CallContext::new().with_cancel(cancel.clone()));
        let mut items = Vec::new();
        tokio::select! {
            _ = async { while let Some(item) = stream.next().await { items.push(item) } } => panic!("it ended"),
            () = tokio::time::sleep(Duration::from_secs(5)) => {}
        }
        assert!(items.iter().all(Result::is_ok));
        cancel.cancel();
        assert_eq!(stream.next().await.unwrap().unwrap_err().class(), ErrorClass::Cancelled);
        assert!(stream.next().await.is_none());

        let begun = tokio::time::Instant::now();
        let deadline = (begun + Duration::from_secs(9)).into_std();
        let ctx = CallContext::new().with_deadline(deadline);
        let last = wrapped.stream(go(), ctx).collect::<Vec<_>>().await.pop().unwrap().unwrap_err();
        assert_eq!((last.class(), last.retryable()), (ErrorClass::Timeout, false));
        assert!(last.message().contains("`odd`"), "{last}");
        assert_eq!(begun.elapsed().as_secs(), 9);
    }
}

/// Holds all text back.
#[derive(Default)]
struct Hold(Vec<StreamPart>);

impl PartTransform for Hold {
    fn part(&mut self, part: StreamPart, out: &mut Parts) -> Result<(), ModelError> {
        match part {
            StreamPart::TextDelta { ref delta, .. } if delta == "bad" => {
                return Err(ModelError::new(ErrorClass::Protocol, "bad text"));
            }
            part @ (StreamPart::TextStart { .. } | StreamPart::TextDelta { .. }) => self.0.push(part),
            part => {
                out.extend(self.0.drain(..));
                out.push(part);
            }
        }
        Ok(())
    }

    fn failed(&mut self, _error: Option<&ModelError>, out: &mut Parts) {
        out.extend(self.0.drain(..));
    }
}

struct Holding;

impl Middleware for Holding {
    fn name(&self) -> &str {
        "holding"
    }

    fn wrap_stream(&self, next: Next, request: Request, ctx: CallContext) -> ModelStream {
        transform_parts(next.stream(request, ctx), Hold::default())
    }
}

/// [AC-206]
#[tokio::test]
async fn what_is_held_comes_before_the_error_and_nothing_after_it() {
    let begin = || Script::new().part(StreamPart::text_start("0")).part(StreamPart::text_delta("0", "held"));
    let broken = ModelError::new(ErrorClass::Transport, "reset");
    let model = ScriptedModel::new()
        .reply(begin().error(broken))
        .reply(begin().end())
        .reply(begin().part(StreamPart::text_delta("0", "bad")).finish(UnifiedFinish::Stop));
    let wrapped = around(&model, Holding);
    let (parts, error) = said(&wrapped, go()).await;
    assert_eq!((shape(&parts), error.unwrap().message()), (vec!["T:held".to_owned()], "reset"));
    let (parts, error) = said(&wrapped, go()).await;
    assert_eq!((shape(&parts), error.is_none()), (vec!["T:held".to_owned()], true));
    let (parts, error) = said(&wrapped, go()).await;
    assert_eq!((parts.len(), error.unwrap().message()), (1, "bad text"));
    assert_eq!(model.dropped(), 1, "the model is let go with the error");
}

/// [AC-207]
#[tokio::test]
async fn generate_goes_through_the_same_middleware() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let model = ScriptedModel::new().reply(Script::text_reply("hi"));
    let answer = around(&model, Mark("!", log)).generate(go(), CallContext::new()).await.unwrap();
    assert_eq!(answer.text(), "hi!");
    assert_eq!(model.requests()[0].delivery, ai_provider::Delivery::Whole);
}
