use std::collections::{HashMap, HashSet};

use ai_provider::{Id, StreamPart};

/// Checks the order rules of [`StreamPart`] on all parts of one stream, in order.
///
/// - `StreamStart` comes first, and only there. A stream without any part is in order: its first item was an
///   error.
/// - A block is start, deltas, end under one id, which no other block of its kind uses; blocks may interleave.
/// - A tool call comes once, after the end of its input if that was streamed.
/// - An approval request names a call that came before.
/// - `Finish` comes last, when every block of text and reasoning has ended. Tool input may be open then: half
///   a call stays half a call.
///
/// # Errors
/// A sentence about the first part that breaks a rule, with its place counted from 0.
///
/// ```
/// use ai_provider::StreamPart;
/// use ai_testkit::check_order;
/// let mut parts = vec![StreamPart::StreamStart { warnings: vec![] }, StreamPart::text_start("0")];
/// assert_eq!(check_order(&parts), Ok(()));
/// parts.push(StreamPart::text_delta("1", "Hi"));
/// assert_eq!(check_order(&parts), Err("part 2: text block `1` was never started".to_owned()));
/// ```
pub fn check_order(parts: &[StreamPart]) -> Result<(), String> {
    let mut order = Order::default();
    for (at, part) in parts.iter().enumerate() {
        order.take(at, part).map_err(|fault| format!("part {at}: {fault}"))?;
    }
    Ok(())
}

#[derive(Default)]
struct Order {
    open: HashMap<(Kind, Id), bool>,
    calls: HashSet<Id>,
    finished: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Text,
    Reasoning,
    ToolInput,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Text => "text block",
            Self::Reasoning => "reasoning block",
            Self::ToolInput => "tool input",
        }
    }
}

impl Order {
    fn take(&mut self, at: usize, part: &StreamPart) -> Result<(), String> {
        if self.finished {
            return Err("it comes after the finish".to_owned());
        }
        let start = matches!(part, StreamPart::StreamStart { .. });
        if start != (at == 0) {
            let fault =
                if start { "the stream starts again" } else { "the stream does not begin with its start" };
            return Err(fault.to_owned());
        }
        match part {
            StreamPart::TextStart { id, .. } => self.start(Kind::Text, id),
            StreamPart::TextDelta { id, .. } => self.go_on(Kind::Text, id, true),
            StreamPart::TextEnd { id, .. } => self.go_on(Kind::Text, id, false),
            StreamPart::ReasoningStart { id, .. } => self.start(Kind::Reasoning, id),
            StreamPart::ReasoningDelta { id, .. } => self.go_on(Kind::Reasoning, id, true),
            StreamPart::ReasoningEnd { id, .. } => self.go_on(Kind::Reasoning, id, false),
            StreamPart::ToolInputStart { id, .. } if self.calls.contains(id) => {
                Err(format!("tool input `{id}` starts after its call"))
            }
            StreamPart::ToolInputStart { id, .. } => self.start(Kind::ToolInput, id),
            StreamPart::ToolInputDelta { id, .. } => self.go_on(Kind::ToolInput, id, true),
            StreamPart::ToolInputEnd { id } => self.go_on(Kind::ToolInput, id, false),
            StreamPart::ToolCall(call) => self.call(&call.id),
            StreamPart::ToolApprovalRequest(request) if !self.calls.contains(&request.tool_call_id) => {
                Err(format!("approval is asked for `{}`, which was not called", request.tool_call_id))
            }
            StreamPart::Finish(_) => self.finish(),
            _ => Ok(()),
        }
    }

    fn start(&mut self, kind: Kind, id: &Id) -> Result<(), String> {
        match self.open.insert((kind, id.clone()), true) {
            None => Ok(()),
            Some(_) => Err(format!("{} `{id}` was started before", kind.name())),
        }
    }

    /// A delta, after which the block is open still, or an end, after which it is not.
    fn go_on(&mut self, kind: Kind, id: &Id, stays_open: bool) -> Result<(), String> {
        match self.open.get_mut(&(kind, id.clone())) {
            Some(open @ true) => {
                *open = stays_open;
                Ok(())
            }
            Some(false) => Err(format!("{} `{id}` goes on after its end", kind.name())),
            None => Err(format!("{} `{id}` was never started", kind.name())),
        }
    }

    fn call(&mut self, id: &Id) -> Result<(), String> {
        if self.open.get(&(Kind::ToolInput, id.clone())) == Some(&true) {
            return Err(format!("call `{id}` comes before the end of its input"));
        }
        if !self.calls.insert(id.clone()) {
            return Err(format!("call `{id}` comes twice"));
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        self.finished = true;
        let mut open = self.open.iter().filter(|((kind, _), open)| **open && *kind != Kind::ToolInput);
        match open.next() {
            Some(((kind, id), _)) => Err(format!("{} `{id}` is open at the finish", kind.name())),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
