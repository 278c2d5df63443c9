//! Events about a part of an item.

use ai_http::Parts;
use ai_provider::{ErrorClass, ModelError, StreamPart, ToolResult};
use serde_json::Value;

use super::calls::Call;
use super::frame::{Frame, Piece};
use super::items::{Item, Kind, Label, State};
use super::reasoning::{Form, Part, Reasoning};
use super::text::Text;
use super::{MAX_INPUT, ResponsesDecoder, loose, server};
use crate::decode::loose::{Raw, Scalar};

impl ResponsesDecoder {
    /// The item of this kind that the event is about; it is opened if it was never added.
    fn place(&mut self, label: Label<'_>, kind: Kind, out: &mut Parts) -> Result<usize, ModelError> {
        if let Some(at) = self.items.find(label, kind)? {
            return Ok(at);
        }
        let state = match kind {
            Kind::Text => State::Text(Text::open(label.id, None, &mut self.mint, out)),
            Kind::Reasoning => State::Reasoning(Reasoning::open(label.id, &mut self.mint, out)),
            Kind::Call => State::Call(Call::default()),
            Kind::Server | Kind::Other => State::Other,
        };
        self.items.push(label, state)
    }

    pub(super) fn text(&mut self, piece: &mut Piece<'_>, out: &mut Parts) -> Result<(), ModelError> {
        let text = piece.delta.take_text();
        if text.is_empty() {
            return Ok(());
        }
        let at = self.place(piece.label(), Kind::Text, out)?;
        if let Some(Item { joiner, state: State::Text(block), .. }) = self.items.get_mut(at) {
            block.add(part_of(&piece.content_index), text, self.marked, joiner, out);
        }
        Ok(())
    }

    /// The whole text of a part: it counts where nothing of the part came.
    pub(super) fn late_text(
        &mut self,
        refusal: bool,
        frame: &mut Frame<'_>,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        let whole = if refusal { frame.refusal } else { frame.text };
        let Some((text, marked)) = whole_text(whole)? else { return Ok(()) };
        let at = self.place(frame.label(), Kind::Text, out)?;
        let part = part_of(&frame.content_index);
        if let Some(Item { joiner, state: State::Text(block), .. }) = self.items.get_mut(at)
            && !block.came(part)
        {
            block.add(part, text, marked || self.marked, joiner, out);
            self.logprobs_of(frame.logprobs)?;
        }
        Ok(())
    }

    pub(super) fn reasoning(
        &mut self,
        form: Form,
        piece: &mut Piece<'_>,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        let text = piece.delta.take_text();
        if text.is_empty() {
            return Ok(());
        }
        let at = self.place(piece.label(), Kind::Reasoning, out)?;
        if let Some(Item { joiner, state: State::Reasoning(block), .. }) = self.items.get_mut(at) {
            block.add(
                reasoning_part(form, &piece.summary_index, &piece.content_index),
                text,
                self.marked,
                joiner,
                &mut self.mint,
                out,
            );
        }
        Ok(())
    }

    pub(super) fn late_reasoning(
        &mut self,
        form: Form,
        frame: &mut Frame<'_>,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        let Some((text, marked)) = whole_text(frame.text)? else { return Ok(()) };
        let at = self.place(frame.label(), Kind::Reasoning, out)?;
        let part = reasoning_part(form, &frame.summary_index, &frame.content_index);
        if let Some(Item { joiner, state: State::Reasoning(block), .. }) = self.items.get_mut(at)
            && !block.came(part)
        {
            block.add(part, text, marked || self.marked, joiner, &mut self.mint, out);
        }
        Ok(())
    }

    /// More of the input of a call.
    pub(super) fn input(&mut self, piece: &mut Piece<'_>, out: &mut Parts) -> Result<(), ModelError> {
        let text = piece.delta.take_text();
        if text.is_empty() {
            return Ok(());
        }
        if self.items.is_of_another(piece.label(), Kind::Call) {
            // A call the server runs has its input in its item that is done.
            return Ok(());
        }
        self.count_input(text.len())?;
        let at = self.place(piece.label(), Kind::Call, out)?;
        if let Some(Item { joiner, state: State::Call(call), .. }) = self.items.get_mut(at) {
            call.add(text, self.marked, joiner, out)?;
        }
        Ok(())
    }

    /// The whole input of a call of a function.
    pub(super) fn late_input(&mut self, frame: &mut Frame<'_>) -> Result<(), ModelError> {
        let Some((text, _)) = whole_text(frame.arguments)? else { return Ok(()) };
        self.count_input(text.len())?;
        let label = frame.label();
        let Some(at) = self.items.find(label, Kind::Call)? else { return Ok(()) };
        if let Some(Item { state: State::Call(call), .. }) = self.items.get_mut(at) {
            call.note_whole(text.into_owned());
        }
        Ok(())
    }

    fn count_input(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.input = self.input.saturating_add(bytes);
        if self.input > MAX_INPUT {
            let message = format!("the inputs of the tool calls have more than {MAX_INPUT} bytes");
            return Err(ModelError::new(ErrorClass::TooLarge, message));
        }
        Ok(())
    }

    pub(super) fn annotation(&mut self, frame: &mut Frame<'_>, out: &mut Parts) -> Result<(), ModelError> {
        let Some(raw) = frame.annotation.0 else { return Ok(()) };
        let Ok(annotation) = serde_json::from_str::<Value>(raw.get()) else { return Ok(()) };
        self.sources.add(&annotation, &self.mint, out)?;
        let label = frame.label();
        if let Ok(Some(at)) = self.items.find(label, Kind::Text)
            && let Some(Item { state: State::Text(block), .. }) = self.items.get_mut(at)
        {
            block.annotate(annotation);
        }
        Ok(())
    }

    /// An image as far as it is drawn.
    pub(super) fn partial_image(&mut self, frame: &mut Frame<'_>, out: &mut Parts) -> Result<(), ModelError> {
        let (id, format) = (std::mem::take(&mut frame.item_id), std::mem::take(&mut frame.output_format));
        let label = Label { id: id.as_text().unwrap_or_default(), index: frame.output_index.number() };
        let image = std::mem::take(&mut frame.partial_image);
        let (Some(at), Some(image)) = (self.items.find(label, Kind::Server)?, image.as_text()) else {
            return Ok(());
        };
        let output = server::picture(image, format.as_text())?;
        if let Some(Item { state: State::Server(call), .. }) = self.items.get_mut(at) {
            let mut result = ToolResult::new(call.id.clone(), &*call.name, output);
            result.preliminary = true;
            result.provider_executed = true;
            out.push(StreamPart::ToolResult(Box::new(result)));
        }
        Ok(())
    }
}

fn part_of(content_index: &Scalar<'_>) -> i64 {
    content_index.number().unwrap_or_default()
}

fn reasoning_part(form: Form, summary_index: &Scalar<'_>, content_index: &Scalar<'_>) -> Part {
    let index = match form {
        Form::Summary => summary_index,
        Form::Content => content_index,
    };
    Part { form, index: index.number().unwrap_or_default() }
}

/// A text that is whole, and whether it has stand-ins for halves of characters; nothing if it is blank.
fn whole_text(raw: Raw<'_>) -> Result<Option<(std::borrow::Cow<'_, str>, bool)>, ModelError> {
    let (text, marked) = loose::arguments(raw.0).map_err(|error| {
        ModelError::new(ErrorClass::Protocol, format!("a text of the response cannot be read: {error}"))
    })?;
    Ok((!text.is_empty()).then_some((text, marked)))
}
