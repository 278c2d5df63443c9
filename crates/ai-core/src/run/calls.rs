use std::collections::HashMap;

use ai_provider::{Id, ToolApprovalResponse, ToolCall};
use serde::{Deserialize, Serialize, Serializer};

use super::record::ToolRecord;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct OpenCall {
    pub(super) call: ToolCall,
    pub(super) state: CallState,
    /// Whether it stands for another call, which the model wrote wrongly.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) repaired: bool,
}

/// Where a call stands. The record of a call that cannot be run is made at once, and dropped if the call is
/// repaired.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "value", rename_all = "kebab-case")]
pub(super) enum CallState {
    Invalid(ToolRecord),
    Undecided,
    Ready,
    Asking(Id),
    HandedOver,
    /// A person's word on a call that runs at the provider: it goes there with the next request.
    Answered(ToolApprovalResponse),
    Done(ToolRecord),
}

/// The calls of a step in their order, found by id: what comes of one call costs the same however many there are.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "Vec<OpenCall>")]
pub(super) struct Calls {
    list: Vec<OpenCall>,
    at: HashMap<Id, usize>,
    ready: usize,
}

impl Calls {
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, OpenCall> {
        self.list.iter()
    }

    pub(super) fn get(&self, id: &Id) -> Option<&OpenCall> {
        self.list.get(*self.at.get(id)?)
    }

    pub(super) fn has_ready(&self) -> bool {
        self.ready > 0
    }

    pub(super) fn any(&self, wanted: impl Fn(&CallState) -> bool) -> bool {
        self.list.iter().any(|open| wanted(&open.state))
    }

    pub(super) fn with_state(&self, wanted: impl Fn(&CallState) -> bool) -> Vec<&ToolCall> {
        self.list.iter().filter(|open| wanted(&open.state)).map(|open| &open.call).collect()
    }

    /// Changes one call.
    pub(super) fn change(&mut self, id: &Id, change: impl FnOnce(&mut OpenCall)) {
        let Some(open) = self.at.get(id).and_then(|at| self.list.get_mut(*at)) else { return };
        let was = open.state == CallState::Ready;
        change(open);
        let is = open.state == CallState::Ready;
        self.ready = self.ready + usize::from(is) - usize::from(was);
    }

    /// Changes the state of every call for which there is another.
    pub(super) fn change_all(&mut self, other: impl Fn(&OpenCall) -> Option<CallState>) {
        for open in &mut self.list {
            if let Some(state) = other(open) {
                open.state = state;
            }
        }
        self.ready = count(&self.list);
    }

    pub(super) fn into_list(self) -> Vec<OpenCall> {
        self.list
    }
}

fn count(list: &[OpenCall]) -> usize {
    list.iter().filter(|open| open.state == CallState::Ready).count()
}

impl From<Vec<OpenCall>> for Calls {
    fn from(list: Vec<OpenCall>) -> Self {
        let at = list.iter().enumerate().map(|(at, open)| (open.call.id.clone(), at)).collect();
        Self { ready: count(&list), at, list }
    }
}

impl FromIterator<OpenCall> for Calls {
    fn from_iter<I: IntoIterator<Item = OpenCall>>(calls: I) -> Self {
        Self::from(calls.into_iter().collect::<Vec<_>>())
    }
}

impl PartialEq for Calls {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

impl Serialize for Calls {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.list.serialize(serializer)
    }
}
