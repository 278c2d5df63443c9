//! What of npm's packages a stage needs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use crate::cargo;

/// Installs what the lock file of a folder says, unless it is there already. Gives the folder's own Node, since the
/// system's may be too old.
///
/// # Errors
/// Why it cannot be installed here.
pub(super) fn install(root: &Path, name: &str) -> Result<PathBuf, String> {
    let folder = root.join(name);
    if !is_installed(&folder) {
        if !cargo::works(Command::new("npm").arg("--version")) {
            return Err("npm is not installed".to_owned());
        }
        if let Err(error) = cargo::run(Command::new("npm").current_dir(&folder).arg("ci")) {
            return Err(format!("what {name} needs cannot be installed: {error}"));
        }
    }
    Ok(folder.join("node_modules/.bin/node"))
}

/// Whether what is installed is what the lock file says; npm writes its own list last.
fn is_installed(folder: &Path) -> bool {
    let written = |name: &str| folder.join(name).metadata().and_then(|file| file.modified()).ok();
    let installed: Option<SystemTime> = written("node_modules/.package-lock.json");
    installed.is_some_and(|at| Some(at) > written("package-lock.json") && Some(at) > written("package.json"))
}
