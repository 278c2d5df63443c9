//! The attempts of one call, up to the one whose answer is shown.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use ai_provider::{CallContext, ErrorClass, GaveUp, LanguageModel, ModelError, Request, RetryError};

use crate::backoff::{Backoff, Dice};
use crate::decide::{Effort, Failure, Move, Wait, decide, next_key};
use crate::health::{Admission, Probe};
use crate::model::Shared;
use crate::open::{OUT_OF_TIME, Opened, Patience, Strictness, open, out_of_time};
use crate::policy::MOST_RETRIES;
use crate::report::{Attempt, Report};
use crate::request;
use crate::run::{RunState, Target};
use crate::stream::Passing;

mod elsewhere;
mod served;

pub(crate) use served::Served;

/// One call.
pub(crate) struct Engine {
    shared: Arc<Shared>,
    request: Request,
    ctx: CallContext,
    run: Arc<RunState>,
    report: Report,
    backoff: Backoff,
    dice: Dice,
    /// When the call must be over.
    limit: Option<Instant>,
    present: Present,
}

/// Where the call is.
struct Present {
    /// The position of the target, the primary first.
    at: usize,
    model: Arc<dyn LanguageModel>,
    effort: Effort,
    first_key: usize,
    /// The key of the attempt at hand. Of calls at once in a run each has its own.
    key: usize,
    /// When that attempt began.
    began: Instant,
    /// Whether it is to find out for other runs too.
    probe: Option<Probe>,
    /// Its request goes out without opaque blocks, since a server refused them.
    cleaned: bool,
}

/// What a call is to do next.
enum Next {
    Attempt { key: usize },
    End(ModelError),
}

impl Engine {
    pub(crate) fn new(shared: Arc<Shared>, request: Request, ctx: CallContext) -> Self {
        let targets = shared.policy.fallbacks.len() + 1;
        let run = ctx.scope.get_or_insert(&shared.scope_key, || {
            let first_key = shared.first_key(ctx.key_index);
            RunState::new(targets, Target::new(Arc::clone(&shared.primary), first_key))
        });
        let backoff = shared.policy.backoff();
        let dice = Dice::new(shared.policy.seed.unwrap_or_else(|| seed_of(ctx.request_id.as_str())));
        let present = Present {
            at: 0,
            model: Arc::clone(&shared.primary),
            effort: Effort::new(0, 0),
            first_key: 0,
            key: 0,
            began: now(),
            probe: None,
            cleaned: false,
        };
        let report = Report::new(ctx.clone());
        Self { shared, request, ctx, run, report, backoff, dice, limit: None, present }
    }

    /// Tries until an answer has begun.
    pub(crate) async fn open(mut self) -> Result<Passing, ModelError> {
        self.limit = earlier(
            self.shared.policy.budget.and_then(|budget| now().checked_add(budget)),
            self.ctx.deadline,
        );
        let first = self.named(self.present.key);
        self.report.begin(first);
        let outcome = self.attempts().await;
        match outcome {
            Ok((held, stream)) => {
                let Self { shared, run, report, limit, present, backoff, dice, .. } = self;
                let served = Served { shared, run, present, limit, backoff, dice };
                Ok(Passing::new(held, stream, limit, report, served))
            }
            Err(error) => {
                self.report.gave_up(&error);
                Err(error)
            }
        }
    }

    async fn attempts(&mut self) -> Result<Begun, ModelError> {
        let mut next = self.begin().await;
        loop {
            let key = match next {
                Next::Attempt { key } => key,
                Next::End(error) => return Err(error),
            };
            if self.ctx.cancel.is_cancelled() {
                return Err(ModelError::cancelled());
            }
            match self.attempt(key).await {
                Opened::Committed { held, stream } => return Ok((held, stream)),
                Opened::Failed { error, .. } if error.is_cancelled() => return Err(error),
                Opened::Failed { error, no_output, usage } => {
                    self.report.failed(&error, true, usage);
                    next = self.after(error, no_output).await;
                }
            }
        }
    }

    /// Where the call begins: at the target the run has been with.
    async fn begin(&mut self) -> Next {
        if self.ctx.cancel.is_cancelled() {
            return Next::End(ModelError::cancelled());
        }
        if self.remaining().is_some_and(|remaining| remaining.is_zero()) {
            return Next::End(out_of_time());
        }
        let current = self.run.lock().current;
        let last_error = self.arrive(current);
        if let Some(key) = self.healthy_key() {
            return Next::Attempt { key };
        }
        let usable = self.usable_key();
        match last_error {
            // Its keys are of no use since an earlier step of the run.
            Some(error) if usable.is_none() => return self.without_attempt(error).await,
            // Or, as other runs found, for a while.
            _ if self.shared.policy.falls_back_on(ErrorClass::RateLimit) => {
                match self.next_target(ErrorClass::RateLimit).await {
                    Ok(Some(key)) => return Next::Attempt { key },
                    Ok(None) => {}
                    Err(error) => return Next::End(error),
                }
            }
            _ => {}
        }
        usable.map_or_else(
            || Next::End(ModelError::new(ErrorClass::Auth, "no key can be used")),
            |key| Next::Attempt { key },
        )
    }

