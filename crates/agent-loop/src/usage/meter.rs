use ai_core::run::{RunSnapshot, StepRecord};
use ai_provider::Usage;
use serde_json::{Map, Value, json};

use super::Costs;

/// Adds up what a run takes, for those who watch it.
#[derive(Debug)]
pub(crate) struct Meter {
    costs: Costs,
    /// How many steps the cost is of.
    counted: usize,
    cost: Option<f64>,
}

impl Meter {
    pub(crate) fn new(costs: Costs) -> Self {
        Self { costs, counted: 0, cost: None }
    }

    /// What the run has taken at the end of this step, as metadata of its message; nothing if the step did not say.
    ///
    /// It is always the whole state: a client merges it over what it has, and can take nothing away.
    pub(crate) fn step(&mut self, record: &StepRecord, run: &RunSnapshot) -> Option<Value> {
        for step in run.run().steps().get(self.counted..).unwrap_or_default() {
            if let Some(cost) = self.costs.of(&step.target, &step.usage) {
                self.cost = Some(self.cost.unwrap_or_default() + cost);
            }
            self.counted += 1;
        }
        let tools = record.tools.iter().filter_map(|tool| tool.usage.as_deref());
        if !tools.chain([&record.usage]).any(says) {
            return None;
        }
        let mut metadata = Map::new();
        metadata.insert("usage".to_owned(), tokens(run.run().usage()));
        if let Some(cost) = self.cost {
            metadata.insert("cost".to_owned(), json!(cost));
        }
        // Without the input, the sum says nothing of how full the context is.
        if let (Some(_), Some(total)) = (record.usage.input.total, record.usage.total()) {
            metadata.insert("contextTokens".to_owned(), json!(total));
        }
        Some(Value::Object(metadata))
    }
}

fn says(usage: &Usage) -> bool {
    *usage != Usage { raw: usage.raw.clone(), ..Usage::default() }
}

/// The tokens under the names of the AI SDK. What is unknown is left out.
fn tokens(usage: &Usage) -> Value {
    let Usage { input, output, .. } = usage;
    let mut all = numbers([
        ("inputTokens", input.total),
        ("outputTokens", output.total),
        ("totalTokens", usage.total()),
    ]);
    let details = [
        (
            "inputTokenDetails",
            numbers([
                ("noCacheTokens", input.no_cache),
                ("cacheReadTokens", input.cache_read),
                ("cacheWriteTokens", input.cache_write),
            ]),
        ),
        ("outputTokenDetails", numbers([("textTokens", output.text), ("reasoningTokens", output.reasoning)])),
    ];
    for (name, details) in details {
        if !details.is_empty() {
            all.insert(name.to_owned(), Value::Object(details));
        }
    }
    Value::Object(all)
}

fn numbers<const N: usize>(numbers: [(&str, Option<u64>); N]) -> Map<String, Value> {
    let known = numbers.into_iter().filter_map(|(name, number)| Some((name.to_owned(), number?.into())));
    known.collect()
}
