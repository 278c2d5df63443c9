use std::sync::Arc;

use ai_provider::{
    AssistantPart, Message, ModelError, ProviderOptions, Request, ToolContent, ToolDefinition, ToolOutput,
    ToolPart, UserPart,
};
use async_trait::async_trait;
use serde_json::{Value, json};

use crate::middleware::{Middleware, MiddlewareCall};

/// The most breakpoints a request may have: Anthropic's limit, whose API the others followed.
const MOST: usize = 4;

const OPTIONS: [&str; 2] = ["cacheControl", "cache_control"];

/// Marks where the provider shall cache the prompt, for APIs that have to be told (Anthropic's, and what is like
/// it): after the instructions, at the end of the history, and at the ends of the requests before, which is where
/// the cache of the last request is read from.
///
/// A request ends before each message of the assistant: with the user's words, or with the results of tools, where
/// the marker stands on the last result. At most four are set, markers of the caller's on messages, parts and tools
/// counted.
///
/// As [`Middleware`] it marks each request and leaves the stored history without markers.
///
/// ```
/// use ai_core::history::CacheBreakpoints;
/// use ai_core::middleware::{Middleware, wrap};
/// use ai_provider::LanguageModel;
/// use std::sync::Arc;
///
/// fn cached(model: Arc<dyn LanguageModel>) -> Arc<dyn LanguageModel> {
///     wrap(model, [Arc::new(CacheBreakpoints::new()) as Arc<dyn Middleware>])
/// }
/// ```
#[derive(Clone, Debug)]
pub struct CacheBreakpoints {
    namespace: String,
    limit: usize,
    ttl: Option<String>,
}

impl CacheBreakpoints {
    /// Four, in the options of `anthropic`.
    pub fn new() -> Self {
        Self { namespace: "anthropic".to_owned(), limit: MOST, ttl: None }
    }

    /// Sets whose options hold the markers.
    #[must_use]
    pub fn with_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// Sets the most breakpoints; more than four are four.
    #[must_use]
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit.min(MOST);
        self
    }

    /// Sets how long the cache is kept, in the API's words, for example `1h`.
    #[must_use]
    pub fn with_ttl(mut self, ttl: impl Into<String>) -> Self {
        self.ttl = Some(ttl.into());
        self
    }

    /// The messages with markers. What is not marked is shared with the original.
    pub fn mark(&self, messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
        self.mark_beside(messages, 0)
    }

    /// `taken`: breakpoints set elsewhere in the request.
    fn mark_beside(&self, messages: &[Arc<Message>], taken: usize) -> Vec<Arc<Message>> {
        let markers: Vec<usize> = messages.iter().map(|message| self.markers(message)).collect();
        let mut left = self.limit.saturating_sub(taken.saturating_add(markers.iter().sum()));
        let mut marked = messages.to_vec();
        for at in places(messages) {
            if left == 0 {
                break;
            }
            if markers.get(at) == Some(&0)
                && let Some(message) = marked.get_mut(at)
                && self.set(message)
            {
                left -= 1;
            }
        }
        marked
    }

    fn marker(&self) -> Value {
        match &self.ttl {
            Some(ttl) => json!({ "type": "ephemeral", "ttl": ttl }),
            None => json!({ "type": "ephemeral" }),
        }
    }

    fn set(&self, message: &mut Arc<Message>) -> bool {
        let mark = |options: &mut ProviderOptions| {
            *options = std::mem::take(options).with(&self.namespace, "cacheControl", self.marker());
        };
        match Arc::make_mut(message) {
            Message::System(message) => mark(&mut message.options),
            Message::User(message) => mark(&mut message.options),
            Message::Assistant(message) => mark(&mut message.options),
            Message::Tool(message) => {
                let results = message.parts.iter_mut().rev().find_map(|part| match part {
                    ToolPart::ToolResult(result) => Some(&mut result.options),
                    _ => None,
                });
                match results {
                    Some(options) => mark(options),
                    None => return false,
                }
            }
            _ => return false,
        }
        true
    }

    fn is_set(&self, options: &ProviderOptions) -> bool {
        let options = options.get(&self.namespace);
        options.is_some_and(|options| {
            OPTIONS.iter().any(|name| options.get(*name).is_some_and(|v| !v.is_null()))
        })
    }

    /// The markers that stand in a message.
    fn markers(&self, message: &Message) -> usize {
        let mut count = 0;
        let mut look = |options: &ProviderOptions| count += usize::from(self.is_set(options));
        match message {
            Message::System(message) => look(&message.options),
            Message::User(message) => {
                look(&message.options);
                for part in &message.parts {
                    match part {
                        UserPart::Text(part) => look(&part.options),
                        UserPart::File(file) => look(&file.options),
                        _ => {}
                    }
                }
            }
            Message::Assistant(message) => {
                look(&message.options);
                for part in &message.parts {
                    match part {
                        AssistantPart::Text(part) => look(&part.options),
                        AssistantPart::File(file) => look(&file.options),
                        AssistantPart::Custom(part) => look(&part.options),
                        AssistantPart::ToolResult(result) => look(&result.options),
                        _ => {}
                    }
                }
            }
            Message::Tool(message) => {
                look(&message.options);
                for part in &message.parts {
                    let ToolPart::ToolResult(result) = part else { continue };
                    look(&result.options);
                    let ToolOutput::Content(items) = &result.output else { continue };
                    for item in items {
                        match item {
                            ToolContent::Text(part) => look(&part.options),
                            ToolContent::File(file) => look(&file.options),
                            ToolContent::Custom(part) => look(&part.options),
                            _ => {}
                        }
                    }
                }
            }
            _ => {}
        }
        count
    }
}

