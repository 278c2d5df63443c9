//! Parts that a model cannot read, said in words.

use std::borrow::Cow;
use std::sync::Arc;

use ai_provider::{
    Capabilities, FileData, FilePart, MediaSupport, Message, TextPart, ToolContent, ToolOutput, ToolPart,
    UserPart,
};

/// The messages with a placeholder for each image, sound, film and PDF that this model cannot read, and for each that
/// is empty; nothing if there is none. What is in order is shared.
///
/// A file in a tool's result stays where the model could read it in a message of the user: adapters move it there.
pub(crate) fn readable(messages: &[Arc<Message>], model: &Capabilities) -> Option<Vec<Arc<Message>>> {
    let mut changed: Option<Vec<_>> = None;
    for (at, message) in messages.iter().enumerate() {
        match (in_words(message, model), &mut changed) {
            (None, None) => {}
            (None, Some(changed)) => changed.push(Arc::clone(message)),
            (Some(words), changed) => {
                let before = || messages.iter().take(at).cloned().collect();
                changed.get_or_insert_with(before).push(Arc::new(words));
            }
        }
    }
    changed
}

fn in_words(message: &Message, model: &Capabilities) -> Option<Message> {
    match message {
        Message::User(user) if user.parts.iter().any(|part| matches!(part, UserPart::File(_))) => {
            let left_out = |part: &UserPart| match part {
                UserPart::File(file) => note(file, &[model.input]),
                _ => None,
            };
            let notes: Vec<_> = user.parts.iter().map(left_out).collect();
            notes.iter().any(Option::is_some).then(|| {
                let mut user = user.clone();
                for (part, note) in user.parts.iter_mut().zip(notes) {
                    if let Some(note) = note {
                        *part = UserPart::Text(TextPart::new(note));
                    }
                }
                Message::User(user)
            })
        }
        Message::Tool(tool) => {
            let left_out = |part: &ToolPart| match part {
                ToolPart::ToolResult(result) => contents(&result.output, model),
                _ => None,
            };
            let outputs: Vec<_> = tool.parts.iter().map(left_out).collect();
            outputs.iter().any(Option::is_some).then(|| {
                let mut tool = tool.clone();
                for (part, output) in tool.parts.iter_mut().zip(outputs) {
                    if let (ToolPart::ToolResult(result), Some(output)) = (part, output) {
                        result.output = output;
                    }
                }
                Message::Tool(tool)
            })
        }
        _ => None,
    }
}

fn contents(output: &ToolOutput, model: &Capabilities) -> Option<ToolOutput> {
    let ToolOutput::Content(items) = output else { return None };
    let left_out = |item: &ToolContent| match item {
        ToolContent::File(file) => note(file, &[model.tool_result, model.input]),
        _ => None,
    };
    let notes: Vec<_> = items.iter().map(left_out).collect();
    notes.iter().any(Option::is_some).then(|| {
        let items = items.iter().zip(notes).map(|(item, note)| match note {
            Some(note) => ToolContent::Text(TextPart::new(note)),
            None => item.clone(),
        });
        ToolOutput::Content(items.collect())
    })
}

/// What stands for this file where nobody takes it; nothing if somebody does, or it is of a kind that adapters know
/// better.
fn note(file: &FilePart, takers: &[MediaSupport]) -> Option<String> {
    let kind = kind(&file.media_type)?;
    let name: Cow<'_, str> = match &file.filename {
        // A name is the user's: it must not read like a text of its own.
        Some(name) => Cow::Owned(format!(" {name:?}")),
        None => Cow::Borrowed(""),
    };
    if matches!(&file.data, FileData::Bytes { data } if data.is_empty()) {
        return Some(format!("[{kind}{name} left out: it is empty]"));
    }
    let taken = takers.iter().any(|support| support.accepts(&file.media_type));
    (!taken).then(|| format!("[{kind}{name} left out: this model cannot read it]"))
}

fn kind(media_type: &str) -> Option<&'static str> {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.split('/').next().unwrap_or_default() {
        "image" => Some("image"),
        "audio" => Some("audio"),
        "video" => Some("video"),
        _ if essence == "application/pdf" => Some("PDF document"),
        _ => None,
    }
}
