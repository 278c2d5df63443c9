#![no_main]
//! A target in name only: it writes the seeds of the others where libFuzzer reads them, `fuzz/corpus/TARGET/seed-NAME`.
//! As a program of its own it could not share the instrumented build.

use std::fs;
use std::path::Path;

fn write_seeds() -> std::io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for target in fuzz::TARGETS {
        let folder = corpus.join(target);
        fs::create_dir_all(&folder)?;
        let seeds = fuzz::seeds::of(target)?;
        for (name, bytes) in &seeds {
            fs::write(folder.join(format!("seed-{name}")), bytes)?;
        }
        println!("{target}: {} seeds", seeds.len());
    }
    Ok(())
}

libfuzzer_sys::fuzz_target!(
    init: write_seeds().expect("the seeds cannot be written"),
    |_data: &[u8]| {}
);
