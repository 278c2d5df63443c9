use ai_http::halves::Joiner;
use ai_provider::{ErrorClass, Id, ModelError};

use super::calls::{Call, ServerCall};
use super::reasoning::Reasoning;
use super::text::Text;

/// Items of one answer. Deep research makes some hundreds.
const MAX_ITEMS: usize = 4_096;

/// The items of the answer so far.
///
/// Gateways change the ids of items from event to event, some servers leave out the index, and some give every
/// item the same one. So an event belongs to the open item of its kind with its id, else with its index, else to
/// the only one that is open.
#[derive(Debug, Default)]
pub(super) struct Items {
    items: Vec<Item>,
    /// Calls of the server's own that came out.
    server_calls: Vec<ServerCall>,
}

#[derive(Debug)]
pub(super) struct Item {
    /// As the server named it when it was added.
    pub(super) id: String,
    pub(super) index: Option<i64>,
    pub(super) open: bool,
    kind: Kind,
    /// Holds half a character between two deltas.
    pub(super) joiner: Joiner,
    pub(super) state: State,
}

#[derive(Debug)]
pub(super) enum State {
    Text(Text),
    Reasoning(Reasoning),
    /// A call whose input streams.
    Call(Call),
    /// A call that came out already; its result is awaited.
    Server(ServerCall),
    /// Nothing comes of it before it is done.
    Other,
}

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Reasoning,
    Call,
    Server,
    Other,
}

impl State {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Text(_) => Kind::Text,
            Self::Reasoning(_) => Kind::Reasoning,
            Self::Call(_) => Kind::Call,
            Self::Server(_) => Kind::Server,
            Self::Other => Kind::Other,
        }
    }
}

/// How an event names its item.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Label<'a> {
    pub(super) id: &'a str,
    pub(super) index: Option<i64>,
}

impl Items {
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(super) fn any_open(&self) -> bool {
        self.items.iter().any(|item| item.open)
    }

    pub(super) fn open_mut(&mut self) -> impl Iterator<Item = &mut Item> {
        self.items.iter_mut().filter(|item| item.open)
    }

    /// The item is done: what is known of it, which is taken away but for its name.
    pub(super) fn take(&mut self, at: usize) -> Option<Item> {
        let item = self.items.get_mut(at).filter(|item| item.open)?;
        item.open = false;
        let (id, index, kind) = (item.id.clone(), item.index, item.kind);
        let joiner = std::mem::take(&mut item.joiner);
        let state = std::mem::replace(&mut item.state, State::Other);
        Some(Item { id, index, kind, open: false, joiner, state })
    }

    /// All that are open, taken like this.
    pub(super) fn take_open(&mut self) -> Vec<Item> {
        (0..self.items.len()).filter_map(|at| self.take(at)).collect()
    }

    /// Keeps a call of the server's own for the item that says what came of it.
    pub(super) fn remember(&mut self, call: ServerCall) {
        self.server_calls.push(call);
    }

    /// The id and the name of the call that ran under this id; without one, of the last call of this tool.
    pub(super) fn remembered(&self, wire_id: &str, tool: &str) -> Option<(Id, String)> {
        let mut calls = self.server_calls.iter().rev();
        let call = match wire_id.is_empty() {
            true => calls.find(|call| call.name == tool),
            false => calls.find(|call| call.wire_id == wire_id),
        }?;
        Some((call.id.clone(), call.name.clone()))
    }

    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut Item> {
        self.items.get_mut(at)
    }

    /// The open item of this kind that the label means.
    ///
    /// # Errors
    /// `Protocol` if it may be one of several.
    pub(super) fn find(&self, label: Label<'_>, kind: Kind) -> Result<Option<usize>, ModelError> {
        let fits = |item: &Item| item.open && item.kind == kind;
        let by_id = |item: &Item| fits(item) && !label.id.is_empty() && item.id == label.id;
        if let Some(at) = self.items.iter().rposition(by_id) {
            return Ok(Some(at));
        }
        let by_index = |item: &Item| fits(item) && label.index.is_some() && item.index == label.index;
        if let Some(at) = self.items.iter().rposition(by_index) {
            return Ok(Some(at));
        }
        if !label.id.is_empty() && label.index.is_some() {
            // It says what it means, and that is none of them.
            return Ok(None);
        }
        let mut open = self.items.iter().enumerate().filter(|(_, item)| fits(item));
        match (open.next(), open.next()) {
            (Some((at, item)), None) if label.index.is_none() || item.index.is_none() => Ok(Some(at)),
            (Some(_), Some(_)) if label.id.is_empty() && label.index.is_none() => Err(ModelError::new(
                ErrorClass::Protocol,
                "an event does not say which of several open items it belongs to",
            )),
            _ => Ok(None),
        }
    }

    /// Whether the label is, by its id or else by its index, that of an open item of another kind alone.
    pub(super) fn is_of_another(&self, label: Label<'_>, kind: Kind) -> bool {
        let by_id = |item: &&Item| !label.id.is_empty() && item.id == label.id;
        let by_index = |item: &&Item| label.index.is_some() && item.index == label.index;
        let mut open = self.items.iter().filter(|item| item.open);
        let named = open.clone().find(by_id).or_else(|| open.find(by_index));
        named.is_some_and(|item| item.kind != kind) && !matches!(self.find(label, kind), Ok(Some(_)))
    }

    /// Whether an item of this kind with this id is open.
    pub(super) fn is_open(&self, id: &str, kind: Kind) -> bool {
        self.has(id, kind, true)
    }

    /// Whether one is done.
    pub(super) fn is_done(&self, id: &str, kind: Kind) -> bool {
        self.has(id, kind, false)
    }

    fn has(&self, id: &str, kind: Kind, open: bool) -> bool {
        let named = |item: &Item| item.open == open && item.id == id && item.kind == kind;
        !id.is_empty() && self.items.iter().rev().any(named)
    }

    /// The open call with this id.
    pub(super) fn open_call(&self, call_id: &str) -> Option<usize> {
        self.items.iter().rposition(
            |item| matches!(&item.state, State::Call(call) if item.open && call.call_id == call_id),
        )
    }

    pub(super) fn push(&mut self, label: Label<'_>, state: State) -> Result<usize, ModelError> {
        let at = self.items.len();
        if at >= MAX_ITEMS {
            let message = format!("the answer has more than {MAX_ITEMS} items");
            return Err(ModelError::new(ErrorClass::TooLarge, message));
        }
        self.items.push(Item {
            id: label.id.to_owned(),
            index: label.index,
            open: true,
            kind: state.kind(),
            joiner: Joiner::default(),
            state,
        });
        Ok(at)
    }
}
