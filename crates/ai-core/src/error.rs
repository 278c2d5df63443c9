use std::error::Error as StdError;
use std::fmt;

use ai_provider::{Assembled, ErrorClass, GenerateError, ModelError};

use crate::registry::SettingsProblem;

/// The error of a plugin: whatever it met.
pub type PluginError = Box<dyn StdError + Send + Sync>;

/// What goes wrong outside a run: a name nobody knows, a collision, a provider that refuses, a plugin that fails.
///
/// What goes wrong in a run is part of its [`Outcome`](crate::run::Outcome).
#[derive(Debug)]
pub struct Error(Box<Kind>);

/// The kinds of [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A model reference that cannot be read.
    InvalidModelRef,
    /// No provider of this name.
    UnknownProvider,
    /// An extension that cannot be registered: a name that does not fit, an id it claims twice.
    InvalidExtension,
    /// Two extensions claim one id.
    IdCollision,
    /// An extension has no variant of this suffix.
    UnknownVariant,
    /// Settings that cannot be read.
    InvalidSettings,
    /// The factory of a provider failed.
    ProviderCreation,
    /// A plugin failed where it takes part in the result.
    Plugin,
    /// A tool name no provider would take.
    InvalidToolName,
    /// A tool of this name is there already.
    DuplicateTool,
    /// The model failed: it could not be made, its wrapper failed, or a call of it did.
    Model,
}

#[derive(Debug)]
enum Kind {
    ModelRef { text: String, problem: &'static str },
    UnknownProvider { name: String, nearest: Option<String>, known: Vec<String> },
    Extension { name: String, problem: String },
    Collision { id: String, owner: String, newcomer: String },
    UnknownVariant { extension: String, suffix: String, known: Vec<String> },
    Settings { provider: String, problem: SettingsProblem },
    Creation { provider: String, cause: ModelError },
    Plugin { plugin: String, hook: &'static str, cause: PluginError },
    ToolName(String),
    DuplicateTool(String),
    Model(ModelError),
    Generate(GenerateError),
}

impl Error {
    pub(crate) fn model_ref(text: impl Into<String>, problem: &'static str) -> Self {
        Self(Box::new(Kind::ModelRef { text: text.into(), problem }))
    }

    /// Looks for the nearest of the known ids.
    pub(crate) fn unknown_provider<'a>(id: &str, known: impl Iterator<Item = &'a str>) -> Self {
        let known: Vec<String> = known.map(str::to_owned).collect();
        let nearest = nearest(id, &known);
        Self(Box::new(Kind::UnknownProvider { name: id.to_owned(), nearest, known }))
    }

    pub(crate) fn extension(name: &str, problem: impl Into<String>) -> Self {
        Self(Box::new(Kind::Extension { name: name.to_owned(), problem: problem.into() }))
    }

    pub(crate) fn collision(id: String, owner: &str, newcomer: &str) -> Self {
        Self(Box::new(Kind::Collision { id, owner: owner.to_owned(), newcomer: newcomer.to_owned() }))
    }

    pub(crate) fn unknown_variant<'a>(
        extension: &str,
        suffix: &str,
        known: impl Iterator<Item = &'a str>,
    ) -> Self {
        let known = known.map(str::to_owned).collect();
        Self(Box::new(Kind::UnknownVariant {
            extension: extension.to_owned(),
            suffix: suffix.to_owned(),
            known,
        }))
    }

    pub(crate) fn settings(provider: &str, problem: SettingsProblem) -> Self {
        Self(Box::new(Kind::Settings { provider: provider.to_owned(), problem }))
    }

    pub(crate) fn creation(provider: String, cause: ModelError) -> Self {
        Self(Box::new(Kind::Creation { provider, cause }))
    }

    pub(crate) fn plugin(plugin: &str, hook: &'static str, cause: impl Into<PluginError>) -> Self {
        Self(Box::new(Kind::Plugin { plugin: plugin.to_owned(), hook, cause: cause.into() }))
    }

    /// Names the provider as the caller did, who may have used an alias.
    pub(crate) fn asked_as(mut self, id: &str) -> Self {
        if let Kind::Settings { provider, .. } | Kind::Creation { provider, .. } = &mut *self.0 {
            id.clone_into(provider);
        }
        self
    }

    pub(crate) fn tool_name(name: String) -> Self {
        Self(Box::new(Kind::ToolName(name)))
    }

    pub(crate) fn duplicate_tool(name: String) -> Self {
        Self(Box::new(Kind::DuplicateTool(name)))
    }

    /// What kind it is.
    pub fn kind(&self) -> ErrorKind {
        match &*self.0 {
            Kind::ModelRef { .. } => ErrorKind::InvalidModelRef,
            Kind::UnknownProvider { .. } => ErrorKind::UnknownProvider,
            Kind::Extension { .. } => ErrorKind::InvalidExtension,
            Kind::Collision { .. } => ErrorKind::IdCollision,
            Kind::UnknownVariant { .. } => ErrorKind::UnknownVariant,
            Kind::Settings { .. } => ErrorKind::InvalidSettings,
            Kind::Creation { .. } => ErrorKind::ProviderCreation,
            Kind::Plugin { .. } => ErrorKind::Plugin,
            Kind::ToolName(_) => ErrorKind::InvalidToolName,
            Kind::DuplicateTool(_) => ErrorKind::DuplicateTool,
            Kind::Model(_) | Kind::Generate(_) => ErrorKind::Model,
        }
    }

