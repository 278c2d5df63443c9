//! Which reply a request gets: the scenario is spelled in its `model` name.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// Deltas of the text that ends a tool loop, and of `fail-N` and `idle-MS`.
pub const FINAL_DELTAS: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scenario {
    /// `text-N`: N content deltas.
    Text(usize),
    /// `paced-N-US`: N content deltas, one every US microseconds.
    Paced { deltas: usize, micros: u64 },
    /// `tools-K`: K rounds of one tool call, then text.
    Tools(usize),
    /// `ptools-P`: one round of P tool calls, then text.
    ParallelTools(usize),
    /// `fail-N`: the first N requests of an API key answer 429, then text.
    Fail(usize),
    /// `idle-MS`: the first delta, MS milliseconds of silence, then the rest.
    Idle(u64),
}

impl Scenario {
    pub fn parse(model: &str) -> Option<Self> {
        let (kind, rest) = model.split_once('-')?;
        Some(match kind {
            "text" => Self::Text(bounded(rest, 1_000_000)?),
            "paced" => {
                let (deltas, micros) = rest.split_once('-')?;
                Self::Paced { deltas: bounded(deltas, 1_000_000)?, micros: bounded(micros, 10_000_000)? as u64 }
            }
            "tools" => Self::Tools(bounded(rest, 10_000)?),
            "ptools" => Self::ParallelTools(bounded(rest, 10_000)?),
            "fail" => Self::Fail(bounded(rest, 1_000)?),
            "idle" => Self::Idle(bounded(rest, 600_000)? as u64),
            _ => return None,
        })
    }

    /// What to answer when the request carries `tool_results` tool results.
    pub fn reply(self, tool_results: usize) -> Reply {
        match self {
            Self::Text(deltas) | Self::Paced { deltas, .. } => Reply::Text { deltas },
            Self::Tools(rounds) if tool_results < rounds => Reply::Calls { first: tool_results, count: 1 },
            Self::ParallelTools(count) if tool_results < count => Reply::Calls { first: 0, count },
            _ => Reply::Text { deltas: FINAL_DELTAS },
        }
    }
}

fn bounded(digits: &str, max: usize) -> Option<usize> {
    digits.parse().ok().filter(|n| *n <= max)
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reply {
    Text {
        deltas: usize,
    },
    /// `count` calls of the tool `echo`, numbered from `first`.
    Calls {
        first: usize,
        count: usize,
    },
}

/// The few request fields that choose the reply.
#[derive(Deserialize)]
pub struct Request<'a> {
    #[serde(borrow, default)]
    pub model: Cow<'a, str>,
    #[serde(default)]
    pub stream: bool,
    #[serde(borrow, default)]
    messages: Vec<Message<'a>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow, default)]
    content: Content<'a>,
}

#[derive(Deserialize, Default)]
#[serde(untagged)]
enum Content<'a> {
    #[serde(borrow)]
    Blocks(Vec<Block<'a>>),
    Other(IgnoredAny),
    #[default]
    Missing,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
}

impl Request<'_> {
    /// Tool results in the history: `tool` messages in OpenAI's dialect,
    /// `tool_result` blocks in Anthropic's.
    pub fn tool_results(&self) -> usize {
        self.messages
            .iter()
            .map(|message| match &message.content {
                _ if message.role == "tool" => 1,
                Content::Blocks(blocks) => blocks.iter().filter(|block| block.kind == "tool_result").count(),
                _ => 0,
            })
            .sum()
    }
}
