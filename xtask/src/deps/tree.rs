//! The external crates that come with a package, from `cargo tree`.

use std::collections::BTreeSet;
use std::path::Path;

use super::table::MSRV;
use crate::cargo;
use crate::metadata::Metadata;
use crate::support::Result;

/// Name and version.
pub(super) type Crate = (String, String);

/// The external crates in the code of these packages, as a user who adds them gets them.
pub(super) fn external(root: &Path, packages: &[&str], metadata: &Metadata) -> Result<BTreeSet<Crate>> {
    let mut command = cargo::cargo(root);
    command.args(["tree", "-e", "normal", "--no-dedupe", "--prefix", "none"]);
    for package in packages {
        command.args(["-p", package]);
    }
    Ok(parse(&cargo::output(&mut command)?, metadata))
}

/// Everything needed to build a package on any platform, with all its features.
pub(super) fn everything(root: &Path, package: &str, metadata: &Metadata) -> Result<BTreeSet<Crate>> {
    let mut command = cargo::cargo(root);
    command.args(["tree", "-e", "normal,build", "--prefix", "none", "--target", "all", "--all-features"]);
    Ok(parse(&cargo::output(command.args(["-p", package]))?, metadata))
}

/// The lines of `cargo tree --prefix none`: `name v1.2.3`, then remarks in brackets.
pub(super) fn parse(tree: &str, metadata: &Metadata) -> BTreeSet<Crate> {
    let named = tree.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let name = words.next()?;
        let version = words.next()?.strip_prefix('v')?;
        Some((name.to_owned(), version.to_owned()))
    });
    named.filter(|(name, _)| !metadata.members.contains_key(name)).collect()
}

/// Those that declare a rust-version above ours; one that declares none promises nothing and breaks nothing.
pub(super) fn too_new<'a>(crates: &'a BTreeSet<Crate>, metadata: &'a Metadata) -> Vec<(&'a Crate, &'a str)> {
    let declared = |it: &Crate| metadata.rust_versions.get(it).and_then(Option::as_deref);
    let known = crates.iter().filter_map(|it| Some((it, declared(it)?)));
    known.filter(|(_, version)| numbers(version) > numbers(MSRV)).collect()
}

/// `1.88` and `1.88.0` are the same.
fn numbers(version: &str) -> [u32; 3] {
    let mut numbers = [0; 3];
    for (number, part) in numbers.iter_mut().zip(version.split('.')) {
        *number = part.parse().unwrap_or(u32::MAX);
    }
    numbers
}
