//! Where the program shows what happens: a screen, or lines of JSON.

use std::io::{self, IsTerminal, Stderr, Stdout, Write};
use std::time::Duration;

use agent_loop::UiChunk;
use anstream::AutoStream;
use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;
use crate::render::{Screen, Summary, json_line, summary_line};
use crate::text::visible_line;

/// The two standard streams. Styles are written only where a terminal wants them (`NO_COLOR` and pipes do not).
#[derive(Debug)]
pub(crate) struct View {
    screen: Screen<Stdout, AutoStream<Stderr>>,
    json: bool,
    spinner: Option<ProgressBar>,
}

impl View {
    pub(crate) fn new(json: bool) -> Self {
        let shared = io::stdout().is_terminal() && io::stderr().is_terminal();
        Self { screen: Screen::new(io::stdout(), anstream::stderr(), shared), json, spinner: None }
    }

    /// Shows that something is waited for, until the next chunk that shows something. Only on a terminal.
    pub(crate) fn wait(&mut self, model: &str) {
        if self.json || self.spinner.is_some() {
            return;
        }
        let spinner = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            spinner.set_style(style);
        }
        spinner.set_message(visible_line(model));
        self.spinner = (!spinner.is_hidden()).then_some(spinner);
    }

    /// Whether a spinner turns.
    pub(crate) fn waits(&self) -> bool {
        self.spinner.is_some()
    }

    /// Turns it. Not in the first moment: an answer that comes at once needs none.
    pub(crate) fn tick(&self) {
        if let Some(spinner) = self.spinner.as_ref().filter(|spinner| spinner.elapsed() > Duration::from_millis(150)) {
            spinner.tick();
        }
    }

    fn stop_waiting(&mut self) {
        if let Some(spinner) = self.spinner.take() {
            spinner.finish_and_clear();
        }
    }

    /// See [`Screen::chunk`].
    pub(crate) fn chunk(&mut self, chunk: &UiChunk) -> io::Result<()> {
        if self.json {
            let mut out = io::stdout().lock();
            writeln!(out, "{}", json_line(chunk)?)?;
            return out.flush();
        }
        if Screen::<Stdout, AutoStream<Stderr>>::shows(chunk) {
            self.stop_waiting();
        }
        self.screen.chunk(chunk)
    }

    /// See [`Screen::note`].
    pub(crate) fn note(&mut self, text: &str) -> io::Result<()> {
        self.stop_waiting();
        self.screen.note(text)
    }

    /// What an answer took, on a line of its own; chunks alone go without.
    pub(crate) fn summary(&mut self, summary: &Summary<'_>) -> io::Result<()> {
        if self.json { Ok(()) } else { self.note(&format!("[{}]", summary_line(summary))) }
    }

    /// Shows a failure.
    pub(crate) fn failure(&mut self, failure: &Failure) -> io::Result<()> {
        self.stop_waiting();
        self.screen.error(&failure.message, failure.advice.as_deref())
    }

    /// Ends the lines that are open.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        self.stop_waiting();
        self.screen.end()
    }
}
