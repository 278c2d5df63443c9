//! What crosses crates, as tests: see `scenarios/`. The projects in `consumers/` build on their own.
//!
//! The snippets of the guides are compiled here, where every crate is at hand.

#[cfg(doctest)]
mod guides {
    #[doc = include_str!("../../docs/guide/first-agent.md")]
    struct FirstAgent;

    #[doc = include_str!("../../docs/guide/own-tool.md")]
    struct OwnTool;

    #[doc = include_str!("../../docs/guide/own-provider.md")]
    struct OwnProvider;

    #[doc = include_str!("../../docs/guide/testing-an-agent.md")]
    struct TestingAnAgent;

    #[doc = include_str!("../../docs/guide/mcp.md")]
    struct Mcp;

    #[doc = include_str!("../../docs/guide/conversations.md")]
    struct Conversations;

    #[doc = include_str!("../../docs/guide/retry-and-keys.md")]
    struct RetryAndKeys;

    #[doc = include_str!("../../docs/guide/five-views.md")]
    struct FiveViews;
}
