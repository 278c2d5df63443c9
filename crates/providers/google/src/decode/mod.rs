//! The answer, frame by frame.

use std::borrow::Cow;
use std::fmt;

use ai_http::{CallInfo, Decoder, End, Event, Next, Parts, error_of_no_answer, excerpt, halves};
use ai_provider::{
    CustomPart, ErrorClass, FileData, FilePart, Finish, FinishReason, JsonObject, ModelError, Origin,
    ProviderMetadata, ProviderOptions, ResponseMetadata, StreamPart, UnifiedFinish,
};
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::failure;
use blocks::{Blocks, Kind};
use calls::Calls;
use extras::Extras;
use frame::{Blob, Candidate, Frame, LastFrame, Part, TextFrame};
use ids::AnswerIds;
use loose::Text;
use server::ServerCalls;
use sources::Sources;
use usage::Totals;

mod arguments;
mod blocks;
mod calls;
mod extras;
mod frame;
mod ids;
mod loose;
mod path;
mod reason;
mod server;
mod sources;
mod usage;

pub(crate) use ids::MADE_ID;
pub(crate) use server::SERVER;

/// Where metadata holds the signature a part must go back with.
pub(crate) const SIGNATURE: &str = "thoughtSignature";
/// Where metadata says as which field of a part a call or result of the server came.
pub(crate) const KIND: &str = "kind";
/// Where metadata says that a block or a file is a thought of this model.
const THOUGHT: &str = "thought";
/// The kind of a part that is kept as it came, because this crate does not know it.
pub(crate) const UNKNOWN_PART: &str = "google.part";
/// Where the metadata of such a part holds it.
pub(crate) const PART: &str = "part";

/// The API has no end mark; servers that speak like it may send this one.
const END_MARK: &str = "[DONE]";

pub(crate) struct GeminiDecoder {
    origin: Origin,
    ids: AnswerIds,
    /// The answer may come in several events.
    several: bool,
    described: bool,
    blocks: Blocks,
    calls: Calls,
    server_calls: ServerCalls,
    sources: Sources,
    extras: Extras,
    totals: Totals,
    /// Something of an answer came.
    content: bool,
    /// The frame that is being read has stand-ins for halves of characters.
    marked: bool,
    /// A reason that says that it says none.
    unspecified: Option<String>,
    /// What the server said in place of an answer, in case that none comes.
    suspect: Option<ModelError>,
}

impl GeminiDecoder {
    pub(crate) fn new(info: &CallInfo<'_>, several: bool) -> Self {
        Self {
            origin: info.origin(),
            ids: AnswerIds::new(info.ids.clone()),
            several,
            described: false,
            blocks: Blocks::default(),
            calls: Calls::default(),
            server_calls: ServerCalls::default(),
            sources: Sources::default(),
            extras: Extras::default(),
            totals: Totals::default(),
            content: false,
            marked: false,
            unspecified: None,
            suspect: None,
        }
    }

    /// Without `alt=sse` the API sends its frames as the items of one list.
    fn frames(&mut self, data: &str, out: &mut Parts) -> Result<Next, ModelError> {
        let list = |error: serde_json::Error| not_a_frame(data, &error);
        for frame in serde_json::from_str::<Vec<&RawValue>>(data).map_err(list)? {
            if self.frame(frame.get(), out)? == Next::Done {
                return Ok(Next::Done);
            }
        }
        Ok(Next::More)
    }

