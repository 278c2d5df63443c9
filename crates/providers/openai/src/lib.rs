//! OpenAI's Chat Completions, and the servers that speak like it.
//!
//! | you want to | use |
//! |---|---|
//! | call OpenAI, or a server of the table | [`OpenAi`], with [`Dialect::by_name`] |
//! | call a server of your own | [`OpenAi`] with a [`Dialect`] of your own |
//! | build another model around this API | [`ChatCodec`] with [`HttpModel`](ai_http::HttpModel) |
//!
//! # Dialects
//!
//! | name | server |
//! |---|---|
//! | `openai` | OpenAI |
//! | `generic` | one nothing special is known about |
//! | `xai`, `deepseek`, `groq`, `mistral`, `alibaba`, `moonshot`, `perplexity` | the services of these names |
//! | `azure`, `azure-deployments` | Azure, with the model in the body (`…/openai/v1`) or a deployment in the path |
//! | `openrouter` | the service of this name |
//! | `ollama`, `vllm`, `lmstudio`, `llama.cpp` | servers of one's own |
//!
//! # Options
//!
//! Provider options stand under `openai`, under the dialect's name or under the provider's, and go into the body
//! as they are, under the API's own names: of a request into the body, of a message or a part into that message
//! or part. What stands under a later of these names wins, over the neutral settings too.
//!
//! # Example
//!
//! ```no_run
//! use ai_openai::OpenAi;
//! use ai_provider::{ApiKey, CallContext, LanguageModelExt, Message, Provider, Request};
//!
//! # async fn f() -> Result<(), Box<dyn std::error::Error>> {
//! let openai = OpenAi::builder().api_key(ApiKey::new(std::env::var("OPENAI_API_KEY")?)?).build()?;
//! let model = openai.language_model("gpt-4.1-mini")?;
//! let request = Request::new([Message::user("Name three rivers.")]);
//! println!("{}", model.generate(request, CallContext::new()).await?.text());
//! # Ok(()) }
//! ```

mod codec;
mod decode;
mod dialect;
mod embedding;
mod encode;
mod models;
mod provider;
mod responses;
mod strict;

pub use ai_http::CallIds;
pub use ai_http::ModelSetup;
pub use codec::ChatCodec;
pub use dialect::{
    Dialect, EffortForm, KeyForm, KnownModels, ModelFacts, ModelRules, NamedTool, SchemaForm, SystemRole,
    Word,
};
pub use provider::{Api, OpenAi, OpenAiBuilder};
pub use responses::{ResponsesCodec, ResponsesDialect};
