//! The server that every peer talks to.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use super::peer::pinned;
use crate::support::{Context, Result};

/// The mock provider as a process of its own; it ends with this value.
#[derive(Debug)]
pub(super) struct Mock {
    process: Child,
    base_url: String,
}

impl Mock {
    pub(super) fn start(programs: &Path) -> Result<Self> {
        let mut process = pinned(0, &programs.join("mock"))
            .stdout(Stdio::piped())
            .spawn()
            .context("the mock does not start")?;
        let output = process.stdout.take().ok_or("the mock has no output")?;
        let mut port = String::new();
        BufReader::new(output).read_line(&mut port).context("the mock does not say its port")?;
        let base_url = format!("http://127.0.0.1:{}/v1", port.trim());
        Ok(Self { process, base_url })
    }

    pub(super) fn base_url(&self) -> &str {
        &self.base_url
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to end.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
