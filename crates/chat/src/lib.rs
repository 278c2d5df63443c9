//! `chat`: talk to any language model from the terminal.
//!
//! The program is thin: its parts are the layers of the SDK (a model from `ai-openai` or the embedded demo, the
//! loop of `ai-core`, the agent of `agent-loop`), a set of safe tools, a configuration and a screen.
//!
//! | part | what it is |
//! |---|---|
//! | `cli`, `config`, `setup` | flags, file and environment, merged by one pure function |
//! | `models`, `secrets`, `demo` | the model a setup names; its keys; the model inside the program |
//! | `assemble`, `prices`, `log` | the agent with its limits; what it costs; what is logged |
//! | `check`, `catalogue` | what is wrong with a configuration; what a provider offers |
//! | `tools` | clock, calculator, files under one folder |
//! | `session`, `ask`, `talk` | one answer; one question; a conversation |
//! | `store`, `kept` | where conversations are kept; one that is |
//! | `mcp`, `consent` | tools of MCP servers; whether a tool with effects may run |
//! | `serve` | the HTTP server, and its page |
//! | `render`, `view`, `failure` | what the user sees of all that |

mod ask;
mod assemble;
mod attempts;
mod catalogue;
mod check;
mod cli;
mod config;
mod consent;
mod demo;
mod failure;
mod kept;
mod log;
mod mcp;
mod models;
mod prices;
mod render;
mod secrets;
mod serve;
mod session;
mod setup;
mod store;
mod talk;
mod text;
mod tools;
mod view;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ai_core::Approvals;
use clap::{CommandFactory, Parser};

use crate::cli::{Ask, Cli, Command, Keep, Mcp, Talk};
use crate::config::Config;
use crate::failure::Failure;
use crate::kept::Kept;
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
    let mut builder = match command {
        Command::Serve(_) => tokio::runtime::Builder::new_multi_thread(),
        // A conversation stays this program's while a person types, which blocks a thread.
        Command::Ask(Ask { keep, .. }) | Command::Talk(Talk { keep }) if keep.is_wanted() => {
            tokio::runtime::Builder::new_multi_thread()
        }
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = builder
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("the program cannot start: {error}")))?;
    let path = config_path(cli.options.config.as_deref());
    let result = runtime.block_on(async {
        match command {
            // A file that is not understood can still be checked.
            Command::Config(command) => check::run(*command, path).await,
            Command::Models(models) => {
                catalogue::list(models, &cli.options.flags(), &configured(cli, path)?).await.map(|()| 0)
            }
            Command::Serve(serve) => serve::serve(&cli.options, serve, &configured(cli, path)?, view).await,
            Command::Mcp(Mcp::List) => mcp::show(&configured(cli, path)?, view).await,
            Command::Chats => kept::list(&configured(cli, path)?, view).await.map(|()| 0),
            Command::Ask(Ask { keep, .. }) | Command::Talk(Talk { keep }) => {
                let config = configured(cli, path)?;
                let approvals = if keep.is_wanted() { Approvals::EndRun } else { Approvals::InPlace };
                let session = Session::open(&cli.options, &config, approvals, view).await?;
                let result = answer(&session, &config, command, keep, view).await;
                session.close().await;
                result
            }
        }
    });
    // A read of standard input that nobody waits for any more must not hold up the end.
    runtime.shutdown_background();
    result
}

/// Answers what is asked, in a conversation that is kept if that is wanted.
async fn answer(
    session: &Session,
    config: &Config,
    command: &Command,
    keep: &Keep,
    view: &mut View,
) -> Result<u8, Failure> {
    let mut kept = match keep.is_wanted() {
        true => Some(Kept::open(session, config, keep.id.as_deref(), view).await?),
        false => None,
    };
    let result = match command {
        Command::Ask(ask) => ask::ask(session, kept.as_mut(), ask, view).await.map(|()| 0),
        _ => talk::talk(session, kept.as_mut(), view).await,
    };
    match kept {
        Some(kept) => kept.close(view).await.and(result),
        None => result,
    }
}

/// The configuration, with the log it asks for.
fn configured(cli: &Cli, path: Option<PathBuf>) -> Result<Config, Failure> {
    let config = match path {
        Some(path) => Config::read(&path).map_err(|error| Failure::usage(error.to_string()))?,
        None => Config::default(),
    };
    log::start(cli.options.verbose, &config.tracing)?;
    Ok(config)
}

/// The configuration file: the one that is named, or the usual one if it is there.
fn config_path(named: Option<&Path>) -> Option<PathBuf> {
    let usual = || config::default_path(|name| std::env::var(name).ok()).filter(|path| path.exists());
    named.map(Path::to_owned).or_else(usual)
}
