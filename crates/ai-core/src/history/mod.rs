//! What keeps a history short and cheap: pruning, cache breakpoints, an estimate of its tokens, compaction.
//!
//! | you want to | look at |
//! |---|---|
//! | drop reasoning and tool calls that are of no use any more | [`prune`] |
//! | have the provider keep the beginning of the prompt | [`CacheBreakpoints`] |
//! | know how full the window is | [`estimate_tokens`], [`context_tokens`] |
//! | go on when it is nearly full | [`Compaction`] |
//!
//! None of them changes a message in place, and none ever leaves a call without its result or a result without its
//! call.

mod cache;
mod compaction;
mod prune;
mod tokens;
mod transcript;

pub use cache::CacheBreakpoints;
pub use compaction::Compaction;
pub use prune::{Prune, Reach, prune};
pub use tokens::{context_tokens, estimate_tokens};
