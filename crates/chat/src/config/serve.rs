//! What `chat serve` and conversations that are kept need.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use agent_loop::UiProtocol;
use schemars::JsonSchema;
use serde::de::{Error, IgnoredAny};
use serde::{Deserialize, Deserializer};

use super::table::table;
use super::user_folder;
use super::values::{Secret, Text, Time};

/// Where conversations are kept: those of `chat serve`, and of `chat ask` and `chat talk` with `--store`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StoreConfig {
    /// `sqlite`, a file of this machine; `memory`, gone with the program; or `redis`, shared by several machines.
    /// Default: `sqlite`.
    pub(crate) kind: StoreKind,
    /// The file, for `sqlite`. Default: `chat/chat.db` under `$XDG_DATA_HOME`, else under `~/.local/share`.
    pub(crate) path: Option<PathBuf>,
    /// The server, for `redis`: a `redis://` or `rediss://` address; one that holds a password is kept elsewhere and
    /// named, as in `keys` of a provider.
    pub(crate) url: Option<Text>,
}

impl StoreConfig {
    /// The file of the SQLite store; absent if nothing says where data of the user are.
    pub(crate) fn sqlite_path(&self, env: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
        let usual = || user_folder(env, "XDG_DATA_HOME", ".local/share").map(|folder| folder.join("chat.db"));
        self.path.clone().or_else(usual)
    }
}

/// Kinds of stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum StoreKind {
    Memory,
    #[default]
    Sqlite,
    Redis,
}

/// The server of `chat serve`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ServeConfig {
    /// The address it listens on. One that others can reach needs a token. Default: `127.0.0.1:8420`.
    #[schemars(with = "Option<String>")]
    pub(crate) listen: SocketAddr,
    /// Where the token is that clients must have: `{ env = "NAME" }`, `{ file = "PATH" }` or `{ command = ["PROGRAM"] }`.
    /// Default: none is asked for.
    pub(crate) token: Option<Secret>,
    /// Web sites beside the server's own whose pages may call it, such as `https://app.example`.
    pub(crate) allowed_origins: Vec<String>,
    /// Names under which it may be called beside its own address, such as `chat.example` or `chat.example:8443`.
    pub(crate) allowed_hosts: Vec<String>,
    /// The UI message stream it speaks unless a request asks for another: `5`, `6`, `7` or `latest`. Default: `7`.
    #[serde(deserialize_with = "protocol")]
    #[schemars(with = "Option<String>")]
    pub(crate) ui_protocol: UiProtocol,
    /// How long running turns have to end when the server is told to stop. Default: 30 s.
    pub(crate) drain: Time,
    /// Limits of what clients can ask for.
    #[serde(deserialize_with = "table")]
    pub(crate) limits: ServeLimits,
}

impl ServeConfig {
    /// Where `chat serve` listens unless something else is said.
    pub(crate) const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8420);
}

impl Default for ServeConfig {
    fn default() -> Self {
        Self {
            listen: Self::LISTEN,
            token: None,
            allowed_origins: Vec::new(),
            allowed_hosts: Vec::new(),
            ui_protocol: UiProtocol::default(),
            drain: Time(Duration::from_secs(30)),
            limits: ServeLimits::default(),
        }
    }
}

fn protocol<'de, D: Deserializer<'de>>(from: D) -> Result<UiProtocol, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(i64),
        Text(String),
        Other(IgnoredAny),
    }
    let level = match Written::deserialize(from)? {
        Written::Number(number) => Some(number.to_string()),
        Written::Text(text) => Some(text),
        Written::Other(_) => None,
    };
    let known = |level: String| UiProtocol::ALL.into_iter().find(|known| known.as_str() == level);
    level.and_then(known).ok_or_else(|| {
        D::Error::custom("this is no level of the UI message stream: write 5, 6, 7 or \"latest\"")
    })
}

/// Limits of `chat serve`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ServeLimits {
    /// Bytes of the body of a request. Default: 4 MiB: a conversation with images.
    #[schemars(with = "Option<u32>")]
    pub(crate) body_bytes: NonZeroU32,
    /// Bytes of the text of one message. Default: 1 MiB.
    #[schemars(with = "Option<u32>")]
    pub(crate) message_bytes: NonZeroU32,
    /// How long a client may take to send the headers of a request. Default: 10 s.
    #[schemars(with = "Option<Time>")]
    pub(crate) header_time: Time,
    /// How long a client may take to send a body. Default: 30 s.
    #[schemars(with = "Option<Time>")]
    pub(crate) body_time: Time,
    /// Streams that are open at once, of all clients. Default: 4096.
    #[schemars(with = "Option<u32>")]
    pub(crate) streams: NonZeroU32,
    /// Streams that are open at once, of one client. Default: 64.
    #[schemars(with = "Option<u32>")]
    pub(crate) streams_per_client: NonZeroU32,
    /// Turns that run at once. Default: 1024.
    #[schemars(with = "Option<u32>")]
    pub(crate) turns: NonZeroU32,
    /// Messages that wait in one chat. Default: 32.
    #[schemars(with = "Option<u32>")]
    pub(crate) queue: NonZeroU32,
}

impl Default for ServeLimits {
    fn default() -> Self {
        let number = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        Self {
            body_bytes: number(4 << 20),
            message_bytes: number(1 << 20),
            header_time: Time(Duration::from_secs(10)),
            body_time: Time(Duration::from_secs(30)),
            streams: number(4096),
            streams_per_client: number(64),
            turns: number(1024),
            queue: number(32),
        }
    }
}
