//! What goes out.

use std::sync::Arc;

use ai_http::{Authorize, Bearer, Client, HeaderKey, HttpCall};
use ai_provider::{
    ApiKey, CallContext, ErrorClass, KeySource, Keys, LanguageModel, ModelError, Request, StreamPart,
};
use ai_testkit::{MemoryReply, MemoryTransport};
use async_trait::async_trait;
use http::HeaderName;

use crate::api::{brief, call_with, frames, model, request};

fn answering() -> MemoryTransport {
    MemoryTransport::new().repeat(MemoryReply::sse(frames(&["{\"finish\":\"stop\"}"])))
}

fn keys() -> Arc<Keys> {
    let key = |text: &str| ApiKey::new(text).unwrap();
    Arc::new(Keys::list([
        key("sk-first-1").labelled("one"),
        key("sk-second").labelled("two").of_account("team"),
    ]))
}

fn with_headers(headers: &[(&str, Option<&str>)]) -> Request {
    let mut request = request();
    let owned = |(name, value): &(&str, Option<&str>)| ((*name).to_owned(), value.map(str::to_owned));
    request.extra_headers = headers.iter().map(owned).collect();
    request
}

/// [HT-66]
#[tokio::test]
async fn the_context_says_which_key_is_used() {
    let transport = answering();
    let model = model(transport.clone()).with_keys(keys());
    assert_eq!(model.keys(), ["one".into(), "two".into()]);
    for index in 0..3 {
        let outcome = call_with(&model, request(), CallContext::new().with_key_index(index)).await;
        let class = outcome.2.map(|error| error.class());
        assert_eq!(class, (index == 2).then_some(ErrorClass::Auth), "key {index}");
    }
    let calls = transport.calls();
    assert_eq!(calls.len(), 2, "without its key a call is not sent");
    assert_eq!(calls[0].headers["authorization"], "Bearer sk-first-1");
    assert_eq!(calls[1].headers["authorization"], "Bearer sk-second");
    assert_eq!(calls[1].body, "{\"account\":\"team\",\"model\":\"small\"}");
}

/// [HT-66]
#[tokio::test]
async fn an_endpoint_without_keys_gets_none() {
    let transport = answering();
    assert_eq!(
        brief(&call_with(&model(transport.clone()), request(), CallContext::new()).await).1,
        Some("stop")
    );
    assert!(!transport.calls()[0].headers.contains_key("authorization"));
    assert_eq!(transport.calls()[0].body, "{\"account\":null,\"model\":\"small\"}");
}

/// [HT-62]
#[tokio::test]
async fn the_callers_headers_win_over_codec_and_key() {
    let transport = answering();
    let model = model(transport.clone()).with_keys(keys());
    let request = with_headers(&[
        ("Authorization", Some("Basic mine")),
        ("content-type", Some("application/x")),
        ("x-new", Some("1")),
    ]);
    call_with(&model, request, CallContext::new()).await;
    let headers = &transport.calls()[0].headers;
    assert_eq!(
        (&headers["authorization"], &headers["content-type"], &headers["x-new"]),
        (
            &http::HeaderValue::from_static("Basic mine"),
            &http::HeaderValue::from_static("application/x"),
            &http::HeaderValue::from_static("1")
        )
    );
    assert_eq!(headers.len(), 3);
}

/// [HT-62]
#[tokio::test]
async fn a_header_the_caller_does_not_want_is_not_sent() {
    let transport = answering();
    let own = HeaderKey(HeaderName::from_static("x-api-key"));
    let model = model(transport.clone()).with_keys(keys()).with_authorize(Arc::new(own));
    call_with(&model, with_headers(&[("X-Api-Key", None), ("content-type", None)]), CallContext::new()).await;
    assert!(transport.calls()[0].headers.is_empty());
}

/// [HT-60]
#[tokio::test]
async fn a_header_that_would_smuggle_another_stops_the_call() {
    for (name, value) in [("x-a", "1\r\nX-Evil: 1"), ("x-a\r\nx-evil", "1"), ("x-a", "1\n"), ("x a", "1")] {
        let transport = answering();
        let request = with_headers(&[(name, Some(value))]);
        let outcome = call_with(&model(transport.clone()), request, CallContext::new()).await;
        if value == "1\n" {
            assert_eq!(transport.calls()[0].headers["x-a"], "1", "outer white space is trimmed");
        } else {
            assert_eq!(brief(&outcome), ("", None, Some(ErrorClass::InvalidRequest)), "{name:?}: {value:?}");
            assert_eq!(transport.calls().len(), 0);
        }
    }
}

/// [HT-61]
#[tokio::test]
async fn a_key_that_cannot_be_sent_is_refused_and_a_trimmed_one_is_sent() {
    for text in ["k\r\nX-Evil: 1", "k\u{e9}", " ", "", "a b", "k\0"] {
        let error = ApiKey::new(text).unwrap_err();
        assert_eq!(error.class(), ErrorClass::InvalidRequest, "{text:?}");
        assert!(!error.to_string().contains("Evil"), "{error}");
    }
    for text in ["k\n", "k\r\n", "  k\t"] {
        let transport = answering();
        let keys = Arc::new(Keys::one(ApiKey::new(text).unwrap()));
        call_with(&model(transport.clone()).with_keys(keys), request(), CallContext::new()).await;
        assert_eq!(transport.calls()[0].headers["authorization"], "Bearer k", "{text:?}");
    }
}

/// Signs what it sees: every header there is, and the body.
#[derive(Debug)]
struct Signer;