    fn frame(&mut self, data: &str, out: &mut Parts) -> Result<Next, ModelError> {
        if !data.starts_with('{') {
            return Err(not_a_frame(data, &format!("not a JSON object: {}", excerpt(data.as_bytes()))));
        }
        if let Ok(frame) = serde_json::from_str::<TextFrame<'_>>(data)
            && let TextFrame { candidates: [candidate], .. } = &frame
            && candidate.index == 0
        {
            self.text_frame(frame, out);
            return Ok(Next::More);
        }
        let error = match serde_json::from_str::<Frame<'_>>(data) {
            Ok(frame) => return self.read(frame, data, out),
            Err(error) => error,
        };
        let marked = halves::with_stand_ins(data).ok_or_else(|| not_a_frame(data, &error))?;
        let frame = serde_json::from_str(&marked).map_err(|error| not_a_frame(data, &error))?;
        self.marked = true;
        let next = self.read(frame, data, out);
        self.marked = false;
        next
    }

    fn text_frame(&mut self, mut frame: TextFrame<'_>, out: &mut Parts) {
        self.describe([&mut frame.response_id, &mut frame.model_version], out);
        if let Some(usage) = frame.usage_metadata {
            self.totals.take(usage);
        }
        let [candidate] = frame.candidates;
        let [part] = candidate.content.parts;
        let kind = if part.thought { Kind::Reasoning } else { Kind::Text };
        self.text(kind, part.text, None, out);
    }

    fn read(&mut self, mut frame: Frame<'_>, data: &str, out: &mut Parts) -> Result<Next, ModelError> {
        if frame.error.is_some()
            && let Some(error) = failure::of_frame(data)
        {
            return Err(error);
        }
        if frame.candidates.is_empty() && frame.usage_metadata.is_none() && frame.prompt_feedback.is_none() {
            self.check_foreign(data)?;
        }
        self.describe([&mut frame.response_id, &mut frame.model_version], out);
        if let Some(usage) = frame.usage_metadata {
            self.totals.take(usage);
        }
        self.extras.note("promptFeedback", frame.prompt_feedback);
        let mut reason = None;
        let mut odd = OddParts { frame: data, parts: None, nth: 0 };
        for candidate in frame.candidates {
            // Only the first answer is read; its index is left out, being 0.
            if candidate.index.0.unwrap_or(0) == 0 {
                reason = self.candidate(candidate, &mut odd, out)?.or(reason);
            }
        }
        if let Some(raw) = reason {
            return self.finish(reason::unified(&raw), raw, data, out);
        }
        if let Some(raw) = frame.prompt_feedback.and_then(reason::of_block) {
            return self.finish(UnifiedFinish::ContentFilter, raw, data, out);
        }
        Ok(Next::More)
    }

    /// A frame with nothing of an answer may be an error in some other form, or nothing of interest.
    fn check_foreign(&mut self, data: &str) -> Result<(), ModelError> {
        if let Some(error) = failure::of_frame(data) {
            return Err(error);
        }
        self.suspect = error_of_no_answer(data).or(self.suspect.take());
        Ok(())
    }

    /// Says who answers, as soon as a frame does.
    fn describe(&mut self, said: [&mut Text<'_>; 2], out: &mut Parts) {
        if self.described {
            return;
        }
        let [id, model] = said.map(|text| text.take_said().map(Cow::into_owned));
        if id.is_none() && model.is_none() {
            return;
        }
        self.described = true;
        let asked_model = Some(self.origin.target.model.clone());
        let metadata = ResponseMetadata { id, timestamp: None, asked_model, model };
        out.push(StreamPart::ResponseMetadata(Box::new(metadata)));
    }

    /// Reads the answer of a frame; returns why it ended, if it did.
    fn candidate(
        &mut self,
        candidate: Candidate<'_>,
        odd: &mut OddParts<'_>,
        out: &mut Parts,
    ) -> Result<Option<String>, ModelError> {
        for part in candidate.content.into_iter().flat_map(|content| content.parts) {
            self.part(part, odd, out)?;
            odd.nth += 1;
        }
        if let Some(grounding) = candidate.grounding_metadata {
            self.sources.grounding(grounding.get(), &self.ids, out)?;
        }
        for (name, value) in [
            ("groundingMetadata", candidate.grounding_metadata),
            ("urlContextMetadata", candidate.url_context_metadata),
            ("citationMetadata", candidate.citation_metadata),
            ("finishMessage", candidate.finish_message),
            ("avgLogprobs", candidate.avg_logprobs),
            ("logprobsResult", candidate.logprobs_result),
        ] {
            self.extras.note(name, value);
        }
        let mut reason = candidate.finish_reason;
        let reason = reason.take_said().map(Cow::into_owned);
        if reason.as_deref() == Some(reason::UNSPECIFIED) {
            self.unspecified = reason;
            return Ok(None);
        }
        Ok(reason)
    }

    fn part(
        &mut self,
        mut part: Part<'_>,
        odd: &mut OddParts<'_>,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        let thought = part.thought.unwrap_or(false);
        let signature = part.thought_signature.take_said().map(|signature| self.signed(signature));
        if let Some(text) = part.text.take() {
            let kind = if thought { Kind::Reasoning } else { Kind::Text };
            self.text(kind, text, signature, out);
            return Ok(());
        }
        let of_server = part.of_server();
        if let Some(call) = part.function_call {
            self.blocks.close(out);
            self.calls.take(*call, signature, &mut self.ids, out)?;
        } else if let Some(blob) = part.inline_data.or(part.file_data) {
            self.blocks.close(out);
            let metadata = signature.or_else(|| thought.then(|| self.minted(THOUGHT, true.into())));
            let file = Box::new(FilePart { metadata, ..file(*blob)? });
            out.push(if thought { StreamPart::ReasoningFile(file) } else { StreamPart::File(file) });
        } else if let Some((kind, raw)) = of_server {
            self.blocks.close(out);
            let mut metadata = self.minted(KIND, kind.into());
            if let Some(signature) = signature {
                metadata.merge(&signature);
            }
            self.server_calls.take(kind, raw.get(), metadata, &mut self.ids, out)?;
        } else if let Some(part) = odd.take() {
            self.blocks.close(out);
            let (kind, options) = (UNKNOWN_PART.to_owned(), ProviderOptions::default());
            let metadata = Some(self.minted(PART, Value::Object(part)));
            out.push(StreamPart::Custom(CustomPart { kind, options, metadata }));
        } else {
            // A signature alone is one of the text.
            self.text(Kind::Text, Cow::Borrowed(""), signature, out);
            return Ok(());
        }
        self.content = true;
        Ok(())
    }

    fn text(
        &mut self,
        kind: Kind,
        text: Cow<'_, str>,
        signature: Option<Box<ProviderMetadata>>,
        out: &mut Parts,
    ) {
        self.content |= !text.is_empty();
        let origin = &self.origin;
        let thought = || minted(origin, THOUGHT, true.into());
        self.blocks.add(kind, text, self.marked, signature, thought, out);
    }

    fn signed(&self, signature: Cow<'_, str>) -> Box<ProviderMetadata> {
        self.minted(SIGNATURE, signature.into_owned().into())
    }

    fn minted(&self, name: &str, value: Value) -> Box<ProviderMetadata> {
        minted(&self.origin, name, value)
    }

    /// The reason came, in a frame that was read whole.
    fn finish(
        &mut self,
        unified: UnifiedFinish,
        raw: String,
        data: &str,
        out: &mut Parts,
    ) -> Result<Next, ModelError> {
        let last: LastFrame<'_> = serde_json::from_str(data).unwrap_or_default();
        for candidate in last.candidates {
            self.extras.note("safetyRatings", candidate.safety_ratings);
        }
        self.blocks.close(out);
        self.calls.finish(unified == UnifiedFinish::Stop, out)?;
        // The API says that it stopped, whether it called tools or not.
        let called = unified == UnifiedFinish::Stop && self.calls.any();
        let unified = if called { UnifiedFinish::ToolCalls } else { unified };
        let metadata = std::mem::take(&mut self.extras).into_metadata(&self.origin.target.provider);
        out.push(StreamPart::Finish(Box::new(Finish {
            reason: FinishReason::new(unified, raw),
            usage: self.totals.usage(last.usage_metadata),
            metadata,
        })));
        Ok(Next::Done)
    }

    /// Nothing more comes, and no reason came.
    fn unfinished(&mut self, marked: bool, out: &mut Parts) -> Result<Next, ModelError> {
        if let Some(raw) = self.unspecified.take().filter(|_| self.content) {
            return self.finish(UnifiedFinish::Other, raw, "", out);
        }
        if !self.content
            && self.totals.is_empty()
            && let Some(error) = self.suspect.take()
        {
            return Err(error);
        }
        Err(match (marked, self.content) {
            (true, true) => ModelError::new(
                ErrorClass::MissingFinish,
                "the answer ended without a finish reason: it may be cut",
            ),
            (false, true) => {
                ModelError::new(ErrorClass::Incomplete, "the answer broke off and is incomplete")
            }
            (_, false) => ModelError::new(ErrorClass::Incomplete, "the server closed without an answer"),
        })
    }
}

