use ai_provider::{CallContext, Id, ModelError, ModelStream, Request, StreamPart};

use super::text::{HELD_WHITE_SPACE, TextPieces, begun};
use super::{Middleware, Next, PartTransform, Parts, transform_parts};

/// Makes reasoning of what a model writes as text between tags: `<think>plan</think>Hello` becomes the
/// reasoning `plan` and the text `Hello`.
///
/// Only a block that opens the first text of an answer counts, after white space if need be: a tag further on is
/// what the model talks about. A block that is never closed is reasoning to its end. Nothing happens in an answer
/// that has reasoning of its own before its first text. All that is held back is what may be a tag or what is
/// white space before one, and it is passed on as soon as it cannot be.
///
/// ```
/// use ai_core::middleware::{ExtractReasoning, Middleware, wrap};
/// use ai_provider::LanguageModel;
/// use std::sync::Arc;
///
/// fn with_reasoning(model: Arc<dyn LanguageModel>) -> Arc<dyn LanguageModel> {
///     wrap(model, [Arc::new(ExtractReasoning::new("think")) as Arc<dyn Middleware>])
/// }
/// ```
#[derive(Clone, Debug)]
pub struct ExtractReasoning {
    open: String,
    close: String,
    anywhere: bool,
    starts_inside: bool,
}

impl ExtractReasoning {
    /// For this tag: `think` stands for `<think>` and `</think>`.
    pub fn new(tag: &str) -> Self {
        Self { open: format!("<{tag}>"), close: format!("</{tag}>"), anywhere: false, starts_inside: false }
    }

    /// Extracts blocks wherever they stand, in each text of an answer. Text around a block becomes several text
    /// blocks.
    #[must_use]
    pub fn anywhere(mut self) -> Self {
        self.anywhere = true;
        self
    }

    /// For models whose prompt ends with the opening tag: the first text begins as reasoning, with or without the
    /// tag. An answer without the closing tag is then all reasoning.
    #[must_use]
    pub fn starts_inside(mut self) -> Self {
        self.starts_inside = true;
        self
    }
}

impl Middleware for ExtractReasoning {
    fn name(&self) -> &str {
        "extract-reasoning"
    }

    fn wrap_stream(&self, next: Next, request: Request, ctx: CallContext) -> ModelStream {
        let extract = Extract { rules: self.clone(), blocks: Vec::new(), begun: false, native: false };
        transform_parts(next.stream(request, ctx), extract)
    }
}

struct Extract {
    rules: ExtractReasoning,
    blocks: Vec<Block>,
    /// Whether a text has begun.
    begun: bool,
    /// Whether the model has reasoning of its own.
    native: bool,
}

/// A text block whose text is looked at.
struct Block {
    text: TextPieces,
    at: At,
    /// Not yet passed on.
    held: String,
    /// White space before the first tag: it stays with the text.
    lead: String,
    reasonings: u32,
}

enum At {
    /// At the beginning: white space, or what may become the opening tag.
    Lead,
    /// In reasoning, in the block of this id if it has text.
    Inside(Option<Id>),
    /// In text.
    Text,
}

