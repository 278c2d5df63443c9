//! What goes back to its maker: the names of the values in the metadata of parts.

use ai_provider::{JsonObject, Origin, ProviderMetadata};

/// The id of the item a part was made of.
pub(super) const ITEM_ID: &str = "itemId";
/// The whole item, where a part does not hold all of it.
pub(super) const ITEM: &str = "item";
/// Whether the server keeps the item.
pub(super) const STORED: &str = "stored";
/// The response the item is of.
pub(super) const RESPONSE_ID: &str = "responseId";
/// Encrypted reasoning.
pub(super) const ENCRYPTED: &str = "encryptedContent";
/// Where the text of reasoning stood: `summary`, or `content` where it is the reasoning itself.
pub(super) const FORM: &str = "reasoningForm";
/// Which part of an answer a message is: commentary, or the final answer.
pub(super) const PHASE: &str = "phase";
/// What the model noted on its own text.
pub(super) const ANNOTATIONS: &str = "annotations";
/// The part of a set of tools a called function is of.
pub(super) const NAMESPACE: &str = "namespace";

pub(super) const CONTENT: &str = "content";

/// The values this API attached to a part, if they were minted by the one it goes to.
pub(super) fn own<'a>(metadata: Option<&'a ProviderMetadata>, origin: &Origin) -> Option<&'a JsonObject> {
    let metadata = metadata?;
    let ours = metadata.origin.as_ref()? == origin;
    metadata.get(&origin.target.provider).filter(|_| ours)
}

/// Whether there is anything in it that its maker alone understands.
pub(super) fn is_foreign(metadata: Option<&ProviderMetadata>, origin: &Origin) -> bool {
    metadata.and_then(|metadata| metadata.origin.as_ref()).is_some_and(|maker| maker != origin)
}
