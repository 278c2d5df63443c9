//! The way to the next target.

use std::future::Future;
use std::sync::Arc;

use ai_provider::{ErrorClass, LanguageModel, ModelError};
use tokio::time::timeout_at;

use super::{Engine, now};
use crate::fallback::Source;
use crate::gate;
use crate::health::{Admission, Probe};
use crate::open::out_of_time;
use crate::request;

/// A target that could be next.
struct Candidate {
    at: usize,
    key: usize,
    probe: Option<Probe>,
}

impl Engine {
    /// Goes to the next target that can take the request; the key to begin with there. Nothing is resolved that is
    /// not reached, and nothing after a cancel.
    ///
    /// # Errors
    /// If the call is cancelled or out of time meanwhile.
    pub(super) async fn next_target(&mut self, class: ErrorClass) -> Result<Option<usize>, ModelError> {
        // Of targets that other runs have found wanting, the first: better than none.
        let mut unwell = None;
        for at in self.present.at + 1..=self.shared.policy.fallbacks.len() {
            let name =
                self.shared.policy.fallbacks.get(at - 1).map(|own| own.name.clone()).unwrap_or_default();
            let model = match self.resolved(at).await? {
                Ok(model) => model,
                Err(why) => {
                    self.skip(&name, why);
                    continue;
                }
            };
            if let Some(why) = self.unfit(at, &*model, class) {
                self.skip(&name, why);
                continue;
            }
            match self.key_at(at) {
                Ok((key, probe)) => return Ok(Some(self.move_to(Candidate { at, key, probe }))),
                Err(Some(key)) => {
                    self.skip(&name, "other calls have just failed there".to_owned());
                    unwell.get_or_insert(Candidate { at, key, probe: None });
                }
                Err(None) => self.skip(&name, "none of its keys can be used".to_owned()),
            }
        }
        Ok(unwell.map(|candidate| self.move_to(candidate)))
    }

    fn skip(&mut self, name: &str, why: String) {
        let present = self.named(self.present.key);
        self.report.skipped(&present, name, why);
    }

    /// The model at this position, made if need be, or why there is none.
    async fn resolved(&mut self, at: usize) -> Result<Result<Arc<dyn LanguageModel>, String>, ModelError> {
        if self.ctx.cancel.is_cancelled() {
            return Err(ModelError::cancelled());
        }
        if let Some(target) = self.run.lock().get(at) {
            return Ok(Ok(Arc::clone(&target.model)));
        }
        let Some(fallback) = self.shared.policy.fallbacks.get(at - 1) else {
            return Ok(Err("it does not exist".to_owned()));
        };
        let model = match &fallback.source {
            Source::Model(model) => Arc::clone(model),
            Source::Lazy(resolve) => {
                let making = self.run.lock().making(at, || resolve());
                match self.patiently(making).await? {
                    Ok(Some(model)) => model,
                    Ok(None) => return Ok(Err("it is not available".to_owned())),
                    Err(error) => {
                        self.report.resolver_failed = true;
                        return Ok(Err(format!("it cannot be made: {error}")));
                    }
                }
            }
        };
        self.run.lock().keep(at, Arc::clone(&model));
        Ok(Ok(model))
    }

    /// The future's output, unless the call is cancelled or its time is over before.
    async fn patiently<T>(&self, future: impl Future<Output = T>) -> Result<T, ModelError> {
        let cancel = &self.ctx.cancel;
        let uncancelled = cancel.run_until_cancelled(future);
        let outcome = match self.limit {
            Some(limit) => timeout_at(limit.into(), uncancelled).await.map_err(|_| out_of_time())?,
            None => uncancelled.await,
        };
        outcome.ok_or_else(ModelError::cancelled)
    }

    /// Why a model is not what the failed request needs, if it is not.
    fn unfit(&self, at: usize, model: &dyn LanguageModel, class: ErrorClass) -> Option<String> {
        if self.run.lock().is_repeated(at, model) {
            return Some("it is a target that was tried already".to_owned());
        }
        if class == ErrorClass::ContextTooLong {
            let window = |model: &dyn LanguageModel| model.capabilities().context_window;
            let larger =
                window(model).zip(window(&*self.present.model)).is_some_and(|(its, ours)| its > ours);
            if !larger {
                return Some("its window is not known to be larger".to_owned());
            }
        }
        let fallback = self.shared.policy.fallbacks.get(at - 1)?;
        gate::refusal(&request::for_fallback(&self.request, fallback), model.capabilities())
    }

    /// The key to begin with at this position: `Err` with one that can be used but is better left alone, if there is.
    fn key_at(&self, at: usize) -> Result<(usize, Option<Probe>), Option<usize>> {
        let now = now();
        let mut targets = self.run.lock();
        let target = targets.get(at).ok_or(None)?;
        let (id, labels) = (target.model.target(), target.model.keys());
        let admitted = |key: usize| match &self.shared.policy.health {
            None => Some((key, None)),
            Some(board) => match board.admits(id, labels.get(key), now) {
                Admission::Closed => None,
                Admission::Open => Some((key, None)),
                Admission::Probe(probe) => Some((key, Some(probe))),
            },
        };
        let healthy = target.ring.usable(now).find_map(admitted);
        healthy.ok_or_else(|| target.ring.usable(now).next())
    }

    /// A key of the present target that no other run has found wanting.
    pub(super) fn healthy_key(&mut self) -> Option<usize> {
        let (key, probe) = self.key_at(self.present.at).ok()?;
        self.present.key = key;
        self.present.probe = probe;
        Some(key)
    }

    fn move_to(&mut self, candidate: Candidate) -> usize {
        let from = self.present.model.target().clone();
        self.arrive(candidate.at);
        self.present.key = candidate.key;
        self.present.probe = candidate.probe;
        self.report.fell_back(&from, &self.named(candidate.key));
        candidate.key
    }
}
