//! What is measured, and how much it may cost.

/// One figure to hold: a peer of ours against one written by hand.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) name: &'static str,
    pub(super) ours: Peer,
    pub(super) by_hand: Peer,
    /// What of ours does not count: the figure is what the line adds to it.
    pub(super) beyond: Option<Peer>,
    pub(super) scenario: &'static str,
    /// What one run is divided by.
    pub(super) unit: Unit,
    /// The most that ours may cost, as a multiple of the other.
    pub(super) limit: f64,
}

/// A program of the benchmark's workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Peer {
    pub(super) package: &'static str,
    pub(super) program: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Unit {
    Delta,
    Step,
}

impl Unit {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Delta => "delta",
            Self::Step => "step",
        }
    }
}

const fn ours(program: &'static str) -> Peer {
    Peer { package: "peer-ours", program }
}

const fn by_hand(package: &'static str) -> Peer {
    Peer { package, program: package }
}

const RAW_SSE: Peer = by_hand("peer-raw-sse");
const CHAT: Peer = ours("ours-chat");
const MANAGER: Peer = ours("ours-manager");
const TEXT: &str = "text-20000";

/// An adapter against the reader of its wire.
const fn adapter(name: &'static str, ours: Peer, by_hand: Peer, limit: f64) -> Line {
    Line { name, ours, by_hand, beyond: None, scenario: TEXT, unit: Unit::Delta, limit }
}

/// What a layer adds to the bare chat adapter.
const fn layer(name: &'static str, with: Peer, limit: f64) -> Line {
    Line { name, ours: with, by_hand: RAW_SSE, beyond: Some(CHAT), scenario: TEXT, unit: Unit::Delta, limit }
}

pub(super) const LINES: &[Line] = &[
    adapter("chat adapter", CHAT, RAW_SSE, 0.65),
    adapter("responses adapter", ours("ours-responses"), by_hand("peer-raw-responses"), 0.75),
    adapter("messages adapter", ours("ours-messages"), by_hand("peer-raw-messages"), 0.75),
    adapter("gemini adapter", ours("ours-gemini"), by_hand("peer-raw-gemini"), 0.75),
    layer("retry beyond the adapter", ours("ours-retry"), 0.02),
    layer("stream_text beyond the adapter", ours("ours-core"), 0.08),
    adapter("stack to SSE bytes", ours("ours-stack"), RAW_SSE, 0.8),
    adapter("manager to one reader's SSE bytes", MANAGER, RAW_SSE, 1.0),
    Line {
        name: "ten further readers",
        ours: ours("ours-readers"),
        by_hand: RAW_SSE,
        beyond: Some(MANAGER),
        scenario: TEXT,
        unit: Unit::Delta,
        limit: 0.5,
    },
    Line {
        name: "tool loop of 20 steps",
        ours: ours("ours-stack"),
        by_hand: RAW_SSE,
        beyond: None,
        scenario: "tools-20",
        unit: Unit::Step,
        limit: 1.2,
    },
];
