use std::time::Duration;

/// How a [`RedisStore`](crate::RedisStore) works.
///
/// ```
/// use std::time::Duration;
/// use stream_store_redis::RedisSettings;
///
/// let settings = RedisSettings::default().with_prefix("my-app").with_timeout(Duration::from_secs(2));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RedisSettings {
    /// What all keys and channels begin with: `sm` unless set. Applications that share a server use their own.
    pub prefix: String,
    /// How long a call may take, with the time to connect again and the second try: 5 s unless set. Less than half of the
    /// time of a lease, so that a renewal that fails can be tried again.
    pub timeout: Duration,
    /// How long chunks are gathered before they are sent: 10 ms unless set. A reader sees it as delay, the server as fewer
    /// commands. Steps, tools and ends do not wait.
    pub gather: Duration,
    /// How many bytes of an attempt's records are kept to be read again, about: 1 MiB unless set. A reader that is further
    /// behind gets the message as it stands. Each node that follows the attempt keeps twice as much in its memory.
    pub log_bytes: usize,
    /// How long the log of an attempt stays after its end: 5 minutes unless set, so that a client that comes back goes on
    /// where it was.
    pub log_kept: Duration,
    /// How long the log of an attempt stays that nobody writes: 1 hour unless set. Its writer died with its node, and
    /// nobody sealed it.
    pub log_idle: Duration,
    /// Root certificates (PEM) to trust for `rediss://` in the place of the system's: for a private authority.
    pub root_certificates: Option<Vec<u8>>,
}

impl Default for RedisSettings {
    fn default() -> Self {
        Self {
            prefix: "sm".to_owned(),
            timeout: Duration::from_secs(5),
            gather: Duration::from_millis(10),
            log_bytes: 1024 * 1024,
            log_kept: Duration::from_secs(300),
            log_idle: Duration::from_secs(3600),
            root_certificates: None,
        }
    }
}

impl RedisSettings {
    /// Sets what all keys begin with.
    #[must_use]
    pub fn with_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Sets how long a call may take.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how long chunks are gathered.
    #[must_use]
    pub fn with_gather(mut self, gather: Duration) -> Self {
        self.gather = gather;
        self
    }

    /// Sets how many bytes of an attempt's records are kept.
    #[must_use]
    pub fn with_log_bytes(mut self, bytes: usize) -> Self {
        self.log_bytes = bytes;
        self
    }

    /// Sets how long a log stays after its end.
    #[must_use]
    pub fn with_log_kept(mut self, kept: Duration) -> Self {
        self.log_kept = kept;
        self
    }

    /// Sets how long a log stays that nobody writes.
    #[must_use]
    pub fn with_log_idle(mut self, idle: Duration) -> Self {
        self.log_idle = idle;
        self
    }

    /// Sets which root certificates (PEM) to trust.
    #[must_use]
    pub fn with_root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.root_certificates = Some(pem.into());
        self
    }
}