impl Default for CacheBreakpoints {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Middleware for CacheBreakpoints {
    fn name(&self) -> &str {
        "cache-breakpoints"
    }

    async fn transform_request(
        &self,
        mut request: Request,
        _call: &MiddlewareCall<'_>,
    ) -> Result<Request, ModelError> {
        let of_tools = request.tools.iter().filter(|tool| match tool {
            ToolDefinition::Function(tool) => self.is_set(&tool.options),
            ToolDefinition::Provider(tool) => OPTIONS.iter().any(|name| tool.args.contains_key(*name)),
            _ => false,
        });
        request.messages = self.mark_beside(&request.messages, of_tools.count());
        Ok(request)
    }
}

/// Where markers are worth the most, first.
fn places(messages: &[Arc<Message>]) -> Vec<usize> {
    let said = |at: &usize| messages.get(*at).is_some_and(|message| says_something(message));
    let instructions = messages.iter().take_while(|message| matches!(***message, Message::System(_))).count();
    let head = instructions.checked_sub(1).filter(said);
    let before_answers = (instructions..messages.len())
        .rev()
        .filter(|at| matches!(messages.get(*at).map(|message| &**message), Some(Message::Assistant(_))))
        .filter_map(|at| at.checked_sub(1))
        .filter(|at| *at >= instructions);
    let last = messages.len().checked_sub(1).filter(|at| *at >= instructions);
    let mut places: Vec<usize> = head.into_iter().collect();
    for at in last.into_iter().chain(before_answers).filter(said) {
        if places.len() == MOST {
            break;
        }
        if !places.contains(&at) {
            places.push(at);
        }
    }
    places
}

/// An adapter leaves out what says nothing, and a marker on it with it.
fn says_something(message: &Message) -> bool {
    match message {
        Message::System(message) => !message.text.trim().is_empty(),
        Message::User(message) => message.parts.iter().any(|part| match part {
            UserPart::Text(part) => !part.text.trim().is_empty(),
            _ => true,
        }),
        Message::Assistant(message) => !message.is_empty(),
        Message::Tool(message) => message.parts.iter().any(|part| matches!(part, ToolPart::ToolResult(_))),
        _ => false,
    }
}
