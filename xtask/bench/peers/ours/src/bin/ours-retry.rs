//! The chat adapter with a retry policy around it, in which nothing fails.

use std::sync::Arc;
use std::time::Duration;

use ai_provider::{CallContext, LanguageModel};
use bench_peer::{Job, Peer, Result, Tally};
use peer_ours::{Chat, drain, model, request};
use retry::{Fallback, RetryPolicy};

struct Retry(Arc<dyn LanguageModel>);

impl Peer for Retry {
    const NAME: &'static str = "ours-retry";

    fn new(job: &Job) -> Result<Self> {
        let never = Fallback::lazy("never", || async { Ok::<Option<Arc<dyn LanguageModel>>, std::io::Error>(None) });
        let policy = RetryPolicy::new()
            .with_budget(Duration::from_secs(600))
            .with_first_output(Duration::from_secs(60))
            .with_fallback(never);
        Ok(Self(policy.wrap(model::<Chat>(job)?)?))
    }

    async fn run(&self, _: &Job, tally: &mut Tally) -> Result<()> {
        drain(self.0.stream(request(), CallContext::new()), tally).await
    }
}

fn main() {
    bench_peer::main::<Retry>();
}
