//! What every provider must hold, checked on yours: give it a codec, or a way to build your models, and a few
//! bodies that your API sends.
//!
//! ```
//! use ai_testkit::conformance::{Conformance, Sample};
//! # use ai_http::{CallInfo, Codec, Decoder, End, Event, Framing, HttpCall, Next, Parts, error_of_response};
//! # use ai_provider::*;
//! # use http::{HeaderMap, StatusCode};
//! # struct AcmeCodec { url: String }
//! # #[derive(Default)] struct AcmeDecoder { open: bool }
//! # fn said(message: &Message) -> serde_json::Value {
//! #     let mut texts = vec![];
//! #     fn strings(value: &serde_json::Value, into: &mut Vec<String>) {
//! #         match value {
//! #             serde_json::Value::String(text) if !text.trim().is_empty() => into.push(text.clone()),
//! #             serde_json::Value::Array(items) => items.iter().for_each(|item| strings(item, into)),
//! #             serde_json::Value::Object(fields) => fields.values().for_each(|value| strings(value, into)),
//! #             _ => {}
//! #         }
//! #     }
//! #     strings(&serde_json::to_value(message).unwrap(), &mut texts);
//! #     texts.into()
//! # }
//! # impl Codec for AcmeCodec {
//! #     fn encode(&self, request: &Request, _: &CallInfo<'_>) -> Result<(HttpCall, Vec<Warning>), ModelError> {
//! #         let history: Vec<_> = request.messages.iter().map(|message| said(message)).collect();
//! #         let mut body = request.extra_body.clone();
//! #         body.insert("~".into(), history.into());
//! #         Ok((HttpCall::post_json(&self.url, &body)?, vec![]))
//! #     }
//! #     fn framing(&self, _: Delivery) -> Framing { Framing::Sse }
//! #     fn decoder(&self, _: &CallInfo<'_>) -> Box<dyn Decoder> { Box::new(AcmeDecoder::default()) }
//! #     fn error(&self, status: StatusCode, _: &HeaderMap, excerpt: &[u8]) -> ModelError { error_of_response(status, excerpt) }
//! # }
//! # impl Decoder for AcmeDecoder {
//! #     fn event(&mut self, event: Event<'_>, out: &mut Parts) -> Result<Next, ModelError> {
//! #         let json: serde_json::Value = serde_json::from_str(event.data).map_err(|error| {
//! #             ModelError::new(ErrorClass::Protocol, format!("event {}: {error}", event.number))
//! #         })?;
//! #         if let Some(text) = json["text"].as_str() {
//! #             if !std::mem::replace(&mut self.open, true) { out.push(StreamPart::text_start("0")); }
//! #             out.push(StreamPart::text_delta("0", text));
//! #             return Ok(Next::More);
//! #         }
//! #         if json["done"] != true { return Err(ModelError::new(ErrorClass::Protocol, "no answer")); }
//! #         if self.open { out.push(StreamPart::text_end("0")); }
//! #         out.push(StreamPart::Finish(Box::new(Finish { reason: UnifiedFinish::Stop.into(), usage: Usage::default(), metadata: None })));
//! #         Ok(Next::Done)
//! #     }
//! #     fn end(&mut self, _: End, _: &mut Parts) -> Result<(), ModelError> {
//! #         Err(ModelError::new(ErrorClass::Incomplete, "the stream ended too early"))
//! #     }
//! # }
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! const HELLO: &str = "data: {\"text\":\"Hel\"}\n\ndata: {\"text\":\"lo\"}\n\ndata: {\"done\":true}\n\n";
//!
//! Conformance::of_codec(|site| Ok(AcmeCodec { url: format!("{}/chat", site.url) }))
//!     .sample(Sample::stream("hello", HELLO).text("Hello"))
//!     .sample(Sample::error("bad-key", 401, r#"{"error":"bad key {{KEY}}"}"#, ErrorClass::Auth))
//!     .check()
//!     .await;
//! # }
//! ```
//!
//! A provider whose models are not made of a codec alone is given as [`Conformance::of_model`].
//!
//! # What is checked
//!
//! | check | what must hold |
//! |---|---|
//! | `outcome` | a sample gives what its author says: text, finish, error; the parts are in order; one thing ends them |
//! | `cuts` | however the bytes are cut, the same comes |
//! | `truncation` | a body that ends early or breaks off at any byte is an error, unless no content is lost; what came is kept |
//! | `prompt` | each event gives its parts when it is there, not when the next one is, or all at the end |
//! | `drop` | nothing is sent before the stream is polled; dropping it closes the socket |
//! | `cancel` | cancellation and deadline end the stream once, with what came before |
//! | `limits` | endless lines, bodies, comments and error bodies are not read on and on |
//! | `errors` | an error status is an error of the right class, whatever its body; hints and statuses are kept |
//! | `nonsense` | pages, empty bodies and lines that are no JSON are errors, never empty answers |
//! | `secrets` | the key is in no part, error, URL, body or `Debug` text |
//! | `requests` | a request with any kind of part is written, or refused where it asks for what the API cannot do |
//! | `prefix` | a later step's request begins with the bytes of the earlier one's |
//! | `replay` | the provider's own answers go back as history, stored or not |
//! | `names` | hostile names of models and headers change neither URL nor headers; extra headers and fields arrive |
//!
//! A failure says which check, which sample, where the body was cut, what was expected and how to run this one
//! alone.

