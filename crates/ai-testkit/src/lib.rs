//! What is needed to test a program that talks to language models, without one.
//!
//! Meant for `tests/` folders and `#[cfg(test)]` modules: add it under `[dev-dependencies]`.
//!
//! | you test | use |
//! |---|---|
//! | an agent, a middleware, anything that calls a [`LanguageModel`](ai_provider::LanguageModel) | [`ScriptedModel`] and [`Script`] |
//! | a provider's codec and the driver around it, with a paused clock | [`MemoryTransport`] and [`MemoryReply`] |
//! | a client against a real socket: cuts, resets, servers that hang, dropped streams | [`WireServer`] and [`WireReply`] |
//! | that any cutting of the bytes gives the same parts | [`Cut`] |
//! | an adapter against recorded traffic of real providers | [`recordings`] |
//! | everything a provider must hold, in one call | [`conformance`] |
//! | what keeps conversations: failing stores, and everything a store must hold | `store` (feature `store`) |
//! | what a stream gave | [`collect`], [`fold`], [`check_order`] |
//!
//! Everything stands under the feature `provider`, which is on by default, but for `store`, and for the program
//! `replay` and its parts: features of these names.
//!
//! # Example
//!
//! ```
//! use ai_provider::{CallContext, LanguageModel, Message, Request};
//! use ai_testkit::{Script, ScriptedModel, fold};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let model = ScriptedModel::new().reply(Script::text_reply("The Rhine, the Rhone and the Po."));
//!
//! let request = Request::new([Message::user("Name three rivers.")]);
//! let (answer, error) = fold(model.stream(request, CallContext::new())).await;
//!
//! assert!(error.is_none());
//! assert_eq!(answer.message.text(), "The Rhine, the Rhone and the Po.");
//! assert_eq!(model.requests().len(), 1);
//! # }
//! ```
#![cfg_attr(not(feature = "provider"), allow(rustdoc::broken_intra_doc_links))]

#[cfg(feature = "provider")]
pub mod conformance;
#[cfg(feature = "provider")]
mod cut;
#[cfg(feature = "provider")]
mod memory;
#[cfg(feature = "provider")]
mod model;
#[cfg(feature = "provider")]
mod order;
#[cfg(feature = "provider")]
pub mod recordings;
#[cfg(feature = "replay")]
pub mod replay;
#[cfg(feature = "provider")]
mod script;
#[cfg(feature = "store")]
pub mod store;
#[cfg(feature = "provider")]
mod stream;
#[cfg(feature = "provider")]
mod wire;

#[cfg(feature = "provider")]
pub use cut::Cut;
#[cfg(feature = "provider")]
pub use memory::{MemoryEnd, MemoryReply, MemoryTransport};
#[cfg(feature = "provider")]
pub use model::ScriptedModel;
#[cfg(feature = "provider")]
pub use order::check_order;
#[cfg(feature = "provider")]
pub use script::Script;
#[cfg(feature = "provider")]
pub use stream::{collect, fold};
#[cfg(feature = "provider")]
pub use wire::{RecordedRequest, WireEnd, WireFraming, WireReply, WireServer};
