//! The SDK in one dependency: the layers re-exported, and the built-in providers by feature.
//!
//! Depend on this crate to build an application; depend on a single layer to swap the others.
//!
//! | layer | here | on its own |
//! |---|---|---|
//! | contract: messages, parts, errors, `LanguageModel` | [`provider`] | `ai-provider` |
//! | registry, tools, runs, `create_agent` | the root of this crate | `ai-core` |
//! | an agent as a stream of user-interface chunks | [`Agent`], [`agent_loop`] | `agent-loop` |
//! | keys that rotate, retries, fallbacks | [`retry`] | `retry` |
//! | OpenAI, Azure and compatible servers | `openai`, [`builtin`](mod@builtin) | `ai-openai` |
//! | Anthropic | `anthropic`, [`builtin`](mod@builtin) | `ai-anthropic` |
//! | Google | `google`, [`builtin`](mod@builtin) | `ai-google` |
//! | tools of MCP servers | `mcp` | `ai-mcp` |
//! | one live stream for each conversation | `stream_manager` | `stream-manager` |
//! | conversations in a file, or shared by many processes | `sqlite`, `redis` | `stream-store-sqlite`, `stream-store-redis` |
//!
//! # Features
//!
//! | feature | default | gives |
//! |---|---|---|
//! | `openai` | yes | OpenAI (Responses and Chat Completions), Azure, and the servers compatible with them |
//! | `anthropic` | yes | Anthropic's Messages; with `openai`, Anthropic's models at Azure too |
//! | `google` | yes | Google's Gemini |
//! | `retry` | yes | keys that rotate, retries and fallbacks around any model |
//! | `mcp` | no | tools of MCP servers, over stdio and streamable HTTP |
//! | `stream-manager` | no | many readers, steering, stop, approvals and persistence around an agent |
//! | `sqlite` | no | its conversations in a file |
//! | `redis` | no | its conversations and live streams on Redis, for many processes |
//!
//! # Example
//!
//! ```no_run
//! use ai::provider::{LanguageModelExt, Message, Request};
//!
//! # async fn f() -> Result<(), Box<dyn std::error::Error>> {
//! let model = ai::builtin()?.language_model("openai:gpt-4.1-mini").await?;
//! let answer = model.generate(Request::new([Message::user("Name three rivers.")]), Default::default()).await?;
//! println!("{}", answer.text());
//! # Ok(()) }
//! ```

pub mod builtin;
mod env;

pub use agent_loop;
pub use agent_loop::Agent;
#[cfg(feature = "anthropic")]
pub use ai_anthropic as anthropic;
pub use ai_core::*;
#[cfg(feature = "google")]
pub use ai_google as google;
#[cfg(feature = "mcp")]
pub use ai_mcp as mcp;
#[cfg(feature = "openai")]
pub use ai_openai as openai;
pub use ai_provider as provider;
#[cfg(feature = "retry")]
pub use retry;
#[cfg(feature = "stream-manager")]
pub use stream_manager;
#[cfg(feature = "redis")]
pub use stream_store_redis as redis;
#[cfg(feature = "sqlite")]
pub use stream_store_sqlite as sqlite;

pub use builtin::builtin;
pub use env::EnvKeys;

/// The examples of the README are tests.
#[cfg(all(doctest, feature = "openai"))]
#[doc = include_str!("../../../README.md")]
struct Readme;
