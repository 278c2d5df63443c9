//! What the program writes about itself.

use std::fs::File;
use std::io::IsTerminal;
use std::sync::Mutex;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::FmtSpan;

use crate::config::{LogFormat, TracingConfig};
use crate::failure::Failure;

/// The modules of our own layers.
const OURS: [&str; 12] = [
    "agent_loop",
    "ai",
    "ai_anthropic",
    "ai_core",
    "ai_google",
    "ai_http",
    "ai_mcp",
    "ai_openai",
    "chat",
    "retry",
    "stream_manager",
    "stream_store_sqlite",
];

/// Logs what happens, to standard error or to a file: what `RUST_LOG` asks for, else `-v`, else the configuration.
/// Without any of them nothing is logged. Logs of other libraries may hold what was sent, and are there only if a
/// filter asks for them.
///
/// # Errors
/// If the file cannot be written, or the filter of the configuration cannot be read.
pub(crate) fn start(verbose: u8, config: &TracingConfig) -> Result<(), Failure> {
    let asked = std::env::var("RUST_LOG").ok().filter(|asked| !asked.is_empty());
    let of_us = |level: &str| OURS.map(|name| format!("{name}={level}")).join(",");
    let filter = match (asked, verbose, &config.filter) {
        (Some(asked), _, _) => EnvFilter::builder().parse_lossy(asked),
        (None, 0, None) => return Ok(()),
        (None, 0, Some(filter)) => EnvFilter::builder().parse(filter).map_err(|error| {
            Failure::usage(format!(
                "the filter of [tracing] in the configuration file cannot be read: {error}"
            ))
        })?,
        (None, 1, _) => EnvFilter::builder().parse_lossy(of_us("debug")),
        (None, _, _) => EnvFilter::builder().parse_lossy(of_us("trace")),
    };
    let spans = if config.spans { FmtSpan::CLOSE } else { FmtSpan::NONE };
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_span_events(spans);
    let started = match (&config.file, config.format) {
        (Some(path), format) => {
            let file = File::options().create(true).append(true).open(path).map_err(|error| {
                Failure::usage(format!("the log file {} cannot be written: {error}", path.display()))
            })?;
            let log = log.with_writer(Mutex::new(file)).with_ansi(false);
            match format {
                LogFormat::Text => log.try_init(),
                LogFormat::Json => log.json().try_init(),
            }
        }
        (None, LogFormat::Text) => {
            log.with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal()).try_init()
        }
        (None, LogFormat::Json) => log.json().with_writer(std::io::stderr).try_init(),
    };
    // Somebody else logs already: that is theirs to decide.
    let _ = started;
    Ok(())
}
