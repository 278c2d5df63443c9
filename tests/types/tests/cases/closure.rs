//! Nothing that is code can be put into a run.
use ai_core::run::{Input, Prepared, Run, RunConfig, Verdict};

fn main() {
    let mut run = Run::new([], RunConfig::default());
    let mut prepared = Prepared::default();
    prepared.tools = vec![|input: &str| input.len()];
    run.feed(Input::Prepared(prepared)).unwrap();
    run.feed(Input::Verdicts(vec![|| Verdict::SteerYield])).unwrap();
}
