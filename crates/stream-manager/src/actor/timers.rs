use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::Actor;
use super::effects::{in_time, until_killed};
use crate::core::{Fact, StopWhy};
use crate::record::{AttemptId, TurnId};
use crate::settings::{Settings, WithoutReaders};
use crate::shared::later;

/// When a topic has something to do although nothing happens.
#[derive(Debug)]
pub(super) struct Timers {
    lease: Duration,
    renew_at: Instant,
    /// Until when the lease holds for certain: counted from before it was asked for.
    valid_until: Instant,
    approval_wait: Duration,
    approval_at: Option<Instant>,
    grace: Duration,
    forget: Vec<Past>,
    idle_owner: Duration,
    idle_at: Instant,
    without_readers: Option<Duration>,
    readers: usize,
    unread_at: Option<Instant>,
}

/// A turn that is over, and the attempts whose logs are kept until then.
#[derive(Debug)]
struct Past {
    until: Instant,
    turn: TurnId,
    attempts: Vec<AttemptId>,
}

/// What is due.
#[derive(Clone, Copy, Debug)]
pub(super) enum Due {
    Renew,
    LeaseOver,
    Approval,
    Forget(TurnId),
    Unread,
    Idle,
}

impl Timers {
    /// `asked`: when the lease was asked for.
    pub(super) fn new(settings: &Settings, asked: Instant) -> Self {
        let without_readers = match settings.without_readers {
            WithoutReaders::GoOn => None,
            WithoutReaders::StopAfter(limit) => Some(limit),
        };
        Self {
            lease: settings.lease,
            renew_at: later(asked, settings.lease / 3),
            valid_until: later(asked, settings.lease),
            approval_wait: settings.approval_wait,
            approval_at: None,
            grace: settings.grace,
            forget: Vec::new(),
            idle_owner: settings.idle_owner,
            idle_at: later(Instant::now(), settings.idle_owner),
            without_readers,
            readers: 0,
            unread_at: None,
        }
    }

    /// Something was asked of the topic.
    pub(super) fn busy(&mut self) {
        self.idle_at = later(Instant::now(), self.idle_owner);
    }

    pub(super) fn is_idle_over(&self) -> bool {
        Instant::now() >= self.idle_at && self.forget.is_empty() && self.approval_at.is_none()
    }

    pub(super) fn await_decision(&mut self) {
        self.approval_at = Some(later(Instant::now(), self.approval_wait));
    }

    pub(super) fn turn_started(&mut self) {
        self.busy();
        self.approval_at = None;
        self.readers(self.readers, true);
    }

    /// A turn is over, with the logs of these attempts; a row of it that goes on may add others.
    pub(super) fn turn_ended(&mut self, turn: TurnId, mut attempts: Vec<AttemptId>) {
        self.busy();
        self.unread_at = None;
        for past in self.forget.extract_if(.., |past| past.turn == turn) {
            attempts.extend(past.attempts);
        }
        self.forget.push(Past { until: later(Instant::now(), self.grace), turn, attempts });
    }

    /// The attempts whose logs are kept for a while: they are kept no more.
    pub(super) fn take_kept(&mut self) -> Vec<AttemptId> {
        self.forget.drain(..).flat_map(|past| past.attempts).collect()
    }

    pub(super) fn readers(&mut self, count: usize, live: bool) {
        self.readers = count;
        self.unread_at = match self.without_readers {
            Some(limit) if count == 0 && live => {
                self.unread_at.or_else(|| Some(later(Instant::now(), limit)))
            }
            _ => None,
        };
    }

    /// A lease asked for at this time was granted.
    pub(super) fn granted(&mut self, asked: Instant) {
        self.valid_until = self.valid_until.max(later(asked, self.lease));
    }

    fn first(&self) -> (Instant, Due) {
        let idle = (Instant::now() < self.idle_at).then_some((self.idle_at, Due::Idle));
        let forget = self.forget.iter().map(|past| (past.until, Due::Forget(past.turn)));
        let others = [
            Some((self.valid_until, Due::LeaseOver)),
            self.approval_at.map(|at| (at, Due::Approval)),
            self.unread_at.map(|at| (at, Due::Unread)),
            idle,
        ];
        let all = others.into_iter().flatten().chain(forget);
        all.fold((self.renew_at, Due::Renew), |first, next| if next.0 < first.0 { next } else { first })
    }

    /// Waits for what is due next. Can be dropped and called again.
    pub(super) async fn next(&self) -> Due {
        let (at, due) = self.first();
        sleep_until(at).await;
        due
    }
}

impl Actor {
    pub(super) fn timer(&mut self, due: Due) {
        match due {
            Due::Renew => self.renew(),
            Due::LeaseOver => self.hear(Fact::LeaseLost),
            Due::Approval => {
                self.timers.approval_at = None;
                self.hear(Fact::Expired { why: StopWhy::ApprovalIdle });
            }
            Due::Forget(turn) => {
                let gone: Vec<_> = self.timers.forget.extract_if(.., |past| past.turn == turn).collect();
                let reaction = self.topic.forget_last(turn);
                self.react(reaction);
                self.forget(gone.into_iter().flat_map(|past| past.attempts).collect());
            }
            Due::Unread => {
                self.timers.unread_at = None;
                self.hear(Fact::Expired { why: StopWhy::NoReaders });
            }
            Due::Idle => {}
        }
    }

    fn renew(&mut self) {
        let asked = Instant::now();
        self.timers.renew_at = later(asked, self.timers.lease / 3);
        let (shared, lease, facts) = (self.shared.clone(), self.lease.clone(), self.facts.clone());
        let renewed = self.renewed.clone();
        // Not part of the topic's work: the topic does not stay for it.
        let renewing = async move {
            match in_time(&shared, shared.ownership.renew(&lease, shared.settings.lease)).await {
                Ok(()) => drop(renewed.send(asked)),
                Err(error) if error.is_fenced() => facts.tell(Fact::LeaseLost),
                Err(error) => tracing::warn!(%error, topic = %lease.topic, "a topic could not be kept"),
            }
        };
        self.shared.tasks.spawn(until_killed(self.shared.kill.clone(), renewing));
    }
}
