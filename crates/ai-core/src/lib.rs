//! The layer agents are built on: a registry of providers, tools, the run as a machine of plain data, and the
//! loop that drives it.
//!
//! | you want to | look at |
//! |---|---|
//! | find a model by name | [`Registry`], [`ModelRef`] |
//! | add a family of providers | [`ProviderExtension`], [`Variant`] |
//! | ask a model once | [`generate_text`], [`stream_text`], [`embed_many`] |
//! | take part in all requests | [`Plugin`] |
//! | stand around one model | [`Middleware`], [`middleware`] |
//! | have an answer with a type | [`output::generate_object`] |
//! | keep a history short and cheap | [`history`] |
//! | give a model tools | [`tool_fn`], [`ToolSet`], [`Tool`] |
//! | run an agent | [`create_agent`], [`ToolLoop`], [`LoopEvent`] |
//! | end a run early, or keep a model from running in circles | [`StopWhen`], [`run::LoopGuard`] |
//! | let an agent call another | [`agent_tool`] |
//! | take part in a run | [`LoopControl`] |
//! | store a run and go on later | [`run::Run`], [`run::RunSnapshot`], [`ToolLoop::resume`] |
//!
//! Nothing here spawns a task: a run lives inside the stream that reads it, and dropping that stream ends the
//! model call and the tools where they stand. The one exception is [`tool_fn_blocking`].
//!
//! # Example
//!
//! ```
//! use ai_core::{create_agent, tool_fn, Effect, Error, LoopEvent, Registry, RunOptions, ToolError, ToolSet};
//! use ai_provider::{Message, StreamPart};
//! use futures_util::StreamExt;
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct City {
//!     /// The city's name.
//!     name: String,
//! }
//!
//! # async fn f(registry: Registry) -> Result<(), Error> {
//! let weather = tool_fn("weather", "Tells the weather of a city.", |city: City, _ctx| async move {
//!     Ok::<_, ToolError>(format!("Sunny in {}.", city.name))
//! })
//! .with_effect(Effect::ReadOnly);
//!
//! let agent = create_agent(&registry, "openai:gpt-5").await?.with_tools(ToolSet::new().with(weather)?);
//! let (_handle, mut events) = agent.start([Message::user("How is Rome?")], RunOptions::default());
//! while let Some(event) = events.next().await {
//!     if let LoopEvent::Part(StreamPart::TextDelta { delta, .. }) = event {
//!         print!("{delta}");
//!     }
//! }
//! # Ok(()) }
//! ```

mod create_agent;
mod error;
pub mod history;
pub mod middleware;
mod model_ref;
mod operation;
pub mod output;
mod panic;
pub mod plugin;
mod registry;
pub mod run;
mod spans;
mod tool;
mod tool_loop;

pub use create_agent::{CreateAgent, create_agent};
pub use error::{Error, ErrorKind, PluginError};
pub use middleware::Middleware;
pub use model_ref::ModelRef;
pub use operation::{
    BatchUsage, Call, EmbedMany, GenerateText, ModelChoice, ResolveModel, StreamText, embed_many,
    generate_text, resolve_language_model, stream_text,
};
pub use plugin::{Plugin, Plugins};
pub use registry::{
    AnyExtension, Declaration, GivenSettings, NoSettings, ProviderExtension, ProviderFamily, ProviderId,
    ProviderSettings, Registry, ToolCapability, ToolPatch, Variant, VariantDeclaration,
};
pub use tool::{
    ClientTool, Concurrency, Effect, FnTool, InputSchema, InvalidCall, TerminalFailure, TerminalPermit, Tool,
    ToolContext, ToolError, ToolSet, ToolStream, ToolYield, client_tool, tool_fn, tool_fn_blocking,
    tool_json,
};
pub use tool_loop::{
    AgentTool, Approvals, DecideError, Decision, LoopControl, LoopEvent, LoopStream, NoControl, OnError,
    RequestIds, RunEnd, RunHandle, RunOptions, StepFailure, StepOverrides, StepReset, StepStart, StepView,
    StopWhen, ToolEvent, ToolLoop, agent_tool,
};
