use std::error::Error as StdError;
use std::fmt;

use ai_provider::ModelError;

/// What goes wrong before a run begins: a name nobody knows, a collision, a provider that refuses.
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
    /// A provider of this name is registered already.
    DuplicateProvider,
    /// A tool name no provider would take.
    InvalidToolName,
    /// A tool of this name is there already.
    DuplicateTool,
    /// The provider could not make the model, or the model wrapper failed.
    Model,
}

#[derive(Debug)]
enum Kind {
    ModelRef { text: String, problem: &'static str },
    UnknownProvider { name: String, nearest: Option<String>, known: Vec<String> },
    DuplicateProvider(String),
    ToolName(String),
    DuplicateTool(String),
    Model(ModelError),
}

impl Error {
    pub(crate) fn model_ref(text: impl Into<String>, problem: &'static str) -> Self {
        Self(Box::new(Kind::ModelRef { text: text.into(), problem }))
    }

    pub(crate) fn unknown_provider(name: &str, nearest: Option<String>, known: Vec<String>) -> Self {
        Self(Box::new(Kind::UnknownProvider { name: name.to_owned(), nearest, known }))
    }

    pub(crate) fn duplicate_provider(name: impl Into<String>) -> Self {
        Self(Box::new(Kind::DuplicateProvider(name.into())))
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
            Kind::DuplicateProvider(_) => ErrorKind::DuplicateProvider,
            Kind::ToolName(_) => ErrorKind::InvalidToolName,
            Kind::DuplicateTool(_) => ErrorKind::DuplicateTool,
            Kind::Model(_) => ErrorKind::Model,
        }
    }

    /// The error of the provider or of the model wrapper, if it is one.
    pub fn model_error(&self) -> Option<&ModelError> {
        match &*self.0 {
            Kind::Model(error) => Some(error),
            _ => None,
        }
    }
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
                    "`{text}` is not a model: {problem}. Write `provider:model`, for example `openai:gpt-5`"
                )
            }
            Kind::UnknownProvider { name, nearest, known } => {
                write!(f, "there is no provider `{name}`")?;
                if let Some(nearest) = nearest {
                    return write!(f, "; did you mean `{nearest}`?");
                }
                match known.as_slice() {
                    [] => write!(f, "; none is registered"),
                    known => write!(f, "; known: {}", known.join(", ")),
                }
            }
            Kind::DuplicateProvider(name) => write!(f, "a provider `{name}` is registered already"),
            Kind::ToolName(name) => {
                let name: String = name.chars().take(80).collect();
                write!(f, "{name:?} cannot be the name of a tool: use 1 to 64 letters, digits, `_` and `-`")
            }
            Kind::DuplicateTool(name) => write!(f, "there are two tools with the name `{name}`"),
            Kind::Model(error) => write!(f, "{error}"),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &*self.0 {
            Kind::Model(error) => Some(error),
            _ => None,
        }
    }
}
