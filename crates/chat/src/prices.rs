//! What models cost, as the configuration says.

use std::collections::BTreeMap;

use agent_loop::Prices;
use ai_provider::{TargetId, Usage};

use crate::config::{Config, PriceConfig};

/// Prices by `PROVIDER:MODEL`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PriceList(BTreeMap<String, PriceConfig>);

impl PriceList {
    pub(crate) fn of(config: &Config) -> Self {
        Self(config.prices.clone())
    }

    /// What a call cost; unknown if the model has no price, or its provider does not count.
    pub(crate) fn cost(&self, target: &TargetId, usage: &Usage) -> Option<f64> {
        let price = self.0.get(&target.to_string())?;
        let mut prices = Prices::new(price.input, price.output);
        if let Some(read) = price.cache_read {
            prices = prices.with_cache_read(read);
        }
        if let Some(write) = price.cache_write {
            prices = prices.with_cache_write(write);
        }
        prices.cost(usage)
    }
}
