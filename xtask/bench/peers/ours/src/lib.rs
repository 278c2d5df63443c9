//! The SDK as peers: each adapter alone, and the whole stack.

use std::sync::Arc;

use ai_provider::{
    ApiKey, CallContext, LanguageModel, Message, ModelError, Provider, Request, StreamPart,
};
use bench_peer::{API_KEY, Job, PROMPT, Peer, Result, SYSTEM, Tally, unsupported};
use futures::StreamExt;

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
        let request = Request::new([Message::system(SYSTEM), Message::user(PROMPT)]);
        let mut parts = self.model.stream(request, CallContext::new());
        while let Some(part) = parts.next().await {
            if let StreamPart::TextDelta { delta, .. } = part? {
                tally.text(&delta);
            }
        }
        tally.step();
        Ok(())
    }
}

/// Chat Completions.
pub struct Chat;

impl Wire for Chat {
    const NAME: &'static str = "ours-chat";

    fn provider(base_url: &str, key: ApiKey) -> Result<Box<dyn Provider>, ModelError> {
        Ok(Box::new(ai_openai::OpenAi::builder().base_url(base_url).api_key(key).build()?))
    }
}