    /// What follows from the failure of an earlier call whose key is still of no use.
    async fn without_attempt(&mut self, error: ModelError) -> Next {
        let chosen = {
            let mut targets = self.run.lock();
            let Some(target) = targets.get(self.present.at) else { return Next::End(error) };
            let failure = self.failure(&error, false);
            let (effort, ceiling) = (&mut self.present.effort, self.backoff.ceiling);
            next_key(&failure, &target.ring, effort, ceiling, &self.shared.wanting(target, failure.now))
        };
        self.go(chosen, error).await
    }

    /// Settles on a target; what its keys failed with before, if they did.
    fn arrive(&mut self, at: usize) -> Option<ModelError> {
        let mut targets = self.run.lock();
        let target = targets.get(at)?;
        let retries = match at.checked_sub(1).and_then(|at| self.shared.policy.fallbacks.get(at)) {
            Some(fallback) => fallback.retries,
            None => self.request.settings.max_retries.unwrap_or(self.shared.policy.retries).min(MOST_RETRIES),
        };
        self.present = Present {
            at,
            model: Arc::clone(&target.model),
            effort: Effort::new(retries, target.ring.len()),
            first_key: target.first_key,
            key: target.ring.at(),
            began: now(),
            probe: None,
            cleaned: false,
        };
        target.last_error.clone()
    }

    /// A key of the present target that can be used now, whatever other runs found.
    fn usable_key(&self) -> Option<usize> {
        self.run.lock().get(self.present.at)?.ring.usable(now()).next()
    }

    async fn attempt(&mut self, key: usize) -> Opened {
        self.present.effort.tries(key);
        if let Some(target) = self.run.lock().get(self.present.at) {
            target.ring.use_key(key);
        }
        if self.present.key != key {
            self.present.key = key;
            self.present.probe = None;
        }
        self.present.began = now();
        if let Some(board) = &self.shared.policy.health
            && self.present.probe.is_none()
            && let Admission::Probe(probe) = board.admits(
                self.present.model.target(),
                self.present.model.keys().get(key),
                self.present.began,
            )
        {
            self.present.probe = Some(probe);
        }
        let attempt = self.named(key);
        let request = self.request_of(&self.present);
        let mut ctx = self.ctx.clone().with_key_index(key).with_request_id(attempt.request_id.as_str());
        ctx.deadline = self.limit;
        let ctx = ctx.with_events(self.report.started(attempt));
        let patience = Patience {
            cancel: &self.ctx.cancel,
            first_output: self.shared.policy.first_output,
            limit: self.limit,
        };
        let refused = self.shared.policy.falls_back_on(ErrorClass::ContentRefused);
        let strictness = Strictness { empty: self.shared.policy.retry_empty, refused };
        open(self.present.model.stream(request, ctx), patience, strictness).await
    }

    fn request_of(&self, present: &Present) -> Request {
        let own = match present.at.checked_sub(1).and_then(|at| self.shared.policy.fallbacks.get(at)) {
            Some(fallback) => request::for_fallback(&self.request, fallback),
            None => self.request.clone(),
        };
        if present.cleaned { request::without_opaque(&own) } else { own }
    }

    /// The attempt with this key at the present target.
    fn named(&self, key: usize) -> Attempt {
        let Present { at, model, first_key, cleaned, .. } = &self.present;
        Attempt {
            number: self.report.next_number(),
            target: model.target().clone(),
            key: model.keys().get(key).cloned(),
            request_id: request::id(&self.ctx.request_id, *at, key, *first_key, *cleaned),
        }
    }

    async fn after(&mut self, error: ModelError, no_output: bool) -> Next {
        if self.ctx.cancel.is_cancelled() {
            return Next::End(ModelError::cancelled());
        }
        if let Some(remaining) = self.remaining().filter(Duration::is_zero) {
            return Next::End(self.given_up(error, GaveUp::OutOfTime { remaining }));
        }
        if error.class() == ErrorClass::StaleReplay && !self.present.cleaned {
            self.present.cleaned = true;
            return Next::Attempt { key: self.present.key };
        }
        let chosen = {
            let run = Arc::clone(&self.run);
            let mut targets = run.lock();
            let Some(target) = targets.get(self.present.at) else { return Next::End(error) };
            self.shared.tell_board(&self.present, &error, self.limit);
            if error.is_key_related() {
                target.last_error = Some(error.clone());
            }
            let failure = self.failure(&error, no_output);
            let wanting = self.shared.wanting(target, failure.now);
            decide(
                &failure,
                &mut target.ring,
                &mut self.present.effort,
                &self.backoff,
                &mut self.dice,
                &wanting,
            )
        };
        self.go(chosen, error).await
    }

