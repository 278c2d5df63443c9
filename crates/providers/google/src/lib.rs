//! Google's Gemini: `generateContent`, its stream, and embeddings.
//!
//! | you want to | use |
//! |---|---|
//! | call Gemini | [`Google`] |
//! | build another model around this API | [`GenerateContentCodec`] with [`HttpModel`](ai_http::HttpModel) |
//!
//! # Options
//!
//! Provider options stand under `google`, or under the name the provider has, which wins; over the neutral settings
//! too. They go into the body under the API's own names:
//!
//! - what belongs to `generationConfig` (`thinkingConfig`, `responseModalities`, `mediaResolution`, `imageConfig`,
//!   `speechConfig`, …) goes there; a `generationConfig` is merged with the settings;
//! - `safetySettings`, `cachedContent`, `labels`, `serviceTier`, `toolConfig` and all others go into the body itself;
//! - `threshold` sets one threshold for all categories of harm, `structuredOutputs: false` keeps the schema of an
//!   answer from being sent, `retrievalConfig` and `streamFunctionCallArguments` go into `toolConfig`;
//! - those of a part (`videoMetadata`, `mediaResolution`, …) or of a tool go into that part or declaration;
//! - those of embeddings (`taskType`, `title`, …) go into the request of each text.
//!
//! # Vertex AI
//!
//! The same API at another place: the base URL is that of the publisher
//! (`https://LOCATION-aiplatform.googleapis.com/v1/projects/PROJECT/locations/LOCATION/publishers/google`), calls are
//! authorized by [`Bearer`](ai_http::Bearer), and keys come from an [`ExpiringToken`](ai_http::ExpiringToken).
//! Embeddings and the list of models have other forms there.
//!
//! # Tools that run at Google
//!
//! `google.google_search`, `google.url_context`, `google.code_execution`, `google.google_maps`, `google.file_search`,
//! `google.enterprise_web_search`, `google.google_search_retrieval` and `google.computer_use`, with their settings as
//! arguments.
//!
//! # Example
//!
//! ```no_run
//! use ai_google::Google;
//! use ai_provider::{ApiKey, CallContext, LanguageModelExt, Message, Provider, Request};
//!
//! # async fn f() -> Result<(), Box<dyn std::error::Error>> {
//! let google = Google::builder().api_key(ApiKey::new(std::env::var("GEMINI_API_KEY")?)?).build()?;
//! let model = google.language_model("gemini-2.5-flash")?;
//! let request = Request::new([Message::user("Name three rivers.")]);
//! println!("{}", model.generate(request, CallContext::new()).await?.text());
//! # Ok(()) }
//! ```

mod codec;
mod decode;
mod embedding;
mod encode;
mod failure;
mod list;
mod models;
mod provider;

pub use ai_http::ModelSetup;
pub use codec::GenerateContentCodec;
pub use provider::{Google, GoogleBuilder};
