//! Answers with a type: [`generate_object`], whole or as it grows.

mod error;
mod fit;
mod mode;
mod partial;
mod schema;
mod stream;

use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use ai_provider::{FinishReason, LanguageModel, Message, Usage};
use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use error::{Mistake, ObjectError, ObjectErrorKind};
pub use mode::OutputMode;
pub use partial::partial_json;
pub use stream::{ObjectEvent, ObjectStream};

use crate::tool_loop::{Approvals, RunOptions, ToolLoop};
use schema::ObjectSchema;

/// Asks a model, or an agent at the end of its run, for a value of type `T`.
///
/// The model sees the schema of `T`, whose doc comments are descriptions. How it is held to it is decided by what
/// it can do, see [`OutputMode`]. What does not fit is asked for again, with the path of the mistake: once, unless
/// [`with_retries`](GenerateObject::with_retries) says otherwise.
///
/// A `T` that is no object (a list, a choice, a text) is asked for as the member `value` of one, since APIs take
/// only objects; paths of mistakes then begin with it.
///
/// Await it for the value, or read it as it grows with [`stream`](GenerateObject::stream).
///
/// ```
/// use ai_core::output::generate_object;
/// use ai_provider::{LanguageModel, Message};
/// use std::sync::Arc;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Recipe {
///     /// The name of the dish.
///     name: String,
///     minutes: u32,
/// }
///
/// # async fn f(model: Arc<dyn LanguageModel>) -> Result<(), ai_core::output::ObjectError> {
/// let recipe = generate_object::<Recipe>(model, [Message::user("A quick pancake recipe.")]).await?;
/// println!("{}: {} minutes", recipe.value.name, recipe.value.minutes);
/// # Ok(()) }
/// ```
pub fn generate_object<T: DeserializeOwned + JsonSchema + Send + 'static>(
    from: impl Into<ToolLoop>,
    messages: impl IntoIterator<Item = Message>,
) -> GenerateObject<T> {
    GenerateObject {
        agent: from.into(),
        messages: messages.into_iter().map(Arc::new).collect(),
        schema: ObjectSchema::of::<T>(),
        mode: OutputMode::Auto,
        retries: 1,
        options: RunOptions::default(),
        value: PhantomData,
    }
}

/// An object to be: await it, or [`stream`](Self::stream) it. Made by [`generate_object`].
#[must_use = "nothing is asked before this is awaited or streamed"]
pub struct GenerateObject<T> {
    agent: ToolLoop,
    messages: Vec<Arc<Message>>,
    schema: ObjectSchema,
    mode: OutputMode,
    retries: u32,
    options: RunOptions,
    value: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned + Send + 'static> GenerateObject<T> {
    /// Sets how the model is held to the schema.
    pub fn with_mode(mut self, mode: OutputMode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets how often an answer that does not fit is asked for again. Default 1.
    pub fn with_retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Sets cancel token, deadline and who takes part. Each time it is asked again counts as a run of its own;
    /// what the options say of time holds for all of them together.
    pub fn with_options(mut self, options: RunOptions) -> Self {
        self.options = options;
        self
    }

    /// Shows the model another schema than that of `T`: for one that is known only at run time, with a
    /// `serde_json::Value` for `T`. Whether an answer fits is still up to `T`.
    pub fn with_schema(mut self, schema: Value) -> Self {
        let name = self.schema.name;
        self.schema = ObjectSchema::new(schema, &name);
        self
    }

    /// The object as it grows, and all that happens on the way. Idle until polled; dropping it cancels the run.
    pub fn stream(self) -> ObjectStream<T> {
        ObjectStream::new(self)
    }
}

impl<T: DeserializeOwned + Send + 'static> IntoFuture for GenerateObject<T> {
    type Output = Result<Object<T>, ObjectError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    /// Calls that wait for a person end the run, since nobody could be asked: use [`stream`](GenerateObject::stream)
    /// to decide in place.
    ///
    /// # Errors
    /// If what the model wrote does not fit, was cut, or the run ended otherwise.
    fn into_future(mut self) -> Self::IntoFuture {
        self.agent = self.agent.with_approvals(Approvals::EndRun);
        Box::pin(async move {
            let mut stream = self.stream().without_partials();
            loop {
                match stream.next().await {
                    Some(Ok(ObjectEvent::Done(object))) => return Ok(*object),
                    Some(Err(error)) => return Err(error),
                    Some(Ok(_)) => {}
                    None => return Err(ObjectError::without_end()),
                }
            }
        })
    }
}

impl<T> fmt::Debug for GenerateObject<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GenerateObject")
            .field("agent", &self.agent)
            .field("name", &self.schema.name)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

/// A value the model gave, with what it took.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Object<T> {
    /// The value.
    pub value: T,
    /// What the model wrote.
    pub text: String,
    /// What all answers took, those that did not fit included.
    pub usage: Usage,
    /// Why the model stopped.
    pub finish: FinishReason,
    /// What came to the history, answers that did not fit included: ready to be appended to it.
    pub new_messages: Vec<Arc<Message>>,
    /// How many answers did not fit.
    pub retries: u32,
}

impl From<Arc<dyn LanguageModel>> for ToolLoop {
    fn from(model: Arc<dyn LanguageModel>) -> Self {
        Self::new(model)
    }
}

impl From<&Self> for ToolLoop {
    fn from(agent: &Self) -> Self {
        agent.clone()
    }
}
