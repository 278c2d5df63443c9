//! Events as they come in, borrowed from their text. What is read once per block or per answer stays raw until
//! then: an event of a delta, of which there are thousands, costs one pass.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::loose::{Index, Text};

type Raw<'a> = Option<&'a RawValue>;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Frame<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) index: Index,
    #[serde(borrow)]
    pub(super) delta: Raw<'a>,
    #[serde(borrow)]
    pub(super) content_block: Raw<'a>,
    #[serde(borrow)]
    pub(super) message: Raw<'a>,
    #[serde(borrow)]
    pub(super) usage: Raw<'a>,
    #[serde(borrow)]
    pub(super) context_management: Raw<'a>,
    #[serde(borrow)]
    pub(super) error: Raw<'a>,
    /// No field of this API: it shows that the server speaks Chat Completions.
    #[serde(borrow)]
    pub(super) choices: Raw<'a>,
}

/// A delta of a block, with what the usual ones hold.
#[derive(Debug, Deserialize)]
pub(super) struct Piece<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(default)]
    pub(super) index: Index,
    #[serde(borrow)]
    pub(super) delta: PieceDelta<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PieceDelta<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow, default)]
    pub(super) text: Text<'a>,
    #[serde(borrow, default)]
    pub(super) thinking: Text<'a>,
    #[serde(borrow, default)]
    pub(super) partial_json: Text<'a>,
}

/// The same, with what the others hold.
#[derive(Debug, Deserialize)]
pub(super) struct RarePiece<'a> {
    #[serde(borrow)]
    pub(super) delta: RareDelta<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RareDelta<'a> {
    #[serde(borrow)]
    pub(super) signature: Text<'a>,
    #[serde(borrow)]
    pub(super) citation: Raw<'a>,
    #[serde(borrow)]
    pub(super) content: Text<'a>,
    #[serde(borrow)]
    pub(super) encrypted_content: Raw<'a>,
}

/// The name of an event, whatever else it holds.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Named<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
}

/// What `message_delta` says of the message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Progress<'a> {
    #[serde(borrow)]
    pub(super) stop_reason: Text<'a>,
    #[serde(borrow)]
    pub(super) stop_sequence: Raw<'a>,
    #[serde(borrow)]
    pub(super) stop_details: Raw<'a>,
    #[serde(borrow)]
    pub(super) container: Raw<'a>,
}

/// A content block: how it begins in a stream, and all of it in a body.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Block<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) text: Text<'a>,
    #[serde(borrow)]
    pub(super) citations: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    pub(super) thinking: Text<'a>,
    #[serde(borrow)]
    pub(super) signature: Text<'a>,
    #[serde(borrow)]
    pub(super) data: Text<'a>,
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) server_name: Text<'a>,
    #[serde(borrow)]
    pub(super) input: Raw<'a>,
    #[serde(borrow)]
    pub(super) caller: Raw<'a>,
    #[serde(borrow)]
    pub(super) tool_use_id: Text<'a>,
    #[serde(borrow)]
    pub(super) content: Raw<'a>,
    pub(super) is_error: Option<bool>,
    #[serde(borrow)]
    pub(super) encrypted_content: Raw<'a>,
    #[serde(borrow)]
    pub(super) to: Option<Model<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Model<'a> {
    #[serde(borrow)]
    pub(super) model: Text<'a>,
}

/// A message: the start of a stream, or a whole answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) model: Text<'a>,
    #[serde(borrow)]
    pub(super) content: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    pub(super) stop_reason: Text<'a>,
    #[serde(borrow)]
    pub(super) stop_sequence: Raw<'a>,
    #[serde(borrow)]
    pub(super) stop_details: Raw<'a>,
    #[serde(borrow)]
    pub(super) usage: Raw<'a>,
    #[serde(borrow)]
    pub(super) container: Raw<'a>,
    #[serde(borrow)]
    pub(super) context_management: Raw<'a>,
}
