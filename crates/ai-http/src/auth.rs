//! How a call shows who it is from.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ai_provider::{Account, ApiKey, KeyLabel, KeySource, ModelError};
use async_trait::async_trait;
use http::HeaderName;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::call::HttpCall;

#[cfg(test)]
mod tests;

/// Puts the key on a call, or signs it. Runs after encoding and after the caller's own headers are set, so
/// that a signature covers all of it.
#[async_trait]
pub trait Authorize: Send + Sync {
    /// Changes the call. A header the caller has set is left as it is.
    ///
    /// # Errors
    /// `Auth` if it cannot be authorized.
    async fn authorize(&self, call: &mut HttpCall, key: Option<&ApiKey>) -> Result<(), ModelError>;
}

/// `authorization: Bearer KEY`; nothing without a key.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bearer;

#[async_trait]
impl Authorize for Bearer {
    async fn authorize(&self, call: &mut HttpCall, key: Option<&ApiKey>) -> Result<(), ModelError> {
        match key {
            Some(key) if !call.headers.contains_key(http::header::AUTHORIZATION) => {
                call.set_secret_header("authorization", &format!("Bearer {}", key.expose()))
            }
            _ => Ok(()),
        }
    }
}

/// The key as the value of a header of its own, such as `x-api-key`; nothing without a key.
///
/// ```
/// use http::HeaderName;
/// let authorize = ai_http::HeaderKey(HeaderName::from_static("x-api-key"));
/// ```
#[derive(Clone, Debug)]
pub struct HeaderKey(pub HeaderName);

#[async_trait]
impl Authorize for HeaderKey {
    async fn authorize(&self, call: &mut HttpCall, key: Option<&ApiKey>) -> Result<(), ModelError> {
        match key {
            Some(key) if !call.headers.contains_key(&self.0) => {
                call.set_secret_header(self.0.as_str(), key.expose())
            }
            _ => Ok(()),
        }
    }
}

/// A token and how long it may be used.
#[derive(Clone)]
pub struct FreshToken {
    /// The token.
    pub secret: String,
    /// From now on.
    pub valid_for: Duration,
}

impl fmt::Debug for FreshToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FreshToken").field("valid_for", &self.valid_for).finish_non_exhaustive()
    }
}

type Renewal = Pin<Box<dyn Future<Output = Result<FreshToken, ModelError>> + Send>>;

/// A key that runs out and is renewed when it is asked for: OAuth tokens, cloud identities.
///
/// Callers that ask while a renewal is under way share its result, good or bad.
///
/// ```
/// use std::time::Duration;
/// use ai_http::{ExpiringToken, FreshToken};
/// let keys = ExpiringToken::new("vertex", || async {
///     let secret = "ya29.…".replace('…', "x"); // ask the token endpoint here
///     Ok(FreshToken { secret, valid_for: Duration::from_secs(3600) })
/// });
/// ```
pub struct ExpiringToken {
    labels: [KeyLabel; 1],
    account: Account,
    renew: Box<dyn Fn() -> Renewal + Send + Sync>,
    /// How many renewals have ended.
    renewals: AtomicU64,
    last: Mutex<Option<Result<Token, ModelError>>>,
}

struct Token {
    key: ApiKey,
    /// When it is to be renewed; never, if the time cannot be told.
    stale_at: Option<Instant>,
}

/// A token is renewed this long before it runs out, or at half its life if that is shorter: a call that is
/// sent with it must still be valid when it arrives.
const MARGIN: Duration = Duration::from_secs(60);

impl ExpiringToken {
    /// A token with this name, which `renew` makes when it is first asked for and whenever it has run out.
    pub fn new<F, Fut>(label: impl Into<KeyLabel>, renew: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<FreshToken, ModelError>> + Send + 'static,
    {
        let label = label.into();
        Self {
            account: label.as_str().into(),
            labels: [label],
            renew: Box::new(move || Box::pin(renew())),
            renewals: AtomicU64::new(0),
            last: Mutex::new(None),
        }
    }

    async fn renewed(&self) -> Result<Token, ModelError> {
        let fresh = (self.renew)().await?;
        let [label] = &self.labels;
        let key = ApiKey::new(fresh.secret)?.labelled(label.clone()).of_account(self.account.clone());
        let margin = MARGIN.min(fresh.valid_for / 2);
        Ok(Token { key, stale_at: Instant::now().checked_add(fresh.valid_for.saturating_sub(margin)) })
    }
}

#[async_trait]
impl KeySource for ExpiringToken {
    fn labels(&self) -> &[KeyLabel] {
        &self.labels
    }

    async fn key(&self, _index: usize) -> Result<Option<ApiKey>, ModelError> {
        let seen = self.renewals.load(Ordering::Acquire);
        let mut last = self.last.lock().await;
        let ended_meanwhile = self.renewals.load(Ordering::Acquire) != seen;
        match &*last {
            Some(Ok(token)) if token.stale_at.is_none_or(|at| Instant::now() < at) => {
                return Ok(Some(token.key.clone()));
            }
            Some(Err(error)) if ended_meanwhile => return Err(error.clone()),
            _ => {}
        }
        let result = self.renewed().await;
        self.renewals.fetch_add(1, Ordering::Release);
        last.insert(result).as_ref().map(|token| Some(token.key.clone())).map_err(Clone::clone)
    }
}

impl fmt::Debug for ExpiringToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExpiringToken").field("labels", &self.labels).finish_non_exhaustive()
    }
}
