use ai_http::{CallInfo, Decoder, End, Event, IdSeed, Next, Parts, error_of_frame, error_of_no_answer};
use ai_provider::{
    ErrorClass, Finish, FinishReason, Id, ModelError, Origin, ProviderMetadata, ResponseMetadata, StreamPart,
    ToolCall, UnifiedFinish, Usage,
};
use serde_json::Value;

/// Reads one answer: the events of a stream, or a document with all of it.
pub(crate) struct CohereDecoder {
    origin: Origin,
    ids: IdSeed,
    /// The block of text or of reasoning that is open: its index, and whether it is reasoning.
    open: Option<(u64, bool, Id)>,
    blocks: usize,
    /// The calls that are not complete yet, by their index.
    calls: Vec<(u64, ToolCall)>,
}

impl Decoder for CohereDecoder {
    fn event(&mut self, event: Event<'_>, out: &mut Parts) -> Result<Next, ModelError> {
        let frame: Value = serde_json::from_str(event.data).map_err(|error| no_answer(event, &error))?;
        if let Some(id) = frame["id"].as_str() {
            let asked_model = Some(self.origin.target.model.clone());
            let metadata = ResponseMetadata { id: Some(id.into()), asked_model, ..Default::default() };
            out.push(StreamPart::ResponseMetadata(Box::new(metadata)));
        }
        let (index, delta) = (frame["index"].as_u64().unwrap_or_default(), &frame["delta"]);
        match frame["type"].as_str() {
            Some("content-start" | "content-delta") => self.content(index, &delta["message"]["content"], out),
            Some("content-end") => self.close(out),
            Some("tool-call-start" | "tool-call-delta") => {
                self.call(index, &delta["message"]["tool_calls"], out);
            }
            Some("tool-call-end") => self.call_end(index, out),
            Some("message-end") => return self.finish(delta, out),
            // What the model plans to do with tools, citations, and what is new.
            Some(_) => {}
            None if frame["message"].is_object() => {
                let items = |name: &str| (0..).zip(frame["message"][name].as_array().into_iter().flatten());
                items("content").for_each(|(index, content)| self.content(index, content, out));
                for (index, call) in items("tool_calls") {
                    self.call(index, call, out);
                    self.call_end(index, out);
                }
                return self.finish(&frame, out);
            }
            None => return Err(no_answer(event, &"it has no type")),
        }
        Ok(Next::More)
    }

    fn end(&mut self, _: End, _: &mut Parts) -> Result<(), ModelError> {
        Err(ModelError::new(ErrorClass::Incomplete, "the stream ended without a message-end"))
    }
}

impl CohereDecoder {
    pub(crate) fn new(info: &CallInfo<'_>) -> Self {
        Self { origin: info.origin(), ids: info.ids.clone(), open: None, blocks: 0, calls: Vec::new() }
    }

    fn content(&mut self, index: u64, content: &Value, out: &mut Parts) {
        let thinking = content["thinking"].is_string() || content["type"] == "thinking";
        if self.open.as_ref().is_none_or(|(open, kind, _)| *open != index || *kind != thinking) {
            self.close(out);
            let id = Id::from(self.blocks.to_string());
            self.blocks += 1;
            if thinking {
                // Whose it is, so that it goes back to nobody else.
                let metadata = ProviderMetadata::minted(self.origin.clone(), Default::default());
                out.push(StreamPart::ReasoningStart { id: id.clone(), metadata: Some(Box::new(metadata)) });
            } else {
                out.push(StreamPart::text_start(id.clone()));
            }
            self.open = Some((index, thinking, id));
        }
        let text = content[if thinking { "thinking" } else { "text" }].as_str().unwrap_or_default();
        let Some((_, _, id)) = self.open.as_ref().filter(|_| !text.is_empty()) else { return };
        let delta = if thinking { StreamPart::reasoning_delta } else { StreamPart::text_delta };
        out.push(delta(id.clone(), text.to_owned()));
    }

