use std::collections::BTreeMap;

use ai_provider::{FileData, ProviderOptions, UserMessage, UserPart};
use serde::{Deserialize, Serialize};

use super::content::url;

type Metadata = Option<Box<ProviderOptions>>;

/// A part of what a user says in the middle of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum UiUserPart {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// Options for the provider.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Metadata,
    },
    /// A file.
    File {
        /// What it is.
        media_type: String,
        /// Where it is; its content, as a data URL.
        url: String,
        /// Its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        filename: Option<String>,
        /// Where it lies at providers: provider name → file id. Goes before the URL.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_reference: Option<BTreeMap<String, String>>,
        /// Options for the provider.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Metadata,
    },
}

impl UiUserPart {
    /// What a user said, as a user interface shows it: without the options that are for providers.
    pub fn of(message: &UserMessage) -> Vec<Self> {
        message.parts.iter().filter_map(Self::shown).collect()
    }

    fn shown(part: &UserPart) -> Option<Self> {
        match part {
            UserPart::Text(part) => Some(Self::Text { text: part.text.clone(), provider_metadata: None }),
            UserPart::File(file) => {
                let provider_reference = match &file.data {
                    FileData::Reference { ids } => Some(ids.clone()),
                    _ => None,
                };
                let url = url(file).or_else(|| provider_reference.is_some().then(String::new))?;
                Some(Self::File {
                    media_type: file.media_type.clone(),
                    url,
                    filename: file.filename.clone(),
                    provider_reference,
                    provider_metadata: None,
                })
            }
            _ => None,
        }
    }
}
