use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::metadata::ProviderMetadata;
use crate::options::ProviderOptions;

/// A media type such as `image/png`, or only its first segment (`image`) where no more is known.
pub type MediaType = String;

/// Where the content of a file is.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FileData {
    /// Here. Stored as base64 text.
    Bytes {
        /// The content.
        #[serde(with = "base64_text")]
        data: Bytes,
    },
    /// At a URL.
    Url {
        /// The URL.
        url: String,
    },
    /// At the provider, under an id from an earlier upload.
    Reference {
        /// Provider name → file id.
        ids: std::collections::BTreeMap<String, String>,
    },
    /// Here, as text.
    Text {
        /// The content.
        text: String,
    },
}

impl FileData {
    /// Content at hand.
    pub fn bytes(data: impl Into<Bytes>) -> Self {
        Self::Bytes { data: data.into() }
    }

    /// The content as base64 text, if it is at hand.
    pub fn to_base64(&self) -> Option<String> {
        match self {
            Self::Bytes { data } => Some(STANDARD.encode(data)),
            Self::Text { text } => Some(STANDARD.encode(text)),
            Self::Url { .. } | Self::Reference { .. } => None,
        }
    }
}

impl fmt::Debug for FileData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes { data } => write!(f, "Bytes({} bytes)", data.len()),
            Self::Url { url } => write!(f, "Url({} characters)", url.chars().count()),
            Self::Reference { ids } => f.debug_tuple("Reference").field(ids).finish(),
            Self::Text { text } => write!(f, "Text({} bytes)", text.len()),
        }
    }
}

/// A file, as part of a message or of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FilePart {
    /// What it is.
    pub media_type: MediaType,
    /// Its content.
    pub data: FileData,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// Options for the provider.
    #[serde(default, rename = "providerOptions", skip_serializing_if = "ProviderOptions::is_empty")]
    pub options: ProviderOptions,
    /// What the provider attached.
    #[serde(default, rename = "providerMetadata", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Box<ProviderMetadata>>,
}

impl FilePart {
    /// A file of this type.
    pub fn new(media_type: impl Into<MediaType>, data: FileData) -> Self {
        Self {
            media_type: media_type.into(),
            data,
            filename: None,
            options: ProviderOptions::default(),
            metadata: None,
        }
    }
}

mod base64_text {
    use base64::Engine as _;

    use super::{Bytes, Deserialize, Deserializer, STANDARD, Serializer};

    pub(super) fn serialize<S: Serializer>(data: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(data))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map(Bytes::from).map_err(serde::de::Error::custom)
    }
}
