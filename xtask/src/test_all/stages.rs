//! The stages: quick ones first, so that what is wrong shows early.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::{Done, Recordings, Setup, Stage, browser, mcp, redis, ui_client};
use crate::metadata::Metadata;
use crate::support::{Error, Result, packages_in, shown};
use crate::{cargo, deps, rows};

pub(super) const ALL: &[Stage] = &[
    Stage { name: "recordings", what: "recorded traffic of real providers is at hand", run: recordings },
    Stage { name: "redis", what: "a Redis server is at hand, for the stage `test`", run: redis::run },
    Stage { name: "fmt", what: "cargo fmt", run: fmt },
    Stage { name: "rows", what: "every row of the behaviour tables has a test", run: rows_stage },
    Stage { name: "deps", what: "layers, external crates, rust-version", run: deps_stage },
    Stage { name: "clippy", what: "lints, all features", run: clippy },
    Stage { name: "test", what: "unit and integration tests, all features", run: test },
    Stage { name: "doc", what: "examples in documentation", run: doc },
    Stage { name: "features", what: "every library without its default features", run: features },
    Stage { name: "consumers", what: "projects of their own that use single crates", run: consumers },
    Stage { name: "examples", what: "examples, built and run", run: examples },
    Stage { name: "ui-client", what: "the AI SDK's own reader, at each level", run: ui_client::run },
    Stage { name: "browser", what: "the page of chat serve, in Chromium", run: browser::run },
    Stage { name: "mcp", what: "MCP servers of others, over stdio and HTTP", run: mcp::run },
    Stage { name: "deny", what: "licences, sources, duplicates of dependencies", run: deny },
];

/// An example is there to be read, not to work long.
const EXAMPLE_LIMIT: Duration = Duration::from_secs(60);

/// The settings of `deny.toml` are those of this line of versions.
const DENY: &str = "^0.20";

fn recordings(setup: &Setup<'_>) -> Result<Done> {
    Ok(match &setup.recordings {
        Recordings::At(folder) => Done::Passed(folder.display().to_string()),
        Recordings::Missing(folder) => {
            Done::Skipped(format!("no folder {}; set RECORDINGS", folder.display()))
        }
    })
}

fn fmt(setup: &Setup<'_>) -> Result<Done> {
    cargo::run(setup.cargo().args(["fmt", "--all", "--check"]))?;
    Ok(Done::PASSED)
}

fn rows_stage(setup: &Setup<'_>) -> Result<Done> {
    rows::stage(setup.root)?;
    Ok(Done::PASSED)
}

fn deps_stage(setup: &Setup<'_>) -> Result<Done> {
    deps::stage(setup.root)?;
    Ok(Done::PASSED)
}

fn clippy(setup: &Setup<'_>) -> Result<Done> {
    let args = ["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"];
    cargo::run(setup.cargo().args(args))?;
    Ok(Done::PASSED)
}

fn test(setup: &Setup<'_>) -> Result<Done> {
    let mut command = setup.cargo();
    if cargo::works(setup.cargo().args(["nextest", "--version"])) {
        let config = setup.root.join("xtask/nextest.toml");
        command.args([
            "nextest",
            "run",
            "--workspace",
            "--all-features",
            "--no-tests=pass",
            "--no-fail-fast",
        ]);
        command.arg("--tool-config-file").arg(format!("xtask:{}", config.display()));
    } else {
        command.args([
            "test",
            "--workspace",
            "--all-features",
            "--lib",
            "--bins",
            "--tests",
            "--no-fail-fast",
        ]);
    }
    cargo::run(&mut command)?;
    Ok(Done::PASSED)
}

fn doc(setup: &Setup<'_>) -> Result<Done> {
    cargo::run(setup.cargo().args(["test", "--doc", "--workspace", "--all-features", "--no-fail-fast"]))?;
    Ok(Done::PASSED)
}

fn features(setup: &Setup<'_>) -> Result<Done> {
    let metadata = Metadata::load(setup.root)?;
    let crates = setup.root.join("crates");
    let libraries = metadata
        .members
        .values()
        .filter(|package| package.has_library && package.folder.starts_with(&crates));
    // One at a time: together, what one turns on would be on for all.
    each(libraries.map(|package| package.name.as_str()), "libraries", |name| {
        cargo::run(setup.cargo().args(["check", "-p", name, "--no-default-features"]))
    })
}

fn consumers(setup: &Setup<'_>) -> Result<Done> {
    let target = Metadata::load(setup.root)?.target_directory.join("consumers");
    let folders = packages_in(&setup.root.join("tests/consumers"))?;
    let names: Vec<String> = folders.iter().map(|folder| shown(folder, setup.root)).collect();
    each(names.iter().map(String::as_str), "consumers", |folder| {
        for verb in ["build", "test"] {
            let manifest = Path::new(folder).join("Cargo.toml");
            let mut command = setup.cargo();
            // A folder for all of them: what they share is built once, apart from our own build.
            command.arg(verb).arg("--manifest-path").arg(manifest).env("CARGO_TARGET_DIR", &target);
            cargo::run(&mut command)?;
        }
        Ok(())
    })
}

fn examples(setup: &Setup<'_>) -> Result<Done> {
    let metadata = Metadata::load(setup.root)?;
    let folders = packages_in(&setup.root.join("examples"))?;
    let debug = metadata.target_directory.join("debug");
    let mut names = Vec::new();
    for folder in &folders {
        match metadata.members.values().find(|package| package.folder == *folder) {
            Some(package) => names.push(package.name.as_str()),
            None => return Err(format!("{} is no member of the workspace", shown(folder, setup.root)).into()),
        }
    }
    each(names.into_iter(), "examples", |name| {
        let Some(package) = metadata.members.get(name) else { return Ok(()) };
        cargo::run(setup.cargo().args(["build", "-p", name]))?;
        for binary in &package.binaries {
            let program = debug.join(binary).with_extension(std::env::consts::EXE_EXTENSION);
            let mut command = Command::new(program);
            command.current_dir(setup.root).args(&package.run_args);
            setup.environment(&mut command);
            cargo::run_within(&mut command, EXAMPLE_LIMIT)?;
        }
        Ok(())
    })
}

fn deny(setup: &Setup<'_>) -> Result<Done> {
    if !cargo::works(setup.cargo().args(["deny", "--version"])) {
        println!("cargo-deny is not installed; building it takes a minute or two, once");
        // Unoptimised: it is built far longer than it runs.
        let args = ["install", "--debug", "--locked", "cargo-deny", "--version", DENY];
        if let Err(error) = cargo::run(setup.cargo().args(args)) {
            return Ok(Done::Skipped(format!("cargo-deny cannot be installed: {error}")));
        }
    }
    // Not the advisories: they change while the code does not, and need a database from the network.
    let args = ["deny", "check", "--hide-inclusion-graph", "bans", "licenses", "sources"];
    cargo::run(setup.cargo().args(args))?;
    Ok(Done::PASSED)
}

/// Does the same for each, all of them even if one fails.
fn each<'a>(
    names: impl Iterator<Item = &'a str>,
    what: &str,
    act: impl Fn(&str) -> Result<()>,
) -> Result<Done> {
    let (mut count, mut failed) = (0, Vec::new());
    for name in names {
        count += 1;
        if let Err(error) = act(name) {
            println!("{name}: {error}");
            failed.push(name);
        }
    }
    match failed.as_slice() {
        [] => Ok(Done::Passed(format!("{count} {what}"))),
        some => Err(Error::from(format!("{} of {count} {what}: {}", some.len(), some.join(", ")))),
    }
}
