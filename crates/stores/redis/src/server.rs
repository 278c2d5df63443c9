use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use redis::aio::{ConnectionManager, ConnectionManagerConfig, MultiplexedConnection};
use redis::{AsyncConnectionConfig, Client, FromRedisValue, Pipeline, RedisError, Script, TlsCertificates};
use stream_manager::port::{StoreError, StoreErrorKind};
use tokio::time::{Instant, sleep, timeout_at};

use crate::error::{passes, store_error, unavailable};
use crate::settings::RedisSettings;

/// Between two tries: a connection that broke is made anew meanwhile.
const PAUSE: Duration = Duration::from_millis(20);

/// The server, over one connection that all calls of the node share and that comes back by itself.
pub(crate) struct Server {
    client: Client,
    connection: ConnectionManager,
    timeout: Duration,
    breaks: AtomicU64,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address alone: the rest has the password.
        fmt::Display::fmt(self.client.get_connection_info().addr(), f)
    }
}

impl Server {
    pub(crate) async fn connect(url: &str, settings: &RedisSettings) -> Result<Self, StoreError> {
        let invalid = |error: RedisError| {
            StoreError::new(StoreErrorKind::Conflict, "reading the URL of Redis").with_source(error)
        };
        let client = Client::open(url).map_err(invalid)?;
        let is_tls = matches!(client.get_connection_info().addr(), redis::ConnectionAddr::TcpTls { .. });
        let client = if is_tls {
            provide_cryptography();
            let certificates =
                TlsCertificates { client_tls: None, root_cert: settings.root_certificates.clone() };
            Client::build_with_tls(url, certificates).map_err(invalid)?
        } else {
            client
        };
        let config = ConnectionManagerConfig::new()
            .set_number_of_retries(2)
            .set_min_delay(PAUSE)
            .set_max_delay(Duration::from_millis(200))
            .set_connection_timeout(Some(settings.timeout))
            .set_response_timeout(Some(settings.timeout));
        let connect = ConnectionManager::new_with_config(client.clone(), config);
        let connected = tokio::time::timeout(settings.timeout, connect).await;
        let connected = connected
            .map_err(|_| unavailable(format!("no connection to Redis within {:?}", settings.timeout)))?;
        let connection = connected.map_err(|error| store_error("connecting to Redis", error))?;
        let server = Self { client, connection, timeout: settings.timeout, breaks: AtomicU64::new(0) };
        // A server that wants a password, or stands still, takes connections all the same.
        let mut ping = redis::pipe();
        ping.cmd("PING");
        server.pipe::<redis::Value>("connecting to Redis", &ping).await?;
        Ok(server)
    }

    /// Runs a script, again if the connection broke: every script of ours may be run twice.
    pub(crate) async fn run<T: FromRedisValue>(
        &self,
        what: impl Into<String>,
        script: &Script,
        keys: &[String],
        args: Args,
    ) -> Result<T, StoreError> {
        let mut call = script.prepare_invoke();
        for key in keys {
            call.key(key);
        }
        for arg in &args.0 {
            call.arg(arg);
        }
        let call = &call;
        self.again(what, move |mut connection| async move { call.invoke_async(&mut connection).await }).await
    }

    /// Sends commands that only read, or may be sent twice.
    pub(crate) async fn pipe<T: FromRedisValue>(
        &self,
        what: impl Into<String>,
        pipeline: &Pipeline,
    ) -> Result<T, StoreError> {
        self.again(what, move |mut connection| async move { pipeline.query_async(&mut connection).await })
            .await
    }

    /// Sends commands once.
    pub(crate) async fn once<T: FromRedisValue>(
        &self,
        what: impl Into<String>,
        pipeline: &Pipeline,
    ) -> Result<T, StoreError> {
        let mut connection = self.connection.clone();
        pipeline.query_async(&mut connection).await.map_err(|error| store_error(what, error))
    }

    async fn again<T, F: Future<Output = Result<T, RedisError>>>(
        &self,
        what: impl Into<String>,
        send: impl Fn(ConnectionManager) -> F,
    ) -> Result<T, StoreError> {
        let deadline = Instant::now() + self.timeout;
        loop {
            match timeout_at(deadline, send(self.connection.clone())).await {
                Ok(Ok(reply)) => return Ok(reply),
                Ok(Err(error)) => {
                    let may_pass = passes(&error);
                    if may_pass {
                        self.breaks.fetch_add(1, Ordering::Relaxed);
                    }
                    if !may_pass || Instant::now() + PAUSE >= deadline {
                        return Err(store_error(what, error));
                    }
                    sleep(PAUSE).await;
                }
                Err(_) => {
                    return Err(unavailable(format!("{}: no answer within {:?}", what.into(), self.timeout)));
                }
            }
        }
    }

    /// A connection of its own, for what blocks. It has no limit of time.
    pub(crate) async fn blocking(&self) -> Result<MultiplexedConnection, RedisError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.timeout))
            .set_response_timeout(None);
        self.client.get_multiplexed_async_connection_with_config(&config).await
    }

    /// How often the connection broke, or the server changed: it may be another one since, which lacks what came last.
    pub(crate) fn breaks(&self) -> u64 {
        self.breaks.load(Ordering::Relaxed)
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(crate) async fn subscriptions(&self) -> Result<redis::aio::PubSub, RedisError> {
        match tokio::time::timeout(self.timeout, self.client.get_async_pubsub()).await {
            Ok(connected) => connected,
            Err(_) => Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()),
        }
    }
}

/// Rustls asks for a provider where several are linked, or none is by default. The first one wins for the whole process.
fn provide_cryptography() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Another thread may have been quicker: then there is one.
        rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
    }
}

/// Arguments of a script.
#[derive(Debug, Default)]
pub(crate) struct Args(Vec<Vec<u8>>);

impl Args {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn text(mut self, text: impl Into<String>) -> Self {
        self.0.push(text.into().into_bytes());
        self
    }

    pub(crate) fn number(self, number: u64) -> Self {
        self.text(number.to_string())
    }

    /// Milliseconds, of which scripts and expiries take no more than so many.
    pub(crate) fn millis(self, duration: Duration) -> Self {
        self.number(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).min(LONGEST))
    }
}

/// About thirty years: what is kept longer is kept for good.
const LONGEST: u64 = 1_000_000_000_000;
