use std::sync::Arc;

use ai_provider::{
    ErrorClass, Finish, Id, ModelError, RequestId, StreamPart, ToolCall, UnifiedFinish, Warning,
};
use serde::de::IgnoredAny;

use super::super::text::{HELD_WHITE_SPACE, TextPieces, begun};
use super::super::{PartTransform, Parts};
use super::{PromptCall, ToolFormat, warn};

/// The most bytes of one call. 16 MiB: what a tool's result may have, and far more than a model writes.
const MOST: usize = 16 << 20;

/// Reads calls from the text of an answer.
pub(super) struct Calls {
    format: Arc<dyn ToolFormat>,
    ids: RequestId,
    warning: Option<Warning>,
    blocks: Vec<Block>,
    calls: u32,
    /// Calls whose end never came, with whether their text ended.
    cut: Vec<PromptCall>,
}

/// A text block.
struct Block {
    text: TextPieces,
    /// Text that may be white space next to a call, or the beginning of a tag.
    held: String,
    /// The call that is being read.
    call: Option<Reading>,
    /// Whether a call came before: white space after it goes with it.
    after_call: bool,
    /// JSON strings are not looked at any more: one was never closed.
    plain: bool,
}

/// A call whose end has not come.
#[derive(Default)]
struct Reading {
    /// White space before it, which is dropped with the markup if this is a call.
    white: String,
    raw: String,
    scanned: usize,
    json: bool,
    in_string: bool,
    escaped: bool,
    /// An end that stands in a string, if that string is one.
    doubtful: Option<usize>,
}

impl Calls {
    pub(super) fn new(format: Arc<dyn ToolFormat>, ids: RequestId, warning: Option<Warning>) -> Self {
        Self { format, ids, warning, blocks: Vec::new(), calls: 0, cut: Vec::new() }
    }

    fn block(&self, id: &Id) -> Option<usize> {
        self.blocks.iter().position(|block| block.text.source() == id)
    }

    fn next_id(&mut self) -> Id {
        self.calls += 1;
        Id::from(format!("call_{}_{}", self.ids, self.calls))
    }

    fn call(&mut self, call: PromptCall, out: &mut Parts) {
        let id = self.next_id();
        out.push(StreamPart::ToolCall(Box::new(ToolCall::new(id, call.name, call.input))));
    }

    /// Reads more text of a block, as far as it is clear what it is. Linear in its length, however many calls it
    /// holds.
    fn read(&mut self, at: usize, mut text: String, out: &mut Parts) -> Result<(), ModelError> {
        let format = Arc::clone(&self.format);
        let (open, close) = format.tags();
        if let Some(block) = self.blocks.get_mut(at)
            && block.call.is_none()
        {
            text.insert_str(0, &std::mem::take(&mut block.held));
        }
        let mut from = 0;
        while let Some(block) = self.blocks.get_mut(at) {
            let rest = text.split_at(from).1;
            let Some(reading) = &mut block.call else {
                match rest.split_once(open) {
                    Some((before, after)) => {
                        let (before, white) = before.split_at(before.trim_end().len());
                        let call = Reading { white: white.to_owned(), ..Reading::default() };
                        block.pass(before.to_owned(), out);
                        block.call = Some(call);
                        from = text.len() - after.len();
                        continue;
                    }
                    None => {
                        let (sure, _) = rest.split_at(rest.len() - begun(rest, open));
                        let white = sure.len() - sure.trim_end().len();
                        let white = if white > HELD_WHITE_SPACE { 0 } else { white };
                        let (sure, held) = rest.split_at(sure.len() - white);
                        block.pass(sure.to_owned(), out);
                        block.held.push_str(held);
                        return Ok(());
                    }
                }
            };
            // No more than to the next closing tag: what is behind it is not copied.
            let taken = rest.find(close).map_or(rest.len(), |end| end + close.len());
            reading.raw.push_str(rest.split_at(taken).0);
            from += taken;
            if reading.raw.len() > MOST {
                let text = format!("a tool call in the text has more than {MOST} bytes");
                return Err(ModelError::new(ErrorClass::TooLarge, text));
            }
            match reading.find(close, block.plain) {
                Some(mut end) => {
                    // A quote too many, and the strings of two calls look like one.
                    if let Some(doubtful) = reading.doubtful
                        && !is_json(&*format, reading.raw.split_at(end).0)
                    {
                        end = doubtful;
                        block.plain = true;
                    }
                    // Something is left then, and where a closing tag was cut by the deltas.
                    let left = reading.raw.split_off(end + close.len());
                    reading.raw.truncate(end);
                    if !left.is_empty() {
                        text.replace_range(..from, &left);
                        from = 0;
                    }
                    self.end_call(at, out);
                }
                None if from == text.len() => return Ok(()),
                None => {}
            }
        }
        Ok(())
    }

    /// The call of a block is whole.
    fn end_call(&mut self, at: usize, out: &mut Parts) {
        let format = Arc::clone(&self.format);
        let (open, close) = format.tags();
        let Some(block) = self.blocks.get_mut(at) else { return };
        let Some(Reading { white, raw, .. }) = block.call.take() else { return };
        match format.parse(&raw) {
            Some(call) => {
                block.text.cut(out);
                block.after_call = true;
                self.call(call, out);
            }
            None => block.pass(format!("{white}{open}{raw}{close}"), out),
        }
    }