/// Parts of kinds that are not known are kept as they came: the model may need them back. The frame is read once more
/// for them, at most once.
struct OddParts<'a> {
    frame: &'a str,
    parts: Option<Vec<JsonObject>>,
    /// The part that is being read, of all that are.
    nth: usize,
}

impl OddParts<'_> {
    /// The part, if there is more in it than what this crate knows.
    fn take(&mut self) -> Option<JsonObject> {
        const KNOWN: [&str; 3] = ["text", "thought", SIGNATURE];
        let parts = self.parts.get_or_insert_with(|| parts_of(self.frame));
        let part = std::mem::take(parts.get_mut(self.nth)?);
        part.iter().any(|(key, value)| !value.is_null() && !KNOWN.contains(&key.as_str())).then_some(part)
    }
}

fn parts_of(frame: &str) -> Vec<JsonObject> {
    let mut frame: Value = serde_json::from_str(frame).unwrap_or_default();
    let candidates = frame.get_mut("candidates").and_then(Value::as_array_mut).into_iter().flatten();
    let read = candidates.filter(|candidate| {
        candidate.get("index").is_none_or(|index| index.is_null() || index == 0 || index == "0")
    });
    let lists = read.filter_map(|candidate| candidate.pointer_mut("/content/parts")?.as_array_mut());
    let objects = lists.flatten().filter_map(Value::as_object_mut);
    objects.map(std::mem::take).collect()
}

