use ai_provider::Usage;

/// What a model costs, per million tokens, in any one currency.
///
/// ```
/// use agent_loop::Prices;
/// use ai_provider::Usage;
/// let mut usage = Usage::default();
/// usage.input.total = Some(1_000_000);
/// usage.input.cache_read = Some(400_000);
/// usage.output.total = Some(100_000);
/// let prices = Prices::new(3.0, 15.0).with_cache_read(0.3);
/// assert_eq!(prices.cost(&usage).map(|cost| (cost * 100.0).round()), Some(342.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Prices {
    /// For tokens read.
    pub input: f64,
    /// For tokens written, reasoning included.
    pub output: f64,
    /// For tokens read from the cache.
    pub cache_read: f64,
    /// For tokens written to the cache.
    pub cache_write: f64,
}

impl Prices {
    /// The same price for all tokens read.
    pub fn new(input: f64, output: f64) -> Self {
        Self { input, output, cache_read: input, cache_write: input }
    }

    /// Another price for tokens read from the cache.
    #[must_use]
    pub fn with_cache_read(mut self, price: f64) -> Self {
        self.cache_read = price;
        self
    }

    /// Another price for tokens written to the cache.
    #[must_use]
    pub fn with_cache_write(mut self, price: f64) -> Self {
        self.cache_write = price;
        self
    }

    /// What this cost. Nothing is guessed: it is unknown where input or output is. Cached tokens that are not told
    /// apart cost like others.
    pub fn cost(&self, usage: &Usage) -> Option<f64> {
        let (input, output) = (usage.input.total?, usage.output.total?);
        let read = usage.input.cache_read.unwrap_or_default().min(input);
        let written = usage.input.cache_write.unwrap_or_default().min(input - read);
        let parts = [
            (input - read - written, self.input),
            (read, self.cache_read),
            (written, self.cache_write),
            (output, self.output),
        ];
        Some(parts.into_iter().map(|(tokens, price)| millions(tokens) * price).sum())
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 tokens, far beyond any bill")]
fn millions(tokens: u64) -> f64 {
    tokens as f64 / 1e6
}
