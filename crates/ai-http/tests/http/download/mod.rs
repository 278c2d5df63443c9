//! Files at URLs the model cannot fetch.

mod over_http;
mod stage;

use std::sync::Arc;

use ai_http::{
    CallInfo, Client, ClientBuilder, Codec, Decoder, Download, Downloaded, Framing, HttpCall,
    error_of_response,
};
use ai_provider::{
    Delivery, ErrorClass, FileData, FilePart, LanguageModel, Message, ModelError, Request, TextPart,
    ToolContent, ToolMessage, ToolOutput, ToolPart, ToolResult, UserMessage, UserPart, Warning,
};
use ai_testkit::{MemoryReply, MemoryTransport};
use http::{HeaderMap, StatusCode};
use serde_json::Value;

use crate::api::{Api, frames, target};

pub(crate) const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

/// Writes its messages as they are stored; its server fetches videos alone.
struct Viewer;

impl Codec for Viewer {
    fn encode(&self, request: &Request, _: &CallInfo<'_>) -> Result<(HttpCall, Vec<Warning>), ModelError> {
        Ok((
            HttpCall::post_json("http://api.test/v1/view", &request.messages)?,
            vec![Warning::other("written")],
        ))
    }

    fn must_download(&self, file: &FilePart, info: &CallInfo<'_>) -> bool {
        assert_eq!(info.target, &target());
        !file.media_type.starts_with("video")
    }

    fn framing(&self, _: Delivery) -> Framing {
        Framing::Sse
    }

    fn decoder(&self, info: &CallInfo<'_>) -> Box<dyn Decoder> {
        Api::at("").decoder(info)
    }

    fn error(&self, status: StatusCode, _: &HeaderMap, excerpt: &[u8]) -> ModelError {
        error_of_response(status, excerpt)
    }
}

fn answering() -> MemoryTransport {
    MemoryTransport::new().repeat(MemoryReply::sse(frames(&["{\"finish\":\"stop\"}"])))
}

fn viewer(transport: &MemoryTransport, download: Option<Arc<dyn Download>>) -> impl LanguageModel {
    let builder = Client::builder().transport(Arc::new(transport.clone()));
    let builder = download.into_iter().fold(builder, ClientBuilder::download);
    builder.build().unwrap().model(Viewer, target(), Default::default())
}

fn at(media_type: &str, url: &str) -> FilePart {
    FilePart::new(media_type, FileData::Url { url: url.into() })
}

fn from_user(files: impl IntoIterator<Item = FilePart>) -> Message {
    let parts = files.into_iter().map(UserPart::File).collect();
    Message::User(UserMessage { parts, ..UserMessage::default() })
}

fn from_tool(files: impl IntoIterator<Item = FilePart>) -> Message {
    let files = files.into_iter().map(ToolContent::File);
    let items = [ToolContent::Text(TextPart::new("see"))].into_iter().chain(files).collect();
    let result = ToolResult::new("call-1", "look", ToolOutput::Content(items));
    Message::Tool(ToolMessage { parts: vec![ToolPart::ToolResult(result)], ..ToolMessage::default() })
}

/// The messages the server got in its call of this number.
fn written(transport: &MemoryTransport, call: usize) -> Value {
    serde_json::from_slice(&transport.calls()[call].body).unwrap()
}

fn file(media_type: &str, data: &'static [u8]) -> Downloaded {
    let media_type = (!media_type.is_empty()).then(|| media_type.to_owned());
    Downloaded { media_type, data: data.into() }
}

fn class(error: &ModelError) -> (ErrorClass, bool) {
    (error.class(), error.retryable())
}
