use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Data of the application, of the type `data-NAME`. A later chunk with the same name and id replaces an
/// earlier one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataChunk {
    /// The name, without `data-`.
    #[serde(rename = "type", with = "data_type")]
    pub name: String,
    /// Which data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The data.
    #[serde(default)]
    pub data: Value,
    /// Whether it is shown only, and never part of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transient: Option<bool>,
}

impl DataChunk {
    pub(super) const PREFIX: &'static str = "data-";
}

mod data_type {
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    use super::DataChunk;

    pub(super) fn serialize<S: Serializer>(name: &str, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}{name}", DataChunk::PREFIX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        let kind = String::deserialize(deserializer)?;
        let name = kind.strip_prefix(DataChunk::PREFIX);
        name.map(str::to_owned)
            .ok_or_else(|| D::Error::custom(format!("`{kind}` does not begin with `data-`")))
    }
}
