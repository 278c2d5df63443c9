//! The suite. Each check is a function over one fresh port; what it says when something does not hold is a sentence.

mod accept;
mod claim;
mod commands;
mod fence;
mod fields;
mod kit;
mod listing;
mod log;
mod odd;
mod ownership;
mod report;
mod status;
mod write;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use stream_manager::port::{Commands, ConversationStore, Ownership, ReplayLog, StatusBus, StoreError};

use kit::Checking;
pub use report::{StoreFailure, StoreReport};

/// What every store, lease keeper, log, bus and carrier of commands must hold, checked on yours.
///
/// ```
/// use std::sync::Arc;
/// use ai_testkit::store::StoreConformance;
/// use stream_manager::memory::{MemoryConversations, MemoryOwnership};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
/// StoreConformance::new()
///     .conversations(async || Ok(Arc::new(MemoryConversations::new())))
///     .ownership(async || Ok(Arc::new(MemoryOwnership::new())))
///     .check()
///     .await;
/// # }
/// ```
///
/// Give it the ports you have. Each is made anew for each check, and must be empty then. Time is tokio's: with its clock
/// paused, leases that run out take no time; over a real server they take about two seconds.
///
/// | port | checks |
/// |---|---|
/// | conversations | `accept`, `accept-again`, `accept-at-once`, `claim`, `claim-again`, `claim-conflict`, `claim-at-once`, `reopen`, `checkpoint`, `settle`, `settle-returns`, `return`, `fence`, `fence-seen`, `fields`, `order`, `list`, `pages`, `delete`, `orphans`, `waiting`, `large`, `deep`, `ids`, `apart` |
/// | ownership | `exclusive`, `epochs`, `renew`, `release`, `owner`, `expiry` |
/// | log | `log-records`, `log-cursors`, `log-live`, `log-slow`, `log-fence`, `log-orphan`, `log-seal`, `log-forget`, `log-apart` |
/// | status | `status-kept`, `status-order`, `status-watch`, `status-slow`, `status-forget` |
/// | commands | `call`, `call-nobody`, `call-kinds`, `call-at-once`, `call-hangs`, `call-gone` |
pub struct StoreConformance {
    conversations: Option<Maker<dyn ConversationStore>>,
    ownership: Option<Maker<dyn Ownership>>,
    log: Option<Maker<dyn ReplayLog>>,
    status: Option<Maker<dyn StatusBus>>,
    commands: Option<Maker<dyn Commands>>,
    only: Option<Vec<String>>,
}

/// Makes a port, empty.
type Maker<P> = Box<dyn Fn() -> BoxFuture<'static, Result<Arc<P>, StoreError>> + Send + Sync>;
type Checks<P> = &'static [(&'static str, fn(Arc<P>) -> Checking)];

/// A check that takes longer hangs: the slowest takes a few seconds on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

macro_rules! checks {
    ($($name:literal => $check:path),* $(,)?) => { &[$(($name, |port| Box::pin($check(port)))),*] };
}

const CONVERSATIONS: Checks<dyn ConversationStore> = checks! {
    "accept" => accept::accept,
    "accept-again" => accept::again,
    "accept-at-once" => accept::at_once,
    "claim" => claim::claim,
    "claim-again" => claim::again,
    "claim-conflict" => claim::conflict,
    "claim-at-once" => claim::at_once,
    "reopen" => claim::reopen,
    "checkpoint" => write::checkpoint,
    "settle" => write::settle,
    "settle-returns" => write::settle_returns,
    "return" => write::returns,
    "fence" => fence::fence,
    "fence-seen" => fence::seen,
    "fields" => fields::fields,
    "order" => listing::order,
    "list" => listing::list,
    "pages" => listing::pages,
    "delete" => listing::delete,
    "orphans" => listing::orphans,
    "waiting" => listing::waiting,
    "large" => odd::large,
    "deep" => odd::deep,
    "ids" => odd::ids,
    "apart" => odd::apart,
};

const OWNERSHIP: Checks<dyn Ownership> = checks! {
    "exclusive" => ownership::exclusive,
    "epochs" => ownership::epochs,
    "renew" => ownership::renew,
    "release" => ownership::release,
    "owner" => ownership::owner,
    "expiry" => ownership::expiry,
};

const LOG: Checks<dyn ReplayLog> = checks! {
    "log-records" => log::records,
    "log-cursors" => log::cursors,
    "log-live" => log::live,
    "log-slow" => log::slow,
    "log-fence" => log::fence,
    "log-orphan" => log::orphan,
    "log-seal" => log::seal,
    "log-forget" => log::forget,
    "log-apart" => log::apart,
};

const STATUS: Checks<dyn StatusBus> = checks! {
    "status-kept" => status::kept,
    "status-order" => status::order,
    "status-watch" => status::watch,
    "status-slow" => status::slow,
    "status-forget" => status::forget,
};

