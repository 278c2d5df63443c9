use std::sync::Arc;

use crate::shared::Shared;

/// Keeps turns from beginning, until it is dropped.
#[derive(Debug)]
#[must_use = "turns begin again once it is dropped"]
pub struct Hold(Arc<Shared>);

impl Hold {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        shared.holds.send_modify(|count| *count += 1);
        Self(Arc::clone(shared))
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.holds.send_modify(|count| *count = count.saturating_sub(1));
    }
}
