//! Adapters with one fault each: the check that is there for it finds it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ai_http::{CallInfo, Codec, Decoder, Event, Framer, Framing, HttpCall, Limits};
use ai_provider::{
    CallContext, Capabilities, Delivery, ErrorClass, Finish, LanguageModel, Message, ModelError, ModelStream,
    Request, StreamPart, TargetId, UnifiedFinish, Usage, Warning,
};
use futures_util::{FutureExt, StreamExt, stream};
use http::{HeaderMap, StatusCode};

use super::acme::{Acme, model};
use super::{Conformance, Site, with_samples};

/// A codec like the healthy one, but for what these change.
struct Bent {
    inner: Acme,
    encode: fn(HttpCall, &Request, &Site) -> Result<HttpCall, ModelError>,
    error: Option<fn(StatusCode) -> ModelError>,
    framing: Option<fn() -> Framing>,
    site: Site,
}

impl Codec for Bent {
    fn encode(&self, request: &Request, info: &CallInfo<'_>) -> Result<(HttpCall, Vec<Warning>), ModelError> {
        let (call, warnings) = self.inner.encode(request, info)?;
        Ok(((self.encode)(call, request, &self.site)?, warnings))
    }

    fn framing(&self, delivery: Delivery) -> Framing {
        self.framing.map_or_else(|| self.inner.framing(delivery), |framing| framing())
    }

    fn decoder(&self, info: &CallInfo<'_>) -> Box<dyn Decoder> {
        self.inner.decoder(info)
    }

    fn error(&self, status: StatusCode, headers: &HeaderMap, excerpt: &[u8]) -> ModelError {
        self.error.map_or_else(|| self.inner.error(status, headers, excerpt), |error| error(status))
    }
}

fn bent(change: impl Fn(&mut Bent) + Send + Sync + 'static) -> Conformance {
    with_samples(Conformance::of_codec(move |site| {
        let encode = |call, _: &Request, _: &Site| Ok(call);
        let mut bent =
            Bent { inner: Acme::new(site), encode, error: None, framing: None, site: site.clone() };
        change(&mut bent);
        Ok(bent)
    }))
}

fn encodes(encode: fn(HttpCall, &Request, &Site) -> Result<HttpCall, ModelError>) -> Conformance {
    bent(move |bent| bent.encode = encode)
}

/// The body, changed as text.
fn rewritten(mut call: HttpCall, change: impl FnOnce(String) -> String) -> HttpCall {
    call.body = change(String::from_utf8(call.body.to_vec()).unwrap()).into();
    call
}

fn with_field(call: HttpCall, field: &str) -> HttpCall {
    rewritten(call, |body| body.replacen('{', &format!("{{{field},"), 1))
}

fn decodes(fault: &'static str) -> Conformance {
    bent(move |bent| bent.inner.fault = fault)
}

/// A model around the healthy one.
struct Around {
    inner: Arc<dyn LanguageModel>,
    stream: fn(Arc<dyn LanguageModel>, Request, CallContext) -> ModelStream,
}

impl LanguageModel for Around {
    fn target(&self) -> &TargetId {
        self.inner.target()
    }

    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }

    fn stream(&self, request: Request, ctx: CallContext) -> ModelStream {
        (self.stream)(Arc::clone(&self.inner), request, ctx)
    }
}

fn streams(stream: fn(Arc<dyn LanguageModel>, Request, CallContext) -> ModelStream) -> Conformance {
    with_samples(Conformance::of_model(move |site| {
        Ok(Arc::new(Around { inner: model(Acme::new(site), site)?, stream }))
    }))
}

fn stop() -> StreamPart {
    StreamPart::Finish(Box::new(Finish {
        reason: UnifiedFinish::Stop.into(),
        usage: Usage::default(),
        metadata: None,
    }))
}

/// Takes each chunk for an event.
#[derive(Default)]
struct Chunks(Option<String>, bool);

impl Framer for Chunks {
    fn push(&mut self, chunk: &[u8]) {
        self.0 = Some(String::from_utf8_lossy(chunk).replace("data: ", "").trim().to_owned());
        self.1 = false;
    }

    fn next(&mut self) -> Result<Option<Event<'_>>, ModelError> {
        if std::mem::replace(&mut self.1, true) {
            return Ok(None);
        }
        Ok(self.0.as_deref().map(|data| Event { name: None, data, number: 1 }))
    }

    fn end(&mut self) -> Result<Option<Event<'_>>, ModelError> {
        Ok(None)
    }
}

