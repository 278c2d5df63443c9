//! What crosses crates, as tests: see `scenarios/`. The projects in `consumers/` build on their own.
//!
//! The snippets of the guides are compiled here, where every crate is at hand.

#[cfg(doctest)]
mod guides {
    #[doc = include_str!("../../docs/guide/retry-and-keys.md")]
    struct RetryAndKeys;
}
