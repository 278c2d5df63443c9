use std::fmt;

use serde::{Deserialize, Serialize};

/// Something the call could not do quite as asked. Nothing is dropped in silence: it is dropped with one of
/// these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Warning {
    /// The model or API has no such feature; it was left out of the request.
    Unsupported {
        /// What was left out, named as in [`Settings`](crate::Settings).
        feature: String,
        /// Why, and what happens instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<String>,
    },
    /// The feature was replaced by the nearest thing the API has.
    Compatibility {
        /// What was replaced.
        feature: String,
        /// By what.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<String>,
    },
    /// A setting that will go away.
    Deprecated {
        /// Its name.
        setting: String,
        /// What to use instead.
        message: String,
    },
    /// Anything else.
    Other {
        /// A sentence for the developer.
        message: String,
    },
}

impl Warning {
    /// An [`Unsupported`](Self::Unsupported) warning with its reason.
    pub fn unsupported(feature: impl Into<String>, details: impl Into<String>) -> Self {
        Self::Unsupported { feature: feature.into(), details: Some(details.into()) }
    }

    /// A [`Compatibility`](Self::Compatibility) warning with its replacement.
    pub fn compatibility(feature: impl Into<String>, details: impl Into<String>) -> Self {
        Self::Compatibility { feature: feature.into(), details: Some(details.into()) }
    }

    /// An [`Other`](Self::Other) warning.
    pub fn other(message: impl Into<String>) -> Self {
        Self::Other { message: message.into() }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (feature, verb, details) = match self {
            Self::Unsupported { feature, details } => (feature, "is not supported", details),
            Self::Compatibility { feature, details } => (feature, "was adapted", details),
            Self::Deprecated { setting, message } => {
                return write!(f, "{setting} is deprecated: {message}");
            }
            Self::Other { message } => return f.write_str(message),
        };
        write!(f, "{feature} {verb}")?;
        details.iter().try_for_each(|details| write!(f, ": {details}"))
    }
}
