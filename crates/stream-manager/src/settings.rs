use std::time::Duration;

use crate::history::Partials;

/// How a manager behaves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// How long a turn may take.
    pub limits: TurnLimits,
    /// How long a row waits for a person. Default 2 h; then it is stopped.
    pub approval_wait: Duration,
    /// How often a running row is written while it streams, at most. Default 5 s: what a crash may lose of a step that
    /// is under way. Steps are written as they end.
    pub flush_every: Duration,
    /// How long a call of the store may take. Default 10 s: a store that hangs must not hold a turn for good.
    pub store_timeout: Duration,
    /// How long a run may take to end once it was told to. Default 10 s; then it is dropped where it stands.
    pub stop_grace: Duration,
    /// How long the chunks of a turn can be read after its end. Default 30 s: for readers that come as it ends.
    pub grace: Duration,
    /// How long a topic that does nothing keeps its owner. Default 60 s.
    pub idle_owner: Duration,
    /// For how long a topic is owned without being renewed. Default 15 s: how long it takes until another node goes on
    /// when this one dies. It is renewed every third of that.
    pub lease: Duration,
    /// What happens to inputs that an earlier owner left behind.
    pub left_behind: LeftBehind,
    /// What a model gets of an answer that was cut.
    pub partials: Partials,
    /// What happens to a turn that nobody reads.
    pub without_readers: WithoutReaders,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            limits: TurnLimits::default(),
            approval_wait: Duration::from_secs(2 * 60 * 60),
            flush_every: Duration::from_secs(5),
            store_timeout: Duration::from_secs(10),
            stop_grace: Duration::from_secs(10),
            grace: Duration::from_secs(30),
            idle_owner: Duration::from_secs(60),
            lease: Duration::from_secs(15),
            left_behind: LeftBehind::Return,
            partials: Partials::LeftOut,
            without_readers: WithoutReaders::GoOn,
        }
    }
}

/// How long a turn may take. A limit that passes stops the attempt; its row says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnLimits {
    /// Until a model says something. Default none: the limits of the model's own transport hold.
    pub first_output: Option<Duration>,
    /// Between two things that happen. Default 30 min: longer than any tool should be silent.
    pub idle: Option<Duration>,
    /// In all. Default none.
    pub total: Option<Duration>,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self { first_output: None, idle: Some(Duration::from_secs(30 * 60)), total: None }
    }
}

impl TurnLimits {
    /// Sets how long it may take until a model says something.
    #[must_use]
    pub fn with_first_output(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.first_output = limit.into();
        self
    }

    /// Sets how long nothing may happen.
    #[must_use]
    pub fn with_idle(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.idle = limit.into();
        self
    }

    /// Sets how long an attempt may take in all.
    #[must_use]
    pub fn with_total(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.total = limit.into();
        self
    }
}

/// What happens to inputs that an earlier owner of a topic left behind: its process died, or it shut down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LeftBehind {
    /// They go back to their senders: hours may have passed, and the user may not want an answer any more.
    #[default]
    Return,
    /// They are answered.
    Answer,
}

/// What happens to a turn that nobody reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WithoutReaders {
    /// It goes on: readers come back.
    #[default]
    GoOn,
    /// It is stopped after this time.
    StopAfter(Duration),
}
