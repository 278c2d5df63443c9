//! A response, whatever it holds, gives parts in order and one end, however it is cut.
//!
//! An input is a body as a server sends it. One that begins with `{` or `[` is read as an answer in one body, all
//! others as a stream; `HTTP 429` and a line break before it make it the body of an error.

use std::cell::OnceCell;
use std::sync::Arc;

use ai_anthropic::MessagesCodec;
use ai_google::GenerateContentCodec;
use ai_http::{Codec, Endpoint, HttpModel};
use ai_openai::{ChatCodec, Dialect, ResponsesCodec, ResponsesDialect};
use ai_provider::{
    Assembler, CallContext, Delivery, ErrorRecord, LanguageModel, Message, Request, StreamPart, TargetId,
};
use ai_testkit::{Cut, MemoryReply, MemoryTransport, check_order, collect};
use bytes::Bytes;
use http::StatusCode;

use super::{Seen, limits, seed_of};

/// The adapters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// OpenAI's Chat Completions, in one of its dialects by the length of the input.
    Chat,
    /// OpenAI's Responses, likewise.
    Responses,
    /// Anthropic's Messages.
    Messages,
    /// Google's generateContent.
    Gemini,
}

const PLACE: &str = "http://fuzz.localhost";

/// Decodes a response.
pub fn decode(api: Api, data: &[u8]) -> Seen {
    let response = Response::of(data);
    let whole = response.decoded(api, data.len(), Cut::Whole);
    let cut = response.decoded(api, data.len(), Cut::Random(seed_of(data)));
    assert_eq!(whole, cut, "cutting the bytes changes what comes");

    let (parts, error) = whole;
    check_order(&parts).unwrap_or_else(|why| panic!("{why}: {parts:?}"));
    let finishes = parts.iter().filter(|part| matches!(part, StreamPart::Finish(_))).count();
    assert_eq!(finishes + usize::from(error.is_some()), 1, "one thing ends a stream: {parts:?} {error:?}");
    let mut assembler = Assembler::default();
    for part in &parts {
        assembler.push(part).unwrap_or_else(|error| panic!("{error}: {parts:?}"));
        if let StreamPart::ToolCall(call) = part {
            assert!(!call.id.is_empty() && !call.input.trim().is_empty(), "{call:?}");
        }
    }
    assert_eq!(assembler.finish().finish.is_some(), error.is_none());
    if let Some(status) = response.status {
        let kept = error.as_ref().and_then(|error| error.status);
        assert_eq!(kept, Some(status.as_u16()), "the status of an error is kept");
    }
    Seen { finished: finishes == 1, class: error.map(|error| error.class) }
}

/// An input, taken apart.
struct Response {
    status: Option<StatusCode>,
    body: Bytes,
}

impl Response {
    fn of(data: &[u8]) -> Self {
        let error = data.strip_prefix(b"HTTP ").and_then(|rest| {
            let (status, body) = rest.split_at_checked(3)?;
            let status = StatusCode::from_bytes(status).ok().filter(|status| status.as_u16() >= 400)?;
            Some((status, body.strip_prefix(b"\n").unwrap_or(body)))
        });
        match error {
            Some((status, body)) => Self { status: Some(status), body: Bytes::copy_from_slice(body) },
            None => Self { status: None, body: Bytes::copy_from_slice(data) },
        }
    }

    fn decoded(&self, api: Api, number: usize, cut: Cut) -> (Vec<StreamPart>, Option<ErrorRecord>) {
        let document = matches!(self.body.trim_ascii_start().first(), Some(b'{' | b'['));
        let mut request = Request::new([Message::user("Hi")]);
        request.delivery = if document { Delivery::Whole } else { Delivery::Stream };
        let reply = MemoryReply::new(self.status.unwrap_or(StatusCode::OK), self.body.clone()).cut(cut);
        let model = api.model(number, MemoryTransport::new().reply(reply));
        let stream = model.stream(request, CallContext::new().with_request_id("fuzz"));
        let (parts, error) =
            RUNTIME.with(|runtime| runtime.get_or_init(runtime_of_timers).block_on(collect(stream)));
        (parts, error.map(|error| error.record()))
    }
}

thread_local! {
    static RUNTIME: OnceCell<tokio::runtime::Runtime> = const { OnceCell::new() };
}

fn runtime_of_timers() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime")
}

impl Api {
    fn model(self, number: usize, transport: MemoryTransport) -> Arc<dyn LanguageModel> {
        let endpoint = Endpoint::base(PLACE).expect("a URL");
        match self {
            Self::Chat => {
                let names: Vec<_> = Dialect::names().collect();
                let dialect = Dialect::by_name(names[number % names.len()]).expect("a row");
                model(ChatCodec::new(dialect, endpoint), transport)
            }
            Self::Responses => {
                let names: Vec<_> = ResponsesDialect::names().collect();
                let dialect = ResponsesDialect::by_name(names[number % names.len()]).expect("a row");
                model(ResponsesCodec::new(dialect, endpoint), transport)
            }
            Self::Messages => model(MessagesCodec::new(endpoint), transport),
            Self::Gemini => model(GenerateContentCodec::new(endpoint), transport),
        }
    }
}

fn model<C: Codec>(codec: C, transport: MemoryTransport) -> Arc<dyn LanguageModel> {
    let target = TargetId::new("fuzz", "model", PLACE);
    Arc::new(HttpModel::new(codec, target, Arc::new(transport)).with_limits(limits()))
}
