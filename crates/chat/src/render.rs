//! Shows a run on a terminal: the answer on one stream, everything about it on the other.
//!
//! The answer's text goes to standard output, so that `chat ask … > file` keeps the answer alone. Reasoning,
//! tools, notes and usage go to standard error. Everything a model or a tool says is made harmless first.

mod summary;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io::{self, Write};

use agent_loop::UiChunk;
use ai_provider::Id;
use anstyle::{AnsiColor, Style};
use serde_json::Value;

pub(crate) use self::summary::{Summary, summary_line};
use crate::text::{shorten, visible, visible_line};

/// The most characters of a tool's input or result that are shown: with its name about a line.
const TOOL_LINE: usize = 160;

/// The most characters of a tool's name: the longest that providers take, so none of ours is cut.
const TOOL_NAME: usize = 64;

const DIM: Style = Style::new().dimmed();
const CALL: Style = AnsiColor::Cyan.on_default();
const FAILED: Style = AnsiColor::Red.on_default();
const ERROR: Style = AnsiColor::Red.on_default().bold();

/// Where a run is shown.
#[derive(Debug)]
pub(crate) struct Screen<O, E> {
    out: O,
    err: E,
    /// Whether both streams end on one terminal, where one must not go on in a line of the other.
    shared: bool,
    out_open: bool,
    err_open: bool,
    tools: HashMap<Id, String>,
}

impl<O: Write, E: Write> Screen<O, E> {
    /// Text to `out`, the rest to `err`.
    pub(crate) fn new(out: O, err: E, shared: bool) -> Self {
        Self { out, err, shared, out_open: false, err_open: false, tools: HashMap::new() }
    }

    /// Whether a chunk shows anything, so that a spinner must make place for it.
    pub(crate) fn shows(chunk: &UiChunk) -> bool {
        !matches!(
            chunk,
            UiChunk::Start { .. }
                | UiChunk::StartStep
                | UiChunk::TextStart { .. }
                | UiChunk::ReasoningStart { .. }
                | UiChunk::ToolInputStart { .. }
                | UiChunk::ToolInputDelta { .. }
                | UiChunk::Data(_)
        )
    }

    /// Shows a chunk, at once.
    ///
    /// # Errors
    /// If a stream cannot be written to.
    pub(crate) fn chunk(&mut self, chunk: &UiChunk) -> io::Result<()> {
        match chunk {
            UiChunk::TextDelta { delta, .. } => self.text(delta),
            UiChunk::TextEnd { .. } => self.end_text(),
            UiChunk::ReasoningDelta { delta, .. } => self.reasoning(delta),
            UiChunk::ReasoningEnd { .. } => self.end_line(),
            UiChunk::ToolInputAvailable { tool_call_id, tool_name, input, .. } => {
                self.tools.insert(tool_call_id.clone(), tool_name.clone());
                self.tool("→", CALL, tool_name, &plain(input))
            }
            UiChunk::ToolInputError { tool_call_id, tool_name, input, error_text, .. } => {
                self.tools.insert(tool_call_id.clone(), tool_name.clone());
                self.tool("→", CALL, tool_name, &plain(input))?;
                self.tool("✗", FAILED, tool_name, error_text)
            }
            UiChunk::ToolOutputAvailable { preliminary: Some(true), .. } => Ok(()),
            UiChunk::ToolOutputAvailable { tool_call_id, output, .. } => {
                let name = self.name(tool_call_id);
                self.tool("←", CALL, &name, &plain(output))
            }
            UiChunk::ToolOutputError { tool_call_id, error_text, .. } => {
                let name = self.name(tool_call_id);
                self.tool("✗", FAILED, &name, error_text)
            }
            UiChunk::ToolOutputDenied { tool_call_id } => {
                let name = self.name(tool_call_id);
                self.tool("✗", FAILED, &name, "denied")
            }
            UiChunk::SourceUrl { url, title, .. } => self.note(&format!(
                "source: {}",
                title.as_ref().map_or_else(|| url.clone(), |t| format!("{t} {url}"))
            )),
            UiChunk::SourceDocument { title, .. } => self.note(&format!("source: {title}")),
            UiChunk::File { media_type, .. } | UiChunk::ReasoningFile { media_type, .. } => {
                self.note(&format!("a file of type {media_type}, which a terminal cannot show"))
            }
            UiChunk::ResetStep => {
                self.note("the answer broke off and is begun again; what stands above is void")
            }
            UiChunk::Finish { .. } | UiChunk::Abort { .. } | UiChunk::Error { .. } => self.end(),
            _ => Ok(()),
        }
    }