/// The fault, the check that must find it, and the adapter.
fn faults() -> Vec<(&'static str, &'static str, Conformance)> {
    vec![
        ("a block is never started", "outcome", decodes("never starts a block")),
        (
            "something comes behind the finish",
            "outcome",
            streams(|model, request, ctx| {
                Box::pin(model.stream(request, ctx).chain(stream::iter([Ok(StreamPart::text_start("9"))])))
            }),
        ),
        (
            "the stream goes on after an error",
            "outcome",
            streams(|model, request, ctx| {
                let goes_on = |item: Result<StreamPart, ModelError>| match item {
                    Err(error) => stream::iter(vec![Err(error), Ok(stop())]),
                    Ok(part) => stream::iter(vec![Ok(part)]),
                };
                Box::pin(model.stream(request, ctx).flat_map(goes_on))
            }),
        ),
        (
            "chunks are taken for events",
            "cuts",
            bent(|bent| bent.framing = Some(|| Framing::Custom(Box::<Chunks>::default()))),
        ),
        ("every end is a finish", "truncation", decodes("takes every end for a finish")),
        ("something is put in the place of what came", "truncation", decodes("loses what came")),
        (
            "everything is held back",
            "prompt",
            streams(|model, request, ctx| {
                let all = model.stream(request, ctx).collect::<Vec<_>>().map(stream::iter);
                Box::pin(all.flatten_stream())
            }),
        ),
        (
            "the request goes out at once",
            "drop",
            streams(|model, request, ctx| {
                let (sender, receiver) = tokio::sync::oneshot::channel();
                let mut inner = model.stream(request, ctx);
                tokio::spawn(async move {
                    inner.next().await;
                    inner.next().await;
                    drop(sender.send(inner));
                });
                Box::pin(receiver.map(|inner| inner.unwrap()).flatten_stream())
            }),
        ),
        (
            "a dropped stream goes on",
            "drop",
            streams(|model, request, ctx| {
                struct Kept(Option<ModelStream>);
                impl Drop for Kept {
                    fn drop(&mut self) {
                        std::mem::forget(self.0.take());
                    }
                }
                let mut kept = Kept(Some(model.stream(request, ctx)));
                Box::pin(stream::poll_fn(move |cx| kept.0.as_mut().unwrap().as_mut().poll_next(cx)))
            }),
        ),
        (
            "cancellation is not looked at",
            "cancel",
            streams(|model, request, ctx| {
                let ctx = ctx.with_cancel(ai_provider::CancellationToken::new());
                Box::pin(
                    model
                        .stream(request, ctx)
                        .take_until(tokio::time::sleep(std::time::Duration::from_secs(1))),
                )
            }),
        ),
        (
            "the deadline is not looked at",
            "cancel",
            streams(|model, request, ctx| model.stream(request, ctx.with_deadline(None))),
        ),
        (
            "there are no limits",
            "limits",
            with_samples(Conformance::of_model(|site| {
                model(Acme::new(site), &Site { limits: Limits::default(), ..site.clone() })
            })),
        ),
        (
            "every failure is the server's",
            "errors",
            bent(|bent| {
                bent.error = Some(|_| ModelError::new(ErrorClass::Server, "failed").with_status(500));
            }),
        ),
        (
            "every status may be tried again",
            "errors",
            bent(|bent| {
                bent.error = Some(|status| {
                    ModelError::new(ai_http::class_of_status(status), "failed").with_retryable(true)
                });
            }),
        ),
        ("what is no JSON is passed over", "nonsense", decodes("ignores garbage")),
        ("an empty body is an empty answer", "nonsense", decodes("takes every end for a finish")),
        (
            "the key is in the URL",
            "secrets",
            encodes(|mut call, _, site| {
                call.url += &format!("?token={}", site.key.expose());
                Ok(call)
            }),
        ),
        (
            "the key is in the body",
            "secrets",
            encodes(|call, _, site| Ok(with_field(call, &format!("\"key\":\"{}\"", site.key.expose())))),
        ),
        (
            "the key's header is not marked",
            "secrets",
            encodes(|mut call, _, site| {
                call.set_header("x-plain", site.key.expose())?;
                Ok(call)
            }),
        ),
        (
            "errors tell the key",
            "secrets",
            with_samples(Conformance::of_model(|site| {
                let inner = model(Acme::new(site), site)?;
                let key = site.key.expose().to_owned();
                Ok(Arc::new(Telling { inner, key }))
            })),
        ),
        (
            "a setting is refused",
            "requests",
            encodes(|call, request, _| match request.settings.top_k {
                Some(_) => Err(ModelError::new(ErrorClass::Unsupported, "no top k")),
                None => Ok(call),
            }),
        ),
        (
            "history of elsewhere is refused",
            "requests",
            encodes(|call, request, _| {
                let text = format!("{:?}", request.messages);
                if text.contains("FOREIGN") {
                    Err(ModelError::new(ErrorClass::InvalidRequest, "not mine"))
                } else {
                    Ok(call)
                }
            }),
        ),
        (
            "an image panics",
            "requests",
            encodes(|call, request, _| {
                assert!(!format!("{:?}", request.messages).contains("image/png"), "an image");
                Ok(call)
            }),
        ),
        (
            "what cannot be said is a server's failure",
            "requests",
            encodes(|call, request, _| match format!("{:?}", request.messages).contains("audio/wav") {
                true => Err(ModelError::new(ErrorClass::Server, "audio")),
                false => Ok(call),
            }),
        ),
        (
            "blank texts are sent",
            "requests",
            encodes(|call, request, _| {
                let blank = request
                    .messages
                    .iter()
                    .any(|message| matches!(&**message, Message::Assistant(said) if said.is_empty()));
                let filled = "\"parts\":[{\"text\":\" \"}]";
                Ok(if blank { rewritten(call, |body| body.replace("\"parts\":[]", filled)) } else { call })
            }),
        ),
        (
            "no request is like another",
            "requests",
            encodes(|call, _, _| {
                static COUNT: AtomicUsize = AtomicUsize::new(0);
                let count = COUNT.fetch_add(1, Ordering::Relaxed);
                Ok(with_field(call, &format!("\"n\":{count}")))
            }),
        ),
        (
            "the length of the history stands before it",
            "prefix",
            encodes(|call, request, _| {
                let count = request.messages.len();
                Ok(with_field(call, &format!("\"n\":{count}")))
            }),
        ),
        (
            "the history is not the last field",
            "prefix",
            encodes(|call, _, _| {
                Ok(rewritten(call, |body| body.strip_suffix('}').unwrap().to_owned() + ",\"end\":1}"))
            }),
        ),
        (
            "its own text does not go back",
            "replay",
            encodes(|call, _, _| Ok(rewritten(call, |body| body.replace("I look.", "")))),
        ),
        (
            "its own calls do not go back",
            "replay",
            encodes(|call, _, _| Ok(rewritten(call, |body| body.replace("Rome", "")))),
        ),
        (
            "results do not go back",
            "replay",
            encodes(|call, _, _| Ok(rewritten(call, |body| body.replace("done-with-it", "")))),
        ),
        (
            "the model's name is part of the URL as it is",
            "names",
            bent(|bent| {
                bent.inner.url = format!("{}/models/{}/chat", bent.site.url, bent.site.model);
            }),
        ),
        (
            "extra fields are left out",
            "names",
            encodes(|call, _, _| Ok(rewritten(call, |body| body.replace("x_conformance", "y")))),
        ),
        (
            "extra headers are left out",
            "names",
            streams(|model, mut request, ctx| {
                request.extra_headers.clear();
                model.stream(request, ctx)
            }),
        ),
    ]
}

/// Adds the key to every error.
struct Telling {
    inner: Arc<dyn LanguageModel>,
    key: String,
}

impl LanguageModel for Telling {
    fn target(&self) -> &TargetId {
        self.inner.target()
    }

    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }

    fn stream(&self, request: Request, ctx: CallContext) -> ModelStream {
        let key = self.key.clone();
        let telling = move |error: ModelError| ModelError::new(error.class(), format!("with {key}: {error}"));
        Box::pin(self.inner.stream(request, ctx).map(move |item| item.map_err(&telling)))
    }
}

#[tokio::test]
async fn each_fault_is_found_by_its_check() {
    for (fault, check, suite) in faults() {
        let report = suite.only(check, "").run().await;
        assert!(!report.failures.is_empty(), "{check} does not find that {fault}");
        assert!(report.failures.iter().all(|failure| failure.check == check), "{fault}: {report}");
    }
}