    fn close(&mut self, out: &mut Parts) {
        if let Some((_, thinking, id)) = self.open.take() {
            out.push(if thinking { StreamPart::reasoning_end(id) } else { StreamPart::text_end(id) });
        }
    }

    /// The beginning of a call, or more of it.
    fn call(&mut self, index: u64, call: &Value, out: &mut Parts) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if self.calls.iter().all(|(known, _)| *known != index) {
            self.close(out);
            let given = call["id"].as_str().filter(|id| !id.is_empty()).map(Id::from);
            let id = given.unwrap_or_else(|| self.ids.id("call", usize::try_from(index).unwrap_or_default()));
            let mut begun = ToolCall::new(id.clone(), text(&call["function"]["name"]), "");
            begun.input.clear();
            let (tool_name, provider_executed, dynamic) = (begun.name.clone(), false, false);
            out.push(StreamPart::ToolInputStart { id, tool_name, provider_executed, dynamic, title: None });
            self.calls.push((index, begun));
        }
        let delta = text(&call["function"]["arguments"]);
        let begun = self.calls.iter_mut().find(|(known, _)| *known == index);
        if let Some((_, call)) = begun.filter(|_| !delta.is_empty()) {
            call.input.push_str(&delta);
            out.push(StreamPart::ToolInputDelta { id: call.id.clone(), delta });
        }
    }

    fn call_end(&mut self, index: u64, out: &mut Parts) {
        let Some(at) = self.calls.iter().position(|(known, _)| *known == index) else { return };
        let (_, mut call) = self.calls.remove(at);
        if matches!(call.input.trim(), "" | "null") {
            call.input = "{}".to_owned();
        }
        out.push(StreamPart::ToolInputEnd { id: call.id.clone() });
        out.push(StreamPart::ToolCall(Box::new(call)));
    }

    fn finish(&mut self, end: &Value, out: &mut Parts) -> Result<Next, ModelError> {
        self.close(out);
        if let Some(error) = end["error"].as_str() {
            return Err(ModelError::new(ErrorClass::Server, error));
        }
        let unified = match end["finish_reason"].as_str().unwrap_or_default() {
            "" => return Err(ModelError::new(ErrorClass::MissingFinish, "the answer gave no finish reason")),
            "COMPLETE" | "STOP_SEQUENCE" => UnifiedFinish::Stop,
            "MAX_TOKENS" => UnifiedFinish::Length,
            "TOOL_CALL" => UnifiedFinish::ToolCalls,
            "ERROR" | "TIMEOUT" => UnifiedFinish::Error,
            _ => UnifiedFinish::Other,
        };
        let reason = FinishReason { unified, raw: end["finish_reason"].as_str().map(str::to_owned) };
        out.push(StreamPart::Finish(Box::new(Finish {
            reason,
            usage: usage(&end["usage"]),
            metadata: None,
        })));
        Ok(Next::Done)
    }
}

/// What is billed is not what was read and written: only the latter counts.
fn usage(counts: &Value) -> Usage {
    // Cohere may write counts as floating-point numbers.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
    let count = |count: &Value| count.as_f64().map(|count| count as u64);
    let mut usage = Usage::default();
    usage.input.total = count(&counts["tokens"]["input_tokens"]);
    usage.output.total = count(&counts["tokens"]["output_tokens"]);
    usage.input.cache_read = count(&counts["cached_tokens"]);
    usage.input.no_cache =
        usage.input.total.zip(usage.input.cache_read).map(|(all, old)| all.saturating_sub(old));
    usage
}

/// What came in the place of an event: an error, if it says one.
fn no_answer(event: Event<'_>, why: &dyn std::fmt::Display) -> ModelError {
    let said = error_of_frame(event.data).or_else(|| error_of_no_answer(event.data));
    let message = format!("event {} is none of Cohere's: {why}", event.number);
    said.unwrap_or_else(|| ModelError::new(ErrorClass::Protocol, message))
}
