//! Events as they come in: borrowed from their text, and read with patience.

use std::fmt;

use serde::Deserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::decode::fill::{Fill, Key, Place, empty_list, object};
use crate::decode::loose::{Content, Raw, Scalar};

use super::items::Label;

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
    /// What an event holds that brings a piece: most of a stream.
    Piece {
        "type" kind: Scalar<'a>,
        "item_id" item_id: Scalar<'a>,
        "output_index" output_index: Scalar<'a>,
        "content_index" content_index: Scalar<'a>,
        "summary_index" summary_index: Scalar<'a>,
        "delta" delta: Content<'a>,
        "logprobs" logprobs: Raw<'a>,
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

impl<'a> Frame<'a> {
    pub(super) fn label(&self) -> Label<'_> {
        Label { id: self.item_id.as_text().unwrap_or_default(), index: self.output_index.number() }
    }

    /// The piece it brings.
    pub(super) fn piece(&mut self) -> Piece<'a> {
        Piece {
            kind: Scalar::None,
            item_id: std::mem::take(&mut self.item_id),
            output_index: std::mem::take(&mut self.output_index),
            content_index: std::mem::take(&mut self.content_index),
            summary_index: std::mem::take(&mut self.summary_index),
            delta: std::mem::take(&mut self.delta),
            logprobs: self.logprobs,
        }
    }
}

impl Piece<'_> {
    pub(super) fn label(&self) -> Label<'_> {
        Label { id: self.item_id.as_text().unwrap_or_default(), index: self.output_index.number() }
    }
}

impl Response<'_> {
    /// Whether the server keeps the response.
    pub(super) fn is_stored(&self) -> bool {
        self.store.0.is_some_and(|store| store.get() == "true")
    }
}
