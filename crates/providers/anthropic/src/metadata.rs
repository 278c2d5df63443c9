//! The names under which values stand in the metadata of parts. What is needed for the way back is written down
//! here once, for both directions.

/// The signature of a thinking block.
pub(crate) const SIGNATURE: &str = "signature";
/// The content of a thinking block that is not shown.
pub(crate) const REDACTED: &str = "redactedData";
/// The type of a block on the wire: of calls the provider ran, of their results, and of compaction.
pub(crate) const WIRE_TYPE: &str = "type";
/// The name of a tool on the wire.
pub(crate) const WIRE_NAME: &str = "name";
/// Which MCP server a call goes to.
pub(crate) const SERVER_NAME: &str = "serverName";
/// What made a call: code that runs at the provider, or the model itself.
pub(crate) const CALLER: &str = "caller";
/// What the provider needs of a compaction beside its text.
pub(crate) const ENCRYPTED: &str = "encryptedContent";
/// A block as it came.
pub(crate) const BLOCK: &str = "block";
/// The type of the block that a long history was replaced by.
pub(crate) const COMPACTION: &str = "compaction";
/// The type of the block where another model took over.
pub(crate) const FALLBACK: &str = "fallback";
