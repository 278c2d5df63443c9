//! `chat`: talk to any language model from the terminal.
//!
//! The program is thin: its parts are the layers of the SDK (a model from `ai-openai` or the embedded demo, the
//! loop of `ai-core`, the agent of `agent-loop`), a set of safe tools, a configuration and a screen.
//!
//! | part | what it is |
//! |---|---|
//! | `cli`, `config`, `setup` | flags, file and environment, merged by one pure function |
//! | `models`, `demo` | the model a setup names; the model inside the program |
//! | `tools` | clock, calculator, files under one folder |
//! | `session`, `ask`, `talk` | one answer; one question; a conversation |
//! | `mcp`, `consent` | tools of MCP servers; whether a tool with effects may run |
//! | `render`, `view`, `failure` | what the user sees of all that |

mod ask;
mod attempts;
mod cli;
mod config;
mod consent;
mod demo;
mod failure;
mod mcp;
mod models;
mod render;
mod session;
mod setup;
mod talk;
mod text;
mod tools;
mod view;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use tracing_subscriber::EnvFilter;

use crate::cli::{Cli, Command, Mcp};
use crate::failure::Failure;
use crate::session::Session;
use crate::view::View;

/// Runs the program on the arguments of the process.
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to standard output and are no failure. If neither can be written, who would
            // read of it?
            let _ = error.print();
            return u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from);
        }
    };
    let Some(command) = &cli.command else {
        let _ = Cli::command().print_help();
        return ExitCode::SUCCESS;
    };
    log(cli.options.verbose);
    let mut view = View::new(matches!(command, Command::Ask(ask) if ask.json));
    match execute(&cli, command, &mut view) {
        Ok(code) => code.into(),
        Err(failure) => {
            if failure.code != 0 {
                let _ = view.failure(&failure);
            }
            failure.code.into()
        }
    }
}

fn execute(cli: &Cli, command: &Command, view: &mut View) -> Result<u8, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("the program cannot start: {error}")))?;
    let result = runtime.block_on(async {
        if let Command::Mcp(Mcp::List) = command {
            return mcp::show(&session::read_config(&cli.options)?, view).await;
        }
        let session = Session::open(&cli.options, view).await?;
        let result = match command {
            Command::Talk => talk::talk(&session, view).await,
            Command::Ask(ask) => ask::ask(&session, ask, view).await.map(|()| 0),
            Command::Mcp(_) => Ok(0),
        };
        session.close().await;
        result
    });
    // A read of standard input that nobody waits for any more must not hold up the end.
    runtime.shutdown_background();
    result
}

/// Logs of our own layers, on standard error. Those of other libraries may hold what was sent, and are there only
/// if `RUST_LOG` asks for them.
fn log(verbose: u8) {
    let level = match verbose {
        0 => "off",
        1 => "debug",
        _ => "trace",
    };
    let ours = ["ai_provider", "ai_http", "ai_openai", "ai_core", "ai_mcp", "agent_loop", "chat"];
    let usual = ours.map(|name| format!("{name}={level}")).join(",");
    let filter = match std::env::var("RUST_LOG") {
        Ok(asked) if !asked.is_empty() => asked,
        _ => usual,
    };
    let (filter, colour) = (EnvFilter::builder().parse_lossy(filter), std::io::stderr().is_terminal());
    let log =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colour);
    let _ = log.try_init();
}