impl PartTransform for Extract {
    fn part(&mut self, part: StreamPart, out: &mut Parts) -> Result<(), ModelError> {
        match part {
            StreamPart::TextStart { id, metadata }
                if !self.native && (self.rules.anywhere || !self.begun) =>
            {
                let at = if self.rules.starts_inside && self.begun { At::Text } else { At::Lead };
                self.begun = true;
                let text = TextPieces::new(id, metadata);
                self.blocks.push(Block { text, at, held: String::new(), lead: String::new(), reasonings: 0 });
            }
            StreamPart::TextDelta { id, delta, metadata } => match self.block(&id) {
                Some(at) => {
                    let (rules, Some(block)) = (&self.rules, self.blocks.get_mut(at)) else { return Ok(()) };
                    let as_it_is = matches!(block.at, At::Text) && !rules.anywhere;
                    if as_it_is && block.text.is_source_open() {
                        out.push(StreamPart::TextDelta { id, delta, metadata });
                        return Ok(());
                    }
                    block.text.attach(metadata);
                    block.held.push_str(&delta);
                    block.read(rules, out);
                }
                None => out.push(StreamPart::TextDelta { id, delta, metadata }),
            },
            StreamPart::TextEnd { id, metadata } => match self.block(&id) {
                Some(at) => {
                    let mut block = self.blocks.remove(at);
                    block.text.attach(metadata);
                    block.end(&self.rules, out);
                }
                None => out.push(StreamPart::TextEnd { id, metadata }),
            },
            StreamPart::ReasoningStart { .. } => {
                self.native = true;
                for block in &mut self.blocks {
                    block.give_up(out);
                }
                out.push(part);
            }
            StreamPart::Finish(_) => {
                self.end_all(out);
                out.push(part);
            }
            StreamPart::TextStart { .. } => {
                self.begun = true;
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

impl Extract {
    fn block(&self, id: &Id) -> Option<usize> {
        self.blocks.iter().position(|block| block.text.source() == id)
    }

    fn end_all(&mut self, out: &mut Parts) {
        for mut block in std::mem::take(&mut self.blocks) {
            block.end(&self.rules, out);
        }
    }
}

impl Block {
    /// Passes on what is held, as far as it is clear what it is. Linear in its length, however many tags it holds.
    fn read(&mut self, rules: &ExtractReasoning, out: &mut Parts) {
        let text = std::mem::take(&mut self.held);
        let mut rest = text.as_str();
        loop {
            match &self.at {
                At::Lead => {
                    let trimmed = rest.trim_start();
                    let white = rest.len() - trimmed.len();
                    if let Some(after) = trimmed.strip_prefix(&*rules.open) {
                        self.lead = rest.split_at(white).0.to_owned();
                        self.at = At::Inside(None);
                        rest = after;
                    } else if rules.open.starts_with(trimmed) && white <= HELD_WHITE_SPACE {
                        break;
                    } else {
                        self.at = if rules.starts_inside { At::Inside(None) } else { At::Text };
                    }
                }
                At::Inside(open) => match rest.split_once(&*rules.close) {
                    Some((reasoning, after)) => {
                        self.reason(reasoning, out);
                        self.end_reasoning(out);
                        self.text.text(std::mem::take(&mut self.lead), out);
                        rest = after;
                    }
                    None => {
                        let (sure, held) = rest.split_at(rest.len() - begun(rest, &rules.close));
                        if open.is_some() || is_worth_a_block(sure) {
                            self.reason(sure, out);
                            rest = held;
                        }
                        break;
                    }
                },
                At::Text => match rest.split_once(&*rules.open) {
                    Some((text, after)) if rules.anywhere => {
                        self.text.text(text.to_owned(), out);
                        self.text.cut(out);
                        self.at = At::Inside(None);
                        rest = after;
                    }
                    _ => {
                        let begun = if rules.anywhere { begun(rest, &rules.open) } else { 0 };
                        let (sure, held) = rest.split_at(rest.len() - begun);
                        self.text.text(sure.to_owned(), out);
                        rest = held;
                        break;
                    }
                },
            }
        }
        self.held.push_str(rest);
    }

    fn reason(&mut self, delta: &str, out: &mut Parts) {
        let At::Inside(open) = &mut self.at else { return };
        let id = match open {
            Some(id) => id.clone(),
            None if !is_worth_a_block(delta) => return,
            None => {
                let id = Id::from(format!("{}.reasoning.{}", self.text.source(), self.reasonings));
                self.reasonings += 1;
                *open = Some(id.clone());
                out.push(StreamPart::reasoning_start(id.clone()));
                id
            }
        };
        if !delta.is_empty() {
            out.push(StreamPart::reasoning_delta(id, delta));
        }
    }

    fn end_reasoning(&mut self, out: &mut Parts) {
        if let At::Inside(Some(id)) = std::mem::replace(&mut self.at, At::Text) {
            out.push(StreamPart::reasoning_end(id));
        }
    }

    /// The model reasons elsewhere: a tag that has not been read yet is text.
    fn give_up(&mut self, out: &mut Parts) {
        if matches!(self.at, At::Lead) {
            self.at = At::Text;
            let text = std::mem::take(&mut self.held);
            self.text.text(text, out);
        }
    }

    fn end(&mut self, rules: &ExtractReasoning, out: &mut Parts) {
        if matches!(self.at, At::Lead) {
            self.at = if rules.starts_inside { At::Inside(None) } else { At::Text };
        }
        let rest = std::mem::take(&mut self.held);
        match self.at {
            At::Inside(_) => {
                self.reason(&rest, out);
                self.end_reasoning(out);
                self.text.end(false, out);
            }
            _ => {
                self.text.text(rest, out);
                self.text.end(self.reasonings == 0, out);
            }
        }
    }
}

/// Models that were told not to reason write an empty block: white space alone opens none.
fn is_worth_a_block(reasoning: &str) -> bool {
    !reasoning.trim().is_empty() || reasoning.len() > HELD_WHITE_SPACE
}