    fn failure<'a>(&self, error: &'a ModelError, no_output: bool) -> Failure<'a> {
        let others = self.shared.policy.fallbacks.len() > self.present.at;
        Failure {
            error,
            key: self.present.key,
            no_output,
            now: now(),
            calendar: SystemTime::now(),
            remaining: self.remaining(),
            elsewhere: others && self.shared.policy.falls_back_on(error.class()),
        }
    }

    async fn go(&mut self, chosen: Move, error: ModelError) -> Next {
        match chosen {
            Move::Again { key, wait } => {
                let next = self.named(key);
                if key != self.present.key {
                    self.report.rotated(&next);
                }
                match wait {
                    Some(wait) => self.wait(&next, wait, key).await,
                    None => Next::Attempt { key },
                }
            }
            Move::GiveUp(why) => Next::End(self.given_up(error, why)),
            Move::Elsewhere => match self.next_target(error.class()).await {
                Ok(Some(key)) => Next::Attempt { key },
                Ok(None) => self.nowhere_else(error).await,
                Err(stop) if stop.is_cancelled() => Next::End(stop),
                // Time was up before another target was found: what failed is still the error.
                Err(_) => Next::End(self.given_up(error, GaveUp::OutOfTime { remaining: Duration::ZERO })),
            },
        }
    }

    /// The fallbacks are out of the question: what is left is the present target.
    async fn nowhere_else(&mut self, error: ModelError) -> Next {
        let chosen = {
            let mut targets = self.run.lock();
            let Some(target) = targets.get(self.present.at) else { return Next::End(error) };
            let failure = Failure { elsewhere: false, ..self.failure(&error, false) };
            let wanting = self.shared.wanting(target, failure.now);
            let effort = &mut self.present.effort;
            if error.is_key_related() {
                next_key(&failure, &target.ring, effort, self.backoff.ceiling, &wanting)
            } else {
                decide(&failure, &mut target.ring, effort, &self.backoff, &mut self.dice, &wanting)
            }
        };
        match chosen {
            Move::Elsewhere => Next::End(self.given_up(error, GaveUp::Exhausted)),
            chosen => Box::pin(self.go(chosen, error)).await,
        }
    }

    async fn wait(&mut self, next: &Attempt, wait: Wait, key: usize) -> Next {
        self.report.waiting(next, wait, self.remaining());
        let cancel = self.ctx.cancel.clone();
        match tokio::time::timeout(wait.delay, cancel.cancelled()).await {
            Ok(()) => Next::End(ModelError::cancelled()),
            Err(_) => Next::Attempt { key },
        }
    }

    fn remaining(&self) -> Option<Duration> {
        self.limit.map(|limit| limit.saturating_duration_since(now()))
    }

    /// The last error, with all attempts beneath it unless it was the only one.
    fn given_up(&mut self, error: ModelError, why: GaveUp) -> ModelError {
        let plain = matches!(why, GaveUp::Hopeless | GaveUp::Exhausted);
        let alone = self.report.failed.len() <= 1 && !self.report.resolver_failed;
        if plain && alone {
            return error;
        }
        let message = match &why {
            // A layer beneath has said it.
            _ if RetryError::of(&error).is_some() => error.message().to_owned(),
            GaveUp::WaitTooLong { wait } => {
                let until = date_in(*wait);
                format!("{} (not before {})", error.message(), until.as_deref().unwrap_or("the end of time"))
            }
            GaveUp::OutOfTime { remaining } if remaining.is_zero() => match error.message() {
                OUT_OF_TIME => OUT_OF_TIME.to_owned(),
                message => format!("{message} ({OUT_OF_TIME})"),
            },
            GaveUp::OutOfTime { remaining } => {
                format!("{} (the {remaining:?} left are too short for another attempt)", error.message())
            }
            _ => error.message().to_owned(),
        };
        let attempts = std::mem::take(&mut self.report.failed);
        let skipped = std::mem::take(&mut self.report.skipped);
        error.with_message(message).with_source(RetryError::new(attempts, skipped, why))
    }
}

type Begun = (std::collections::VecDeque<ai_provider::StreamPart>, ai_provider::ModelStream);

/// The day and time after this wait, as far as the calendar of HTTP goes.
fn date_in(wait: Duration) -> Option<String> {
    const YEAR_10000: Duration = Duration::from_secs(253_402_300_800);
    let until = SystemTime::now().checked_add(wait)?;
    let since = until.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    (since < YEAR_10000).then(|| httpdate::fmt_http_date(until))
}

fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// A seed that differs from call to call, and is the same when a call is repeated under its id.
fn seed_of(request_id: &str) -> u64 {
    request_id
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
