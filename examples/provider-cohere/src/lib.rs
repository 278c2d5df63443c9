//! Cohere's chat API (v2) as a provider crate of its own, on the public API of `ai-provider` and `ai-http` alone.
//!
//! ```no_run
//! use ai_http::Client;
//! use ai_provider::{ApiKey, CallContext, LanguageModelExt, Message, Provider, Request};
//! use provider_cohere::Cohere;
//!
//! # async fn f() -> Result<(), Box<dyn std::error::Error>> {
//! let key = ApiKey::new(std::env::var("COHERE_API_KEY")?)?;
//! let cohere = Cohere::new("https://api.cohere.com", Client::builder().api_key(key).build()?)?;
//! let model = cohere.language_model("command-a-03-2025")?;
//! let answer = model.generate(Request::new([Message::user("Hi")]), CallContext::new()).await?;
//! println!("{}", answer.text());
//! # Ok(()) }
//! ```

mod codec;
#[allow(clippy::indexing_slicing, reason = "a field that a JSON value has not is null")]
mod decode;
mod encode;
mod provider;

pub use codec::CohereCodec;
pub use provider::Cohere;