mod answers;
mod boundaries;
mod bounds;
mod failures;
mod history;
mod kinds;
mod lab;
mod report;
mod requests;
mod sample;
mod site;
mod truncation;

use std::sync::Arc;

use ai_http::{Codec, HttpModel};
use ai_provider::{Keys, LanguageModel, ModelError, TargetId};

pub use report::{Failure, Report};
pub use sample::{KEY_MARK, Sample};
pub use site::Site;

use lab::Lab;
use report::Findings;

/// A run of the suite: a provider and the bodies it is tried on. See the [module](self).
pub struct Conformance {
    lab: Lab,
    samples: Vec<Sample>,
    /// The checks to run; all without this.
    checks: Option<Vec<String>>,
    /// The sample to run them on; all without this.
    sample: Option<String>,
}

impl Conformance {
    /// Tests a codec. It is built anew for each call, to be reached at [`Site::url`].
    pub fn of_codec<C: Codec>(
        build: impl Fn(&Site) -> Result<C, ModelError> + Send + Sync + 'static,
    ) -> Self {
        Self::of_model(move |site| {
            let target = TargetId::new("conformance", &site.model, &site.url);
            let model = HttpModel::new(build(site)?, target, Arc::clone(&site.transport))
                .with_keys(Arc::new(Keys::one(site.key.clone())))
                .with_limits(site.limits);
            Ok(Arc::new(model) as Arc<dyn LanguageModel>)
        })
    }

    /// Tests models as a provider makes them. `build` is called for each call and must use everything the
    /// [`Site`] gives.
    pub fn of_model(
        build: impl Fn(&Site) -> Result<Arc<dyn LanguageModel>, ModelError> + Send + Sync + 'static,
    ) -> Self {
        Self { lab: Lab::new(Box::new(build)), samples: Vec::new(), checks: None, sample: None }
    }

    /// For models with an HTTP client of their own, which cannot use [`Site::transport`]: everything goes over
    /// loopback sockets, at fewer places of each body. `limits` is left out, since there is no way to set them.
    #[must_use]
    pub fn over_sockets(mut self) -> Self {
        self.lab.over_sockets();
        self
    }

    /// Sets the id of the model that is asked; `model` by default.
    #[must_use]
    pub fn model_id(mut self, id: impl Into<String>) -> Self {
        self.lab.model_id(id.into());
        self
    }

    /// Sets at how many places each body is cut and broken off, evenly spread and around the ends of events: 4,000
    /// by default, 64 over sockets, which is every place of most samples.
    #[must_use]
    pub fn places(mut self, most: usize) -> Self {
        self.lab.cut_at(most);
        self
    }

    /// Adds a body that the API sends. There should be one for each way in which an answer ends, and one for
    /// each form of error.
    #[must_use]
    pub fn sample(mut self, sample: Sample) -> Self {
        self.samples.push(sample);
        self
    }

    /// Runs these checks and no others: for variants of an adapter, where most things are proved already.
    #[must_use]
    pub fn checks<'a>(mut self, checks: impl IntoIterator<Item = &'a str>) -> Self {
        self.checks = Some(checks.into_iter().map(str::to_owned).collect());
        self
    }

    /// Runs one check alone, on one sample (`""` for all): what a failure tells you to do.
    #[must_use]
    pub fn only(mut self, check: &str, sample: &str) -> Self {
        self.sample = (!sample.is_empty()).then(|| sample.to_owned());
        self.checks([check])
    }

    /// Runs the suite.
    ///
    /// # Panics
    /// If anything does not hold, with everything that was found.
    #[allow(clippy::panic, reason = "this is how a test fails")]
    pub async fn check(self) {
        let report = self.run().await;
        if !report.failures.is_empty() {
            panic!("{report}");
        }
    }

    /// Runs the suite, and says what was found.
    ///
    /// Must be called within a tokio runtime that has time and I/O enabled.
    pub async fn run(self) -> Report {
        let Self { lab, samples, checks, sample } = self;
        let samples: Vec<Sample> = (samples.into_iter())
            .filter(|it| sample.as_ref().is_none_or(|name| it.name == *name))
            .map(|sample| sample.with_key(lab.key()))
            .collect();
        let mut found = Findings::new(checks.as_deref().unwrap_or_default());
        if samples.is_empty() {
            found.begin("outcome", "");
            found.fail("there are no samples".to_owned());
            return found.report();
        }
        let wanted =
            |name: &str| checks.as_ref().is_none_or(|checks| checks.iter().any(|check| check == name));
        macro_rules! run {
            ($($name:literal => $check:path),* $(,)?) => {
                $(if wanted($name) {
                    found.ran($name);
                    $check(&lab, &samples, &mut found).await;
                })*
            };
        }
        run! {
            "outcome" => answers::outcome,
            "cuts" => answers::cuts,
            "truncation" => truncation::truncation,
            "prompt" => truncation::prompt,
            "drop" => bounds::drops,
            "cancel" => bounds::cancel,
            "limits" => bounds::limits,
            "errors" => failures::errors,
            "nonsense" => failures::nonsense,
            "secrets" => failures::secrets,
            "requests" => requests::requests,
            "prefix" => history::prefix,
            "replay" => history::replay,
            "names" => requests::names,
        }
        found.report()
    }
}

impl std::fmt::Debug for Conformance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conformance").field("samples", &self.samples).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
