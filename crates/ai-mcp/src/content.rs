//! What a server answers to a call, made into the output of a tool.

use ai_provider::{FileData, FilePart, TextPart, ToolContent, ToolOutput};
use base64::Engine as _;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use rmcp::model::{CallToolResult, ContentBlock, Resource, ResourceContents};
use serde_json::Value;

use crate::text::{cut, line};

/// The most items of one result; what is behind is left out, and that is told.
const MOST_ITEMS: usize = 256;

/// Servers pad or do not.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What came of a call: its output, or what failed in the server's own words.
pub(crate) type Outcome = Result<ToolOutput, String>;

/// The result of a call as this protocol has it.
pub(crate) fn outcome(result: CallToolResult, most_text: usize) -> Outcome {
    let failed = result.is_error == Some(true);
    let mut items = Items::new(most_text);
    result.content.into_iter().for_each(|block| items.block(block));
    items.finish(result.structured_content, failed)
}

/// A result with items this client does not know: those it knows count, the others come as JSON. Nothing if it is no
/// result of a call at all.
pub(crate) fn lenient(result: &Value, most_text: usize) -> Option<Outcome> {
    let content = result.get("content")?.as_array()?;
    let mut items = Items::new(most_text);
    for item in content {
        match serde_json::from_value::<ContentBlock>(item.clone()) {
            Ok(block) => items.block(block),
            Err(_) => items.text(&item.to_string()),
        }
    }
    let failed = result.get("isError").and_then(Value::as_bool) == Some(true);
    Some(items.finish(result.get("structuredContent").cloned(), failed))
}

struct Items {
    items: Vec<ToolContent>,
    left_out: usize,
    /// Bytes of text that may still come.
    room: usize,
    most_text: usize,
    cut: bool,
}

impl Items {
    fn new(most_text: usize) -> Self {
        Self { items: Vec::new(), left_out: 0, room: most_text, most_text, cut: false }
    }

    fn push(&mut self, item: ToolContent) {
        if self.items.len() < MOST_ITEMS {
            self.items.push(item);
        } else {
            self.left_out += 1;
        }
    }

    fn text(&mut self, text: &str) {
        let (text, was_cut) = cut(text, self.room);
        self.room -= text.len();
        self.cut |= was_cut;
        if !text.is_empty() {
            self.push(ToolContent::Text(TextPart::new(text)));
        }
    }

    fn block(&mut self, block: ContentBlock) {
        match block {
            ContentBlock::Text(text) => self.text(&text.text),
            ContentBlock::Image(image) => self.media(&image.data, &image.mime_type, None),
            ContentBlock::Audio(audio) => self.media(&audio.data, &audio.mime_type, None),
            ContentBlock::Resource(embedded) => self.resource(embedded.resource),
            ContentBlock::ResourceLink(link) => self.text(&describe(&link)),
            other => match serde_json::to_string(&other) {
                Ok(json) => self.text(&json),
                Err(_) => self.left_out += 1,
            },
        }
    }

