use std::borrow::Cow;

use ai_http::Paired;
use ai_provider::{FileData, FilePart, JsonObject, ToolContent, ToolOutput};

use super::history::Writer;
use super::media;
use super::wire::{Content, Message, Part};

/// The text of a result that has none: an empty one is refused by some servers.
const NO_OUTPUT: &str = "(no output)";
const NO_RESULT: &str = "Error: the call was interrupted and has no result.";
const DENIED: &str = "The user did not allow this call.";
const FILES_BELOW: &str = "(the files follow in the next message)";

impl<'a> Writer<'a, '_> {
    /// One message for each call, in the order of the calls, then the files of them all: a tool message holds
    /// text alone.
    pub(super) fn results(&mut self, calls: &[Paired<'a>]) {
        let mut files = Vec::new();
        for paired in calls {
            let before = files.len();
            let text = match paired.result {
                None => Cow::Borrowed(NO_RESULT),
                Some(result) => self.output(&result.output, &paired.wire_id, &mut files),
            };
            let text = match text.trim().is_empty() {
                false => text,
                true if files.len() > before => Cow::Borrowed(FILES_BELOW),
                true => Cow::Borrowed(NO_OUTPUT),
            };
            let name = self.scope.dialect.tool_message_name.then(|| self.name(paired.call));
            let options = paired.result.map(|result| &result.options);
            self.out.push(Message {
                role: "tool",
                content: Content::Text(text),
                tool_call_id: Some(paired.wire_id.clone()),
                name,
                extra: options.map(|options| self.scope.extra(options, &[])).unwrap_or_default(),
                ..Message::default()
            });
        }
        self.push_user(files, JsonObject::new());
    }

    fn output(&mut self, output: &'a ToolOutput, id: &str, files: &mut Vec<Part<'a>>) -> Cow<'a, str> {
        match output {
            ToolOutput::Text(text) | ToolOutput::ErrorText(text) => Cow::Borrowed(text),
            ToolOutput::Json(value) | ToolOutput::ErrorJson(value) => Cow::Owned(value.to_string()),
            ToolOutput::ExecutionDenied { reason } => Cow::Borrowed(reason.as_deref().unwrap_or(DENIED)),
            ToolOutput::Content(items) => {
                let lines: Vec<_> = items.iter().filter_map(|item| self.item(item, id, files)).collect();
                match lines.as_slice() {
                    [Cow::Borrowed(only)] => Cow::Borrowed(*only),
                    lines => Cow::Owned(lines.join("\n")),
                }
            }
            _ => {
                self.notes.unsupported("messages", "a result of an unknown kind was left out");
                Cow::Borrowed("")
            }
        }
    }

    /// The text of an item, if it has some; a file goes to the others.
    fn item(&mut self, item: &'a ToolContent, id: &str, files: &mut Vec<Part<'a>>) -> Option<Cow<'a, str>> {
        let accepted = self.scope.capabilities.tool_result;
        match item {
            ToolContent::Text(part) => Some(Cow::Borrowed(part.text.as_str())),
            ToolContent::File(FilePart { data: FileData::Text { text }, .. }) => {
                Some(Cow::Borrowed(text.as_str()))
            }
            ToolContent::File(file) => match media::part(self.scope, file, accepted) {
                Ok(part) => {
                    files.extend([Part::text(format!("From tool call {id}:")), part]);
                    None
                }
                // A tool does not know which model reads its result, so its file is no demand.
                Err(error) => {
                    self.notes.unsupported("messages", error.message());
                    Some(
                        format!("(a file of type {} was left out: {})", file.media_type, error.message())
                            .into(),
                    )
                }
            },
            _ => {
                self.notes.unsupported("messages", "a result's part of another provider was left out");
                None
            }
        }
        .filter(|text: &Cow<'_, str>| !text.trim().is_empty())
    }
}