#[async_trait]
impl Authorize for Signer {
    async fn authorize(&self, call: &mut HttpCall, key: Option<&ApiKey>) -> Result<(), ModelError> {
        let mut names: Vec<_> = call.headers.keys().map(|name| name.as_str().to_owned()).collect();
        names.sort();
        let signature = format!("{} {} {}", key.unwrap().label(), names.join(";"), call.body.len());
        call.set_secret_header("authorization", &signature)
    }
}

/// [HT-62]
#[tokio::test]
async fn a_signature_covers_the_callers_headers_and_the_body() {
    let transport = answering();
    let model = model(transport.clone()).with_keys(keys()).with_authorize(Arc::new(Signer));
    call_with(&model, with_headers(&[("x-mine", Some("1"))]), CallContext::new()).await;
    let call = &transport.calls()[0];
    assert_eq!(
        call.headers["authorization"],
        format!("one content-type;x-mine {}", call.body.len()).as_str()
    );
}

#[derive(Debug)]
struct NoKey;

#[async_trait]
impl KeySource for NoKey {
    fn labels(&self) -> &[ai_provider::KeyLabel] {
        &[]
    }

    async fn key(&self, _: usize) -> Result<Option<ApiKey>, ModelError> {
        std::future::pending().await
    }
}

/// [HT-33]
#[tokio::test(start_paused = true)]
async fn a_key_that_does_not_come_can_be_cancelled() {
    let transport = answering();
    let model = model(transport.clone()).with_keys(Arc::new(NoKey)).with_authorize(Arc::new(Bearer));
    let ctx = CallContext::new();
    let cancel = ctx.cancel.clone();
    let (outcome, ()) = tokio::join!(call_with(&model, request(), ctx), async {
        tokio::task::yield_now().await;
        cancel.cancel();
    });
    assert_eq!(brief(&outcome), ("", None, Some(ErrorClass::Cancelled)));
    assert_eq!(transport.calls().len(), 0);
}

/// [HT-148]
#[tokio::test]
async fn headers_that_replace_ours_or_remove_nothing_are_warned_of() {
    let headers = [("x-team", "blue"), ("x-same", "1")];
    let client =
        Client::builder().transport(Arc::new(answering())).api_key(ApiKey::new("sk-12345678").unwrap());
    let client =
        headers.iter().fold(client, |client, (name, value)| client.header(*name, *value)).build().unwrap();
    let model = client.model(crate::api::Api::at(crate::api::URL), crate::api::target(), Default::default());
    let request = with_headers(&[
        ("X-Team", Some("geheim-1")),
        ("x-same", Some(" 1 ")),
        ("x-new", Some("2")),
        ("x-nothing", None),
        ("authorization", None),
        ("content-type", None),
    ]);
    let (parts, error) = ai_testkit::collect(model.stream(request, CallContext::new())).await;
    assert!(error.is_none());
    let Some(StreamPart::StreamStart { warnings }) = parts.first() else { panic!("{parts:?}") };
    let warnings: Vec<_> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "test api",
            "the request overrides the header `X-Team`",
            "the request removes the header `x-nothing`, which nobody sends",
        ]
    );
}

/// [HT-154]
#[tokio::test]
async fn a_decoder_is_made_with_the_request_at_hand() {
    use ai_http::{CallInfo, Codec, Decoder, Framing, HttpModel};
    use ai_provider::{Delivery, StreamPart, TargetId, Warning};
    use http::{HeaderMap, StatusCode};

    /// An API whose decoder begins with a part that repeats how many messages it was asked with.
    struct Counting(crate::api::Api);
    struct Told(Box<dyn Decoder>, Option<usize>);
    impl Codec for Counting {
        fn encode(&self, r: &Request, i: &CallInfo<'_>) -> Result<(HttpCall, Vec<Warning>), ModelError> {
            self.0.encode(r, i)
        }
        fn framing(&self, delivery: Delivery) -> Framing {
            self.0.framing(delivery)
        }
        fn decoder(&self, info: &CallInfo<'_>) -> Box<dyn Decoder> {
            self.0.decoder(info)
        }
        fn decoder_for(&self, request: &Request, info: &CallInfo<'_>) -> Box<dyn Decoder> {
            Box::new(Told(self.decoder(info), Some(request.messages.len())))
        }
        fn error(&self, status: StatusCode, headers: &HeaderMap, excerpt: &[u8]) -> ModelError {
            self.0.error(status, headers, excerpt)
        }
    }
    impl Decoder for Told {
        fn event(
            &mut self,
            event: ai_http::Event<'_>,
            out: &mut ai_http::Parts,
        ) -> Result<ai_http::Next, ModelError> {
            if let Some(count) = self.1.take() {
                out.push(StreamPart::Raw { raw_value: count.into() });
            }
            self.0.event(event, out)
        }
        fn end(&mut self, why: ai_http::End, out: &mut ai_http::Parts) -> Result<(), ModelError> {
            self.0.end(why, out)
        }
    }
    let codec = Counting(crate::api::Api::at("http://h/v1"));
    let model = HttpModel::new(codec, TargetId::new("p", "m", "http://h/v1"), Arc::new(answering()));
    let mut asked = request();
    asked.messages.extend(request().messages);
    let count = asked.messages.len();
    let (parts, error) = ai_testkit::collect(model.stream(asked, CallContext::new())).await;
    assert!(error.is_none(), "{error:?}");
    assert!(parts.contains(&StreamPart::Raw { raw_value: count.into() }), "{parts:?}");
}
