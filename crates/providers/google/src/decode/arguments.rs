//! Arguments of a call that come in pieces, each for a place of its own.

use std::collections::HashSet;

use ai_provider::{ErrorClass, ModelError};
use serde_json::Value;

use super::path::Step;

/// The value of a piece.
#[derive(Debug)]
pub(super) enum Leaf<'a> {
    /// A text, or more of it; whether still more will come.
    Text(&'a str, bool),
    /// Any other value, as JSON.
    Other(&'a str),
}

/// Puts the pieces together.
///
/// A model writes its arguments in order, so they are written as text while they come, and can be shown at
/// once. A piece for a place that is closed already turns them into a tree; from then on nothing is shown
/// before the end.
#[derive(Debug)]
pub(super) enum Arguments {
    Text(Writer),
    Tree { root: Value, in_text: bool },
}

impl Default for Arguments {
    fn default() -> Self {
        Self::Text(Writer::default())
    }
}

impl Arguments {
    /// Begins with arguments that are there already.
    pub(super) fn of(root: Value) -> Self {
        Self::Tree { root, in_text: false }
    }

    /// Takes a piece; returns the text that can be shown because of it.
    pub(super) fn take(&mut self, path: &[Step], leaf: Leaf<'_>) -> Result<String, ModelError> {
        let text_goes_on = matches!(leaf, Leaf::Text(_, true));
        if let Self::Text(writer) = self {
            let shown = writer.text.len();
            if writer.write(path, &leaf) {
                return Ok(writer.text.get(shown..).unwrap_or_default().to_owned());
            }
            *self = Self::of(tree(&writer.whole())?);
        }
        if let Self::Tree { root, in_text } = self {
            put(root, path, &leaf)?;
            *in_text = text_goes_on;
        }
        Ok(String::new())
    }

    /// Whether the last piece was of a text that goes on.
    pub(super) fn in_text(&self) -> bool {
        match self {
            Self::Text(writer) => writer.in_text,
            Self::Tree { in_text, .. } => *in_text,
        }
    }

    /// The arguments as JSON, and how much of it has been shown; nothing of a tree counts as shown.
    pub(super) fn finish(self) -> (String, Option<usize>) {
        match self {
            Self::Text(writer) => {
                let shown = writer.text.len();
                (writer.whole(), Some(shown))
            }
            Self::Tree { root, .. } => (root.to_string(), None),
        }
    }
}

/// Writes JSON from its beginning to its end.
#[derive(Debug, Default)]
pub(super) struct Writer {
    text: String,
    /// The place of the last piece. Each of its steps stands in an open container.
    place: Vec<Step>,
    /// The names that each open container has; empty for a list.
    names: Vec<HashSet<String>>,
    /// The closing quote of the last text is not written yet.
    in_text: bool,
}

impl Writer {
    /// Writes a piece, or says that its place is no longer, or not yet, open. Nothing is written then.
    fn write(&mut self, path: &[Step], leaf: &Leaf<'_>) -> bool {
        if path == self.place && !path.is_empty() {
            let Leaf::Text(more, goes_on) = leaf else { return false };
            if !self.in_text {
                return false;
            }
            self.text_value(more, *goes_on);
            return true;
        }
        let common = path.iter().zip(&self.place).take_while(|(new, old)| new == old).count();
        if !self.is_next(path, common) {
            return false;
        }
        if self.in_text {
            self.text.push('"');
        }
        for step in self.place.drain(common..).skip(1).rev() {
            self.text.push(closing(&step));
        }
        self.names.truncate(common + 1);
        for (at, step) in path.iter().enumerate().skip(common) {
            match self.names.get(at) {
                Some(_) => self.text.push(','),
                None => {
                    self.text.push(opening(step));
                    self.names.push(HashSet::new());
                }
            }
            if let Step::Key(name) = step {
                self.text.push_str(&quoted(name));
                self.text.push(':');
                if let Some(names) = self.names.get_mut(at) {
                    names.insert(name.clone());
                }
            }
            self.place.push(step.clone());
        }
        match leaf {
            Leaf::Text(text, goes_on) => {
                self.text.push('"');
                self.text_value(text, *goes_on);
            }
            Leaf::Other(json) => {
                self.in_text = false;
                self.text.push_str(json);
            }
        }
        true
    }

    fn text_value(&mut self, text: &str, goes_on: bool) {
        let quoted = quoted(text);
        self.text
            .push_str(quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or_default());
        if !goes_on {
            self.text.push('"');
        }
        self.in_text = goes_on;
    }

    /// Whether the place comes right behind what is written: the two part at `common`, in a container where
    /// the new step is the next one, and every container further down begins.
    fn is_next(&self, path: &[Step], common: usize) -> bool {
        let Some(step) = path.get(common) else { return false };
        let follows = match (step, self.place.get(common)) {
            (Step::Key(name), Some(Step::Key(_))) => {
                self.names.get(common).is_some_and(|names| !names.contains(name))
            }
            (Step::Index(new), Some(Step::Index(last))) => last.checked_add(1) == Some(*new),
            // At the very beginning nothing is open.
            (_, None) => self.place.is_empty(),
            _ => false,
        };
        let begin = if self.place.is_empty() { common } else { common + 1 };
        follows && path.iter().skip(begin).all(|step| !matches!(step, Step::Index(1..)))
    }

    /// The text with everything closed.
    fn whole(&self) -> String {
        let mut text = self.text.clone();
        if self.in_text {
            text.push('"');
        }
        text.extend(self.place.iter().rev().map(closing));
        if text.is_empty() {
            text.push_str("{}");
        }
        text
    }
}

fn opening(step: &Step) -> char {
    if matches!(step, Step::Key(_)) { '{' } else { '[' }
}

fn closing(step: &Step) -> char {
    if matches!(step, Step::Key(_)) { '}' } else { ']' }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn tree(json: &str) -> Result<Value, ModelError> {
    serde_json::from_str(json).map_err(|error| broken(&format!("they are no JSON: {error}")))
}

/// Puts a piece into the tree.
fn put(root: &mut Value, path: &[Step], leaf: &Leaf<'_>) -> Result<(), ModelError> {
    let mut at = root;
    for step in path {
        if at.is_null() {
            *at = if matches!(step, Step::Key(_)) {
                Value::Object(Default::default())
            } else {
                Value::Array(Vec::new())
            };
        }
        at = match (at, step) {
            (Value::Object(fields), Step::Key(name)) => fields.entry(name.as_str()).or_insert(Value::Null),
            (Value::Array(items), Step::Index(nth)) => {
                if *nth == items.len() {
                    items.push(Value::Null);
                }
                items.get_mut(*nth).ok_or_else(|| broken("a list has a hole"))?
            }
            _ => return Err(broken("a value is an object or a list, and something else too")),
        };
    }
    match (at, leaf) {
        (Value::String(text), Leaf::Text(more, _)) => text.push_str(more),
        (at @ Value::Null, Leaf::Text(text, _)) => *at = Value::from(*text),
        (at @ (Value::Null | Value::Bool(_) | Value::Number(_)), Leaf::Other(json)) => *at = tree(json)?,
        _ => return Err(broken("a value is of two types")),
    }
    Ok(())
}

fn broken(why: &str) -> ModelError {
    ModelError::new(
        ErrorClass::Protocol,
        format!("the pieces of a call's arguments do not fit together: {why}"),
    )
}
