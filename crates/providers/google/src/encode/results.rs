use std::borrow::Cow;

use ai_http::Paired;
use ai_provider::{FileData, FilePart, ToolContent, ToolOutput};

use super::history::{Writer, wire_id};
use super::media;
use super::wire::{Data, FunctionResponse, Part, Response, ResponseContent};

/// The text of a result that has none.
const NO_OUTPUT: &str = "(no output)";
const NO_RESULT: &str = "Error: the call was interrupted and has no result.";
const DENIED: &str = "The user did not allow this call.";
const FILES_BESIDE: &str = "(the files are beside this result)";

impl<'a> Writer<'a, '_> {
    /// All results of a turn in one turn of the user, in the order of the calls, then the files the model takes
    /// only there.
    pub(super) fn results(&mut self, calls: &[Paired<'a>]) {
        let mut parts = Vec::with_capacity(calls.len());
        let mut beside = Vec::new();
        for paired in calls {
            let (mut within, before) = (Vec::new(), beside.len());
            let output = paired.result.map(|result| &result.output);
            let content = match output {
                None => ResponseContent::Text(NO_RESULT.into()),
                Some(output) => self.output(output, paired, &mut within, &mut beside),
            };
            let content = match content {
                ResponseContent::Text(text) if text.trim().is_empty() => {
                    let files = !within.is_empty() || beside.len() > before;
                    ResponseContent::Text(if files { FILES_BESIDE } else { NO_OUTPUT }.into())
                }
                content => content,
            };
            let name = self.name(paired.call);
            let is_error = output.is_none_or(ToolOutput::is_error);
            let response = Response { name: name.clone(), content, is_error };
            let data = Data::FunctionResponse(FunctionResponse {
                id: wire_id(paired),
                name,
                response,
                parts: within,
            });
            let options = paired.result.map(|result| self.scope.options(&result.options));
            parts.push(Part { extra: options.unwrap_or_default(), ..Part::from(data) });
        }
        parts.append(&mut beside);
        self.push_user(parts);
    }

    fn output(
        &mut self,
        output: &'a ToolOutput,
        paired: &Paired<'a>,
        within: &mut Vec<Part<'a>>,
        beside: &mut Vec<Part<'a>>,
    ) -> ResponseContent<'a> {
        ResponseContent::Text(match output {
            ToolOutput::Text(text) | ToolOutput::ErrorText(text) => Cow::Borrowed(text),
            ToolOutput::Json(value) | ToolOutput::ErrorJson(value) => match value.as_str() {
                Some(text) => Cow::Borrowed(text),
                None => return ResponseContent::Json(value),
            },
            ToolOutput::ExecutionDenied { reason } => {
                let reason = reason.as_deref().filter(|reason| !reason.trim().is_empty());
                Cow::Borrowed(reason.unwrap_or(DENIED))
            }
            ToolOutput::Content(items) => {
                let lines: Vec<_> =
                    items.iter().filter_map(|item| self.item(item, paired, within, beside)).collect();
                match lines.as_slice() {
                    [Cow::Borrowed(only)] => Cow::Borrowed(*only),
                    lines => Cow::Owned(lines.join("\n")),
                }
            }
            _ => {
                self.notes.unsupported("messages", "a result of an unknown kind was left out");
                Cow::Borrowed("")
            }
        })
    }

    /// The text of an item, if it has some. A file goes into the result where the model takes it there, else
    /// beside it.
    fn item(
        &mut self,
        item: &'a ToolContent,
        paired: &Paired<'a>,
        within: &mut Vec<Part<'a>>,
        beside: &mut Vec<Part<'a>>,
    ) -> Option<Cow<'a, str>> {
        let capabilities = self.scope.capabilities;
        match item {
            ToolContent::Text(part) => Some(Cow::Borrowed(part.text.as_str())),
            ToolContent::File(FilePart { data: FileData::Text { text }, .. }) => {
                Some(Cow::Borrowed(text.as_str()))
            }
            ToolContent::File(file) => {
                let taken_within = capabilities.tool_result.accepts(&file.media_type);
                let accepted = if taken_within { capabilities.tool_result } else { capabilities.input };
                match media::part(self.scope, file, accepted) {
                    Ok(part) if taken_within => {
                        within.push(part);
                        None
                    }
                    Ok(part) => {
                        let label = format!("From the call of {}:", paired.call.name);
                        beside.extend([Part::text(label), part]);
                        None
                    }
                    // A tool does not know which model reads its result, so its file is no demand.
                    Err(error) => {
                        self.notes.unsupported("messages", error.message());
                        let left_out =
                            format!("(a file of type {} was left out: {})", file.media_type, error.message());
                        Some(left_out.into())
                    }
                }
            }
            _ => {
                self.notes.unsupported("messages", "a result's part of another provider was left out");
                None
            }
        }
        .filter(|text: &Cow<'_, str>| !text.trim().is_empty())
    }
}
