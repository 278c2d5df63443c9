use std::fmt;
use std::io::{self, IsTerminal};

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Stdin};
use tokio::signal::ctrl_c;

use crate::ask::MAX_QUESTION;
use crate::failure::Failure;

/// Where questions come from.
pub(super) enum Input {
    /// A person, with editing and the lines of before.
    Person(Box<DefaultEditor>),
    /// A pipe or a file.
    Pipe(BufReader<Stdin>),
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Text(String),
    Interrupted,
    End,
}

impl Input {
    /// A person's, if both ends are a terminal.
    pub(super) fn open() -> Result<Self, Failure> {
        if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
            return Ok(Self::Pipe(BufReader::new(tokio::io::stdin())));
        }
        let editor = DefaultEditor::new();
        editor.map(|editor| Self::Person(Box::new(editor))).map_err(failure)
    }

    /// Whether a person types.
    pub(super) fn is_interactive(&self) -> bool {
        matches!(self, Self::Person(_))
    }

    /// The next line.
    pub(super) async fn next(&mut self) -> Result<Line, Failure> {
        match self {
            // Blocks the thread, on which nothing else is to be done meanwhile.
            Self::Person(editor) => match editor.readline("> ") {
                Ok(line) => {
                    editor.add_history_entry(&line).map_err(failure)?;
                    Ok(Line::Text(line))
                }
                Err(ReadlineError::Interrupted) => Ok(Line::Interrupted),
                Err(ReadlineError::Eof) => Ok(Line::End),
                Err(error) => Err(failure(error)),
            },
            Self::Pipe(lines) => tokio::select! {
                biased;
                _ = ctrl_c() => Ok(Line::Interrupted),
                line = read_line(lines) => line,
            },
        }
    }
}

async fn read_line(lines: &mut BufReader<Stdin>) -> Result<Line, Failure> {
    let mut bytes = Vec::new();
    lines.take(MAX_QUESTION + 1).read_until(b'\n', &mut bytes).await.map_err(failure)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_QUESTION {
        return Err(Failure::usage(format!("a line of standard input is larger than {MAX_QUESTION} bytes")));
    }
    match String::from_utf8(bytes) {
        Ok(line) if line.is_empty() => Ok(Line::End),
        Ok(line) => Ok(Line::Text(line)),
        Err(_) => Err(Failure::usage("a line of standard input is not UTF-8 text")),
    }
}

fn failure(error: impl fmt::Display) -> Failure {
    Failure::new(format!("standard input cannot be read: {error}"))
}
