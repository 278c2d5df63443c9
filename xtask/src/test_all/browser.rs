//! The page of `chat serve` in a real browser.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::{Done, Setup, node};
use crate::cargo;
use crate::metadata::Metadata;
use crate::support::Result;

const FOLDER: &str = "tests/browser";

/// What the browser is called where it is installed.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A flow takes a second or two; each waits 15 seconds at most for what does not come.
const LIMIT: Duration = Duration::from_secs(600);

pub(super) fn run(setup: &Setup<'_>) -> Result<Done> {
    let node = match node::install(setup.root, FOLDER) {
        Ok(node) => node,
        Err(why) => return Ok(Done::Skipped(why)),
    };
    let browser = match browser() {
        Ok(browser) => browser,
        Err(why) => return Ok(Done::Skipped(why)),
    };
    let screenshots = Metadata::load(setup.root)?.target_directory.join("browser");
    let mut command = Command::new(node);
    command.current_dir(setup.root.join(FOLDER)).arg("--test").env("CHROMIUM", browser);
    cargo::run_within(command.env("SCREENSHOTS", &screenshots), LIMIT)?;
    Ok(Done::Passed(format!("screenshots in {}", screenshots.display())))
}

/// The browser, installed first where that can be done.
fn browser() -> std::result::Result<PathBuf, String> {
    if let Some(path) = std::env::var_os("CHROMIUM") {
        return Ok(path.into());
    }
    if let Some(found) = installed() {
        return Ok(found);
    }
    let apt = |args: &[&str]| {
        let mut command = Command::new("apt-get");
        cargo::run(command.args(args).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    println!("Chromium is not installed; trying apt-get");
    apt(&["update", "-q"])
        .and_then(|()| apt(&["install", "-q", "-y", "--no-install-recommends", "chromium"]))
        .map_err(|error| format!("Chromium is not here and cannot be installed: {error}"))?;
    installed().ok_or_else(|| "Chromium is not on the path".to_owned())
}

fn installed() -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    let places: Vec<PathBuf> = std::env::split_paths(&paths).collect();
    BROWSERS
        .iter()
        .flat_map(|name| places.iter().map(move |place| place.join(name)))
        .find(|path| path.is_file())
}
