//! Events as they come in: borrowed from their text, and read with patience.

use std::fmt;

use serde::Deserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::decode::fill::{Fill, Key, Place, empty_list, object};
use crate::decode::loose::{Content, Raw, Scalar};

object! {
    /// An event of a stream, or a whole response.
    Frame {
        "type" kind: Scalar<'a>,
        "item_id" item_id: Scalar<'a>,
        "output_index" output_index: Scalar<'a>,
        "content_index" content_index: Scalar<'a>,
        "summary_index" summary_index: Scalar<'a>,
        "delta" delta: Content<'a>,
        "text" text: Raw<'a>,
        "refusal" refusal: Raw<'a>,
        "arguments" arguments: Raw<'a>,
        "logprobs" logprobs: Raw<'a>,
        "item" item: Raw<'a>,
        "annotation" annotation: Raw<'a>,
        "partial_image_b64" partial_image: Scalar<'a>,
        "output_format" output_format: Scalar<'a>,
        "response" response: Option<Response<'a>>,
        "error" error: Raw<'a>,
        "object" object: Scalar<'a>,
        "choices" choices: Raw<'a>,
        "status" status: Scalar<'a>,
        "output" output: Raw<'a>,
    }
}

object! {
    Response {
        "id" id: Scalar<'a>,
        "model" model: Scalar<'a>,
        "created_at" created_at: Scalar<'a>,
        "status" status: Scalar<'a>,
        "store" store: Raw<'a>,
        "service_tier" service_tier: Scalar<'a>,
        "error" error: Raw<'a>,
        "incomplete_details" incomplete: Incomplete<'a>,
        "usage" usage: Raw<'a>,
        "output" output: Raw<'a>,
    }
}

object! {
    Incomplete {
        "reason" reason: Scalar<'a>,
    }
}

impl Response<'_> {
    /// Whether the server keeps the response.
    pub(super) fn is_stored(&self) -> bool {
        self.store.0.is_some_and(|store| store.get() == "true")
    }
}