    /// A line about the run, dim.
    ///
    /// # Errors
    /// As [`chunk`](Self::chunk).
    pub(crate) fn note(&mut self, text: &str) -> io::Result<()> {
        self.begin_line()?;
        writeln!(self.err, "{DIM}{}{DIM:#}", visible_line(text))?;
        self.err.flush()
    }

    /// What went wrong, and what to do about it.
    ///
    /// # Errors
    /// As [`chunk`](Self::chunk).
    pub(crate) fn error(&mut self, message: &str, advice: Option<&str>) -> io::Result<()> {
        self.end()?;
        writeln!(self.err, "{ERROR}error:{ERROR:#} {}", visible(message))?;
        advice.map_or(Ok(()), |advice| writeln!(self.err, "  {}", visible(advice)))?;
        self.err.flush()
    }

    /// Ends the lines that are open.
    ///
    /// # Errors
    /// As [`chunk`](Self::chunk).
    pub(crate) fn end(&mut self) -> io::Result<()> {
        self.end_text()?;
        self.end_line()
    }

    fn name(&self, call: &Id) -> String {
        self.tools.get(call).cloned().unwrap_or_else(|| "tool".to_owned())
    }

    fn text(&mut self, delta: &str) -> io::Result<()> {
        if self.shared {
            self.end_line()?;
        }
        let text = visible(delta);
        self.out.write_all(text.as_bytes())?;
        if let Some(last) = text.chars().next_back() {
            self.out_open = last != '\n';
        }
        self.out.flush()
    }

    fn reasoning(&mut self, delta: &str) -> io::Result<()> {
        if self.shared {
            self.end_text()?;
        }
        let text = visible(delta);
        // Styled line by line: a style that runs over an end of line colours what other programs write there.
        for line in text.split_inclusive('\n') {
            let words = line.trim_end_matches('\n');
            write!(self.err, "{DIM}{words}{DIM:#}{}", line.get(words.len()..).unwrap_or_default())?;
            self.err_open = words.len() == line.len();
        }
        self.err.flush()
    }

    fn tool(&mut self, sign: &str, style: Style, name: &str, text: &str) -> io::Result<()> {
        self.begin_line()?;
        let (name, text) = (visible_line(&shorten(name, TOOL_NAME)), visible_line(&shorten(text, TOOL_LINE)));
        writeln!(self.err, "{style}{sign} {name}{style:#} {DIM}{text}{DIM:#}")?;
        self.err.flush()
    }

    fn begin_line(&mut self) -> io::Result<()> {
        if self.shared {
            self.end_text()?;
        }
        self.end_line()
    }

    fn end_text(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.out_open) {
            self.out.write_all(b"\n")?;
            self.out.flush()?;
        }
        Ok(())
    }

    fn end_line(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.err_open) {
            self.err.write_all(b"\n")?;
            self.err.flush()?;
        }
        Ok(())
    }
}

/// JSON as one reads it: a text without its quotes.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A chunk as one line of JSON in which nothing can drive a terminal: JSON escapes the control characters of
/// ASCII but not those above it.
///
/// # Errors
/// If it cannot be written as JSON.
pub(crate) fn json_line(chunk: &UiChunk) -> serde_json::Result<String> {
    let json = serde_json::to_string(chunk)?;
    if !json.contains(|c: char| c.is_control()) {
        return Ok(json);
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match c.is_control() {
            // They stand inside strings alone, where this is the same character.
            true => escaped.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => escaped.push(c),
        }
    }
    Ok(escaped)
}