    fn resource(&mut self, resource: ResourceContents) {
        match resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                self.text(&format!("[resource {}]\n{text}", line(&uri, 1_000)));
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                self.media(&blob, mime_type.as_deref().unwrap_or_default(), Some(&uri));
            }
            _ => self.left_out += 1,
        }
    }

    /// Files models can be shown come as files, texts as texts; of others it is told that they were there.
    fn media(&mut self, base64: &str, media_type: &str, uri: Option<&str>) {
        let media_type = line(media_type, 100).to_ascii_lowercase();
        let what = match (uri, media_type.as_str()) {
            (Some(uri), "") => format!("resource {}", line(uri, 1_000)),
            (Some(uri), kind) => format!("resource {} ({kind})", line(uri, 1_000)),
            (None, kind) => kind.to_owned(),
        };
        let Ok(bytes) = BASE64.decode(base64.trim_ascii()) else {
            return self.text(&format!("[{what}: cannot be decoded, it is not base64]"));
        };
        let kind = media_type.split(['/', ';']).next().unwrap_or_default();
        match kind {
            "image" | "audio" => self.file(&media_type, bytes, uri),
            "application" if media_type.starts_with("application/pdf") => self.file(&media_type, bytes, uri),
            _ => match String::from_utf8(bytes) {
                Ok(text) => self.text(&format!("[{what}]\n{text}")),
                Err(not) => self
                    .text(&format!("[{what}: {} bytes that are no text, not shown]", not.as_bytes().len())),
            },
        }
    }

    fn file(&mut self, media_type: &str, bytes: Vec<u8>, uri: Option<&str>) {
        let mut file = FilePart::new(media_type, FileData::bytes(bytes));
        file.filename =
            uri.and_then(|uri| uri.rsplit('/').next()).map(|name| line(name, 200)).filter(|n| !n.is_empty());
        self.push(ToolContent::File(file));
    }

    fn finish(mut self, structured: Option<Value>, failed: bool) -> Outcome {
        if let Some(structured) = structured {
            // A server that gives a structured result says it again as text, for clients that know no better.
            let again = |item: &ToolContent| match item {
                ToolContent::Text(part) => {
                    serde_json::from_str::<Value>(&part.text).is_ok_and(|v| v == structured)
                }
                _ => false,
            };
            self.items.retain(|item| !again(item));
            if self.items.is_empty() && !self.cut && !failed {
                return Ok(self.alone(structured));
            }
            let text = structured.to_string();
            let (text, was_cut) = cut(&text, self.most_text);
            self.cut |= was_cut;
            self.items.push(ToolContent::Text(TextPart::new(text)));
        }
        let mut notes = Vec::new();
        if self.cut {
            notes.push(format!("[cut off: the text is longer than {} bytes; ask for less]", self.most_text));
        }
        if self.left_out > 0 {
            notes.push(format!("[{} further items are left out]", self.left_out));
        }
        self.items.extend(notes.into_iter().map(|note| ToolContent::Text(TextPart::new(note))));
        if failed {
            return Err(self.words());
        }
        Ok(match self.items.as_slice() {
            [] => ToolOutput::Text(String::new()),
            [ToolContent::Text(part)] => ToolOutput::Text(part.text.clone()),
            _ => ToolOutput::Content(self.items),
        })
    }

    fn alone(&self, structured: Value) -> ToolOutput {
        let text = structured.to_string();
        match cut(&text, self.most_text) {
            (_, false) => ToolOutput::from_json(structured),
            (text, true) => ToolOutput::Text(format!(
                "{text}\n[cut off: the result is longer than {} bytes; ask for less]",
                self.most_text
            )),
        }
    }

    /// A failure is told in words; of files there is only that they were there.
    fn words(&self) -> String {
        let words = self.items.iter().map(|item| match item {
            ToolContent::Text(part) => part.text.clone(),
            ToolContent::File(file) => format!("[{}]", file.media_type),
            _ => String::new(),
        });
        let words = words.collect::<Vec<_>>().join("\n");
        if words.trim().is_empty() { "the tool failed and does not say why".to_owned() } else { words }
    }
}

fn describe(link: &Resource) -> String {
    let mut text = format!("[link to resource {}", line(&link.uri, 1_000));
    let kind = link.mime_type.as_deref().map(|kind| line(kind, 100));
    let size = link.size.map(|size| format!("{size} bytes"));
    let facts: Vec<String> = kind.into_iter().chain(size).collect();
    if !facts.is_empty() {
        text.push_str(&format!(" ({})", facts.join(", ")));
    }
    let name = link.title.as_deref().unwrap_or(&link.name);
    let told = [Some(name), link.description.as_deref()].into_iter().flatten().map(|text| line(text, 1_000));
    for told in told.filter(|told| !told.is_empty()) {
        text.push_str(": ");
        text.push_str(&told);
    }
    text + "]"
}

#[cfg(test)]
mod tests;
