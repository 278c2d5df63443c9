//! The whole stack, through the manager to one reader that writes bytes for a browser.

use bench_peer::{Job, Peer, Result, Tally};
use peer_ours::Managed;

struct OneReader(Managed);

impl Peer for OneReader {
    const NAME: &'static str = "ours-manager";

    fn new(job: &Job) -> Result<Self> {
        Ok(Self(Managed::new(job)?))
    }

    async fn run(&self, job: &Job, tally: &mut Tally) -> Result<()> {
        self.0.run(job, tally, 0).await
    }
}

fn main() {
    bench_peer::main::<OneReader>();
}
