//! Writes the seeds into the folders libFuzzer reads: `fuzz/corpus/TARGET/seed-NAME`.

use std::fs;
use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
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
