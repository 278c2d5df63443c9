//! `cargo xtask deps`: the layer table, the number of external crates and the rust-version, from cargo's own data.

use std::path::Path;
use std::process::ExitCode;

use layers::{layer_of, violations};
use table::{LIMITS, MSRV, Role};

use crate::metadata::Metadata;
use crate::support::{Args, Result, columns, exit, root};

mod layers;
mod table;
#[cfg(test)]
mod tests;
mod tree;

pub(crate) const HELP: &str = "\
Proves the layer table from cargo metadata.

Usage: cargo xtask deps

Wrong are: a package that is not in the table; code that uses one of ours the table does not allow it; an
external crate that belongs to another package; tokio features beyond those named; more external crates than the
limit; a dependency of the lower crates that needs a newer compiler than they promise. Dev-dependencies are free.

The table is xtask/src/deps/table.rs.
";

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    args.finish("deps")?;
    let wrong = read(&root()?)?;
    Ok(exit(wrong == 0))
}

/// The task as a stage of `test-all`.
pub(crate) fn stage(root: &Path) -> Result<()> {
    match read(root)? {
        0 => Ok(()),
        count => Err(format!("{count} things wrong with the dependencies").into()),
    }
}

/// Prints what it finds and counts what is wrong.
fn read(root: &Path) -> Result<usize> {
    let metadata = Metadata::load(root)?;
    let mut wrong = violations(&metadata, root);
    println!("{} packages against the layer table", metadata.members.len());

    let mut rows = vec![["external crates of", "count", "limit"].map(str::to_owned).to_vec()];
    for &(packages, limit) in LIMITS {
        if packages.iter().any(|package| !metadata.members.contains_key(*package)) {
            continue;
        }
        let count = tree::external(root, packages, &metadata)?.len();
        let what = packages.join(" + ");
        if count > limit {
            wrong.push(format!("{what} brings {count} external crates; {limit} at most"));
        }
        rows.push(vec![what, count.to_string(), limit.to_string()]);
    }
    print!("{}", columns(&rows));

    let mut core = 0;
    for package in metadata.members.values() {
        if layer_of(package, root).is_none_or(|layer| layer.role != Role::Core) {
            continue;
        }
        core += 1;
        let all = tree::everything(root, &package.name, &metadata)?;
        for ((name, version), needs) in tree::too_new(&all, &metadata) {
            wrong.push(format!("{} promises Rust {MSRV}, but {name} {version} needs {needs}", package.name));
        }
    }
    println!("{core} packages promise Rust {MSRV}; their dependencies' declarations were read");
    for sentence in &wrong {
        println!("wrong: {sentence}");
    }
    Ok(wrong.len())
}
