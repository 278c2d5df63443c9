//! Where the program shows what happens: a screen, or lines of JSON.

use std::io::{self, IsTerminal, Stderr, Stdout, Write};
use std::time::{Duration, Instant};

use agent_loop::{DataChunk, UiChunk};
use ai_core::run::{Outcome, StepRecord};
use ai_provider::AttemptEvent;
use anstream::AutoStream;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::failure::{Failure, INTERRUPTED};
use crate::render::{Screen, Summary, json_line, summary_line};
use crate::text::visible_line;

/// The two standard streams. Styles are written only where a terminal wants them (`NO_COLOR` and pipes do not).
#[derive(Debug)]
pub(crate) struct View {
    screen: Screen<Stdout, AutoStream<Stderr>>,
    json: bool,
    waiting: Option<Waiting>,
}

/// Something is waited for.
#[derive(Debug)]
struct Waiting {
    model: String,
    since: Instant,
    spinner: Option<ProgressBar>,
}

/// How long nothing is shown of a wait.
const PATIENCE: Duration = Duration::from_millis(150);

impl View {
    pub(crate) fn new(json: bool) -> Self {
        let shared = io::stdout().is_terminal() && io::stderr().is_terminal();
        Self { screen: Screen::new(io::stdout(), anstream::stderr(), shared), json, waiting: None }
    }

    /// From now on something is waited for, until the next chunk that shows something.
    pub(crate) fn wait(&mut self, model: &str) {
        let visible = !self.json && io::stderr().is_terminal();
        self.waiting =
            visible.then(|| Waiting { model: visible_line(model), since: Instant::now(), spinner: None });
    }

    /// Whether a spinner turns, or will.
    pub(crate) fn waits(&self) -> bool {
        self.waiting.is_some()
    }

    /// Turns it. Not in the first moment: an answer that comes at once needs none.
    pub(crate) fn tick(&mut self) {
        let Some(waiting) = &mut self.waiting else { return };
        if waiting.since.elapsed() < PATIENCE {
            return;
        }
        let spinner = waiting.spinner.get_or_insert_with(|| {
            let spinner = ProgressBar::new_spinner().with_message(waiting.model.clone());
            let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}");
            style.map_or(spinner.clone(), |style| spinner.with_style(style))
        });
        spinner.tick();
    }

    /// Makes room for a question to the person.
    pub(crate) fn pause(&mut self) {
        self.stop_waiting();
    }

    fn stop_waiting(&mut self) {
        if let Some(spinner) = self.waiting.take().and_then(|waiting| waiting.spinner) {
            spinner.finish_and_clear();
        }
    }

    /// See [`Screen::chunk`].
    pub(crate) fn chunk(&mut self, chunk: &UiChunk) -> io::Result<()> {
        if self.json {
            return self.line(chunk);
        }
        if Screen::<Stdout, AutoStream<Stderr>>::shows(chunk) {
            self.stop_waiting();
        }
        self.screen.chunk(chunk)
    }

    /// What a step took and why it ended: in JSON as metadata of the message. People read the summary.
    pub(crate) fn step(&mut self, step: &StepRecord) -> io::Result<()> {
        let message_metadata = json!({ "finishReason": step.finish, "usage": step.usage });
        self.line(&UiChunk::MessageMetadata { message_metadata })
    }

    /// How a run ended that gave no answer: in JSON as data, since the error chunk has words alone. People read
    /// the message.
    pub(crate) fn outcome(&mut self, outcome: &Outcome) -> io::Result<()> {
        let data = match outcome {
            Outcome::Failed { error, .. } => json!(error),
            other => json!({ "class": other.as_str(), "message": other.to_string() }),
        };
        self.line(&UiChunk::Data(DataChunk {
            name: "error".to_owned(),
            id: None,
            data,
            transient: Some(true),
        }))
    }

    /// What happened to an attempt to call a model: in JSON, with all there is to know. People read a line when
    /// something failed.
    pub(crate) fn attempt(&mut self, attempt: &AttemptEvent) -> io::Result<()> {
        self.line(&UiChunk::Data(DataChunk {
            name: "attempt".to_owned(),
            id: None,
            data: json!(attempt),
            transient: Some(true),
        }))
    }

    fn line(&self, chunk: &UiChunk) -> io::Result<()> {
        if !self.json {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        writeln!(out, "{}", json_line(chunk)?)?;
        out.flush()
    }

    /// See [`Screen::note`].
    pub(crate) fn note(&mut self, text: &str) -> io::Result<()> {
        self.stop_waiting();
        self.screen.note(text)
    }

    /// A line of its own on standard output, for people and for programs that started this one.
    pub(crate) fn print(&mut self, line: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{line}")?;
        out.flush()
    }

    /// What an answer took, on a line of its own; chunks alone go without.
    pub(crate) fn summary(&mut self, summary: &Summary<'_>) -> io::Result<()> {
        if self.json { Ok(()) } else { self.note(&format!("[{}]", summary_line(summary))) }
    }

    /// Shows a failure. That the user interrupted is none.
    pub(crate) fn failure(&mut self, failure: &Failure) -> io::Result<()> {
        self.stop_waiting();
        if failure.code == INTERRUPTED {
            return self.screen.note(&failure.message);
        }
        self.screen.error(&failure.message, failure.advice.as_deref())
    }

    /// Ends the lines that are open.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        self.stop_waiting();
        self.screen.end()
    }
}
