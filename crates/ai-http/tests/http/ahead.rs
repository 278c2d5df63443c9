//! What is made of a body before somebody asks for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ai_http::{CallInfo, Codec, Decoder, End, Event, Framing, HttpCall, HttpModel, Next, Parts};
use ai_provider::{
    CallContext, CancellationToken, Delivery, LanguageModel, ModelError, Request, StreamPart, Warning,
};
use ai_testkit::{MemoryReply, MemoryTransport};
use futures_util::StreamExt;
use http::{HeaderMap, StatusCode};

use crate::api::{Api, URL, request, target};

/// Counts the events that were decoded.
struct Counted(Box<dyn Decoder>, Arc<AtomicUsize>);

impl Decoder for Counted {
    fn event(&mut self, event: Event<'_>, out: &mut Parts) -> Result<Next, ModelError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.event(event, out)
    }

    fn end(&mut self, why: End, out: &mut Parts) -> Result<(), ModelError> {
        self.0.end(why, out)
    }
}

/// An API that is decoded like that.
struct Counting(Api, Arc<AtomicUsize>);

impl Codec for Counting {
    fn encode(&self, asked: &Request, info: &CallInfo<'_>) -> Result<(HttpCall, Vec<Warning>), ModelError> {
        self.0.encode(asked, info)
    }

    fn framing(&self, delivery: Delivery) -> Framing {
        self.0.framing(delivery)
    }

    fn decoder(&self, info: &CallInfo<'_>) -> Box<dyn Decoder> {
        Box::new(Counted(self.0.decoder(info), Arc::clone(&self.1)))
    }

    fn error(&self, status: StatusCode, headers: &HeaderMap, excerpt: &[u8]) -> ModelError {
        self.0.error(status, headers, excerpt)
    }
}

/// [HT-155]
#[tokio::test]
async fn little_is_decoded_ahead_of_what_is_asked_for() {
    let frame = "data: {\"text\":\"a\"}\n\n";
    let decoded = Arc::new(AtomicUsize::new(0));
    let codec = Counting(Api::at(URL), Arc::clone(&decoded));
    let transport = MemoryTransport::new().reply(MemoryReply::sse(frame.repeat(300)));
    let model = HttpModel::new(codec, target(), Arc::new(transport));
    let cancel = CancellationToken::new();
    let ctx = CallContext::new().with_cancel(cancel.clone());
    let mut running = model.stream(request(), ctx);
    let (mut read, mut ahead) = (0, 0);
    while read < 150 {
        let part = running.next().await.unwrap().unwrap();
        read += usize::from(matches!(part, StreamPart::TextDelta { .. }));
        ahead = ahead.max(decoded.load(Ordering::Relaxed) - read);
    }
    assert!((32..=64).contains(&ahead), "{ahead}");
    let before = decoded.load(Ordering::Relaxed);
    cancel.cancel();
    assert!(
        running.next().await.unwrap().unwrap_err().is_cancelled(),
        "what was decoded is not shown any more"
    );
    assert!(running.next().await.is_none());
    assert_eq!(decoded.load(Ordering::Relaxed), before);
}