const COMMANDS: Checks<dyn Commands> = checks! {
    "call" => commands::call,
    "call-nobody" => commands::nobody,
    "call-kinds" => commands::kinds,
    "call-at-once" => commands::at_once,
    "call-hangs" => commands::hangs,
    "call-gone" => commands::gone,
};

impl StoreConformance {
    /// A suite without ports yet.
    pub fn new() -> Self {
        Self { conversations: None, ownership: None, log: None, status: None, commands: None, only: None }
    }

    /// Checks a store of conversations.
    #[must_use]
    pub fn conversations<S, F>(mut self, make: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        S: ConversationStore,
        F: Future<Output = Result<Arc<S>, StoreError>> + Send + 'static,
    {
        self.conversations = Some(Box::new(move || {
            let made = make();
            Box::pin(async move { Ok(made.await? as Arc<dyn ConversationStore>) })
        }));
        self
    }

    /// Checks who may write.
    #[must_use]
    pub fn ownership<S, F>(mut self, make: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        S: Ownership,
        F: Future<Output = Result<Arc<S>, StoreError>> + Send + 'static,
    {
        self.ownership = Some(Box::new(move || {
            let made = make();
            Box::pin(async move { Ok(made.await? as Arc<dyn Ownership>) })
        }));
        self
    }

    /// Checks a log of attempts.
    #[must_use]
    pub fn log<S, F>(mut self, make: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        S: ReplayLog,
        F: Future<Output = Result<Arc<S>, StoreError>> + Send + 'static,
    {
        self.log = Some(Box::new(move || {
            let made = make();
            Box::pin(async move { Ok(made.await? as Arc<dyn ReplayLog>) })
        }));
        self
    }

    /// Checks a status bus.
    #[must_use]
    pub fn status<S, F>(mut self, make: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        S: StatusBus,
        F: Future<Output = Result<Arc<S>, StoreError>> + Send + 'static,
    {
        self.status = Some(Box::new(move || {
            let made = make();
            Box::pin(async move { Ok(made.await? as Arc<dyn StatusBus>) })
        }));
        self
    }

    /// Checks a carrier of commands.
    #[must_use]
    pub fn commands<S, F>(mut self, make: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        S: Commands,
        F: Future<Output = Result<Arc<S>, StoreError>> + Send + 'static,
    {
        self.commands = Some(Box::new(move || {
            let made = make();
            Box::pin(async move { Ok(made.await? as Arc<dyn Commands>) })
        }));
        self
    }

    /// Runs these checks and no others.
    #[must_use]
    pub fn only<'a>(mut self, checks: impl IntoIterator<Item = &'a str>) -> Self {
        self.only = Some(checks.into_iter().map(str::to_owned).collect());
        self
    }

    /// Runs the suite.
    ///
    /// # Panics
    /// If anything does not hold, with everything that was found.
    #[allow(clippy::panic, reason = "this is how a test fails")]
    pub async fn check(self) {
        let report = self.run().await;
        if !report.failures.is_empty() {
            panic!("{report}");
        }
    }

    /// Runs the suite, and says what was found. Must be called within a tokio runtime that has time enabled.
    pub async fn run(self) -> StoreReport {
        let mut report = StoreReport::default();
        self.run_port(self.conversations.as_ref(), CONVERSATIONS, &mut report).await;
        self.run_port(self.ownership.as_ref(), OWNERSHIP, &mut report).await;
        self.run_port(self.log.as_ref(), LOG, &mut report).await;
        self.run_port(self.status.as_ref(), STATUS, &mut report).await;
        self.run_port(self.commands.as_ref(), COMMANDS, &mut report).await;
        for name in self.only.iter().flatten() {
            if !report.checks.contains(&name.as_str()) {
                report.fail(name, "there is no such check of the ports that were given".to_owned());
            }
        }
        if report.checks.is_empty() {
            report.fail("", "nothing was checked".to_owned());
        }
        report
    }

    async fn run_port<P: ?Sized>(
        &self,
        maker: Option<&Maker<P>>,
        checks: Checks<P>,
        report: &mut StoreReport,
    ) {
        let wanted = |name: &str| self.only.as_ref().is_none_or(|only| only.iter().any(|it| it == name));
        let Some(maker) = maker else { return };
        for (name, check) in checks.iter().filter(|(name, _)| wanted(name)) {
            report.checks.push(name);
            let port = match maker().await {
                Ok(port) => port,
                Err(error) => {
                    report.fail(name, format!("it could not be made: {error}"));
                    continue;
                }
            };
            match tokio::time::timeout(LIMIT, check(port)).await {
                Ok(Ok(())) => {}
                Ok(Err(unmet)) => report.fail(name, unmet.0),
                Err(_) => report.fail(name, format!("it does not end within {LIMIT:?}")),
            }
        }
    }
}

impl Default for StoreConformance {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for StoreConformance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreConformance").field("only", &self.only).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
