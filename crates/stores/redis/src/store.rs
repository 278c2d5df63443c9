use std::fmt;
use std::sync::Arc;

use stream_manager::port::{StoreError, StoreErrorKind};

use crate::channels::Channels;
use crate::commands::Caller;
use crate::keys::Keys;
use crate::lease::Held;
use crate::log::{Followed, Sender};
use crate::server::Server;
use crate::settings::RedisSettings;
use crate::status::Board;
use crate::{conversation, lease, log, status};

/// All ports on one Redis. See the [crate](crate).
///
/// Clones share their connections, of which there are three: one for calls, one that waits for logs to go on, one for
/// messages.
#[derive(Clone)]
pub struct RedisStore {
    shared: Arc<Shared>,
}

struct Shared {
    server: Arc<Server>,
    keys: Arc<Keys>,
    scripts: Arc<Scripts>,
    held: Arc<Held>,
    settings: RedisSettings,
    sender: Sender,
    followed: Followed,
    channels: Channels,
    caller: Caller,
    board: Board,
}

/// The scripts of all ports.
#[derive(Debug)]
pub(crate) struct Scripts {
    pub(crate) lease: lease::Scripts,
    pub(crate) conversation: conversation::Scripts,
    pub(crate) status: status::Scripts,
    pub(crate) log: log::Scripts,
}

impl RedisStore {
    /// Connects to a server: `redis://[user:password@]host[:port][/db]`, or `rediss://` for TLS.
    ///
    /// Must be called within a tokio runtime.
    ///
    /// # Errors
    /// [`Conflict`](StoreErrorKind::Conflict) if the URL or the settings cannot be;
    /// [`Unavailable`](StoreErrorKind::Unavailable) if the server cannot be reached in time, or refuses the password.
    pub async fn connect(url: &str, settings: RedisSettings) -> Result<Self, StoreError> {
        if settings.prefix.contains(['{', '}']) {
            // The tag of a key is what stands in its first braces.
            return Err(StoreError::new(StoreErrorKind::Conflict, "the prefix of the keys has braces"));
        }
        let server = Arc::new(Server::connect(url, &settings).await?);
        let keys = Arc::new(Keys::new(&settings.prefix));
        let scripts = Arc::new(Scripts {
            lease: lease::Scripts::new(),
            conversation: conversation::Scripts::new(),
            status: status::Scripts::new(),
            log: log::Scripts::new(),
        });
        let held = Arc::new(Held::default());
        let shared = Shared {
            sender: Sender::start(Arc::clone(&server), Arc::clone(&scripts), &settings),
            followed: Followed::start(Arc::clone(&server), settings.log_bytes),
            channels: Channels::start(Arc::clone(&server)),
            caller: Caller::new(),
            board: Board::default(),
            server,
            keys,
            scripts,
            held,
            settings,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    pub(crate) fn server(&self) -> &Arc<Server> {
        &self.shared.server
    }

    pub(crate) fn keys(&self) -> &Arc<Keys> {
        &self.shared.keys
    }

    pub(crate) fn scripts(&self) -> &Arc<Scripts> {
        &self.shared.scripts
    }

    pub(crate) fn held(&self) -> &Arc<Held> {
        &self.shared.held
    }

    pub(crate) fn settings(&self) -> &RedisSettings {
        &self.shared.settings
    }

    pub(crate) fn sender(&self) -> &Sender {
        &self.shared.sender
    }

    pub(crate) fn followed(&self) -> &Followed {
        &self.shared.followed
    }

    pub(crate) fn caller(&self) -> &Caller {
        &self.shared.caller
    }

    pub(crate) fn board(&self) -> &Board {
        &self.shared.board
    }

    pub(crate) fn channels(&self) -> &Channels {
        &self.shared.channels
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore").field("server", &self.shared.server).finish_non_exhaustive()
    }
}
