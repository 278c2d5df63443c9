//! Providers, models, and what is tried when a call fails.

use std::collections::BTreeMap;

use ai_provider::{JsonObject, ReasoningEffort};
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::values::{Address, EnvName, Secret, Text, Time, json};

/// A server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ProviderConfig {
    /// What it speaks: the id of a built-in provider, such as `openai` (Responses), `openai-chat` (Chat Completions),
    /// `anthropic`, `google`, `azure` or `openai-compatible`. Default: the name of the table if it is such an id, else
    /// `openai-compatible`.
    pub(crate) api: Option<String>,
    /// How it differs from others that speak Chat Completions: a row of the dialect table. For `openai-compatible`
    /// alone, which it is if only a dialect is given.
    pub(crate) dialect: Option<String>,
    /// Where it is: the URL to which the path of each call is appended. Default: the provider's own place.
    pub(crate) base_url: Option<Address>,
    /// The whole URL of its API, for a server with a path of its own. It wins over `base_url`.
    pub(crate) endpoint_url: Option<Address>,
    /// The environment variable that holds the key, or several keys separated by commas. Default: the usual variable of
    /// the provider, unless the file says where the server is.
    pub(crate) api_key_env: Option<EnvName>,
    /// Where the keys are: `{ env = "NAME" }`, `{ file = "PATH" }` or `{ command = ["PROGRAM", "ARGUMENT"] }`. The next
    /// one is used when one is refused, used up or limited. They come behind that of `api_key_env`.
    pub(crate) keys: Vec<Secret>,
    /// Further headers of every call: texts, or where a secret is, as in `keys`.
    pub(crate) headers: BTreeMap<String, Text>,
    /// Fields that are merged into the body of every call, last.
    #[serde(deserialize_with = "json")]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub(crate) extra_body: JsonObject,
    /// The organization that pays. For `openai`.
    pub(crate) organization: Option<String>,
    /// The project that pays. For `openai`.
    pub(crate) project: Option<String>,
    /// The version of the API, a header. For `anthropic`.
    pub(crate) version: Option<String>,
    /// Features that are not generally available. For `anthropic`.
    pub(crate) betas: Vec<String>,
    /// The name of the resource, of which the address is made. For `azure`.
    pub(crate) resource_name: Option<String>,
    /// The version of the API, a query. For `azure`.
    pub(crate) api_version: Option<String>,
    /// Whether the deployment stands in the path. For `azure`.
    pub(crate) deployment_urls: Option<bool>,
}

impl ProviderConfig {
    /// Whether the file says where the server is.
    pub(crate) fn has_place(&self) -> bool {
        self.base_url.is_some() || self.endpoint_url.is_some()
    }

    /// All places of keys.
    pub(crate) fn key_places(&self) -> Vec<Secret> {
        self.api_key_env.clone().map(Secret::Env).into_iter().chain(self.keys.iter().cloned()).collect()
    }
}

/// A name for a model with its settings.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelConfig {
    /// `PROVIDER:MODEL`. Must be set.
    pub(crate) model: String,
    /// Instructions, in place of those for all models.
    pub(crate) system: Option<String>,
    /// How freely it chooses words.
    pub(crate) temperature: Option<f64>,
    /// The share of likely words it chooses from.
    pub(crate) top_p: Option<f64>,
    /// The most tokens of one step.
    pub(crate) max_output_tokens: Option<u64>,
    /// Makes answers repeatable where the provider can do that.
    pub(crate) seed: Option<i64>,
    /// How much it thinks: `none`, `minimal`, `low`, `medium`, `high`, `xhigh`. Default: as the provider has it.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub(crate) reasoning: ReasoningEffort,
}

/// What a model costs, per million tokens, in any one currency.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PriceConfig {
    /// For tokens read. Must be set.
    #[serde(deserialize_with = "amount")]
    pub(crate) input: f64,
    /// For tokens written, reasoning included. Must be set.
    #[serde(deserialize_with = "amount")]
    pub(crate) output: f64,
    /// For tokens read from the cache. Default: as `input`.
    #[serde(default, deserialize_with = "some_amount")]
    pub(crate) cache_read: Option<f64>,
    /// For tokens written to the cache. Default: as `input`.
    #[serde(default, deserialize_with = "some_amount")]
    pub(crate) cache_write: Option<f64>,
}

fn amount<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    match f64::deserialize(from)? {
        amount if amount.is_finite() && amount >= 0.0 => Ok(amount),
        _ => Err(D::Error::custom("a price is a number that is not negative")),
    }
}

fn some_amount<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    amount(from).map(Some)
}

/// What is tried when a call of the model fails.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RetryConfig {
    /// How often the first model is tried again, at most 100. Default: 2.
    pub(crate) retries: Option<u32>,
    /// Models to ask then, in this order: names of `models`, or `PROVIDER:MODEL`.
    pub(crate) fallbacks: Vec<String>,
    /// The wait before the first retry; each further one is twice as long, and all are cut by chance. Default: 1 s.
    pub(crate) base_delay: Option<Time>,
    /// The longest wait; a server that asks for a longer one is not waited for. Default: 60 s.
    pub(crate) max_delay: Option<Time>,
    /// The time for one call of the model, over all attempts, waits and fallbacks. Default: no limit.
    pub(crate) budget: Option<Time>,
    /// How long an attempt may take to its first output before another is made. Default: no limit.
    pub(crate) first_output: Option<Time>,
    /// Which key a run begins with: `first`, so that the others are in reserve, or `round-robin`, so that load is
    /// spread. Default: `first`.
    pub(crate) key_order: KeyOrder,
}

/// Which key a run begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum KeyOrder {
    #[default]
    First,
    RoundRobin,
}
