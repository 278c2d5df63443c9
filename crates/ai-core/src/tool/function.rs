use std::any::Any;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ai_provider::{FunctionTool, ToolOutput};
use futures_util::stream;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserializer, Serialize};
use serde_json::Value;

use super::{Concurrency, Effect, InputSchema, Tool, ToolContext, ToolError, ToolStream, ToolYield};

/// A tool from an async function with typed arguments.
///
/// The schema the model sees is that of `A`, whose doc comments become descriptions. The function is called
/// only with input that deserialises; else the model reads where it went wrong. What it returns is written as
/// JSON (a string as text); return a [`ToolOutput`] for anything else.
///
/// ```
/// use ai_core::{tool_fn, Effect, ToolError};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Add {
///     /// First summand.
///     a: i64,
///     /// Second summand.
///     b: i64,
/// }
///
/// let add = tool_fn("add", "Adds two integers.", |args: Add, _ctx| async move {
///     args.a.checked_add(args.b).ok_or_else(|| ToolError::new("the sum is too large"))
/// })
/// .with_effect(Effect::ReadOnly);
/// # let _ = add;
/// ```
pub fn tool_fn<A, R, F, Fut>(name: impl Into<String>, description: impl Into<String>, run: F) -> FnTool<A>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    R: Serialize + Send + 'static,
    F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, ToolError>> + Send + 'static,
{
    FnTool::new(name, description, move |args, ctx| {
        let running = run(args, ctx);
        Box::pin(async move { output(running.await?) })
    })
}

/// A tool from a function that blocks its thread (file access, computation).
///
/// It runs on tokio's pool for blocking work: the one place below the stream manager that starts something a
/// drop cannot end. If it is timed out or dropped, the function goes on detached, its result is thrown away,
/// and whether it took effect is unknown.
pub fn tool_fn_blocking<A, R, F>(name: impl Into<String>, description: impl Into<String>, run: F) -> FnTool<A>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    R: Serialize + Send + 'static,
    F: Fn(A, ToolContext) -> Result<R, ToolError> + Send + Sync + 'static,
{
    let run = Arc::new(run);
    FnTool::new(name, description, move |args, ctx| {
        let run = Arc::clone(&run);
        Box::pin(async move {
            #[allow(
                clippy::disallowed_methods,
                reason = "blocking work cannot live inside the caller's future"
            )]
            let joined = tokio::task::spawn_blocking(move || run(args, ctx)).await;
            match joined {
                Ok(result) => output(result?),
                Err(failed) if failed.is_panic() => std::panic::resume_unwind(failed.into_panic()),
                Err(failed) => Err(failed.into()),
            }
        })
    })
}

/// A tool known only at run time, from a JSON Schema and an async function over JSON.
///
/// `input_schema` describes an object. The function is called only with input that fits it: see [`InputSchema`] for
/// how far that is checked. Calls of it are marked as dynamic.
///
/// ```
/// use ai_core::{tool_json, ToolError};
/// use serde_json::{json, Value};
///
/// let schema = json!({"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}});
/// let tool = tool_json("read", "Reads a file.", schema, |input: Value, _ctx| async move {
///     Ok::<_, ToolError>(format!("the text of {}", input["path"]))
/// });
/// # let _ = tool;
/// ```
pub fn tool_json<R, F, Fut>(
    name: impl Into<String>,
    description: impl Into<String>,
    input_schema: Value,
    run: F,
) -> FnTool<Value>
where
    R: Serialize + Send + 'static,
    F: Fn(Value, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, ToolError>> + Send + 'static,
{
    let mut tool = tool_fn(name, description, run);
    tool.schema = Some(InputSchema::new(input_schema.clone()));
    tool.definition.input_schema = input_schema;
    tool.dynamic = true;
    tool
}

fn output<R: Serialize + 'static>(result: R) -> Result<ToolOutput, ToolError> {
    if let Some(output) = (&result as &dyn Any).downcast_ref::<ToolOutput>() {
        return Ok(output.clone());
    }
    Ok(ToolOutput::from_json(serde_json::to_value(result)?))
}

