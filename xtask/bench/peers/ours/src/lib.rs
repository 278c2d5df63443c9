//! The SDK as peers: each adapter alone, and the whole stack.

mod managed;

use std::sync::Arc;

use ai_provider::{ApiKey, CallContext, LanguageModel, Message, ModelError, Provider, Request, StreamPart};
use bench_peer::{API_KEY, Job, PROMPT, Peer, Result, SYSTEM, Tally, unsupported};
use futures::StreamExt;

pub use managed::Managed;

/// The provider of one wire at the mock.
pub trait Wire: Send + Sync + 'static {
    /// The name of the peer.
    const NAME: &'static str;

    fn provider(base_url: &str, key: ApiKey) -> Result<Box<dyn Provider>, ModelError>;
}

/// The model the job asks for.
pub fn model<W: Wire>(job: &Job) -> Result<Arc<dyn LanguageModel>> {
    let provider = W::provider(&job.base_url, ApiKey::new(API_KEY)?)?;
    Ok(provider.language_model(&job.scenario)?)
}

/// An adapter alone: its stream, drained.
pub struct Adapter<W> {
    model: Arc<dyn LanguageModel>,
    wire: std::marker::PhantomData<W>,
}

impl<W: Wire> Peer for Adapter<W> {
    const NAME: &'static str = W::NAME;

    fn new(job: &Job) -> Result<Self> {
        if job.uses_tools() {
            unsupported(Self::NAME, "an adapter runs no tools");
        }
        Ok(Self { model: model::<W>(job)?, wire: std::marker::PhantomData })
    }

    async fn run(&self, _: &Job, tally: &mut Tally) -> Result<()> {
        drain(self.model.stream(request(), CallContext::new()), tally).await
    }
}

/// Defines a wire: its name, and the provider for a base URL and a key.
macro_rules! wire {
    ($(#[$doc:meta])* $wire:ident, $name:literal, $provider:expr) => {
        $(#[$doc])*
        pub struct $wire;

        impl Wire for $wire {
            const NAME: &'static str = $name;

            fn provider(base_url: &str, key: ApiKey) -> Result<Box<dyn Provider>, ModelError> {
                let make: fn(&str, ApiKey) -> Result<_, ModelError> = $provider;
                Ok(Box::new(make(base_url, key)?))
            }
        }
    };
}

wire!(
    /// Chat Completions.
    Chat,
    "ours-chat",
    |url, key| ai_openai::OpenAi::builder().base_url(url).api_key(key).build()
);
wire!(
    /// Responses.
    Responses,
    "ours-responses",
    |url, key| ai_openai::OpenAi::builder().api(ai_openai::Api::Responses).base_url(url).api_key(key).build()
);
wire!(
    /// Messages.
    Messages,
    "ours-messages",
    |url, key| ai_anthropic::Anthropic::builder().base_url(url).api_key(key).build()
);
wire!(
    /// generateContent.
    Gemini,
    "ours-gemini",
    |url, key| ai_google::Google::builder().base_url(url).api_key(key).build()
);

/// The stream of a model under something of ours, drained.
pub async fn drain(mut parts: ai_provider::ModelStream, tally: &mut Tally) -> Result<()> {
    while let Some(part) = parts.next().await {
        if let StreamPart::TextDelta { delta, .. } = part? {
            tally.text(&delta);
        }
    }
    tally.step();
    Ok(())
}

/// The request of every scenario without tools.
pub fn request() -> Request {
    Request::new([Message::system(SYSTEM), Message::user(PROMPT)])
}