    /// No more text comes for a block.
    fn end(&mut self, at: usize, out: &mut Parts) -> Result<(), ModelError> {
        let format = Arc::clone(&self.format);
        let (open, close) = format.tags();
        // A string that was never closed: its call ends at the first tag after all, and so do those behind it.
        if let Some(block) = self.blocks.get_mut(at)
            && let Some(reading) = &mut block.call
            && let Some(end) = reading.doubtful
        {
            let left = reading.raw.split_off(end + close.len());
            reading.raw.truncate(end);
            block.plain = true;
            self.end_call(at, out);
            self.read(at, left, out)?;
        }
        if at >= self.blocks.len() {
            return Ok(());
        }
        let mut block = self.blocks.remove(at);
        let mut called = block.after_call;
        match block.call.take() {
            Some(reading) => match format.parse(&reading.raw) {
                Some(call) => {
                    self.cut.push(call);
                    called = true;
                }
                None => {
                    let text = format!("{}{open}{}", reading.white, reading.raw);
                    block.pass(text, out);
                }
            },
            None => {
                let rest = std::mem::take(&mut block.held);
                if !(called && rest.trim().is_empty()) {
                    block.pass(rest, out);
                }
            }
        }
        block.text.end(!called, out);
        Ok(())
    }

    /// The answer has a finish. A call without its last tag is whole if its input is, unless the answer was cut
    /// there; else the model hears that it is not JSON.
    fn finish(&mut self, mut finish: Box<Finish>, out: &mut Parts) {
        for call in std::mem::take(&mut self.cut) {
            if finish.reason.unified == UnifiedFinish::Length {
                self.half_a_call(call, out);
            } else {
                self.call(call, out);
            }
        }
        let unified = &mut finish.reason.unified;
        if self.calls > 0 && matches!(unified, UnifiedFinish::Stop | UnifiedFinish::Other) {
            *unified = UnifiedFinish::ToolCalls;
        }
        out.push(StreamPart::Finish(finish));
    }

    fn half_a_call(&mut self, call: PromptCall, out: &mut Parts) {
        let id = self.next_id();
        out.push(StreamPart::ToolInputStart {
            id: id.clone(),
            tool_name: call.name,
            provider_executed: false,
            dynamic: false,
            title: None,
        });
        if !call.input.is_empty() {
            out.push(StreamPart::ToolInputDelta { id, delta: call.input });
        }
    }

    fn end_all(&mut self, out: &mut Parts) -> Result<(), ModelError> {
        while !self.blocks.is_empty() {
            self.end(0, out)?;
        }
        Ok(())
    }
}

fn is_json(format: &dyn ToolFormat, block: &str) -> bool {
    format.parse(block).is_some_and(|call| serde_json::from_str::<IgnoredAny>(&call.input).is_ok())
}

impl PartTransform for Calls {
    fn part(&mut self, mut part: StreamPart, out: &mut Parts) -> Result<(), ModelError> {
        match part {
            StreamPart::TextStart { id, metadata } => {
                let text = TextPieces::new(id, metadata);
                let held = String::new();
                self.blocks.push(Block { text, held, call: None, after_call: false, plain: false });
            }
            StreamPart::TextDelta { id, delta, metadata } => match self.block(&id) {
                Some(at) => {
                    if let Some(block) = self.blocks.get_mut(at) {
                        block.text.attach(metadata);
                    }
                    self.read(at, delta, out)?;
                }
                None => out.push(StreamPart::TextDelta { id, delta, metadata }),
            },
            StreamPart::TextEnd { id, metadata } => match self.block(&id) {
                Some(at) => {
                    if let Some(block) = self.blocks.get_mut(at) {
                        block.text.attach(metadata);
                    }
                    self.end(at, out)?;
                }
                None => out.push(StreamPart::TextEnd { id, metadata }),
            },
            StreamPart::Finish(finish) => {
                self.end_all(out)?;
                self.finish(finish, out);
            }
            _ => {
                warn(&mut part, &mut self.warning);
                out.push(part);
            }
        }
        Ok(())
    }

    fn failed(&mut self, _error: Option<&ModelError>, out: &mut Parts) {
        // What is too large was never passed on, and the stream ends with an error anyway.
        let _ = self.end_all(out);
        for call in std::mem::take(&mut self.cut) {
            self.half_a_call(call, out);
        }
    }
}

impl Block {
    fn pass(&mut self, mut text: String, out: &mut Parts) {
        if self.after_call && text.trim().is_empty() {
            return;
        }
        if std::mem::take(&mut self.after_call) {
            text.drain(..text.len() - text.trim_start().len());
        }
        self.text.text(text, out);
    }
}

impl Reading {
    /// Where the call ends: at the first closing tag that stands in no JSON string. Looks at each byte once.
    fn find(&mut self, close: &str, plain: bool) -> Option<usize> {
        let bytes = self.raw.as_bytes();
        while let Some(rest) = bytes.get(self.scanned..)
            && let Some(byte) = rest.first()
        {
            if close.as_bytes().first() == Some(byte) {
                if rest.starts_with(close.as_bytes()) {
                    if !self.in_string || plain {
                        return Some(self.scanned);
                    }
                    self.doubtful.get_or_insert(self.scanned);
                } else if close.as_bytes().starts_with(rest) {
                    return None;
                }
            }
            let escaped = std::mem::take(&mut self.escaped);
            match byte {
                b'{' => self.json = true,
                b'"' if self.json && !escaped => self.in_string = !self.in_string,
                b'\\' if self.in_string && !escaped => self.escaped = true,
                _ => {}
            }
            self.scanned += 1;
        }
        None
    }
}
