//! A language model around others: what fails is saved if it can be, within one budget, visibly, and never twice.
//!
//! | you want to | look at |
//! |---|---|
//! | try again, with more keys, at other models | [`RetryPolicy`], [`RetryPolicy::wrap`] |
//! | put it around an agent's model | [`RetryPolicy::wrapper`] |
//! | fall back to another model | [`Fallback`] |
//! | share what is known of keys between runs | [`HealthBoard`] |
//! | see what happened | [`AttemptEvent`], [`Timeline`] |
//! | understand a failure | [`RetryError`] |
//!
//! # What happens when a call fails
//!
//! 1. Something of the answer was shown: nothing. The error is passed on; only the caller can begin anew.
//! 2. The key was refused, is used up or is limited: the next usable key, at once. A refused or used-up key is out for
//!    the run; a limited one for the time the server said, or for the backoff.
//! 3. The failure passes (the server's fault, the network's): the same target after a wait, as often as the policy
//!    says.
//! 4. Else, or when that is used up: the next fallback that can take the request. A run stays with what worked.
//! 5. Nothing is left: the last error, with a [`RetryError`] beneath it that lists every attempt.
//!
//! Nothing is ever tried after a cancel, and the same target never again for a request it called invalid. Tools are
//! not this crate's business.
//!
//! # Example
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use ai_provider::{CallContext, LanguageModel, LanguageModelExt, Message, Request};
//! use retry::{Fallback, RetryPolicy};
//!
//! # async fn f(model: Arc<dyn LanguageModel>, other: Arc<dyn LanguageModel>) -> Result<(), Box<dyn std::error::Error>> {
//! let model = RetryPolicy::new()
//!     .with_retries(3)
//!     .with_budget(Duration::from_secs(120))
//!     .with_fallback(Fallback::to(other))
//!     .wrap(model)?;
//! println!("{}", model.generate(Request::new([Message::user("Hi")]), CallContext::new()).await?.text());
//! # Ok(()) }
//! ```

mod backoff;
mod decide;
mod engine;
mod error;
mod fallback;
mod gate;
mod health;
mod keys;
mod model;
mod open;
mod policy;
mod relay;
mod report;
mod request;
mod run;
mod stream;
mod timeline;

pub use ai_provider::{
    AttemptEnd, AttemptEvent, AttemptKind, DelaySource, FailedAttempt, GaveUp, RetryError, SkippedTarget,
};
pub use error::PolicyError;
pub use fallback::Fallback;
pub use health::HealthBoard;
pub use policy::{KeyOrder, RetryPolicy};
pub use timeline::Timeline;