impl Decoder for GeminiDecoder {
    fn event(&mut self, event: Event<'_>, out: &mut Parts) -> Result<Next, ModelError> {
        let data = event.data.trim();
        if data == END_MARK {
            return self.unfinished(true, out);
        }
        if data.is_empty() {
            return Ok(Next::More);
        }
        if event.name == Some("error") {
            return Err(failure::of_event(data));
        }
        let next = if data.starts_with('[') { self.frames(data, out)? } else { self.frame(data, out)? };
        match next {
            Next::More if !self.several => self.unfinished(true, out),
            next => Ok(next),
        }
    }

    fn end(&mut self, _why: End, out: &mut Parts) -> Result<(), ModelError> {
        self.unfinished(false, out).map(drop)
    }
}

fn minted(origin: &Origin, name: &str, value: Value) -> Box<ProviderMetadata> {
    let values = ProviderOptions::default().with(origin.target.provider.as_str(), name, value);
    Box::new(ProviderMetadata::minted(origin.clone(), values))
}

/// A file within the answer, or at a URI.
fn file(mut blob: Blob<'_>) -> Result<FilePart, ModelError> {
    let media_type =
        blob.mime_type.take_said().map_or("application/octet-stream".to_owned(), Cow::into_owned);
    let data = match blob.file_uri.take_said() {
        Some(url) => FileData::Url { url: url.into_owned() },
        None => FileData::bytes(bytes_of(&blob.data.take().unwrap_or_default())?),
    };
    let filename = blob.display_name.take_said().map(Cow::into_owned);
    Ok(FilePart { filename, ..FilePart::new(media_type, data) })
}

/// Padded or not: writers of JSON differ.
fn bytes_of(text: &str) -> Result<Vec<u8>, ModelError> {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let standard = GeneralPurpose::new(&alphabet::STANDARD, config).decode(text);
    standard.or_else(|_| GeneralPurpose::new(&alphabet::URL_SAFE, config).decode(text)).map_err(|error| {
        ModelError::new(ErrorClass::Protocol, format!("a file of the answer is not base64: {error}"))
    })
}

/// Some servers report their failure as plain text, or as JSON of another shape.
fn not_a_frame(data: &str, error: &dyn fmt::Display) -> ModelError {
    let said = || error_of_no_answer(data).filter(|_| !data.starts_with(['{', '[']));
    failure::of_frame(data).or_else(said).unwrap_or_else(|| {
        ModelError::new(ErrorClass::Protocol, format!("not a frame of a Gemini answer: {error}"))
    })
}