type Running = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send>>;
type Runner<A> = dyn Fn(A, ToolContext) -> Running + Send + Sync;

/// A tool made by [`tool_fn`] or [`tool_fn_blocking`].
pub struct FnTool<A> {
    definition: FunctionTool,
    effect: Effect,
    timeout: Option<Duration>,
    approval: bool,
    concurrency: Concurrency,
    dynamic: bool,
    /// What its input is held against; if absent, its type.
    schema: Option<InputSchema>,
    run: Arc<Runner<A>>,
    args: PhantomData<fn(A)>,
}

impl<A: DeserializeOwned + JsonSchema + Send + 'static> FnTool<A> {
    fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        run: impl Fn(A, ToolContext) -> Running + Send + Sync + 'static,
    ) -> Self {
        let schema = schemars::generate::SchemaSettings::draft07()
            .with(|settings| settings.meta_schema = None)
            .into_generator()
            .into_root_schema_for::<A>();
        Self {
            definition: FunctionTool::new(name, description, schema.into()),
            effect: Effect::SideEffect,
            timeout: None,
            approval: false,
            concurrency: Concurrency::Any,
            dynamic: false,
            schema: None,
            run: Arc::new(run),
            args: PhantomData,
        }
    }

    /// Says what running it does to the world; a side effect unless said.
    #[must_use]
    pub fn with_effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }

    /// Sets how long it may run.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Asks a person before each call.
    #[must_use]
    pub fn with_approval(mut self) -> Self {
        self.approval = true;
        self
    }

    /// Sets which calls may run beside its own.
    #[must_use]
    pub fn with_concurrency(mut self, concurrency: Concurrency) -> Self {
        self.concurrency = concurrency;
        self
    }

    /// Changes what the model sees: examples, strictness, provider options.
    #[must_use]
    pub fn with_definition(mut self, change: impl FnOnce(&mut FunctionTool)) -> Self {
        change(&mut self.definition);
        if self.schema.is_some() {
            self.schema = Some(InputSchema::new(self.definition.input_schema.clone()));
        }
        self
    }
}

#[async_trait::async_trait]
impl<A: DeserializeOwned + JsonSchema + Send + 'static> Tool for FnTool<A> {
    fn definition(&self) -> FunctionTool {
        self.definition.clone()
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    fn needs_approval(&self) -> bool {
        self.approval
    }

    fn concurrency(&self) -> Concurrency {
        self.concurrency
    }

    fn is_dynamic(&self) -> bool {
        self.dynamic
    }

    fn check(&self, input: &Value) -> Result<(), String> {
        match &self.schema {
            Some(schema) => schema.check(input),
            None => typed::<A, _>(input).map(drop),
        }
    }

    async fn approve(&self, _input: &Value, ctx: &ToolContext) -> crate::run::ApprovalVerdict {
        crate::run::ApprovalVerdict::ask(&ctx.call_id)
    }

    fn execute(&self, input: Value, ctx: ToolContext) -> ToolStream {
        let run = Arc::clone(&self.run);
        let name = self.definition.name.clone();
        Box::pin(stream::once(async move {
            let result = match typed::<A, _>(input) {
                Ok(args) => run(args, ctx).await,
                Err(problem) => {
                    Err(ToolError::invalid_input(format!("The input of `{name}` is invalid: {problem}.")))
                }
            };
            ToolYield::Final(result)
        }))
    }
}

fn typed<'de, A: DeserializeOwned, D>(input: D) -> Result<A, String>
where
    D: Deserializer<'de, Error = serde_json::Error>,
{
    serde_path_to_error::deserialize::<_, A>(input).map_err(|error| {
        let path = error.path().to_string();
        match path.as_str() {
            "" | "." => error.inner().to_string(),
            path => format!("at `{path}`: {}", error.inner()),
        }
    })
}

impl<A> fmt::Debug for FnTool<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnTool")
            .field("name", &self.definition.name)
            .field("effect", &self.effect)
            .finish_non_exhaustive()
    }
}
