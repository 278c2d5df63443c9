//! What the program `replay` does, as functions: a recorded body goes over a real loopback socket into a real
//! adapter, and what the adapter makes of it comes out as lines of JSON.
//!
//! An adapter outside of this repository has the same in a test of its own:
//!
//! ```
//! use std::sync::Arc;
//! use ai_provider::LanguageModel;
//! use ai_testkit::Cut;
//! use ai_testkit::replay::{Loopback, PLACE, Recording, ask, print};
//! # fn acme(base_url: &str, transport: Arc<dyn ai_http::Transport>) -> Arc<dyn LanguageModel> {
//! #     use ai_provider::Provider;
//! #     ai_openai::OpenAi::builder().base_url(base_url).transport(transport).build().unwrap().language_model("m").unwrap()
//! # }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
//! let body = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
//! let server = Loopback::start([Recording::events(body).reply(200, Cut::Every(1))])?;
//! let model = acme(PLACE, Arc::new(server));
//!
//! let mut lines = Vec::new();
//! let finished = print(ask(&*model, "Hi", false), &mut lines).await?;
//! assert!(finished);
//! assert!(String::from_utf8_lossy(&lines).contains(r#"{"type":"text-delta","delta":"Hi","id":"0"}"#));
//! # Ok(()) }
//! ```

mod api;
mod lines;
mod loopback;
mod mask;
mod record;
mod recording;

pub use api::{Api, Target};
pub use lines::print;
pub use loopback::{Loopback, PLACE};
pub use record::{Recorded, Recorder};
pub use recording::Recording;

use ai_provider::{CallContext, Delivery, LanguageModel, Message, ModelStream, Request};

/// Asks a model for a short answer, `whole` in one body or as a stream.
///
/// The id of the request is always the same, so ids that are made for a server that gives none are too.
pub fn ask(model: &dyn LanguageModel, prompt: &str, whole: bool) -> ModelStream {
    let mut request = Request::new([Message::user(prompt)]);
    request.delivery = if whole { Delivery::Whole } else { Delivery::Stream };
    model.stream(request, CallContext::new().with_request_id("replay"))
}
