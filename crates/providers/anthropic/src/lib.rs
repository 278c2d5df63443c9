//! Anthropic's Messages API, and the servers that speak it.
//!
//! | you want to | use |
//! |---|---|
//! | call Anthropic, or a server that speaks like it | [`Anthropic`] |
//! | build another model around this API | [`MessagesCodec`] with [`HttpModel`](ai_http::HttpModel) |
//!
//! # Options
//!
//! Provider options stand under `anthropic` or under the provider's name, which wins, and have the API's own names.
//!
//! | of | option | what it does |
//! |---|---|---|
//! | a request | `betas` | asks for what is not generally available: a list; what a field or a tool needs is added by itself |
//! | a request | `effort` | the same as `output_config.effort` |
//! | a request | `disable_parallel_tool_use` | one call at a time |
//! | a request | any other | a field of the body: `thinking`, `metadata`, `mcp_servers`, `container`, `context_management`, `fallbacks`, … |
//! | a message, part, tool or result | `cache_control` | a cache breakpoint; the API takes four |
//! | a part, tool or result | any other | a further field of its block |
//!
//! Tools of the provider are named by their dated type: `anthropic.web_search_20250305`. Their beta is added.
//!
//! # Example
//!
//! ```no_run
//! use ai_anthropic::Anthropic;
//! use ai_provider::{ApiKey, CallContext, LanguageModelExt, Message, Provider, Request};
//!
//! # async fn f() -> Result<(), Box<dyn std::error::Error>> {
//! let key = ApiKey::new(std::env::var("ANTHROPIC_API_KEY")?)?;
//! let anthropic = Anthropic::builder().api_key(key).build()?;
//! let model = anthropic.language_model("claude-sonnet-4-5")?;
//! let request = Request::new([Message::user("Name three rivers.")]);
//! println!("{}", model.generate(request, CallContext::new()).await?.text());
//! # Ok(()) }
//! ```

mod codec;
mod decode;
mod encode;
mod failure;
mod json_tool;
mod list;
mod metadata;
mod models;
mod provider;
mod server_tools;

pub use codec::MessagesCodec;
pub use provider::{Anthropic, AnthropicBuilder};