    /// The error of the provider, of the model or of its wrapper, if it is one; also where a plugin passed it on.
    pub fn model_error(&self) -> Option<&ModelError> {
        match &*self.0 {
            Kind::Model(error) | Kind::Creation { cause: error, .. } => Some(error),
            Kind::Generate(failed) => Some(&failed.error),
            Kind::Plugin { cause, .. } => cause.downcast_ref(),
            _ => None,
        }
    }

    /// What of an answer came before it failed, if one had begun.
    pub fn partial(&self) -> Option<&Assembled> {
        match &*self.0 {
            Kind::Generate(failed) => Some(&failed.partial),
            _ => None,
        }
    }

    /// The plugin that failed and the hook it failed in, if one did.
    pub fn plugin_hook(&self) -> Option<(&str, &'static str)> {
        match &*self.0 {
            Kind::Plugin { plugin, hook, .. } => Some((plugin, hook)),
            _ => None,
        }
    }
}

impl From<GenerateError> for Error {
    fn from(failed: GenerateError) -> Self {
        Self(Box::new(Kind::Generate(failed)))
    }
}

/// As what a run or a stream can carry: the class of the model's error if there is one.
impl From<Error> for ModelError {
    fn from(error: Error) -> Self {
        match *error.0 {
            Kind::Model(error) => error,
            Kind::Generate(failed) => failed.error,
            _ => {
                let beneath = error.model_error();
                let class = beneath.map_or(ErrorClass::InvalidRequest, ModelError::class);
                let retryable = beneath.is_some_and(ModelError::retryable);
                Self::new(class, error.to_string()).with_retryable(retryable).with_source(error)
            }
        }
    }
}

/// Of what a caller gave, as much as helps.
fn shown(text: &str) -> String {
    const MOST: usize = 80;
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The known name a text was meant to be, if one is near enough.
fn nearest(text: &str, known: &[String]) -> Option<String> {
    // A name is short, and what is compared with it costs its length for each.
    if text.len() > 100 {
        return None;
    }
    let text = text.to_lowercase();
    let near = known
        .iter()
        .map(|known| (strsim::damerau_levenshtein(&known.to_lowercase(), &text), known))
        .filter(|(distance, known)| *distance <= 1 + known.chars().count() / 4);
    near.min().map(|(_, known)| known.clone())
}

impl From<ModelError> for Error {
    fn from(error: ModelError) -> Self {
        Self(Box::new(Kind::Model(error)))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Kind::ModelRef { text, problem } => {
                write!(
                    f,
                    "`{}` is not a model: {problem}. Write `provider:model`, for example `openai:gpt-5`",
                    shown(text)
                )
            }
            Kind::UnknownProvider { name, nearest, known } => {
                write!(f, "there is no provider `{}`", shown(name))?;
                if let Some(nearest) = nearest {
                    return write!(f, "; did you mean `{nearest}`?");
                }
                match known.as_slice() {
                    [] => write!(f, "; none is registered"),
                    known => write!(f, "; known: {}", known.join(", ")),
                }
            }
            Kind::Extension { name, problem } => {
                write!(f, "the provider extension `{}` cannot be registered: {problem}", shown(name))
            }
            Kind::Collision { id, owner, newcomer } => write!(
                f,
                "the id `{id}` is already registered for `{owner}`: `{newcomer}` cannot have it too"
            ),
            Kind::UnknownVariant { extension, suffix, known } => {
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                write!(f, "variant `{}` of `{extension}` not found; available: {known}", shown(suffix))
            }
            Kind::Settings { provider, problem: SettingsProblem { path, why } } => {
                write!(f, "the settings of `{provider}` cannot be read")?;
                path.iter().try_for_each(|path| write!(f, " at `{path}`"))?;
                write!(f, ": {why}")
            }
            Kind::Creation { provider, cause } => {
                write!(f, "the provider `{provider}` could not be created: {cause}")
            }
            Kind::Plugin { plugin, hook, cause } => {
                write!(f, "the plugin `{plugin}` failed in {hook}: {cause}")
            }
            Kind::ToolName(name) => {
                let name: String = name.chars().take(80).collect();
                write!(f, "{name:?} cannot be the name of a tool: use 1 to 64 letters, digits, `_` and `-`")
            }
            Kind::DuplicateTool(name) => write!(f, "there are two tools with the name `{name}`"),
            Kind::Model(error) | Kind::Generate(GenerateError { error, .. }) => write!(f, "{error}"),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &*self.0 {
            Kind::Model(error) | Kind::Creation { cause: error, .. } => Some(error),
            Kind::Generate(failed) => Some(&failed.error),
            Kind::Plugin { cause, .. } => Some(&**cause),
            _ => None,
        }
    }
}
