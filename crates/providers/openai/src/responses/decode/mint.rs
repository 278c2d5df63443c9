use std::collections::HashSet;

use ai_http::{CallInfo, IdSeed};
use ai_provider::{Id, JsonObject, Origin, ProviderMetadata, ProviderOptions};
use serde_json::Value;

use crate::responses::minted::{ITEM_ID, RESPONSE_ID, STORED};

/// Makes ids, each once, and metadata with who made it.
#[derive(Debug)]
pub(super) struct Mint {
    pub(super) origin: Origin,
    ids: IdSeed,
    pub(super) response_id: Option<String>,
    /// The server keeps the items of this response.
    pub(super) stored: bool,
    blocks: HashSet<Id>,
    calls: HashSet<Id>,
}

impl Mint {
    pub(super) fn new(info: &CallInfo<'_>) -> Self {
        Self {
            origin: info.origin(),
            ids: info.ids.clone(),
            response_id: None,
            stored: false,
            blocks: HashSet::new(),
            calls: HashSet::new(),
        }
    }

    /// The id of a new block: this one, unless another block has it.
    pub(super) fn block(&mut self, id: &str) -> Id {
        let mut block = Id::from(if id.is_empty() { "0" } else { id });
        let mut again = self.blocks.len();
        while !self.blocks.insert(block.clone()) {
            block = Id::from(format!("{id}:{again}"));
            again += 1;
        }
        block
    }

    /// The id of a new call: this one, unless it is empty or another call's.
    pub(super) fn call(&mut self, id: &str) -> Id {
        let given = Id::from(id);
        if !id.is_empty() && self.calls.insert(given.clone()) {
            return given;
        }
        let mut nth = self.calls.len();
        loop {
            let made = self.ids.id("call", nth);
            if self.calls.insert(made.clone()) {
                return made;
            }
            nth += 1;
        }
    }

    pub(super) fn source(&self, nth: usize) -> Id {
        self.ids.id("source", nth)
    }

    /// Metadata of a part that was made of this item, which is done: if the server keeps it, it can be referred to.
    pub(super) fn done(
        &self,
        item_id: &str,
        more: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> Option<Box<ProviderMetadata>> {
        let stored = (self.stored && !item_id.is_empty()).then(|| (STORED, true.into()));
        self.begun(item_id, stored.into_iter().chain(more))
    }

    /// Metadata of a part that is made of this item.
    pub(super) fn begun(
        &self,
        item_id: &str,
        more: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> Option<Box<ProviderMetadata>> {
        let mut values = JsonObject::new();
        if !item_id.is_empty() {
            values.insert(ITEM_ID.into(), item_id.into());
        }
        if let Some(id) = &self.response_id {
            values.insert(RESPONSE_ID.into(), id.as_str().into());
        }
        values.extend(more.into_iter().map(|(name, value)| (name.to_owned(), value)));
        self.minted(values)
    }

    /// Metadata with these values alone.
    pub(super) fn minted(&self, values: JsonObject) -> Option<Box<ProviderMetadata>> {
        let namespace = self.origin.target.provider.as_str();
        let all = values
            .into_iter()
            .fold(ProviderOptions::default(), |all, (name, value)| all.with(namespace, name, value));
        (!all.is_empty()).then(|| Box::new(ProviderMetadata::minted(self.origin.clone(), all)))
    }
}
