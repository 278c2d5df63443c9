use ai_provider::{CallContext, Id, ModelError, ModelStream, Request, ResponseFormat, StreamPart};

use super::text::{TextPieces, begun, split_front};
use super::{Middleware, Next, PartTransform, Parts, transform_parts};

/// Takes JSON out of the Markdown fences that some models put around it.
///
/// Concerns only answers to requests that ask for JSON. Where a text holds a fence, what is inside of the first
/// one takes its place; a text without one is passed on as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExtractJson;

/// How much text before a fence is held back, in bytes. 8 KiB: a preamble is a sentence or two; a text that is
/// longer has no fence to wait for.
const PREAMBLE: usize = 8 << 10;

impl Middleware for ExtractJson {
    fn name(&self) -> &str {
        "extract-json"
    }

    fn wrap_stream(&self, next: Next, request: Request, ctx: CallContext) -> ModelStream {
        let wanted = matches!(request.response_format, ResponseFormat::Json { .. });
        let stream = next.stream(request, ctx);
        if wanted { transform_parts(stream, Extract::default()) } else { stream }
    }
}

#[derive(Default)]
struct Extract {
    blocks: Vec<(TextPieces, Unfence)>,
}

impl Extract {
    fn end(&mut self, at: usize, out: &mut Parts) {
        let (mut text, unfence) = self.blocks.remove(at);
        text.text(unfence.end(), out);
        text.end(true, out);
    }

    fn end_all(&mut self, out: &mut Parts) {
        while !self.blocks.is_empty() {
            self.end(0, out);
        }
    }
}

impl PartTransform for Extract {
    fn part(&mut self, part: StreamPart, out: &mut Parts) -> Result<(), ModelError> {
        let of = |blocks: &[(TextPieces, Unfence)], id: &Id| {
            blocks.iter().position(|(text, _)| text.source() == id)
        };
        match part {
            StreamPart::TextStart { id, metadata } => {
                self.blocks.push((TextPieces::new(id, metadata), Unfence::default()));
            }
            StreamPart::TextDelta { id, delta, metadata } => match of(&self.blocks, &id) {
                Some(at) => {
                    if let Some((text, unfence)) = self.blocks.get_mut(at) {
                        text.attach(metadata);
                        text.text(unfence.push(delta), out);
                    }
                }
                None => out.push(StreamPart::TextDelta { id, delta, metadata }),
            },
            StreamPart::TextEnd { id, metadata } => match of(&self.blocks, &id) {
                Some(at) => {
                    if let Some((text, _)) = self.blocks.get_mut(at) {
                        text.attach(metadata);
                    }
                    self.end(at, out);
                }
                None => out.push(StreamPart::TextEnd { id, metadata }),
            },
            StreamPart::Finish(_) => {
                self.end_all(out);
                out.push(part);
            }
            other => out.push(other),
        }
        Ok(())
    }

    fn failed(&mut self, _error: Option<&ModelError>, out: &mut Parts) {
        self.end_all(out);
    }
}

/// What is in the first fence of a text, or all of it if there is none.
pub(crate) fn unfence(text: &str) -> String {
    let mut unfence = Unfence::default();
    let mut content = unfence.push(text.to_owned());
    content.push_str(&unfence.end());
    content
}

/// Reads text piece by piece and gives what is in its first fence, or all of it if there is none.
#[derive(Debug, Default)]
struct Unfence {
    at: At,
    held: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    /// Before a fence, if one comes.
    #[default]
    Before,
    /// On the line of the opening fence.
    Opening,
    /// At the beginning of the content.
    First,
    Inside,
    After,
    /// There is no fence.
    Plain,
}

const FENCE: &str = "```";
/// JSON has no raw line break in its strings, so this cannot stand in a value.
const CLOSING: &str = "\n```";

impl Unfence {
    /// Takes more text and gives what is clear by now.
    fn push(&mut self, text: String) -> String {
        match self.at {
            At::Plain => return text,
            At::After => return String::new(),
            _ => self.held.push_str(&text),
        }
        loop {
            match self.at {
                At::Before => {
                    let starts_as_json = self.held.trim_start().starts_with(['{', '[', '"']);
                    if starts_as_json || self.held.len() > PREAMBLE {
                        self.at = At::Plain;
                        return std::mem::take(&mut self.held);
                    }
                    let Some(begin) = self.held.find(FENCE) else { return String::new() };
                    if !self.held.split_at(begin).1.contains('\n') {
                        return String::new();
                    }
                    self.at = At::Opening;
                }
                At::Opening => {
                    let after = self.held.find(FENCE).map_or(0, |begin| begin + FENCE.len());
                    let line = self.held.split_at(after).1.find('\n').map_or(0, |end| end + 1);
                    split_front(&mut self.held, after + line);
                    self.at = At::First;
                }
                At::First if self.held.starts_with(FENCE) => {
                    self.held.clear();
                    self.at = At::After;
                    return String::new();
                }
                At::First if FENCE.starts_with(&self.held) => return String::new(),
                At::First => self.at = At::Inside,
                At::Inside => {
                    let (end, over) = match self.held.find(CLOSING) {
                        Some(end) => (end, true),
                        None => (self.held.len() - begun(&self.held, CLOSING), false),
                    };
                    let content = split_front(&mut self.held, end);
                    if over {
                        self.held.clear();
                        self.at = At::After;
                    }
                    return content;
                }
                At::After | At::Plain => return String::new(),
            }
        }
    }

    /// The text is over: gives what was held back.
    fn end(self) -> String {
        match self.at {
            At::Before | At::Inside | At::Plain => self.held,
            At::Opening | At::First | At::After => String::new(),
        }
    }
}
