//! What runs take: for the one who watches, and for the books.

mod ledger;
mod meter;
mod prices;

pub(crate) use ledger::Book;
pub use ledger::{LedgerEnd, LedgerEntry, LedgerRow};
pub(crate) use meter::Meter;
pub use prices::Prices;

use std::fmt;
use std::sync::Arc;

use ai_provider::{TargetId, Usage};

use crate::said::said;

/// What one model call cost, as far as it is known.
#[derive(Clone, Default)]
pub(crate) struct Costs(Option<Arc<Asked>>);

type Asked = dyn Fn(&TargetId, &Usage) -> Option<f64> + Send + Sync;

impl Costs {
    pub(crate) fn new(cost: impl Fn(&TargetId, &Usage) -> Option<f64> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(cost)))
    }

    pub(crate) fn of(&self, target: &TargetId, usage: &Usage) -> Option<f64> {
        let cost = self.0.as_ref()?;
        said("costs", || cost(target, usage))?.filter(|cost| cost.is_finite())
    }
}

impl fmt::Debug for Costs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Costs").field(&self.0.is_some()).finish()
    }
}
