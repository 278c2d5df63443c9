//! What is measured, and how much it may cost.

/// One figure to hold: a peer of ours against one written by hand.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) name: &'static str,
    pub(super) ours: Peer,
    pub(super) by_hand: Peer,
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
const TEXT: &str = "text-20000";

pub(super) const LINES: &[Line] = &[
    Line {
        name: "chat adapter",
        ours: ours("ours-chat"),
        by_hand: RAW_SSE,
        scenario: TEXT,
        unit: Unit::Delta,
        limit: 0.65,
    },
    Line {
        name: "stack to SSE bytes",
        ours: ours("ours-stack"),
        by_hand: RAW_SSE,
        scenario: TEXT,
        unit: Unit::Delta,
        limit: 0.8,
    },
    Line {
        name: "tool loop of 20 steps",
        ours: ours("ours-stack"),
        by_hand: RAW_SSE,
        scenario: "tools-20",
        unit: Unit::Step,
        limit: 1.2,
    },
];
