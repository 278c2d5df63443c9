//! The chat adapter called by `stream_text`, with a plugin that looks on.

use std::sync::Arc;

use ai_core::{Plugin, Plugins, Registry, stream_text};
use ai_provider::LanguageModel;
use bench_peer::{Job, Peer, Result, Tally};
use peer_ours::{Chat, drain, model, request};

struct Onlooker;

impl Plugin for Onlooker {
    fn name(&self) -> &str {
        "onlooker"
    }
}

struct Core {
    registry: Registry,
    plugins: Plugins,
    model: Arc<dyn LanguageModel>,
}

impl Peer for Core {
    const NAME: &'static str = "ours-core";

    fn new(job: &Job) -> Result<Self> {
        let plugins = Plugins::new().with(Onlooker);
        Ok(Self { registry: Registry::new(), plugins, model: model::<Chat>(job)? })
    }

    async fn run(&self, _: &Job, tally: &mut Tally) -> Result<()> {
        let answer = stream_text(&self.registry, Arc::clone(&self.model), request()).with_plugins(&self.plugins);
        drain(answer.await?, tally).await
    }
}

fn main() {
    bench_peer::main::<Core>();
}
