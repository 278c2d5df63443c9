use ai_provider::ModelError;

use crate::codec::Event;
use crate::framer::Framer;
use crate::limits::{Limits, too_large};
use crate::lines::{grow, text};

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The whole body is one event, without a byte-order mark and outer white space. A blank body has none.
#[derive(Debug)]
pub struct WholeFramer {
    bytes: Vec<u8>,
    limit: usize,
    over: bool,
}

impl WholeFramer {
    /// A framer for one body.
    pub fn new(limits: &Limits) -> Self {
        Self { bytes: Vec::new(), limit: limits.body, over: false }
    }
}

impl Framer for WholeFramer {
    fn push(&mut self, chunk: &[u8]) {
        // One byte beyond the limit is kept, to show that it was passed.
        let room = self.limit.saturating_add(1).saturating_sub(self.bytes.len());
        let chunk = chunk.get(..room).unwrap_or(chunk);
        grow(&mut self.bytes, chunk.len(), self.limit);
        self.bytes.extend_from_slice(chunk);
    }

    fn next(&mut self) -> Result<Option<Event<'_>>, ModelError> {
        if self.bytes.len() > self.limit {
            return Err(too_large("the body", self.limit, "bytes"));
        }
        Ok(None)
    }

    fn end(&mut self) -> Result<Option<Event<'_>>, ModelError> {
        if self.over {
            return Ok(None);
        }
        self.next()?;
        self.over = true;
        let bytes = self.bytes.strip_prefix(BOM).unwrap_or(&self.bytes);
        let data = text(bytes, true)?.trim_ascii();
        Ok((!data.is_empty()).then_some(Event { name: None, data, number: 1 }))
    }
}

#[cfg(test)]
mod tests;
