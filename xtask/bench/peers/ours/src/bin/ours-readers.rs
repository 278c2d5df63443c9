//! The same with ten further readers.

use bench_peer::{Job, Peer, Result, Tally};
use peer_ours::Managed;

struct ElevenReaders(Managed);

impl Peer for ElevenReaders {
    const NAME: &'static str = "ours-readers";

    fn new(job: &Job) -> Result<Self> {
        Ok(Self(Managed::new(job)?))
    }

    async fn run(&self, job: &Job, tally: &mut Tally) -> Result<()> {
        self.0.run(job, tally, 10).await
    }
}

fn main() {
    bench_peer::main::<ElevenReaders>();
}
