//! A server of its own for a test.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use stream_store_redis::{RedisSettings, RedisStore};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::time::sleep;

/// Which programs are tried: `REDIS_SERVER` alone if it is set.
fn program() -> Option<String> {
    let named = std::env::var("REDIS_SERVER").ok();
    let known = ["redis-server", "valkey-server"].map(str::to_owned);
    let runs = |program: &String| {
        let mut version = Command::new(program);
        version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        version.status().is_ok_and(|status| status.success())
    };
    match named {
        Some(program) => Some(program),
        None => known.into_iter().find(runs),
    }
}

/// A server on a free port, with its own folder. It is killed when dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    port: u16,
    folder: TempDir,
    options: Vec<String>,
}

impl Server {
    /// `None`, and a line that says so, where there is no server on this machine; with `REQUIRE_ALL=1` that fails.
    pub(crate) async fn start(options: &[&str]) -> Option<Self> {
        let Some(program) = program() else {
            assert!(
                std::env::var("REQUIRE_ALL").as_deref() != Ok("1"),
                "no redis-server on this machine (REQUIRE_ALL=1)"
            );
            println!("skipped: no redis-server on this machine");
            return None;
        };
        let folder = TempDir::new().unwrap();
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        // Another process may take the port in between: then another port is tried.
        for _ in 0..20 {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let mut child = spawn(&program, port, &folder, &options);
            if answers(port, &mut child).await {
                return Some(Self { child, port, folder, options });
            }
        }
        panic!("{program} does not start");
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) async fn store(&self) -> RedisStore {
        self.store_with(RedisSettings::default()).await
    }

    pub(crate) async fn store_with(&self, settings: RedisSettings) -> RedisStore {
        RedisStore::connect(&self.url(), settings).await.unwrap()
    }

    /// Kills it, and starts it again on its files.
    pub(crate) async fn restart(&mut self) {
        self.kill();
        self.revive().await;
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) async fn revive(&mut self) {
        for _ in 0..50 {
            self.child = spawn(&program().unwrap(), self.port, &self.folder, &self.options);
            if answers(self.port, &mut self.child).await {
                return;
            }
            sleep(Duration::from_millis(50)).await;
        }
        panic!("the server does not start again");
    }

    /// Sends a command, and gives its answer as text.
    pub(crate) async fn command(&self, words: &[&str]) -> String {
        let output = Command::new("redis-cli")
            .args(["-p", &self.port.to_string()])
            .args(words)
            .output()
            .expect("redis-cli comes with the server");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn spawn(program: &str, port: u16, folder: &TempDir, options: &[String]) -> Child {
    Command::new(program)
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "yes"])
        .args(["--appendfsync", "always", "--loglevel", "warning", "--dir"])
        .arg(folder.path())
        .args(options)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Whether it takes connections, before it ends.
async fn answers(port: u16, child: &mut Child) -> bool {
    for _ in 0..1000 {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        if TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
            // It may be a stranger's: ours is alive still, and has the port.
            sleep(Duration::from_millis(20)).await;
            return child.try_wait().unwrap().is_none();
        }
        sleep(Duration::from_millis(10)).await;
    }
    false
}

/// A server for a test, or the end of the test where there is none.
macro_rules! server {
    ($($option:expr),* $(,)?) => {
        match crate::server::Server::start(&[$($option),*]).await {
            Some(server) => server,
            None => return,
        }
    };
}
pub(crate) use server;

impl Server {
    /// The one key of a kind.
    pub(crate) async fn key(&self, kind: &str) -> String {
        let keys = self.command(&["KEYS", &format!("*}}:{kind}:*")]).await;
        assert_eq!(keys.lines().count(), 1, "{keys}");
        keys
    }
}
