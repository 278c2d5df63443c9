use std::collections::BTreeMap;

use ai_provider::ProviderOptions;
use serde::{Deserialize, Serialize};

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
